from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from engine.llama.cancel import CancelFlag
from engine.llama.devices import list_devices
from engine.llama.library import LlamaLibrary
from engine.service import Service
from engine.worker.measuring import is_busy, measure_computer
from engine.worker.messages import MeasureDevicesProgress
from tests.engine.worker.listener import Listener
from tests.engine.worker.real import Engine

SMALL = 48 << 20


@pytest.fixture
def engine() -> Iterator[Engine]:
    service = Service()
    yield Engine(service)
    service.stop(timeout_s=10.0)


def test_every_device_that_computes_is_measured(llama: LlamaLibrary) -> None:
    told: list[tuple[str, float]] = []
    speed = measure_computer(
        llama, CancelFlag(), lambda what, fraction: told.append((what, fraction)), size_bytes=SMALL
    )
    names = [device.name for device in list_devices() if device.kind in ("cpu", "gpu", "igpu")]
    assert [device.device for device in speed.devices] == names
    assert all(device.bandwidth_bytes_per_s > 1e7 and device.measured_at for device in speed.devices)
    fractions = [fraction for _, fraction in told]
    assert fractions == sorted(fractions)
    assert 0.69 < fractions[-1] <= 1.0


def test_a_worker_stops_measuring_when_told_and_goes_on_to_the_next_job(engine: Engine) -> None:
    job = engine.service.measure_devices()
    listener: Listener = engine.listener
    listener.wait_for(MeasureDevicesProgress, lambda event: event.job == job)
    engine.service.cancel(job)
    assert engine.failure(job).kind == "Cancelled"
    assert engine.load().job > job


def test_a_computer_at_work_is_told_from_one_at_rest() -> None:
    code = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    burners = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(os.cpu_count() or 1)]
    try:
        assert is_busy()
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
