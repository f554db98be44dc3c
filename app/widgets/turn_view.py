"""One turn of the conversation: the question in a soft card, the answer without one, quiet facts below it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app import fonts
from app.conversation import Answer, Turn
from app.format import count, duration, share, speed
from app.truth import truth_light, truth_words
from app.widgets.markdown_view import MarkdownView
from app.widgets.notice import Notice
from app.widgets.parts import IconButton, label
from app.widgets.truth_dot import TruthDot
from engine.speculation.round import FinishReason, Round

_QUESTION_PX = 560
_QUESTION_PADDING_PX = 16


class QuestionCard(QFrame):
    """What the person wrote, as it was written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        said = label(text, wraps=True)
        said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        said.setAccessibleName("Your message")
        width = max(said.fontMetrics().horizontalAdvance(line) for line in text.split("\n"))
        self.setMaximumWidth(min(width + 4, _QUESTION_PX) + 2 * _QUESTION_PADDING_PX)
        column = QVBoxLayout(self)
        column.setContentsMargins(_QUESTION_PADDING_PX, 10, _QUESTION_PADDING_PX, 10)
        column.addWidget(said)


class TurnView(QWidget):
    """Shows a Turn; asks for what it cannot do itself.

    Signals:
        again_asked: answer once more.
        link_clicked(QUrl)
    """

    again_asked = Signal()
    link_clicked = Signal(QUrl)

    def __init__(self, turn: Turn) -> None:
        super().__init__()
        self.turn = turn
        self._is_last = True
        self._is_open = True
        self.notice = Notice()
        self._view = MarkdownView()
        self._waiting = label(tone="muted")
        self._dot = TruthDot()
        self._facts = label(tone="muted", font=fonts.tabular(fonts.small()))
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(12)
        question = QHBoxLayout()
        # Not an alignment: a layout asks an aligned widget for its favourite size, not for its height at this width.
        question.addStretch(1)
        question.addWidget(QuestionCard(turn.question), 1000)
        self._column.addLayout(question)
        self._column.addWidget(self._waiting)
        self._column.addWidget(self._view)
        self._column.addWidget(self.notice)
        self._column.addWidget(self._foot())
        self.show_shown()

    def _foot(self) -> QWidget:
        self._copy = IconButton("copy", "Copy answer")
        self._copy.clicked.connect(self.copy)
        self._again = IconButton("rotate-ccw", "Answer again", shortcut="Ctrl+R")
        self._again.clicked.connect(self.again_asked)
        self._earlier = IconButton("chevron-left", "Earlier answer", size_px=24)
        self._later = IconButton("chevron-right", "Later answer", size_px=24)
        self._which = label(tone="muted", font=fonts.tabular(fonts.small()))
        self._earlier.clicked.connect(lambda: self._leaf(-1))
        self._later.clicked.connect(lambda: self._leaf(1))
        foot = QWidget()
        row = QHBoxLayout(foot)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self._dot)
        row.addSpacing(2)
        row.addWidget(self._facts)
        row.addStretch()
        for widget in (self._earlier, self._which, self._later, self._copy, self._again):
            row.addWidget(widget)
        foot.setMinimumHeight(28)
        return foot

    @property
    def facts(self) -> str:
        return self._facts.text()

    @property
    def waiting(self) -> str:
        return self._waiting.text()

    @property
    def view(self) -> MarkdownView:
        return self._view

    @property
    def answer(self) -> Answer | None:
        return self.turn.answer

    def set_last(self, is_last: bool) -> None:
        """Only the last question can be answered again: what follows an earlier one belongs to its answer."""
        self._is_last = is_last
        self.show_facts()

    def copy(self) -> None:
        if self.answer is not None:
            QGuiApplication.clipboard().setText(self.answer.text)

    def show_waiting(self, words: str) -> None:
        """Say what the answer waits for; "" when it has begun."""
        self._waiting.setText(words)
        self._waiting.setVisible(bool(words))

    def show_shown(self) -> None:
        """Show the turn's shown answer from its beginning."""
        self._column.removeWidget(self._view)
        self._view.deleteLater()
        self._view = MarkdownView()
        self._view.link_clicked.connect(self.link_clicked)
        self._column.insertWidget(2, self._view)
        self.notice.hide()
        self.show_waiting("")
        answer = self.answer
        self._is_open = answer is None or not answer.ended
        if answer is not None:
            self._view.append(answer.text)
            if not self._is_open:
                self._view.close_text()
        self.show_facts()

    def append(self, rounds: list[Round]) -> None:
        """Add the text of `rounds` to the shown answer, which is the one being written."""
        self.show_waiting("")
        self._view.append("".join(one.text for one in rounds))

    def close_answer(self) -> None:
        """The shown answer has ended; one that had ended before stays as it is."""
        if self._is_open:
            self._is_open = False
            if self.answer is not None and self.answer.lane.tail:
                self._view.append(self.answer.lane.tail)
            self._view.close_text()
        self.show_waiting("")
        self.show_facts()

    def show_facts(self) -> None:
        """Show the truth light and the figures, all of them from the answer's rounds."""
        answer = self.answer
        n = len(self.turn.answers)
        for widget in (self._earlier, self._which, self._later):
            widget.setVisible(n > 1)
        self._which.setText(f"{self.turn.shown + 1} / {n}")
        self._earlier.setEnabled(self.turn.shown > 0)
        self._later.setEnabled(self.turn.shown < n - 1)
        can_act = answer is not None and answer.ended
        self._copy.setVisible(can_act)
        self._again.setVisible(can_act and self._is_last)
        has_tokens = answer is not None and answer.lane.metrics.n_tokens > 0
        self._dot.setVisible(has_tokens)
        self._facts.setText(answer_facts(answer) if answer is not None and has_tokens else "")
        if answer is not None:
            metrics = answer.lane.metrics
            said = truth_words(metrics, speculative=answer.speculative)
            self._dot.show_light(truth_light(metrics, speculative=answer.speculative), said)
            self._facts.setToolTip(answer_detail(answer))

    def _leaf(self, step: int) -> None:
        self.turn.shown += step
        self.show_shown()


def answer_facts(answer: Answer) -> str:
    """Return "41.0 tok/s · 78 % accepted · 2.9 s"."""
    metrics = answer.lane.metrics
    parts = [speed(metrics.tokens_per_s)] if metrics.tokens_per_s is not None else []
    if metrics.acceptance_rate is not None:
        parts.append(f"{share(metrics.acceptance_rate)} accepted")
    elif answer.speculative and metrics.rounds:
        parts.append("nothing drafted")
    elif not answer.speculative:
        parts.append("without speculation")
    parts.append(duration(metrics.end_to_end_s))
    if answer.lane.reason is FinishReason.CANCELLED:
        parts.append("stopped")
    elif answer.lane.reason is FinishReason.LENGTH:
        parts.append("reached the length")
    return " · ".join(parts)


def answer_detail(answer: Answer) -> str:
    """Return the figures one by one, for the tooltip."""
    metrics = answer.lane.metrics
    lines = [
        f"First token after {duration(metrics.ttft_s)}",
        f"{count(metrics.n_tokens, 'token')} in {count(metrics.rounds, 'pass', 'passes')}",
        f"{duration(metrics.tpot_s)} per token",
    ]
    if metrics.acceptance_rate is not None:
        lines.append(f"{metrics.accepted} of {metrics.drafted} drafted tokens accepted")
        lines.append(f"Drafting {duration(metrics.draft_s)}, checking {duration(metrics.verify_s)}")
    return "\n".join(lines)
