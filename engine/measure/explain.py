"""What the controller decided in an answer, for people: pure functions of its rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from engine.speculation.round import DraftSource, Round, Skip

_NAMES = {
    DraftSource.NGRAM: "n-gram lookup",
    DraftSource.DRAFT_MODEL: "the draft model",
    DraftSource.MTP: "the MTP head",
    DraftSource.EAGLE3: "EAGLE-3",
    DraftSource.DFLASH: "DFlash",
    DraftSource.DSPARK: "DSpark",
}


def decode_rounds_of(rounds: Sequence[Round]) -> list[Round]:
    """Return the rounds after the prompt: those before which something may be drafted."""
    return [done for done in rounds if not done.is_prompt_pass]


def draft_lengths(rounds: Sequence[Round]) -> tuple[int, ...]:
    """Return how many tokens were drafted in each round after the prompt."""
    return tuple(len(done.drafted) for done in decode_rounds_of(rounds))


def draft_sources(rounds: Sequence[Round]) -> tuple[DraftSource, ...]:
    """Return who drafted in each round after the prompt."""
    return tuple(done.source for done in decode_rounds_of(rounds))


def n_skipped(rounds: Sequence[Round]) -> int:
    """Return in how many rounds the controller decided to draft nothing."""
    return sum(done.skip is not None for done in rounds)


def has_mostly_skipped(rounds: Sequence[Round]) -> bool:
    """Whether in most rounds after the prompt the controller decided to draft nothing."""
    return 2 * n_skipped(rounds) > len(decode_rounds_of(rounds))


def why_nothing(rounds: Sequence[Round]) -> str:
    """Return why nothing was drafted, by the last decision of that kind; "" where there was none."""
    last = next((done.skip for done in reversed(rounds) if done.skip is not None), None)
    return "" if last is None else reason(last)


def reason(skip: Skip) -> str:
    """Return the sentence of `skip`, without a full stop: what a draft costs here, and what it would have to give.

    Where drafts pay at present, a draft has to be better than those.
    """
    passes = f"a target pass over {skip.n_tokens + 1} tokens costs {skip.pass_cost:.1f} single passes on this computer"
    if skip.draft_cost >= 0.05:
        passes += f" and drafting by {_NAMES.get(skip.source, skip.source)} {skip.draft_cost:.1f} more"
    if skip.worth >= 1.05:
        passes += f", while a single pass's time yields {skip.worth:.1f} tokens"
    if skip.needed_acceptance > 1.0:
        return f"{passes}; no acceptance would make up for that"
    # Rounded towards each other they could look as if the draft had paid.
    needed, had = math.ceil(100.0 * skip.needed_acceptance), int(100.0 * skip.expected_acceptance)
    if skip.expected_acceptance >= skip.needed_acceptance:
        return f"{passes}; {needed} % acceptance would do, but the drafts that were tried gave less"
    return f"{passes}; this text would need {needed} % acceptance, it has {had} %"


def explain(rounds: Sequence[Round]) -> str:
    """Return what was drafted and, where the controller mostly drafted nothing, why; "" before there was a round."""
    lengths = [length for length in draft_lengths(rounds) if length]
    n_rounds = len(draft_lengths(rounds))
    if not n_rounds:
        return ""
    why = why_nothing(rounds)
    if not lengths:
        return f"Nothing was drafted: {why}." if why else "Nothing was drafted."
    span = f"{min(lengths)} to {max(lengths)} tokens, mostly {round(median(lengths))}"
    if min(lengths) == max(lengths):
        span = f"{lengths[0]} token{'s' if lengths[0] > 1 else ''}"
    drafted = f"Drafted {span}, in {len(lengths)} of {n_rounds} rounds"
    if why and has_mostly_skipped(rounds):
        return f"{drafted}; nothing in the others: {why}."
    return f"{drafted}."
