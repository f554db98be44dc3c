"""`slipstream budget`: what a bundle takes in memory at each context, before it is downloaded or loaded."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.budget.budget import Budget, BudgetQuestion, ContextBudget, KvType, Segment
from engine.budget.estimated import estimate_of_entry
from engine.cli.client import EngineClient
from engine.cli.devices import ask_devices, describe_device
from engine.cli.model_files import find_bundle
from engine.cli.models.entries import find_entry
from engine.cli.models.table import print_table
from engine.cli.models.verb import add_verb
from engine.cli.terminal import write_json
from engine.errors import BadOption, Offline
from engine.models.bundle import ROLLBACK_TOKENS, Bundle, DrafterChoice, DrafterKind
from engine.models.catalogue import CatalogueEntry
from engine.service import Service
from engine.speculation.settings import MAX_DRAFT_LENGTH
from engine.worker.messages import BudgetMeasured

_MIN_CONTEXT, _MAX_CONTEXT = 64, 2**31 - 1
_DRAFTERS: Final = {
    DrafterKind.NONE: "no drafter",
    DrafterKind.NGRAM: "n-gram lookup",
    DrafterKind.MODEL: "a draft model",
    DrafterKind.MTP: "an MTP head",
    DrafterKind.EAGLE3: "EAGLE-3",
    DrafterKind.DFLASH: "DFlash",
    DrafterKind.DSPARK: "DSpark",
}
# Narrow columns for people: the segments in the order of their meaning.
_COLUMNS: Final[tuple[tuple[str, tuple[Segment, ...]], ...]] = (
    ("weights", (Segment.WEIGHTS, Segment.VOCABULARY)),
    ("cache", (Segment.KV, Segment.STATE, Segment.SNAPSHOTS)),
    ("compute", (Segment.COMPUTE, Segment.OUTPUT)),
    (
        "drafter",
        (Segment.DRAFTER_WEIGHTS, Segment.DRAFTER_KV, Segment.DRAFTER_COMPUTE, Segment.DRAFTER_OUTPUT),
    ),
    ("race", (Segment.RACE,)),
)


_TAKEN: Final = tuple(segment for segment in Segment if segment is not Segment.RESERVE)


def add_budget(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream budget`."""
    parser = add_verb(commands, "budget", "say what a model takes in memory at each context", act)
    parser.add_argument(
        "name",
        metavar="FILE|REPO/FILE|BUNDLE",
        help="a GGUF file, one on the Hub, or a bundle of the catalogue",
    )
    parser.add_argument(
        "--drafter",
        metavar="FILE|mtp|ngram|none",
        default="",
        help="what drafts (default: the bundle's own, or ngram)",
    )
    parser.add_argument(
        "--contexts",
        metavar="N,N,…",
        default="",
        help="tokens (default: 2048 to the model's limit, doubling)",
    )
    parser.add_argument(
        "--kv",
        metavar="TYPE,…",
        default="f16",
        help="how caches store a number: f16, q8_0, q4_0 (default: f16)",
    )
    parser.add_argument("--gpu-layers", type=int, metavar="N", default=-1, help="default: -1, all")
    parser.add_argument(
        "--draft",
        type=int,
        metavar="N",
        default=ROLLBACK_TOKENS,
        help=f"tokens that a running state can be rolled back over (default: {ROLLBACK_TOKENS})",
    )
    parser.add_argument("--race", action="store_true", help="with the second context of a comparison")


def act(given: argparse.Namespace) -> int:
    """Measure and print one budget."""
    contexts, kv_types = _contexts(given.contexts), _kv_types(given.kv)
    if not 0 <= given.draft <= MAX_DRAFT_LENGTH:
        raise BadOption(f"The draft must be between 0 and {MAX_DRAFT_LENGTH} tokens.")
    if given.gpu_layers < -1:
        raise BadOption("The number of layers on the GPU must be 0 or more, or -1 for all.")
    asked = _Asked(given.name, contexts, kv_types, given.gpu_layers, given.draft, given.race)
    try:
        bundle = find_bundle(given.name, given.drafter)
        question = asked.question(bundle)
        found = _ask(question)
    except Offline:
        entry = find_entry(given.name)
        if entry is None or given.drafter:
            raise
        bundle = Bundle(entry.bundle.name, entry.bundle.id, DrafterChoice(entry.bundle.drafter_kind))
        question = asked.question(bundle)
        found = _estimate(entry, asked)
    if given.json:
        write_json(msgspec.json.encode(budget_facts(found, question)).decode())
    else:
        _print(bundle, found, question)
    return 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was typed beside the drafter."""

    name: str
    contexts: tuple[int, ...]
    kv_types: tuple[KvType, ...]
    n_gpu_layers: int
    rollback_tokens: int
    race: bool

    def question(self, bundle: Bundle) -> BudgetQuestion:
        return BudgetQuestion(
            bundle.target,
            bundle.drafter,
            self.contexts,
            self.kv_types,
            self.n_gpu_layers,
            self.rollback_tokens,
            self.race,
        )


def _ask(question: BudgetQuestion) -> Budget:
    with EngineClient(Service()) as client:
        for event in client.run(lambda service: service.budget(question)):
            if isinstance(event, BudgetMeasured):
                return event.budget
        client.raise_if_interrupted()
    raise AssertionError("a budget ends with BudgetMeasured or an error")


def _estimate(entry: CatalogueEntry, asked: _Asked) -> Budget:
    """Return what the catalogue's own facts say, which need no network."""
    with EngineClient(Service()) as client:
        devices = ask_devices(client).devices
    return estimate_of_entry(
        entry,
        devices,
        contexts=asked.contexts,
        kv_types=asked.kv_types,
        n_gpu_layers=asked.n_gpu_layers,
        race=asked.race,
    )


