"""Tune: measure the chosen bundle over many kinds of text, and take over what is fastest."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.announce import announce
from app.draft_lengths import bundle_key, with_draft_length
from app.library import Library
from app.models.budgets import Budgets
from app.session import EngineSession
from app.settings_keeper import SettingsKeeper
from app.trouble import Trouble
from app.tune import words
from app.tune.memory import MemoryOfDrafter
from app.tune.run import NOBODY_DRAFTS, TunePhase, TuneRun
from app.tune.sharing import Sharing
from app.tune.stored import StoredResults
from app.tune.tools import BenchTools
from app.widgets.bundle_picker import BundlePicker
from app.widgets.load_strip import LoadStrip
from app.widgets.notice import Notice, Remedy
from app.widgets.parts import button
from app.widgets.tune.lesson import TuneLesson
from app.widgets.tune.plan_box import PlanBox
from app.widgets.tune.progress_strip import ProgressStrip
from app.widgets.tune.result_view import ResultView
from engine.bench.plan import draft_length_of
from engine.bench.results import BenchResult
from engine.models.bundle import Bundle

MARGIN_PX = 24


class TunePage(QScrollArea):
    """Composes the page and shows what its TuneRun tells.

    Signals:
        applied: the chosen bundle has another draft length now.
    """

    applied = Signal()

    def __init__(
        self,
        session: EngineSession,
        library: Library,
        keeper: SettingsKeeper,
        tools: BenchTools,
        budgets: Budgets,
    ) -> None:
        super().__init__()
        self._session = session
        self._keeper = keeper
        self._tools = tools
        self._memory = MemoryOfDrafter(session, budgets, self)
        self._shown: tuple[Bundle, BenchResult] | None = None
        self._starts_again = False
        self.picker = BundlePicker(session, library)
        self.start_button = button("Start", role="primary", icon_name="play", tip=words.START_TIP)
        self.plan = PlanBox(tools.tasks, keeper.settings.tune)
        self.notice = Notice()
        self.loading = LoadStrip(session)
        self.progress = ProgressStrip()
        self.result = ResultView()
        self.lesson = TuneLesson()
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
        self.result.kind_chosen.connect(self._show_kind_advice)
        self.sharing.troubled.connect(lambda trouble: self.notice.tell(trouble))
        self.run.phase_changed.connect(self._on_phase)
        self.run.advanced.connect(self._on_advanced)
        self.run.ended.connect(self._on_ended)
        self._memory.told.connect(self._show_again)
        self.run.resumed.connect(self._on_resumed)
        self.run.troubled.connect(self._on_trouble)
        self.stored.found.connect(lambda _: self._show_for_choice())
        self.stored.not_kept.connect(lambda reason: self.notice.tell(words.not_kept(reason)))
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
        if self.run.phase is not TunePhase.IDLE:
            return
        self.notice.hide()
        self.result.show_applied("")
        self.run.start(self.plan.plan, check_memory=check_memory)

    def stop(self) -> None:
        self.run.stop()

    def begin_anew(self) -> None:
        """Measure all of it again, also what was measured before it was broken off."""
        self.run.forget()
        # While it measures, the running answer is broken off first.
        self._starts_again = self.run.phase is TunePhase.MEASURING
        if self._starts_again:
            self.stop()
        else:
            self.start()

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

    def _on_resumed(self) -> None:
        self.notice.tell(
            words.resumed(self.run.n_resumed), Remedy("Begin anew", self.begin_anew), tone="plain"
        )

    def _on_ended(self) -> None:
        result, bundle = self.run.result, self.run.bundle
        if self._starts_again:
            self._starts_again = False
            self.start()
            return
        if result is None or bundle is None:
            return
        if not self._is_chosen(bundle):
            # Another one was chosen on another page meanwhile.
            if result.figures:
                self.stored.put(bundle, result, self.run.forget)
            self._show_for_choice()
            if self._session.choice is not None:
                self.stored.ask(self._session.choice)
        elif result.figures:
            shown = self.stored.put(bundle, result, self.run.forget)
            if shown is not result:
                self.notice.tell(words.EARLIER_SHOWN, tone="plain")
            self._show(bundle, shown, is_running=False)
            announce(self, self.result.sentence)
        else:
            self._show_for_choice()
            if result.left_out:
                self._on_trouble(
                    Trouble(result.left_out[0], "Try again, or choose another model or drafter.")
                )

    def _is_chosen(self, bundle: Bundle) -> bool:
        choice = self._session.choice
        return choice is not None and bundle_key(choice) == bundle_key(bundle)

    def _on_choice(self, bundle: Bundle) -> None:
        if self.run.phase is TunePhase.IDLE:
            self.notice.hide()
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
        if not is_running:
            memory = self._memory.of(bundle, ask=self.isVisible()) or result.memory
            result = msgspec.structs.replace(result, memory=memory)
        self._shown = bundle, result
        advice = "" if is_running else self._tools.advise(result)
        self.result.show_result(result, advice=advice, is_running=is_running)
        self._show_kind_advice(self.result.kind)
        self.lesson.setVisible(not result.figures)
        self.result.setVisible(bool(result.figures))

    def _show_kind_advice(self, kind: str) -> None:
        if kind and self._shown is not None and self.run.phase is TunePhase.IDLE:
            self.result.show_kind_advice(self._tools.advise_for(self._shown[1], kind))
        else:
            self.result.show_kind_advice("")

    def _show_again(self) -> None:
        """Show the same result with what is known of memory now."""
        if self._shown is not None and self.run.phase is TunePhase.IDLE:
            self._show(*self._shown, is_running=False)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_again()

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
