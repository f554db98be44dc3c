"""Compare: one prompt, with and without speculation, side by side."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QScrollArea, QVBoxLayout, QWidget

from app.announce import announce
from app.draft_lengths import changes_for, draft_length_of, run_settings_of
from app.library import Library
from app.pages.compare_run import CompareRun, RunPhase
from app.prompts import ReadyPrompt
from app.result_card import RaceResult, json_card, markdown_card
from app.session import EngineSession
from app.settings import RunSettings
from app.settings_keeper import SettingsKeeper
from app.trouble import MEASURING, Trouble
from app.widgets.bundle_picker import BundlePicker
from app.widgets.draft_strip import DraftStrip
from app.widgets.lane_pane import LanePane
from app.widgets.load_strip import LoadStrip
from app.widgets.notice import Notice, Remedy
from app.widgets.prompt_box import PromptBox
from app.widgets.run_options import RunOptions
from app.widgets.verdict_bar import VerdictBar
from engine.measure.explain import explain
from engine.worker.messages import RoundDone

MARGIN_PX = 24
_STACKED_BELOW_PX = 760
_OPTIONS_BELOW_PX = 880
_STACKED_TEXT_PX = 144
_DRAFTING_MS = 300
_PLAIN_LESSON = "The model answers alone: one pass over all its weights for every single token."
_SPECULATIVE_LESSON = (
    "Something quick guesses a few tokens ahead, and the model checks them all in one pass. "
    "What it agrees with is kept: the same answer in fewer passes."
)


class ComparePage(QScrollArea):
    """Composes the page and shows what its CompareRun tells."""

    def __init__(
        self,
        session: EngineSession,
        library: Library,
        keeper: SettingsKeeper,
        prompts: tuple[ReadyPrompt, ...],
    ) -> None:
        super().__init__()
        self._session = session
        self._keeper = keeper
        settings = keeper.settings
        self.picker = BundlePicker(session, library)
        self.options = RunOptions(run_settings_of(settings, session.choice))
        self.prompt = PromptBox(prompts, settings.prompt)
        self.notice = Notice()
        self.loading = LoadStrip(session)
        self.plain = LanePane("Without speculation", _PLAIN_LESSON, speculative=False)
        self.speculative = LanePane(
            "With speculation", _SPECULATIVE_LESSON, speculative=True, coloured=settings.colour_tokens
        )
        self.drafting = DraftStrip()
        self.verdict = VerdictBar()
        self.run = CompareRun(session, self)
        self._drafting_due = QTimer(self)
        self._drafting_due.setSingleShot(True)
        self._drafting_due.setInterval(_DRAFTING_MS)
        self._lay_out()
        self._connect()

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
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._top.setSpacing(12)
        self._top.addWidget(self.picker, 1)
        self._top.addWidget(self.options)
        column.addLayout(self._top)
        column.addWidget(self.prompt)
        column.addWidget(self.notice)
        column.addWidget(self.loading)
        self._panes = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._panes.setSpacing(16)
        self._panes.addWidget(self.plain, 1)
        self._panes.addWidget(self.speculative, 1)
        column.addLayout(self._panes, 1)
        column.addWidget(self.drafting)
        column.addWidget(self.verdict)
        self.setWidget(page)

    def _connect(self) -> None:
        self.prompt.run_asked.connect(self.start)
        self.prompt.stop_asked.connect(self.stop)
        self.prompt.text_changed.connect(lambda text: self._keeper.change(prompt=text))
        self.options.changed.connect(self._remember_run)
        self.speculative.colours_toggled.connect(lambda on: self._keeper.change(colour_tokens=on))
        self.verdict.copy_asked.connect(self.copy_result)
        self.picker.refused.connect(self._on_refused)
        self.run.phase_changed.connect(self._on_phase)
        self.run.prompt_read.connect(self._on_prompt_read)
        self.run.advanced.connect(self._on_advanced)
        self.run.lane_ended.connect(self._on_lane_ended)
        self.run.ended.connect(self._on_ended)
        self.run.troubled.connect(self._on_trouble)
        self._session.choice_changed.connect(lambda _: self._on_choice())
        self._drafting_due.timeout.connect(self._show_drafting)

    # ------------------------------------------------------------------------------------------- doing

    def start(self, *, check_memory: bool = True) -> None:
        """Run the prompt in both lanes; what stands in the panes makes room."""
        if self.run.phase is not RunPhase.IDLE:
            return
        self.notice.hide()
        self.run.start(self.prompt.text, self.options.settings, check_memory=check_memory)

    def stop(self) -> None:
        self.run.stop()

    def show_draft_length(self) -> None:
        """Show the draft length of the chosen bundle, which may have been changed elsewhere."""
        self.options.draft_length.set_value(draft_length_of(self._keeper.settings, self._session.choice))

    def _remember_run(self, run: RunSettings) -> None:
        self._keeper.change(**changes_for(self._keeper.settings, self._session.choice, run))

    def _on_choice(self) -> None:
        self.show_draft_length()
        self._name_race()

    def open_files(self, paths: list[str]) -> None:
        """Take files dropped on the window: the first becomes the model, a second one its drafter."""
        if len(paths) > 1:
            self.picker.open_pair(paths[0], paths[1])
        else:
            self.picker.open_target(paths[0])

    def copy_result(self, form: str) -> None:
        """Put the result into the clipboard as "markdown" or "json"."""
        race = self.run.race
        if race is None:
            return
        result = RaceResult(
            bundle=race.bundle,
            loaded=race.loaded,
            settings=race.settings,
            prompt=race.prompt,
            n_prompt_tokens=race.n_prompt_tokens,
            seed=race.seed,
            plain=race.plain,
            speculative=race.speculative,
            difference=race.difference,
        )
        QGuiApplication.clipboard().setText(
            markdown_card(result) if form == "markdown" else json_card(result)
        )

    # ----------------------------------------------------------------------------------------- showing

    def _on_phase(self, phase: RunPhase) -> None:
        self.prompt.set_running(phase is not RunPhase.IDLE)
        if phase is RunPhase.WAITING:
            for pane in self._lanes():
                pane.start_over("waits for its turn")
            self._drafting_due.stop()
            self.drafting.start_over()
            self.verdict.start_over("Waiting for both lanes.")

    def _on_prompt_read(self) -> None:
        race = self.run.race
        if race is None:
            return
        for pane, lane in zip(self._lanes(), race.lanes, strict=True):
            if not lane.metrics.n_tokens:
                pane.show_reading(lane.metrics.n_prompt, race.n_prompt_tokens)

    def _on_advanced(self, events: tuple[RoundDone, ...]) -> None:
        race = self.run.race
        if race is None:
            return
        for index, (pane, lane) in enumerate(zip(self._lanes(), race.lanes, strict=True)):
            rounds = [event.round for event in events if event.lane == index]
            if rounds:
                pane.add(rounds)
                pane.show_metrics(lane.metrics)
            if lane.metrics.n_tokens:
                pane.show_progress(race.fraction(lane))
            if lane.is_finished:
                pane.show_finished(lane.reason, "")
        if not self._drafting_due.isActive():
            self._drafting_due.start()
        self._on_prompt_read()
        self.verdict.show_verdict(race.verdict(), race.detail())

    def _show_drafting(self) -> None:
        """Show what was drafted; a few times a second, for it looks at every round of the answer."""
        self._drafting_due.stop()
        race = self.run.race
        if race is not None and race.speculative.rounds:
            rounds = race.speculative.rounds
            self.drafting.show_rounds(rounds, explain(rounds))

    def _on_lane_ended(self, index: int) -> None:
        race = self.run.race
        if race is not None:
            lane = race.lanes[index]
            self._lanes()[index].show_progress(race.fraction(lane))
            self._lanes()[index].show_finished(lane.reason, lane.tail)

    def _on_ended(self) -> None:
        race = self.run.race
        if race is None:
            return
        for pane, lane in zip(self._lanes(), race.lanes, strict=True):
            if not lane.is_finished:
                pane.show_finished(None, "")
            if race.difference is not None:
                pane.show_difference(race.difference.index, race.difference.logit_gap)
        self._show_drafting()
        self._name_race()
        announce(self, self.verdict.accessibleName())

    def _name_race(self) -> None:
        """Say whose answers stand in the panes where another model is chosen now."""
        race, choice = self.run.race, self._session.choice
        if race is None or not race.ended or choice is None:
            return
        whose = "" if choice.target == race.bundle.target else f"{race.bundle.name} · "
        self.verdict.show_verdict(race.verdict(), whose + race.detail())

    def _on_refused(self, trouble: Trouble) -> None:
        self.notice.tell(trouble, Remedy("Choose another", self.picker.target.click))

    def _on_trouble(self, trouble: Trouble) -> None:
        if trouble.is_worker_lost:
            race, choice = self.run.race, self._session.choice
            is_same = race is None or choice is None or race.bundle.target == choice.target
            self.notice.tell(trouble, Remedy("Run again" if is_same else "Run the chosen one", self.start))
        elif trouble.is_about_memory:
            self.notice.tell(trouble, Remedy("Load anyway", lambda: self.start(check_memory=False)))
        elif trouble.is_about_drafter:
            self.notice.tell(trouble, Remedy("Choose another drafter", self.picker.drafter.click))
        elif trouble is MEASURING:
            self.notice.tell(trouble, Remedy("Stop it", self._session.stop_running), tone="plain")
        elif self._session.choice is None:
            self.notice.tell(trouble, Remedy("Choose a model", self.picker.target.click), tone="plain")
        else:
            self.notice.tell(trouble, Remedy("Try again", self.start))
        if self.run.race is None:
            for pane in self._lanes():
                pane.start_over()
            self._drafting_due.stop()
            self.drafting.start_over()
            self.verdict.start_over()

    def _lanes(self) -> tuple[LanePane, LanePane]:
        return self.plain, self.speculative

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width_px = self.viewport().width()
        for row, least_px in ((self._panes, _STACKED_BELOW_PX), (self._top, _OPTIONS_BELOW_PX)):
            stacked = width_px < least_px
            direction = QBoxLayout.Direction.TopToBottom if stacked else QBoxLayout.Direction.LeftToRight
            if row.direction() != direction:
                row.setDirection(direction)
        for pane in self._lanes():
            pane.view.setMinimumHeight(_STACKED_TEXT_PX if width_px < _STACKED_BELOW_PX else 0)
