"""Loading a bundle: the target, its drafter and a context for each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
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
from engine.llama.memory import allocated
from engine.llama.model import Model
from engine.llama.prompt import PromptTokenizer
from engine.llama.vocabulary import require_match
from engine.models.bundle import DrafterChoice, DrafterKind
from engine.models.model_file import ModelRole
from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.ngram import NgramDrafter
from engine.speculation.protocols import Drafter
from engine.worker.budgeting import Foreseen, foresee
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
    drafter_model: Model | None = None
    drafter_context: Context | None = None
    drafters: tuple[Drafter, ...] = ()
    threads: ThreadPolicy | None = None
    _plain_context: Context | None = None

    def plain_context(self) -> Context:
        """Return the race's second context, empty the first time; raises LoadFailed where there is no memory
        for it, Cancelled while it is warmed up.
        """
        if self._plain_context is None:
            if self.request.settings.check_memory:
                require_second_context(self.foreseen.use, room_of(list_devices()))
            self._plain_context = _warm(Context(self.target, self.context_settings, self.cancel))
        return self._plain_context

    def contexts(self) -> tuple[Context, ...]:
        made = (self.context, self._plain_context, self.drafter_context)
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
        for context in self.contexts():
            context.rewind(0)
        self.drafters = make_drafters(self.request.drafter, self.drafter_context, self.target.n_vocab)

    def close(self) -> None:
        # A model closes the contexts that were made from it.
        if self.drafter_model is not None:
            self.drafter_model.close()
        self.target.close()


def open_bundle(
    library: LlamaLibrary, request: LoadRequest, cancel: CancelFlag, on_progress: OnProgress
) -> LoadedBundle:
    """Load everything that `request` names; nothing stays loaded when this raises.

    `on_progress("target" or "drafter", fraction)`. Raises what the checks of files and memory, Model.open and
    Context raise, VocabularyMismatch and Cancelled.
    """
    began_s = time.monotonic()
    plan = make_plan(request)
    foreseen = foresee(library, plan, list_devices())
    before_bytes = _resident_bytes()
    with contextlib.ExitStack() as undo:
        target = undo.enter_context(_open(library, request, ModelRole.TARGET, cancel, on_progress))
        drafter_model = drafter_context = None
        if plan.drafter is not None:
            drafter_model = undo.enter_context(
                _open(library, request, ModelRole.DRAFT_MODEL, cancel, on_progress)
            )
            require_match(target.vocabulary, drafter_model.vocabulary)
        context = _warm(Context(target, plan.target, cancel))
        if drafter_model is not None and plan.drafter is not None:
            drafter_context = _warm(Context(drafter_model, plan.drafter, cancel))
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
        drafter_model=drafter_model,
        drafter_context=drafter_context,
        drafters=make_drafters(request.drafter, drafter_context, target.n_vocab),
        threads=make_thread_policy(request.settings, list_devices()),
    )


def _resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


def _warm(context: Context) -> Context:
    """Return `context` warmed up; where that fails it is closed."""
    try:
        context.warm_up()
    except BaseException:
        context.close()
        raise
    return context


def make_drafters(choice: DrafterChoice, context: Context | None, n_target_vocab: int) -> tuple[Drafter, ...]:
    """Return the drafters of `choice`, without memory of any conversation; () for no drafting."""
    beside: tuple[Drafter, ...] = (NgramDrafter(),) if choice.has_ngram else ()
    if choice.kind is DrafterKind.MODEL and context is not None:
        return (*beside, DraftModelDrafter(context, n_target_vocab))
    return beside


def _open(
    library: LlamaLibrary, request: LoadRequest, role: ModelRole, cancel: CancelFlag, on_progress: OnProgress
) -> Model:
    is_target = role is ModelRole.TARGET
    what = "target" if is_target else "drafter"
    return Model.open(
        library,
        Path(request.target if is_target else request.drafter.path),
        role=role,
        n_gpu_layers=request.settings.n_gpu_layers,
        on_progress=lambda fraction: on_progress(what, fraction),
        is_cancelled=lambda: cancel.is_set,
    )
