"""The adaptive controller against the best fixed draft length of each text in hindsight, on simulated computers.

    python -m benchmarks.controller [--tokens 800] [--seeds 3]

Costs and acceptance are simulated (tests/engine/speculation/adaptive/simulator.py), so this can run beside anything;
only the last line, the controller's own time a round, is measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from benchmarks.report import geometric_mean, table
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

COMPUTERS = {
    "1.5B F16 on two cores": Computer(flat(0.2, 0.05), step_s=0.018, missed_s=0.004),
    "a GPU": Computer(flat(0.02, 0.02), step_s=0.001, fixed_s=0.0005, missed_s=0.0001),
    "1.5B Q4_K_M on two cores": Computer(stepped(0.08, 4, 1.0, 0.07), step_s=0.02, missed_s=0.004),
    "bound by arithmetic": Computer(flat(0.05, 0.7), step_s=0.01, missed_s=0.002),
    "a dear drafter": Computer(flat(0.1, 0.1), step_s=0.03, missed_s=0.004),
    "n-gram, 135M": Computer(flat(0.015, 0.3), step_s=0.0),
}


def steady(chance: float, **more: float) -> Callable[[int, int], Text]:
    return lambda n, seed: make_text([chance] * n, seed, **more)


def alternating(n: int, seed: int) -> Text:
    return make_text([0.93 if i // 100 % 2 == 0 else 0.25 for i in range(n)], seed)


TEXTS: dict[str, Callable[[int, int], Text]] = {
    "95 %": steady(0.95),
    "80 %": steady(0.8),
    "60 %": steady(0.6),
    "40 %": steady(0.4),
    "10 %": steady(0.1),
    "80 %, confidence says nothing": steady(0.8, sharpness=300.0),
    "40 %, sure of itself": steady(0.4, bias=3.0),
    "93 % and 25 % in turn": alternating,
}


def row(
    computer: Computer, source: DraftSource, make: Callable[[int, int], Text], n: int, seeds: int
) -> list[str]:
    """Return best length, controller over best length (knowing nothing, and what that taught), and over no drafts."""
    cold, warm, off, lengths = [], [], [], []
    for seed in range(seeds):
        drafters = [SimulatedDrafter(make(n + 64, seed), source)]
        length, best = best_fixed(drafters, computer, n, seed)
        learned = Learned()
        cold.append(simulate(AdaptiveController(learned), drafters, computer, n, seed).tokens_per_s / best)
        again = simulate(
            AdaptiveController(Learned(learned.record())), drafters, computer, n, seed
        ).tokens_per_s
        warm.append(again / best)
        off.append(again / simulate(FixedLength(0), drafters, computer, n, seed).tokens_per_s)
        lengths.append(length)
    return [" ".join(map(str, lengths)), *(f"{geometric_mean(ratios):.3f}" for ratios in (cold, warm, off))]


def own_time_us(n_tokens: int) -> float:
    """Return what the controller itself takes a round, in microseconds, over a simulation that drafts."""
    drafters = [SimulatedDrafter(make_text([0.8] * (n_tokens + 64), 0))]
    computer = COMPUTERS["1.5B F16 on two cores"]

    def seconds(policies: Sequence[AdaptiveController | FixedLength]) -> float:
        began_s = time.process_time()
        n_rounds = sum(len(simulate(policy, drafters, computer, n_tokens).lengths) for policy in policies)
        return (time.process_time() - began_s) / n_rounds

    return 1e6 * (seconds([AdaptiveController(Learned()) for _ in range(5)]) - seconds([FixedLength(4)] * 5))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=800)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for name, computer in COMPUTERS.items():
        source = DraftSource.DRAFT_MODEL if computer.step_s else DraftSource.NGRAM
        rows = [
            [text, *row(computer, source, make, options.tokens, options.seeds)]
            for text, make in TEXTS.items()
        ]
        print(f"\n{name}\n")
        print(
            table(("accepted", "best lengths", "at first / best", "later / best", "later / off"), rows),
            flush=True,
        )
    print(f"\nThe controller itself: {own_time_us(options.tokens):.0f} µs a round.")


if __name__ == "__main__":
    main()
