"""The drafter of a bundle, loaded: its model, its context beside the target's, and what drafts with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.llama.block_context import open_block_drafter
from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings
from engine.llama.eagle3_context import open_eagle3
from engine.llama.head_context import open_mtp
from engine.llama.memory import Measurable
from engine.llama.model import Model
from engine.llama.vocabulary import require_match
from engine.models.bundle import DrafterChoice, DrafterKind
from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.fewer_tokens import FewerTokens
from engine.speculation.ngram import NgramDrafter
from engine.speculation.protocols import Drafter


class DrafterContext(Measurable, Protocol):
    """A drafter's own context: whatever its kind, it takes memory and is freed before the target's."""

    def close(self) -> None: ...


@dataclass(slots=True)
class LoadedDrafter:
    """What drafts for a loaded target; `context` None: a drafter without weights, or none at all.

    `model` None: it has no file of its own. `with_weights` drafts from `context`.
    """

    choice: DrafterChoice
    model: Model | None = None
    context: DrafterContext | None = None
    with_weights: Drafter | None = None
    _ngram: NgramDrafter | None = None

    def __post_init__(self) -> None:
        self.forget()

    @property
    def drafters(self) -> tuple[Drafter, ...]:
        """Return what is asked, in this order."""
        both = (self._ngram, self.with_weights)
        return tuple(drafter for drafter in both if drafter is not None)

    def forget(self) -> None:
        """Have nothing of any conversation left."""
        self._ngram = NgramDrafter() if self.choice.has_ngram else None
        if self.with_weights is not None:
            self.with_weights.begin(())

    def close_context(self) -> None:
        """Free the context, which points into the target's: to be done before that one is freed."""
        if self.context is not None:
            self.context.close()


def open_drafter(
    choice: DrafterChoice, model: Model | None, target: Context, settings: ContextSettings | None
) -> LoadedDrafter:
    """Return the drafter of `choice` beside the context `target`, warmed up.

    `model` is its file, opened; None for an MTP head inside the target's and for drafters without weights, which have
    no `settings` either. Raises VocabularyMismatch, PairUnfit, DrafterCannotRun, LoadFailed and Cancelled.
    """
    if settings is None:
        return LoadedDrafter(choice)
    with_weights, context = _open(choice.kind, model or target.model, target, settings)
    if context.model.n_vocab < target.n_vocab:
        with_weights = FewerTokens(with_weights, context.model.n_vocab)
    return LoadedDrafter(choice, model, context, with_weights)


def _open(
    kind: DrafterKind, model: Model, target: Context, settings: ContextSettings
) -> tuple[Drafter, DrafterContext]:
    if kind is DrafterKind.MODEL:
        return _open_draft_model(model, target, settings)
    if kind is DrafterKind.MTP:
        return open_mtp(model, target, settings)
    if kind is DrafterKind.EAGLE3:
        return open_eagle3(model, target, settings)
    return open_block_drafter(model, target, settings)


def _open_draft_model(
    model: Model, target: Context, settings: ContextSettings
) -> tuple[Drafter, DrafterContext]:
    require_match(target.model.vocabulary, model.vocabulary)
    context = warm(Context(model, settings, target.cancel))
    return DraftModelDrafter(context, target.n_vocab), context


def warm(context: Context) -> Context:
    """Return `context` warmed up; where that fails it is closed."""
    try:
        context.warm_up()
    except BaseException:
        context.close()
        raise
    return context
