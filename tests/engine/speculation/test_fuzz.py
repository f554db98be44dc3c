"""A few of the random lives of which benchmarks/fuzz.py tries a thousand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.llama.library import LlamaLibrary
from tests.engine.speculation.fuzz import RandomLife, Workshop
from tests.make_models.family import write_family

N_SEQUENCES = 20


@pytest.fixture(scope="module")
def workshop(llama: LlamaLibrary, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    folder = tmp_path_factory.mktemp("written")
    write_family(folder)
    made = Workshop(llama, folder)
    yield made
    made.close()


@pytest.mark.parametrize("seed", range(N_SEQUENCES))
def test_no_random_life_spoils_a_cache(workshop: Workshop, seed: int) -> None:
    RandomLife(workshop, seed).run()


def test_a_life_depends_on_its_seed_alone(workshop: Workshop) -> None:
    for seed in (3, 11):
        once, again = RandomLife(workshop, seed), RandomLife(workshop, seed)
        once.run()
        again.run()
        assert once.log == again.log
