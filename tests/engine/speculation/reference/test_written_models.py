"""Greedy, on models that need no training: DFlash 2, EAGLE-3 of other widths, targets of other architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from engine.llama.library import LlamaLibrary
from engine.models.facts import read_facts
from engine.models.file_kind import drafter_kind
from engine.speculation.draft_length import FixedLength
from tests.engine.speculation.reference.pairs import Pair, opened_pair
from tests.make_models.family import write_family
from tests.make_models.gguf_file import TRAINED
from tests.make_models.reference import PROMPTS, WRITTEN, Counted

PAIRS: Final = [pair for pair in WRITTEN if pair.drafter and not pair.drafter.startswith("mtp-")]


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("family")
    write_family(folder)
    return folder


@pytest.mark.parametrize("written", PAIRS, ids=lambda pair: f"{pair.target}+{pair.drafter}")
def test_ids_are_the_plain_ones_and_counts_are_llama_servers(
    llama: LlamaLibrary, family: Path, written: Counted
) -> None:
    trained = TRAINED / f"{written.target}.gguf"
    target = trained if trained.exists() else family / f"{written.target}.gguf"
    drafter = family / f"{written.drafter}.gguf"
    kind = drafter_kind(read_facts(drafter).kind)
    with opened_pair(llama, target, drafter, kind) as pair:
        plain = [Pair(pair.target).answer(prompt, FixedLength(0)).ids for prompt in PROMPTS]
        for n_draft, counts in written.counts.items():
            answers = [pair.answer(prompt, FixedLength(n_draft)) for prompt in PROMPTS]
            assert [answer.ids for answer in answers] == plain
            assert tuple(answer.counts for answer in answers) == counts
