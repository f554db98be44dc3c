"""What advice is given about: the catalogue as it ships, and real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.budget.budget import KvType, Segment
from engine.budget.estimate import estimate_header
from engine.models.bundle import Bundle
from engine.models.catalogue import load_catalogue
from engine.models.facts import read_facts
from engine.models.gguf_header import read_header
from engine.recommend.advice import Fit
from engine.recommend.advise import Computer, recommend
from engine.recommend.local_memory import LocalMemory, LocalMemoryCache
from engine.recommend.subjects import subject_of_entry, subject_of_installed, subjects_of_installed
from engine.shelf.installed_model import InstalledModel, Place
from engine.shelf.shelf import read_shelf
from engine.shelf.surroundings import Surroundings
from tests.engine.recommend.computers import computer, cpu, gpu

CATALOGUE = tuple(map(subject_of_entry, load_catalogue()))


def installed(path: Path, drafter_bytes: int = 0) -> InstalledModel:
    facts = read_facts(path)
    return InstalledModel(
        path.stem,
        Bundle(path.stem, str(path)),
        Place.FOLDER,
        facts.file_bytes + drafter_bytes,
        n_params=facts.n_params,
        n_ctx_train=facts.n_ctx_train,
    )


@pytest.mark.parametrize(
    "here",
    [
        computer(cpu(6), cpu_gb_per_s=20),
        computer(cpu(14), cpu_gb_per_s=40),
        computer(gpu(11), cpu(28)),
        computer(gpu(10, "MTL0"), cpu(10, 16), gpu_gb_per_s=100),
        computer(gpu(78), cpu(60), gpu_gb_per_s=2600),
    ],
    ids=["laptop", "desktop", "12 GB GPU", "Mac of 16 GB", "80 GB GPU"],
)
def test_the_catalogue_has_something_for_every_computer(here: Computer) -> None:
    advice = recommend(CATALOGUE, here)
    assert sorted(one.id for one in advice) == sorted(subject.id for subject in CATALOGUE)
    assert advice[0].rank == 1
    assert advice[0].fit in (Fit.FITS, Fit.TIGHT, Fit.PARTLY_ON_CPU)
    assert all(one.fit_sentence for one in advice)


def test_larger_computers_get_more_capable_models() -> None:
    quality = {subject.id: subject.quality for subject in CATALOGUE}
    best = [
        quality[recommend(CATALOGUE, computer(gpu(gib), cpu(8)))[0].id]
        for gib in (2, 4, 6, 8, 12, 16, 24, 48, 80)
    ]
    assert best == sorted(best)
    assert best[-1] > 4 * best[0]


def test_every_entry_is_known_well_enough_to_be_judged_or_says_that_it_is_not() -> None:
    unknown = [subject.id for subject in CATALOGUE if subject.total_bytes is None]
    assert len(unknown) < len(CATALOGUE) / 4
    assert all(subject.n_params > 0 and subject.quality > 0 for subject in CATALOGUE)
    # A mixture of experts reads less than it holds, nothing reads more.
    assert all(subject.read_bytes <= subject.target_bytes for subject in CATALOGUE)


def test_newer_models_count_for_more_than_older_ones_of_their_size() -> None:
    quality = {subject.id: subject.quality for subject in CATALOGUE}
    assert quality["qwen3.8-27b"] > quality["qwen2.5-coder-32b"]
    assert quality["qwen3.8-27b"] > quality["qwen3.8-27b-iq2"]


def test_a_file_is_judged_by_its_header(tiny_models: Path, tmp_path: Path) -> None:
    path = tiny_models / "llama.gguf"
    cache = LocalMemoryCache(tmp_path / "memory.json")
    (subject,) = subjects_of_installed([installed(path)], cache)
    header = read_header(path)
    assert subject.total_bytes is not None
    for n_ctx in (256, 8192, 32_768):
        exact = estimate_header(header, n_ctx, KvType.F16)
        del exact[Segment.RESERVE]
        assert subject.total_bytes(n_ctx) == sum(exact.values())
    # Between two contexts it grows evenly.
    assert subject.total_bytes(8192) < subject.total_bytes(20_000) < subject.total_bytes(32_768)
    assert subject.kv_bytes_per_token > 0


def test_an_estimate_is_kept_until_the_file_changes(tiny_models: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes((tiny_models / "llama.gguf").read_bytes())
    kept = tmp_path / "memory.json"
    first = LocalMemoryCache(kept)
    known = first.memory(str(path))
    assert known is not None
    first.save()
    field = '"kv_bytes_per_token": '
    kept.write_text(kept.read_text().replace(f"{field}{known.kv_bytes_per_token}", f"{field}7"))
    again = LocalMemoryCache(kept).memory(str(path))
    assert again is not None
    assert again.kv_bytes_per_token == 7
    path.write_bytes((tiny_models / "qwen35.gguf").read_bytes())
    changed = LocalMemoryCache(kept).memory(str(path))
    assert changed is not None
    assert changed.total_bytes != known.total_bytes


def test_beyond_the_last_context_it_grows_as_before() -> None:
    memory = LocalMemory((256, 512), (1000, 1256), 1, 1.0)
    assert [memory.at(n_ctx) for n_ctx in (256, 300, 512, 1024)] == [1000, 1044, 1256, 1768]


def test_a_file_that_cannot_be_read_is_judged_by_its_size(tmp_path: Path) -> None:
    gone = InstalledModel("gone", Bundle("gone", str(tmp_path / "gone.gguf")), Place.OPENED, 1000)
    (subject,) = subjects_of_installed([gone], LocalMemoryCache(tmp_path / "memory.json"))
    assert subject.total_bytes is None
    assert subject.file_bytes == 1000


def test_the_drafter_counts(tiny_models: Path, tmp_path: Path) -> None:
    around = Surroundings(tmp_path, {}, "Linux")
    shelf = read_shelf([str(tiny_models)], starter=lambda: None, around=around)
    model = next(model for model in shelf.models if model.id == "gemma4")
    memory = LocalMemoryCache(tmp_path / "memory.json").memory(model.bundle.target)
    assert memory is not None
    subject = subject_of_installed(model, memory)
    assert subject.total_bytes is not None
    drafter_bytes = Path(model.bundle.drafter.path).stat().st_size
    assert subject.total_bytes(8192) == memory.at(8192) + drafter_bytes
    assert subject.read_bytes <= subject.target_bytes == model.size_bytes - drafter_bytes
