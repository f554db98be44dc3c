"""Are the race's figures those of lanes that run alone? Each lane alone and in the race, in turn, as a ratio.

python -m benchmarks.race_fairness TARGET DRAFTER|ngram [--draft 3] [--tokens 128] [--repeat 5]
"""

from __future__ import annotations

import argparse

from benchmarks.client import Client, chat
from benchmarks.lossless import drafter, prompts
from benchmarks.report import machine_line, spread, table
from engine.models.bundle import Bundle
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import PLAIN_LANE, SPECULATIVE_LANE, LoadSettings


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target")
    parser.add_argument("drafter")
    parser.add_argument("--draft", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    settings = GenerationSettings(max_tokens=options.tokens, draft_length=options.draft)
    prompt = chat(prompts(1)[0][1])
    alone: dict[int, list[float]] = {PLAIN_LANE: [], SPECULATIVE_LANE: []}
    raced: dict[int, list[float]] = {PLAIN_LANE: [], SPECULATIVE_LANE: []}
    with Client() as client:
        client.load(Bundle("benchmark", options.target, drafter(options.drafter)), LoadSettings(n_ctx=2048))
        client.race(prompt, settings)
        for _ in range(options.repeat):
            outcome = client.race(prompt, settings)
            for lane in alone:
                raced[lane].append(outcome.lanes[lane].metrics.tokens_per_s or 0.0)
                single = client.generate(prompt, settings, speculative=lane == SPECULATIVE_LANE)
                alone[lane].append(single.metrics.tokens_per_s or 0.0)
    print(machine_line())
    rows = [
        (
            name,
            spread(raced[lane]),
            spread(alone[lane]),
            spread([a / b for a, b in zip(raced[lane], alone[lane], strict=True)], 3),
        )
        for lane, name in ((PLAIN_LANE, "plain"), (SPECULATIVE_LANE, "speculative"))
    ]
    print(table(("lane", "in the race, tok/s", "alone, tok/s", "race / alone"), rows))


if __name__ == "__main__":
    main()
