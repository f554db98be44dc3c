"""What this build of llama.cpp can draft with, asked of the engine itself."""

from __future__ import annotations

import msgspec

from engine.models.bundle import DrafterKind


class DrafterCapability(msgspec.Struct, frozen=True):
    """Whether drafters of `kind` can run here; `reason` says why not and is "" where they can."""

    kind: DrafterKind
    reason: str = ""

    @property
    def can_run(self) -> bool:
        return not self.reason
