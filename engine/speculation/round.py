"""The round: the single source of truth of everything that Slipstream shows about an answer."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class DraftSource(StrEnum):
    """Who proposed a draft."""

    NONE = "none"
    NGRAM = "ngram"
    DRAFT_MODEL = "draft-model"
    MTP = "mtp"
    EAGLE3 = "eagle3"
    DFLASH = "dflash"
    DSPARK = "dspark"


class FinishReason(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"


class Skip(msgspec.Struct, frozen=True):
    """Why the controller drafted nothing though it could, in figures of this computer and this answer.

    The best draft that there was is of `n_tokens` tokens from `source`. A target pass over it and one token more costs
    `pass_cost` single passes, drafting it `draft_cost`. A single pass's time yields `worth` tokens at present, more
    than 1 where another drafter does well. It would need `needed_acceptance` of its tokens accepted to be worth that
    (above 1: nothing would be enough); `expected_acceptance` is what such drafts have had. That may be more than is
    needed: then those that were tried gave less.
    """

    source: DraftSource
    n_tokens: int
    pass_cost: float
    draft_cost: float
    needed_acceptance: float
    expected_acceptance: float
    worth: float = 1.0


class Round(msgspec.Struct, frozen=True):
    """One pass of the target and the tokens that came out of it.

    A *prompt pass* (`n_prompt` > 0) evaluates a chunk of the prompt; the last one also yields the first token.
    Every other round is one draft, one verification pass over it and the tokens that come out: the accepted
    prefix of the draft, then at most one token of the target's own.

    `tokens[:accepted]` were drafted and accepted, the rest is the target's own. `pieces[i]` is the text that became
    visible with `tokens[i]`: concatenated over all rounds it is the answer, so a character that spans two tokens
    appears with the second, and text that might be the start of a stop string appears once that is settled.
    `skip` says why nothing was drafted, where the controller decided that.
    Times are in seconds of the lane's own clock: `total_s` covers draft, verification and everything between, `pass_s`
    is what the target's pass took of `verify_s`; the rest is choosing tokens, with a grammar looking for them.
    """

    tokens: tuple[int, ...] = ()
    pieces: tuple[str, ...] = ()
    drafted: tuple[int, ...] = ()
    accepted: int = 0
    source: DraftSource = DraftSource.NONE
    n_prompt: int = 0
    draft_s: float = 0.0
    verify_s: float = 0.0
    total_s: float = 0.0
    finish_reason: FinishReason | None = None
    skip: Skip | None = None
    pass_s: float = 0.0

    @property
    def is_prompt_pass(self) -> bool:
        return self.n_prompt > 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)
