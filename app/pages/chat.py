"""Chat: one conversation with the chosen bundle."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app import words
from app.announce import announce
from app.conversation import Answer, Turn
from app.draft_lengths import draft_length_of
from app.library import Library
from app.pages.chat_run import ChatPhase, ChatRun
from app.prompts import ready_prompts
from app.request import generation_settings
from app.session import MEASUREMENT, EngineSession
from app.settings import RunSettings
from app.settings_keeper import SettingsKeeper
from app.trouble import MEASURING, NOTHING_CHOSEN, Trouble
from app.widgets.bundle_picker import BundlePicker
from app.widgets.composer import Composer
from app.widgets.link_popover import ask_about_link
from app.widgets.load_strip import LoadStrip
from app.widgets.notice import Notice, Remedy
from app.widgets.parts import IconButton, rule
from app.widgets.run_options import field, temperature_box
from app.widgets.switch import Switch
from app.widgets.transcript import COLUMN_PX, Transcript
from app.widgets.turn_view import TurnView
from app.widgets.welcome import Welcome
from engine.speculation.round import Round
from engine.speculation.settings import GenerationSettings

MOST_TOKENS = 2048
_FACTS_MS = 200
_CONTEXT_FROM_PX = 720
_LOADING_STOPPED = Trouble("There is no answer: loading the model was stopped.")
_SPECULATION_TIP = "Guess ahead and check: the same answers, faster where the guesses are good."


class ChatPage(QWidget):
    """Signals:
    answered: the answer being written has grown or ended.
    """

    answered = Signal()

    def __init__(self, session: EngineSession, library: Library, keeper: SettingsKeeper) -> None:
        super().__init__()
        self._session = session
        self._keeper = keeper
        self.picker = BundlePicker(session, library)
        self.speculation = Switch("Speculation", text="Speculation")
        self.temperature = temperature_box(keeper.settings.chat_temperature)
        self.transcript = Transcript()
        self.notice = Notice()
        self.composer = Composer(keeper.settings.composer)
        self.run = ChatRun(session, self)
        self._facts = QTimer(self)
        self._facts.setSingleShot(True)
        self._facts.setInterval(_FACTS_MS)
        self._facts.timeout.connect(self._show_facts)
        self._lay_out()
        self._connect()

    # -------------------------------------------------------------------------------------- composing

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._head())
        column.addWidget(rule())
        self._middle = QStackedWidget()
        welcome = Welcome(ready_prompts())
        welcome.suggested.connect(self._suggest)
        self._middle.addWidget(welcome)
        self._middle.addWidget(self.transcript)
        column.addWidget(self._middle, 1)
        column.addLayout(self._foot())

    def _head(self) -> QHBoxLayout:
        self.speculation.setChecked(self._keeper.settings.speculative)
        self.speculation.setFixedHeight(32)
        self.speculation.setToolTip(_SPECULATION_TIP)
        new = IconButton("plus", "New chat", size_px=32, shortcut="Ctrl+N")
        new.clicked.connect(self.start_over)
        head = QHBoxLayout()
        head.setContentsMargins(24, 16, 24, 12)
        head.setSpacing(12)
        head.addWidget(self.picker, 5)
        head.addLayout(field("Temperature", self.temperature, words.TEMPERATURE))
        head.addWidget(self.speculation, 0, Qt.AlignmentFlag.AlignBottom)
        head.addStretch(1)
        head.addWidget(new, 0, Qt.AlignmentFlag.AlignBottom)
        return head

    def _foot(self) -> QHBoxLayout:
        column = QWidget()
        column.setMaximumWidth(COLUMN_PX)
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 8, 0, 16)
        inner.setSpacing(8)
        inner.addWidget(self.notice)
        inner.addWidget(LoadStrip(self._session))
        inner.addWidget(self.composer)
        column.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        foot = QHBoxLayout()
        bar = self.transcript.verticalScrollBar()
        foot.setContentsMargins(24, 0, 24 + bar.sizeHint().width(), 0)
        foot.addStretch(1)
        foot.addWidget(column, 1000)
        foot.addStretch(1)
        return foot

    def _connect(self) -> None:
        keeper = self._keeper
        self.picker.refused.connect(
            lambda trouble: self.notice.tell(trouble, Remedy("Choose another", self.picker.target.click))
        )
        self.composer.send_asked.connect(self.send)
        self.composer.stop_asked.connect(self.stop)
        self.composer.text_changed.connect(lambda text: keeper.change(composer=text))
        self.speculation.toggled.connect(lambda on: keeper.change(speculative=on))
        self.temperature.valueChanged.connect(lambda value: keeper.change(chat_temperature=round(value, 2)))
        self.run.phase_changed.connect(self._on_phase)
        self.run.answer_begun.connect(self._on_begun)
        self.run.reading.connect(self._on_reading)
        self.run.advanced.connect(self._on_advanced)
        self.run.ended.connect(self._on_ended)
        self.run.troubled.connect(self._on_trouble)

    # ------------------------------------------------------------------------------------------- doing

    @property
    def current_answer(self) -> Answer | None:
        return self.run.turn.newest if self.run.turn is not None else None

    def send(self) -> None:
        """Send what stands in the composer."""
        text = self.composer.text.strip()
        if not text or self.run.phase is not ChatPhase.IDLE:
            return
        self.notice.hide()
        if self._session.choice is None:
            self.notice.tell(NOTHING_CHOSEN, Remedy("Choose a model", self.picker.target.click), tone="plain")
            return
        if self._is_measuring():
            return
        turn = Turn(text)
        self.run.conversation.turns.append(turn)
        self._add(turn)
        self.composer.edit.clear()
        self._answer(turn)

    def stop(self) -> None:
        self.run.stop()

    def regenerate(self) -> None:
        """Answer the last question again; the earlier answer can still be leafed to."""
        turns = self.run.conversation.turns
        if turns and self.run.phase is ChatPhase.IDLE:
            self._answer(turns[-1])

    def copy_last(self) -> None:
        """Copy the last answer."""
        if self.transcript.turns:
            self.transcript.turns[-1].copy()

    def start_over(self) -> None:
        """Begin another conversation; what stands in the composer stays."""
        self.transcript.clear()
        self.run.forget()
        self._middle.setCurrentIndex(0)
        self.composer.edit.setFocus()

    def _is_measuring(self) -> bool:
        """Whether the Tune page measures, which an answer would falsify; if so, say it."""
        is_measuring = self._session.running == MEASUREMENT
        if is_measuring:
            stop = Remedy("Stop it", self._session.stop_running)
            self.notice.tell(MEASURING, stop, tone="plain")
        return is_measuring

    def _answer(self, turn: Turn, *, check_memory: bool = True) -> None:
        if self._is_measuring():
            return
        view = self._view_of(turn)
        if view is not None:
            view.notice.hide()
        self.run.answer(
            turn, self._request(), speculative=self.speculation.isChecked(), check_memory=check_memory
        )

    def _request(self) -> GenerationSettings:
        run = RunSettings(
            draft_length=draft_length_of(self._keeper.settings, self._session.choice),
            temperature=round(self.temperature.value(), 2),
            max_tokens=MOST_TOKENS,
        )
        return generation_settings(run)

    def _suggest(self, text: str) -> None:
        self.composer.edit.replace_text(text)
        self.composer.edit.setFocus()

    # ----------------------------------------------------------------------------------------- showing

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.picker.show_context(self.width() >= _CONTEXT_FROM_PX)

    def _add(self, turn: Turn) -> None:
        for earlier in self.transcript.turns:
            earlier.set_last(False)
        view = TurnView(turn)
        view.again_asked.connect(lambda: self._again(turn))
        view.link_clicked.connect(self._on_link)
        self.transcript.add(view)
        self._middle.setCurrentWidget(self.transcript)

    def _again(self, turn: Turn) -> None:
        if turn is self.run.conversation.turns[-1]:
            self.regenerate()

    def _view_of(self, turn: Turn) -> TurnView | None:
        return next((view for view in self.transcript.turns if view.turn is turn), None)

    def _view(self) -> TurnView | None:
        return self._view_of(self.run.turn) if self.run.turn is not None else None

    def _on_phase(self, phase: ChatPhase) -> None:
        self.composer.set_running(phase is not ChatPhase.IDLE)
        view = self._view()
        if view is not None and phase is ChatPhase.LOADING:
            view.show_waiting("The model is being loaded…")

    def _on_begun(self, turn: Turn) -> None:
        if (view := self._view_of(turn)) is not None:
            view.show_shown()
            view.show_waiting("Waits for its turn…")

    def _on_reading(self, turn: Turn) -> None:
        if (view := self._view_of(turn)) is not None:
            view.show_waiting("Reads…")

    def _on_advanced(self, rounds: Sequence[Round]) -> None:
        view = self._view()
        if view is not None and any(one.text for one in rounds) and self._is_last_shown(view):
            view.append(list(rounds))
        if not self._facts.isActive():
            self._facts.start()

    def _on_ended(self, turn: Turn) -> None:
        self._facts.stop()
        if (view := self._view_of(turn)) is not None:
            view.show_waiting("")
            if turn.answers and self._is_last_shown(view):
                view.close_answer()
                announce(self, f"The answer has ended. {view.facts}")
            elif not turn.answers:
                view.notice.tell(
                    _LOADING_STOPPED, Remedy("Answer again", lambda: self._answer(turn)), tone="plain"
                )
        self.answered.emit()

    def _is_last_shown(self, view: TurnView) -> bool:
        """Whether the answer being written is the one that is shown: a reader may have leafed to an earlier
        one.
        """
        return view.turn.shown == len(view.turn.answers) - 1

    def _show_facts(self) -> None:
        if (view := self._view()) is not None:
            view.show_facts()
        self.answered.emit()

    def _on_trouble(self, turn: Turn, trouble: Trouble) -> None:
        view = self._view_of(turn)
        if view is None:
            return
        view.show_waiting("")
        if trouble.is_about_memory:
            remedy = Remedy("Load anyway", lambda: self._answer(turn, check_memory=False))
        else:
            remedy = Remedy("Answer again", lambda: self._answer(turn))
        view.notice.tell(trouble, remedy)

    def _on_link(self, url: QUrl) -> None:
        ask_about_link(self, url)
