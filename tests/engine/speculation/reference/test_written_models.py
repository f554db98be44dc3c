"""Greedy, on models that need no training: DFlash 2, EAGLE-3 of other widths, MTP heads of other architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from engine.llama.library import LlamaLibrary
from engine.models.bundle import DrafterKind
from engine.models.facts import read_facts
from engine.models.file_kind import drafter_kind
from engine.speculation.draft_length import FixedLength
from tests.engine.speculation.reference.pairs import Pair, opened_pair
from tests.engine.speculation.reference.recorded import read_record
from tests.make_models import shapes
from tests.make_models.family import write_family
from tests.make_models.gguf_file import TRAINED, read_weights, tokenizer, write_model
from tests.make_models.reference import PROMPTS, WRITTEN, Counted


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("family")
    write_family(folder)
    return folder


@pytest.mark.parametrize("written", WRITTEN, ids=lambda pair: f"{pair.target}+{pair.drafter or 'inside'}")
def test_ids_are_the_plain_ones_and_counts_are_llama_servers(
    llama: LlamaLibrary, family: Path, written: Counted
) -> None:
    trained = TRAINED / f"{written.target}.gguf"
    target = trained if trained.exists() else family / f"{written.target}.gguf"
    drafter = family / f"{written.drafter}.gguf" if written.drafter else None
    kind = drafter_kind(read_facts(drafter).kind) if drafter is not None else DrafterKind.MTP
    with opened_pair(llama, target, drafter, kind) as pair:
        plain = [Pair(pair.target).answer(prompt, FixedLength(0)).ids for prompt in PROMPTS]
        for n_draft, counts in written.counts.items():
            answers = [pair.answer(prompt, FixedLength(n_draft)) for prompt in PROMPTS]
            assert [answer.ids for answer in answers] == plain
            assert tuple(answer.counts for answer in answers) == counts


WINDOW: Final = 32
WINDOWED: Final = {
    3: [(130, 115), (247, 75), (158, 106), (390, 27)],
    7: [(187, 132), (574, 74), (268, 120), (910, 26)],
}
"""llama-server's counts for the four prompts of the reference with the drafter below."""


@pytest.fixture(scope="module")
def windowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trained DFlash drafter, one of whose layers looks back a window only."""
    settings = shapes.dflash_settings() | {
        "attention.sliding_window": WINDOW,
        "attention.sliding_window_pattern": [True, False],
    }
    path = tmp_path_factory.mktemp("windowed") / "llama-dflash-window.gguf"
    weights = read_weights(TRAINED / "llama-dflash.gguf")
    return write_model(path, "dflash", settings, weights, tokenizer(with_mask=True))


def test_a_drafter_with_a_sliding_window_passes_it_again_and_again(
    llama: LlamaLibrary, windowed: Path
) -> None:
    record = read_record()
    with opened_pair(llama, TRAINED / "llama.gguf", windowed, DrafterKind.DFLASH) as pair:
        for n_draft, counts in WINDOWED.items():
            answers = [pair.answer(prompt, FixedLength(n_draft)) for prompt in record.prompts]
            assert tuple(answer.ids for answer in answers) == record.plain["llama"]
            assert [answer.counts for answer in answers] == counts


def test_an_edit_behind_the_window_is_read_anew(llama: LlamaLibrary, windowed: Path) -> None:
    long = read_record().prompts[3]
    edited = long.replace("the", "that", 3)
    assert edited != long
    for prompt in (edited, long[:700]):
        with opened_pair(llama, TRAINED / "llama.gguf", windowed, DrafterKind.DFLASH) as pair:
            fresh = pair.answer(prompt, FixedLength(3))
        with opened_pair(llama, TRAINED / "llama.gguf", windowed, DrafterKind.DFLASH) as pair:
            pair.answer(long, FixedLength(3))
            again = pair.answer(prompt, FixedLength(3))
        assert [done.drafted for done in again.rounds if done.drafted] == [
            done.drafted for done in fresh.rounds if done.drafted
        ]
