"""Which bundle is chosen, which one is loaded, and how far loading is: shared by the pages, which load
through it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from enum import StrEnum

import msgspec
from PySide6.QtCore import QObject, Signal

from app.bridge import EngineBridge
from app.trouble import Trouble, trouble_of
from engine.budget.budget import KvType
from engine.models.bundle import Bundle, DrafterKind
from engine.service import EngineService, Reloading, WorkerLost, WorkerSilent
from engine.worker.messages import Failed, Loaded, LoadProgress, LoadSettings, Ready

MEASUREMENT = "measurement"
"""What the Tune page is called while it uses what is loaded: nothing else may run beside it."""


class ModelPhase(StrEnum):
    EMPTY = "empty"
    LOADING = "loading"
    LOADED = "loaded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ModelState:
    """`fraction` 0 to 1 of loading `what`; `loaded` is set in LOADED, `trouble` in FAILED. `settings`: how."""

    phase: ModelPhase = ModelPhase.EMPTY
    bundle: Bundle | None = None
    what: str = "target"
    fraction: float = 0.0
    loaded: Loaded | None = None
    trouble: Trouble | None = None
    settings: LoadSettings = field(default_factory=LoadSettings)


class EngineSession(QObject):
    """The chosen and the loaded bundle.

    Signals:
        choice_changed(Bundle): another bundle is chosen; nothing is loaded yet.
        n_ctx_changed(int): another context is chosen, in tokens; nothing is loaded yet.
        kv_type_changed(KvType): another precision of the cache is chosen; nothing is loaded yet.
        state_changed(ModelState): loading began, went on, ended or failed.
        reload_failed(Trouble): after its process was lost, the bundle could not be loaded again.
        silence_changed(float): the models' process has not answered for so many seconds; 0: it answers.
        stop_asked: whoever uses what is loaded is to stop.
        running_changed(str): what uses it now, in a word; "" for nothing.
        unloaded: what was asked to be given back is gone.
        drafters_known: the engine has said what it can draft with.
    """

    choice_changed = Signal(object)
    n_ctx_changed = Signal(int)
    kv_type_changed = Signal(object)
    state_changed = Signal(object)
    silence_changed = Signal(float)
    reload_failed = Signal(object)
    stop_asked = Signal()
    running_changed = Signal(str)
    unloaded = Signal()
    drafters_known = Signal()

    def __init__(self, service: EngineService, bridge: EngineBridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.service = service
        self.bridge = bridge
        self._choice: Bundle | None = None
        self._n_ctx = 0
        self._kv_type = KvType.F16
        self._state = ModelState()
        self._job = 0
        self._is_reload = False
        self._before = ModelState()
        self._left_off = self._unload_job = 0
        self._running: dict[str, None] = {}
        self._news: deque[ModelState] = deque()
        self._ready: Ready | None = None
        bridge.ready.connect(self._on_ready)
        bridge.load_progressed.connect(self._on_progress)
        bridge.loaded.connect(self._on_loaded)
        bridge.failed.connect(self._on_failed)
        bridge.unloaded.connect(lambda event: self._on_unloaded(event.job))
        bridge.worker_lost.connect(self._on_worker_lost)
        bridge.reloading.connect(self._on_reloading)
        bridge.worker_silent.connect(self._on_silent)
        bridge.worker_answers.connect(lambda _: self.silence_changed.emit(0.0))

    @property
    def llama_cpp_version(self) -> str:
        """Return the version of the models' process, "" before it has started."""
        return self._ready.llama_cpp_version if self._ready is not None else ""

    def why_not(self, kind: DrafterKind) -> str:
        """Return why this build cannot draft in this way, "" where it can or has not said."""
        known = self._ready.drafters if self._ready is not None else ()
        return next((one.reason for one in known if one.kind is kind), "")

    @property
    def choice(self) -> Bundle | None:
        return self._choice

    @property
    def n_ctx(self) -> int:
        """Return the chosen context in tokens; 0: what the model was made for, within reason."""
        return self._n_ctx

    @property
    def kv_type(self) -> KvType:
        """Return how precisely the cache of the next load keeps what was said."""
        return self._kv_type

    @property
    def state(self) -> ModelState:
        return self._state

    @property
    def can_cancel(self) -> bool:
        """Whether something loads that can be cancelled; after a lost process it takes a moment to begin."""
        return self._state.phase is ModelPhase.LOADING and self._job != 0

    @property
    def running(self) -> str:
        """Return what uses the loaded bundle now: "comparison", "answer" or MEASUREMENT, "" for nothing."""
        return next(iter(self._running), "")

    def set_running(self, what: str, is_running: bool) -> None:
        """Note that `what`, a word for the person, begins or ends to use what is loaded."""
        before = self.running
        if is_running:
            self._running[what] = None
        else:
            self._running.pop(what, None)
        if self.running != before:
            self.running_changed.emit(self.running)

    def stop_running(self) -> None:
        """Stop what uses the loaded bundle; what has come of it so far stays."""
        if self._running:
            self.stop_asked.emit()

    @property
    def is_choice_loaded(self) -> bool:
        is_loaded = self._state.phase is ModelPhase.LOADED and self._same_files(self._state.bundle)
        settings = self._state.settings
        return is_loaded and (settings.n_ctx, settings.kv_type) == (self._n_ctx, self._kv_type)

    def choose(self, bundle: Bundle) -> None:
        """Choose `bundle` for the next run."""
        if bundle != self._choice:
            self._choice = bundle
            self.choice_changed.emit(bundle)

    def choose_n_ctx(self, n_ctx: int) -> None:
        """Choose a context of `n_ctx` tokens for the next run."""
        if n_ctx != self._n_ctx:
            self._n_ctx = n_ctx
            self.n_ctx_changed.emit(n_ctx)

    def choose_kv_type(self, kv_type: KvType) -> None:
        """Choose how precisely the cache keeps what was said, for the next run."""
        if kv_type is not self._kv_type:
            self._kv_type = kv_type
            self.kv_type_changed.emit(kv_type)

    def load_choice(self, *, check_memory: bool = True) -> None:
        """Load the chosen bundle in place of what is loaded; `state_changed` tells how it goes."""
        if self._choice is None:
            return
        settings = LoadSettings(n_ctx=self._n_ctx, check_memory=check_memory, kv_type=self._kv_type)
        anyway = msgspec.structs.replace(settings, check_memory=False)
        if self.can_cancel:
            if self._same_files(self._state.bundle) and self._state.settings in (settings, anyway):
                return
            self.service.cancel(self._job)
        elif self._state.phase is ModelPhase.LOADED:
            self._before = self._state
        else:
            self._before = ModelState()
        self._job, self._is_reload = self.service.load(self._choice, settings), False
        self._set(ModelState(ModelPhase.LOADING, self._choice, settings=settings))

    def cancel_loading(self) -> None:
        """Stop loading: nothing is loaded from now on, even where llama.cpp takes a moment to notice.

        A load that still waits for an answer or a comparison to end has changed nothing yet.
        """
        if self.can_cancel:
            self.service.cancel(self._job)
            self._left_off, self._job = self._job, 0
            self._set(self._before if self._running else ModelState())

    def unload(self) -> None:
        """Give back what is loaded or loading, and stop what uses it; `unloaded` follows."""
        self.stop_running()
        if self.can_cancel:
            self.service.cancel(self._job)
            self._job = 0
        self._unload_job = self.service.unload()

    def _on_ready(self, event: Ready) -> None:
        self._ready = event
        self.drafters_known.emit()

    def _on_unloaded(self, job: int) -> None:
        if job == self._unload_job:
            self._unload_job = 0
            self._set(ModelState())
            self.unloaded.emit()

    def _same_files(self, bundle: Bundle | None) -> bool:
        """Whether `bundle` loads what the choice would: its name does not matter."""
        choice = self._choice
        if choice is None or bundle is None:
            return False
        return (choice.target, choice.drafter) == (bundle.target, bundle.drafter)

    def _set(self, state: ModelState) -> None:
        """Change to `state` and tell it; a listener that changes it again is told after the others."""
        if state == self._state:
            return
        self._state = state
        self._news.append(state)
        if len(self._news) > 1:
            return
        while self._news:
            self.state_changed.emit(self._news[0])
            self._news.popleft()

    def _on_progress(self, event: LoadProgress) -> None:
        if self._is_mine(event.job):
            self._set(replace(self._state, what=event.what, fraction=event.fraction))
        elif event.job == self._left_off and self._state.phase is ModelPhase.LOADED:
            # It had begun after all, which unloads first.
            self._set(ModelState())

    def _on_loaded(self, event: Loaded) -> None:
        if not self._is_mine(event.job):
            return
        self._job = 0
        self._set(replace(self._state, phase=ModelPhase.LOADED, loaded=event, fraction=1.0, trouble=None))

    def _on_failed(self, event: Failed) -> None:
        if self._unload_job:
            self._on_unloaded(event.job)
        if not self._is_mine(event.job):
            return
        self._job = 0
        trouble = trouble_of(event)
        if self._is_reload and not trouble.is_cancel:
            self.reload_failed.emit(trouble)
        if trouble.is_cancel:
            self._set(ModelState())
        else:
            self._set(replace(self._state, phase=ModelPhase.FAILED, trouble=trouble))

    def _is_mine(self, job: int) -> bool:
        """Whether `job` is the load that is waited for."""
        return self.can_cancel and job == self._job

    def _on_worker_lost(self, _event: WorkerLost) -> None:
        """What was loaded will be loaded again by the engine, which says when. The new process is not the one
        that was silent.
        """
        self.silence_changed.emit(0.0)
        if self._state.phase is ModelPhase.LOADED:
            self._set(replace(self._state, phase=ModelPhase.LOADING, loaded=None, fraction=0.0))

    def _on_reloading(self, event: Reloading) -> None:
        """Follow the engine's own load, unless one was asked for meanwhile."""
        if self._state.bundle is not None and not self.can_cancel:
            self._job, self._is_reload = event.job, True
            loading = replace(self._state, phase=ModelPhase.LOADING, loaded=None, fraction=0.0, trouble=None)
            self._set(loading)

    def _on_silent(self, event: WorkerSilent) -> None:
        self.silence_changed.emit(event.silent_s)
