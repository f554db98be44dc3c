"""Budgets in the worker: what is asked about bundles, and what is foreseen before one is loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engine.budget.budget import Budget, BudgetQuestion, KvType
from engine.budget.estimated import EstimatedFiles, estimated_budget, main_device
from engine.budget.held import given_back
from engine.budget.measures import UseByDevice, Way
from engine.budget.reckoning import budget, context_budget
from engine.budget.record import LoadRecord, find_record, record_path
from engine.budget.refusal import refusal
from engine.budget.room import room_of
from engine.errors import Cancelled, MemoryNotTold, UnknownArchitecture
from engine.llama.devices import list_devices
from engine.llama.layer_split import layer_split
from engine.llama.library import LlamaLibrary
from engine.llama.measuring import BundleForecast, OpenForecasts
from engine.models.description import Device
from engine.models.gguf_header import GgufHeader, read_header
from engine.models.parts import join_parts, read_parts
from engine.version import slipstream_version
from engine.worker.pairs import require_pair
from engine.worker.plan import BundlePlan, LoadRequest


def answer_budget(
    models: OpenForecasts, question: BudgetQuestion, is_cancelled: Callable[[], bool] = lambda: False
) -> Budget:
    """Return the answer to `question`.

    Raises Cancelled, FileGone, NotAModelFile, WrongKindOfFile, PairUnfit where the drafter is not for this target, and
    what opening the models raises. What this llama.cpp does not know or tell is estimated from the header.
    """
    _go_on_unless(is_cancelled)
    devices = given_back(list_devices(), question.held)
    try:
        require_pair(question.target, question.drafter)
        return _budget(models, question, devices, is_cancelled)
    except UnknownArchitecture:
        return estimated_budget(question, _estimated(question, devices), devices)


def _budget(
    models: OpenForecasts,
    question: BudgetQuestion,
    devices: Sequence[Device],
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Budget:
    try:
        return budget(question, _Stoppable(_measures(models, question, devices), is_cancelled), devices)
    except MemoryNotTold:
        return estimated_budget(question, _estimated(question, devices), devices)


@dataclass(frozen=True, slots=True)
class _Stoppable:
    """Measures that end with Cancelled between two contexts when the person has had enough."""

    measures: BundleForecast
    is_cancelled: Callable[[], bool]

    @property
    def n_ctx_train(self) -> int:
        return self.measures.n_ctx_train

    @property
    def n_layers(self) -> int:
        return self.measures.n_layers

    def use(self, way: Way) -> UseByDevice:
        _go_on_unless(self.is_cancelled)
        return self.measures.use(way)


def _go_on_unless(is_cancelled: Callable[[], bool]) -> None:
    if is_cancelled():
        raise Cancelled("The budget was stopped.")


def _estimated(question: BudgetQuestion, devices: Sequence[Device]) -> EstimatedFiles:
    drafter = _whole_header(question.drafter.path) if question.drafter.path else None
    device = main_device(devices, question.n_gpu_layers)
    n_rs_seq = question.rollback_tokens if question.drafter.kind.rolls_back else 0
    return EstimatedFiles(_whole_header(question.target), drafter, device, n_rs_seq)


def _whole_header(path: str) -> GgufHeader:
    return join_parts(read_parts(Path(path), read_header(Path(path))))


def _measures(models: OpenForecasts, question: BudgetQuestion, devices: Sequence[Device]) -> BundleForecast:
    """Return what llama.cpp says, with the layers on several GPUs as they lie where so much of `devices` is free."""
    return BundleForecast(
        models,
        Path(question.target),
        question.drafter,
        question.rollback_tokens,
        question.n_gpu_layers,
        layer_split(devices),
    )


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a load is expected to take; `key` is the record's. `use` is {} where nobody asked."""

    key: str
    plan: BundlePlan
    use: UseByDevice

    def record(self) -> LoadRecord:
        segments = {device: dict(of_device) for device, of_device in self.use.items()}
        request = self.plan.request
        return LoadRecord(self.key, request.target, self.plan.n_ctx, request.settings.kv_type, segments)


def foresee(library: LlamaLibrary, plan: BundlePlan, devices: Sequence[Device]) -> Foreseen:
    """Return what loading as in `plan` takes.

    It is read from the record where the same was loaded before, which saves opening the models twice. Raises
    ContextTooLarge or LoadFailed, with what would fit, unless memory is not to be checked; and what opening the
    models raises.
    """
    request = plan.request
    settings = request.settings
    key = _key(library, request, plan.n_ctx, devices)
    way = Way(plan.n_ctx, settings.kv_type, settings.n_gpu_layers)
    known = find_record(record_path(), key)
    if not settings.check_memory:
        # Whoever loads anyway does not want to be kept from it, by a forecast that fails neither.
        return Foreseen(key, plan, known.predicted if known is not None else {})
    with OpenForecasts(library) as models:
        question = _question(request, plan.n_ctx)
        use = known.predicted if known is not None else _use(models, question, way, devices)
        wanted = context_budget(way, use, room_of(devices), race=False)
        if not wanted.fits:
            raise refusal(_budget(models, question, devices), wanted)
    return Foreseen(key, plan, use)


def _use(models: OpenForecasts, question: BudgetQuestion, way: Way, devices: Sequence[Device]) -> UseByDevice:
    try:
        return _measures(models, question, devices).use(way)
    except MemoryNotTold:
        return _estimated(question, devices).use(way)


def _question(request: LoadRequest, n_ctx: int) -> BudgetQuestion:
    """Return the question whose answer knows what would fit instead."""
    kv_type = request.settings.kv_type
    return BudgetQuestion(
        request.target,
        request.drafter,
        contexts=(n_ctx,),
        kv_types=(kv_type, *(other for other in KvType if other is not kv_type)),
        n_gpu_layers=request.settings.n_gpu_layers,
    )


def _key(library: LlamaLibrary, request: LoadRequest, n_ctx: int, devices: Sequence[Device]) -> str:
    settings = msgspec.structs.replace(request.settings, n_ctx=n_ctx, n_threads=0, check_memory=True)
    names = [(device.name, device.memory_total_bytes) for device in devices]
    what = (
        slipstream_version(),
        library.version,
        request.target,
        request.drafter,
        request.stamps(),
        settings,
        names,
    )
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()[:32]
