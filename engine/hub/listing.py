"""What the Hub says about repositories and their files."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteBundle, RemoteFile


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
        owner, name = self.model.author, self.model.name
        tail = "" if not drafter.files else f"--{drafter.kind}"
        return RemoteBundle(
            id=f"{owner}--{name}--{quantisation.label}{tail}",
            name=f"{name} {quantisation.label}",
            target=quantisation.files,
            drafter_kind=drafter.kind,
            drafter=drafter.files,
            licence=self.model.licence,
            is_gated=bool(self.model.gate),
            n_ctx_train=self.model.n_ctx_train,
        )
