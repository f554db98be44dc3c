"""Single rows of a tensor, read out of a model's file while the rest stays on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from engine.models.ggml_types import row_bytes
from engine.models.gguf_header import GgufHeader

_F32, _F16, _Q8_0, _BF16 = 0, 1, 8, 30
_READABLE: Final = frozenset({_F32, _F16, _Q8_0, _BF16})
_Q8_0_BLOCK: Final = np.dtype([("scale", np.float16), ("numbers", np.int8, 32)])


class TensorRows:
    """The rows of a two-dimensional tensor of type F32, F16, BF16 or Q8_0, as float32."""

    def __init__(self, raw: NDArray[np.uint8], ggml_type: int, width: int) -> None:
        """`raw`: one row of bytes for each row of the tensor, `width` numbers in it."""
        self._raw, self._type, self.width = raw, ggml_type, width

    @classmethod
    def open(cls, path: Path, header: GgufHeader, name: str) -> Self | None:
        """Return the tensor `name` of the one file `path` with `header`; None where it is not there or of another
        type, and where the file cannot be read any more."""
        info = next((tensor for tensor in header.tensors if tensor.name == name), None)
        if info is None or info.ggml_type not in _READABLE or len(info.shape) != 2:
            return None
        width, n_rows = info.shape
        stride = row_bytes(info.ggml_type, width)
        try:
            raw: Any = np.memmap(path, np.uint8, "r", header.data_offset + info.offset, (n_rows, stride or 0))
        except (OSError, ValueError):
            return None
        return cls(raw, info.ggml_type, width)

    def __len__(self) -> int:
        return len(self._raw)

    def rows(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the rows `ids`: shape (len(ids), width)."""
        raw = np.ascontiguousarray(self._raw[ids])
        if self._type == _F32:
            return raw.view(np.float32)
        if self._type == _F16:
            return raw.view(np.float16).astype(np.float32)
        if self._type == _BF16:
            return (raw.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
        blocks = raw.view(_Q8_0_BLOCK)
        numbers = blocks["numbers"] * blocks["scale"][..., None].astype(np.float32)
        return numbers.reshape(len(ids), -1)[:, : self.width]
