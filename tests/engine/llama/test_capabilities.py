"""Which kinds of drafters run: all in this build, and what a poorer one would say."""

from __future__ import annotations

import pytest

from engine.llama.capabilities import drafter_capabilities, drafter_capability
from engine.llama.private import SET_HEAD, SET_LAYER_INPUT, PrivateFunction, find_private
from engine.llama.symbols import Function
from engine.models.bundle import DrafterKind

NEED_NOTHING = (DrafterKind.NONE, DrafterKind.NGRAM, DrafterKind.MODEL)


def test_this_build_runs_every_kind() -> None:
    capabilities = drafter_capabilities()
    assert [capability.kind for capability in capabilities] == list(DrafterKind)
    assert all(capability.can_run for capability in capabilities)


@pytest.mark.parametrize(
    ("missing", "cannot"),
    [
        (SET_HEAD, {DrafterKind.MTP}),
        (SET_LAYER_INPUT, {DrafterKind.EAGLE3, DrafterKind.DFLASH, DrafterKind.DSPARK}),
    ],
)
def test_a_build_that_lacks_a_function_names_it(missing: PrivateFunction, cannot: set[DrafterKind]) -> None:
    def find(function: PrivateFunction) -> Function | None:
        return None if function is missing else find_private(function)

    found = [drafter_capability(kind, find) for kind in DrafterKind]
    assert {capability.kind for capability in found if not capability.can_run} == cannot
    assert all(missing.name in capability.reason for capability in found if not capability.can_run)


@pytest.mark.parametrize("kind", NEED_NOTHING)
def test_what_needs_nothing_private_runs_in_every_build(kind: DrafterKind) -> None:
    assert drafter_capability(kind, lambda _: None).can_run
