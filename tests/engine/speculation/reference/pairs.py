"""A target and a drafter of any kind on llama.cpp, and its answers as the reference asks for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from engine.chat.answer_text import AnswerText
from engine.llama.context import Context, ContextSettings
from engine.llama.drafter_contexts import drafter_settings, target_settings
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model
from engine.llama.sampler import ChainSampler
from engine.models.bundle import ROLLBACK_TOKENS, DrafterChoice, DrafterKind
from engine.models.model_file import ModelRole
from engine.speculation.loop import decode_rounds
from engine.speculation.protocols import Drafter, DraftPolicy
from engine.speculation.round import Round
from engine.speculation.settings import SamplingSettings
from engine.worker.drafters import open_drafter
from tests.engine.speculation.reference.recorded import N_CTX, N_TOKENS

GREEDY: Final = SamplingSettings()


class EndlessContext(Context):
    """A target whose answers go on after their end, as the reference's do (`ignore_eos`)."""

    def is_end_of_answer(self, token: int) -> bool:
        return False


@dataclass(frozen=True)
class Answered:
    """One answer of one pair."""

    rounds: tuple[Round, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(token for done in self.rounds for token in done.tokens)

    @property
    def counts(self) -> tuple[int, int]:
        """Tokens (drafted, accepted)."""
        return sum(len(done.drafted) for done in self.rounds), sum(done.accepted for done in self.rounds)


@dataclass(frozen=True)
class Pair:
    """A target and what drafts for it, if anything does."""

    target: Context
    drafters: tuple[Drafter, ...] = ()

    def tokens(self, prompt: str) -> list[int]:
        return self.target.model.vocabulary.tokenize(prompt)

    def rounds(
        self,
        prompt: list[int],
        policy: DraftPolicy,
        settings: SamplingSettings = GREEDY,
        max_tokens: int = N_TOKENS,
        seed: int = 0,
        grammar: str = "",
    ) -> Iterator[Round]:
        vocabulary = self.target.model.vocabulary
        return decode_rounds(
            self.target,
            prompt,
            sampler=ChainSampler(vocabulary, settings, grammar),
            drafters=self.drafters,
            policy=policy,
            text=AnswerText(vocabulary.piece),
            max_tokens=max_tokens,
            rng=np.random.default_rng(seed),
        )

    def answer(self, prompt: str, policy: DraftPolicy, max_tokens: int = N_TOKENS) -> Answered:
        return Answered(tuple(self.rounds(self.tokens(prompt), policy, max_tokens=max_tokens)))


@contextlib.contextmanager
def opened_pair(
    llama: LlamaLibrary, target: Path, drafter: Path | None, kind: DrafterKind, n_ctx: int = N_CTX
) -> Iterator[Pair]:
    """Open both files, one thread each; `drafter` None: the head inside the target."""
    settings = target_settings(ContextSettings(n_ctx=n_ctx, n_threads=1), kind, ROLLBACK_TOKENS)
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(Model.open(llama, target, with_mtp=drafter is None))
        context = stack.enter_context(EndlessContext(model, settings))
        head = None
        if drafter is not None:
            head = stack.enter_context(Model.open(llama, drafter, role=ModelRole.DRAFTER))
        own = drafter_settings(settings, kind, (head or model).n_ctx_train)
        opened = open_drafter(DrafterChoice(kind, str(drafter or "")), head, context, own)
        stack.callback(opened.close_context)
        yield Pair(context, opened.drafters)
