"""Vocabularies: text to tokens and back, and whether two fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.chat.answer_text import AnswerText
from engine.errors import PreconditionFailed, VocabularyMismatch
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model
from engine.llama.vocabulary import Vocabulary, find_mismatch, require_match
from engine.models.token_text import readable

TEXT = "naïve café — 模型 🚀👩‍👩‍👧 \x00 ok\n"


def test_text_comes_back_whole_token_by_token(starter: Model) -> None:
    vocabulary = starter.vocabulary
    tokens = vocabulary.tokenize(TEXT, add_special=False)
    answer = AnswerText(vocabulary.piece)
    pieces = [answer.push(token) for token in tokens]
    assert "".join(pieces) + answer.flush() == TEXT
    assert "\ufffd" not in "".join(pieces)
    assert len(tokens) > len([piece for piece in pieces if piece])


def test_a_lone_surrogate_does_not_break_tokenising(starter: Model) -> None:
    assert starter.vocabulary.tokenize("a\ud800b", add_special=False)


def test_control_tokens_are_read_only_where_asked_and_show_as_nothing(starter: Model) -> None:
    vocabulary = starter.vocabulary
    (token,) = vocabulary.tokenize("<|im_end|>", add_special=False, parse_special=True)
    assert len(vocabulary.tokenize("<|im_end|>", add_special=False)) > 1
    assert vocabulary.piece(token) == b""
    assert vocabulary.piece(token, special=True) == b"<|im_end|>"
    assert vocabulary.text(token) == b"<|im_end|>"
    assert vocabulary.is_end_of_answer(token)
    assert not vocabulary.is_end_of_answer(vocabulary.tokenize("the", add_special=False)[0])


def test_bos_is_added_where_the_model_wants_it(llama_model: Model) -> None:
    vocabulary = llama_model.vocabulary
    assert vocabulary.bos is not None
    assert vocabulary.tokenize("a")[0] == vocabulary.bos
    assert vocabulary.tokenize("a", add_special=False)[0] != vocabulary.bos


@pytest.mark.parametrize("token", [-1, 384, 1 << 30])
def test_a_token_outside_the_vocabulary_is_refused(llama_model: Model, token: int) -> None:
    for ask in (llama_model.vocabulary.piece, llama_model.vocabulary.text):
        with pytest.raises(PreconditionFailed, match="outside this model's vocabulary of 384 tokens"):
            ask(token)


def test_a_draft_model_of_the_same_vocabulary_fits(
    llama: LlamaLibrary, tiny_models: Path, llama_model: Model
) -> None:
    with Model.open(llama, tiny_models / "llama-draft.gguf") as drafter:
        assert find_mismatch(llama_model.vocabulary, drafter.vocabulary) is None
        require_match(llama_model.vocabulary, drafter.vocabulary)


def test_another_vocabulary_is_refused_with_its_reason(llama_model: Model, starter: Model) -> None:
    with pytest.raises(VocabularyMismatch, match="This drafter does not fit the target: ") as caught:
        require_match(starter.vocabulary, llama_model.vocabulary)
    assert "n-gram" in caught.value.remedy


class Altered(Vocabulary):
    """The vocabulary of a loaded model with one thing changed."""

    def __init__(self, model: Model, **changes: object) -> None:
        self.__dict__.update(model.vocabulary.__dict__)
        self._texts: dict[int, bytes] = {}
        self.__dict__.update(changes)

    def text(self, token: int) -> bytes:
        return self._texts.get(token) or super().text(token)

    def texts(self, stop: int) -> list[bytes]:
        return [self.text(token) for token in range(stop)]


def test_every_reason_names_the_place(llama_model: Model) -> None:
    target = llama_model.vocabulary
    token, bos, fifth, eos = (readable(target.text(i), "BPE") for i in (300, 376, 5, 377))
    begins, ends = "at the beginning of a text the target puts", "at the end of a text the target puts"
    cases = {
        "the vocabulary differs: 384 and 513 tokens": Altered(llama_model, n_tokens=513),
        "the vocabularies are of different types: BPE and SPM": Altered(llama_model, type_name="SPM"),
        f"{begins} “{bos}”, the drafter “{fifth}”": Altered(llama_model, bos=5),
        f"{begins} “{bos}”, the drafter nothing": Altered(llama_model, adds_bos=False),
        f"{ends} nothing, the drafter “{eos}”": Altered(llama_model, adds_eos=True),
        f"token 300 is “{token}” in the target and “zzz” in the drafter": Altered(
            llama_model, _texts={300: b"zzz"}
        ),
    }
    for reason, drafter in cases.items():
        assert find_mismatch(target, drafter) == reason


def test_a_large_vocabulary_is_compared_as_it_stands_in_the_files(starter: Model) -> None:
    stored = starter.vocabulary.read_stored()
    assert len(stored) > 49152 * 8
    # Were its texts compared one by one, the altered one would be found.
    same = Altered(starter, _texts={300: b"zzz"})
    assert find_mismatch(starter.vocabulary, same) is None
    other = Altered(starter, _texts={300: b"zzz"}, read_stored=lambda: stored[:-1] + b"?")
    assert "token 300" in (find_mismatch(starter.vocabulary, other) or "")


def test_the_first_tokens_and_a_few_at_the_end_may_differ(llama_model: Model) -> None:
    changed = Altered(llama_model, _texts={0: b"?", 4: b"?"}, n_tokens=300)
    assert find_mismatch(llama_model.vocabulary, changed) is None
