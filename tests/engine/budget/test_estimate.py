"""Estimates follow llama.cpp's rules: caches and states to the byte, everything within what is promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.budget.budget import KvType, Segment
from engine.budget.estimate import ERROR_FRACTION, estimate_entry, estimate_header
from engine.budget.measures import Way
from engine.budget.shape import shape_of
from engine.errors import KvTypeUnfit
from engine.llama.breakdown import HOST
from engine.llama.library import LlamaLibrary
from engine.llama.measuring import BundleForecast, OpenForecasts
from engine.models.bundle import NO_DRAFTER, ROLLBACK_TOKENS, DrafterKind
from engine.models.catalogue import CatalogueEntry, MemoryFacts, load_catalogue
from engine.models.gguf_header import read_header
from engine.models.remote import RemoteBundle, RemoteFile

MODELS = ["llama", "gemma4", "qwen35", "step35", "gpt-oss", "moe", "mla", "odd-heads", "starter"]
WAYS = [Way(n_ctx, kv_type) for n_ctx in (1000, 2048, 4096, 8192) for kv_type in KvType]
ASKED_ONLY_HERE = (Segment.RESERVE,)
TO_THE_BYTE = (Segment.KV, Segment.STATE, Segment.SNAPSHOTS, Segment.OUTPUT, Segment.VOCABULARY)


@pytest.fixture(scope="module")
def opened(llama: LlamaLibrary) -> Iterator[OpenForecasts]:
    with OpenForecasts(llama) as models:
        yield models


def total_bytes(segments: dict[Segment, int]) -> int:
    return sum(n_bytes for segment, n_bytes in segments.items() if segment not in ASKED_ONLY_HERE)


@pytest.mark.parametrize("name", MODELS)
def test_an_estimate_from_a_header_is_what_llama_cpp_says(
    opened: OpenForecasts, model_named: Callable[[str], Path], name: str
) -> None:
    path = model_named(name)
    exact = BundleForecast(opened, path, NO_DRAFTER, 3, -1)
    header = read_header(path)
    for way in WAYS:
        try:
            said = dict(exact.use(way)[HOST])
        except KvTypeUnfit:
            continue
        del said[Segment.RACE]
        estimated = estimate_header(header, way.n_ctx, way.kv_type)
        for segment in TO_THE_BYTE:
            assert estimated.get(segment, 0) == said.get(segment, 0), (way, segment)
        assert total_bytes(estimated) == pytest.approx(total_bytes(said), rel=ERROR_FRACTION), way


def entry_of(path: Path, kind: DrafterKind = DrafterKind.NGRAM) -> CatalogueEntry:
    """Return the entry that a catalogue would have for the model at `path`."""
    header = read_header(path)
    shape = shape_of(header)
    file = RemoteFile("owner/name", path.name, size_bytes=path.stat().st_size)
    facts = MemoryFacts(
        n_layers=header.number(f"{header.architecture}.block_count"),
        kv_bytes_per_token=2 * shape.kv_numbers_per_token,
        state_bytes=shape.state_bytes,
    )
    bundle = RemoteBundle("a-bundle", "A bundle", (file,), kind)
    n_params = sum(tensor.n_elements for tensor in header.tensors)
    return CatalogueEntry(bundle, "", "", n_params, facts)


@pytest.mark.parametrize("kv_type", KvType)
def test_an_estimate_from_a_catalogue_is_within_its_error(
    opened: OpenForecasts, starter_model: Path, kv_type: KvType
) -> None:
    said = dict(BundleForecast(opened, starter_model, NO_DRAFTER, 3, -1).use(Way(8192, kv_type))[HOST])
    del said[Segment.RACE]
    estimated = estimate_entry(entry_of(starter_model), 8192, kv_type, race=False)
    assert estimated[Segment.KV] == said[Segment.KV]
    # A vocabulary of today's size is assumed, of which this one is a quarter.
    surplus_bytes = sum(
        estimated[segment] - said[segment] for segment in (Segment.OUTPUT, Segment.VOCABULARY)
    )
    assert total_bytes(estimated) - surplus_bytes == pytest.approx(total_bytes(said), rel=ERROR_FRACTION)


def test_a_drafter_that_rolls_back_keeps_more_states(tiny_models: Path) -> None:
    path = tiny_models / "qwen35.gguf"
    plain, mtp = (
        estimate_entry(entry_of(path, kind), 4096, KvType.F16, race=False)
        for kind in (DrafterKind.NONE, DrafterKind.MTP)
    )
    assert mtp[Segment.STATE] == (1 + ROLLBACK_TOKENS) * plain[Segment.STATE]
    assert mtp[Segment.SNAPSHOTS] == plain[Segment.SNAPSHOTS] == 2 * plain[Segment.STATE]
    assert mtp[Segment.DRAFTER_COMPUTE] > 0


@pytest.mark.parametrize("entry", load_catalogue(), ids=lambda entry: entry.bundle.id)
def test_every_entry_has_an_estimate_that_grows_with_the_context(entry: CatalogueEntry) -> None:
    short, long = (
        total_bytes(estimate_entry(entry, n_ctx, KvType.F16, race=False)) for n_ctx in (8192, 65536)
    )
    raced = estimate_entry(entry, 8192, KvType.F16, race=True)
    assert entry.target_bytes < short < long
    grown_bytes = entry.memory.kv_bytes_per_token * (65536 - 8192)
    assert long - short >= grown_bytes
    assert total_bytes(raced) == short + raced[Segment.RACE]
