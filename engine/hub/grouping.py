"""A repository's files as a person chooses them: quantisations of the target, drafters, and the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

import msgspec

from engine.hub.file_names import NamedAs, is_safe_path, may_hold_mtp, named_as
from engine.hub.listing import DrafterOption, Quantisation
from engine.models.bundle import DrafterKind
from engine.models.drafter_names import drafter_named
from engine.models.parts import part_of
from engine.models.quantisation import parse_quantisation, without_quantisation
from engine.models.remote import RemoteFile

NGRAM_OPTION = DrafterOption(DrafterKind.NGRAM, "N-gram: drafts from the text itself, no download")
HEAD_INSIDE = "MTP head inside the model"

# The order in which llama.cpp prefers them (common/arg.cpp).
_KIND_ORDER = (
    DrafterKind.MTP, DrafterKind.DSPARK, DrafterKind.DFLASH, DrafterKind.EAGLE3, DrafterKind.MODEL,
    DrafterKind.NGRAM, DrafterKind.NONE,
)  # fmt: skip


class Grouped(msgspec.Struct, frozen=True):
    """Files by use; quantisations from small to large, whole models only."""

    quantisations: tuple[Quantisation, ...]
    drafters: tuple[DrafterOption, ...]
    other_files: tuple[RemoteFile, ...]


def group_files(files: Iterable[RemoteFile]) -> Grouped:
    """Sort the files of one repository by what their names propose.

    Names that could leave a folder are left out, and so is what no program for GGUF files needs.
    """
    by_use: defaultdict[NamedAs, list[RemoteFile]] = defaultdict(list)
    for file in sorted(files, key=lambda file: file.path):
        if is_safe_path(file.path):
            by_use[named_as(file.path, file.repo)].append(file)
    targets, loose = _whole(by_use[NamedAs.TARGET])
    drafters, loose_drafters = _whole(by_use[NamedAs.DRAFTER])
    if not targets:
        # A repository of draft models alone: each is a model of its own.
        targets = [files for files in drafters if _kind(files) is DrafterKind.MODEL]
        drafters = [files for files in drafters if _kind(files) is not DrafterKind.MODEL]
    others = (*by_use[NamedAs.PROJECTOR], *by_use[NamedAs.IMATRIX], *loose, *loose_drafters)
    return Grouped(_quantisations(targets), _options(drafters, targets), others)


def kind_order(kind: DrafterKind) -> int:
    """Return where `kind` stands in a list, from 0."""
    return _KIND_ORDER.index(kind)


def _whole(files: Sequence[RemoteFile]) -> tuple[list[tuple[RemoteFile, ...]], list[RemoteFile]]:
    """Return models with all their parts in order, and parts of models that are not complete."""
    models: list[tuple[RemoteFile, ...]] = []
    parts: defaultdict[tuple[PurePosixPath, str, int], dict[int, RemoteFile]] = defaultdict(dict)
    for file in files:
        part = part_of(file.name)
        if part is None:
            models.append((file,))
        else:
            stem, number, count = part
            parts[PurePosixPath(file.path).parent, stem, count][number] = file
    loose: list[RemoteFile] = []
    for (_folder, _stem, count), found in parts.items():
        if sorted(found) == list(range(1, count + 1)):
            models.append(tuple(found[number] for number in sorted(found)))
        else:
            loose += found.values()
    return models, loose


def _quantisations(models: Sequence[tuple[RemoteFile, ...]]) -> tuple[Quantisation, ...]:
    labels = _labels(models)
    made = [Quantisation(label, files) for label, files in zip(labels, models, strict=True)]
    return tuple(sorted(made, key=lambda quantisation: (quantisation.size_bytes, quantisation.label)))


def _labels(models: Sequence[tuple[RemoteFile, ...]]) -> list[str]:
    """Return one label each: the quantisation; the whole name where that is missing, stands twice, or would hide that
    it is another model than most are.
    """
    short = [parse_quantisation(_stem(files[0])) or parse_quantisation(files[0].path) for files in models]
    names = [_stem(files[0]) for files in models]
    main = _main_name(models)
    labels = [
        label if label and short.count(label) == 1 and _plain(name) == main else name
        for label, name in zip(short, names, strict=True)
    ]
    return [
        label if labels.count(label) == 1 else files[0].path.removesuffix(".gguf").replace("/", "-")
        for label, files in zip(labels, models, strict=True)
    ]


def _main_name(models: Sequence[tuple[RemoteFile, ...]]) -> str:
    """Return the name without quantisation that most of `models` have; at a tie the likest to the repository's."""
    counts = Counter(_plain(_stem(files[0])) for files in models)
    if not counts:
        return ""
    repo = models[0][0].repo.partition("/")[2].lower()
    return max(counts, key=lambda name: (counts[name], SequenceMatcher(None, name, repo).ratio()))


def _plain(name: str) -> str:
    return without_quantisation(name).lower()


def _options(
    drafters: Sequence[tuple[RemoteFile, ...]], targets: Sequence[tuple[RemoteFile, ...]]
) -> tuple[DrafterOption, ...]:
    made = [DrafterOption(_kind(files), _stem(files[0]), files) for files in drafters]
    if any(may_hold_mtp(files[0].path, files[0].repo) for files in targets):
        made.append(DrafterOption(DrafterKind.MTP, HEAD_INSIDE))
    # A folder MTP/ repeats what lies in the root: the root's come first.
    made.sort(key=lambda o: (kind_order(o.kind), bool(o.files), len(_folders(o)), -o.size_bytes, o.name))
    return (*made, NGRAM_OPTION)


def _kind(files: tuple[RemoteFile, ...]) -> DrafterKind:
    return drafter_named(files[0].path, files[0].repo)


def _folders(option: DrafterOption) -> tuple[str, ...]:
    return PurePosixPath(option.files[0].path).parent.parts if option.files else ()


def _stem(file: RemoteFile) -> str:
    part = part_of(file.name)
    return part[0] if part is not None else file.name[: -len(".gguf")]
