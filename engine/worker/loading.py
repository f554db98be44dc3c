"""Loading a bundle: the target, its drafter and a context for each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from engine.budget.reckoning import predicted_bytes
from engine.budget.refusal import require_second_context
from engine.budget.room import room_of
from engine.errors import Cancelled
from engine.llama.breakdown import HOST, add_up
from engine.llama.cancel import CancelFlag
from engine.llama.context import Context, ContextSettings
from engine.llama.devices import list_devices
from engine.llama.library import LlamaLibrary
from engine.llama.memory import Measurable, allocated
from engine.llama.model import Model
from engine.llama.prompt import PromptTokenizer
from engine.models.bundle import DrafterKind
from engine.models.model_file import ModelRole
from engine.speculation.protocols import Drafter
from engine.worker.budgeting import Foreseen, foresee
from engine.worker.drafters import LoadedDrafter, open_drafter, warm
from engine.worker.learned import Experience, recall
from engine.worker.plan import LoadRequest, make_plan
from engine.worker.threads import ThreadPolicy, make_thread_policy

OnProgress = Callable[[str, float], None]


@dataclass(slots=True)
class LoadedBundle:
    """A loaded target with the context of the conversation, and what drafts for it.

    `plain_context` is the second cache on the same weights; a race makes it when it first needs it.
    """

    request: LoadRequest
    stamps: tuple[tuple[int, int], ...]
    cancel: CancelFlag
    context_settings: ContextSettings
    target: Model
    context: Context
    tokenizer: PromptTokenizer
    load_s: float
    foreseen: Foreseen
    grown_bytes: int
    drafter: LoadedDrafter
    threads: ThreadPolicy | None = None
    _plain_context: Context | None = None
    _experience: Experience | None = None

    def experience(self) -> Experience:
        """Return what is known about this bundle, read when it is first wanted."""
        if self._experience is None:
            self._experience = recall(self.request, self.context_settings.n_threads)
        return self._experience

    def plain_context(self) -> Context:
        """Return the race's second context, empty the first time; raises LoadFailed where there is no memory
        for it, Cancelled while it is warmed up.
        """
        if self._plain_context is None:
            if self.request.settings.check_memory:
                require_second_context(self.foreseen.use, room_of(list_devices()))
            # It never drafts: there is nothing to roll back.
            settings = replace(self.context_settings, n_rs_seq=0)
            self._plain_context = warm(Context(self.target, settings, self.cancel))
        return self._plain_context

    @property
    def drafter_model(self) -> Model | None:
        """The drafter's own model: None where it has none, or is inside the target's."""
        return self.drafter.model

    @property
    def drafters(self) -> tuple[Drafter, ...]:
        return self.drafter.drafters

    def contexts(self) -> tuple[Measurable, ...]:
        made = (self.context, self._plain_context, self.drafter.context)
        return tuple(context for context in made if context is not None)

    def memory_bytes(self) -> dict[str, int]:
        """Return what weights, caches and compute buffers take, by device name; where llama.cpp does not tell, what was
        expected.
        """
        return self.measured_bytes() or self.predicted_bytes()

    def measured_bytes(self) -> dict[str, int]:
        """Return the same as llama.cpp accounts for it; {} where it does not tell."""
        seen: set[Model] = set()
        parts = []
        for context in self.contexts():
            part = allocated(context)
            # Every context of a model counts the model's weights.
            parts.append(
                {name: use.without_weights() for name, use in part.items()} if context.model in seen else part
            )
            seen.add(context.model)
        return {device: use.total_bytes for device, use in add_up(parts).items()}

    def predicted_bytes(self) -> dict[str, int]:
        """Return what was expected that `memory_bytes` would be, with the snapshots that have been taken by now.

        {} where nobody asked.
        """
        if not self.foreseen.use:
            return {}
        expected = predicted_bytes(self.foreseen.use, race=self._plain_context is not None)
        if not expected:
            return {}
        snapshot_bytes = sum(context.snapshot_bytes for context in self.contexts())
        return {**expected, HOST: expected.get(HOST, 0) + snapshot_bytes}

    def forget(self) -> None:
        """Empty every cache, the drafter's memory included."""
        self.context.rewind(0)
        if self._plain_context is not None:
            self._plain_context.rewind(0)
        self.drafter.forget()

    def close(self) -> None:
        self.drafter.close_context()
        self.context.close()
        if self._experience is not None:
            self._experience.keep(at_once=True)
        # A model closes the contexts that were made from it.
        if self.drafter_model is not None:
            self.drafter_model.close()
        self.target.close()


def open_bundle(
    library: LlamaLibrary, request: LoadRequest, cancel: CancelFlag, on_progress: OnProgress
) -> LoadedBundle:
    """Load everything that `request` names; nothing stays loaded when this raises.

    `on_progress("target" or "drafter", fraction)`. Raises what the checks of files, pair and memory, Model.open,
    Context and open_drafter raise, and Cancelled.
    """
    began_s = time.monotonic()
    plan = make_plan(request)
    foreseen = foresee(library, plan, list_devices())
    before_bytes = _resident_bytes()
    chosen = request.drafter
    with contextlib.ExitStack() as undo:
        target = undo.enter_context(_open(library, request, ModelRole.TARGET, cancel, on_progress))
        drafter_model = None
        if chosen.kind.has_weights and chosen.path:
            drafter_model = undo.enter_context(
                _open(library, request, ModelRole.DRAFTER, cancel, on_progress)
            )
        context = undo.enter_context(Context(target, plan.target, cancel))
        # What a drafter has the target publish changes its buffers, so it comes before the target warms up.
        drafter = open_drafter(chosen, drafter_model, context, plan.drafter)
        undo.callback(drafter.close_context)
        context.warm_up()
        if cancel.is_set:
            raise Cancelled("Loading was stopped.")
        undo.pop_all()
    return LoadedBundle(
        request=request,
        stamps=request.stamps(),
        cancel=cancel,
        context_settings=plan.target,
        target=target,
        context=context,
        tokenizer=PromptTokenizer(target),
        load_s=time.monotonic() - began_s,
        foreseen=foreseen,
        grown_bytes=max(_resident_bytes() - before_bytes, 0),
        drafter=drafter,
        threads=make_thread_policy(request.settings, list_devices()),
    )


def _resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


def _open(
    library: LlamaLibrary, request: LoadRequest, role: ModelRole, cancel: CancelFlag, on_progress: OnProgress
) -> Model:
    is_target = role is ModelRole.TARGET
    what = "target" if is_target else "drafter"
    has_head_inside = request.drafter.kind is DrafterKind.MTP and not request.drafter.path
    return Model.open(
        library,
        Path(request.target if is_target else request.drafter.path),
        role=role,
        n_gpu_layers=request.settings.n_gpu_layers,
        with_mtp=is_target and has_head_inside,
        on_progress=lambda fraction: on_progress(what, fraction),
        is_cancelled=lambda: cancel.is_set,
    )
