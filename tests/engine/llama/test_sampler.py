"""The distribution that samplers leave: equal to llama.cpp's whole chain over the whole vocabulary."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.errors import DecodeFailed
from engine.llama.model import Model
from engine.llama.sampler import ChainSampler
from engine.speculation.settings import SamplingSettings

SETTINGS = (
    SamplingSettings(temperature=0.8),
    SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0),
    SamplingSettings(temperature=1.5, top_k=5, top_p=1.0, min_p=0.0),
    SamplingSettings(temperature=0.7, top_k=0, top_p=0.9, min_p=0.0),
    SamplingSettings(temperature=0.7, top_k=0, top_p=1.0, min_p=0.2),
    SamplingSettings(temperature=0.7, top_k=1),
    SamplingSettings(temperature=1.0, top_k=40, repeat_penalty=1.3),
    SamplingSettings(
        temperature=1.0, top_k=40, frequency_penalty=0.7, presence_penalty=-0.5, penalty_last_n=4
    ),
    SamplingSettings(temperature=1.0, top_k=0, top_p=0.99, min_p=0.0, presence_penalty=1.5),
)
HISTORY = (5, 17, 17, 901, 40_000, 5, 5)


def logits_for(n_vocab: int, seed: int = 1) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0.0, 3.0, n_vocab).astype(np.float32)


def whole_chain(settings: SamplingSettings, n_vocab: int, logits: NDArray[np.float32]) -> dict[int, float]:
    """Run llama.cpp's samplers over all candidates, the slow and plain way."""
    s = settings
    chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
    for sampler in (
        api.llama_sampler_init_penalties(
            n_vocab, s.penalty_last_n, s.repeat_penalty, s.frequency_penalty, s.presence_penalty
        ),
        api.llama_sampler_init_top_k(s.top_k),
        api.llama_sampler_init_top_p(s.top_p, 1),
        api.llama_sampler_init_min_p(s.min_p, 1),
        api.llama_sampler_init_temp(s.temperature),
    ):
        api.llama_sampler_chain_add(chain, sampler)
    for token in HISTORY:
        api.llama_sampler_accept(chain, token)
    candidates = (api.llama_token_data * n_vocab)()
    for token, logit in enumerate(logits.tolist()):
        candidates[token] = api.llama_token_data(token, logit, 0.0)
    array = api.llama_token_data_array(candidates, n_vocab, -1, False)
    api.llama_sampler_apply(chain, ctypes.byref(array))
    rest: list[tuple[Any, float]] = [(array.data[i].id, array.data[i].logit) for i in range(array.size)]
    api.llama_sampler_free(chain)
    weights = np.exp(np.array([logit for _, logit in rest]) - max(logit for _, logit in rest))
    return dict(zip((token for token, _ in rest), weights / weights.sum(), strict=True))


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_distribution_is_that_of_the_whole_chain(starter: Model, settings: SamplingSettings) -> None:
    logits = logits_for(starter.n_vocab)
    before = logits.copy()
    sampler = ChainSampler(starter.vocabulary, settings)
    for token in HISTORY:
        sampler.accept(token)
    result = sampler.distribution(logits)
    expected = whole_chain(settings, starter.n_vocab, logits)
    assert sorted(result.ids) == sorted(expected)
    assert np.allclose(result.probs, [expected[token] for token in result.ids.tolist()], atol=1e-6)
    assert result.probs.sum() == pytest.approx(1.0)
    assert result.ids.dtype == np.int32
    assert result.probs.dtype == np.float64
    assert np.array_equal(logits, before)


def test_results_outlive_the_next_call(starter: Model) -> None:
    sampler = ChainSampler(starter.vocabulary, SamplingSettings(temperature=1.0))
    first = sampler.distribution(logits_for(starter.n_vocab, 1))
    ids, probs = first.ids.copy(), first.probs.copy()
    sampler.distribution(logits_for(starter.n_vocab, 2))
    assert np.array_equal(first.ids, ids)
    assert np.array_equal(first.probs, probs)


def test_tokens_at_minus_infinity_never_appear(starter: Model) -> None:
    logits = np.full(starter.n_vocab, -np.inf, np.float32)
    logits[[7, 9]] = 1.0, 2.0
    result = ChainSampler(starter.vocabulary, SamplingSettings(temperature=1.0, min_p=0.0)).distribution(
        logits
    )
    assert sorted(result.ids) == [7, 9]


def test_greedy_takes_the_most_likely_token_after_penalties(starter: Model) -> None:
    logits = logits_for(starter.n_vocab)
    best = int(logits.argmax())
    plain = ChainSampler(starter.vocabulary, SamplingSettings())
    assert plain.is_greedy
    assert plain.argmax(logits) == best
    assert plain.distribution(logits).ids.tolist() == [best]
    penalised = ChainSampler(starter.vocabulary, SamplingSettings(repeat_penalty=5.0))
    assert penalised.argmax(logits) == best
    penalised.accept(best)
    assert penalised.argmax(logits) == int(np.argsort(logits)[-2])


def test_penalties_forget_what_left_the_window(starter: Model) -> None:
    logits = logits_for(starter.n_vocab)
    best = int(logits.argmax())
    sampler = ChainSampler(starter.vocabulary, SamplingSettings(repeat_penalty=5.0, penalty_last_n=2))
    for token in (best, 1, 2):
        sampler.accept(token)
    assert sampler.argmax(logits) == best


def test_a_fork_goes_its_own_way(starter: Model) -> None:
    logits = logits_for(starter.n_vocab)
    best = int(logits.argmax())
    sampler = ChainSampler(starter.vocabulary, SamplingSettings(repeat_penalty=5.0))
    fork = sampler.fork()
    fork.accept(best)
    assert fork.argmax(logits) != best
    assert sampler.argmax(logits) == best
    assert fork.fork().argmax(logits) == fork.argmax(logits)
    del sampler
    gc.collect()
    assert fork.argmax(logits) != best


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_are_told(starter: Model, temperature: float) -> None:
    sampler = ChainSampler(starter.vocabulary, SamplingSettings(temperature=temperature))
    logits = np.zeros(starter.vocabulary.n_tokens, np.float32)
    logits[::7] = np.nan
    with pytest.raises(DecodeFailed, match="no valid numbers"):
        sampler.argmax(logits) if temperature == 0.0 else sampler.distribution(logits)
