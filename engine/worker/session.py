"""What the worker holds and does: llama.cpp, one loaded bundle, and each kind of job."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable

import msgspec

from engine.budget.record import keep_record, record_path
from engine.errors import Cancelled, PreconditionFailed
from engine.llama.cancel import CancelFlag
from engine.llama.capabilities import drafter_capabilities
from engine.llama.devices import list_devices
from engine.llama.library import LlamaLibrary, start_llama
from engine.llama.measuring import OpenForecasts
from engine.speculation.settings import GenerationSettings, check_generation
from engine.worker.activity import Activity
from engine.worker.answers import answer, compare
from engine.worker.budgeting import answer_budget
from engine.worker.inbox import Job
from engine.worker.loading import LoadedBundle, OnProgress, open_bundle
from engine.worker.measuring import measure_computer
from engine.worker.messages import (
    BudgetMeasured,
    DevicesListed,
    DevicesMeasured,
    Event,
    Finished,
    Generate,
    ListDevices,
    LoadBundle,
    Loaded,
    LoadProgress,
    LogLine,
    MeasureBudget,
    MeasureDevices,
    MeasureDevicesProgress,
    Race,
    Ready,
    Unload,
    Unloaded,
)
from engine.worker.plan import LoadRequest

_PROGRESS_EVERY_S = 1 / 30


class LlamaSession:
    """Does jobs with llama.cpp, one after the other, on the thread that calls `perform`."""

    def __init__(self, library: LlamaLibrary, emit: Callable[[Event], None], activity: Activity) -> None:
        self.cancel = CancelFlag()
        self._library = library
        self._emit = emit
        self._activity = activity
        self._bundle: LoadedBundle | None = None
        self._forecasts = OpenForecasts(library)

    def ready(self) -> Ready:
        return Ready(os.getpid(), self._library.version, drafter_capabilities())

    def perform(self, job: Job) -> None:
        """Do `job`; raises SlipstreamError where it fails. A failed load leaves nothing loaded."""
        with self._activity.step():
            match job:
                case LoadBundle():
                    self._load(job)
                case Unload():
                    self.close()
                    self._emit(Unloaded(job.job))
                case Generate():
                    self._generate(job)
                case Race():
                    self._race(job)
                case ListDevices():
                    self._list_devices(job)
                case MeasureBudget():
                    found = answer_budget(self._forecasts, job.question, lambda: self.cancel.is_set)
                    self._emit(BudgetMeasured(job.job, found))
                case MeasureDevices():
                    self._measure_devices(job)

    def close(self) -> None:
        """Unload what is loaded."""
        bundle, self._bundle = self._bundle, None
        if bundle is not None:
            bundle.close()

    def _load(self, job: LoadBundle) -> None:
        if self.cancel.is_set:
            raise Cancelled("Loading was stopped.")
        request = LoadRequest(job.target, job.drafter, job.settings)
        if self._bundle is None or (self._bundle.request, self._bundle.stamps) != (request, request.stamps()):
            self.close()
            self._bundle = open_bundle(self._library, request, self.cancel, self._progress(job.job))
            self._keep_record(self._bundle)
        self._emit(self._loaded(job.job, self._bundle))

    def _keep_record(self, bundle: LoadedBundle) -> None:
        if not bundle.foreseen.use:
            return
        record = bundle.foreseen.record()
        measured = msgspec.structs.replace(
            record, measured_bytes=bundle.measured_bytes(), grown_bytes=bundle.grown_bytes
        )
        keep_record(record_path(), measured)

    def _progress(self, job: int) -> OnProgress:
        return self._telling(lambda what, fraction: self._emit(LoadProgress(job, what, fraction)))

    def _telling(self, emit: OnProgress) -> OnProgress:
        """Return what passes progress on to `emit`, not more often than anybody can see."""
        told_at_s = 0.0

        def tell(what: str, fraction: float) -> None:
            nonlocal told_at_s
            self._activity.restart()
            now_s = time.monotonic()
            if fraction >= 1.0 or now_s - told_at_s >= _PROGRESS_EVERY_S:
                told_at_s = now_s
                emit(what, fraction)

        return tell

    def _loaded(self, job: int, bundle: LoadedBundle) -> Loaded:
        drafter = bundle.drafter_model
        return Loaded(
            job,
            target=bundle.target.describe(),
            drafter=drafter.describe() if drafter is not None else None,
            n_ctx=bundle.context.n_ctx,
            n_threads=bundle.context_settings.n_threads,
            flash_attention=bundle.context.uses_flash_attention,
            devices=list_devices(),
            memory_bytes=bundle.memory_bytes(),
            load_s=bundle.load_s,
            predicted_bytes=bundle.predicted_bytes(),
            grown_bytes=bundle.grown_bytes,
        )

    def _generate(self, job: Generate) -> None:
        bundle = self._require_bundle()
        tokens = bundle.tokenizer.tokens(job.prompt)
        settings = _complete(job.settings, bundle.tokenizer.stop(job.prompt))
        answer(
            bundle,
            job.job,
            tokens,
            settings,
            speculative=job.speculative,
            fresh=job.fresh,
            emit=self._emit_step,
        )
        self._finish(Finished(job.job), bundle)

    def _race(self, job: Race) -> None:
        bundle = self._require_bundle()
        tokens = bundle.tokenizer.tokens(job.prompt)
        settings = _complete(job.settings, bundle.tokenizer.stop(job.prompt))
        parting = compare(bundle, job.job, tokens, settings, emit=self._emit_step)
        self._finish(Finished(job.job, parting), bundle)

    def _finish(self, end: Finished, bundle: LoadedBundle) -> None:
        """Tell that it is done; nobody waits for the file of what was learned in it."""
        self._emit(end)
        bundle.experience().keep()

    def _list_devices(self, job: ListDevices) -> None:
        library = self._library
        capabilities = drafter_capabilities()
        self._emit(DevicesListed(job.job, list_devices(), library.version, library.system_info, capabilities))

    def _measure_devices(self, job: MeasureDevices) -> None:
        tell = self._telling(lambda what, done: self._emit(MeasureDevicesProgress(job.job, what, done)))
        speed = measure_computer(self._library, self.cancel, tell)
        self._emit(DevicesMeasured(job.job, speed))

    def _emit_step(self, event: Event) -> None:
        self._activity.restart()
        self._emit(event)

    def _require_bundle(self) -> LoadedBundle:
        if self._bundle is None:
            raise PreconditionFailed("No model is loaded.", remedy="Choose a model.")
        return self._bundle


def open_session(emit: Callable[[Event], None], activity: Activity) -> LlamaSession:
    """Start llama.cpp and return a session that has nothing loaded."""
    library = start_llama(lambda level, text: emit(LogLine(level, text)))
    return LlamaSession(library, emit, activity)


def _complete(settings: GenerationSettings, template_stops: tuple[str, ...]) -> GenerationSettings:
    """Return `settings`, checked, with the stop texts of the template too.

    A seed is drawn where none was given, so that every lane uses the same.
    """
    check_generation(settings)
    sampling = settings.sampling
    if sampling.seed is None:
        sampling = msgspec.structs.replace(sampling, seed=secrets.randbelow(2**31))
    return msgspec.structs.replace(settings, sampling=sampling, stop=(*settings.stop, *template_stops))
