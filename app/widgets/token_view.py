"""An answer as it streams, each token showing where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit

from app.palette import current_colours
from engine.speculation.round import Round

_LEAST_HEIGHT_PX = 64


@dataclass(frozen=True, slots=True)
class _Run:
    """Characters [start, end) of the document that look alike."""

    start: int
    end: int
    accepted: bool


class TokenView(QPlainTextEdit):
    """Read-only text that grows at its end; a reader's place and selection stay.

    An accepted token is tinted and underlined, without the space before it, so that neighbouring tokens can
    be told apart. Positions are those of QTextDocument: UTF-16 units.
    """

    def __init__(self, name: str, *, coloured: bool) -> None:
        super().__init__()
        self._coloured = coloured
        self._runs: list[_Run] = []
        self._starts: list[int] = []
        self._end = 0
        self._marked: int | None = None
        self.setProperty("role", "reading")
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(0)

    def sizeHint(self) -> QSize:
        """Ask for little: the page gives what is left, and scrolls only when that is too little."""
        return QSize(240, _LEAST_HEIGHT_PX)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @property
    def n_tokens(self) -> int:
        return len(self._starts)

    def start_over(self) -> None:
        """Forget the text, the tokens and the mark."""
        self.clear()
        self._runs.clear()
        self._starts.clear()
        self._end = 0
        self.mark_token(None)

    def append_rounds(self, rounds: Sequence[Round]) -> None:
        """Add the tokens of `rounds`."""
        pieces: list[tuple[str, bool]] = []
        for one in rounds:
            for i, piece in enumerate(one.pieces):
                self._starts.append(self._end)
                pieces.extend(self._placed(piece.replace("\r", ""), i < one.accepted))
        self._insert(_merged(pieces))
        if self._marked is not None:
            self.mark_token(self._marked)

    def append_tail(self, text: str) -> None:
        """Add text that belongs to no further token."""
        if text:
            self._insert(list(self._placed(text.replace("\r", ""), False)))

    def set_coloured(self, coloured: bool) -> None:
        """Show or hide where tokens came from."""
        if coloured != self._coloured:
            self._coloured = coloured
            self._recolour()

    def mark_token(self, index: int | None) -> None:
        """Mark token `index` as the first that differs; None takes the mark away.

        A token without text, or one that this lane does not have, is where the answer ends: the character
        before it is marked.
        """
        self._marked = index
        if index is None or not self._end:
            self.setExtraSelections([])
            return
        colours = current_colours()
        mark = QTextEdit.ExtraSelection()
        mark.cursor = self._token_cursor(index)
        if not mark.cursor.hasSelection():
            step = QTextCursor.MoveOperation
            way = step.NextCharacter if mark.cursor.atStart() else step.PreviousCharacter
            mark.cursor.movePosition(way, QTextCursor.MoveMode.KeepAnchor)
        form = QTextCharFormat()
        form.setBackground(colours.colour("warning_tint"))
        form.setForeground(colours.colour("warning"))
        form.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        form.setUnderlineColor(colours.colour("warning"))
        mark.format = form
        self.setExtraSelections([mark])

    def show_token(self, index: int) -> None:
        """Scroll so that token `index`, or the end, can be seen."""
        cursor = self._token_cursor(index)
        cursor.clearSelection()
        self.setTextCursor(cursor)
        self.centerCursor()

    def has_text(self, index: int) -> bool:
        """Whether token `index` is there and shows anything."""
        return self._token_cursor(index).hasSelection()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._runs:
            self._recolour()
            self.mark_token(self._marked)

    def _token_cursor(self, index: int) -> QTextCursor:
        starts = (*self._starts[index : index + 2], self._end, self._end)
        cursor = QTextCursor(self.document())
        cursor.setPosition(starts[0])
        cursor.setPosition(max(starts[1], starts[0]), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _placed(self, piece: str, accepted: bool) -> list[tuple[str, bool]]:
        """Split `piece` into what is tinted and what is not, and remember where it stands."""
        bare = piece.lstrip()
        gap = piece[: len(piece) - len(bare)] if bare else ""
        parts = [(gap, False), (piece[len(gap) :], accepted)] if accepted else [(piece, False)]
        for text, tinted in parts:
            start, self._end = self._end, self._end + _units(text)
            if text:
                self._runs.append(_Run(start, self._end, tinted))
        return [(text, tinted) for text, tinted in parts if text]

    def _insert(self, pieces: list[tuple[str, bool]]) -> None:
        """Append `pieces`; scroll along only if the end was in sight."""
        if not pieces:
            return
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum()
        reader = self.textCursor()
        kept = (reader.anchor(), reader.position()) if reader.hasSelection() else None
        plain, accepted = QTextCharFormat(), self._accepted_format()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        for text, tinted in pieces:
            cursor.insertText(text, accepted if tinted and self._coloured else plain)
        cursor.endEditBlock()
        if kept is not None:
            reader.setPosition(kept[0])
            reader.setPosition(kept[1], QTextCursor.MoveMode.KeepAnchor)
            self.setTextCursor(reader)
        if at_end:
            bar.setValue(bar.maximum())

    def _recolour(self) -> None:
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.setCharFormat(QTextCharFormat())
        if self._coloured:
            form = self._accepted_format()
            for run in self._runs:
                if run.accepted:
                    cursor.setPosition(run.start)
                    cursor.setPosition(run.end, QTextCursor.MoveMode.KeepAnchor)
                    cursor.setCharFormat(form)
        cursor.endEditBlock()

    def _accepted_format(self) -> QTextCharFormat:
        colours = current_colours()
        form = QTextCharFormat()
        form.setBackground(colours.colour("accepted"))
        form.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
        form.setUnderlineColor(colours.colour("accent"))
        return form


def _units(text: str) -> int:
    """Return the length of `text` in UTF-16 units."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def _merged(pieces: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Join neighbours that look alike, so that one insertion does for them."""
    merged: list[tuple[str, bool]] = []
    for text, tinted in pieces:
        if merged and merged[-1][1] == tinted:
            merged[-1] = (merged[-1][0] + text, tinted)
        else:
            merged.append((text, tinted))
    return merged