def _contexts(text: str) -> tuple[int, ...]:
    try:
        contexts = tuple(int(part.replace("_", "")) for part in text.split(",") if part.strip())
    except ValueError:
        raise BadOption("The contexts must be whole numbers, as in --contexts 4096,8192.") from None
    if any(not _MIN_CONTEXT <= n_ctx <= _MAX_CONTEXT for n_ctx in contexts):
        raise BadOption(f"A context must be between {_MIN_CONTEXT} and {_MAX_CONTEXT} tokens.")
    return contexts


def _kv_types(text: str) -> tuple[KvType, ...]:
    try:
        return tuple(dict.fromkeys(KvType(part.strip()) for part in text.split(",")))
    except ValueError:
        raise BadOption("The cache types are f16, q8_0 and q4_0, as in --kv f16,q8_0.") from None


def budget_facts(found: Budget, question: BudgetQuestion) -> dict[str, Any]:
    """Return what --json tells."""
    choice = found.speed_or_context
    return {
        "target": question.target,
        "drafter": str(question.drafter.kind),
        "devices": msgspec.to_builtins(found.devices),
        "n_ctx_train": found.n_ctx_train,
        "n_layers": found.n_layers,
        "contexts": [_context_facts(each, found.n_ctx_train) for each in found.contexts],
        "largest_context_that_fits": found.largest_fit[question.kv_types[0]],
        "largest_by_kv_type": {str(kv_type): n_ctx for kv_type, n_ctx in found.largest_fit.items()},
        "kv_types_that_cannot_be": {str(kv_type): reason for kv_type, reason in found.unfit.items()},
        "n_gpu_layers_that_fit": found.n_gpu_layers_that_fit,
        "speed_or_context": msgspec.to_builtins(choice) if choice is not None else None,
        "is_estimate": found.is_estimate,
        "error_fraction": found.error_fraction,
    }


def _context_facts(each: ContextBudget, n_ctx_train: int) -> dict[str, Any]:
    segments = {str(s): each.segment_bytes(s) for s in _TAKEN if each.segment_bytes(s)}
    return {
        "n_ctx": each.n_ctx,
        "kv_type": str(each.kv_type),
        "fits": each.fits,
        "is_beyond_model": each.n_ctx > n_ctx_train > 0,
        "short_of_device": each.short_of_device,
        "total_bytes": each.total_bytes,
        "kept_free_bytes": each.segment_bytes(Segment.RESERVE),
        "segments": segments,
        "by_device": {
            use.device: {
                str(segment): n_bytes for segment, n_bytes in use.segments.items() if segment in _TAKEN
            }
            for use in each.devices
        },
    }


def _print(bundle: Bundle, found: Budget, question: BudgetQuestion) -> None:
    print(f"{Path(bundle.target).name} with {_DRAFTERS[bundle.drafter.kind]}, in MiB")
    for device in found.devices:
        print(f"{describe_device(device)}{_kept_free(found, device.name)}")
    columns = [column for column in _COLUMNS if any(_mib(each, column[1]) for each in found.contexts)]
    for kv_type in question.kv_types:
        print()
        if kv_type in found.unfit:
            print(f"{kv_type}: {found.unfit[kv_type]}")
            continue
        rows = [_row(each, columns, found.n_ctx_train) for each in found.contexts if each.kv_type is kv_type]
        head = (f"context, {kv_type}", *(name for name, _ in columns), "total", "")
        print_table(head, rows, right=range(len(columns) + 2))
        print(_largest_sentence(kv_type, found))
    _print_choices(found)


def _row(
    each: ContextBudget, columns: list[tuple[str, tuple[Segment, ...]]], n_ctx_train: int
) -> tuple[str, ...]:
    parts = [f"{_mib(each, segments):,.0f}" for _, segments in columns]
    verdict = "fits" if each.fits else f"too much for {each.short_of_device}"
    if each.n_ctx > n_ctx_train > 0:
        verdict = "more than the model can look back"
    return (f"{each.n_ctx:,}", *parts, f"{each.total_bytes / 2**20:,.0f}", verdict)


def _kept_free(found: Budget, device: str) -> str:
    """Return how much of a device is left alone whatever is loaded, as the end of a line about it."""
    uses = (use for each in found.contexts for use in each.devices if use.device == device)
    reserve_bytes = max((use.segments.get(Segment.RESERVE, 0) for use in uses), default=0)
    return f", {reserve_bytes >> 20} MiB of them kept free" if reserve_bytes else ""


def _mib(each: ContextBudget, segments: tuple[Segment, ...]) -> float:
    return sum(each.segment_bytes(segment) for segment in segments) / 2**20


def _largest_sentence(kv_type: KvType, found: Budget) -> str:
    largest = found.largest_fit[kv_type]
    if largest == 0:
        return "No context fits."
    limit = ", the model's own limit" if largest == found.n_ctx_train else ""
    return f"The largest context that fits: {largest:,} tokens{limit}."


def _print_choices(found: Budget) -> None:
    if found.n_gpu_layers_that_fit is None:
        print("With no number of layers on the GPU does it fit.")
    elif found.n_gpu_layers_that_fit >= 0:
        print(f"{found.n_gpu_layers_that_fit} of {found.n_layers} layers fit on the GPU.")
    choice = found.speed_or_context
    if choice is not None:
        print(
            f"Speed or context: {choice.n_ctx_with_drafter:,} tokens with the drafter, "
            f"{choice.n_ctx_without_drafter:,} without it."
        )
    if found.is_estimate:
        print(f"Estimated, within {found.error_fraction:.0%}.")
