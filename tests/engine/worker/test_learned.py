"""What was learned about a bundle is known in the next run, and nothing that a file holds can do harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.models.bundle import NGRAM_DRAFTER
from engine.speculation.adaptive.controller import AdaptiveController
from engine.speculation.adaptive.taught import Taught
from engine.speculation.settings import GenerationSettings
from engine.worker.learned import Experience, recall
from engine.worker.messages import LoadSettings
from engine.worker.plan import LoadRequest
from tests.engine.worker.real import DRAFT_MODEL, LLAMA, SETTINGS

REQUEST = LoadRequest(LLAMA, DRAFT_MODEL, SETTINGS)


def taught(experience: Experience) -> Experience:
    for width, seconds in ((1, 0.1), (4, 0.25)) * 5:
        experience.learned.costs.add_pass(width, 10, seconds)
        experience.learned.n_rounds += 1
    return experience


def knows(experience: Experience) -> bool:
    return experience.learned.costs.table(10) is not None


def test_what_was_learned_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    taught(recall(REQUEST, 2, path)).keep()
    table = recall(REQUEST, 2, path).learned.costs.table(10)
    assert table is not None
    assert table.passes[4] == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("request_", "n_threads"),
    [
        (REQUEST, 1),
        (LoadRequest(LLAMA, NGRAM_DRAFTER, SETTINGS), 2),
        (LoadRequest(DRAFT_MODEL.path, DRAFT_MODEL, SETTINGS), 2),
        (LoadRequest(LLAMA, DRAFT_MODEL, LoadSettings(n_gpu_layers=3)), 2),
    ],
)
def test_other_files_threads_or_devices_are_another_matter(
    tmp_path: Path, request_: LoadRequest, n_threads: int
) -> None:
    path = tmp_path / "learned.json"
    taught(recall(REQUEST, 2, path)).keep()
    assert not knows(recall(request_, n_threads, path))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff",
        b"null",
        b'[{"key": 3}]',
        b"[" * 5000,
        b'[{"key": "k", "learned": {"buckets": [{"bucket": 0, "widths": [{"width": 1, "seconds": "x"}]}]}}]',
    ],
)
def test_a_damaged_or_hostile_file_is_an_empty_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "learned.json"
    path.write_bytes(content)
    experience = recall(REQUEST, 2, path)
    assert not knows(experience)
    taught(experience).keep()
    assert knows(recall(REQUEST, 2, path))


def test_numbers_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    taught(recall(REQUEST, 2, path)).keep()
    entries = json.loads(path.read_bytes())
    entries[0]["learned"]["buckets"][0]["widths"] = [{"width": 10**9, "seconds": -1e300, "n_passes": 10**12}]
    entries[0]["learned"]["sources"] = {
        "mtp greedy": {"accepted": [5.0], "judged": [1.0], "chance": 1e9, "gain": 1e9, "n_asked": 10**9}
    }
    path.write_text(json.dumps(entries))
    assert not knows(recall(REQUEST, 2, path))


def test_it_is_written_rarely_and_when_the_bundle_goes(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    experience = taught(recall(REQUEST, 2, path))
    experience.keep()
    path.unlink()
    taught(experience).keep()
    assert not path.exists()
    experience.keep(at_once=True)
    assert path.exists()
    path.unlink()
    experience.keep(at_once=True)
    assert not path.exists()


def test_a_folder_that_cannot_be_written_to_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    taught(recall(REQUEST, 2, tmp_path / "file" / "learned.json")).keep()


def test_few_bundles_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    for n_threads in range(1, 70):
        taught(recall(REQUEST, n_threads, path)).keep()
    assert len(json.loads(path.read_bytes())) == 64
    assert knows(recall(REQUEST, 69, path))
    assert not knows(recall(REQUEST, 1, path))


def test_no_length_is_the_controller_and_a_length_teaches_it(tmp_path: Path) -> None:
    experience = recall(REQUEST, 2, tmp_path / "learned.json")
    assert isinstance(experience.policy(GenerationSettings()), AdaptiveController)
    assert isinstance(experience.policy(GenerationSettings(draft_length=3)), Taught)
