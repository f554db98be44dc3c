"""How a model's weights are stored, as people call it: "Q4_K_M", "BF16", "UD-Q4_K_XL"."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from engine.models.gguf_header import GgufHeader

# include/llama.h: enum llama_ftype.
_FILE_TYPES: Final[dict[int, str]] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
    19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL",
    26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0",
    37: "TQ2_0", 38: "MXFP4", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}  # fmt: skip
_TENSOR_TYPES: Final[dict[int, str]] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K", 11: "Q3_K",
    12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL",
    21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
    40: "NVFP4", 41: "Q1_0", 42: "Q2_0",
}  # fmt: skip
_GUESSED: Final = 1024

# huggingface.js, packages/tasks/src/gguf.ts: the last label in the name counts.
_LABEL: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:UD-)?"
    r"(?:I?Q\d(?:_[01]|_K(?:_[SMLX]{1,3})?|_XXS|_XS|_S|_M|_NL)?|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32|FP16|FP32)"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_BITS: Final = re.compile(r"(?:I?Q|TQ|MXFP|NVFP|BF|FP|F)(\d+)")


def parse_quantisation(name: str) -> str:
    """Return the label in a file's name or path, upper case; "" if there is none."""
    labels = _LABEL.findall(name)
    label = labels[-1].upper() if labels else ""
    return label.replace("FP16", "F16").replace("FP32", "F32")


def without_quantisation(name: str) -> str:
    """Return a file's name without its label and without what joined it: "gemma-4-E4B-it"."""
    labels = list(_LABEL.finditer(name))
    if not labels:
        return name
    start, end = labels[-1].span()
    return name[:start].rstrip("-_.") + name[end:]


def quantisation_of(header: GgufHeader, name: str = "") -> str:
    """Return the label of a file: what its header says, else its weights' most frequent type.

    The name may refine that ("UD-Q4_K_XL" for Q4_K_M) but not contradict it. "" if nothing is known.
    """
    said = _said(header)
    named = parse_quantisation(name)
    return named if named and (not said or bits_of(named) == bits_of(said)) else said


def bits_of(label: str) -> int:
    """Return the bits of a weight that a label names ("Q4_K_M": 4); 0 for one that is not known."""
    match = _BITS.search(label.upper())
    return int(match[1]) if match else 0


def _said(header: GgufHeader) -> str:
    file_type = header.metadata.get("general.file_type")
    if isinstance(file_type, int) and file_type & ~_GUESSED in _FILE_TYPES:
        return _FILE_TYPES[file_type & ~_GUESSED]
    sizes = Counter[int]()
    for tensor in header.tensors:
        if len(tensor.shape) > 1:
            sizes[tensor.ggml_type] += tensor.n_bytes or 0
    return _TENSOR_TYPES.get(sizes.most_common(1)[0][0], "") if sizes else ""
