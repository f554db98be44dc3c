"""The course of a comparison: load what is chosen, race, stop, and what happens when the engine fails. No
widgets.
"""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from app.race import RaceRecord
from app.request import generation_settings, prompt_for
from app.session import MEASUREMENT, EngineSession, ModelPhase, ModelState
from app.settings import RunSettings
from app.trouble import MEASURING, NOTHING_CHOSEN, Trouble, trouble_of
from engine.errors import BadOption
from engine.service import WorkerLost
from engine.speculation.settings import check_generation
from engine.worker.messages import Failed, Finished, LaneFinished, RoundDone, Started

NOTHING_TO_ASK = Trouble("There is nothing to answer yet.", "Write a prompt, or take a ready one.")


class RunPhase(StrEnum):
    """LOADING: the bundle loads; WAITING: asked, no answer yet; RACING: rounds come."""

    IDLE = "idle"
    LOADING = "loading"
    WAITING = "waiting"
    RACING = "racing"


class CompareRun(QObject):
    """One comparison at a time.

    Signals:
        phase_changed(RunPhase)
        prompt_read: more of the prompt has been read.
        advanced(tuple[RoundDone, ...]): rounds came; `race` holds them already.
        lane_ended(int): that lane gives no more.
        ended: the race is over, cut off or not.
        troubled(Trouble): it could not begin, or failed.
    """

    phase_changed = Signal(object)
    prompt_read = Signal()
    advanced = Signal(object)
    lane_ended = Signal(int)
    ended = Signal()
    troubled = Signal(object)

    def __init__(self, session: EngineSession, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._phase = RunPhase.IDLE
        self._asked: tuple[str, RunSettings] = ("", RunSettings())
        self.race: RaceRecord | None = None
        session.state_changed.connect(self._on_model)
        session.stop_asked.connect(self._stop_racing)
        bridge = session.bridge
        bridge.started.connect(self._on_started)
        bridge.rounds_done.connect(self._on_rounds)
        bridge.lane_finished.connect(self._on_lane_finished)
        bridge.finished.connect(self._on_finished)
        bridge.failed.connect(self._on_failed)
        bridge.worker_lost.connect(self._on_worker_lost)

    @property
    def phase(self) -> RunPhase:
        return self._phase

    def start(self, prompt: str, settings: RunSettings, *, check_memory: bool = True) -> None:
        """Begin a comparison; what is chosen is loaded first where it is not.

        Without `check_memory` it is loaded again in any case: the second cache of a comparison may be what
        was refused.
        """
        if self._phase is not RunPhase.IDLE:
            return
        trouble = self._refusal(prompt, settings)
        if trouble is not None:
            self.troubled.emit(trouble)
            return
        self._asked = (prompt, settings)
        if self._session.is_choice_loaded and check_memory:
            self._begin()
        else:
            self._set_phase(RunPhase.LOADING)
            self._session.load_choice(check_memory=check_memory)

    def stop(self) -> None:
        """Stop whatever goes on; what has come so far stays."""
        if self._phase is RunPhase.LOADING:
            self._session.cancel_loading()
            self._set_phase(RunPhase.IDLE)
        elif self._phase is not RunPhase.IDLE and self.race is not None:
            self._session.service.cancel(self.race.job)

    def _stop_racing(self) -> None:
        if self._phase is not RunPhase.LOADING:
            self.stop()

    def _refusal(self, prompt: str, settings: RunSettings) -> Trouble | None:
        if not prompt.strip():
            return NOTHING_TO_ASK
        if self._session.choice is None:
            return NOTHING_CHOSEN
        if self._session.running == MEASUREMENT:
            return MEASURING
        try:
            check_generation(generation_settings(settings))
        except BadOption as error:
            return trouble_of(error)
        return None

    def _begin(self) -> None:
        if self._session.running == MEASUREMENT:
            # It began while this was waiting for the model.
            self._set_phase(RunPhase.IDLE)
            self.troubled.emit(MEASURING)
            return
        prompt, run = self._asked
        loaded, bundle = self._session.state.loaded, self._session.state.bundle
        assert bundle is not None
        settings = generation_settings(run)
        job = self._session.service.race(prompt_for(prompt), settings)
        self.race = RaceRecord(job, bundle, loaded, settings, prompt)
        self._set_phase(RunPhase.WAITING)

    def _set_phase(self, phase: RunPhase) -> None:
        if phase is not self._phase:
            self._phase = phase
            self._session.set_running("comparison", phase in (RunPhase.WAITING, RunPhase.RACING))
            self.phase_changed.emit(phase)

    def _mine(self, job: int) -> RaceRecord | None:
        """Return the race if `job` is its, and it still runs."""
        race = self.race
        is_mine = race is not None and race.job == job and self._phase in (RunPhase.WAITING, RunPhase.RACING)
        return race if is_mine else None

    def _on_model(self, state: ModelState) -> None:
        if self._phase is not RunPhase.LOADING:
            return
        if state.phase is ModelPhase.LOADED:
            if self._session.is_choice_loaded:
                self._begin()
            else:
                self._session.load_choice()
        elif state.phase is ModelPhase.FAILED and state.trouble is not None:
            self._set_phase(RunPhase.IDLE)
            self.troubled.emit(state.trouble)
        elif state.phase is ModelPhase.EMPTY:
            self._set_phase(RunPhase.IDLE)

    def _on_started(self, event: Started) -> None:
        if (race := self._mine(event.job)) is not None:
            race.start(event)
            self._set_phase(RunPhase.RACING)
            self.prompt_read.emit()

    def _on_rounds(self, job: int, events: tuple[RoundDone, ...]) -> None:
        if (race := self._mine(job)) is not None:
            race.add(events)
            self.advanced.emit(events)

    def _on_lane_finished(self, event: LaneFinished) -> None:
        if (race := self._mine(event.job)) is not None:
            race.finish_lane(event)
            self.lane_ended.emit(event.lane)

    def _on_finished(self, event: Finished) -> None:
        if (race := self._mine(event.job)) is not None:
            race.difference = event.first_difference
            self._end(race)

    def _on_failed(self, event: Failed) -> None:
        if (race := self._mine(event.job)) is not None:
            self._end(race)
            trouble = trouble_of(event)
            if not trouble.is_cancel:
                self.troubled.emit(trouble)

    def _on_worker_lost(self, event: WorkerLost) -> None:
        if (race := self._mine(event.job)) is not None:
            self._end(race)
            self.troubled.emit(trouble_of(event))

    def _end(self, race: RaceRecord) -> None:
        race.ended = True
        self.ended.emit()
        self._set_phase(RunPhase.IDLE)
