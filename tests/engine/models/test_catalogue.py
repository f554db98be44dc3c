"""The catalogue that ships: whole, plausible, and without a pair that llama.cpp could not run."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import chain
from typing import Any

import pytest

from engine.errors import DamagedCatalogue
from engine.models.bundle import DrafterKind
from engine.models.catalogue import CatalogueEntry, load_catalogue, parse_catalogue
from engine.models.catalogue_text import catalogue_text
from engine.models.remote import RemoteFile

ENTRIES = load_catalogue()
IDS = [entry.bundle.id for entry in ENTRIES]

# Targets whose hidden states llama.cpp publishes, of those that may come into the catalogue (src/models/*.cpp,
# t_layer_inp), and those with a graph for MTP (LLM_GRAPH_TYPE_DECODER_MTP) or, for gemma4, an assistant.
TAPPED = {"llama", "qwen3", "qwen35", "qwen35moe", "gemma4", "gpt-oss", "muse-glimmer", "lfm2"}
WITH_MTP = {"qwen35", "qwen35moe", "gemma4"}
DEVICE_KINDS = {"gpu", "igpu", "apple", "cpu"}

every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=IDS)


def _all_files() -> list[RemoteFile]:
    return list(chain.from_iterable(entry.bundle.files for entry in ENTRIES))


def test_ids_are_unique_and_serve_as_file_names() -> None:
    assert len(set(IDS)) == len(IDS)
    assert [name for name in IDS if not re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", name)] == []


def test_names_are_unique() -> None:
    names = [entry.bundle.name for entry in ENTRIES]
    assert len(set(names)) == len(names)


def test_there_is_something_for_small_and_for_large_computers() -> None:
    sizes = [entry.target_bytes + entry.drafter_bytes for entry in ENTRIES]
    assert sum(size < 3e9 for size in sizes) >= 4
    assert sum(size > 16e9 for size in sizes) >= 4
    assert sizes == sorted(sizes)


def test_no_field_of_the_file_is_misspelt() -> None:
    raw = json.loads(files("resources").joinpath("catalogue.json").read_bytes())
    read = {entry.bundle.id: entry for entry in ENTRIES}
    for item in raw:
        assert _unknown(item, read[item["bundle"]["id"]]) == []


def _unknown(raw: Any, read: Any) -> list[str]:
    if isinstance(raw, dict):
        return [key for key in raw if not hasattr(read, key)] + [
            name for key in raw if hasattr(read, key) for name in _unknown(raw[key], getattr(read, key))
        ]
    if isinstance(raw, list):
        return [name for one, other in zip(raw, read, strict=True) for name in _unknown(one, other)]
    return []


@pytest.mark.parametrize("file", _all_files(), ids=lambda file: f"{file.repo}/{file.path}")
def test_a_file_is_a_gguf_of_a_repository_and_its_facts_have_the_right_form(file: RemoteFile) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", file.repo)
    assert file.path.endswith(".gguf")
    assert not file.path.startswith("/")
    assert ".." not in file.path
    assert file.revision == "main" or re.fullmatch(r"[0-9a-f]{40}", file.revision)
    assert re.fullmatch(r"([0-9a-f]{64})?", file.sha256)


def test_one_sha256_belongs_to_one_size() -> None:
    sizes: dict[str, set[int]] = {}
    for file in _all_files():
        if file.sha256:
            sizes.setdefault(file.sha256, set()).add(file.size_bytes)
    assert [sha for sha, found in sizes.items() if len(found) > 1] == []


@every_entry
def test_it_says_what_it_is_good_for_and_under_which_licence(entry: CatalogueEntry) -> None:
    assert 10 <= len(entry.good_at) <= 80
    assert len(entry.about) >= 80
    assert entry.about.endswith(".")
    assert entry.bundle.licence
    assert entry.bundle.n_ctx_train >= 8192


@every_entry
def test_its_size_is_plausible_for_its_parameters(entry: CatalogueEntry) -> None:
    bits = entry.target_bytes * 8 / entry.n_params
    assert 2 <= bits <= 17
    assert entry.drafter_bytes < entry.target_bytes / 2
    assert entry.is_size_exact or entry.rough_target_bytes or entry.rough_drafter_bytes
    assert not (entry.rough_target_bytes and all(file.size_bytes for file in entry.bundle.target))
    assert not (entry.rough_drafter_bytes and all(file.size_bytes for file in entry.bundle.drafter))


@every_entry
def test_its_memory_facts_are_plausible(entry: CatalogueEntry) -> None:
    facts = entry.memory
    assert 0 < facts.active_fraction <= 1
    if facts.n_layers:
        assert 8 <= facts.n_layers <= 128
        assert 1024 <= facts.kv_bytes_per_token <= 512 * 1024
    has_state = entry.architecture in ("qwen35", "qwen35moe")
    assert (facts.state_bytes > 0) == has_state


@every_entry
def test_its_drafter_is_of_a_kind_that_this_target_can_run(entry: CatalogueEntry) -> None:
    bundle, kind = entry.bundle, entry.bundle.drafter_kind
    assert entry.architecture
    if kind in (DrafterKind.EAGLE3, DrafterKind.DFLASH, DrafterKind.DSPARK):
        assert entry.architecture in TAPPED
        assert bundle.drafter
    elif kind is DrafterKind.MTP:
        assert entry.architecture in WITH_MTP
        assert bool(bundle.drafter) == (entry.architecture == "gemma4")
    elif kind is DrafterKind.MODEL:
        assert bundle.drafter
    else:
        assert not bundle.drafter
    assert (bundle.draft_length > 0) == kind.has_weights
    assert bundle.draft_length <= 16


@every_entry
def test_its_speedups_have_a_source_and_a_known_kind_of_device(entry: CatalogueEntry) -> None:
    for speedup in entry.speedups:
        assert 0.3 < speedup.low <= speedup.high < 5
        assert speedup.hardware
        assert speedup.source
        assert speedup.device_kind in DEVICE_KINDS


@every_entry
def test_a_verified_entry_is_pinned(entry: CatalogueEntry) -> None:
    assert not entry.is_verified or all(file.is_pinned for file in entry.bundle.files)


def test_an_entry_with_a_hole_is_named() -> None:
    data = json.loads(files("resources").joinpath("catalogue.json").read_bytes())
    del data[2]["n_params"]
    with pytest.raises(DamagedCatalogue, match=data[2]["bundle"]["id"]) as caught:
        parse_catalogue(json.dumps(data).encode())
    assert "n_params" in caught.value.detail


def test_an_entry_without_a_name_is_told_by_its_place() -> None:
    with pytest.raises(DamagedCatalogue, match="Entry 1 "):
        parse_catalogue(b'[{"bundle": 3}]')


@pytest.mark.parametrize("data", [b"", b"{}", b"[1", b"null"])
def test_what_is_no_list_is_refused_with_a_sentence(data: bytes) -> None:
    with pytest.raises(DamagedCatalogue, match="not a list of entries"):
        parse_catalogue(data)


def test_the_file_is_written_as_the_check_writes_it() -> None:
    """Else a check against the Hub would change lines that say the same."""
    assert files("resources").joinpath("catalogue.json").read_text("utf-8") == catalogue_text(ENTRIES)
