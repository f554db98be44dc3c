"""Answering a prompt with what is loaded: one lane, or two that race."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.chat.answer_text import AnswerText
from engine.errors import Cancelled
from engine.llama.context import Context
from engine.llama.grammar import grammar_text
from engine.llama.sampler import ChainSampler
from engine.measure.difference import first_difference, logit_gap
from engine.measure.race import race
from engine.speculation.cache import n_reusable
from engine.speculation.loop import decode_rounds
from engine.speculation.protocols import Drafter
from engine.speculation.round import FinishReason, Round
from engine.speculation.settings import GenerationSettings
from engine.worker.loading import LoadedBundle
from engine.worker.messages import (
    PLAIN_LANE,
    SPECULATIVE_LANE,
    Event,
    FirstDifference,
    LaneFinished,
    MemoryChanged,
    RoundDone,
    Started,
)
from engine.worker.threads import with_chosen_threads

Emit = Callable[[Event], None]


def answer(
    bundle: LoadedBundle,
    job: int,
    prompt: list[int],
    settings: GenerationSettings,
    *,
    speculative: bool,
    fresh: bool = False,
    emit: Emit,
) -> None:
    """Answer `prompt` in the conversation's context, whose cache is reused unless `fresh`; ends with LaneFinished.

    Raises BadOption for a grammar that cannot be read, EmptyPrompt, PromptTooLong and DecodeFailed; a cancel is not an
    error here.
    """
    seed = settings.sampling.seed or 0
    if fresh:
        bundle.forget()
    lane = SPECULATIVE_LANE if speculative else PLAIN_LANE
    text = AnswerText(bundle.target.vocabulary.piece, settings.stop)
    rounds = _rounds(bundle, bundle.context, prompt, settings, bundle.drafters if speculative else (), text)
    emit(Started(job, len(prompt), n_reusable(bundle.context.cached, prompt) if prompt else 0, seed))
    _report(job, {lane: text}, ((lane, done) for done in rounds), emit)


def compare(
    bundle: LoadedBundle, job: int, prompt: list[int], settings: GenerationSettings, *, emit: Emit
) -> FirstDifference | None:
    """Race two lanes from empty caches; return where greedy ones part. Raises as `answer` does.

    MemoryChanged tells where this took a second context.
    """
    n_contexts = len(bundle.contexts())
    try:
        plain = bundle.plain_context()
    except Cancelled:
        emit(Started(job, len(prompt), 0, settings.sampling.seed or 0))
        for lane in (PLAIN_LANE, SPECULATIVE_LANE):
            emit(LaneFinished(job, lane, FinishReason.CANCELLED))
        return None
    if len(bundle.contexts()) > n_contexts:
        emit(MemoryChanged(job, bundle.memory_bytes(), bundle.predicted_bytes()))
    bundle.forget()
    texts = {
        lane: AnswerText(bundle.target.vocabulary.piece, settings.stop)
        for lane in (PLAIN_LANE, SPECULATIVE_LANE)
    }
    rounds = (
        _rounds(bundle, plain, prompt, settings, (), texts[PLAIN_LANE]),
        _rounds(bundle, bundle.context, prompt, settings, bundle.drafters, texts[SPECULATIVE_LANE]),
    )
    emit(Started(job, len(prompt), 0, settings.sampling.seed or 0))
    tokens = _report(job, texts, race(rounds), emit)
    if not settings.sampling.is_greedy:
        return None
    return parting(plain, prompt, tokens[PLAIN_LANE], tokens[SPECULATIVE_LANE])


def _rounds(
    bundle: LoadedBundle,
    context: Context,
    prompt: list[int],
    settings: GenerationSettings,
    drafters: Sequence[Drafter],
    text: AnswerText,
) -> Iterator[Round]:
    """Return the rounds of an answer, not begun yet; raises BadOption."""
    rounds = decode_rounds(
        context,
        prompt,
        sampler=ChainSampler(bundle.target.vocabulary, settings.sampling, grammar_text(settings)),
        # A draft model would read the prompt even if it is never asked.
        drafters=drafters if settings.drafts else (),
        policy=bundle.experience().policy(settings),
        text=text,
        max_tokens=settings.max_tokens,
        rng=np.random.default_rng(settings.sampling.seed),
    )
    return with_chosen_threads(bundle.threads, bundle.contexts, rounds)


def _report(
    job: int, texts: dict[int, AnswerText], rounds: Iterator[tuple[int, Round]], emit: Emit
) -> dict[int, list[int]]:
    """Emit every round as it comes and the end of every lane; return the tokens of each lane."""
    tokens: dict[int, list[int]] = {lane: [] for lane in texts}
    running = set(texts)
    try:
        for lane, done in rounds:
            tokens[lane] += done.tokens
            emit(RoundDone(job, lane, done))
            if done.finish_reason is not None:
                running.discard(lane)
                emit(LaneFinished(job, lane, done.finish_reason))
    except Cancelled:
        for lane in sorted(running):
            emit(LaneFinished(job, lane, FinishReason.CANCELLED, texts[lane].flush()))
    return tokens


def parting(
    context: Context, prompt: list[int], plain: list[int], speculative: list[int]
) -> FirstDifference | None:
    """Return where the lanes part. A cancel, be it the race's own, leaves the gap unknown: a pass may be long,
    the place is known without one.
    """
    index = first_difference(plain, speculative)
    if index is None:
        return None
    try:
        gap = logit_gap(context, prompt, plain[:index], plain[index], speculative[index])
    except Cancelled:
        return FirstDifference(index, plain[index], speculative[index])
    return FirstDifference(index, plain[index], speculative[index], gap.gap, gap.relative)
