"""Asks llama.cpp for a layer's input while it decodes with the model that is named: prints "published" or aborts."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from llama_cpp import llama_cpp as api

# src/llama-ext.h: exported with C++ names.
_SET = "_Z30llama_set_embeddings_layer_inpP13llama_contextjb"


def main(path: str) -> None:
    model: Any = api.llama_model_load_from_file(os.fsencode(path), api.llama_model_default_params())
    params = api.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_threads = 256, 32, 32, 1
    context: Any = api.llama_init_from_model(model, params)
    ask = api._lib[_SET]
    ask.argtypes, ask.restype = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_bool), None
    ask(context, 1, True)
    tokens = (api.llama_token * 2)(1, 2)
    assert api.llama_decode(context, api.llama_batch_get_one(tokens, 2)) == 0
    print("published")


main(sys.argv[1])
