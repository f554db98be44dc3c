"""What the detail is about: a bundle of the catalogue, of this computer or of the Hub, with what was picked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from app.models import words
from engine.hub.listing import DrafterOption, HubRepo
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.catalogue import MeasuredSpeedup
from engine.models.remote import RemoteBundle, RemoteFile
from engine.models_events import LocalDrafter, Offer
from engine.recommend.advice import Advice
from engine.shelf.installed_model import InstalledModel

_PREFERRED = ("Q4_K_M", "UD-Q4_K_XL", "Q4_K_XL", "Q4_0", "IQ4_XS", "Q8_0")
_NGRAM = DrafterOption(DrafterKind.NGRAM, words.drafter_words(DrafterKind.NGRAM))
_NOBODY = DrafterOption(DrafterKind.NONE, words.drafter_words(DrafterKind.NONE))


@dataclass(frozen=True, slots=True)
class Subject:
    """One of `offer` and `repo` is set. `drafter` counts `drafters`, `quantisation` counts `versions`.

    `here` is what was downloaded with these picks, where the offer itself is not here. `local` is what on this computer
    may draft for an offer that is here, () while that is not known. `with_ngram`: n-gram runs beside a drafter that has
    weights.
    """

    offer: Offer | None = None
    repo: HubRepo | None = None
    quantisation: int = 0
    drafter: int = 0
    here: InstalledModel | None = None
    local: tuple[LocalDrafter, ...] = ()
    with_ngram: bool = False

    @property
    def id(self) -> str:
        return self.offer.id if self.offer else self.repo.model.repo if self.repo else ""

    @property
    def title(self) -> str:
        return self.offer.name if self.offer else self.repo.model.name if self.repo else ""

    @property
    def good_at(self) -> str:
        if self.offer is not None and self.offer.entry is not None:
            return self.offer.entry.good_at
        if self.is_whole_offer and self.installed is not None:
            return words.place_words(self.installed.place)
        return f"by {self.repo.model.author}, on the Hugging Face Hub" if self.repo else ""

    @property
    def about(self) -> str:
        entry = self.offer.entry if self.offer else None
        return entry.about if entry else ""

    @property
    def advice(self) -> Advice | None:
        return self.offer.advice if self.offer else None

    @property
    def installed(self) -> InstalledModel | None:
        return (self.offer.installed if self.offer else None) or self.here

    @property
    def is_whole_offer(self) -> bool:
        """Whether the offer itself is on this computer, so that there is nothing else to pick."""
        return self.offer is not None and self.offer.installed is not None

    @property
    def lacks_model(self) -> bool:
        """Whether it is a repository without a file that can be loaded."""
        return self.repo is not None and not self.repo.quantisations

    @property
    def versions(self) -> tuple[tuple[str, int], ...]:
        """Return each quantisation that can be picked, with its size in bytes."""
        if self.repo is not None:
            return tuple((one.label, one.size_bytes) for one in self.repo.quantisations)
        if self.is_whole_offer and self.installed is not None:
            # Its size is that of the drafter's file too.
            size = 0 if self.installed.bundle.drafter.path else self.installed.size_bytes
            return ((self.installed.quantisation or "this file", size),)
        entry = self.offer.entry if self.offer else None
        if entry is None:
            return ()
        target = entry.bundle.target
        return ((words.quantisation_of(target[0].name), sum(file.size_bytes for file in target)),)

    @property
    def drafters(self) -> tuple[DrafterOption, ...]:
        """Return who may guess ahead: what suits most first, n-gram and nobody among them."""
        if self.is_whole_offer and self.local:
            return (*(_option(one) for one in self.local), _NOBODY)
        own = self.repo.drafters if self.repo is not None else self._own_drafter()
        kinds = {one.kind for one in own}
        return (*own, *(one for one in (_NGRAM, _NOBODY) if one.kind not in kinds))

    def _own_drafter(self) -> tuple[DrafterOption, ...]:
        if self.is_whole_offer and self.installed is not None:
            choice = self.installed.bundle.drafter
            return (DrafterOption(choice.kind, words.drafter_words(choice.kind)),)
        entry = self.offer.entry if self.offer else None
        if entry is None:
            return ()
        kind, files = entry.bundle.drafter_kind, entry.bundle.drafter
        return (DrafterOption(kind, words.drafter_words(kind), files),)

    @property
    def picked_drafter(self) -> DrafterOption:
        return self.drafters[min(self.drafter, len(self.drafters) - 1)]

    @property
    def remote(self) -> RemoteBundle | None:
        """Return what would be downloaded, with the picked drafter; None for what came from elsewhere."""
        picked = self.picked_drafter
        if self.repo is not None:
            if not self.repo.quantisations:
                return None
            return self.repo.bundle(self.repo.quantisations[self.quantisation], picked)
        whole = self.offer.remote if self.offer else None
        if whole is None or self.is_whole_offer or picked.kind is whole.drafter_kind:
            return whole
        return msgspec.structs.replace(
            whole, id=f"{whole.id}--{picked.kind}", drafter_kind=picked.kind, drafter=picked.files
        )

    @property
    def bundle(self) -> Bundle | None:
        """Return what would be loaded, with the picked drafter; None for what is not here."""
        picked = self._picked_bundle
        if picked is None or not (self.with_ngram and picked.drafter.kind.has_weights):
            return picked
        beside = msgspec.structs.replace(picked.drafter, with_ngram=True)
        return msgspec.structs.replace(picked, drafter=beside)

    @property
    def _picked_bundle(self) -> Bundle | None:
        if self.installed is None:
            return None
        own, picked = self.installed.bundle, self.picked_drafter
        if self.is_whole_offer and self.local:
            choices = (*(one.choice for one in self.local), NO_DRAFTER)
            return msgspec.structs.replace(own, drafter=choices[min(self.drafter, len(choices) - 1)])
        if picked.kind is own.drafter.kind or picked.kind.has_weights:
            return own
        return msgspec.structs.replace(own, drafter=DrafterChoice(picked.kind))

    @property
    def size_bytes(self) -> int:
        """Return what is downloaded or what lies here, in bytes; 0 if it is not known."""
        if self.installed is not None:
            return self.installed.size_bytes
        return self.remote.size_bytes if self.remote else 0

    @property
    def licence(self) -> str:
        if self.repo is not None:
            return self.repo.licence_name or self.repo.model.licence
        if self.installed is not None and self.installed.licence:
            return self.installed.licence
        remote = self.offer.remote if self.offer else None
        return remote.licence if remote else ""

    @property
    def source_repo(self) -> str:
        """Return the repository that the target comes from, "" if that is not known."""
        remote = self.remote
        return remote.target[0].repo if remote and remote.target else ""

    @property
    def gate(self) -> str:
        """Return "" if anybody may download it, else "auto" or "manual"."""
        if self.installed is not None:
            return ""
        if self.repo is not None:
            return self.repo.model.gate
        remote = self.offer.remote if self.offer else None
        return "auto" if remote and remote.is_gated else ""

    @property
    def n_ctx_train(self) -> int:
        if self.repo is not None:
            return self.repo.model.n_ctx_train
        if self.installed is not None and self.installed.n_ctx_train:
            return self.installed.n_ctx_train
        remote = self.offer.remote if self.offer else None
        return remote.n_ctx_train if remote else 0

    @property
    def speedups(self) -> tuple[MeasuredSpeedup, ...]:
        entry = self.offer.entry if self.offer else None
        return entry.speedups if entry else ()

    def with_picks_of(self, other: Subject) -> Subject:
        """Return this subject with what was picked of `other`, an earlier state of the same one."""
        if self.id != other.id or (self.repo is None) != (other.repo is None):
            return self
        return replace(self._with_version_and_drafter_of(other), with_ngram=other.with_ngram)

    def _with_version_and_drafter_of(self, other: Subject) -> Subject:
        version = min(other.quantisation, max(0, len(self.versions) - 1))
        if self.is_whole_offer and other.local:
            return (
                drafted_subject(self, other.local)
                if self.local
                else replace(self, local=other.local, drafter=other.drafter)
            )
        return replace(self, quantisation=version, drafter=min(other.drafter, len(self.drafters) - 1))


def _option(one: LocalDrafter) -> DrafterOption:
    kind = one.choice.kind
    name = one.name if kind.has_weights else words.drafter_words(kind)
    files = (RemoteFile("", one.choice.path, size_bytes=one.size_bytes),) if one.choice.path else ()
    return DrafterOption(kind, name, files, one.reason)


def drafted_subject(subject: Subject, local: tuple[LocalDrafter, ...]) -> Subject:
    """Return `subject` with what on this computer may draft for it; who was picked stays picked."""
    bundle = subject._picked_bundle
    if not subject.is_whole_offer or bundle is None or local == subject.local:
        return subject
    choices = [*(one.choice for one in local), NO_DRAFTER]
    wanted = bundle.drafter if bundle.drafter in choices else NGRAM_DRAFTER
    at = choices.index(wanted) if wanted in choices else 0
    return replace(subject, local=local, drafter=at)


def judged_subject(subject: Subject, repo: HubRepo) -> Subject:
    """Return `subject` with the drafters of `repo`, which were looked at; the picked one stays if it fits."""
    picked = subject.picked_drafter
    judged = replace(subject, repo=repo)
    same = (
        i for i, one in enumerate(judged.drafters) if (one.kind, one.files) == (picked.kind, picked.files)
    )
    at = next(same, -1)
    if at < 0 or judged.drafters[at].reason:
        at = next((i for i, one in enumerate(judged.drafters) if not one.reason), 0)
    return replace(judged, drafter=at)


def subject_of_repo(repo: HubRepo) -> Subject:
    """Return the subject with the quantisation that suits most, and the first drafter that fits."""
    labels = [one.label for one in repo.quantisations]
    version = next((labels.index(label) for label in _PREFERRED if label in labels), 0)
    subject = Subject(repo=repo, quantisation=version)
    fitting = (i for i, one in enumerate(subject.drafters) if not one.reason)
    return replace(subject, drafter=next(fitting, 0))
