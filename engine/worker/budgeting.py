"""Budgets in the worker: what is asked about bundles, and what is foreseen before one is loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engine.budget.budget import Budget, BudgetQuestion, KvType
from engine.budget.measures import UseByDevice, Way
from engine.budget.reckoning import budget, context_budget
from engine.budget.record import LoadRecord, find_record, record_path
from engine.budget.refusal import refusal
from engine.budget.room import room_of
from engine.llama.devices import list_devices
from engine.llama.library import LlamaLibrary
from engine.llama.measuring import BundleForecast, OpenForecasts
from engine.models.description import Device
from engine.worker.plan import BundlePlan, LoadRequest


def answer_budget(models: OpenForecasts, question: BudgetQuestion) -> Budget:
    """Return the answer to `question`; raises what opening the files and making contexts raises."""
    return budget(question, _measures(models, question), list_devices())


def _measures(models: OpenForecasts, question: BudgetQuestion) -> BundleForecast:
    return BundleForecast(
        models, Path(question.target), question.drafter, question.draft_length, question.n_gpu_layers
    )


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a load is expected to take; `key` is the record's."""

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
    with OpenForecasts(library) as models:
        question = _question(request, plan.n_ctx)
        use = known.predicted if known is not None else _measures(models, question).use(way)
        wanted = context_budget(way, use, room_of(devices), race=False)
        if settings.check_memory and not wanted.fits:
            raise refusal(budget(question, _measures(models, question), devices), wanted)
    return Foreseen(key, plan, use)


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
    what = (library.version, request.target, request.drafter, request.stamps(), settings, names)
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()[:32]
