"""Every kind of drafter on a tiny target, opened as the worker opens it, and one conversation on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from engine.chat.answer_text import AnswerText
from engine.llama.cancel import CancelFlag
from engine.llama.context import Context
from engine.llama.drafter_contexts import drafter_settings
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model
from engine.llama.sampler import ChainSampler
from engine.models.bundle import DrafterChoice, DrafterKind
from engine.models.model_file import ModelRole
from engine.speculation.draft_length import FixedLength
from engine.speculation.loop import decode_rounds
from engine.speculation.protocols import DraftPolicy, Logits, Target
from engine.speculation.round import Round
from engine.speculation.settings import SamplingSettings
from engine.worker.drafters import open_drafter
from engine.worker.loading import LoadedBundle, open_bundle
from engine.worker.messages import LoadSettings
from engine.worker.plan import LoadRequest
from tests.make_models.gguf_file import TRAINED

GREEDY = SamplingSettings()


@dataclass(frozen=True)
class Kind:
    """A target and what drafts for it. `drafter` "": no file. The files are in tests/models, or written by tests."""

    name: str
    target: str
    kind: DrafterKind
    drafter: str = ""
    with_ngram: bool = False

    @property
    def learns(self) -> bool:
        """Whether its drafts depend on what came true before: n-gram lookup keeps a record, whatever the text."""
        return DrafterChoice(self.kind, with_ngram=self.with_ngram).has_ngram

    @property
    def is_inside(self) -> bool:
        """Whether its drafter is part of the target's file."""
        return self.kind.has_weights and not self.drafter

    def choice(self, written: Path) -> DrafterChoice:
        path = str(_find(written, self.drafter)) if self.drafter else ""
        return DrafterChoice(self.kind, path, self.with_ngram)

    def request(self, written: Path, n_ctx: int) -> LoadRequest:
        settings = LoadSettings(n_ctx=n_ctx, n_threads=1, check_memory=False)
        return LoadRequest(str(_find(written, self.target)), self.choice(written), settings)


def _find(written: Path, name: str) -> Path:
    trained = TRAINED / f"{name}.gguf"
    return trained if trained.exists() else written / f"{name}.gguf"


_MODEL, _MTP, _EAGLE3 = DrafterKind.MODEL, DrafterKind.MTP, DrafterKind.EAGLE3
_DFLASH, _DSPARK = DrafterKind.DFLASH, DrafterKind.DSPARK

KINDS = (
    Kind("ngram", "llama", DrafterKind.NGRAM),
    Kind("draft-model", "llama", _MODEL, "llama-draft"),
    Kind("draft-model-and-ngram", "llama", _MODEL, "llama-draft", with_ngram=True),
    Kind("draft-model-of-hybrid", "qwen35-nomtp", _MODEL, "llama-draft"),
    Kind("draft-model-of-windows", "gemma4", _MODEL, "llama-draft"),
    Kind("mtp-inside", "qwen35", _MTP),
    Kind("mtp-beside", "qwen35-nomtp", _MTP, "mtp-qwen35"),
    Kind("mtp-chained", "step35", _MTP),
    Kind("mtp-shared", "gemma4", _MTP, "mtp-gemma4"),
    Kind("mtp-and-ngram", "gemma4", _MTP, "mtp-gemma4", with_ngram=True),
    Kind("mtp-of-experts", "glm4moe", _MTP),
    Kind("mtp-chained-fused", "mimo2", _MTP),
    Kind("eagle3", "llama", _EAGLE3, "llama-eagle3"),
    Kind("eagle3-d2t", "llama", _EAGLE3, "llama-eagle3-d2t"),
    Kind("eagle3-of-hybrid", "qwen35", _EAGLE3, "qwen35-eagle3"),
    Kind("dflash", "llama", _DFLASH, "llama-dflash"),
    Kind("dflash-of-hybrid", "qwen35", _DFLASH, "qwen35-dflash"),
    Kind("dflash2", "llama", _DFLASH, "llama-dflash2"),
    Kind("dspark", "llama", _DSPARK, "llama-dspark"),
    Kind("dspark-noanchor", "llama", _DSPARK, "llama-dspark-noanchor"),
)


_VARIANTS: Final = frozenset(
    {
        "draft-model-and-ngram", "draft-model-of-windows", "mtp-beside", "mtp-and-ngram", "mtp-of-experts",
        "mtp-chained-fused", "eagle3-d2t", "dflash-of-hybrid", "dflash2", "dspark-noanchor",
    }
)  # fmt: skip
DISTINCT = tuple(kind for kind in KINDS if kind.name not in _VARIANTS)
"""One of each way to draft and to go back; the others differ from one of them in their files alone."""


