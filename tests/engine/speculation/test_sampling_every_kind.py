"""Sampled answers have the target's own distribution with every kind of drafter, and drafts are accepted as often as
they can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.llama.library import LlamaLibrary
from engine.measure.metrics import measure
from engine.speculation.adaptive.controller import AdaptiveController
from engine.speculation.adaptive.learned import Learned
from engine.speculation.round import Round
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.beginnings import SAMPLED, deviation
from tests.engine.speculation.kinds import DISTINCT, KINDS, DearTarget, Kind, OpenKind, open_kind, tokens_of
from tests.make_models.family import write_family
from tests.make_models.reference import PROMPTS

WARM = SamplingSettings(temperature=0.8)
N_SEEDS = 400
N_ACCEPTANCE_SEEDS = 3
SIGNIFICANCE = 1e-3
"""Seeds are fixed; a passing case passes for good."""

# llama-server of llama.cpp 0.5.0-dev (Oct 2026) on the same files at temperature 0.8, its other settings as they are:
# accepted of the drafted tokens, over 40 seeds x 3 prompts x 160 tokens, --spec-draft-n-max 3.
LLAMA_SERVER_ACCEPTANCE = {
    ("llama", "llama-draft"): 0.2259,
    ("llama", "llama-eagle3"): 0.2104,
    ("llama", "llama-eagle3-d2t"): 0.2064,
    ("llama", "llama-dflash"): 0.1670,
    ("llama", "llama-dflash2"): 0.1368,
    ("llama", "llama-dspark"): 0.2167,
    ("llama", "llama-dspark-noanchor"): 0.1496,
    ("qwen35", ""): 0.2154,
    ("qwen35-nomtp", "mtp-qwen35"): 0.2154,
    ("qwen35", "qwen35-eagle3"): 0.2266,
    ("qwen35", "qwen35-dflash"): 0.0848,
    ("qwen35-nomtp", "llama-draft"): 0.2335,
    ("step35", ""): 0.2589,
    ("gemma4", "mtp-gemma4"): 0.2031,
    ("gemma4", "llama-draft"): 0.2239,
}
# Its mean accepted length with the draft model.
LLAMA_SERVER_MEAN_LENGTH = 1.667


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    write_family(folder)
    return folder


COMPARABLE = [
    kind for kind in KINDS if (kind.target, kind.drafter) in LLAMA_SERVER_ACCEPTANCE and not kind.with_ngram
]

# And variants whose q comes about in a way of its own: a reduced vocabulary, a lattice, no anchor, a file beside.
SAMPLED_KINDS = (
    *DISTINCT,
    *(kind for kind in KINDS if kind.name in ("eagle3-d2t", "dflash2", "dspark-noanchor", "mtp-beside")),
)

CONTROLLED = [
    kind for kind in KINDS if kind.name in ("draft-model", "draft-model-and-ngram", "mtp-shared", "eagle3")
]


def name_of(kind: Kind) -> str:
    return kind.name


@pytest.fixture(scope="module")
def opened(llama: LlamaLibrary, written: Path, request: pytest.FixtureRequest) -> Iterator[OpenKind]:
    kind: Kind = request.param
    opened = open_kind(llama, kind, written)
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("opened", SAMPLED_KINDS, indirect=True, ids=name_of)
def test_the_first_tokens_have_the_targets_distribution(opened: OpenKind) -> None:
    assert deviation(opened, PROMPTS[1], N_SEEDS) > SIGNIFICANCE


@pytest.mark.slow
@pytest.mark.parametrize("opened", CONTROLLED, indirect=True, ids=name_of)
def test_they_have_it_too_where_the_controller_decides(opened: OpenKind) -> None:
    learned, lengths = Learned(), Counter[int]()

    def answer(opened: OpenKind, prompt: Sequence[int], seed: int) -> Iterator[Round]:
        target = DearTarget(opened.context)
        policy = AdaptiveController(learned, SAMPLED.temperature)
        for done in opened.rounds(
            prompt,
            settings=SAMPLED,
            policy=policy,
            target=target,
            clock=target.clock,
            max_tokens=12,
            seed=seed,
        ):
            lengths[len(done.drafted)] += 1
            yield done

    assert deviation(opened, PROMPTS[1], N_SEEDS, answer) > SIGNIFICANCE
    assert len(lengths) > 4


@pytest.mark.parametrize("opened", DISTINCT, indirect=True, ids=name_of)
def test_drafting_is_sampled_alike_with_the_same_seed(opened: OpenKind) -> None:
    prompt = opened.tokens(PROMPTS[0])
    runs = []
    for _ in range(2):
        opened.bundle.forget()
        runs.append(list(opened.rounds(prompt, settings=SAMPLED, seed=7)))
    assert tokens_of(runs[0]) == tokens_of(runs[1])
    assert measure(runs[0]).drafted > 0 or opened.kind.name == "ngram"


@pytest.mark.slow
@pytest.mark.parametrize("opened", COMPARABLE, indirect=True, ids=name_of)
def test_drafts_are_accepted_at_least_as_often_as_llama_servers(opened: OpenKind) -> None:
    """llama-server drafts the most likely token and accepts it where its own draw is the same."""
    kind = opened.kind
    theirs = LLAMA_SERVER_ACCEPTANCE[kind.target, kind.drafter]
    rounds = [
        done
        for prompt in PROMPTS
        for seed in range(N_ACCEPTANCE_SEEDS)
        for done in opened.rounds(opened.tokens(prompt), settings=WARM, max_tokens=160, seed=seed)
    ]
    figures = measure(rounds)
    assert figures.accepted / figures.drafted >= theirs
    if kind.name == "draft-model":
        assert (figures.mean_accepted_length or 0.0) >= 1.15 * LLAMA_SERVER_MEAN_LENGTH
