"""A grammar and speculation together: what comes out is what the target alone would say under the grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from engine.chat.answer_text import AnswerText
from engine.llama.context import Context, ContextSettings
from engine.llama.grammar import grammar_text
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model
from engine.llama.sampler import ChainSampler
from engine.speculation.draft_length import FixedLength
from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.loop import decode_rounds
from engine.speculation.ngram import NgramDrafter, NgramSettings
from engine.speculation.protocols import Drafter
from engine.speculation.round import FinishReason, Round
from engine.speculation.settings import GenerationSettings, SamplingSettings

PROMPT = "def main(argv):\n    import sys\n    value ="
# Lines of words and numbers in turn: what may come next depends on everything before.
LINES = 'root ::= ([a-z]+ " " [0-9]+ "\\n")+'
SCHEMA = json.dumps({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4})
SAMPLED = SamplingSettings(temperature=1.0, top_k=6, top_p=0.95, min_p=0.02)
N_SEEDS = 500
SIGNIFICANCE = 1e-3
"""Seeds are fixed; a passing case passes for good."""

Contexts = tuple[Context, Context]


@pytest.fixture(scope="module")
def contexts(llama: LlamaLibrary, tiny_models: Path) -> Iterator[Contexts]:
    settings = ContextSettings(n_ctx=512, n_threads=1)
    with (
        Model.open(llama, tiny_models / "llama.gguf") as target,
        Model.open(llama, tiny_models / "llama-draft.gguf") as draft,
        Context(target, settings) as target_context,
        Context(draft, ContextSettings(n_ctx=512, n_threads=1, max_rows=1)) as draft_context,
    ):
        yield target_context, draft_context


def no_drafter(contexts: Contexts) -> None:
    return None


def ngram(contexts: Contexts) -> Drafter:
    return NgramDrafter(NgramSettings(run_lengths=(1, 3), min_chance=0.0))


def draft_model(contexts: Contexts) -> Drafter:
    return DraftModelDrafter(contexts[1], contexts[0].n_vocab)


def rounds_of(
    contexts: Contexts,
    drafter: Drafter | None,
    grammar: str,
    sampling: SamplingSettings,
    max_tokens: int,
    seed: int = 0,
) -> Iterator[Round]:
    target = contexts[0]
    vocabulary = target.model.vocabulary
    return decode_rounds(
        target,
        vocabulary.tokenize(PROMPT),
        sampler=ChainSampler(vocabulary, sampling, grammar),
        drafters=() if drafter is None else (drafter,),
        policy=FixedLength(3),
        text=AnswerText(vocabulary.piece),
        max_tokens=max_tokens,
        rng=np.random.default_rng(seed),
    )


def text_of(rounds: Sequence[Round]) -> str:
    return "".join(done.text for done in rounds)


MakeDrafter = Callable[[Contexts], Drafter | None]


@pytest.mark.parametrize("make_drafter", [ngram, draft_model])
def test_greedy_answer_is_the_targets_own_under_the_grammar(
    contexts: Contexts, make_drafter: MakeDrafter
) -> None:
    plain = list(rounds_of(contexts, None, LINES, SamplingSettings(), 80))
    speculative = list(rounds_of(contexts, make_drafter(contexts), LINES, SamplingSettings(), 80))
    assert text_of(speculative) == text_of(plain)
    assert sum(done.accepted for done in speculative) > 0
    assert re.fullmatch(r"([a-z]+ [0-9]+\n)*[a-z]*( [0-9]*)?", text_of(plain))


def test_draft_model_obeys_the_grammar_too(contexts: Contexts) -> None:
    rounds = list(rounds_of(contexts, draft_model(contexts), LINES, SamplingSettings(), 80))
    drafted = sum(len(done.drafted) for done in rounds)
    assert sum(done.accepted for done in rounds) / drafted > 0.4


@pytest.mark.parametrize("make_drafter", [no_drafter, ngram, draft_model])
@pytest.mark.parametrize("sampling", [SamplingSettings(), SAMPLED])
def test_answer_ends_where_the_schema_is_fulfilled(
    contexts: Contexts, make_drafter: MakeDrafter, sampling: SamplingSettings
) -> None:
    grammar = grammar_text(GenerationSettings(json_schema=SCHEMA))
    for seed in range(5):
        rounds = list(rounds_of(contexts, make_drafter(contexts), grammar, sampling, 200, seed))
        if rounds[-1].finish_reason is FinishReason.STOP:
            numbers = json.loads(text_of(rounds))
            assert 2 <= len(numbers) <= 4
            assert all(isinstance(number, int) for number in numbers)
        else:
            # A model of a megabyte may go on with a number for ever.
            assert re.fullmatch(r"\[[-0-9, ]*", text_of(rounds))


def first_two(contexts: Contexts, drafter: Drafter | None, seed: int) -> tuple[int, ...]:
    tokens: list[int] = []
    for done in rounds_of(contexts, drafter, LINES, SAMPLED, 6, seed):
        tokens.extend(done.tokens)
        if len(tokens) >= 2:
            break
    return tuple(tokens[:2])


def true_distribution(contexts: Contexts) -> dict[tuple[int, ...], float]:
    """Return the target's probability of each beginning of two tokens: its own, renormalised over the grammar."""
    target = contexts[0]
    vocabulary = target.model.vocabulary
    prompt = vocabulary.tokenize(PROMPT)
    target.rewind(0)
    target.extend(prompt, 1)
    sampler = ChainSampler(vocabulary, SAMPLED, LINES)
    first = sampler.distribution(target.logits(0))
    found: dict[tuple[int, ...], float] = {}
    for token, p in zip(first.ids.tolist(), first.probs.tolist(), strict=True):
        ahead = sampler.fork()
        ahead.accept(token)
        target.rewind(len(prompt))
        target.extend([token], 1)
        second = ahead.distribution(target.logits(0))
        for other, q in zip(second.ids.tolist(), second.probs.tolist(), strict=True):
            found[token, other] = p * q
    return found


@pytest.mark.slow
@pytest.mark.parametrize("make_drafter", [no_drafter, ngram, draft_model])
def test_sampled_answers_have_the_distribution_of_the_target_under_the_grammar(
    contexts: Contexts, make_drafter: MakeDrafter
) -> None:
    truth = true_distribution(contexts)
    drafter = make_drafter(contexts)
    seen = [first_two(contexts, drafter, seed) for seed in range(N_SEEDS)]
    assert set(seen) <= set(truth), "something that the target never says"
    possible = sorted(truth, key=truth.__getitem__, reverse=True)
    expected = np.array([truth[beginning] * N_SEEDS for beginning in possible])
    observed = np.array([seen.count(beginning) for beginning in possible])
    n_frequent = int((expected >= 5.0).sum())
    assert n_frequent >= 5
    expected = np.append(expected[:n_frequent], expected[n_frequent:].sum())
    observed = np.append(observed[:n_frequent], observed[n_frequent:].sum())
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > SIGNIFICANCE
