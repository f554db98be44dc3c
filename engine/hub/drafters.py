"""Drafters for a repository's target: in it, in the catalogue, and in repositories that are named for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from engine.errors import Cancelled, Offline, RateLimited, SlipstreamError
from engine.hub.client import HubClient
from engine.hub.connection import IsCancelled, check, never_cancelled
from engine.hub.grouping import HEAD_INSIDE, NGRAM_OPTION, kind_order
from engine.hub.listing import DrafterOption, HubQuery, HubRepo, Quantisation
from engine.hub.remote_header import fetch_header
from engine.hub.token import read_token
from engine.models.bundle import DrafterKind
from engine.models.catalogue import CatalogueEntry
from engine.models.drafter_names import drafter_repo
from engine.models.facts import ModelFacts, read_facts
from engine.models.quantisation import bits_of, parse_quantisation
from engine.models.remote import RemoteFile
from engine.models.suggestions import Candidate, Suggestion, is_beside, suggest_drafters

MAX_REPOS_OPENED: Final = 4
MAX_HEADERS: Final = 12
"""A header is some megabytes: of more drafters than this only those nearest to the target are looked into."""

ReadFacts = Callable[[tuple[RemoteFile, ...]], ModelFacts]
"""Gives what the header of a model on the Hub says, from all its parts; raises SlipstreamError."""

_TAIL: Final = re.compile(r"[-_.]?(?:GGUF|MTP|QAT|Instruct|it)$", re.IGNORECASE)
_SIZE: Final = re.compile(r"(?<![A-Za-z0-9.])[AE]?\d+(?:\.\d+)?[BM](?![A-Za-z0-9])", re.IGNORECASE)


def facts_reader(folder: Path, client: HubClient, is_cancelled: IsCancelled = never_cancelled) -> ReadFacts:
    """Return a ReadFacts that fetches headers into `folder` and keeps them there."""

    def read(files: tuple[RemoteFile, ...]) -> ModelFacts:
        path = fetch_header(
            files[0],
            folder,
            token=read_token(),
            endpoint=client.endpoint,
            is_cancelled=is_cancelled,
            on_contact=client.on_contact,
            open_http=client.http,
            parts=files,
        )
        return read_facts(path)

    return read


def base_name(repo: str) -> str:
    """Return the model's name in a repository's: "Qwen3.5-9B" for "unsloth/Qwen3.5-9B-MTP-GGUF"."""
    owner, _, name = repo.rpartition("/")
    name = name.removeprefix(f"{owner}_")
    if "_" in name and not name.startswith("_"):
        # bartowski and others write the author before the name: “Qwen_Qwen3-32B-GGUF”.
        author, _, rest = name.partition("_")
        name = rest if rest and author.isalpha() else name
    while (shorter := _TAIL.sub("", name)) != name and shorter:
        name = shorter
    return name


def from_catalogue(repo: str, entries: Iterable[CatalogueEntry]) -> tuple[DrafterOption, ...]:
    """Return the drafters that the catalogue has for a model of this name, or of its family.

    A small draft model serves a whole family; every other drafter serves one model.
    """
    base = base_name(repo).lower()
    found: dict[tuple[RemoteFile, ...], DrafterOption] = {}
    for entry in entries:
        bundle = entry.bundle
        if not bundle.drafter or bundle.drafter[0].repo == repo:
            continue
        theirs = base_name(bundle.target[0].repo).lower()
        serves_family = bundle.drafter_kind is DrafterKind.MODEL and _family(theirs) == _family(base)
        if theirs == base or serves_family:
            name = f"{_stem(bundle.drafter[0])} from {bundle.drafter[0].repo}"
            found[bundle.drafter] = DrafterOption(bundle.drafter_kind, name, bundle.drafter)
    return tuple(found.values())


def from_named_repos(
    repo: str, client: HubClient, is_cancelled: IsCancelled = never_cancelled
) -> tuple[DrafterOption, ...]:
    """Return the drafters in repositories whose names say that they were made for this model.

    One search for the model's name, and at most MAX_REPOS_OPENED pages. Failures other than Offline, RateLimited and
    Cancelled leave out what they concern.
    """
    base = base_name(repo)
    page = client.search(HubQuery(text=base, has_drafter=True))
    named = [
        model.repo
        for model in page.models
        if model.repo != repo
        and drafter_repo(model.repo) is not DrafterKind.NONE
        and _is_for(model.name, base)
    ]
    options: list[DrafterOption] = []
    for name in named[:MAX_REPOS_OPENED]:
        check(is_cancelled)
        try:
            options += _options_of(name, client, is_cancelled)
        except (Cancelled, Offline, RateLimited):
            raise
        except SlipstreamError:
            continue
    return tuple(options)


def find_drafters(
    repo: HubRepo,
    client: HubClient,
    entries: Iterable[CatalogueEntry],
    is_cancelled: IsCancelled = never_cancelled,
) -> HubRepo:
    """Return `repo` with the drafters that other repositories have for it; raises as from_named_repos."""
    elsewhere = from_named_repos(repo.model.repo, client, is_cancelled)
    return with_more_drafters(repo, (*from_catalogue(repo.model.repo, entries), *elsewhere))


def with_more_drafters(repo: HubRepo, more: Iterable[DrafterOption]) -> HubRepo:
    """Return `repo` with `more` behind its own drafters, each file once, n-gram last."""
    known = {option.files for option in repo.drafters}
    added = {option.files: option for option in more if option.files not in known}
    own = [option for option in repo.drafters if option.kind is not DrafterKind.NGRAM]
    return msgspec.structs.replace(repo, drafters=(*own, *added.values(), NGRAM_OPTION))


def nearest_first(quantisation: Quantisation, options: Sequence[DrafterOption]) -> tuple[DrafterOption, ...]:
    """Return `options` by names alone: beside the target, then of its kind, then nearest in bits; n-gram last."""
    target = quantisation.files[0]
    bits = bits_of(quantisation.label)

    def order(option: DrafterOption) -> tuple[bool, bool, int, int, int]:
        if not option.files:
            return (option.kind is DrafterKind.NGRAM, False, kind_order(option.kind), 0, 0)
        drafter = option.files[0]
        is_far = not is_beside(_folder(target), _folder(drafter))
        # “mtp-gemma.gguf” without a label is the one that its author recommends.
        label = parse_quantisation(drafter.name)
        distance = abs(bits_of(label) - bits) if label else 0
        return (False, is_far, kind_order(option.kind), distance, option.size_bytes)

    return tuple(sorted(options, key=order))


def judge_drafters(
    repo: HubRepo, quantisation: Quantisation, read: ReadFacts, is_cancelled: IsCancelled = never_cancelled
) -> HubRepo:
    """Return `repo` with its drafters judged by headers for `quantisation`, what does not fit last and with a reason.

    A head inside is offered if and only if the header has one. Drafters whose header cannot be read stay unjudged;
    raises what `read` raises for the target.
    """
    target = _candidate(quantisation.files, quantisation.label, read(quantisation.files))
    options = [option for option in nearest_first(quantisation, repo.drafters) if option.files]
    candidates = []
    for index, option in enumerate(options):
        check(is_cancelled)
        facts = _facts_or_none(option.files, read) if index < MAX_HEADERS else None
        candidates.append(_candidate(option.files, option.name, facts))
    suggestions = suggest_drafters(target, candidates)
    return msgspec.structs.replace(repo, drafters=tuple(_option(each) for each in suggestions))


def _facts_or_none(files: tuple[RemoteFile, ...], read: ReadFacts) -> ModelFacts | None:
    try:
        return read(files)
    except (Cancelled, Offline, RateLimited):
        raise
    except SlipstreamError:
        return None


def _option(suggestion: Suggestion) -> DrafterOption:
    verdict, candidate = suggestion.verdict, suggestion.candidate
    if candidate is None:
        is_ngram = verdict.kind is DrafterKind.NGRAM
        return NGRAM_OPTION if is_ngram else DrafterOption(verdict.kind, HEAD_INSIDE, reason=verdict.reason)
    return DrafterOption(verdict.kind, suggestion.name, candidate.files, verdict.reason)


def _candidate(files: tuple[RemoteFile, ...], name: str, facts: ModelFacts | None) -> Candidate:
    return Candidate(name, _folder(files[0]), facts, files)


def _options_of(repo: str, client: HubClient, is_cancelled: IsCancelled) -> list[DrafterOption]:
    return [
        msgspec.structs.replace(option, name=f"{option.name} from {repo}")
        for option in client.open_repo(repo, is_cancelled).drafters
        if option.files
    ]


def _is_for(name: str, base: str) -> bool:
    """Whether `name` is `base` with words for a drafter around it, and not a longer model's name."""
    plain, wanted = name.lower().replace("_", "-"), base.lower().replace("_", "-")
    before, found, after = plain.partition(wanted)
    return (
        bool(found)
        and not before[-1:].isalnum()
        and not re.match(r"[.\d]|[a-z0-9]", after)
        and (_sizes(plain) <= _sizes(wanted))
    )


def _sizes(name: str) -> set[str]:
    return {size.lower() for size in _SIZE.findall(name)}


def _family(base: str) -> str:
    """Return a name up to its size: "qwen3-" for "qwen3-14b"."""
    match = _SIZE.search(base)
    return base[: match.start()] if match else base


def _folder(file: RemoteFile) -> str:
    folder = PurePosixPath(file.path).parent
    return file.repo if folder == PurePosixPath() else f"{file.repo}/{folder}"


def _stem(file: RemoteFile) -> str:
    return PurePosixPath(file.name).stem
