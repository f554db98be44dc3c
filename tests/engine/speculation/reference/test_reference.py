"""Greedy, every trained pair, every prompt: the ids of the plain answer, and llama-server's counts to the token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from engine.llama.context import ContextSettings
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model
from engine.models.bundle import DrafterKind
from engine.speculation.draft_length import FixedLength
from engine.speculation.protocols import Draft, Drafter, DraftPolicy, DraftRequest, RoundCost
from tests.engine.speculation.reference.pairs import EndlessContext, Pair, opened_pair
from tests.engine.speculation.reference.recorded import N_CTX, Recorded, read_record

RECORD: Final = read_record()
RUNS: Final = [run for run in RECORD.runs if run.kind is not DrafterKind.NGRAM]
PAIRS: Final = {(run.target, run.drafter): run for run in RUNS}
REPLAYED: Final = ("qwen35-nomtp", "llama-draft")
"""llama-server goes back to a checkpoint here, as the target's running state cannot be cut."""


@dataclass
class AsReplayed:
    """A DraftPolicy: a fixed length, but nothing in the round after a draft that was partly rejected.

    llama-server then goes back to its checkpoint and evaluates what was accepted again, which gives a token of the
    target's own without a draft before it. Here the accepted tokens are evaluated again within the round.
    """

    length: FixedLength
    _replays: bool = field(default=False, init=False)

    def draft(self, drafters: Sequence[Drafter], request: DraftRequest) -> Draft:
        return Draft() if self._replays else self.length.draft(drafters, request)

    def learn(self, cost: RoundCost) -> None:
        self._replays = cost.accepted < len(cost.draft.tokens)


def policy_of(run: Recorded) -> DraftPolicy:
    assert run.n_max is not None
    length = FixedLength(run.n_max, run.p_min)
    return AsReplayed(length) if (run.target, run.drafter) == REPLAYED else length


@pytest.fixture(
    scope="module", params=PAIRS.values(), ids=lambda run: f"{run.target}+{run.drafter or 'inside'}"
)
def recorded(request: pytest.FixtureRequest) -> Recorded:
    run: Recorded = request.param
    return run


@pytest.fixture(scope="module")
def pair(llama: LlamaLibrary, tiny_models: Path, recorded: Recorded) -> Iterator[Pair]:
    drafter = tiny_models / f"{recorded.drafter}.gguf" if recorded.drafter else None
    with opened_pair(llama, tiny_models / f"{recorded.target}.gguf", drafter, recorded.kind) as opened:
        yield opened


def test_ids_are_the_plain_ones_and_counts_are_llama_servers(pair: Pair, recorded: Recorded) -> None:
    runs = [run for run in RUNS if (run.target, run.drafter) == (recorded.target, recorded.drafter)]
    assert len(runs) >= 2
    for run in runs:
        answers = [pair.answer(prompt, policy_of(run)) for prompt in RECORD.prompts]
        assert tuple(answer.ids for answer in answers) == RECORD.plain[run.target], run.name
        assert [answer.counts for answer in answers] == run.counts, run.name


@pytest.mark.slow
def test_any_draft_length_gives_the_plain_ids(pair: Pair, recorded: Recorded) -> None:
    for prompt, plain in zip(RECORD.prompts, RECORD.plain[recorded.target], strict=True):
        for n_draft in (1, 2, 5):
            answer = pair.answer(prompt, FixedLength(n_draft))
            assert answer.ids == plain
            drafted, accepted = answer.counts
            assert drafted > 0
            assert 0 < accepted <= drafted


@pytest.mark.parametrize("name", RECORD.plain)
def test_the_plain_lane_says_what_llama_server_says(
    llama: LlamaLibrary, tiny_models: Path, name: str
) -> None:
    settings = ContextSettings(n_ctx=N_CTX, n_threads=1)
    with (
        Model.open(llama, tiny_models / f"{name}.gguf") as model,
        EndlessContext(model, settings) as context,
    ):
        answers = [Pair(context).answer(prompt, FixedLength(0)) for prompt in RECORD.prompts]
        assert tuple(answer.ids for answer in answers) == RECORD.plain[name]
