"""The table and the sentences at the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.measure.metrics import Metrics
from engine.worker.messages import FirstDifference

_NOTHING = "—"


def summary_table(names: Sequence[str], lanes: Sequence[Metrics]) -> str:
    """Return the figures of each lane as aligned text, one row a figure."""
    rows = [("", *names)]
    rows += [(title, *(show(lane) for lane in lanes)) for title, show in _ROWS]
    widths = [max(len(row[i]) for row in rows) for i in range(len(names) + 1)]
    return "\n".join(
        (
            row[0].ljust(widths[0])
            + "".join(f"  {cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))
        ).rstrip()
        for row in rows
    )


def difference_sentence(difference: FirstDifference | None, *, is_complete: bool) -> str:
    """Return what to say about two greedy lanes."""
    if difference is None:
        return (
            "Both lanes wrote the same tokens." if is_complete else "Both lanes wrote the same tokens so far."
        )
    if difference.logit_gap is None or difference.relative_gap is None:
        return f"The lanes part at token {difference.index + 1}."
    return (
        f"The lanes part at token {difference.index + 1}: there the two logits are "
        f"{abs(difference.logit_gap):.2g} apart ({difference.relative_gap:.1e} relative)."
    )


def _seconds(value: float | None) -> str:
    if value is None:
        return _NOTHING
    return f"{value * 1000:.1f} ms" if value < 0.1 else f"{value:.2f} s"


def _number(value: float | None, digits: int = 1) -> str:
    return _NOTHING if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.0%}"


def _positions(metrics: Metrics) -> str:
    pairs = zip(metrics.accepted_by_position, metrics.drafted_by_position, strict=True)
    return " ".join(_percent(accepted / drafted) for accepted, drafted in pairs if drafted) or _NOTHING


def _drafting(show: Callable[[Metrics], str]) -> Callable[[Metrics], str]:
    return lambda metrics: show(metrics) if metrics.drafted else _NOTHING


_ROWS: tuple[tuple[str, Callable[[Metrics], str]], ...] = (
    ("tokens per second", lambda m: _number(m.tokens_per_s)),
    ("time to first token", lambda m: _seconds(m.ttft_s)),
    ("time per output token", lambda m: _seconds(m.tpot_s)),
    ("end to end", lambda m: _seconds(m.end_to_end_s)),
    ("tokens", lambda m: str(m.n_tokens)),
    ("rounds", lambda m: str(m.rounds)),
    ("drafted, accepted", _drafting(lambda m: f"{m.drafted}, {m.accepted}")),
    ("acceptance rate", lambda m: _percent(m.acceptance_rate)),
    ("acceptance by position", _drafting(_positions)),
    ("mean accepted length", _drafting(lambda m: _number(m.mean_accepted_length, 2))),
    ("drafting", _drafting(lambda m: _seconds(m.draft_s))),
    ("verifying", _drafting(lambda m: _seconds(m.verify_s))),
    ("ended by", lambda m: str(m.finish_reason or "cancelled")),
)
