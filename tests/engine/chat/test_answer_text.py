"""Tokens into text: characters over several tokens, invalid bytes, stop texts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.answer_text import AnswerText


def stream(pieces: Sequence[bytes], stop: Sequence[str] = ()) -> tuple[list[str], bool]:
    text = AnswerText(lambda token: pieces[token], stop)
    shown = [text.push(token) for token in range(len(pieces))]
    return [*shown, text.flush()], text.stopped


def test_a_character_over_three_tokens_appears_with_the_last() -> None:
    assert stream([b"\xf0\x9f", b"\x9a", b"\x80!"]) == (["", "", "🚀!", ""], False)


def test_bytes_that_are_no_character_appear_as_the_replacement_character() -> None:
    assert stream([b"a\xff", b"b", b"\xe2\x82", b"c"])[0] == ["a\ufffd", "b", "", "\ufffdc", ""]


def test_a_character_that_an_answer_ends_within_is_left_out() -> None:
    assert stream([b"a", b"\xe2\x82"]) == (["a", "", ""], False)


def test_control_tokens_show_as_nothing() -> None:
    assert stream([b"", b"ok", b""])[0] == ["", "ok", "", ""]


def test_a_stop_text_over_two_tokens_is_never_shown() -> None:
    shown, stopped = stream([b"one\nUs", b"er: two", b"more"], ["\nUser:"])
    assert shown == ["one", "", "", ""]
    assert stopped


def test_what_only_looked_like_a_stop_text_is_shown_once_that_is_settled() -> None:
    assert stream([b"a\nUs", b"age"], ["\nUser:"]) == (["a", "\nUsage", ""], False)


def test_what_is_held_back_at_the_end_is_shown_by_flush() -> None:
    assert stream([b"a\nUs"], ["\nUser:"]) == (["a", "\nUs"], False)


def test_the_earliest_of_several_stop_texts_counts() -> None:
    assert stream([b"x END y STOP"], ["STOP", "END"]) == (["x ", ""], True)


def test_a_stop_text_of_overlapping_beginnings_is_found() -> None:
    assert stream([b"aa", b"a", b"b"], ["aab"]) == (["", "a", "", ""], True)


@given(st.text(), st.lists(st.integers(1, 4)), st.sampled_from([(), ("ab",), ("\n\n", "é")]))
def test_however_it_is_cut_the_text_is_the_same(text: str, cuts: list[int], stop: tuple[str, ...]) -> None:
    data, pieces = text.encode(), []
    for length in [*cuts, len(data.strip()) + 8]:
        pieces.append(data[:length])
        data = data[length:]
    pieces.append(data)
    end = min((at for at in map(text.find, stop) if at >= 0), default=len(text))
    shown, stopped = stream(pieces, stop)
    assert "".join(shown) == text[:end]
    assert stopped == (end < len(text))


@pytest.mark.parametrize("stop", [(), ("zzz",)])
def test_nothing_in_gives_nothing_out(stop: tuple[str, ...]) -> None:
    assert stream([], stop) == ([""], False)
