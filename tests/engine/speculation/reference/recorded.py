"""What llama-server said and counted: tests/models/reference.json, and what is known of the written models."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from engine.models.bundle import DrafterKind

N_TOKENS: Final = 160
N_CTX: Final = 1024
_PATH: Final = Path(__file__).parents[3] / "models" / "reference.json"
_KINDS: Final = {
    "draft-simple": DrafterKind.MODEL,
    "draft-eagle3": DrafterKind.EAGLE3,
    "draft-dflash": DrafterKind.DFLASH,
    "draft-dspark": DrafterKind.DSPARK,
    "draft-mtp": DrafterKind.MTP,
}


class Recorded(msgspec.Struct, frozen=True):
    """One setting of llama-server with, for each prompt, how many tokens it drafted and accepted.

    `drafter` "": the head inside the target, or none. `type` is its --spec-type, `n_max` and `p_min` its options
    --spec-draft-n-max and --spec-draft-p-min. Every answer was the one without speculation.
    """

    target: str
    drafter: str
    type: str
    n_max: int | None
    p_min: float
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]

    @property
    def kind(self) -> DrafterKind:
        return _KINDS.get(self.type, DrafterKind.NGRAM)

    @property
    def counts(self) -> list[tuple[int, int]]:
        return list(zip(self.drafted, self.accepted, strict=True))

    @property
    def name(self) -> str:
        return f"{self.target}+{self.drafter or 'inside'}-n{self.n_max}-p{self.p_min}"


class Record(msgspec.Struct, frozen=True):
    """`plain[target][i]` are the ids of the answer to `prompts[i]`, `N_TOKENS` of them, without speculation."""

    prompts: tuple[str, ...]
    plain: dict[str, tuple[tuple[int, ...], ...]]
    runs: tuple[Recorded, ...]


def read_record() -> Record:
    return msgspec.json.decode(_PATH.read_bytes(), type=Record)
