"""Putting what was found on the shelf: each target once, with its drafter; the rest passed over, with the reason."""

from __future__ import annotations

import itertools
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from engine.errors import SlipstreamError
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice
from engine.models.facts import ModelFacts
from engine.models.file_kind import FileKind
from engine.models.parts import part_of
from engine.models.remote import RemoteBundle
from engine.shelf.beside import choose_drafter
from engine.shelf.found import FoundFile
from engine.shelf.installed_model import InstalledModel, Place
from engine.shelf.own_folder import DownloadedBundle
from engine.shelf.walk import is_encodable

STARTER_ID: Final = "starter"
_UNWIELDY: Final = re.compile(r"\s+")

ReadFacts = Callable[[Path], ModelFacts]


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A file that is no row of its own, and why not. `is_unreadable`: it should be a model and is none."""

    path: Path
    sentence: str
    is_unreadable: bool = False


@dataclass(frozen=True, slots=True)
class Shelf:
    """`models` can be loaded; `damaged` were downloaded and cannot, each with its `trouble`."""

    models: tuple[InstalledModel, ...]
    passed_over: tuple[PassedOver, ...] = ()
    damaged: tuple[InstalledModel, ...] = ()


@dataclass(slots=True)
class _Sorted:
    """What looking into the files gave: targets in order, drafters by group."""

    targets: list[tuple[FoundFile, ModelFacts]] = field(default_factory=list)
    drafters: defaultdict[str, list[ModelFacts]] = field(default_factory=lambda: defaultdict(list))
    passed_over: list[PassedOver] = field(default_factory=list)
    damaged: list[InstalledModel] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def is_new(self, path: Path) -> bool:
        key = os.path.normcase(os.path.realpath(path))
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


def put_on_shelf(
    found: Iterable[FoundFile],
    read: ReadFacts,
    *,
    starter: Bundle | None = None,
    downloaded: Sequence[DownloadedBundle] = (),
) -> Shelf:
    """Return the shelf: the starter, what was downloaded as a bundle, then `found` in its order.

    A file that is found twice, by whatever name, counts where it is found first.
    """
    sorted_ = _Sorted()
    models: list[InstalledModel] = []
    if starter is not None:
        models += _starter(starter, read, sorted_)
    for bundle in downloaded:
        models += _downloaded(bundle, read, sorted_)
    # A drafter that came with a bundle is no chat model, though it may be one by itself.
    for path in (path for bundle in downloaded for path in bundle.files):
        sorted_.is_new(path)
    for file in found:
        _sort(file, read, sorted_)
    models += [_model(file, facts, sorted_.drafters[file.group], read) for file, facts in sorted_.targets]
    return Shelf(_with_ids(models), tuple(sorted_.passed_over), tuple(sorted_.damaged))


def _starter(starter: Bundle, read: ReadFacts, sorted_: _Sorted) -> list[InstalledModel]:
    path = Path(starter.target)
    try:
        facts = read(path)
    except SlipstreamError as error:
        sorted_.passed_over.append(PassedOver(path, error.sentence, is_unreadable=True))
        return []
    sorted_.is_new(path)
    return [_installed(STARTER_ID, starter, Place.STARTER, facts)]


def _downloaded(bundle: DownloadedBundle, read: ReadFacts, sorted_: _Sorted) -> list[InstalledModel]:
    remote = bundle.remote
    try:
        facts = read(bundle.target)
        drafter_bytes = read(bundle.drafter).file_bytes if bundle.drafter is not None else 0
    except SlipstreamError as error:
        sorted_.passed_over.append(PassedOver(bundle.target, error.sentence, is_unreadable=True))
        sorted_.damaged.append(unusable(remote, error.sentence, str(bundle.target)))
        return []
    drafter = DrafterChoice(remote.drafter_kind, str(bundle.drafter or ""))
    return [
        InstalledModel(
            id=remote.id,
            bundle=Bundle(remote.name, str(bundle.target), drafter),
            place=Place.DOWNLOADED,
            size_bytes=facts.file_bytes + drafter_bytes,
            architecture=facts.architecture,
            quantisation=facts.quantisation,
            n_ctx_train=facts.n_ctx_train or remote.n_ctx_train,
            n_params=facts.n_params,
            remote_id=remote.id,
            licence=remote.licence or facts.licence,
        )
    ]


def unusable(remote: RemoteBundle, trouble: str, target: str = "") -> InstalledModel:
    """Return what Slipstream downloaded, or began to, and cannot load."""
    bundle = Bundle(remote.name, target, DrafterChoice(remote.drafter_kind))
    return InstalledModel(
        id=remote.id,
        bundle=bundle,
        place=Place.DOWNLOADED,
        size_bytes=remote.size_bytes,
        n_ctx_train=remote.n_ctx_train,
        remote_id=remote.id,
        licence=remote.licence,
        trouble=trouble,
    )


def _sort(file: FoundFile, read: ReadFacts, sorted_: _Sorted) -> None:
    part = part_of(file.path.name)
    if (
        (part is not None and part[1] > 1)
        or not is_encodable(str(file.path))
        or not sorted_.is_new(file.path)
    ):
        return
    if file.trouble:
        sorted_.passed_over.append(PassedOver(file.path, file.trouble, is_unreadable=True))
        return
    try:
        facts = read(file.path)
    except SlipstreamError as error:
        sorted_.passed_over.append(PassedOver(file.path, error.sentence, is_unreadable=True))
        return
    if facts.kind.can_answer:
        sorted_.targets.append((file, facts))
        return
    if facts.kind.is_drafter_only:
        sorted_.drafters[file.group].append(facts)
    if facts.kind is not FileKind.SHARD:
        sentence = f"“{file.path.name}” is {facts.kind.phrase}. {facts.kind.place}"
        sorted_.passed_over.append(PassedOver(file.path, sentence))


def _model(
    file: FoundFile, facts: ModelFacts, drafters: Sequence[ModelFacts], read: ReadFacts
) -> InstalledModel:
    known = {drafter.path: drafter for drafter in drafters}
    if file.drafter is not None:
        known |= _readable(file.drafter, read)
    try:
        choice = choose_drafter(facts, tuple(known.values()))
    except (SlipstreamError, OSError):
        # A drafter went away while it was compared; without one the model is as good as before.
        choice = NGRAM_DRAFTER
    name = file.name or _stem(file.path)
    drafter_bytes = known[choice.path].file_bytes if choice.path in known else 0
    bundle = Bundle(name, str(file.path), choice)
    return _installed(name, bundle, file.place, facts, drafter_bytes)


def _readable(path: Path, read: ReadFacts) -> dict[str, ModelFacts]:
    try:
        return {str(path): read(path)}
    except SlipstreamError:
        return {}


def _installed(
    model_id: str, bundle: Bundle, place: Place, facts: ModelFacts, drafter_bytes: int = 0
) -> InstalledModel:
    return InstalledModel(
        id=model_id,
        bundle=bundle,
        place=place,
        size_bytes=facts.file_bytes + drafter_bytes,
        architecture=facts.architecture,
        quantisation=facts.quantisation,
        n_ctx_train=facts.n_ctx_train,
        n_params=facts.n_params,
        licence=facts.licence,
    )


def _stem(path: Path) -> str:
    part = part_of(path.name)
    return part[0] if part is not None else path.stem


def _with_ids(models: Sequence[InstalledModel]) -> tuple[InstalledModel, ...]:
    """Return `models` with ids that are unlike each other, whatever the case, and can be typed as one word."""
    taken: set[str] = set()
    named = []
    for model in models:
        plain = _UNWIELDY.sub("-", model.id)
        numbered = (f"{plain}@{model.place}-{number}" for number in itertools.count(2))
        candidates = itertools.chain((plain, f"{plain}@{model.place}"), numbered)
        model_id = next(candidate for candidate in candidates if candidate.casefold() not in taken)
        taken.add(model_id.casefold())
        named.append(msgspec.structs.replace(model, id=model_id))
    return tuple(named)
