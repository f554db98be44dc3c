"""`slipstream devices`: what llama.cpp can compute on."""

from __future__ import annotations

import msgspec

from engine.cli.client import EngineClient
from engine.cli.terminal import write_json
from engine.service import Service
from engine.worker.messages import Device, DevicesListed

_KINDS = {
    "cpu": "processor",
    "gpu": "GPU",
    "igpu": "integrated GPU",
    "accel": "accelerator",
    "meta": "several",
}


def ask_devices(client: EngineClient) -> DevicesListed:
    """Return what the worker lists; raises SlipstreamError, and Interrupted after a signal."""
    for event in client.run(lambda service: service.list_devices()):
        if isinstance(event, DevicesListed):
            return event
    client.raise_if_interrupted()
    raise AssertionError("a listing ends with DevicesListed or an error")


def print_devices(as_json: bool) -> int:
    with EngineClient(Service()) as client:
        listed = ask_devices(client)
    if as_json:
        devices = msgspec.to_builtins(listed.devices)
        shown = {
            "llama_cpp": listed.llama_cpp_version,
            "system_info": listed.llama_cpp_system_info,
            "devices": devices,
            "drafters": [
                {"kind": one.kind, "can_run": one.can_run, "reason": one.reason} for one in listed.drafters
            ],
        }
        write_json(msgspec.json.encode(shown).decode())
    else:
        print(f"llama.cpp {listed.llama_cpp_version}")
        for device in listed.devices:
            print(describe_device(device))
    return 0


def describe_device(device: Device) -> str:
    """Return one line: "CPU (processor): AMD EPYC, 12.0 of 16.0 GiB free"."""
    text = f"{device.name} ({_KINDS.get(device.kind, device.kind)}): {device.description}"
    if device.memory_total_bytes == 0:
        return text
    return f"{text}, {_gib(device.memory_free_bytes)} of {_gib(device.memory_total_bytes)} GiB free"


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f}"
