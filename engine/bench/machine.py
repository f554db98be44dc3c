"""Where a bench is measured."""

from __future__ import annotations

import platform

from engine.bench.results import Machine
from engine.version import slipstream_version
from engine.worker.messages import Loaded, LoadSettings


def machine_of(loaded: Loaded, llama_cpp_version: str, load: LoadSettings) -> Machine:
    """Return the computer as the worker that has `loaded` the bundle as `load` says sees it."""
    # The same as for the policy in engine/worker/threads.py: a GPU leaves the threads as they are.
    on_gpu = load.n_gpu_layers != 0 and any(one.kind in ("gpu", "igpu") for one in loaded.devices)
    processor = next((device.description for device in loaded.devices if device.kind == "cpu"), "")
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=processor or platform.processor() or platform.machine(),
        devices=tuple(f"{one.name}: {one.description}" for one in loaded.devices if one.kind != "cpu"),
        n_threads=loaded.n_threads,
        slipstream=slipstream_version(),
        llama_cpp=llama_cpp_version,
        chooses_threads=load.n_threads == 0 and not on_gpu,
    )
