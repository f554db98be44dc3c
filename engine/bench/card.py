"""The result card of a bench, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from engine.bench.advice import worth_enabling, worth_for
from engine.bench.plan import mode_phrase
from engine.bench.proposal import best_sentence
from engine.bench.results import BenchResult, Machine, ModeFigures

NOTHING = "—"


def machine_words(machine: Machine) -> str:
    """Return one line: what it was measured on, and with what."""
    devices = f", {', '.join(machine.devices)}" if machine.devices else ""
    return (
        f"{machine.processor}, {threads_words(machine)}{devices}; {machine.system}; "
        f"Slipstream {machine.slipstream}, llama.cpp {machine.llama_cpp}"
    )


def threads_words(machine: Machine) -> str:
    """Return "4 threads", or "up to 4 threads, chosen while running"."""
    threads = f"{machine.n_threads} thread{'s' * (machine.n_threads != 1)}"
    return f"up to {threads}, chosen while running" if machine.chooses_threads else threads


def as_markdown(result: BenchResult) -> str:
    """Return the whole card: what was measured where, what is best, tables by category and by mode, the advice."""
    modes = tuple(dict.fromkeys(one.mode for one in result.overall))
    title = f"# {result.bundle}: {result.target} with {result.drafter}"
    facts = (
        f"{machine_words(result.machine)}. Temperature {result.temperature:g}, {result.measured_at[:16]} UTC."
    )
    parts = [
        title,
        facts,
        "" if result.is_complete else "The measurement was broken off: this is what there was.",
        f"**{best_sentence(result)}**" if best_sentence(result) else "",
        "Speed-up over plain decoding (tokens per second):",
        _table(("", *modes), speed_rows(result, modes)),
        "Over all categories:",
        _table(OVERALL_HEAD, mode_rows(result)),
        worth_enabling(result),
        *(
            f"{mode_phrase(mode).capitalize()}:\n\n{_table(MODE_HEAD, category_rows(result, mode))}"
            for mode in modes
        ),
        "\n".join(f"- Left out: {sentence}" for sentence in result.left_out),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def as_json(result: BenchResult) -> str:
    """Return the whole result, with `best_mode`, the one to take, and `advice`, as one JSON object on one line."""
    best = result.proposed_mode
    categories = dict.fromkeys(one.category for one in result.figures)
    whole = {
        **msgspec.to_builtins(result),
        "best_mode": best.mode if best is not None else None,
        "advice": worth_enabling(result),
        "advice_by_category": {category: worth_for(result, category) for category in categories},
    }
    return msgspec.json.encode(whole).decode()


# ------------------------------------------------------------------------------------------------------ tables


def speed_rows(result: BenchResult, modes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a row a category and one for all: "1.62× (41.0)" for each of `modes`, speeds alone without a baseline."""
    return figure_rows(result, modes, _cell)


def figure_rows(
    result: BenchResult, modes: Sequence[str], cell: Callable[[ModeFigures | None], str]
) -> list[tuple[str, ...]]:
    """Return a row a category and one for all, with a `cell` for each of `modes`."""
    by_name = {(one.category, one.mode): one for one in (*result.figures, *result.overall)}
    categories = dict.fromkeys(category for category, _ in by_name)
    return [(category, *(cell(by_name.get((category, mode))) for mode in modes)) for category in categories]


MODE_HEAD = (
    "",
    "tokens/s",
    "lowest to highest",
    "speed-up",
    "accepted",
    "tokens per round",
    "accepted by position",
)


OVERALL_HEAD = tuple("slowest to fastest kind" if name == "lowest to highest" else name for name in MODE_HEAD)


def mode_rows(result: BenchResult) -> list[tuple[str, ...]]:
    """Return a row a mode under OVERALL_HEAD, over all categories."""
    return _detail_rows(result.overall, lambda one: one.mode)


def category_rows(result: BenchResult, mode: str) -> list[tuple[str, ...]]:
    """Return a row a category under MODE_HEAD, in `mode`."""
    return _detail_rows([one for one in result.figures if one.mode == mode], lambda one: one.category)


def _detail_rows(figures: Sequence[ModeFigures], name: Callable[[ModeFigures], str]) -> list[tuple[str, ...]]:
    return [
        (
            name(one),
            _shown(one.tokens_per_s, lambda value: f"{value:.1f}"),
            _range(one),
            _shown(one.speedup, lambda value: f"{value:.2f}×"),
            _shown(one.acceptance_rate, lambda value: f"{value:.0%}"),
            _shown(one.mean_accepted_length, lambda value: f"{value:.2f}"),
            " ".join(f"{share:.0%}" for share in one.acceptance_by_position) or NOTHING,
        )
        for one in figures
    ]


def _cell(one: ModeFigures | None) -> str:
    if one is None or one.tokens_per_s is None:
        return NOTHING
    speed = f"{one.tokens_per_s:.1f}"
    return speed if one.is_baseline or one.speedup is None else f"{one.speedup:.2f}× ({speed})"


def _range(one: ModeFigures) -> str:
    if one.tokens_per_s_lowest is None or one.tokens_per_s_highest is None:
        return NOTHING
    return f"{one.tokens_per_s_lowest:.1f} to {one.tokens_per_s_highest:.1f}"


def _shown(value: float | None, show: Callable[[float], str]) -> str:
    return NOTHING if value is None else show(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in (head, *rows)]
    return "\n".join((lines[0], "|---" + "|--:" * (len(head) - 1) + "|", *lines[1:]))


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
