"""llama.cpp's objects are what the decoding loop asks for: the type checker reads this file, the test runs it."""

from __future__ import annotations

import numpy as np

from engine.chat.answer_text import AnswerText
from engine.llama.context import Context, ContextSettings
from engine.llama.model import Model
from engine.llama.sampler import ChainSampler
from engine.speculation.protocols import Sampler, Target, TextStream
from engine.speculation.settings import SamplingSettings


def continue_text(target: Target, sampler: Sampler, text: TextStream, n_tokens: int) -> str:
    """Decode one token a pass, in the plainest way."""
    shown = ""
    rng = np.random.default_rng(1)
    for _ in range(n_tokens):
        if sampler.is_greedy:
            token = sampler.argmax(target.logits(0))
        else:
            distribution = sampler.distribution(target.logits(0))
            token = int(rng.choice(distribution.ids, p=distribution.probs))
        if target.is_end_of_answer(token):
            break
        sampler.accept(token)
        shown += text.push(token)
        target.extend([token], 1)
    return shown + text.flush()


def test_a_real_model_answers_through_the_protocols(starter: Model) -> None:
    with Context(starter, ContextSettings(n_ctx=256, n_threads=1)) as context:
        context.warm_up()
        context.extend(starter.vocabulary.tokenize("The capital of France is"), 1)
        sampler = ChainSampler(starter.vocabulary, SamplingSettings())
        text = AnswerText(starter.vocabulary.piece, ["\n"])
        assert continue_text(context, sampler, text, 4).strip().startswith("Paris")


def test_sampling_at_a_low_temperature_stays_close_to_greedy(starter: Model) -> None:
    with Context(starter, ContextSettings(n_ctx=256, n_threads=1)) as context:
        context.extend(starter.vocabulary.tokenize("The capital of France is"), 1)
        sampler = ChainSampler(starter.vocabulary, SamplingSettings(temperature=0.05, repeat_penalty=1.05))
        text = AnswerText(starter.vocabulary.piece)
        assert continue_text(context, sampler, text, 1) == " Paris"
