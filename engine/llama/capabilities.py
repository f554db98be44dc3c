"""Which kinds of drafters this build of llama.cpp can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.llama.private import (
    GET_FINAL_STATES,
    GET_LAYER_INPUT,
    GET_OTHER_CONTEXT,
    N_TARGET_LAYERS,
    SELECTOR_TOP_K,
    SET_FINAL_STATES,
    SET_HEAD,
    SET_LAYER_INPUT,
    TARGET_LAYERS,
    PrivateFunction,
    find_private,
)
from engine.llama.symbols import Function
from engine.models.bundle import DrafterKind
from engine.models.capability import DrafterCapability

_STATES: Final = (SET_FINAL_STATES, GET_FINAL_STATES)
_LAYERS: Final = (SET_LAYER_INPUT, GET_LAYER_INPUT, TARGET_LAYERS, N_TARGET_LAYERS)
_NEEDED: Final[dict[DrafterKind, tuple[PrivateFunction, ...]]] = {
    DrafterKind.MTP: (*_STATES, SET_HEAD, GET_OTHER_CONTEXT),
    DrafterKind.EAGLE3: (*_STATES, *_LAYERS),
    DrafterKind.DFLASH: (*_STATES, *_LAYERS, SELECTOR_TOP_K),
    DrafterKind.DSPARK: (*_STATES, *_LAYERS),
}

Find = Callable[[PrivateFunction], Function | None]


def drafter_capabilities() -> tuple[DrafterCapability, ...]:
    """Return for every kind of drafter whether it can run, and why not."""
    return tuple(drafter_capability(kind) for kind in DrafterKind)


def drafter_capability(kind: DrafterKind, find: Find = find_private) -> DrafterCapability:
    """Return whether drafters of `kind` can run: whether this build has the functions that they need."""
    missing = [function.name for function in _NEEDED.get(kind, ()) if find(function) is None]
    if not missing:
        return DrafterCapability(kind)
    return DrafterCapability(kind, f"this build of llama.cpp lacks {missing[0]}, which such drafters need")
