"""What llama-server drafts and accepts with the written models, as it does with the trained ones.

llama-server of llama.cpp 0.5.0-dev (Oct 2026), a fresh one for each prompt: 160 tokens, temperature 0,
`--ctx-checkpoints 0 -np 1 -c 1024 -t 1 --spec-draft-n-max N`, `ignore_eos`.
Every answer was the one without speculation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PROMPTS = (
    "def main(argv):\n    import sys\n",
    "class Foo(object):\n    def __init__(self, name):\n        self.name = name\n\n    def",
    'import os\nimport re\n\ndef parse(s):\n    """Return',
)
MAX_TOKENS = 160


@dataclass(frozen=True)
class Counted:
    """For each prompt how many tokens were (drafted, accepted), by draft length. `drafter` "": the head inside."""

    target: str
    drafter: str
    counts: Mapping[int, tuple[tuple[int, int], ...]]


_NONE = {3: ((471, 0),) * 3, 7: ((1085, 0),) * 3}
_ALL = {3: ((119, 119),) * 3, 7: ((139, 139),) * 3}
_BOTH_HEADS = {3: ((106, 106),) * 3, 7: ((106, 106),) * 3}
_DFLASH = {3: ((130, 115), (253, 73), (159, 106)), 7: ((187, 132), (581, 73), (268, 120))}

WRITTEN = (
    Counted("llama", "llama-dflash2-plain", _DFLASH),
    Counted(
        "llama",
        "llama-dflash2",
        {3: ((133, 114), (271, 67), (171, 101)), 7: ((201, 130), (618, 68), (298, 116))},
    ),
    Counted("llama", "llama-dflash-own-tokens", _DFLASH),
    Counted("llama", "llama-eagle3-narrow", _NONE),
    Counted(
        "llama",
        "llama-eagle3-norms",
        {3: ((471, 0), (447, 8), (471, 0)), 7: ((1085, 0), (1029, 8), (1085, 0))},
    ),
    Counted("qwen3", "qwen3-eagle3", _NONE),
    Counted(
        "qwen3", "qwen3-dflash", {3: ((465, 2), (471, 0), (471, 0)), 7: ((1071, 2), (1085, 0), (1085, 0))}
    ),
    Counted("mimo2", "", _BOTH_HEADS),
    Counted("mimo2", "mtp-mimo2", _BOTH_HEADS),
    Counted(
        "mimo2", "mimo2-eagle3", {3: ((471, 0), (468, 1), (468, 1)), 7: ((1085, 0), (1078, 1), (1078, 1))}
    ),
    Counted("glm4moe", "", _ALL),
    Counted("glm4moe", "mtp-glm4moe", _ALL),
)
