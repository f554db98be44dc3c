"""llama.cpp's account is read out of a std::map as each C++ library lays it out."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

from engine.budget.budget import BudgetQuestion
from engine.errors import MemoryNotTold
from engine.llama.breakdown import LIBCXX, LIBSTDCXX, MSVC, MapLayout, read_map
from engine.llama.context_settings import ContextSettings
from engine.llama.forecast import ModelForecast
from engine.llama.library import LlamaLibrary
from engine.llama.measuring import OpenForecasts
from engine.llama.symbols import find_symbol
from engine.models.bundle import NO_DRAFTER
from engine.worker.budgeting import answer_budget
from tests.engine.worker.real import LLAMA

Node = tuple[int, "Node | None", "Node | None"]
TREE: Node = (20, (10, None, (15, None, None)), (30, None, None))
EXPECTED = [(key, key + 1, key + 2, key + 3) for key in (10, 15, 20, 30)]


class Memory:
    """Nodes of trees in this process's memory, laid out as one library does."""

    def __init__(self, layout: MapLayout) -> None:
        self._layout = layout
        self._kept: list[object] = []
        self.none = self.put(b"\0" * 24 + b"\1\1" + b"\xff" * 38) if layout.is_nil >= 0 else 0

    def put(self, data: bytes) -> int:
        buffer = ctypes.create_string_buffer(data, len(data))
        self._kept.append(buffer)
        return ctypes.addressof(buffer)

    def node(self, node: Node | None) -> int:
        if node is None:
            return self.none
        key, left, right = node
        data = bytearray(b"\0" * 32 + struct.pack("<4Q", key, key + 1, key + 2, key + 3))
        struct.pack_into("<Q", data, self._layout.left, self.node(left))
        struct.pack_into("<Q", data, self._layout.right, self.node(right))
        return self.put(bytes(data))

    def map(self, root: Node, count: int) -> list[int]:
        """Return the words of the map itself."""
        words = [0] * self._layout.n_words
        words[self._layout.count_word] = count
        words[self._layout.root_word] = self.node(root)
        if self._layout.root_of_head >= 0:
            head = bytearray(self.none.to_bytes(8, "little") * 4)
            struct.pack_into("<Q", head, self._layout.root_of_head, self.node(root))
            words[self._layout.root_word] = self.put(bytes(head))
        return words


@pytest.mark.parametrize("layout", [LIBSTDCXX, LIBCXX, MSVC], ids=["libstdc++", "libc++", "MSVC"])
def test_a_map_is_read_in_the_order_of_its_keys(layout: MapLayout) -> None:
    memory = Memory(layout)
    assert read_map(memory.map(TREE, 4), layout) == EXPECTED


@pytest.mark.parametrize("layout", [LIBSTDCXX, LIBCXX, MSVC], ids=["libstdc++", "libc++", "MSVC"])
@pytest.mark.parametrize("count", [0, 65, 2**63])
def test_a_map_that_cannot_be_one_is_not_read(layout: MapLayout, count: int) -> None:
    words = [1] * layout.n_words
    words[layout.count_word] = count
    assert read_map(words, layout) == []


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it as if this build did not export the account."""
    monkeypatch.setattr(
        "engine.llama.breakdown.find_symbol",
        lambda name, *rest: None if "breakdown" in name else find_symbol(name, *rest),
    )


@pytest.mark.usefixtures("untold")
def test_a_build_that_does_not_tell_is_not_guessed_for(llama: LlamaLibrary) -> None:
    settings = ContextSettings(n_ctx=256, n_threads=1)
    with (
        ModelForecast.open(llama, Path(LLAMA), 0) as model,
        pytest.raises(MemoryNotTold),
        model.context(settings, 256),
    ):
        pass


def test_its_budgets_are_estimates_and_say_so(llama: LlamaLibrary, request: pytest.FixtureRequest) -> None:
    question = BudgetQuestion(LLAMA, NO_DRAFTER, contexts=(1024, 4096))
    with OpenForecasts(llama) as models:
        exact = answer_budget(models, question)
        request.getfixturevalue("untold")
        found = answer_budget(models, question)
    assert not exact.is_estimate
    assert found.is_estimate
    for said, estimated in zip(exact.contexts, found.contexts, strict=True):
        assert estimated.total_bytes == pytest.approx(said.total_bytes, rel=found.error_fraction)
