"""The controller against the best fixed draft length that hindsight finds, on computers and texts that are simulated.

Everything is seeded, so a case that passes passes for good; speeds are of simulated seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from engine.speculation.adaptive.controller import AdaptiveController
from engine.speculation.adaptive.learned import Learned
from engine.speculation.draft_length import FixedLength
from engine.speculation.round import DraftSource
from tests.engine.speculation.adaptive.simulator import (
    Computer,
    SimulatedDrafter,
    Text,
    best_fixed,
    flat,
    make_text,
    simulate,
    stepped,
)

N_TOKENS = 800
N_TEXT = N_TOKENS + 64
SEEDS = (0, 1)
COMPUTERS = {
    "waits for memory": Computer(flat(0.2, 0.05), step_s=0.018, missed_s=0.004),
    "gpu": Computer(flat(0.02, 0.02), step_s=0.001, fixed_s=0.0005, missed_s=0.0001),
    "other kernel from 4 tokens": Computer(stepped(0.08, 4, 1.0, 0.07), step_s=0.02, missed_s=0.004),
    "linear": Computer(flat(0.05, 0.7), step_s=0.01, missed_s=0.002),
}


def mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def against_best_fixed(
    computer: Computer, make: Callable[[int], Text], source: DraftSource = DraftSource.DRAFT_MODEL
) -> tuple[float, float]:
    """Return the controller's speed over the best fixed length's: knowing nothing, and with what it then knows."""
    cold, warm = [], []
    for seed in SEEDS:
        drafters = [SimulatedDrafter(make(seed), source)]
        _, best = best_fixed(drafters, computer, N_TOKENS, seed)
        learned = Learned()
        cold.append(
            simulate(AdaptiveController(learned), drafters, computer, N_TOKENS, seed).tokens_per_s / best
        )
        again = AdaptiveController(Learned(learned.record()))
        warm.append(simulate(again, drafters, computer, N_TOKENS, seed).tokens_per_s / best)
    return mean(cold), mean(warm)


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.95, 0.8, 0.6, 0.1])
@pytest.mark.parametrize("computer", COMPUTERS)
def test_a_steady_text_is_drafted_nearly_as_well_as_by_the_best_length(computer: str, chance: float) -> None:
    cold, warm = against_best_fixed(COMPUTERS[computer], lambda seed: make_text([chance] * N_TEXT, seed))
    assert warm >= 0.96
    assert cold >= 0.92


@pytest.mark.parametrize("computer", ["waits for memory", "gpu"])
def test_a_text_that_alternates_is_drafted_better_than_by_any_length(computer: str) -> None:
    chances = [0.93 if i // 100 % 2 == 0 else 0.25 for i in range(N_TEXT)]
    cold, _ = against_best_fixed(COMPUTERS[computer], lambda seed: make_text(chances, seed))
    assert cold > 1.02


def test_a_text_that_becomes_harder_is_drafted_better_than_by_any_length() -> None:
    chances = list(np.linspace(0.95, 0.2, N_TEXT))
    cold, _ = against_best_fixed(COMPUTERS["gpu"], lambda seed: make_text(chances, seed))
    assert cold > 1.0


def test_a_drafter_that_is_too_sure_of_itself_is_seen_through() -> None:
    cold, warm = against_best_fixed(
        COMPUTERS["waits for memory"], lambda seed: make_text([0.4] * N_TEXT, seed, bias=3.0)
    )
    assert warm >= 0.96
    assert cold >= 0.95


def test_drafts_that_cost_nothing_are_verified_as_far_as_they_pay() -> None:
    computer = Computer(flat(0.015, 0.3), step_s=0.0)
    cold, _ = against_best_fixed(computer, lambda seed: make_text([0.6] * N_TEXT, seed), DraftSource.NGRAM)
    assert cold > 1.0


@pytest.mark.parametrize("chance", [0.8, 0.4, 0.05])
def test_where_drafting_always_loses_next_to_nothing_is_lost(chance: float) -> None:
    computer = COMPUTERS["linear"]
    for seed in SEEDS:
        drafters = [SimulatedDrafter(make_text([chance] * N_TEXT, seed))]
        off = simulate(FixedLength(0), drafters, computer, N_TOKENS, seed).tokens_per_s
        learned = Learned()
        assert (
            simulate(AdaptiveController(learned), drafters, computer, N_TOKENS, seed).tokens_per_s
            > 0.97 * off
        )
        again = AdaptiveController(Learned(learned.record()))
        assert simulate(again, drafters, computer, 64, seed).tokens_per_s > 0.97 * off


def test_of_two_drafters_each_is_asked_where_it_is_better() -> None:
    """Stretches that only the lookup foresees alternate with stretches that only the model foresees."""
    computer = COMPUTERS["waits for memory"]
    lookup = [0.95 if i // 100 % 2 == 0 else 0.05 for i in range(N_TEXT)]
    model = [0.3 if i // 100 % 2 == 0 else 0.9 for i in range(N_TEXT)]
    for seed in SEEDS:
        ngram = SimulatedDrafter(make_text(lookup, seed), DraftSource.NGRAM)
        draft_model = SimulatedDrafter(make_text(model, seed + 100))
        both = simulate(AdaptiveController(Learned()), [ngram, draft_model], computer, N_TOKENS, seed)
        alone = [
            simulate(AdaptiveController(Learned()), [one], computer, N_TOKENS, seed).tokens_per_s
            for one in (ngram, draft_model)
        ]
        assert both.tokens_per_s > 1.05 * max(alone)
        assert {DraftSource.NGRAM, DraftSource.DRAFT_MODEL} <= set(both.sources)


def test_a_block_drafter_learns_that_length_costs_it_nothing() -> None:
    computer = Computer(flat(0.05, 0.02), step_s=0.01)
    cold = []
    for seed in SEEDS:
        drafters = [SimulatedDrafter(make_text([0.8] * N_TEXT, seed), DraftSource.DFLASH, is_block=True)]
        _, best = best_fixed(drafters, computer, N_TOKENS, seed)
        policy = AdaptiveController(Learned())
        cold.append(simulate(policy, drafters, computer, N_TOKENS, seed).tokens_per_s / best)
    assert mean(cold) > 0.93


def test_a_computer_that_is_disturbed_for_a_while_is_not_judged_by_that() -> None:
    computer = COMPUTERS["waits for memory"]
    drafters = [SimulatedDrafter(make_text([0.8] * N_TEXT, 3))]

    def slow(n_done: int) -> float:
        return 2.5 if 300 <= n_done < 500 else 1.0

    disturbed = simulate(AdaptiveController(Learned()), drafters, computer, N_TOKENS, 3, slow=slow)
    best = max(
        simulate(FixedLength(n), drafters, computer, N_TOKENS, 3, slow=slow).tokens_per_s
        for n in (0, 2, 4, 6)
    )
    assert disturbed.tokens_per_s > 0.95 * best
