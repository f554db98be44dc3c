from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.bundle import DrafterKind
from engine.models.catalogue import MeasuredSpeedup
from engine.models.description import Device
from engine.recommend.advice import ComputerSpeed, DeviceSpeed, SpeedRange
from engine.recommend.forecast import (
    TokenCost,
    device_kind_of,
    factors,
    plain_forecast,
    speculative_forecast,
)
from tests.engine.recommend.computers import cpu, gpu

CPU, GPU = cpu(16), gpu(8)
SPEED = ComputerSpeed(
    (DeviceSpeed("CPU", 40e9, 250, 100_000_000), DeviceSpeed("CUDA0", 400e9, 500, 100_000_000))
)


def forecast(weights_gb: float, shares: dict[str, float], speed: ComputerSpeed = SPEED) -> SpeedRange:
    found = plain_forecast(TokenCost(int(weights_gb * 1e9)), shares, speed, (CPU, GPU))
    assert found is not None
    return found


def test_a_token_takes_as_long_as_its_bytes_take_to_be_read() -> None:
    assert forecast(4, {"CPU": 1.0}).high_tokens_per_s == pytest.approx(10)
    assert forecast(4, {"CUDA0": 1.0}).high_tokens_per_s == pytest.approx(100)


def test_devices_that_share_a_model_work_one_after_the_other() -> None:
    # Half of it takes 50 ms on one, half 5 ms on the other.
    assert forecast(4, {"CPU": 0.5, "CUDA0": 0.5}).high_tokens_per_s == pytest.approx(1 / 0.055)


def test_the_cache_is_read_too() -> None:
    with_cache = plain_forecast(TokenCost(int(4e9), int(4e9)), {"CPU": 1.0}, SPEED, (CPU,))
    assert with_cache is not None
    assert with_cache.high_tokens_per_s == pytest.approx(5)


def test_a_processor_loses_the_share_that_the_small_model_lost() -> None:
    # The small one: 2.5 ms of reading in 4 ms.
    assert forecast(4, {"CPU": 1.0}).low_tokens_per_s == pytest.approx(10 * 2.5 / 4)


def test_a_gpu_loses_the_time_that_the_small_model_lost_not_its_share() -> None:
    # The small one: 0.25 ms of reading in 2 ms; a large one may lose twice those 1.75 ms to its 10 ms.
    assert forecast(4, {"CUDA0": 1.0}).low_tokens_per_s == pytest.approx(1 / 0.0135)


def test_without_a_small_model_the_range_is_wide() -> None:
    bare = ComputerSpeed((DeviceSpeed("CPU", 40e9),))
    assert forecast(4, {"CPU": 1.0}, bare).low_tokens_per_s == pytest.approx(6)


def test_nothing_is_said_about_what_was_not_measured() -> None:
    for speed in (ComputerSpeed(), ComputerSpeed((DeviceSpeed("CPU", 0.0),))):
        assert plain_forecast(TokenCost(1000), {"CPU": 1.0}, speed, (CPU,)) is None
    assert plain_forecast(TokenCost(1000), {"CPU": 0.5, "Vulkan0": 0.5}, SPEED, (CPU,)) is None
    assert plain_forecast(TokenCost(0), {"CPU": 1.0}, SPEED, (CPU,)) is None
    assert plain_forecast(TokenCost(1000), {}, SPEED, (CPU,)) is None


@given(
    weights=st.integers(1, 10**12),
    kv=st.integers(0, 10**10),
    cpu_share=st.floats(0, 1),
    bandwidth=st.floats(1e8, 1e13),
    small=st.sampled_from([0.0]) | st.floats(0.01, 1e5),
)
def test_a_forecast_is_a_range_of_positive_speeds_and_less_to_read_is_never_slower(
    weights: int, kv: int, cpu_share: float, bandwidth: float, small: float
) -> None:
    speed = ComputerSpeed(
        (
            DeviceSpeed("CPU", bandwidth, small, 98_000_000),
            DeviceSpeed("CUDA0", bandwidth * 3, small, 98_000_000),
        )
    )
    shares = {"CPU": cpu_share, "CUDA0": 1 - cpu_share}
    one = plain_forecast(TokenCost(weights, kv), shares, speed, (CPU, GPU))
    more = plain_forecast(TokenCost(weights * 2, kv), shares, speed, (CPU, GPU))
    assert one is not None
    assert more is not None
    assert 0 < one.low_tokens_per_s < one.high_tokens_per_s
    assert more.low_tokens_per_s <= one.low_tokens_per_s
    assert more.high_tokens_per_s <= one.high_tokens_per_s


def speedup(low: float, high: float, kind: str) -> MeasuredSpeedup:
    return MeasuredSpeedup(low, high, "some hardware", kind, "somebody")


def test_speculation_makes_of_it_what_others_measured_on_this_kind_of_device() -> None:
    measured = (speedup(1.4, 1.8, "gpu"), speedup(1.2, 1.5, "gpu"), speedup(0.8, 1.0, "apple"))
    assert factors(DrafterKind.MODEL, measured, "gpu") == (1.2, 1.8)
    assert factors(DrafterKind.MODEL, measured, "apple") == (0.8, 1.0)
    plain = SpeedRange(10, 20)
    assert speculative_forecast(plain, DrafterKind.MODEL, measured, "gpu") == SpeedRange(12, 36)
    assert speculative_forecast(plain, DrafterKind.NONE, measured, "gpu") is None


def test_where_nobody_measured_little_is_promised() -> None:
    low, high = factors(DrafterKind.MODEL, (speedup(3, 4, "gpu"),), "cpu")
    assert low == 1.0
    assert 1.0 < high < 2.0


def test_a_computer_is_of_the_kind_of_its_best_device() -> None:
    assert device_kind_of((CPU,)) == "cpu"
    assert device_kind_of((CPU, GPU)) == "gpu"
    assert device_kind_of((CPU, gpu(8, "MTL0"))) == "apple"
    igpu = Device("Vulkan0", "", "igpu", 1, 1)
    assert device_kind_of((CPU, igpu)) == "igpu"
    assert device_kind_of((igpu, GPU)) == "gpu"
