"""What is said of a bundle with any kind of drafter is what a real load allocates, and the header alone says it too."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_cpp import llama_cpp as api

from engine.budget.budget import KvType, Segment
from engine.budget.measures import Way
from engine.budget.reckoning import raced_bytes
from engine.llama.breakdown import HOST
from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings
from engine.llama.library import LlamaLibrary, find_symbol
from engine.llama.measuring import MAX_MEASURED_CTX, BundleForecast, OpenForecasts
from engine.llama.memory import allocated
from engine.llama.model import Model
from engine.models.bundle import NO_DRAFTER, DrafterChoice, DrafterKind
from engine.models.gguf_header import read_header
from tests.engine.llama.real_bundle import real_bundle

DRAFT_LENGTH = 3
BUNDLES = [
    ("llama", DrafterKind.MODEL, "llama-draft"),
    ("llama", DrafterKind.EAGLE3, "llama-eagle3"),
    ("llama", DrafterKind.EAGLE3, "llama-eagle3-d2t"),
    ("llama", DrafterKind.DFLASH, "llama-dflash"),
    ("llama", DrafterKind.DSPARK, "llama-dspark"),
    ("qwen35", DrafterKind.MTP, ""),
    ("qwen35-nomtp", DrafterKind.MTP, "mtp-qwen35"),
    ("qwen35", DrafterKind.EAGLE3, "qwen35-eagle3"),
    ("qwen35", DrafterKind.DFLASH, "qwen35-dflash"),
    ("step35", DrafterKind.MTP, ""),
    ("gemma4", DrafterKind.MTP, "mtp-gemma4"),
]


@pytest.fixture
def models(llama: LlamaLibrary) -> Iterator[OpenForecasts]:
    with OpenForecasts(llama) as opened:
        yield opened


def choice(folder: Path, kind: DrafterKind, name: str) -> DrafterChoice:
    return DrafterChoice(kind, str(folder / f"{name}.gguf") if name else "")


@pytest.mark.parametrize(("target", "kind", "drafter"), BUNDLES)
def test_a_bundle_takes_what_was_said(
    models: OpenForecasts, tiny_models: Path, target: str, kind: DrafterKind, drafter: str
) -> None:
    path = tiny_models / f"{target}.gguf"
    chosen = choice(tiny_models, kind, drafter)
    forecast = BundleForecast(models, path, chosen, DRAFT_LENGTH, -1)
    for kv_type in KvType:
        for n_ctx in (256, 1024, 2048, 3000, 4096):
            said = forecast.use(Way(n_ctx, kv_type))[HOST]
            plain = ContextSettings(n_ctx, n_threads=1, kv_type=kv_type)
            with real_bundle(path, chosen, plain, DRAFT_LENGTH) as real:
                state_bytes = sum(forecast.state_bytes(Way(n_ctx, kv_type)).values())
                assert said[Segment.KV] + state_bytes == real.target.kv_bytes
                assert said[Segment.COMPUTE] == real.target.compute_bytes
                assert said.get(Segment.DRAFTER_KV, 0) == real.drafter.kv_bytes
                assert said[Segment.DRAFTER_COMPUTE] == real.drafter.compute_bytes
                if drafter:
                    weights_bytes = said[Segment.DRAFTER_WEIGHTS]
                    assert weights_bytes == pytest.approx(real.drafter.weights_bytes, rel=0.001)


@pytest.mark.parametrize(
    ("target", "kind", "drafter"),
    [
        ("llama", DrafterKind.EAGLE3, "llama-eagle3"),
        ("qwen35", DrafterKind.MTP, ""),
        ("moe", DrafterKind.NONE, ""),
    ],
)
def test_the_header_alone_says_the_same(
    models: OpenForecasts,
    tiny_models: Path,
    written_models: Path,
    tmp_path: Path,
    target: str,
    kind: DrafterKind,
    drafter: str,
) -> None:
    folder = tiny_models if (tiny_models / f"{target}.gguf").exists() else written_models
    for name in filter(None, (target, drafter)):
        source = folder / f"{name}.gguf"
        header_only = tmp_path / source.name
        header_only.write_bytes(source.read_bytes()[: read_header(source).data_offset])
        os.truncate(header_only, source.stat().st_size)

    def said(where: Path) -> object:
        path = where / f"{target}.gguf"
        forecast = BundleForecast(models, path, choice(where, kind, drafter), DRAFT_LENGTH, -1)
        return [forecast.use(Way(n_ctx, kv_type)) for n_ctx in (512, 4096) for kv_type in KvType]

    assert said(tmp_path) == said(folder)


@pytest.mark.parametrize("name", ["llama", "starter"])
def test_inputs_of_layers_that_are_read_out_add_no_more_than_was_counted(
    llama: LlamaLibrary, tiny_models: Path, starter_model: Path, name: str
) -> None:
    """llama.cpp reserves for them only with the first pass, so that the forecast cannot see it."""
    tap = find_symbol(
        "_Z30llama_set_embeddings_layer_inpP13llama_contextjb",
        None,
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_bool,
    )
    if tap is None:
        pytest.skip("this build does not export llama.cpp's own functions")
    path = starter_model if name == "starter" else tiny_models / f"{name}.gguf"
    layers = (0, 1, 2)
    with Model.open(llama, path, n_gpu_layers=0) as model:
        settings = ContextSettings(n_ctx=1024, n_threads=1)
        with Context(model, settings) as context:
            before = allocated(context)[HOST].compute_bytes
            for layer in layers:
                tap(context.pointer, layer, True)
            context.extend([5] * context.n_batch, 1)
            grown_bytes = allocated(context)[HOST].compute_bytes - before
        n_embd = int(api.llama_model_n_embd(model.pointer))
    assert 0 < grown_bytes <= len(layers) * settings.n_batch * n_embd * 4


def test_without_its_drafter_a_bundle_takes_what_the_target_takes(
    models: OpenForecasts, tiny_models: Path
) -> None:
    chosen = choice(tiny_models, DrafterKind.MODEL, "llama-draft")
    path = tiny_models / "llama.gguf"
    bundle = BundleForecast(models, path, chosen, DRAFT_LENGTH, -1)
    alone = BundleForecast(models, path, NO_DRAFTER, DRAFT_LENGTH, -1)
    assert bundle.use(Way(1024, with_drafter=False)) == alone.use(Way(1024))
    assert bundle.use(Way(1024)) != alone.use(Way(1024))


def test_a_draft_model_gets_a_context_of_its_own_limit_at_most(
    models: OpenForecasts, tiny_models: Path, starter_model: Path
) -> None:
    chosen = choice(tiny_models, DrafterKind.MODEL, "llama-draft")
    forecast = BundleForecast(models, starter_model, chosen, DRAFT_LENGTH, -1)
    at_limit, beyond = (forecast.use(Way(n_ctx))[HOST] for n_ctx in (4096, 8192))
    assert beyond[Segment.DRAFTER_KV] == at_limit[Segment.DRAFTER_KV]
    assert beyond[Segment.KV] == 2 * at_limit[Segment.KV]


@pytest.mark.timeout(20)
def test_an_absurd_context_is_told_at_once(models: OpenForecasts, tiny_models: Path) -> None:
    """llama.cpp would keep 60 GB of cells for it, although it allocates no cache."""
    forecast = BundleForecast(models, tiny_models / "llama.gguf", NO_DRAFTER, DRAFT_LENGTH, -1)
    per_token = forecast.use(Way(MAX_MEASURED_CTX))[HOST][Segment.KV] // MAX_MEASURED_CTX
    assert forecast.use(Way(10**9))[HOST][Segment.KV] == per_token * 10**9


def test_a_file_that_changes_is_opened_again(
    models: OpenForecasts, tiny_models: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes((tiny_models / "llama.gguf").read_bytes())
    first = models.model(path, 0)
    assert models.model(path, 0) is first
    path.write_bytes((tiny_models / "gemma4.gguf").read_bytes())
    assert models.model(path, 0).header.architecture == "gemma4"


def test_running_states_that_are_set_aside_are_counted_for_the_drafter_too(
    models: OpenForecasts, tiny_models: Path
) -> None:
    path, chosen = tiny_models / "qwen35.gguf", choice(tiny_models, DrafterKind.MODEL, "qwen35")
    alone, with_drafter = (
        BundleForecast(models, path, drafter, DRAFT_LENGTH, -1).use(Way(1024))[HOST]
        for drafter in (NO_DRAFTER, chosen)
    )
    assert alone[Segment.SNAPSHOTS] == 2 * alone[Segment.STATE]
    assert with_drafter[Segment.SNAPSHOTS] == 3 * alone[Segment.STATE]


@pytest.mark.parametrize(
    ("target", "kind", "drafter"),
    [
        ("llama", DrafterKind.EAGLE3, "llama-eagle3"),
        ("qwen35", DrafterKind.MTP, ""),
        ("qwen35", DrafterKind.NGRAM, ""),
    ],
)
def test_the_second_context_of_a_race_has_nothing_to_roll_back_and_nothing_read_out(
    llama: LlamaLibrary,
    models: OpenForecasts,
    tiny_models: Path,
    target: str,
    kind: DrafterKind,
    drafter: str,
) -> None:
    path = tiny_models / f"{target}.gguf"
    said = BundleForecast(models, path, choice(tiny_models, kind, drafter), 8, -1).use(Way(1024))[HOST]
    with Model.open(llama, path) as model, Context(model, ContextSettings(1024, n_threads=1)) as plain:
        assert said[Segment.RACE] == allocated(plain)[HOST].without_weights().total_bytes
    whole = raced_bytes({segment: n for segment, n in said.items() if segment is not Segment.RACE})
    assert said[Segment.RACE] <= raced_bytes(said) < whole
