"""The sentences of advice: why this one, what it costs, what would make it better."""

from __future__ import annotations

from dataclasses import dataclass

from engine.budget.budget import USABLE_N_CTX
from engine.recommend.advice import Fit, SpeedRange

_GIB = 1 << 30
_CLEARLY = 1.3
_NEARLY = 0.7


def gib(n_bytes: float) -> str:
    """Return an amount of memory: "7.3 GiB", "0.4 GiB"."""
    return f"{n_bytes / _GIB:.1f} GiB"


def tokens(n_ctx: int) -> str:
    return f"{n_ctx:,} tokens"


def speed_words(speed: SpeedRange) -> str:
    """Return "about 18 to 25 tokens per second", without a range where both ends look alike."""
    low, high = (_two_digits(n) for n in (speed.low_tokens_per_s, speed.high_tokens_per_s))
    about = "" if speed.is_measured else "about "
    return f"{about}{low if low == high else f'{low} to {high}'} tokens per second"


def _two_digits(n: float) -> str:
    return f"{n:.1f}" if n < 10 else f"{n:.0f}"


def fit_sentence(fit: Fit, total_bytes: int, room_bytes: int, n_ctx: int, *, has_gpu: bool) -> str:
    """Return the numbers behind the badge; `room_bytes` is what can be had where it is fast, or in all."""
    needs = f"Needs {gib(total_bytes)} with a context of {tokens(n_ctx)}"
    place = "on the GPU" if has_gpu else "of memory"
    match fit:
        case Fit.UNKNOWN if total_bytes:
            return f"Its files take {gib(total_bytes)}; what a context takes is not known before its header is read."
        case Fit.UNKNOWN:
            return "Its size is not known before the Hub is asked."
        case Fit.DOES_NOT_FIT:
            return f"{needs}; {gib(room_bytes)} can be used here."
        case Fit.PARTLY_ON_CPU:
            return f"{needs}; {gib(room_bytes)} can be used on the GPU, so that some layers stay on the processor."
        case Fit.TIGHT:
            return f"{needs}, nearly all of the {gib(room_bytes)} {place} that can be used."
        case _:
            return f"{needs}; {gib(room_bytes)} {place} can be used."


_MOST_CAPABLE = "The most capable one that runs well here"
_LIKELY_MOST_CAPABLE = "The most capable one that fits here and is likely to run well"


@dataclass(frozen=True, slots=True)
class Lead:
    """How one recommended bundle compares with the first; `quality_share` is its quality over the first one's."""

    rank: int
    is_comfortable: bool
    has_speed: bool
    quality_share: float
    times_as_fast: float
    less_bytes: int


def why(lead: Lead) -> str:
    """Return the first part of the sentence: why this one."""
    if lead.rank == 1:
        if lead.has_speed:
            return _MOST_CAPABLE if lead.is_comfortable else "The fastest one that fits here"
        return _LIKELY_MOST_CAPABLE if lead.is_comfortable else "Likely the fastest one that fits here"
    if not lead.is_comfortable:
        return "Slower still"
    capable = "Nearly as capable" if lead.quality_share >= _NEARLY else "Less capable"
    link = " and" if lead.quality_share >= _NEARLY else ", but"
    if lead.times_as_fast >= _CLEARLY:
        return f"{capable}{link} about {lead.times_as_fast:.1f} times as fast as the first one"
    return f"{capable}{link} takes {gib(lead.less_bytes)} less" if lead.less_bytes > _GIB / 2 else capable


def why_not(
    fit: Fit,
    largest_n_ctx: int,
    speed: SpeedRange | None,
    better_form: str,
    *,
    is_comfortable: bool,
    surely_fits: bool = True,
) -> str:
    """Return why one is not recommended, "" where how it fits says it already.

    `better_form` is the name of another form of the same model, which is.
    """
    if fit in (Fit.DOES_NOT_FIT, Fit.UNKNOWN):
        return ""
    if largest_n_ctx < USABLE_N_CTX:
        return f"Not recommended here, as a conversation of {tokens(USABLE_N_CTX)} has no room in it."
    if not surely_fits:
        return (
            "Not recommended here, as it may not fit: what it takes is an estimate, and little would be left."
        )
    if better_form:
        return f"“{better_form}” is the form of this model that suits this computer best."
    if is_comfortable:
        return ""
    pace = f": {speed_words(speed)}" if speed is not None else ""
    return f"Not recommended here, as it would be slow{pace}."


def cost(total_bytes: int, speed: SpeedRange | None) -> str:
    pace = f"{speed_words(speed)}, " if speed is not None else ""
    return f"{pace}{gib(total_bytes)} of memory"


def better(fit: Fit, speed: SpeedRange | None, short_bytes: int) -> str:
    """Return what would make it better, "" where nothing comes to mind."""
    if fit is Fit.PARTLY_ON_CPU:
        return f"with {gib(short_bytes)} more on the GPU all of it would run there"
    if speed is None:
        return "measure this computer to know how fast"
    if fit is Fit.TIGHT:
        return "closing other programs would leave room for a longer context"
    return ""
