"""What is to be loaded, checked as far as headers tell, before anything large happens."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from engine.errors import DrafterCannotRun
from engine.llama.capabilities import drafter_capability
from engine.llama.context_settings import ContextSettings, refuse_beyond_model
from engine.llama.devices import default_threads
from engine.llama.drafter_contexts import drafter_settings, target_settings
from engine.models.bundle import ROLLBACK_TOKENS, DrafterChoice, DrafterKind
from engine.models.model_file import ModelRole, check_model_file
from engine.worker.messages import LoadSettings
from engine.worker.pairs import require_pair


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
    """Check both files' headers and that they go together, and decide the sizes of the contexts.

    A draft model that looks back less far than the target gets a context of its own limit. Raises FileGone,
    NotAModelFile, WrongKindOfFile, PairUnfit, DrafterCannotRun and ContextTooLarge.
    """
    chosen, wanted = request.drafter, request.settings
    require_pair(request.target, chosen)
    _require_drafter_that_runs(chosen.kind)
    n_ctx_train = _n_ctx_train(Path(request.target), ModelRole.TARGET)
    n_threads = wanted.n_threads or default_threads()
    n_ctx = ContextSettings(wanted.n_ctx).resolved_n_ctx(n_ctx_train)
    refuse_beyond_model(n_ctx, n_ctx_train)
    plain = ContextSettings(n_ctx, n_threads, kv_type=wanted.kv_type)
    target = target_settings(plain, chosen.kind, ROLLBACK_TOKENS)
    if not chosen.kind.has_weights:
        return BundlePlan(request, n_ctx, target, None)
    limit = _n_ctx_train(Path(chosen.path), ModelRole.DRAFTER) if chosen.path else n_ctx_train
    return BundlePlan(request, n_ctx, target, drafter_settings(target, chosen.kind, limit))


def _require_drafter_that_runs(kind: DrafterKind) -> None:
    capability = drafter_capability(kind)
    if not capability.can_run:
        raise DrafterCannotRun(
            f"A drafter of the kind {kind} cannot run here: {capability.reason}.",
            remedy="Choose n-gram lookup or a small model of the same family as the drafter.",
        )


def _n_ctx_train(path: Path, role: ModelRole) -> int:
    header = check_model_file(path, role).header
    return header.number(f"{header.architecture}.context_length")
