"""`slipstream inspect`: what a model file is, here or on the Hub, and what it can draft for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.cli.model_argument import find_header
from engine.cli.terminal import printable, write_json
from engine.models.facts import ModelFacts, read_facts
from engine.models.pairing import PairVerdict, judge
from engine.models.uses import uses
from engine.models.vocabulary_match import type_name

_LABEL_WIDTH = 18
_MOST_BASES = 3


def add_inspect(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `inspect` to the commands of `slipstream`."""
    summary = "say what a model file is, here or on the Hub"
    parser = commands.add_parser("inspect", help=summary, description=summary, allow_abbrev=False)
    parser.add_argument(
        "file", metavar="FILE|REPO/FILE", help="a GGUF file, or one on the Hub: owner/name/file.gguf"
    )
    parser.add_argument(
        "--for", dest="target", metavar="FILE|REPO/FILE", help="also say whether it can draft for this model"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--verbose", action="store_true", help="also print the details of an error")
    parser.set_defaults(act=_inspect)


def _inspect(given: argparse.Namespace) -> int:
    facts = read_facts(find_header(given.file))
    verdict = judge(read_facts(find_header(given.target)), facts) if given.target is not None else None
    if given.json:
        write_json(msgspec.json.encode(_as_json(given.file, facts, verdict)).decode())
    else:
        for line in _lines(facts, verdict):
            print(printable(line))
    return 0


def _as_json(file: str, facts: ModelFacts, verdict: PairVerdict | None) -> dict[str, object]:
    told: dict[str, object] = {"file": file, "is": facts.kind.phrase, "uses": uses(facts)}
    told |= {name: value for name, value in msgspec.structs.asdict(facts).items() if name != "path"}
    told["drafts_as"] = facts.drafter_kind
    if verdict is not None:
        told["pair"] = msgspec.structs.asdict(verdict)
    return told


def _lines(facts: ModelFacts, verdict: PairVerdict | None) -> Iterator[str]:
    yield f"{Path(facts.path).name}: {facts.kind.phrase}"
    for label, value in _rows(facts):
        yield f"  {label:<{_LABEL_WIDTH}}{value}"
    yield ""
    yield from uses(facts)
    if verdict is not None:
        yield ""
        yield _pair_line(verdict)


def _pair_line(verdict: PairVerdict) -> str:
    if not verdict.fits:
        return f"It does not fit that model: {verdict.reason}."
    remark = f", but {verdict.remark}" if verdict.remark else ""
    return f"It fits that model{remark}."


def _rows(facts: ModelFacts) -> Iterator[tuple[str, str]]:
    """Yield what is known of the file, under its name."""
    answers, vocabulary = facts.kind.can_answer, facts.vocabulary
    parts = f" in {facts.n_parts} files" if facts.n_parts > 1 else ""
    rows = {
        "name": facts.name,
        "architecture": facts.architecture,
        "parameters": _count(facts.n_params),
        "quantisation": facts.quantisation,
        "size": _size(facts.file_bytes) + parts,
        "context": f"{facts.n_ctx_train:,} tokens" if facts.n_ctx_train else "",
        "layers": f"{facts.n_layers}, hidden size {facts.n_embd}" if facts.n_layers else "",
        "experts": f"{facts.n_experts}, {facts.n_experts_used} of them active" if facts.n_experts else "",
        "read per token": _size(facts.read_bytes) if answers else "",
        "MTP heads": str(facts.drafter.n_heads or ""),
        "vocabulary": f"{vocabulary.n_tokens:,} tokens, {type_name(vocabulary)} {vocabulary.pre}".rstrip(),
        "chat template": ("yes" if facts.has_chat_template else "no") if answers else "",
        "made from": ", ".join(facts.base_models[:_MOST_BASES]),
        "licence": facts.licence,
    }
    if not vocabulary.n_tokens:
        del rows["vocabulary"]
    yield from ((label, value) for label, value in rows.items() if value)


def _count(number: int) -> str:
    return f"{number / 1e9:.2f} billion" if number >= 1e9 else f"{number:,}" if number else ""


def _size(n_bytes: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.2f} {unit}"
    return f"{n_bytes} bytes"
