"""Each token of an answer shows where it came from, and the reader is left alone."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QTextCharFormat, QTextCursor
from pytestqt.qtbot import QtBot

from app.widgets.token_view import TokenView
from engine.speculation.round import Round

SINGLE = QTextCharFormat.UnderlineStyle.SingleUnderline


@pytest.fixture
def view(qtbot: QtBot) -> TokenView:
    one = TokenView("Answer", coloured=True)
    qtbot.addWidget(one)
    one.resize(300, 120)
    one.show()
    return one


def underlined(view: TokenView) -> str:
    """Return the characters that are underlined, in order."""
    cursor = QTextCursor(view.document())
    found = []
    while not cursor.atEnd():
        cursor.movePosition(QTextCursor.MoveOperation.NextCharacter, QTextCursor.MoveMode.KeepAnchor)
        if cursor.charFormat().underlineStyle() == SINGLE:
            found.append(cursor.selectedText())
        cursor.setPosition(cursor.position())
    return "".join(found)


def test_accepted_tokens_are_tinted_and_underlined_and_the_others_are_plain(view: TokenView) -> None:
    view.append_rounds([Round((1, 2, 3), ("The", " cat", " sat"), drafted=(1, 2, 9), accepted=2)])
    view.append_rounds([Round((4,), (" on",))])
    assert view.toPlainText() == "The cat sat on"
    assert underlined(view) == "Thecat"
    view.set_coloured(False)
    assert underlined(view) == ""
    view.set_coloured(True)
    assert underlined(view) == "Thecat"


def test_characters_outside_the_basic_plane_do_not_shift_the_colours(view: TokenView) -> None:
    view.append_rounds([Round((1, 2, 3), ("👋🏽", "ab", "c"), drafted=(1, 2), accepted=0)])
    view.append_rounds([Round((4, 5), ("de", "f"), drafted=(4,), accepted=1)])
    view.set_coloured(False)
    view.set_coloured(True)
    assert underlined(view) == "de"


def test_the_first_different_token_is_marked(view: TokenView) -> None:
    view.append_rounds([Round((1, 2, 3), ("one", " two", " three"))])
    view.mark_token(1)
    marks = view.extraSelections()
    assert [mark.cursor.selectedText() for mark in marks] == [" two"]
    view.append_rounds([Round((4,), (" four",))])
    assert [mark.cursor.selectedText() for mark in view.extraSelections()] == [" two"]
    view.start_over()
    assert view.extraSelections() == []


@pytest.mark.parametrize("pieces", [("Hello", ""), ("Hello",), ("", "o")])
def test_a_difference_without_text_is_marked_where_the_answer_ends(
    view: TokenView, pieces: tuple[str, ...]
) -> None:
    view.append_rounds([Round(tuple(range(len(pieces))), pieces)])
    index = pieces.index("") if "" in pieces else 1
    view.mark_token(index)
    assert [mark.cursor.selectedText() for mark in view.extraSelections()] == ["o"]
    assert not view.has_text(index)
    view.show_token(index)


def test_nothing_can_be_marked_in_an_empty_answer(view: TokenView) -> None:
    view.append_rounds([Round((1,), ("",))])
    view.mark_token(0)
    assert view.extraSelections() == []


def test_a_selection_stays_while_text_comes(view: TokenView) -> None:
    view.append_rounds([Round((1, 2), ("select me", " not me"))])
    cursor = view.textCursor()
    cursor.setPosition(0)
    cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
    view.setTextCursor(cursor)
    view.append_rounds([Round((3,), (" later",))])
    assert view.textCursor().selectedText() == "select me not me"


def test_the_view_follows_the_end_only_while_the_reader_is_there(view: TokenView) -> None:
    def add_lines() -> None:
        view.append_rounds([Round(tuple(range(40)), tuple("line\n" for _ in range(40)))])

    add_lines()
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    bar.setValue(5)
    add_lines()
    assert bar.value() == 5
