"""Tune: measure the chosen bundle over many kinds of text, and take over what is fastest."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app import fonts
from app.announce import announce
from app.draft_lengths import bundle_key, with_draft_length
from app.library import Library
from app.session import EngineSession
from app.settings_keeper import SettingsKeeper
from app.trouble import Trouble
from app.tune import words
from app.tune.run import NOBODY_DRAFTS, TunePhase, TuneRun
from app.tune.sharing import Sharing
from app.tune.stored import StoredResults
from app.tune.tools import BenchTools
from app.widgets.bundle_picker import BundlePicker
from app.widgets.load_strip import LoadStrip
from app.widgets.notice import Notice, Remedy
from app.widgets.parts import button, label
from app.widgets.tune.plan_box import PlanBox
from app.widgets.tune.progress_strip import ProgressStrip
from app.widgets.tune.result_view import ResultView
from engine.bench.plan import draft_length_of
from engine.bench.results import BenchResult
from engine.models.bundle import Bundle

MARGIN_PX = 24
_LESSON_PX = 720


class TunePage(QScrollArea):
    """Composes the page and shows what its TuneRun tells.

    Signals:
        applied: the chosen bundle has another draft length now.
    """

    applied = Signal()

    def __init__(
        self, session: EngineSession, library: Library, keeper: SettingsKeeper, tools: BenchTools
    ) -> None:
        super().__init__()
        self._session = session
        self._keeper = keeper
        self._tools = tools
        self._shown: tuple[Bundle, BenchResult] | None = None
        self.picker = BundlePicker(session, library)
        self.start_button = button("Start", role="primary", icon_name="play", tip=words.START_TIP)
        self.plan = PlanBox(tools.tasks, keeper.settings.tune)
        self.notice = Notice()
        self.loading = LoadStrip(session)
        self.progress = ProgressStrip()
        self.result = ResultView()
        self.lesson = _Lesson()
        self.run = TuneRun(session, tools, self)
        self.stored = StoredResults(tools, self)
        self.sharing = Sharing(tools, self)
        self._lay_out()
        self._connect()
        self._show_for_choice()

    def _lay_out(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = QWidget()
        page.setProperty("role", "page")
        column = QVBoxLayout(page)
        column.setContentsMargins(MARGIN_PX, 16, MARGIN_PX, 16)
        column.setSpacing(12)
        top = QHBoxLayout()
        top.setSpacing(12)
        top.addWidget(self.picker, 1)
        top.addWidget(self.start_button, 0, Qt.AlignmentFlag.AlignBottom)
        self.start_button.setMinimumWidth(96)
        column.addLayout(top)
        for part in (self.plan, self.notice, self.loading, self.progress):
            column.addWidget(part)
        column.addWidget(self.result)
        column.addWidget(self.lesson, 1)
        column.addStretch()
        self.setWidget(page)

    def _connect(self) -> None:
        self.start_button.clicked.connect(self.act)
        self.plan.changed.connect(lambda settings: self._keeper.change(tune=settings))
        self.picker.refused.connect(
            lambda trouble: self.notice.tell(trouble, Remedy("Choose another", self.picker.target.click))
        )
        self.result.apply_asked.connect(self.apply)
        self.result.share_asked.connect(self._share)
        self.sharing.troubled.connect(lambda trouble: self.notice.tell(trouble))
        self.run.phase_changed.connect(self._on_phase)
        self.run.advanced.connect(self._on_advanced)
        self.run.ended.connect(self._on_ended)
        self.run.troubled.connect(self._on_trouble)
        self.stored.found.connect(lambda _: self._show_for_choice())
        self._session.choice_changed.connect(self._on_choice)

    # ------------------------------------------------------------------------------------------- doing

    def act(self) -> None:
        """Start, or cancel what is running."""
        if self.run.phase is TunePhase.IDLE:
            self.start()
        else:
            self.stop()

    def start(self, *, check_memory: bool = True) -> None:
        """Measure what is chosen."""
        self.notice.hide()
        self.result.show_applied("")
        self.run.start(self.plan.plan, check_memory=check_memory)

    def stop(self) -> None:
        self.run.stop()

    def apply(self, mode: str) -> None:
        """Take the draft length of `mode` over for the bundle whose result is shown."""
        if self._shown is None or not mode:
            return
        bundle = self._shown[0]
        lengths = with_draft_length(self._keeper.settings, bundle, draft_length_of(mode))
        self._keeper.change(draft_lengths=lengths)
        self.result.show_applied(words.applied_words(bundle, mode))
        announce(self, self.result.applied)
        self.applied.emit()

    def focus_first(self) -> None:
        """Give the keyboard to what one would press first."""
        self.start_button.setFocus()

    def _share(self, form: str) -> None:
        if self._shown is not None:
            self.sharing.share(self._shown[1], form)

    # ----------------------------------------------------------------------------------------- showing

    def _on_phase(self, phase: TunePhase) -> None:
        is_running = phase is not TunePhase.IDLE
        self.start_button.set_words("Cancel" if is_running else "Start")
        self.start_button.set_icon_name("square" if is_running else "play")
        self.start_button.setToolTip(words.CANCEL_TIP if is_running else words.START_TIP)
        self.plan.setEnabled(not is_running)
        self.picker.setEnabled(not is_running)
        self.progress.setVisible(phase is TunePhase.MEASURING)

    def _on_advanced(self) -> None:
        result, bundle = self.run.result, self.run.bundle
        if result is None or bundle is None:
            return
        self.progress.show_progress(self.run.progress)
        self._show(bundle, result, is_running=self.run.phase is TunePhase.MEASURING)

    def _on_ended(self) -> None:
        result, bundle = self.run.result, self.run.bundle
        if result is None or bundle is None:
            return
        if result.figures:
            self.stored.put(bundle, result)
            self._show(bundle, result, is_running=False)
            announce(self, self.result.sentence)
        else:
            self._show_for_choice()
            if result.left_out:
                self._on_trouble(
                    Trouble(result.left_out[0], "Try again, or choose another model or drafter.")
                )

    def _on_choice(self, bundle: Bundle) -> None:
        if self.run.phase is TunePhase.IDLE:
            self.result.show_applied("")
            self._show_for_choice()
            self.stored.ask(bundle)

    def _show_for_choice(self) -> None:
        """Show what was found for the chosen bundle, now or on another day, or what the page is for."""
        if self.run.phase is not TunePhase.IDLE:
            return
        choice = self._session.choice
        result = self.stored.of(choice)
        if choice is not None and result is not None:
            self._show(choice, result, is_running=False)
            return
        self._shown = None
        self.result.hide()
        self.lesson.teach(can_begin=choice is not None)
        self.lesson.show()

    def _show(self, bundle: Bundle, result: BenchResult, *, is_running: bool) -> None:
        if self._shown is not None and bundle_key(self._shown[0]) != bundle_key(bundle):
            self.result.show_applied("")
        self._shown = bundle, result
        advice = "" if is_running else self._tools.advise(result, self._drafter_bytes(bundle))
        self.result.show_result(result, advice=advice, is_running=is_running)
        self.lesson.setVisible(not result.figures)
        self.result.setVisible(bool(result.figures))

    def _drafter_bytes(self, bundle: Bundle) -> int | None:
        """Return what the weights of the drafter of `bundle` take, None where it is not loaded."""
        if not bundle.drafter.kind.has_weights:
            return 0
        state = self._session.state
        drafter = state.loaded.drafter if state.loaded is not None and state.bundle == bundle else None
        return drafter.file_bytes if drafter is not None else None

    def _on_trouble(self, trouble: Trouble) -> None:
        if trouble.is_about_memory:
            remedy = Remedy("Load anyway", lambda: self.start(check_memory=False))
        elif trouble.is_about_drafter:
            remedy = Remedy("Choose another drafter", self.picker.drafter.click)
        elif self._session.choice is None:
            remedy = Remedy("Choose a model", self.picker.target.click)
        elif trouble is NOBODY_DRAFTS:
            remedy = Remedy("Choose a drafter", self.picker.drafter.click)
        elif self._session.running:
            remedy = Remedy(f"Stop the {self._session.running}", self._session.stop_running)
        else:
            remedy = Remedy("Try again", self.start)
        is_news = self._session.choice is None or bool(self._session.running) or not trouble.detail
        self.notice.tell(trouble, remedy, tone="plain" if is_news and not trouble.kind else "error")


class _Lesson(QWidget):
    """The page before anything was measured."""

    def __init__(self) -> None:
        super().__init__()
        self._text = label(words.LESSON, tone="muted", wraps=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(32, 24, 32, 24)
        column.setSpacing(12)
        column.addStretch(1)
        for line in (label(words.TITLE, font=fonts.heading(), wraps=True), self._text):
            line.setAlignment(Qt.AlignmentFlag.AlignCenter)
            line.setMaximumWidth(_LESSON_PX)
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(line, 100)
            row.addStretch(1)
            column.addLayout(row)
        column.addStretch(2)

    @property
    def words(self) -> str:
        return self._text.text()

    def teach(self, *, can_begin: bool) -> None:
        self._text.setText(words.LESSON if can_begin else f"{words.LESSON}\n\n{words.NO_MODEL_LESSON}")
