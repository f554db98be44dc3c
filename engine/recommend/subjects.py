"""Making subjects of advice: of the catalogue's bundles and of what is on this computer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial

from engine.budget.budget import KvType, Segment
from engine.budget.estimate import estimate_entry
from engine.models.catalogue import CatalogueEntry
from engine.recommend.local_memory import LocalMemory, LocalMemoryCache
from engine.recommend.subject import Subject
from engine.shelf.installed_model import InstalledModel


def subject_of_entry(entry: CatalogueEntry) -> Subject:
    """Return what decides about a bundle of the catalogue."""
    memory, bundle = entry.memory, entry.bundle
    is_known = memory.n_layers > 0 and entry.target_bytes > 0
    return Subject(
        id=bundle.id,
        name=bundle.name,
        family=f"{entry.architecture} {entry.n_params} {entry.released}",
        n_params=entry.n_params,
        active_params=int(entry.n_params * memory.active_fraction),
        n_ctx_train=bundle.n_ctx_train,
        drafter_kind=bundle.drafter_kind,
        file_bytes=entry.target_bytes + entry.drafter_bytes,
        target_bytes=entry.target_bytes,
        read_bytes=int(entry.target_bytes * memory.active_fraction),
        kv_bytes_per_token=memory.kv_bytes_per_token,
        total_bytes=partial(_entry_bytes, entry) if is_known else None,
        speedups=entry.speedups,
        released=entry.released,
    )


def subjects_of_installed(
    models: Iterable[InstalledModel], cache: LocalMemoryCache | None = None
) -> tuple[Subject, ...]:
    """Return what decides about models that are here; headers that `cache` does not know are read."""
    known = cache if cache is not None else LocalMemoryCache()
    subjects = tuple(subject_of_installed(model, known.memory(model.bundle.target)) for model in models)
    known.save()
    return subjects


def subject_of_installed(model: InstalledModel, memory: LocalMemory | None = None) -> Subject:
    """Return what decides about a model that is here; `memory` None: its size is all that is known."""
    drafter_bytes = _size_bytes(model.bundle.drafter.path)
    target_bytes = model.size_bytes - drafter_bytes
    fraction = memory.active_fraction if memory is not None else 1.0
    return Subject(
        id=model.id,
        name=model.bundle.name,
        family=model.id,
        n_params=model.n_params,
        active_params=int(model.n_params * fraction),
        n_ctx_train=model.n_ctx_train,
        drafter_kind=model.bundle.drafter.kind,
        file_bytes=model.size_bytes,
        target_bytes=target_bytes,
        read_bytes=int(target_bytes * fraction),
        kv_bytes_per_token=memory.kv_bytes_per_token if memory is not None else 0,
        total_bytes=partial(_local_bytes, memory, drafter_bytes) if memory is not None else None,
    )


def _local_bytes(memory: LocalMemory, drafter_bytes: int, n_ctx: int) -> int:
    return memory.at(n_ctx) + drafter_bytes


def _size_bytes(path: str) -> int:
    try:
        return os.stat(path).st_size if path else 0
    except (OSError, ValueError):
        return 0


def _entry_bytes(entry: CatalogueEntry, n_ctx: int) -> int:
    segments = estimate_entry(entry, n_ctx, KvType.F16, race=False)
    return sum(n_bytes for segment, n_bytes in segments.items() if segment is not Segment.RESERVE)
