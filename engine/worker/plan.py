"""What is to be loaded, checked as far as headers tell, before anything large happens."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.errors import DrafterCannotRun
from engine.llama.context_settings import ContextSettings, refuse_beyond_model
from engine.llama.devices import default_threads
from engine.llama.drafter_contexts import drafter_settings
from engine.models.bundle import DrafterChoice, DrafterKind
from engine.models.model_file import ModelFile, ModelRole, check_model_file
from engine.worker.messages import LoadSettings

_NAMES: Final = {
    DrafterKind.MTP: "an MTP head",
    DrafterKind.EAGLE3: "EAGLE-3",
    DrafterKind.DFLASH: "DFlash",
    DrafterKind.DSPARK: "DSpark",
}


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What to load; equal requests over unchanged files load the same."""

    target: str
    drafter: DrafterChoice
    settings: LoadSettings

    def stamps(self) -> tuple[tuple[int, int], ...]:
        """Return size and modification time of each file, nothing for one that cannot be read."""
        stamps = []
        for path in (self.target, self.drafter.path):
            with contextlib.suppress(OSError):
                status = os.stat(path)
                stamps.append((status.st_size, status.st_mtime_ns))
        return tuple(stamps)


@dataclass(frozen=True, slots=True)
class BundlePlan:
    """The contexts that a bundle gets; `n_ctx` is the target's."""

    request: LoadRequest
    n_ctx: int
    target: ContextSettings
    drafter: ContextSettings | None


def make_plan(request: LoadRequest) -> BundlePlan:
    """Check both files' headers and decide the sizes of the contexts.

    A draft model that looks back less far than the target gets a context of its own limit. Raises FileGone,
    NotAModelFile, WrongKindOfFile, DrafterCannotRun and ContextTooLarge.
    """
    _require_drafter_that_runs(request.drafter)
    wanted = request.settings
    n_ctx_train = _n_ctx_train(check_model_file(Path(request.target), ModelRole.TARGET))
    n_threads = wanted.n_threads or default_threads()
    n_ctx = ContextSettings(wanted.n_ctx).resolved_n_ctx(n_ctx_train)
    refuse_beyond_model(n_ctx, n_ctx_train)
    target, drafter = ContextSettings(n_ctx, n_threads, kv_type=wanted.kv_type), None
    if request.drafter.kind is DrafterKind.MODEL:
        limit = _n_ctx_train(check_model_file(Path(request.drafter.path), ModelRole.DRAFT_MODEL))
        drafter = drafter_settings(target, DrafterKind.MODEL, limit)
    return BundlePlan(request, n_ctx, target, drafter)


def _require_drafter_that_runs(drafter: DrafterChoice) -> None:
    if not drafter.can_run:
        raise DrafterCannotRun(
            f"This version of Slipstream cannot draft with {_NAMES[drafter.kind]} yet.",
            remedy="Choose n-gram lookup or a small model of the same family as the drafter.",
        )


def _n_ctx_train(file: ModelFile) -> int:
    return file.header.number(f"{file.header.architecture}.context_length")
