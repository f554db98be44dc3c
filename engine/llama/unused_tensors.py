"""Tensors of a file that llama.cpp leaves out, as it says in its log: an MTP head that nobody asked for."""

from __future__ import annotations

import re
from typing import Final

from engine.llama.log import LogRecord

# llama_model_loader::create_tensor (src/llama-model-loader.cpp)
_UNUSED: Final = re.compile(r"unused tensor \S+ \(size = (\d+) bytes\)")


def unused_bytes(record: LogRecord) -> int:
    """Return how large they are together, from the log of the model's opening."""
    found = (_UNUSED.search(line.text) for line in record.lines)
    return sum(int(match[1]) for match in found if match is not None)
