"""What the command line prints with --json: the lanes of a run, from their rounds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.measure.explain import draft_lengths, draft_sources, n_skipped, why_nothing
from engine.measure.metrics import measure
from engine.measure.verdict import speedup
from engine.speculation.round import DraftSource, FinishReason, Round

BASELINE = "baseline"
SPECULATIVE = "speculative"


class LaneReport(msgspec.Struct, frozen=True):
    """One lane; the fields are the figures of `Metrics`, in seconds, null where they do not exist.

    `mean_accepted_length` is always a number: 1 without any round, the length of the one token that there is.
    `draft_lengths` and `sources` are those of each round after the prompt; in `skipped` rounds the controller decided
    to draft nothing, `why` is the reason of the last of them.
    """

    name: str
    text: str
    tokens: tuple[int, ...]
    ttft_s: float | None
    prefill_s: float
    decode_s: float
    tokens_per_s: float | None
    tpot_s: float | None
    end_to_end_s: float
    finish_reason: FinishReason
    rounds: int
    drafted: int
    accepted: int
    acceptance_rate: float | None
    mean_accepted_length: float
    accepted_by_position: tuple[int, ...]
    draft_s: float
    verify_s: float
    draft_lengths: tuple[int, ...]
    sources: tuple[DraftSource, ...]
    skipped: int
    why: str | None


class DifferenceReport(msgspec.Struct, frozen=True):
    """The first token in which the lanes differ, counted from 0, and the gap of the two logits there, null
    where it was not looked at.
    """

    index: int
    logit_gap: float | None


class RunReport(msgspec.Struct, frozen=True):
    """A race, or a single lane (then nothing is compared)."""

    target: str
    drafter: str
    prompt_tokens: int
    speedup: float | None
    first_difference: DifferenceReport | None
    lanes: tuple[LaneReport, ...]


def lane_report(name: str, rounds: Sequence[Round], tail: str = "") -> LaneReport:
    """Return the report of one lane; `tail` is text that was held back when it was cancelled."""
    m = measure(rounds)
    return LaneReport(
        name=name,
        text="".join(done.text for done in rounds) + tail,
        tokens=tuple(token for done in rounds for token in done.tokens),
        ttft_s=m.ttft_s,
        prefill_s=m.prefill_s,
        decode_s=m.decode_s,
        tokens_per_s=m.tokens_per_s,
        tpot_s=m.tpot_s,
        end_to_end_s=m.end_to_end_s,
        finish_reason=m.finish_reason or FinishReason.CANCELLED,
        rounds=m.rounds,
        drafted=m.drafted,
        accepted=m.accepted,
        acceptance_rate=m.acceptance_rate,
        mean_accepted_length=m.mean_accepted_length or 1.0,
        accepted_by_position=m.accepted_by_position,
        draft_s=m.draft_s,
        verify_s=m.verify_s,
        draft_lengths=draft_lengths(rounds),
        sources=draft_sources(rounds),
        skipped=n_skipped(rounds),
        why=why_nothing(rounds) or None,
    )


def run_report(
    target: str,
    drafter: str,
    prompt_tokens: int,
    lanes: Sequence[LaneReport],
    first_difference: DifferenceReport | None = None,
) -> RunReport:
    """Return the report of a race (two lanes, the plain one first) or of a single lane."""
    speeds = [lane.tokens_per_s for lane in lanes]
    is_whole = all(lane.finish_reason is not FinishReason.CANCELLED for lane in lanes)
    return RunReport(
        target=target,
        drafter=drafter,
        prompt_tokens=prompt_tokens,
        speedup=speedup(speeds[0], speeds[1]) if len(speeds) == 2 and is_whole else None,
        first_difference=first_difference,
        lanes=tuple(lanes),
    )


def as_json(report: RunReport) -> str:
    """Return `report` as one JSON object."""
    return msgspec.json.encode(report).decode()
