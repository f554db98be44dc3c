"""The two kinds of blocks that an answer consists of: rendered text, and code with a copy button."""

from __future__ import annotations

import re
from itertools import pairwise
from math import ceil
from typing import Any

from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import (
    QGuiApplication,
    QResizeEvent,
    QTextBlockFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QSizePolicy, QTextBrowser, QVBoxLayout

from app import fonts
from app.widgets.parts import IconButton, label

# Raw HTML in an answer would swallow the rest of its line, and could ask for pictures from elsewhere.
_DIALECT = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_LINE_HEIGHT_PERCENT = 125.0
_INDENT_PX = 24
_LINE_SEPARATOR = "\u2028"
_PLAIN_LINE = re.compile(r"^ {0,3}(?:[^\s#>|*+=`~<\d-]|\*\*\S)[^|]*$")


class TextBlock(QTextBrowser):
    """Rendered Markdown as tall as its text; loads nothing, opens no link by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._markdown = ""
        self.setProperty("role", "reading")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("Answer")
        self.document().setDocumentMargin(0)
        self.document().setIndentWidth(_INDENT_PX)
        self.document().setUndoRedoEnabled(False)
        self.document().documentLayout().documentSizeChanged.connect(lambda _: self._fit())

    @property
    def markdown(self) -> str:
        return self._markdown

    def set_markdown(self, text: str) -> None:
        """Render `text`; a selection stays where it was."""
        if text == self._markdown:
            return
        self._markdown = text
        reader = self.textCursor()
        kept = (reader.anchor(), reader.position()) if reader.hasSelection() else None
        self.document().setMarkdown(_with_line_breaks(text), _DIALECT)
        self._space()
        if kept is not None:
            last = self.document().characterCount() - 1
            reader = self.textCursor()
            reader.setPosition(min(kept[0], last))
            reader.setPosition(min(kept[1], last), QTextCursor.MoveMode.KeepAnchor)
            self.setTextCursor(reader)
        self._fit()

    def _space(self) -> None:
        """Open up the lines, and leave the distance between blocks to the layout around them."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        form = QTextBlockFormat()
        form.setLineHeight(_LINE_HEIGHT_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        cursor.mergeBlockFormat(form)
        for block, margin in ((self.document().firstBlock(), "top"), (self.document().lastBlock(), "bottom")):
            edge = block.blockFormat()
            (edge.setTopMargin if margin == "top" else edge.setBottomMargin)(0)
            QTextCursor(block).setBlockFormat(edge)

    def loadResource(self, _kind: int, _name: QUrl | str) -> Any:
        """Load nothing, neither from the net nor from the disk."""
        return None

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._markdown:
            text, self._markdown = self._markdown, ""
            self.set_markdown(text)

    def _fit(self) -> None:
        height = ceil(self.document().size().height())
        if height != self.height():
            self.setFixedHeight(max(1, height))


def _with_line_breaks(text: str) -> str:
    """Keep the ends of plain lines: models write verses without the marks that Markdown wants."""
    lines = text.split("\n")
    joined = lines[0]
    for before, line in pairwise(lines):
        breaks = _PLAIN_LINE.match(before) and _PLAIN_LINE.match(line)
        joined += (_LINE_SEPARATOR if breaks else "\n") + line
    return joined


class _CodeText(QPlainTextEdit):
    """Leaves the wheel to the page around it."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class CodeBlock(QFrame):
    """A fenced block: its language, a copy button, the code unwrapped."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "code")
        self._code = ""
        self._language = label(tone="muted", font=fonts.small())
        copy = IconButton("copy", "Copy code", size_px=24)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._code))
        self._edit = _CodeText()
        self._edit.setProperty("role", "reading")
        self._edit.setAccessibleName("Code")
        self._edit.setReadOnly(True)
        self._edit.setFrameShape(QFrame.Shape.NoFrame)
        self._edit.setFont(fonts.code())
        self._edit.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._edit.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._edit.setUndoRedoEnabled(False)
        self._edit.document().setDocumentMargin(0)
        self._edit.horizontalScrollBar().rangeChanged.connect(lambda *_: self._fit())
        head = QHBoxLayout()
        head.addWidget(self._language)
        head.addStretch()
        head.addWidget(copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 4, 8, 8)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self._edit)
        self._fit()

    @property
    def code(self) -> str:
        return self._code

    def set_code(self, code: str, language: str) -> None:
        """Show `code`; where it only grew, the new part alone is added."""
        self._language.setText(language)
        if code.startswith(self._code):
            cursor = QTextCursor(self._edit.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(code[len(self._code) :])
        else:
            self._edit.setPlainText(code)
        self._code = code
        self._fit()

    def _fit(self) -> None:
        lines = max(1, self._edit.blockCount())
        bar = self._edit.horizontalScrollBar()
        bar_px = bar.sizeHint().height() if bar.maximum() > 0 else 0
        height = lines * self._edit.fontMetrics().lineSpacing() + 4 + bar_px
        if height != self._edit.height():
            self._edit.setFixedHeight(height)
