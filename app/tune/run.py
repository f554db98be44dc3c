"""The course of a bench: load what is chosen, hand the bench the engine's events, stop. No widgets."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal

from app.session import MEASUREMENT, EngineSession, ModelPhase, ModelState
from app.trouble import NOTHING_CHOSEN, Trouble
from app.tune.tools import BenchTools, Measured
from engine.bench.driver import Bench, BenchProgress
from engine.bench.plan import BenchPlan
from engine.bench.results import BenchResult
from engine.models.bundle import Bundle, DrafterKind
from engine.service import ServiceEvent
from engine.worker.messages import RoundDone

NOTHING_TO_MEASURE = Trouble(
    "There is nothing to compare yet.", "Choose at least one kind of text and one draft length."
)
NOBODY_DRAFTS = Trouble(
    "Nobody guesses ahead with this choice, so there is nothing to tune.",
    "Choose who guesses ahead.",
)


def is_busy_with(what: str) -> Trouble:
    """Return what to say while something else uses the engine."""
    return Trouble(
        f"The {what} that is running would falsify what is measured: there is one engine for both.",
        "Wait until it has ended, or stop it.",
    )


class TunePhase(StrEnum):
    """LOADING: the bundle loads; MEASURING: the bench runs."""

    IDLE = "idle"
    LOADING = "loading"
    MEASURING = "measuring"


class TuneRun(QObject):
    """One bench at a time.

    Signals:
        phase_changed(TunePhase)
        advanced: `progress` or `result` has changed; while measuring at least once a second.
        ended: the bench is over, complete or not.
        resumed: it goes on where the same was broken off.
        troubled(Trouble): it could not begin.
    """

    phase_changed = Signal(object)
    advanced = Signal()
    ended = Signal()
    resumed = Signal()
    troubled = Signal(object)

    def __init__(self, session: EngineSession, tools: BenchTools, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._tools = tools
        self._phase = TunePhase.IDLE
        self._plan = BenchPlan(())
        self._bench: Bench | None = None
        self.bundle: Bundle | None = None
        self._tick = QTimer(self)
        self._tick.setInterval(1000)
        self._tick.timeout.connect(self.advanced)
        session.state_changed.connect(self._on_model)
        session.stop_asked.connect(self._stop_measuring)
        self._follow()

    def _follow(self) -> None:
        bridge = self._session.bridge
        for signal in (
            *(bridge.started, bridge.lane_finished, bridge.finished, bridge.failed, bridge.loaded),
            *(bridge.worker_lost, bridge.reloading, bridge.worker_silent, bridge.worker_answers),
        ):
            signal.connect(self._take)
        bridge.rounds_done.connect(self._take_rounds)

    @property
    def phase(self) -> TunePhase:
        return self._phase

    @property
    def progress(self) -> BenchProgress | None:
        return self._bench.progress if self._bench is not None else None

    @property
    def n_resumed(self) -> int:
        """How many answers were measured before it was broken off the last time."""
        return self._bench.n_resumed if self._bench is not None else 0

    @property
    def forget(self) -> Callable[[], None]:
        """What makes the bench that ran last keep nothing to go on from."""
        return self._bench.forget if self._bench is not None else lambda: None

    @property
    def result(self) -> BenchResult | None:
        """What is measured so far, or was when it ended."""
        return self._bench.result if self._bench is not None else None

    def start(self, plan: BenchPlan, *, check_memory: bool = True) -> None:
        """Begin to measure what is chosen, which is loaded first where it is not."""
        if self._phase is not TunePhase.IDLE:
            return
        trouble = self._refusal(plan)
        if trouble is not None:
            self.troubled.emit(trouble)
            return
        self._plan = plan
        if self._session.is_choice_loaded and check_memory:
            self._begin()
        else:
            self._set_phase(TunePhase.LOADING)
            self._session.load_choice(check_memory=check_memory)

    def stop(self) -> None:
        """Stop whatever goes on; what was measured so far stays."""
        if self._phase is TunePhase.LOADING:
            self._session.cancel_loading()
            self._set_phase(TunePhase.IDLE)
        else:
            self._stop_measuring()

    def _stop_measuring(self) -> None:
        if self._phase is TunePhase.MEASURING and self._bench is not None:
            self._bench.cancel()
            self._look_whether_done()

    def _refusal(self, plan: BenchPlan) -> Trouble | None:
        choice = self._session.choice
        if choice is None:
            return NOTHING_CHOSEN
        if choice.drafter.kind is DrafterKind.NONE:
            return NOBODY_DRAFTS
        if not plan.tasks or len(plan.modes) < 2:
            return NOTHING_TO_MEASURE
        return is_busy_with(self._session.running) if self._session.running else None

    def _begin(self) -> None:
        state = self._session.state
        assert state.bundle is not None
        assert state.loaded is not None
        if self._session.running:
            # It began while this was waiting for the model.
            self._set_phase(TunePhase.IDLE)
            self.troubled.emit(is_busy_with(self._session.running))
            return
        self.bundle = self._session.choice
        measured = Measured(state.bundle, state.loaded, state.settings, self._session.llama_cpp_version)
        bench = self._bench = self._tools.make(self._plan, measured)
        self._set_phase(TunePhase.MEASURING)
        bench.start(self._session.service)
        self._tick.start()
        if bench.n_resumed:
            self.resumed.emit()
        self.advanced.emit()
        self._look_whether_done()

    def _set_phase(self, phase: TunePhase) -> None:
        if phase is not self._phase:
            self._phase = phase
            self._session.set_running(MEASUREMENT, phase is TunePhase.MEASURING)
            self.phase_changed.emit(phase)

    def _take(self, event: ServiceEvent) -> None:
        if self._phase is TunePhase.MEASURING and self._bench is not None:
            if self._bench.take(event):
                self.advanced.emit()
            self._look_whether_done()

    def _take_rounds(self, _job: int, events: tuple[RoundDone, ...]) -> None:
        for event in events:
            self._take(event)

    def _look_whether_done(self) -> None:
        if self._phase is TunePhase.MEASURING and self._bench is not None and self._bench.is_done:
            self._tick.stop()
            self._set_phase(TunePhase.IDLE)
            self.ended.emit()

    def _on_model(self, state: ModelState) -> None:
        if self._phase is TunePhase.MEASURING:
            if not self._is_measured(state.bundle):
                self._stop_measuring()
            return
        if self._phase is not TunePhase.LOADING:
            return
        if state.phase is ModelPhase.LOADED:
            if self._session.is_choice_loaded:
                self._begin()
            else:
                self._session.load_choice()
        elif state.phase is ModelPhase.FAILED and state.trouble is not None:
            self._set_phase(TunePhase.IDLE)
            self.troubled.emit(state.trouble)
        elif state.phase is ModelPhase.EMPTY:
            self._set_phase(TunePhase.IDLE)

    def _is_measured(self, bundle: Bundle | None) -> bool:
        """Whether `bundle` is what is being measured: after a lost process it is loaded again."""
        mine = self.bundle
        if mine is None or bundle is None:
            return False
        return (mine.target, mine.drafter) == (bundle.target, bundle.drafter)
