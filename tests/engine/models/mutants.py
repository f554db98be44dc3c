"""Damaged and hostile model files, the same ones each time."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

from tests.engine.models.gguf_writer import ARRAY, STRING, UINT32, Entry, gguf, tensor, text

TINY_MODELS = Path(__file__).parents[2] / "models"
SEED = 20261129
HEADER_BYTES = 12_000
HUGE = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
NUMBERS = (
    "general.alignment", "general.base_model.count", "split.count", "split.no", "llama.block_count",
    "llama.context_length", "llama.embedding_length", "llama.expert_count", "llama.expert_used_count",
    "llama.nextn_predict_layers", "llama.target_layers", "general.file_type", "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.tokens", "general.architecture", "general.type", "llama.attention.head_count",
    "llama.attention.head_count_kv", "llama.attention.key_length", "llama.attention.sliding_window",
    "llama.attention.shared_kv_layers", "llama.feed_forward_length", "llama.ssm.inner_size",
    "llama.shortconv.l_cache", "llama.vocab_size",
)  # fmt: skip
SMALL_LLAMA: dict[str, Entry] = {
    "general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 8,
    "llama.attention.head_count": 2, "llama.context_length": 2**31,
}  # fmt: skip


def mutants() -> Iterator[tuple[str, bytes]]:
    """Yield names and contents: well over 300."""
    chance = random.Random(SEED)
    yield from _truncated(chance)
    yield from _flipped(chance)
    yield from _overwritten(chance)
    yield from _with_counts()
    yield from _with_shapes()
    yield from _with_values()
    yield from _bombs()


def _models() -> list[tuple[str, bytes]]:
    names = ("llama.gguf", "qwen35.gguf", "mtp-gemma4.gguf", "llama-eagle3.gguf", "llama-dspark.gguf")
    return [(name, (TINY_MODELS / name).read_bytes()) for name in names]


def _truncated(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    for name, data in _models():
        for length in (
            0,
            3,
            4,
            23,
            24,
            *(chance.randrange(24, HEADER_BYTES) for _ in range(6)),
            len(data) - 1,
        ):
            yield f"{name} cut at {length}", data[:length]


def _flipped(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    for name, data in _models():
        for number in range(20):
            changed = bytearray(data)
            for _ in range(chance.choice((1, 1, 4, 64))):
                changed[chance.randrange(4, HEADER_BYTES)] ^= 1 << chance.randrange(8)
            yield f"{name} flipped {number}", bytes(changed)


def _overwritten(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Put a number where a length, a count or a type may be: lengths that overlap, or lead back, or go nowhere."""
    for name, data in _models():
        for number in range(20):
            at, value = chance.randrange(8, HEADER_BYTES), chance.choice(HUGE)
            yield f"{name} {value} at {at} {number}", data[:at] + struct.pack("<Q", value) + data[at + 8 :]


def _with_counts() -> Iterator[tuple[str, bytes]]:
    for count in HUGE:
        yield f"{count} entries", gguf({"a": 1}, n_entries=count, data_bytes=4096)
        yield f"{count} tensors", gguf({"a": 1}, n_tensors=count, data_bytes=4096)
        for kind in range(14):
            array = struct.pack("<IIQ", ARRAY, kind, count)
            yield f"array of {count} of type {kind}", gguf({"a": array}, data_bytes=4096)
        yield f"string of {count}", gguf({"a": struct.pack("<IQ", STRING, count)}, data_bytes=4096)


def _with_shapes() -> Iterator[tuple[str, bytes]]:
    for size in HUGE:
        for shape in ([size], [size, size], [0, size], [size, 0, size, size], [32, size], [1, 1, 1, size]):
            for kind in (0, 12, 5, 99, 2**32 - 1):
                data = gguf({"general.architecture": "llama"}, [tensor("t", shape, kind)], data_bytes=64)
                yield f"shape {shape} of type {kind}", data
        far = [tensor("a", [8], 0, size), tensor("a", [8], 0, 0)]
        yield f"tensors at {size} and 0", gguf({"general.architecture": "llama"}, far, data_bytes=64)


def _with_values() -> Iterator[tuple[str, bytes]]:
    """Put a value of another type or size under each key that is asked for."""
    values: dict[str, Entry] = {
        "string": "x" * 3,
        "numbers": [1, 2, 2**32 - 1],
        "strings": ["a", "b"],
        "empty": struct.pack("<IIQ", ARRAY, UINT32, 0),
        "negative": struct.pack("<Iq", 11, -(2**63)),
        "huge": struct.pack("<IQ", 10, 2**64 - 1),
        "large": 2**31,
        "nan": struct.pack("<If", 6, float("nan")),
        "not utf-8": struct.pack("<I", STRING) + text(b"\xff\xfe\x80"),
    }
    for key in NUMBERS:
        for kind, value in values.items():
            metadata: dict[str, Entry] = {**SMALL_LLAMA, key: value}
            weights = [tensor("blk.0.attn_norm.weight", [8]), tensor("blk.0.ffn_up_exps.weight", [8], 0, 32)]
            yield f"{key}: {kind}", gguf(metadata, weights, data_bytes=64)


def _bombs() -> Iterator[tuple[str, bytes]]:
    """Yield files that hold what they announce, and it is far too much to keep."""
    empty_strings = 6 << 20
    yield (
        "empty strings",
        gguf({"a": struct.pack("<IIQ", ARRAY, STRING, empty_strings) + bytes(8 * empty_strings)}),
    )
    yield "long text", gguf({"a": "é" * (12 << 20)})
    wide = struct.pack("<I", STRING) + text("\U0001f680".encode() * (1 << 20))
    yield "many texts", gguf({f"k{i}": wide for i in range(12)})
    short = struct.pack("<IIQ", ARRAY, 0, 4096) + bytes(4096)
    yield "many short arrays", gguf({f"k{i}": short for i in range(9000)})
    yield "many entries", gguf({f"k{i}": 1 for i in range(70_000)})
    yield "as many entries as may be", gguf({f"k{i}": 1 for i in range(65_536)})
    yield "many tensors", gguf({}, [tensor(f"t{i}", [1]) for i in range(32_768)], data_bytes=64)
    yield "too many tensors", gguf({}, [tensor(f"t{i}", [1]) for i in range(32_769)], data_bytes=64)
    yield "long array", gguf({"a": struct.pack("<IIQ", ARRAY, 0, 60 << 20) + bytes(60 << 20)})
    yield "longer array", gguf({"a": struct.pack("<IIQ", ARRAY, 0, 70 << 20) + bytes(70 << 20)})
