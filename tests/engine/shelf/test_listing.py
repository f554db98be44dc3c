"""The shelf: each target once with its drafter, nothing that is no chat model, nothing written anywhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from engine.bundles.store import Manifest, file_path, write_manifest
from engine.download.jobs import Job, forget_job, write_job
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.remote import RemoteBundle, RemoteFile
from engine.shelf.facts_cache import FactsCache
from engine.shelf.installed_model import InstalledModel, Place
from engine.shelf.listing import Shelf
from engine.shelf.shelf import list_installed, read_shelf
from engine.shelf.surroundings import Surroundings
from tests.engine.models.small_files import write_eagle3, write_model, write_projector


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SLIPSTREAM_MODELS_DIR", "SLIPSTREAM_DATA_DIR", "SLIPSTREAM_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "own" / variable))


def no_starter() -> None:
    return None


def shelf(home: Path, *folders: Path, opened: Sequence[Path] = (), cache: FactsCache | None = None) -> Shelf:
    return read_shelf(
        [str(folder) for folder in folders],
        [str(path) for path in opened],
        starter=no_starter,
        around=Surroundings(home, {}, "Linux"),
        cache=cache or FactsCache(),
    )


def by_id(found: Shelf) -> dict[str, InstalledModel]:
    return {model.id: model for model in found.models}


def test_models_of_every_place_are_listed_with_what_their_headers_say(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = tmp_path / "mine"
    write_model(Path(os.environ["SLIPSTREAM_MODELS_DIR"]) / "loose.gguf")
    write_model(home / ".cache/huggingface/hub/models--o--n/snapshots" / ("a" * 40) / "cached.gguf")
    write_model(home / ".lmstudio/models/o/n/studio.gguf")
    write_model(home / "jan/models/somebody/model.gguf")
    path = write_model(folder / "Big-Q8_0.gguf", general__license="mit")
    opened = write_model(tmp_path / "downloads" / "opened.gguf")
    models = by_id(shelf(home, folder, opened=[opened]))
    assert {model_id: model.place for model_id, model in models.items()} == {
        "loose": Place.FOLDER,
        "cached": Place.HUB_CACHE,
        "studio": Place.LM_STUDIO,
        "somebody": Place.JAN,
        "Big-Q8_0": Place.FOLDER,
        "opened": Place.OPENED,
    }
    big = models["Big-Q8_0"]
    assert big.bundle == Bundle("Big-Q8_0", str(path), NGRAM_DRAFTER)
    assert (big.architecture, big.n_ctx_train, big.licence) == ("llama", 4096, "mit")
    assert big.size_bytes == path.stat().st_size
    assert not any(model.can_remove for model in models.values())


def test_one_file_by_many_names_is_one_model(tmp_path: Path) -> None:
    path = write_model(tmp_path / "a" / "model.gguf")
    (tmp_path / "b").mkdir()
    try:
        (tmp_path / "b" / "link.gguf").symlink_to(path)
    except OSError:
        pytest.skip("no links here")
    found = shelf(tmp_path, tmp_path / "a", tmp_path / "b", tmp_path, opened=[path])
    assert [model.id for model in found.models] == ["model"]


def test_a_model_in_several_files_is_one_model_of_their_whole_size(tmp_path: Path) -> None:
    paths = [
        write_model(tmp_path / f"big-0000{part + 1}-of-00003.gguf", n_parts=3, part=part) for part in range(3)
    ]
    (model,) = shelf(tmp_path, tmp_path).models
    assert (model.id, model.bundle.target) == ("big", str(paths[0]))
    assert model.size_bytes == sum(path.stat().st_size for path in paths)


def test_a_model_with_a_part_missing_is_passed_over_with_the_reason(tmp_path: Path) -> None:
    for part in (0, 2):
        write_model(tmp_path / f"big-0000{part + 1}-of-00003.gguf", n_parts=3, part=part)
    found = shelf(tmp_path, tmp_path)
    assert found.models == ()
    (passed,) = found.passed_over
    assert "big-00002-of-00003.gguf" in passed.sentence


def test_a_drafter_beside_its_target_is_its_drafter_and_no_chat_model(tmp_path: Path) -> None:
    """Users picked the drafter as chat model and crashed the server (Blaizzy/nativ#346)."""
    write_model(tmp_path / "repo" / "model.gguf")
    drafter = write_eagle3(tmp_path / "repo" / "drafters" / "eagle3-model.gguf")
    write_projector(tmp_path / "repo" / "mmproj-model.gguf")
    (model,) = shelf(tmp_path, tmp_path).models
    assert model.bundle.drafter == DrafterChoice(DrafterKind.EAGLE3, str(drafter))
    assert model.size_bytes > drafter.stat().st_size


def test_a_drafter_made_for_another_target_stays_alone(tmp_path: Path) -> None:
    write_model(tmp_path / "model.gguf")
    write_eagle3(tmp_path / "eagle3-other.gguf", target_width=64)
    write_eagle3(tmp_path / "elsewhere" / "eagle3-model.gguf")
    found = shelf(tmp_path, tmp_path)
    (model,) = found.models
    assert model.bundle.drafter == NGRAM_DRAFTER
    assert sorted(passed.path.name for passed in found.passed_over) == [
        "eagle3-model.gguf",
        "eagle3-other.gguf",
    ]
    assert all("an EAGLE-3 drafter" in passed.sentence for passed in found.passed_over)


def test_damaged_files_are_passed_over_with_the_reason(tmp_path: Path) -> None:
    write_model(tmp_path / "good.gguf")
    (tmp_path / "text.gguf").write_text("not a model")
    cut = write_model(tmp_path / "cut.gguf")
    cut.write_bytes(cut.read_bytes()[:-40])
    found = shelf(tmp_path, tmp_path, opened=[tmp_path / "gone.gguf"])
    assert [model.id for model in found.models] == ["good"]
    sentences = {passed.path.name: passed.sentence for passed in found.passed_over}
    assert "not a GGUF" in sentences["text.gguf"]
    assert "cut short" in sentences["cut.gguf"]
    assert "cannot be opened" in sentences["gone.gguf"]


def test_ids_are_unlike_each_other_and_one_word(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_model(home / ".lmstudio/models/o/n/My Model.gguf")
    for number in range(3):
        write_model(tmp_path / "mine" / str(number) / ("MY MODEL.gguf" if number else "My Model.gguf"))
    ids = [model.id for model in shelf(home, tmp_path / "mine").models]
    assert ids == ["My-Model", "My-Model@folder", "MY-MODEL@folder-2", "MY-MODEL@folder-3"]


def test_what_was_downloaded_is_a_bundle_as_it_came_and_its_draft_model_no_row(tmp_path: Path) -> None:
    folder = Path(os.environ["SLIPSTREAM_MODELS_DIR"])
    target = RemoteFile("o/n", "Q4/target.gguf", "a" * 40)
    drafter = RemoteFile("o/small", "draft.gguf", "b" * 40)
    paths = [write_model(file_path(folder, file)) for file in (target, drafter)]
    write_manifest(
        folder,
        RemoteBundle(
            "pair-4b",
            "Pair 4B",
            (target,),
            DrafterKind.MODEL,
            (drafter,),
            draft_length=4,
            licence="apache-2.0",
        ),
    )
    (model,) = shelf(tmp_path).models
    assert (model.id, model.remote_id, model.place) == ("pair-4b", "pair-4b", Place.DOWNLOADED)
    assert model.bundle == Bundle("Pair 4B", str(paths[0]), DrafterChoice(DrafterKind.MODEL, str(paths[1])))
    assert (model.licence, model.can_remove) == ("apache-2.0", True)
    assert model.size_bytes == sum(path.stat().st_size for path in paths)


def test_a_bundle_whose_file_is_gone_is_passed_over_and_a_manifest_of_nonsense_is_no_trouble(
    tmp_path: Path,
) -> None:
    folder = Path(os.environ["SLIPSTREAM_MODELS_DIR"])
    gone = RemoteBundle("gone", "Gone", (RemoteFile("o/n", "gone.gguf", "a" * 40),))
    write_manifest(folder, gone)
    evil = Manifest(RemoteBundle("evil", "Evil", (RemoteFile("o/n", "../../evil.gguf"),)), "")
    for name, data in (("evil", msgspec.json.encode(evil)), ("empty", b""), ("list", b"[]")):
        (folder / "bundles" / f"{name}.json").write_bytes(data)
    found = shelf(tmp_path)
    assert found.models == ()
    assert [passed.path.name for passed in found.passed_over] == ["gone.gguf"]


def test_a_file_of_a_bundle_that_is_on_its_way_is_no_model_yet(tmp_path: Path) -> None:
    folder = Path(os.environ["SLIPSTREAM_MODELS_DIR"])
    target, drafter = (RemoteFile("o/n", name, "a" * 40) for name in ("target.gguf", "draft.gguf"))
    bundle = RemoteBundle("pair", "Pair", (target,), DrafterKind.MODEL, (drafter,))
    write_model(file_path(folder, target))
    write_job(folder, Job(bundle))
    write_model(folder / "loose.gguf")
    assert [model.id for model in shelf(tmp_path).models] == ["loose"]
    write_model(file_path(folder, drafter))
    write_manifest(folder, bundle)
    forget_job(folder, "pair")
    assert [model.id for model in shelf(tmp_path).models] == ["pair", "loose"]


def test_a_model_that_has_not_changed_is_not_opened_again(tmp_path: Path) -> None:
    paths = [write_model(tmp_path / "models" / f"m{number}.gguf") for number in range(3)]
    (tmp_path / "models" / "broken.gguf").write_bytes(b"GGUF")
    kept = tmp_path / "cache" / "facts.json"
    first = shelf(tmp_path, tmp_path / "models", cache=FactsCache(kept))
    for path in paths:
        status = path.stat()
        path.write_bytes(b"\0" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert shelf(tmp_path, tmp_path / "models", cache=FactsCache(kept)) == first
    os.utime(paths[0])
    again = shelf(tmp_path, tmp_path / "models", cache=FactsCache(kept))
    assert [model.id for model in again.models] == ["m1", "m2"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0, "entries": {}}', '{"entries": {"a": 1}}'])
def test_a_cache_that_cannot_be_used_is_made_again(tmp_path: Path, text: str) -> None:
    write_model(tmp_path / "models" / "a.gguf")
    kept = tmp_path / "facts.json"
    kept.write_text(text)
    assert len(shelf(tmp_path, tmp_path / "models", cache=FactsCache(kept)).models) == 1
    assert "a.gguf" in kept.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions")
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    write_model(tmp_path / "closed" / "a.gguf")
    (tmp_path / "closed").chmod(0)
    try:
        assert shelf(tmp_path, tmp_path / "closed").models == ()
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_nothing_is_written_where_models_lie(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_model(home / ".cache/huggingface/hub/models--o--n/snapshots/c/a.gguf")
    write_model(home / ".lmstudio/models/o/n/b.gguf")

    def state() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    before = state()
    assert len(shelf(home).models) == 2
    assert state() == before


def test_what_can_be_loaded_has_its_drafter(tmp_path: Path, tiny_models: Path) -> None:
    starter = Bundle("Starter", str(tiny_models / "llama.gguf"))
    opened = [str(tiny_models / "qwen35.gguf"), str(tiny_models / "mtp-qwen35.gguf")]
    bundles = list_installed(opened, starter=lambda: starter)
    assert starter in bundles
    assert [bundle for bundle in bundles if bundle.target in opened] == [
        Bundle("qwen35", opened[0], DrafterChoice(DrafterKind.MTP))
    ]
