"""Rendered answers load nothing and hide nothing."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.widgets.markdown_view import MarkdownView
from app.widgets.parts import IconButton
from app.widgets.text_block import CodeBlock, TextBlock


def text_block(qtbot: QtBot, markdown: str) -> TextBlock:
    block = TextBlock()
    qtbot.addWidget(block)
    block.resize(400, 10)
    block.show()
    block.set_markdown(markdown)
    return block


def test_raw_html_is_shown_and_not_obeyed(qtbot: QtBot) -> None:
    block = text_block(qtbot, "before <img src='http://example.org/x.png'> <script>alert(1)</script> after")
    assert "after" in block.toPlainText()
    assert "<script>" in block.toPlainText()


def test_pictures_are_not_loaded(qtbot: QtBot) -> None:
    block = text_block(qtbot, "![secret](file:///etc/hostname)")
    kind = QTextDocument.ResourceType.ImageResource.value
    assert block.loadResource(kind, QUrl("file:///etc/hostname")) is None


def test_a_link_asks_instead_of_opening(qtbot: QtBot) -> None:
    view = MarkdownView()
    qtbot.addWidget(view)
    view.append("[here](https://example.org/)")
    view.close_text()
    block = view.blocks[0]
    assert isinstance(block, TextBlock)
    assert not block.openLinks()
    with qtbot.waitSignal(view.link_clicked) as asked:
        block.anchorClicked.emit(QUrl("https://example.org/"))
    assert asked.args == [QUrl("https://example.org/")]


def test_the_lines_of_a_verse_stay_apart_and_a_list_stays_a_list(qtbot: QtBot) -> None:
    verse = text_block(qtbot, "the sea is blue\nthe boat is new")
    assert verse.toPlainText().replace("\u2028", "\n") == "the sea is blue\nthe boat is new"
    mixed = text_block(qtbot, "Things:\n- one\n- two")
    assert mixed.document().blockCount() == 3


def test_a_block_is_as_tall_as_its_text(qtbot: QtBot) -> None:
    block = text_block(qtbot, "word " * 200)
    assert block.height() >= block.document().size().height()
    assert block.height() > 100


def test_code_is_copied_as_it_was_written(qtbot: QtBot) -> None:
    view = MarkdownView()
    qtbot.addWidget(view)
    view.append("Look:\n\n```py\nif a:\n    b()\n```\n\nDone.")
    view.close_text()
    text, code, after = view.blocks
    assert isinstance(code, CodeBlock)
    assert (isinstance(text, TextBlock), isinstance(after, TextBlock)) == (True, True)
    code.findChild(IconButton).click()
    assert QApplication.clipboard().text() == "if a:\n    b()"


def test_finished_blocks_are_left_alone(qtbot: QtBot) -> None:
    view = MarkdownView()
    qtbot.addWidget(view)
    view.append("One.\n\nTwo\n")
    qtbot.waitUntil(lambda: len(view.blocks) == 2)
    first = view.blocks[0]
    view.append("and more.\n\nThree.\n")
    qtbot.waitUntil(lambda: len(view.blocks) == 3)
    assert view.blocks[0] is first
