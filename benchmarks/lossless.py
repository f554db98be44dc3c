"""Do both lanes give the same tokens? Greedy, 30 prompts, several draft lengths; lists every place where they part.

    python -m benchmarks.lossless TARGET DRAFTER|ngram [--drafts 1,3,8,16] [--max-tokens 128] [--prompts 30]
                                [--threads N]

Both lanes start from empty caches. They may part only at a near tie of two logits: a pass over several tokens adds up
in another order than a pass over one.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import Client, chat
from benchmarks.report import machine_line, table
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import PLAIN_LANE, SPECULATIVE_LANE, FirstDifference, LoadSettings

NEAR_TIE = 1e-2


def prompts(count: int) -> list[tuple[str, str]]:
    """Return (kind, text) pairs, the kinds in turn."""
    by_kind: dict[str, list[str]] = json.loads((Path(__file__).parent / "prompts.json").read_text("utf-8"))
    longest = max(len(texts) for texts in by_kind.values())
    every = [(kind, texts[i]) for i in range(longest) for kind, texts in by_kind.items() if i < len(texts)]
    return every[:count]


def drafter(name: str) -> DrafterChoice:
    return NGRAM_DRAFTER if name == "ngram" else DrafterChoice(DrafterKind.MODEL, name)


@dataclass
class Tally:
    """What all prompts gave at one draft length."""

    equal: int = 0
    drafted: int = 0
    accepted: int = 0


def describe(where: str, length: int, parted: FirstDifference) -> str:
    if parted.logit_gap is None or parted.relative_gap is None:
        return f"parted: {where}, draft {length}, token {parted.index}: gap not measured: DIFFERENT"
    verdict = "near tie" if abs(parted.relative_gap) < NEAR_TIE else "DIFFERENT"
    gap = f"logit gap {parted.logit_gap:.4g}, relative {parted.relative_gap:.1e}"
    return f"parted: {where}, draft {length}, token {parted.index}: {gap}: {verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target")
    parser.add_argument("drafter")
    parser.add_argument("--drafts", default="1,3,8,16")
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--prompts", type=int, default=30)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    tallies = {int(text): Tally() for text in options.drafts.split(",")}
    parted: list[str] = []
    with Client() as client:
        settings = LoadSettings(n_ctx=2048, n_threads=options.threads)
        client.load(Bundle("benchmark", options.target, drafter(options.drafter)), settings)
        for number, (kind, text) in enumerate(prompts(options.prompts)):
            for length, tally in tallies.items():
                race = GenerationSettings(max_tokens=options.max_tokens, draft_length=length)
                outcome = client.race(chat(text), race)
                metrics = outcome.lanes[SPECULATIVE_LANE].metrics
                tally.drafted += metrics.drafted
                tally.accepted += metrics.accepted
                tally.equal += outcome.lanes[PLAIN_LANE].tokens == outcome.lanes[SPECULATIVE_LANE].tokens
                if outcome.first_difference is not None:
                    parted.append(describe(f"{kind} {number}", length, outcome.first_difference))
            print(f"{number + 1} of {options.prompts}", end="\r", flush=True)
    print(machine_line())
    head = ("draft length", "prompts", "same tokens", "drafted", "accepted")
    rows = [(n, options.prompts, t.equal, t.drafted, t.accepted) for n, t in tallies.items()]
    print(table(head, rows))
    print("\n".join(parted))


if __name__ == "__main__":
    main()