class PassCounter(CancelFlag):
    """A cancel flag that sets itself when it is asked before pass number `cancel_at` (1 is the next one)."""

    def __init__(self) -> None:
        super().__init__()
        self._n_left: int | None = None

    def cancel_at(self, n_passes: int | None) -> None:
        self.clear()
        self._n_left = n_passes

    @property
    def is_set(self) -> bool:
        if self._n_left is not None:
            self._n_left -= 1
            if self._n_left <= 0:
                self.set()
        return super().is_set


@dataclass(frozen=True)
class OpenKind:
    """A loaded pair. Its caches hold what the last answer left there."""

    kind: Kind
    bundle: LoadedBundle
    cancel: PassCounter

    @property
    def context(self) -> Context:
        return self.bundle.context

    def tokens(self, text: str) -> list[int]:
        return self.bundle.target.vocabulary.tokenize(text)

    def rounds(
        self,
        prompt: Sequence[int],
        *,
        settings: SamplingSettings = GREEDY,
        n_draft: int = 3,
        policy: DraftPolicy | None = None,
        max_tokens: int = 40,
        seed: int = 0,
        target: Target | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> Iterator[Round]:
        """Return the rounds of an answer, not begun yet; with `n_draft` 0 the drafters are not there at all."""
        vocabulary = self.bundle.target.vocabulary
        return decode_rounds(
            target or self.context,
            prompt,
            sampler=ChainSampler(vocabulary, settings),
            drafters=self.bundle.drafters if n_draft else (),
            policy=policy or FixedLength(n_draft),
            text=AnswerText(vocabulary.piece),
            max_tokens=max_tokens,
            rng=np.random.default_rng(seed),
            clock=clock,
        )

    def close(self) -> None:
        self.bundle.close()

    def close_drafter(self) -> None:
        """Close what drafts, and leave the target to whom it belongs."""
        self.bundle.drafter.close_context()
        if self.bundle.drafter_model is not None:
            self.bundle.drafter_model.close()


def open_kind(library: LlamaLibrary, kind: Kind, written: Path, n_ctx: int = 1024) -> OpenKind:
    """Load target and drafter as the worker does; `written` is the folder of tests.make_models."""
    cancel = PassCounter()
    bundle = open_bundle(library, kind.request(written, n_ctx), cancel, lambda what, fraction: None)
    return OpenKind(kind, bundle, cancel)


def open_beside(library: LlamaLibrary, opened: OpenKind, kind: Kind, written: Path) -> OpenKind:
    """Return the target of `opened`, with its context as it is, and the drafter of `kind`, which is no head inside.

    MTP heads, which may share the target's cells, are warmed up in empty ones. Close it by `close_drafter`, before
    `opened`.
    """
    assert kind.target == opened.kind.target
    assert not kind.is_inside
    choice, model, own = kind.choice(written), None, None
    if choice.path:
        model = Model.open(library, Path(choice.path), role=ModelRole.DRAFTER)
        own = drafter_settings(opened.bundle.context_settings, kind.kind, model.n_ctx_train)
    if kind.kind is DrafterKind.MTP:
        opened.context.rewind(0)
    drafter = open_drafter(choice, model, opened.context, own)
    return OpenKind(kind, replace(opened.bundle, drafter=drafter), opened.cancel)


@dataclass
class SmallPasses:
    """A target whose passes are shorter than the context could make them."""

    context: Context
    n_batch: int

    @property
    def n_vocab(self) -> int:
        return self.context.n_vocab

    @property
    def n_ctx(self) -> int:
        return self.context.n_ctx

    @property
    def max_rows(self) -> int:
        return self.context.max_rows

    @property
    def cached(self) -> Sequence[int]:
        return self.context.cached

    def rewind(self, n_tokens: int) -> None:
        self.context.rewind(n_tokens)

    def extend(self, tokens: Sequence[int], n_rows: int) -> None:
        assert len(tokens) <= self.n_batch
        self.context.extend(tokens, n_rows)

    def logits(self, row: int) -> Logits:
        return self.context.logits(row)

    def is_end_of_answer(self, token: int) -> bool:
        return self.context.is_end_of_answer(token)


class DearTarget(SmallPasses):
    """A target beside whose passes drafting costs next to nothing, by its own `clock`.

    Each token of a pass adds `token_s` to a second.
    """

    def __init__(self, context: Context, token_s: float = 0.1) -> None:
        super().__init__(context, context.n_batch)
        self._token_s = token_s
        self._now_s = 0.0

    def clock(self) -> float:
        self._now_s += 1e-3
        return self._now_s

    def extend(self, tokens: Sequence[int], n_rows: int) -> None:
        self._now_s += 1.0 + self._token_s * len(tokens)
        super().extend(tokens, n_rows)


def tokens_of(rounds: Iterator[Round] | Sequence[Round]) -> list[int]:
    return [token for done in rounds for token in done.tokens]


def drafts_of(rounds: Sequence[Round]) -> list[tuple[tuple[int, ...], int]]:
    """Return what each round drafted and how much of it was accepted."""
    return [(done.drafted, done.accepted) for done in rounds if not done.is_prompt_pass]
