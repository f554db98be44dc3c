"""Files that are not here yet: where they come from, and which of them make a bundle."""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from engine.models.bundle import DrafterKind


class RemoteFile(msgspec.Struct, frozen=True):
    """One file of a repository on the Hub.

    `revision` is a commit (40 hex digits) where the file is pinned, else a name such as "main". `size_bytes` 0 and
    `sha256` "" mean: not known yet.
    """

    repo: str
    path: str
    revision: str = "main"
    size_bytes: int = 0
    sha256: str = ""

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def is_at_commit(self) -> bool:
        """Whether the revision is a commit, which never changes, and not a branch's or a tag's name."""
        return len(self.revision) == 40 and all(c in "0123456789abcdef" for c in self.revision)

    @property
    def is_pinned(self) -> bool:
        """Whether revision, size and sha256 are all known, so that nothing else can come in its place."""
        return self.is_at_commit and self.size_bytes > 0 and len(self.sha256) == 64


class RemoteBundle(msgspec.Struct, frozen=True):
    """A target and its drafter as one thing to download.

    `id` is unique and serves as a file name and on the command line ("gemma-4-e4b", "owner--name--Q4_K_M").
    `target` holds every part of the target in order. `drafter` is empty for NONE, NGRAM and a head inside the target.
    `draft_length` 0: not recommended by anybody. `n_ctx_train` 0: not known.
    """

    id: str
    name: str
    target: tuple[RemoteFile, ...]
    drafter_kind: DrafterKind = DrafterKind.NGRAM
    drafter: tuple[RemoteFile, ...] = ()
    draft_length: int = 0
    licence: str = ""
    is_gated: bool = False
    n_ctx_train: int = 0

    @property
    def files(self) -> tuple[RemoteFile, ...]:
        return (*self.target, *self.drafter)

    @property
    def size_bytes(self) -> int:
        """Return the size of all files; 0 if that of one is not known."""
        sizes = [file.size_bytes for file in self.files]
        return sum(sizes) if all(sizes) else 0
