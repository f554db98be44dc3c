"""The functions of src/llama-ext.h: exported by libllama under C++ names, declared by no C header.

Names on Linux and macOS were read from the library (nm); those of MSVC are derived by its rules and untried. A build
that lacks one cannot run the drafters that need it, and can run everything else.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Final

from engine.errors import DrafterCannotRun
from engine.llama.symbols import Function, find_symbol

_ADDRESS: Final = ctypes.c_void_p


@dataclass(frozen=True, slots=True)
class PrivateFunction:
    """One function: its names in an Itanium C++ ABI and in MSVC's, and its types."""

    name: str
    itanium: str
    msvc: str
    arguments: tuple[Any, ...]
    result: Any = None


SET_FINAL_STATES: Final = PrivateFunction(
    "llama_set_embeddings_nextn",
    "_Z26llama_set_embeddings_nextnP13llama_contextbb",
    "?llama_set_embeddings_nextn@@YAXPEAUllama_context@@_N1@Z",
    (_ADDRESS, ctypes.c_bool, ctypes.c_bool),
)
GET_FINAL_STATES: Final = PrivateFunction(
    "llama_get_embeddings_nextn",
    "_Z26llama_get_embeddings_nextnP13llama_context",
    "?llama_get_embeddings_nextn@@YAPEAMPEAUllama_context@@@Z",
    (_ADDRESS,),
    _ADDRESS,
)
SET_HEAD: Final = PrivateFunction(
    "llama_set_nextn_layer_offset",
    "_Z28llama_set_nextn_layer_offsetP13llama_contexti",
    "?llama_set_nextn_layer_offset@@YAXPEAUllama_context@@H@Z",
    (_ADDRESS, ctypes.c_int32),
)
GET_OTHER_CONTEXT: Final = PrivateFunction(
    "llama_get_ctx_other",
    "_Z19llama_get_ctx_otherP13llama_context",
    "?llama_get_ctx_other@@YAPEAUllama_context@@PEAU1@@Z",
    (_ADDRESS,),
    _ADDRESS,
)
SET_LAYER_INPUT: Final = PrivateFunction(
    "llama_set_embeddings_layer_inp",
    "_Z30llama_set_embeddings_layer_inpP13llama_contextjb",
    "?llama_set_embeddings_layer_inp@@YAXPEAUllama_context@@I_N@Z",
    (_ADDRESS, ctypes.c_uint32, ctypes.c_bool),
)
GET_LAYER_INPUT: Final = PrivateFunction(
    "llama_get_embeddings_layer_inp",
    "_Z30llama_get_embeddings_layer_inpP13llama_contextj",
    "?llama_get_embeddings_layer_inp@@YAPEAMPEAUllama_context@@I@Z",
    (_ADDRESS, ctypes.c_uint32),
    _ADDRESS,
)
TARGET_LAYERS: Final = PrivateFunction(
    "llama_model_target_layer_ids",
    "_Z28llama_model_target_layer_idsPK11llama_model",
    "?llama_model_target_layer_ids@@YAPEBHPEBUllama_model@@@Z",
    (_ADDRESS,),
    _ADDRESS,
)
N_TARGET_LAYERS: Final = PrivateFunction(
    "llama_model_target_layer_ids_n",
    "_Z30llama_model_target_layer_ids_nPK11llama_model",
    "?llama_model_target_layer_ids_n@@YAIPEBUllama_model@@@Z",
    (_ADDRESS,),
    ctypes.c_uint32,
)
SELECTOR_TOP_K: Final = PrivateFunction(
    "llama_model_dflash_selector_top_k",
    "_Z33llama_model_dflash_selector_top_kPK11llama_model",
    "?llama_model_dflash_selector_top_k@@YAHPEBUllama_model@@@Z",
    (_ADDRESS,),
    ctypes.c_int32,
)


def find_private(function: PrivateFunction) -> Function | None:
    """Return `function` of this build of llama.cpp, None if it has none."""
    for name in (function.itanium, function.msvc, function.name):
        found = find_symbol(name, function.result, *function.arguments)
        if found is not None:
            return found
    return None


def require_private(function: PrivateFunction) -> Function:
    """Return `function`; raises DrafterCannotRun where this build of llama.cpp does not have it."""
    found = find_private(function)
    if found is None:
        raise DrafterCannotRun(
            "This build of llama.cpp cannot run drafters of this kind.",
            remedy="Choose a small model of the same family, or n-gram lookup, which fits every model.",
            detail=f"{function.name} is not exported",
        )
    return found
