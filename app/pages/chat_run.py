"""The course of an answer in a chat: load what is chosen, generate, stop, and what happens when the engine
fails.
"""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from app.conversation import Answer, Conversation, Turn
from app.request import conversation_prompt
from app.session import MEASUREMENT, EngineSession, ModelPhase, ModelState
from app.trouble import MEASURING, Trouble, trouble_of
from engine.service import WorkerLost
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import Failed, Finished, LaneFinished, RoundDone, Started


class ChatPhase(StrEnum):
    """LOADING: the bundle loads; WAITING: asked, no token yet; ANSWERING: rounds come."""

    IDLE = "idle"
    LOADING = "loading"
    WAITING = "waiting"
    ANSWERING = "answering"


class ChatRun(QObject):
    """One answer at a time, in one conversation.

    Signals:
        phase_changed(ChatPhase)
        answer_begun(Turn): an empty answer was added to it; it waits for its turn.
        reading(Turn): the prompt is being read.
        advanced(tuple[Round, ...]): the answer being written has got them already.
        ended(Turn): its answer is complete, stopped or cut off.
        troubled(Turn, Trouble): there is no answer, or it was cut off.
    """

    phase_changed = Signal(object)
    answer_begun = Signal(object)
    reading = Signal(object)
    advanced = Signal(object)
    ended = Signal(object)
    troubled = Signal(object, object)

    def __init__(self, session: EngineSession, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._phase = ChatPhase.IDLE
        self._turn: Turn | None = None
        self._asked = (GenerationSettings(), True)
        self.conversation = Conversation()
        session.state_changed.connect(self._on_model)
        session.stop_asked.connect(self._stop_answering)
        bridge = session.bridge
        bridge.started.connect(self._on_started)
        bridge.rounds_done.connect(self._on_rounds)
        bridge.lane_finished.connect(self._on_lane_finished)
        bridge.finished.connect(self._on_finished)
        bridge.failed.connect(self._on_failed)
        bridge.worker_lost.connect(self._on_worker_lost)

    @property
    def phase(self) -> ChatPhase:
        return self._phase

    @property
    def turn(self) -> Turn | None:
        """Return the turn whose answer is, or was last, being written."""
        return self._turn

    def answer(
        self, turn: Turn, settings: GenerationSettings, *, speculative: bool, check_memory: bool = True
    ) -> None:
        """Give one more answer to `turn`; what is chosen is loaded first where it is not."""
        if self._phase is not ChatPhase.IDLE:
            return
        self._turn = turn
        self._asked = (settings, speculative)
        if self._session.is_choice_loaded and check_memory:
            self._begin(turn)
        else:
            self._set_phase(ChatPhase.LOADING)
            self._session.load_choice(check_memory=check_memory)

    def stop(self) -> None:
        """Stop whatever goes on; what has come so far stays."""
        turn = self._turn
        if turn is None or self._phase is ChatPhase.IDLE:
            return
        if self._phase is ChatPhase.LOADING:
            self._session.cancel_loading()
            self._give_up(turn)
        elif turn.newest is not None:
            self._session.service.cancel(turn.newest.job)

    def _stop_answering(self) -> None:
        if self._phase is not ChatPhase.LOADING:
            self.stop()

    def forget(self) -> None:
        """Stop, and begin another conversation."""
        self.stop()
        self._turn = None
        self.conversation = Conversation()
        self._set_phase(ChatPhase.IDLE)

    def _begin(self, turn: Turn) -> None:
        if self._session.running == MEASUREMENT:
            # It began while this was waiting for the model.
            self._set_phase(ChatPhase.IDLE)
            self.troubled.emit(turn, MEASURING)
            return
        settings, speculative = self._asked
        prompt = conversation_prompt(self.conversation.messages(turn))
        answer = Answer(speculative)
        answer.job = self._session.service.generate(prompt, settings, speculative=speculative)
        turn.add(answer)
        self.answer_begun.emit(turn)
        self._set_phase(ChatPhase.WAITING)

    def _set_phase(self, phase: ChatPhase) -> None:
        if phase is not self._phase:
            self._phase = phase
            self._session.set_running("answer", phase in (ChatPhase.WAITING, ChatPhase.ANSWERING))
            self.phase_changed.emit(phase)

    def _mine(self, job: int) -> tuple[Turn, Answer] | None:
        """Return the turn and the answer being written, if `job` writes it."""
        turn = self._turn
        if turn is None or self._phase not in (ChatPhase.WAITING, ChatPhase.ANSWERING):
            return None
        answer = turn.newest
        return (turn, answer) if answer is not None and answer.job == job else None

    def _on_model(self, state: ModelState) -> None:
        if self._phase is not ChatPhase.LOADING or self._turn is None:
            return
        if state.phase is ModelPhase.LOADED:
            if self._session.is_choice_loaded:
                self._begin(self._turn)
            else:
                self._session.load_choice()
        elif state.phase is ModelPhase.FAILED and state.trouble is not None:
            self._set_phase(ChatPhase.IDLE)
            self.troubled.emit(self._turn, state.trouble)
        elif state.phase is ModelPhase.EMPTY:
            self._give_up(self._turn)

    def _give_up(self, turn: Turn) -> None:
        """Wait for the model no longer."""
        if self._phase is ChatPhase.LOADING:
            self._set_phase(ChatPhase.IDLE)
            self.ended.emit(turn)

    def _on_started(self, event: Started) -> None:
        if (mine := self._mine(event.job)) is not None:
            mine[1].n_prompt_tokens = event.n_prompt_tokens
            self.reading.emit(mine[0])

    def _on_rounds(self, job: int, events: tuple[RoundDone, ...]) -> None:
        if (mine := self._mine(job)) is not None:
            rounds = [event.round for event in events]
            mine[1].lane.add(rounds)
            if mine[1].lane.metrics.n_tokens:
                self._set_phase(ChatPhase.ANSWERING)
            self.advanced.emit(rounds)

    def _on_lane_finished(self, event: LaneFinished) -> None:
        if (mine := self._mine(event.job)) is not None:
            mine[1].lane.finish(event.reason, event.tail)

    def _on_finished(self, event: Finished) -> None:
        if (mine := self._mine(event.job)) is not None:
            self._end(*mine)

    def _on_failed(self, event: Failed) -> None:
        if (mine := self._mine(event.job)) is not None:
            self._fail(*mine, trouble_of(event))

    def _on_worker_lost(self, event: WorkerLost) -> None:
        if (mine := self._mine(event.job)) is not None:
            self._fail(*mine, trouble_of(event))

    def _fail(self, turn: Turn, answer: Answer, trouble: Trouble) -> None:
        answer.trouble = None if trouble.is_cancel else trouble
        self._end(turn, answer)
        if not trouble.is_cancel:
            self.troubled.emit(turn, trouble)

    def _end(self, turn: Turn, answer: Answer) -> None:
        answer.ended = True
        self._set_phase(ChatPhase.IDLE)
        self.ended.emit(turn)
