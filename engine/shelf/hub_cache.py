"""The Hugging Face cache: `models--owner--name/snapshots/<commit>/<path>`, with links into `blobs` or without.

Other programs fill it (huggingface_hub, transformers, llama.cpp since 2026); it is read, never written.
Layout: huggingface_hub's "cache-system reference" and llama.cpp's common/hf-cache.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.shelf.found import FoundFile
from engine.shelf.installed_model import Place
from engine.shelf.surroundings import Surroundings
from engine.shelf.walk import gguf_files


def hub_cache_folders(around: Surroundings) -> tuple[Path, ...]:
    """Return where the cache is, in the order in which huggingface_hub and llama.cpp look for it."""
    of = around.environ.get
    if named := (of("HF_HUB_CACHE") or of("HUGGINGFACE_HUB_CACHE")):
        return _each_once(around.expand(named), around.environ.get("LLAMA_CACHE"), around)
    if home := of("HF_HOME"):
        return _each_once(around.expand(home) / "hub", of("LLAMA_CACHE"), around)
    cache = around.expand(of("XDG_CACHE_HOME") or "~/.cache")
    return _each_once(cache / "huggingface" / "hub", of("LLAMA_CACHE"), around)


def _each_once(first: Path, second: str | None, around: Surroundings) -> tuple[Path, ...]:
    return tuple(dict.fromkeys([first, *([around.expand(second)] if second else [])]))


def files_in_hub_cache(folder: Path) -> Iterator[FoundFile]:
    """Yield the GGUF files of every repository; of one that is there in several revisions the one of `refs/main`, else
    the latest.
    """
    for repository in _folders(folder):
        if not repository.name.startswith("models--"):
            continue
        repo = repository.name.removeprefix("models--").replace("--", "/")
        seen: set[str] = set()
        for snapshot in _snapshots(repository):
            for path in gguf_files(snapshot):
                relative = path.relative_to(snapshot).as_posix()
                if relative not in seen and path.exists():
                    seen.add(relative)
                    yield FoundFile(path, Place.HUB_CACHE, group=repo)


def _snapshots(repository: Path) -> list[Path]:
    """Return the repository's snapshots, that of `refs/main` first, then from new to old."""
    try:
        main = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        main = ""
    found = _folders(repository / "snapshots")
    return sorted(found, key=lambda snapshot: (snapshot.name != main, -_changed_at(snapshot), snapshot.name))


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []
