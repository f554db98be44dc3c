"""Speed over the last five seconds, and the one state of several files."""

from __future__ import annotations

import pytest

from engine.download.meters import FileMeter, SpeedMeter, joint_state
from engine.download.progress import DownloadState
from engine.models.remote import RemoteFile

S = DownloadState


def test_speed_is_that_of_the_last_five_seconds() -> None:
    meter = SpeedMeter()
    assert meter.bytes_per_s == 0
    for tick in range(41):
        meter.sample(tick * 0.25, tick * 250)
    assert meter.bytes_per_s == pytest.approx(1000)
    for tick in range(41, 81):
        meter.sample(tick * 0.25, 40 * 250 + (tick - 40) * 25)
    assert meter.bytes_per_s == pytest.approx(100)
    for tick in range(81, 103):
        meter.sample(tick * 0.25, 11_000)
    assert meter.bytes_per_s == 0


@pytest.mark.parametrize(
    ("states", "joint"),
    [
        ([S.RUNNING, S.STALLED, S.DONE], S.RUNNING),
        ([S.STALLED, S.DONE, S.WAITING], S.STALLED),
        ([S.CHECKING, S.DONE], S.CHECKING),
        ([S.WAITING, S.DONE], S.WAITING),
        ([S.DONE, S.DONE], S.RUNNING),
    ],
)
def test_a_bundle_has_the_state_of_its_liveliest_file(states: list[S], joint: S) -> None:
    changes: list[None] = []
    meters = [FileMeter(RemoteFile("a/b", "c"), 0, lambda: changes.append(None)) for _ in states]
    for meter, state in zip(meters, states, strict=True):
        meter.state(state, f"is {state}")
        meter.state(state, f"is {state}")
    found, sentence = joint_state(meters)
    assert found is joint
    assert sentence in ("", f"is {joint}")
    assert len(changes) == len([state for state in states])


def test_files_of_a_bundle_that_stands_still_stand_still_too() -> None:
    meter = FileMeter(RemoteFile("a/b", "c", size_bytes=10), 4, lambda: None)
    meter.state(S.RUNNING)
    assert meter.progress(S.PAUSED).state is S.PAUSED
    assert meter.progress(S.RUNNING).state is S.RUNNING
    assert meter.to_come_bytes == 6
    meter.bytes(10)
    meter.state(S.DONE)
    assert meter.progress(S.FAILED).state is S.DONE
