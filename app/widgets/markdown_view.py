"""An answer that is being written, rendered block by block."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QTimer, QUrl, Signal
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.markdown_blocks import Block, BlockKind, BlockSplitter
from app.widgets.parts import widgets_of
from app.widgets.text_block import CodeBlock, TextBlock

_LEAST_INTERVAL_MS = 50
_COST_FACTOR = 10


class MarkdownView(QWidget):
    """Finished blocks are left alone; the last one is rendered again at most every 50 ms, and so seldom that
    rendering takes no more than a tenth of the time.

    Signals:
        link_clicked(QUrl)
    """

    link_clicked = Signal(QUrl)

    def __init__(self) -> None:
        super().__init__()
        self._splitter = BlockSplitter()
        self._n_settled = 0
        self._last: TextBlock | CodeBlock | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._render)
        self._cost = QElapsedTimer()
        self.last_cost_ms = 0.0
        self.longest_ms = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(10)

    def append(self, text: str) -> None:
        """Add `text`; it shows within a moment."""
        self._splitter.feed(text)
        if not self._timer.isActive():
            self._timer.start(max(_LEAST_INTERVAL_MS, int(_COST_FACTOR * self.last_cost_ms)))

    def close_text(self) -> None:
        """The answer is complete: render what is left, exactly."""
        self._timer.stop()
        self._splitter.close()
        self._render()

    @property
    def blocks(self) -> tuple[TextBlock | CodeBlock, ...]:
        return tuple(one for one in widgets_of(self._column) if isinstance(one, TextBlock | CodeBlock))

    def _render(self) -> None:
        self._cost.start()
        for block in self._splitter.finished[self._n_settled :]:
            self._show(block)
            self._last = None
        self._n_settled = len(self._splitter.finished)
        if (current := self._splitter.current) is not None:
            self._show(current)
        self.last_cost_ms = self._cost.nsecsElapsed() / 1e6
        self.longest_ms = max(self.longest_ms, self.last_cost_ms)

    def _show(self, block: Block) -> None:
        """Show `block` in the last widget, or in a new one where that is of the other kind."""
        if self._last is not None and isinstance(self._last, CodeBlock) != (block.kind is BlockKind.CODE):
            self._column.removeWidget(self._last)
            self._last.deleteLater()
            self._last = None
        if self._last is None:
            self._last = self._new(block.kind)
            self._column.addWidget(self._last)
        if isinstance(self._last, CodeBlock):
            self._last.set_code(block.text, block.language)
        else:
            self._last.set_markdown(block.text)

    def _new(self, kind: BlockKind) -> TextBlock | CodeBlock:
        if kind is BlockKind.CODE:
            return CodeBlock()
        text = TextBlock()
        text.anchorClicked.connect(self.link_clicked)
        return text
