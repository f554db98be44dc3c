"""Whatever a person does to a conversation, every answer is the one a fresh model would give."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import Cancelled
from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.ngram import NgramDrafter, NgramSettings
from engine.speculation.protocols import Drafter
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.helpers import answer, tokens_of
from tests.numpy_models import NumpyModel, markov_table

N_VOCAB, N_CTX, END = 6, 48, 5
TABLE = markov_table(N_VOCAB, seed=1, sharpness=1.5, order=2)
DRAFT_TABLE = TABLE + markov_table(N_VOCAB, seed=2, sharpness=1.0, order=2)
MAX_TOKENS = 12

TOKEN = st.integers(0, N_VOCAB - 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.lists(TOKEN, min_size=1, max_size=4)),
        st.tuples(st.just("answer"), st.integers(0, 9)),
        st.tuples(st.just("stop after rounds"), st.integers(1, 9)),
        st.tuples(st.just("stop in pass"), st.integers(1, 9)),
        st.tuples(st.just("edit"), st.tuples(st.integers(0, N_CTX), TOKEN)),
        st.tuples(st.just("cut"), st.integers(1, N_CTX)),
    ),
    max_size=12,
)


class Conversation:
    """A conversation on one target and one drafter, whose caches live as long as it does."""

    def __init__(self, drafter: Drafter, draft_model: NumpyModel | None, sampling: SamplingSettings) -> None:
        self.target = NumpyModel(TABLE, N_CTX, n_batch=5, max_rows=4, end_tokens=frozenset({END}))
        self.drafter, self.draft_model, self.sampling = drafter, draft_model, sampling
        self.tokens = [1]

    def do(self, step: str, value: object) -> None:
        if step == "say" and isinstance(value, list):
            self.tokens = (self.tokens + value)[: N_CTX - 1]
        elif step == "edit" and isinstance(value, tuple):
            self.tokens[value[0] % len(self.tokens)] = value[1]
        elif step == "cut" and isinstance(value, int):
            del self.tokens[value:]
        elif isinstance(value, int):
            self._answer(step, value)

    def _answer(self, step: str, n: int) -> None:
        prompt = self.tokens[: N_CTX - 1]
        self.target.cancel_at_pass = self.target.n_passes + n if step == "stop in pass" else None
        rounds = answer(
            self.target, prompt, settings=self.sampling, drafter=self.drafter, max_tokens=MAX_TOKENS, seed=n
        )
        said: list[int] = []
        try:
            for done in itertools.islice(rounds, n if step == "stop after rounds" else None):
                said.extend(done.tokens)
        except Cancelled:
            pass
        rounds.close()  # type: ignore[attr-defined]
        self._check(prompt, said, n)
        self.tokens = [*prompt, *said]

    def _check(self, prompt: Sequence[int], said: list[int], seed: int) -> None:
        fresh = NumpyModel(TABLE, N_CTX, end_tokens=frozenset({END}))
        plain = answer(fresh, prompt, settings=self.sampling, max_tokens=MAX_TOKENS, seed=seed)
        assert said == tokens_of(plain)[: len(said)]
        # Nothing beyond what was said is left in the target's cache; its last token is for the next pass.
        assert list(self.target.cached) == [*prompt, *said][: len(self.target.cached)]
        assert len(self.target.cached) < len(prompt) + max(1, len(said))
        assert self.draft_model is None or len(self.draft_model.cached) <= N_CTX


@settings(max_examples=150, deadline=None, derandomize=True)
@given(STEPS)
def test_greedy_conversation_with_a_draft_model(steps: list[tuple[str, object]]) -> None:
    model = NumpyModel(DRAFT_TABLE, N_CTX - 10, n_batch=3, max_rows=1)
    conversation = Conversation(DraftModelDrafter(model, N_VOCAB), model, SamplingSettings())
    for step in steps:
        conversation.do(*step)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(STEPS)
def test_sampled_conversation_with_ngram_drafts(steps: list[tuple[str, object]]) -> None:
    drafter = NgramDrafter(NgramSettings(run_lengths=(2, 4), min_chance=0.0))
    sampling = SamplingSettings(temperature=0.8, top_k=4, presence_penalty=0.3)
    conversation = Conversation(drafter, None, sampling)
    for step in steps:
        conversation.do(*step)
