"""Whatever happens to a conversation, with every kind of drafter: its answers are the target's own, and its drafts are
those of a conversation that nothing ever happened to.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.errors import Cancelled
from engine.llama.library import LlamaLibrary
from engine.speculation.round import FinishReason, Round
from tests.engine.speculation.kinds import (
    DISTINCT,
    Kind,
    OpenKind,
    SmallPasses,
    drafts_of,
    open_kind,
    tokens_of,
)
from tests.make_models.family import write_family
from tests.make_models.reference import PROMPTS

N_DRAFT = 3
LONG_TEXT = (
    "import os\nimport sys\n\n\nclass Reader(object):\n    def __init__(self, name, path=None):\n"
    "        self.name = name\n        self.path = path or os.path.join(sys.prefix, name)\n\n"
    "    def read(self):\n        with open(self.path) as f:\n            return f.read()\n\n"
    '    def close(self):\n        """Close the file and return the name."""\n        return self.name\n\n\n'
) * 4
"""Some 650 tokens: longer than a pass, and far longer than a sliding window."""


PLAIN_ANSWERS: dict[tuple[str, tuple[int, ...], int], list[int]] = {}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    write_family(folder)
    return folder


@pytest.fixture(scope="module", params=DISTINCT, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    chosen: Kind = request.param
    return chosen


@pytest.fixture(scope="module")
def aged(llama: LlamaLibrary, kind: Kind, written: Path) -> Iterator[OpenKind]:
    """One conversation that all tests go on with: its caches are never empty but for the first."""
    opened = open_kind(llama, kind, written)
    yield opened
    opened.close()


@pytest.fixture
def fresh(llama: LlamaLibrary, kind: Kind, written: Path) -> Iterator[OpenKind]:
    opened = open_kind(llama, kind, written)
    yield opened
    opened.close()


def compare(aged: OpenKind, fresh: OpenKind, prompt: Sequence[int], max_tokens: int = 24) -> list[int]:
    """Assert that both answer alike, with the same drafts, and as the target does alone; return the answer."""
    plain = plain_answer(fresh, prompt, max_tokens)
    fresh.bundle.forget()
    expected = list(fresh.rounds(prompt, n_draft=N_DRAFT, max_tokens=max_tokens))
    seen = list(aged.rounds(prompt, n_draft=N_DRAFT, max_tokens=max_tokens))
    assert tokens_of(expected) == plain
    assert tokens_of(seen) == plain
    assert aged.kind.learns or drafts_of(seen) == drafts_of(expected)
    return plain


def plain_answer(fresh: OpenKind, prompt: Sequence[int], max_tokens: int) -> list[int]:
    """Return what the target alone says; it is the same with every drafter, so it is asked once."""
    key = (fresh.kind.target, tuple(prompt), max_tokens)
    if key not in PLAIN_ANSWERS:
        fresh.bundle.forget()
        PLAIN_ANSWERS[key] = tokens_of(fresh.rounds(prompt, n_draft=0, max_tokens=max_tokens))
    return PLAIN_ANSWERS[key]


def begin(rounds: Iterator[Round], n_rounds: int) -> list[int]:
    """Return the tokens of the first `n_rounds` and give the rest up."""
    tokens = tokens_of(itertools.islice(rounds, n_rounds))
    rounds.close()  # type: ignore[attr-defined]
    return tokens


def test_nothing_leaks_from_one_conversation_into_the_next(
    llama: LlamaLibrary, kind: Kind, written: Path, aged: OpenKind
) -> None:
    for prompt in (*PROMPTS, PROMPTS[0]):
        never_used = open_kind(llama, kind, written)
        tokens = aged.tokens(prompt)
        expected = list(never_used.rounds(tokens, n_draft=N_DRAFT))
        never_used.close()
        seen = list(aged.rounds(tokens, n_draft=N_DRAFT))
        assert tokens_of(seen) == tokens_of(expected)
        assert kind.learns or drafts_of(seen) == drafts_of(expected)
        aged.bundle.forget()
        assert drafts_of(list(aged.rounds(tokens, n_draft=N_DRAFT))) == drafts_of(expected)


def test_a_conversation_that_grows_goes_on_with_its_caches(aged: OpenKind, fresh: OpenKind) -> None:
    history = aged.tokens(PROMPTS[1])
    for text in ("\n\n    def read(", "\nimport ", "x"):
        history += compare(aged, fresh, history, max_tokens=24)
        history += aged.bundle.target.vocabulary.tokenize(text, add_special=False)


def test_edits_in_the_middle_of_a_conversation(aged: OpenKind, fresh: OpenKind) -> None:
    history = aged.tokens(PROMPTS[1] + PROMPTS[0])
    history += compare(aged, fresh, history)
    for place in (len(history) - 2, len(history) // 2, 3, 1):
        history[place] = history[place] % 255 + 1
        compare(aged, fresh, history)


def test_cancelled_after_any_round_it_goes_on(aged: OpenKind, fresh: OpenKind) -> None:
    prompt = aged.tokens(PROMPTS[0])
    for n_rounds in (1, 2, 3, 5):
        said = begin(aged.rounds(prompt, n_draft=N_DRAFT), n_rounds)
        compare(aged, fresh, [*prompt, *said], max_tokens=16)


def test_cancelled_before_any_pass_it_goes_on(aged: OpenKind, fresh: OpenKind) -> None:
    """Passes of the target and of the drafter alike, those over the prompt too."""
    prompt = aged.tokens(PROMPTS[2])
    for n_passes in (1, 2, 3, 4, 5, 7, 9):
        aged.bundle.forget()
        aged.cancel.cancel_at(n_passes)
        said: list[int] = []
        try:
            for done in aged.rounds(prompt, n_draft=N_DRAFT):
                said += done.tokens
        except Cancelled:
            pass
        aged.cancel.cancel_at(None)
        compare(aged, fresh, [*prompt, *said], max_tokens=12)


def test_a_prompt_of_one_token(aged: OpenKind, fresh: OpenKind) -> None:
    for token in (aged.tokens("")[0], 100):
        compare(aged, fresh, [token])


def test_a_prompt_longer_than_a_pass(aged: OpenKind, fresh: OpenKind) -> None:
    prompt = aged.tokens(LONG_TEXT)
    assert len(prompt) > 512
    compare(aged, fresh, prompt)


def test_a_prompt_in_small_passes(aged: OpenKind, fresh: OpenKind) -> None:
    prompt = aged.tokens(LONG_TEXT)[:300]
    plain = tokens_of(fresh.rounds(prompt, n_draft=0))
    aged.bundle.forget()
    seen = list(aged.rounds(prompt, n_draft=N_DRAFT, target=SmallPasses(aged.context, 64)))
    assert tokens_of(seen) == plain
    assert sum(done.is_prompt_pass for done in seen) == 5


def test_going_back_by_more_than_two_windows(aged: OpenKind, fresh: OpenKind) -> None:
    prompt = aged.tokens(LONG_TEXT)[:60]
    answer = compare(aged, fresh, prompt, max_tokens=70)
    compare(aged, fresh, prompt + answer[:10])
    compare(aged, fresh, prompt + answer)


def test_the_context_fills_up(llama: LlamaLibrary, kind: Kind, written: Path) -> None:
    opened = open_kind(llama, kind, written, n_ctx=256)
    try:
        prompt = opened.tokens(LONG_TEXT)[:230]
        plain = list(opened.rounds(prompt, n_draft=0, max_tokens=100))
        assert plain[-1].finish_reason is FinishReason.LENGTH
        for n_draft in (1, N_DRAFT, 7):
            opened.bundle.forget()
            seen = list(opened.rounds(prompt, n_draft=n_draft, max_tokens=100))
            assert tokens_of(seen) == tokens_of(plain)
            assert seen[-1].finish_reason is FinishReason.LENGTH
        full = opened.tokens(LONG_TEXT)[:255]
        assert len(tokens_of(opened.rounds(full, n_draft=N_DRAFT))) == 1
    finally:
        opened.close()
