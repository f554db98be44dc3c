from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.description import Device
from engine.recommend.advice import Fit
from engine.recommend.placement import capacity_of, place
from tests.engine.recommend.computers import GIB, cpu, gpu


def test_without_a_gpu_everything_is_in_main_memory() -> None:
    capacity = capacity_of((cpu(16),))
    assert 15 * GIB < capacity.best_bytes < 16 * GIB
    assert capacity.best_bytes == capacity.all_bytes
    assert place(8 * GIB, capacity).shares == {"CPU": 1.0}


@pytest.mark.parametrize(
    ("gib", "fit"),
    [(2, Fit.FITS), (7, Fit.TIGHT), (12, Fit.PARTLY_ON_CPU), (40, Fit.DOES_NOT_FIT)],
)
def test_a_gpu_is_filled_first_and_main_memory_takes_the_rest(gib: float, fit: Fit) -> None:
    capacity = capacity_of((gpu(8), cpu(16)))
    placement = place(int(gib * GIB), capacity)
    assert placement.fit is fit
    assert sum(placement.shares.values()) == pytest.approx(0 if fit is Fit.DOES_NOT_FIT else 1)
    if fit is Fit.PARTLY_ON_CPU:
        assert placement.shares["CUDA0"] == pytest.approx(capacity.gpu_bytes["CUDA0"] / (gib * GIB))


def test_two_gpus_share_by_what_they_have() -> None:
    placement = place(12 * GIB, capacity_of((gpu(8.5), gpu(16.5, "CUDA1"), cpu(16))))
    assert placement.fit is Fit.FITS
    assert placement.shares["CUDA1"] == pytest.approx(2 / 3)


def test_a_gpu_that_lives_in_main_memory_adds_none() -> None:
    igpu = Device("Vulkan0", "", "igpu", 14 * GIB, 16 * GIB)
    capacity = capacity_of((igpu, cpu(10, 16)))
    assert capacity.all_bytes < 10 * GIB
    assert place(11 * GIB, capacity).fit is Fit.DOES_NOT_FIT
    assert place(4 * GIB, capacity).shares == {"Vulkan0": 1.0}


def test_a_mac_keeps_memory_for_its_system() -> None:
    metal = Device("MTL0", "Apple M2", "gpu", 11 * GIB, 11 * GIB)
    assert capacity_of((metal, cpu(14, 16))).best_bytes <= 11 * GIB
    assert capacity_of((metal, cpu(14, 8))).best_bytes <= 4 * GIB


def test_a_gpu_that_is_full_is_none() -> None:
    capacity = capacity_of((gpu(0.1), cpu(16)))
    assert capacity.gpu_bytes == {}
    assert place(GIB, capacity).fit is Fit.FITS


@given(
    total=st.integers(1, 1 << 40),
    free=st.tuples(st.floats(0, 100), st.floats(0, 100)),
    host=st.floats(0, 200),
)
def test_what_fits_never_takes_more_of_a_device_than_there_is(
    total: int, free: tuple[float, float], host: float
) -> None:
    devices = (gpu(free[0]), gpu(free[1], "CUDA1"), cpu(host))
    placement = place(total, capacity_of(devices))
    by_name = {device.name: device for device in devices}
    if placement.fit is Fit.DOES_NOT_FIT:
        assert placement.shares == {}
        return
    assert sum(placement.shares.values()) == pytest.approx(1)
    for name, share in placement.shares.items():
        assert share * total <= by_name[name].memory_free_bytes * 1.000001 + 1
