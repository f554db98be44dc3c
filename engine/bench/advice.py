"""Is speculation worth enabling? Said from measured figures, in one honest paragraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.bench.figures import end_to_end_speedup, prefill_share
from engine.bench.plan import AUTO, OFF, mode_phrase
from engine.bench.results import FASTER, SLOWER, BenchResult, DrafterMemory, ModeFigures
from engine.budget.budget import Budget, KvType, Segment

_APART: Final = 1.15
_LONG_PREFILL: Final = 0.3
_MORE_ACCEPTED: Final = 0.1
_MOST_NAMED: Final = 3


_OF_DRAFTER: Final = (
    Segment.DRAFTER_WEIGHTS,
    Segment.DRAFTER_KV,
    Segment.DRAFTER_COMPUTE,
    Segment.DRAFTER_OUTPUT,
    Segment.SNAPSHOTS,
)


def drafter_memory(budget: Budget, n_ctx: int, kv_type: KvType = KvType.F16) -> DrafterMemory | None:
    """Return what the drafter takes at the smallest context of `budget` that holds `n_ctx` tokens, None without one."""
    large = [one for one in budget.contexts if one.n_ctx >= n_ctx and one.kv_type is kv_type]
    if not large:
        return None
    context = min(large, key=lambda one: one.n_ctx)
    taken_bytes = sum(context.segment_bytes(segment) for segment in _OF_DRAFTER)
    choice = budget.speed_or_context
    if choice is None:
        return DrafterMemory(taken_bytes)
    return DrafterMemory(taken_bytes, choice.n_ctx_with_drafter, choice.n_ctx_without_drafter)


def worth_enabling(result: BenchResult) -> str:
    """Return whether speculation is worth enabling for the bundle of `result`, and for what."""
    mode = result.drafting_mode
    overall = _find(result.overall, mode)
    if overall is None or overall.speedup is None:
        return "Nothing can be said yet: speculation was not measured beside plain decoding."
    kinds = [one for one in result.figures if one.mode == mode and one.speedup is not None]
    sentences = [
        _verdict(overall, len(kinds)),
        "" if result.is_complete else "The measurement was broken off, so that this is about a part of it.",
        _most_and_least(kinds),
        _idle(kinds),
        _losses(kinds),
        _better_fixed(result, overall),
        _prefill(result, mode, kinds),
        _temperature(result.temperature),
        _memory(result.memory),
        _chance(result),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def worth_for(result: BenchResult, category: str) -> str:
    """Return whether speculation is worth enabling for texts of `category`."""
    mode = result.drafting_mode
    figures = _find([one for one in result.figures if one.category == category], mode)
    plain = _find([one for one in result.figures if one.category == category], OFF)
    if figures is None or figures.speedup is None or plain is None:
        return f"Nothing can be said about {category}: it was not measured with and without speculation."
    speeds = f"{_speed(figures.tokens_per_s)} instead of {_speed(plain.tokens_per_s)} tokens per second"
    sentences = [f"{category.capitalize()}: {_claim(figures)}, {speeds}."]
    if figures.acceptance_rate is None:
        sentences.append("Nothing was drafted.")
    else:
        sentences.append(f"{figures.acceptance_rate:.0%} of what was drafted was accepted.")
    sentences += [_prefill(result, mode, [figures]), _temperature(result.temperature)]
    return " ".join(sentence for sentence in sentences if sentence)


def _verdict(overall: ModeFigures, n_kinds: int) -> str:
    over = f" over {n_kinds} kinds of text" if n_kinds > 1 else ""
    return f"{_claim(overall)[0].upper()}{_claim(overall)[1:]}{over}."


def _claim(figures: ModeFigures) -> str:
    speedup, how = figures.speedup or 0.0, mode_phrase(figures.mode)
    if speedup > FASTER:
        return f"yes, with {how} it writes {speedup:.2f} times as fast here as without speculation"
    if speedup >= SLOWER:
        return f"it makes little difference, with {how} it writes {speedup:.2f} times as fast here as without"
    return f"no, with {how} it writes only {speedup:.2f} times as fast here as without speculation"


def _most_and_least(kinds: Sequence[ModeFigures]) -> str:
    if len(kinds) < 2:
        return ""
    ranked = sorted(kinds, key=_speedup, reverse=True)
    most, least = ranked[0], ranked[-1]
    if _speedup(most) < _APART * _speedup(least):
        verb = "gain" if _speedup(least) > FASTER else "fare"
        return (
            f"All kinds of text {verb} about the same, {_speedup(least):.2f} to {_speedup(most):.2f} times."
        )
    if _speedup(most) < SLOWER:
        sentence = f"It costs least in {_gain(most)}, most in {_gain(least)}"
    elif _speedup(most) <= FASTER:
        sentence = f"It makes least difference in {_gain(most)}, and costs most in {_gain(least)}"
    else:
        second = ranked[1:2] if len(ranked) > 3 and _speedup(ranked[1]) > FASTER else []
        named = _listed([_gain(one) for one in (most, *second)])
        sentence = f"It does most for {named}, least for {_gain(least)}"
    if _accepts_more(most, least):
        sentence += ": the better the next words can be foreseen, the more drafts are accepted"
    return f"{sentence}."


def _accepts_more(most: ModeFigures, least: ModeFigures) -> bool:
    """Whether far more was accepted in `most`, as far as anything was drafted in both."""
    if most.acceptance_rate is None or least.acceptance_rate is None:
        return False
    return most.acceptance_rate > least.acceptance_rate + _MORE_ACCEPTED


def _idle(kinds: Sequence[ModeFigures]) -> str:
    idle = [one.category for one in kinds if not one.acceptance_by_position]
    if not idle:
        return ""
    where = (
        "It drafted nothing at all" if len(idle) == len(kinds) else f"In {_listed(idle)} nothing was drafted"
    )
    return f"{where}, so that what differs there is mostly chance."


def _losses(kinds: Sequence[ModeFigures]) -> str:
    losing = [one for one in kinds if _speedup(one) < SLOWER and one.acceptance_by_position]
    if not losing or len(losing) == len(kinds):
        return ""
    others = [one.category for one in kinds if _speedup(one) >= SLOWER]
    if len(losing) > _MOST_NAMED and len(losing) + len(others) == len(kinds) and len(losing) > len(others):
        return f"It costs speed in all but {_listed(others)}."
    return f"It costs speed in {_listed([f'{one.category} ({_speedup(one):.2f} times)' for one in losing])}."


def _better_fixed(result: BenchResult, overall: ModeFigures) -> str:
    best = result.proposed_mode
    if overall.mode != AUTO or best is None or best.mode in (AUTO, OFF) or best.speedup is None:
        return ""
    still = " still" if _speedup(overall) > FASTER else ""
    return f"A fixed draft length of {best.mode} was faster{still}: {best.speedup:.2f} times."


def _prefill(result: BenchResult, mode: str, kinds: Sequence[ModeFigures]) -> str:
    """Return what reading prompts means for the kind of text in which it takes the largest share of the time."""
    shares = []
    for one in kinds:
        runs = [run for run in result.runs if run.category == one.category]
        share = prefill_share(run for run in runs if run.mode == OFF)
        in_all = end_to_end_speedup(runs, mode)
        if share is not None and in_all is not None and share >= _LONG_PREFILL:
            shares.append((share, in_all, one))
    if not shares:
        return ""
    share, in_all, one = max(shares, key=lambda found: found[0])
    return (
        f"In {one.category}, {share:.0%} of the time goes into reading the prompt, which speculation cannot shorten: "
        f"from start to end it is {in_all:.2f} times as fast there."
    )


def _temperature(temperature: float) -> str:
    return f"This holds for temperature {temperature:g}, at which it was measured."


def _chance(result: BenchResult) -> str:
    if any(run.repeat for run in result.runs):
        return ""
    return "Every answer was measured once, so that a few percent may be chance."


def _memory(memory: DrafterMemory | None) -> str:
    if memory is None:
        return ""
    if memory.drafter_bytes <= 0:
        return "What drafts takes no memory worth mentioning."
    taken = f"What drafts takes {_amount(memory.drafter_bytes)} of memory"
    if not 0 < memory.n_ctx_with < memory.n_ctx_without:
        return f"{taken}."
    return (
        f"{taken}: the largest context is {memory.n_ctx_with:,} tokens with it, "
        f"{memory.n_ctx_without:,} without."
    )


def _amount(n_bytes: int) -> str:
    if n_bytes < 1 << 20:
        return "less than 1 MiB"
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 1 << 30 else f"{n_bytes / 2**20:.0f} MiB"


def _find(figures: Sequence[ModeFigures], mode: str) -> ModeFigures | None:
    return next((one for one in figures if one.mode == mode), None)


def _speedup(figures: ModeFigures) -> float:
    return figures.speedup or 0.0


def _gain(figures: ModeFigures) -> str:
    accepted = (
        "nothing drafted" if figures.acceptance_rate is None else f"{figures.acceptance_rate:.0%} accepted"
    )
    return f"{figures.category} ({_speedup(figures):.2f} times, {accepted})"


def _speed(tokens_per_s: float | None) -> str:
    return "—" if tokens_per_s is None else f"{tokens_per_s:.1f}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
