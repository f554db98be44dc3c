"""How layers are shared out among several GPUs, said to llama.cpp before it would look for itself."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

from llama_cpp import llama_cpp as api

from engine.models.description import Device

_STEPS: Final = 1024

LayerSplit = tuple[int, ...]
"""The share of each GPU, in llama.cpp's order of them; (): left to llama.cpp."""


def layer_split(devices: Sequence[Device]) -> LayerSplit:
    """Return the shares that llama.cpp would choose if so much of `devices` were free: each by its free memory.

    () where one GPU gets all, or one does not say what is free, or two back ends may mean the same one. Source:
    llama_prepare_model_devices (src/llama.cpp) and load_tensors (src/llama-model.cpp).
    """
    remote = [device for device in devices if device.kind == "gpu" and _backend(device) == "RPC"]
    here = [device for device in devices if device.kind == "gpu" and device not in remote]
    here = here or [device for device in devices if device.kind == "igpu"]
    if len({_backend(device) for device in here}) > 1:
        return ()
    gpus = [*remote, *here]
    free_bytes = sum(device.memory_free_bytes for device in gpus)
    if len(gpus) < 2 or not free_bytes or not all(device.memory_total_bytes for device in gpus):
        return ()
    return tuple(round(_STEPS * device.memory_free_bytes / free_bytes) for device in gpus)


def _backend(device: Device) -> str:
    """Return the name of the back end: ggml numbers its devices, as in CUDA0."""
    return device.name.rstrip("0123456789")


def tensor_split(split: LayerSplit) -> Any:
    """Return `split` as llama_model_params wants it: borrowed, so keep it until the model is open. None for ()."""
    if not split:
        return None
    return (ctypes.c_float * api.llama_max_devices())(*split)
