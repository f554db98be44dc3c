"""The same promises on a real model: a target and its draft model of a megabyte, on llama.cpp."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from engine.chat.answer_text import AnswerText
from engine.llama.context import Context, ContextSettings
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model
from engine.llama.sampler import ChainSampler
from engine.measure.metrics import measure
from engine.speculation.cache import evaluate_missing, n_reusable
from engine.speculation.draft_length import FixedLength
from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.loop import decode_rounds
from engine.speculation.ngram import NgramDrafter, NgramSettings
from engine.speculation.protocols import Drafter
from engine.speculation.round import Round
from engine.speculation.settings import SamplingSettings

PROMPTS = (
    "def main(argv):\n    import sys\n",
    "class Foo(object):\n    def __init__(self, name):\n        self.name = name\n\n    def",
    'import os\nimport re\n\ndef parse(s):\n    """Return',
)


@dataclass(frozen=True)
class Pair:
    """A target and a draft model, each with a context."""

    target: Context
    draft: Context

    def tokens(self, prompt: str) -> list[int]:
        return self.target.model.vocabulary.tokenize(prompt)

    def draft_model(self) -> Drafter:
        return DraftModelDrafter(self.draft, self.target.n_vocab)

    def rounds(
        self,
        prompt: str,
        settings: SamplingSettings,
        drafter: Drafter | None,
        n_draft: int,
        max_tokens: int,
        seed: int = 0,
    ) -> Iterator[Round]:
        vocabulary = self.target.model.vocabulary
        return decode_rounds(
            self.target,
            self.tokens(prompt),
            sampler=ChainSampler(vocabulary, settings),
            drafters=() if drafter is None else (drafter,),
            policy=FixedLength(n_draft),
            text=AnswerText(vocabulary.piece),
            max_tokens=max_tokens,
            rng=np.random.default_rng(seed),
        )


@pytest.fixture(scope="module")
def pair(llama: LlamaLibrary, tiny_models: Path) -> Iterator[Pair]:
    settings = ContextSettings(n_ctx=1024, n_threads=1)
    with (
        Model.open(llama, tiny_models / "llama.gguf") as target,
        Model.open(llama, tiny_models / "llama-draft.gguf") as draft,
        Context(target, settings) as target_context,
        Context(draft, ContextSettings(n_ctx=1024, n_threads=1, max_rows=1)) as draft_context,
    ):
        yield Pair(target_context, draft_context)


def no_drafter(pair: Pair) -> None:
    return None


def ngram(pair: Pair) -> Drafter:
    return NgramDrafter(NgramSettings(run_lengths=(1, 3), min_chance=0.0))


MakeDrafter = Callable[[Pair], Drafter | None]


# ----------------------------------------------------------------------------------------------------- greedy


@pytest.mark.parametrize("n_draft", [1, 3, 8, 16])
@pytest.mark.parametrize("make_drafter", [ngram, Pair.draft_model])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_answer_is_the_targets_own(
    pair: Pair, prompt: str, make_drafter: MakeDrafter, n_draft: int
) -> None:
    greedy = SamplingSettings()
    plain = list(pair.rounds(prompt, greedy, None, 0, max_tokens=100))
    speculative = list(pair.rounds(prompt, greedy, make_drafter(pair), n_draft, max_tokens=100))
    assert [t for done in speculative for t in done.tokens] == [t for done in plain for t in done.tokens]
    assert "".join(done.text for done in speculative) == "".join(done.text for done in plain)
    assert measure(speculative).rounds < measure(plain).rounds


# (drafted, accepted) of llama-server --spec-type draft-simple for the same files, prompts and 160 tokens.
LLAMA_SERVER_COUNTS = {3: [(125, 117), (193, 93), (139, 112)], 7: [(167, 135), (374, 103), (222, 127)]}


@pytest.mark.parametrize("n_draft", LLAMA_SERVER_COUNTS)
def test_drafted_and_accepted_are_what_llama_server_counts(pair: Pair, n_draft: int) -> None:
    counts = []
    for prompt in PROMPTS:
        rounds = pair.rounds(prompt, SamplingSettings(), pair.draft_model(), n_draft, max_tokens=160)
        figures = measure(rounds)
        counts.append((figures.drafted, figures.accepted))
    assert counts == LLAMA_SERVER_COUNTS[n_draft]


# ---------------------------------------------------------------------------------------------------- sampled

SAMPLED = SamplingSettings(temperature=1.0, top_k=4, top_p=0.95, min_p=0.02)
N_FIRST = 3
N_SEEDS = 1500
MIN_EXPECTED = 5.0
SIGNIFICANCE = 1e-3
"""Seeds are fixed; a passing case passes for good."""

Beginning = tuple[int, ...]


def true_distribution(pair: Pair, prompt: str) -> dict[Beginning, float]:
    """Return the target's own probability of each possible first three tokens, by going through all of
    them."""
    context, sampler = pair.target, ChainSampler(pair.target.model.vocabulary, SAMPLED)
    beginnings: dict[Beginning, float] = {(): 1.0}
    for _ in range(N_FIRST):
        longer: dict[Beginning, float] = {}
        for beginning, probability in beginnings.items():
            history = [*pair.tokens(prompt), *beginning]
            context.rewind(n_reusable(context.cached, history))
            evaluate_missing(context, history)
            p = sampler.distribution(context.logits(0))
            for token, share in zip(p.ids.tolist(), p.probs.tolist(), strict=True):
                longer[(*beginning, token)] = probability * share
        beginnings = longer
    return beginnings


def sampled_beginning(pair: Pair, prompt: str, drafter: Drafter | None, seed: int) -> Beginning:
    """Return the first three tokens of one answer; it may be longer, so that drafts may be."""
    tokens: list[int] = []
    for done in pair.rounds(prompt, SAMPLED, drafter, n_draft=3, max_tokens=8, seed=seed):
        tokens.extend(done.tokens)
        if len(tokens) >= N_FIRST:
            break
    return tuple(tokens[:N_FIRST])


def counts_of(seen: Sequence[Beginning], possible: Sequence[Beginning]) -> list[int]:
    assert set(seen) <= set(possible), "something that the target never says"
    return [seen.count(beginning) for beginning in possible]


@pytest.mark.slow
@pytest.mark.parametrize("make_drafter", [no_drafter, ngram, Pair.draft_model])
def test_first_three_tokens_have_the_targets_distribution(pair: Pair, make_drafter: MakeDrafter) -> None:
    prompt = PROMPTS[1]
    truth = true_distribution(pair, prompt)
    possible = sorted(truth, key=truth.__getitem__, reverse=True)
    drafter = make_drafter(pair)
    seen = [sampled_beginning(pair, prompt, drafter, seed) for seed in range(N_SEEDS)]
    expected = np.array([truth[beginning] * N_SEEDS for beginning in possible])
    observed = np.array(counts_of(seen, possible))
    # The rare ones, last in order, count as one.
    n_frequent = int((expected >= MIN_EXPECTED).sum())
    expected = np.append(expected[:n_frequent], expected[n_frequent:].sum())
    observed = np.append(observed[:n_frequent], observed[n_frequent:].sum())
    assert n_frequent >= 10
    assert chisquare(observed, expected).pvalue > SIGNIFICANCE
