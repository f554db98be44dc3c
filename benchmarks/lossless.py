"""Do both lanes give the same tokens? Greedy, 30 prompts, several draft lengths; lists every place where they part.

    python -m benchmarks.lossless TARGET DRAFTER|ngram [--drafts 1,3,8,16] [--max-tokens 128] [--prompts 30]
                                [--threads N]

The plain lane is run once a prompt, the speculative lane once a draft length. Two lanes may part only at a near tie
of two logits (a pass over several tokens adds up in another order than a pass over one), and only the race reports
the gap, so a prompt whose lanes part is raced again to get it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.client import Client, Lane, chat
from benchmarks.report import machine_line, table
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import FirstDifference, LoadSettings

NEAR_TIE = 1e-2


def prompts(count: int) -> list[tuple[str, str]]:
    """Return (kind, text) pairs, the kinds in turn."""
    by_kind: dict[str, list[str]] = json.loads((Path(__file__).parent / "prompts.json").read_text("utf-8"))
    longest = max(len(texts) for texts in by_kind.values())
    every = [(kind, texts[i]) for i in range(longest) for kind, texts in by_kind.items() if i < len(texts)]
    return every[:count]


def drafter(name: str) -> DrafterChoice:
    return NGRAM_DRAFTER if name == "ngram" else DrafterChoice(DrafterKind.MODEL, name)


def first_difference(plain: Lane, other: Lane) -> int | None:
    pairs = zip(plain.tokens, other.tokens, strict=False)
    parted = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if parted is None and len(plain.tokens) != len(other.tokens):
        return min(len(plain.tokens), len(other.tokens))
    return parted


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
    lengths = [int(text) for text in options.drafts.split(",")]
    equal = dict.fromkeys(lengths, 0)
    drafted = dict.fromkeys(lengths, 0)
    accepted = dict.fromkeys(lengths, 0)
    parted: list[tuple[str, int, int, FirstDifference | None]] = []
    with Client() as client:
        client.load(
            Bundle("benchmark", options.target, drafter(options.drafter)),
            LoadSettings(n_ctx=2048, n_threads=options.threads),
        )
        for number, (kind, text) in enumerate(prompts(options.prompts)):
            base = GenerationSettings(max_tokens=options.max_tokens)
            plain = client.generate(chat(text), base, speculative=False)
            for length in lengths:
                settings = GenerationSettings(max_tokens=options.max_tokens, draft_length=length)
                lane = client.generate(chat(text), settings, speculative=True)
                drafted[length] += lane.metrics.drafted
                accepted[length] += lane.metrics.accepted
                at = first_difference(plain, lane)
                if at is None:
                    equal[length] += 1
                else:
                    parted.append(
                        (f"{kind} {number}", length, at, client.race(chat(text), settings).first_difference)
                    )
            print(f"{number + 1} of {options.prompts}", end="\r", flush=True)
    print(machine_line())
    head = ("draft length", "prompts", "same tokens", "drafted", "accepted")
    print(table(head, [(n, options.prompts, equal[n], drafted[n], accepted[n]) for n in lengths]))
    for where, length, at, gap in parted:
        tie = (
            "not parted in the race"
            if gap is None
            else f"gap {gap.logit_gap:.4g}, relative {gap.relative_gap:.2e}"
        )
        verdict = "NEAR TIE" if gap is None or abs(gap.relative_gap) < NEAR_TIE else "DIFFERENT"
        print(f"parted: {where}, draft {length}, token {at}: {tie}: {verdict}")


if __name__ == "__main__":
    main()
