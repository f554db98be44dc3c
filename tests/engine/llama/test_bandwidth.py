from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import Cancelled
from engine.llama.bandwidth import (
    MAX_BYTES,
    MIN_BYTES,
    blank_size_bytes,
    decode_speed,
    measure_bandwidth,
)
from engine.llama.blank_model import blank_tensors, read_bytes_per_token, write_blank_model
from engine.llama.cancel import CancelFlag
from engine.llama.context import Context, ContextSettings
from engine.llama.devices import list_devices
from engine.llama.library import LlamaLibrary
from engine.llama.memory import allocated
from engine.llama.model import Model
from engine.models.description import Device
from engine.models.file_kind import FileKind
from engine.models.model_file import check_model_file

SIZE = 48 << 20


@pytest.fixture(scope="module")
def cpu(llama: LlamaLibrary) -> Device:
    return next(device for device in list_devices() if device.kind == "cpu")


def test_a_blank_model_is_a_whole_model_and_takes_no_room_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "blank.gguf"
    tensors = blank_tensors(200 << 20)
    write_blank_model(path, tensors)
    file = check_model_file(path)
    assert file.kind is FileKind.TARGET
    assert file.header.tensor_bytes == sum(tensor.n_bytes for tensor in tensors)
    assert 0.95 < read_bytes_per_token(tensors) / (200 << 20) < 1.02
    if hasattr(path.stat(), "st_blocks"):
        assert path.stat().st_blocks * 512 < 1 << 20


def test_weights_of_zeros_really_lie_in_memory(llama: LlamaLibrary, tmp_path: Path) -> None:
    path = tmp_path / "blank.gguf"
    tensors = blank_tensors(SIZE)
    write_blank_model(path, tensors)
    with Model.open(llama, path) as model, Context(model, ContextSettings(256, 1)) as context:
        weights_bytes = sum(use.weights_bytes for use in allocated(context).values())
    assert weights_bytes == pytest.approx(sum(tensor.n_bytes for tensor in tensors), rel=0.01)


def test_bandwidth_is_bytes_per_token_over_its_time(llama: LlamaLibrary, cpu: Device) -> None:
    fractions: list[float] = []
    speed = measure_bandwidth(llama, cpu, CancelFlag(), fractions.append, SIZE)
    assert speed.bytes_per_s == pytest.approx(speed.bytes_per_token * speed.tokens_per_s)
    assert 0.9 < speed.bytes_per_token / SIZE < 1.1
    # No memory in the world is slower or faster than this.
    assert 1e7 < speed.bytes_per_s < 1e14
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_a_real_model_reads_all_its_weights(llama: LlamaLibrary, cpu: Device, tiny_models: Path) -> None:
    path = tiny_models / "llama.gguf"
    speed = decode_speed(llama, path, cpu, CancelFlag(), lambda _: None)
    assert speed.bytes_per_token == check_model_file(path).header.tensor_bytes
    assert speed.tokens_per_s > 1


@pytest.mark.parametrize("at", [0.2, 0.8])
def test_measuring_can_be_stopped_while_it_loads_and_while_it_decodes(
    llama: LlamaLibrary, cpu: Device, at: float
) -> None:
    cancel = CancelFlag()

    def stop(fraction: float) -> None:
        if fraction >= at:
            cancel.set()

    with pytest.raises(Cancelled):
        measure_bandwidth(llama, cpu, cancel, stop, SIZE)


def test_a_small_computer_is_measured_with_a_small_model() -> None:
    def with_free(free_bytes: int) -> Device:
        return Device("GPU0", "", "gpu", free_bytes, free_bytes)

    assert blank_size_bytes(with_free(80 << 30)) == MAX_BYTES
    assert blank_size_bytes(with_free(2 << 30)) == 512 << 20
    assert blank_size_bytes(with_free(0)) == MIN_BYTES
