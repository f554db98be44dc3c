"""The result of a comparison as text to copy: Markdown for people, JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.draft_lengths import draft_length_words
from app.format import duration, ratio, share, speed
from app.lane import Lane
from engine.measure.explain import explain
from engine.measure.report import (
    BASELINE,
    SPECULATIVE,
    DifferenceReport,
    RunReport,
    as_json,
    lane_report,
    run_report,
)
from engine.measure.verdict import verdict
from engine.models.bundle import Bundle
from engine.speculation.round import FinishReason
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import FirstDifference, Loaded


@dataclass(frozen=True, slots=True)
class RaceResult:
    """Everything that a finished comparison says."""

    bundle: Bundle
    loaded: Loaded | None
    settings: GenerationSettings
    prompt: str
    n_prompt_tokens: int
    seed: int
    plain: Lane
    speculative: Lane
    difference: FirstDifference | None

    def report(self) -> RunReport:
        difference = self.difference
        return run_report(
            self.bundle.target,
            self.bundle.drafter.path or self.bundle.drafter.kind.value,
            self.n_prompt_tokens,
            (
                lane_report(BASELINE, self.plain.rounds, self.plain.tail),
                lane_report(SPECULATIVE, self.speculative.rounds, self.speculative.tail),
            ),
            DifferenceReport(difference.index, difference.logit_gap) if difference else None,
        )


def json_card(result: RaceResult) -> str:
    """Return the object that `slipstream compare --json` prints."""
    return as_json(result.report())


def markdown_card(result: RaceResult) -> str:
    """Return a table of both lanes with what they ran on."""
    plain, other = result.plain.metrics, result.speculative.metrics
    rows = (
        ("Speed", speed(plain.tokens_per_s), speed(other.tokens_per_s)),
        ("First token", duration(plain.ttft_s), duration(other.ttft_s)),
        ("Per token", duration(plain.tpot_s), duration(other.tpot_s)),
        ("Tokens", str(plain.n_tokens), str(other.n_tokens)),
        ("Tokens per pass", ratio(plain.mean_accepted_length), ratio(other.mean_accepted_length)),
        ("Drafts accepted", "", share(other.acceptance_rate)),
        ("Draft / check time", "", f"{duration(other.draft_s)} / {duration(other.verify_s)}"),
    )
    lines = [
        f"**{_headline(result)}**",
        "",
        "| | without speculation | with speculation |",
        "|---|---:|---:|",
        *(f"| {name} | {first} | {second} |" for name, first, second in rows),
        "",
        *_circumstances(result),
    ]
    return "\n".join(lines) + "\n"


def _headline(result: RaceResult) -> str:
    lanes = (result.plain, result.speculative)
    is_whole = all(lane.reason in (FinishReason.STOP, FinishReason.LENGTH) for lane in lanes)
    sentence = verdict(*(lane.metrics for lane in lanes), is_final=is_whole).sentence
    return sentence if is_whole else f"Cut off. {sentence}"


def _circumstances(result: RaceResult) -> list[str]:
    drafter = result.bundle.drafter
    sampling = result.settings.sampling
    lines = [
        f"- Model: {result.bundle.name} (`{Path(result.bundle.target).name}`)",
        f"- Drafter: {Path(drafter.path).name if drafter.path else drafter.kind.value}, "
        f"draft length {draft_length_words(result.settings.draft_length).lower()}",
        f"- Temperature {sampling.temperature:g}, seed {result.seed}, "
        f"at most {result.settings.max_tokens} tokens",
        f"- Prompt: {result.n_prompt_tokens} tokens",
    ]
    if result.loaded is not None:
        devices = ", ".join(device.description or device.name for device in result.loaded.devices)
        lines.append(f"- Computer: {devices}, {result.loaded.n_threads} threads")
    if said := explain(result.speculative.rounds):
        lines.append(f"- {said}")
    if result.difference is not None:
        gap = result.difference.logit_gap
        scores = "gap not measured" if gap is None else f"scores differ by {gap:.3g}"
        lines.append(f"- The texts part at token {result.difference.index + 1} ({scores})")
    return lines
