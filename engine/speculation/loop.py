"""The decoding loop: draft, verify in one pass of the target, accept, roll back.

Everything that Slipstream shows about an answer is a function of the rounds that come out of here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.errors import Cancelled, DecodeFailed, EmptyPrompt, PromptTooLong
from engine.speculation.cache import n_reusable
from engine.speculation.confidence import top_probability
from engine.speculation.protocols import (
    Draft,
    Drafter,
    DraftPolicy,
    DraftRequest,
    RoundCost,
    Sampler,
    Target,
    TextStream,
)
from engine.speculation.round import DraftSource, FinishReason, Round
from engine.speculation.stopwatch import Stopwatch
from engine.speculation.verification import verify

PROMPT_CHUNK = 512
"""Most prompt tokens of one pass: llama.cpp's default n_ubatch. Longer passes would not be faster, only
without progress and slower to cancel."""

_NO_DRAFT = Draft()


def decode_rounds(
    target: Target,
    prompt: Sequence[int],
    *,
    sampler: Sampler,
    drafters: Sequence[Drafter],
    policy: DraftPolicy,
    text: TextStream,
    max_tokens: int,
    rng: np.random.Generator,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Round]:
    """Answer `prompt` with at most `max_tokens` tokens, yielding each round as it is done.

    `policy` decides before each round which of `drafters` is asked, if any, and how far it drafts.
    What `target` has cached of the prompt already is reused, as far as every drafter knows it too. `sampler`,
    `text` and `rng` are fresh ones for this answer; the prompt is taken into the sampler's penalty state here, as
    llama-server does. `clock` is in seconds; time in which the caller holds the generator is not counted. The caches
    are usable, and say truthfully what they hold, whenever the generator is suspended, closed or has raised.

    Raises EmptyPrompt, PromptTooLong, and what the passes of target and drafter raise (Cancelled,
    DecodeFailed).
    """
    _check_prompt(prompt, target.n_ctx)
    answer = _Answer(target, sampler, drafters, policy, text, max_tokens, rng, clock, [*prompt], len(prompt))
    yield from _prompt_passes(answer)
    while answer.finish_reason is None:
        yield _verification_round(answer)


@dataclass(slots=True)
class _Answer:
    """One answer in the making. `history` is the committed sequence, prompt and answer."""

    target: Target
    sampler: Sampler
    drafters: Sequence[Drafter]
    policy: DraftPolicy
    text: TextStream
    max_tokens: int
    rng: np.random.Generator
    clock: Callable[[], float]
    history: list[int]
    n_prompt: int
    finish_reason: FinishReason | None = None

    @property
    def n_generated(self) -> int:
        return len(self.history) - self.n_prompt


@dataclass(slots=True)
class _Outcome:
    """What one pass added to the answer."""

    tokens: list[int]
    pieces: list[str]
    accepted: int = 0
    certainty: float | None = None


def _check_prompt(prompt: Sequence[int], n_ctx: int) -> None:
    if not prompt:
        raise EmptyPrompt("The prompt is empty.", remedy="Write something to answer.")
    if len(prompt) >= n_ctx:
        raise PromptTooLong(
            f"The prompt has {len(prompt)} tokens; the context holds {n_ctx}, of which the answer needs one.",
            remedy="Shorten the prompt, or load the model with a larger context.",
        )


def _prompt_passes(answer: _Answer) -> Iterator[Round]:
    """Evaluate the prompt in chunks; the last one yields the first token as well."""
    watch = Stopwatch(answer.clock)
    target, prompt = answer.target, tuple(answer.history)
    answer.sampler.begin(prompt)
    with watch.drafting():
        known = min((drafter.begin(prompt) for drafter in answer.drafters), default=len(prompt))
    target.rewind(min(n_reusable(target.cached, prompt), known))
    while (done := len(target.cached)) < len(prompt):
        chunk = prompt[done : done + min(PROMPT_CHUNK, target.n_batch)]
        is_last = done + len(chunk) == len(prompt)
        outcome = _pass(answer, chunk, _NO_DRAFT, 1 if is_last else 0, watch)
        yield _round(answer, outcome, _NO_DRAFT, watch, n_prompt=len(chunk))
        watch = Stopwatch(answer.clock)


def _verification_round(answer: _Answer) -> Round:
    """One draft, one pass of the target over it, and the tokens that come out."""
    watch = Stopwatch(answer.clock)
    draft = _NO_DRAFT
    if answer.drafters:
        with watch.drafting():
            draft = _draft(answer)
    n_cached = len(answer.target.cached)
    # One token, unless the model had to forget more than was asked for in the last rewind.
    pending = answer.history[n_cached:]
    n_pass = len(pending) + len(draft.tokens)
    outcome = _pass(answer, [*pending, *draft.tokens], draft, 1 + len(draft.tokens), watch)
    answer.policy.learn(
        RoundCost(n_pass, n_cached, draft, outcome.accepted, watch.draft_s, watch.pass_s, outcome.certainty)
    )
    return _round(answer, outcome, draft, watch)


def _draft(answer: _Answer) -> Draft:
    """Ask the policy for what fits into the answer, the context and one pass; keep what the target can read."""
    target, n_history = answer.target, len(answer.history)
    n_max = min(
        answer.max_tokens - answer.n_generated - 1,
        target.n_ctx - n_history - 1,
        target.n_batch - (n_history - len(target.cached)),
        target.max_rows - 1,
    )
    if n_max <= 0:
        return _NO_DRAFT
    request = DraftRequest(answer.history, n_max, answer.sampler, answer.rng)
    draft = answer.policy.draft(answer.drafters, request)
    return _readable(draft, n_max, target.n_vocab)


def _readable(draft: Draft, n_max: int, n_vocab: int) -> Draft:
    """Cut `draft` before the first token that the target does not have, and to `n_max`.

    A vocabulary may differ by a few tokens at its end; llama.cpp rejects the whole batch for one unknown
    id. A drafter that samples keeps such tokens out of its distribution: cutting what was sampled would
    bias the rest.
    """
    n = next((i for i, token in enumerate(draft.tokens) if not 0 <= token < n_vocab), len(draft.tokens))
    n = min(n, n_max)
    if n == len(draft.tokens):
        return draft
    return replace(
        draft,
        tokens=draft.tokens[:n],
        distributions=None if draft.distributions is None else draft.distributions[:n],
        confidences=draft.confidences[:n],
    )


def _pass(answer: _Answer, tokens: Sequence[int], draft: Draft, n_rows: int, watch: Stopwatch) -> _Outcome:
    """Evaluate `tokens`, commit what comes out and roll the target back to what is committed.

    What has been committed comes out as a round: after that nothing here raises.
    """
    target = answer.target
    first_position = len(target.cached)
    try:
        with watch.passing():
            target.extend(tokens, n_rows)
        if answer.drafters:
            with watch.drafting():
                for drafter in answer.drafters:
                    drafter.observe(tokens, first_position)
        with watch.choosing():
            outcome = _commit(answer, draft) if n_rows else _Outcome([], [])
            if draft.skip is not None:
                outcome.certainty = top_probability(answer.target.logits(0))
    finally:
        # Where going back takes passes, a cancel leaves fewer tokens cached: the next pass makes up for that.
        try:  # noqa: SIM105 - contextlib.suppress makes an object for every round
            # The last committed token belongs to the next pass.
            target.rewind(min(len(target.cached), len(answer.history) - 1))
        except Cancelled:
            pass
    return outcome


def _commit(answer: _Answer, draft: Draft) -> _Outcome:
    """Take the tokens that verification lets through into the answer, up to the one that ends it.

    Where no token can be chosen (a grammar that leads nowhere, logits that are no numbers) those before it are kept:
    the next pass begins where this one ended, and raises if that is still so.
    """
    outcome = _Outcome([], [])
    try:
        for token, accepted in verify(draft, answer.target.logits, answer.sampler, answer.rng):
            _take(answer, outcome, token, accepted=accepted)
            if answer.finish_reason is not None:
                break
    except DecodeFailed:
        if not outcome.tokens:
            raise
    return outcome


def _take(answer: _Answer, outcome: _Outcome, token: int, *, accepted: bool) -> None:
    is_end = answer.target.is_end_of_answer(token)
    answer.history.append(token)
    outcome.tokens.append(token)
    outcome.pieces.append("" if is_end else answer.text.push(token))
    outcome.accepted += accepted
    answer.finish_reason = _finish_reason(answer, is_end=is_end)
    if answer.finish_reason is not None:
        outcome.pieces[-1] += answer.text.flush()


def _finish_reason(answer: _Answer, *, is_end: bool) -> FinishReason | None:
    if is_end or answer.text.stopped:
        return FinishReason.STOP
    if answer.n_generated >= answer.max_tokens or len(answer.history) >= answer.target.n_ctx:
        return FinishReason.LENGTH
    return None


def _round(answer: _Answer, outcome: _Outcome, draft: Draft, watch: Stopwatch, n_prompt: int = 0) -> Round:
    return Round(
        tokens=tuple(outcome.tokens),
        pieces=tuple(outcome.pieces),
        drafted=draft.tokens,
        accepted=outcome.accepted,
        source=draft.source if draft.tokens else DraftSource.NONE,
        n_prompt=n_prompt,
        draft_s=watch.draft_s,
        verify_s=watch.verify_s,
        total_s=watch.total_s,
        finish_reason=answer.finish_reason,
        skip=draft.skip,
        pass_s=watch.pass_s,
    )
