"""What the Hub says about repositories and their files."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Final

import msgspec

from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteBundle, RemoteFile

_MAX_ID: Final = 160


class HubSort(StrEnum):
    TRENDING = "trending_score"
    DOWNLOADS = "downloads"
    LIKES = "likes"
    NEWEST = "created_at"
    UPDATED = "last_modified"


class HubQuery(msgspec.Struct, frozen=True):
    """A search. `min_params`, `max_params` in parameters, 0: no bound. `has_drafter`: only what names a drafter."""

    text: str = ""
    author: str = ""
    min_params: int = 0
    max_params: int = 0
    sort: HubSort = HubSort.TRENDING
    has_drafter: bool = False


class HubModel(msgspec.Struct, frozen=True):
    """A repository in a list. `gate` is "", "auto" or "manual". 0: the Hub does not say."""

    repo: str
    downloads: int = 0
    likes: int = 0
    updated_at: str = ""
    architecture: str = ""
    n_params: int = 0
    n_ctx_train: int = 0
    licence: str = ""
    gate: str = ""
    drafter_files: tuple[str, ...] = ()

    @property
    def author(self) -> str:
        return self.repo.partition("/")[0]

    @property
    def name(self) -> str:
        return self.repo.partition("/")[2]


class HubPage(msgspec.Struct, frozen=True):
    """One page of a search; `cursor` fetches the next one, "" at the end."""

    models: tuple[HubModel, ...]
    cursor: str = ""


class DrafterOption(msgspec.Struct, frozen=True):
    """A drafter for a repository's target. `files` is empty for a head inside the target and for n-gram.

    `reason` says in words why it does not fit; "" if it does or nothing speaks against it yet.
    """

    kind: DrafterKind
    name: str
    files: tuple[RemoteFile, ...] = ()
    reason: str = ""

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


class Quantisation(msgspec.Struct, frozen=True):
    """One target of a repository: all its parts."""

    label: str
    files: tuple[RemoteFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


class HubRepo(msgspec.Struct, frozen=True):
    """A repository's page: its targets from small to large, drafters that were found, and its text (Markdown)."""

    model: HubModel
    revision: str
    quantisations: tuple[Quantisation, ...]
    drafters: tuple[DrafterOption, ...]
    other_files: tuple[RemoteFile, ...] = ()
    readme: str = ""
    licence_name: str = ""

    def bundle(self, quantisation: Quantisation, drafter: DrafterOption) -> RemoteBundle:
        """Return what one choice of both makes."""
        name = self.model.name
        return RemoteBundle(
            id=_safe_id(f"{self.model.author}--{name}--{quantisation.label}{self._id_tail(drafter)}"),
            name=f"{name} {quantisation.label}",
            target=quantisation.files,
            drafter_kind=drafter.kind,
            drafter=drafter.files,
            licence=self.model.licence,
            is_gated=bool(self.model.gate),
            n_ctx_train=self.model.n_ctx_train,
        )

    def _id_tail(self, drafter: DrafterOption) -> str:
        """Return what tells bundles apart that differ in their drafter."""
        if not drafter.files:
            return ""
        same_kind = {option.files for option in self.drafters if option.kind is drafter.kind and option.files}
        if same_kind <= {drafter.files}:
            return f"--{drafter.kind}"
        first = drafter.files[0]
        return f"--{drafter.kind}-{_digest(f'{first.repo}/{first.path}')}"


def _safe_id(text: str) -> str:
    """Return `text` as a name that every file system takes; a file's name on the Hub may hold anything."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "-", text)
    return safe if safe == text and len(safe) <= _MAX_ID else f"{safe[:_MAX_ID]}-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
