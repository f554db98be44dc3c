"""What is forecast for models on this computer against what they reach.

    python -m benchmarks.forecast_accuracy FILE… [--rounds 3]

Each round measures the devices as `slipstream models recommend --measure` does and then decodes single tokens with
every model on each device, so that both see the same load of other programs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import machine_line, table
from engine.llama.environment import prepare_environment

if TYPE_CHECKING:
    from engine.llama.library import LlamaLibrary
    from engine.models.description import Device
    from engine.recommend.advice import ComputerSpeed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    # OpenMP reads it when it is loaded: before anything imports llama.cpp.
    prepare_environment()
    from engine.llama.cancel import CancelFlag
    from engine.llama.devices import list_devices
    from engine.llama.library import start_llama
    from engine.worker.measuring import measure_computer

    library = start_llama()
    rows: list[tuple[object, ...]] = []
    for _ in range(options.rounds):
        speed = measure_computer(library, CancelFlag(), lambda _what, _fraction: None)
        names = {measured.device for measured in speed.devices}
        for device in (device for device in list_devices() if device.name in names):
            rows += [_row(library, path, device, speed) for path in options.files]
    print(machine_line())
    print(table(("model", "device", "bandwidth", "forecast", "reached", "within"), rows))


def _row(library: LlamaLibrary, path: Path, device: Device, speed: ComputerSpeed) -> tuple[object, ...]:
    from engine.llama.bandwidth import decode_speed
    from engine.llama.cancel import CancelFlag
    from engine.models.facts import read_facts
    from engine.recommend.forecast import TokenCost, plain_forecast

    cost = TokenCost(read_facts(path).read_bytes)
    told = plain_forecast(cost, {device.name: 1.0}, speed, (device,))
    assert told is not None
    reached = decode_speed(library, path, device, CancelFlag(), lambda _: None).tokens_per_s
    bandwidth = next(m.bandwidth_bytes_per_s for m in speed.devices if m.device == device.name)
    return (
        path.stem,
        device.name,
        f"{bandwidth / 1e9:.1f} GB/s",
        f"{told.low_tokens_per_s:.1f} to {told.high_tokens_per_s:.1f}",
        f"{reached:.1f}",
        "yes" if told.low_tokens_per_s <= reached <= told.high_tokens_per_s else "no",
    )


if __name__ == "__main__":
    main()
