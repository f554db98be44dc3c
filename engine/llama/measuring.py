"""What llama.cpp says that a bundle would take: the target, its drafter and a context for each."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from engine.budget.budget import Segment
from engine.budget.measures import UseByDevice, Way
from engine.budget.shape import vocabulary_bytes
from engine.llama.breakdown import HOST
from engine.llama.context_settings import ContextSettings
from engine.llama.drafter_contexts import drafter_settings, n_tapped_layers, target_settings
from engine.llama.forecast import ForecastContext, ModelForecast
from engine.llama.layer_split import LayerSplit
from engine.llama.library import LlamaLibrary
from engine.models.architectures import GIVES_WANTED_STATES
from engine.models.bundle import DrafterChoice, DrafterKind

MAX_MEASURED_CTX: Final = 1 << 20
"""llama.cpp keeps about 60 bytes for each cell even of a cache that it does not allocate."""
N_SNAPSHOTS: Final = 2
"""Running states that engine.llama.snapshots sets aside in main memory: two of the target, one of a draft model, which
is never asked for the rows of a draft.
"""
_FLOAT_BYTES: Final = 4
_MAX_OPEN: Final = 4
# How many threads compute changes no buffer.
_N_THREADS: Final = 1
_Bytes = dict[str, dict[Segment, int]]


class OpenForecasts:
    """Models opened without weights; those that were asked for last stay open, unless their file changes."""

    def __init__(self, library: LlamaLibrary) -> None:
        self._library = library
        self._models: OrderedDict[tuple[object, ...], ModelForecast] = OrderedDict()

    def model(
        self, path: Path, n_gpu_layers: int, *, with_mtp: bool = False, split: LayerSplit = ()
    ) -> ModelForecast:
        """Return the model at `path`, opened in this way; raises what ModelForecast.open raises."""
        try:
            status = path.stat()
            stamp = (status.st_size, status.st_mtime_ns)
        except OSError:
            stamp = (0, 0)
        split = split if n_gpu_layers else ()
        key = (str(path), stamp, n_gpu_layers, with_mtp, split)
        model = self._models.pop(key, None)
        if model is None:
            model = ModelForecast.open(self._library, path, n_gpu_layers, with_mtp=with_mtp, split=split)
        self._models[key] = model
        while len(self._models) > _MAX_OPEN:
            self._models.popitem(last=False)[1].close()
        return model

    def close(self) -> None:
        while self._models:
            self._models.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Opened:
    """Both models of a bundle; `drafter` is the target itself for an MTP head inside it, whose weights it has."""

    target: ModelForecast
    drafter: ModelForecast | None


class BundleForecast:
    """Measures (engine/budget/measures.py) of one bundle, with models out of `models`."""

    def __init__(
        self,
        models: OpenForecasts,
        target: Path,
        drafter: DrafterChoice,
        rollback_tokens: int,
        n_gpu_layers: int,
        split: LayerSplit = (),
    ) -> None:
        """Open the target with `n_gpu_layers`, the way that is asked for first, and with `split` in every way."""
        self._models = models
        self._path = target
        self._choice = drafter
        self._rollback_tokens = rollback_tokens
        self._split = split
        opened = self._open(drafter.kind, n_gpu_layers).target
        self.n_ctx_train = opened.n_ctx_train
        self.n_layers = opened.n_layers

    def use(self, way: Way) -> UseByDevice:
        """See Measures. Beyond MAX_MEASURED_CTX it goes on in a straight line."""
        if way.n_ctx <= MAX_MEASURED_CTX:
            return self._measure(way, way.n_ctx)
        half, most = (self._measure(way, n_ctx) for n_ctx in (MAX_MEASURED_CTX // 2, MAX_MEASURED_CTX))
        steps = (way.n_ctx - MAX_MEASURED_CTX) / (MAX_MEASURED_CTX // 2)
        return {
            device: {
                segment: n_bytes + round(steps * (n_bytes - half[device][segment]))
                for segment, n_bytes in segments.items()
            }
            for device, segments in most.items()
        }

    def state_bytes(self, way: Way) -> dict[str, int]:
        """Return by device what llama.cpp itself keeps of running states: the STATE segment."""
        kind = self._choice.kind if way.with_drafter else DrafterKind.NONE
        plain = ContextSettings(way.n_ctx, _N_THREADS, kv_type=way.kv_type)
        settings = target_settings(plain, kind, self._rollback_tokens)
        return self._open(kind, way.n_gpu_layers).target.state_bytes(settings)

    # ------------------------------------------------------------------------------------------- one context

    def _measure(self, way: Way, n_ctx: int) -> _Bytes:
        kind = self._choice.kind if way.with_drafter else DrafterKind.NONE
        opened = self._open(kind, way.n_gpu_layers)
        plain = ContextSettings(n_ctx, _N_THREADS, kv_type=way.kv_type)
        settings = target_settings(plain, kind, self._rollback_tokens)
        taken: _Bytes = {}
        with opened.target.context(settings, n_ctx) as target:
            for device, n_bytes in opened.target.weights(target).items():
                _add(taken, device, Segment.WEIGHTS, n_bytes)
            self._add_target(taken, opened, target, settings, kind)
            _add_race(taken, opened.target, target, settings)
            if opened.drafter is not None:
                own = drafter_settings(settings, kind, opened.drafter.n_ctx_train)
                is_mtp = kind is DrafterKind.MTP
                with opened.drafter.context(own, own.n_ctx, beside=target, is_mtp=is_mtp) as drafter:
                    self._add_drafter(taken, opened, drafter, own)
        return taken

    def _add_target(
        self,
        taken: _Bytes,
        opened: _Opened,
        context: ForecastContext,
        settings: ContextSettings,
        kind: DrafterKind,
    ) -> None:
        model = opened.target
        _add(taken, HOST, Segment.VOCABULARY, vocabulary_bytes(model.header))
        state = model.state_bytes(settings)
        for device, use in context.memory.items():
            _add(taken, device, Segment.KV, use.kv_bytes - state.get(device, 0))
            _add(taken, device, Segment.STATE, state.get(device, 0))
            _add(taken, device, Segment.COMPUTE, use.compute_bytes)
        one_state_bytes = sum(model.state_bytes(replace(settings, n_rs_seq=0)).values())
        _add(taken, HOST, Segment.SNAPSHOTS, N_SNAPSHOTS * one_state_bytes)
        header = opened.drafter.header if opened.drafter is not None else None
        tapped_bytes = settings.n_batch * model.n_embd * n_tapped_layers(kind, header) * _FLOAT_BYTES
        rows_bytes = settings.max_rows * model.n_vocab * _FLOAT_BYTES
        if kind is DrafterKind.MTP:
            rows_bytes += settings.n_batch * model.n_embd_out * _FLOAT_BYTES
        _add(taken, HOST, Segment.OUTPUT, rows_bytes + tapped_bytes)
        # Inputs of layers that are read out keep their place in the compute buffer as well, at most so much.
        computes_most = max(context.memory, key=lambda device: context.memory[device].compute_bytes)
        _add(taken, computes_most, Segment.OUTPUT, tapped_bytes)

    def _add_drafter(
        self, taken: _Bytes, opened: _Opened, context: ForecastContext, settings: ContextSettings
    ) -> None:
        model = opened.drafter
        assert model is not None
        if self._choice.path:
            _add(taken, HOST, Segment.VOCABULARY, vocabulary_bytes(model.header))
            for device, n_bytes in model.weights(context).items():
                _add(taken, device, Segment.DRAFTER_WEIGHTS, n_bytes)
        for device, use in context.memory.items():
            _add(taken, device, Segment.DRAFTER_KV, use.kv_bytes)
            _add(taken, device, Segment.DRAFTER_COMPUTE, use.compute_bytes)
        if self._choice.kind is DrafterKind.MODEL:
            _add(taken, HOST, Segment.SNAPSHOTS, sum(model.state_bytes(settings).values()))
        floats = settings.max_rows * model.n_vocab
        if self._choice.kind is not DrafterKind.MODEL:
            gives_all = self._choice.kind is DrafterKind.MTP and (
                model.header.architecture not in GIVES_WANTED_STATES
            )
            floats += (settings.n_batch if gives_all else settings.max_rows) * model.n_embd_out
        _add(taken, HOST, Segment.DRAFTER_OUTPUT, floats * _FLOAT_BYTES)

    def _open(self, kind: DrafterKind, n_gpu_layers: int) -> _Opened:
        is_mtp = kind is DrafterKind.MTP
        has_head_inside = is_mtp and not self._choice.path
        target = self._models.model(self._path, n_gpu_layers, with_mtp=has_head_inside, split=self._split)
        if has_head_inside:
            return _Opened(target, target)
        if not kind.has_weights:
            return _Opened(target, None)
        path = Path(self._choice.path)
        return _Opened(target, self._models.model(path, n_gpu_layers, with_mtp=is_mtp, split=self._split))


def _add_race(
    taken: _Bytes, model: ModelForecast, context: ForecastContext, settings: ContextSettings
) -> None:
    """Add what the second context of a race takes beside `context`: it never drafts, so that it has nothing to roll
    back and nothing is read out of it.
    """
    memory = context.memory
    if model.has_state and settings.n_rs_seq:
        with model.context(replace(settings, n_rs_seq=0), settings.n_ctx) as plain:
            memory = plain.memory
    for device, use in memory.items():
        _add(taken, device, Segment.RACE, use.kv_bytes + use.compute_bytes)
    _add(taken, HOST, Segment.RACE, settings.max_rows * model.n_vocab * _FLOAT_BYTES)


def _add(taken: _Bytes, device: str, segment: Segment, n_bytes: int) -> None:
    if n_bytes:
        segments = taken.setdefault(device, {})
        segments[segment] = segments.get(segment, 0) + n_bytes
