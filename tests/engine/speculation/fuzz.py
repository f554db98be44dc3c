"""Random lives of a conversation: it begins anew, answers, is cancelled, edited, answered again, by one drafter and
then another, with drafts of any length; after each step every cache is compared with one made from scratch.

A sequence depends on its seed alone, the times that the controller sees too. `python -m benchmarks.fuzz` runs many.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.errors import Cancelled
from engine.llama.context import Context, ContextSettings
from engine.llama.library import LlamaLibrary
from engine.speculation.adaptive.controller import AdaptiveController
from engine.speculation.adaptive.learned import Learned
from engine.speculation.cache import evaluate_missing, n_reusable
from engine.speculation.draft_length import FixedLength
from engine.speculation.protocols import Draft, Drafter, DraftPolicy, DraftRequest, Logits, RoundCost
from engine.speculation.round import Round
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.breaking_off import broken_off_at_node
from tests.engine.speculation.kinds import (
    GREEDY,
    KINDS,
    DearTarget,
    Kind,
    OpenKind,
    open_beside,
    open_kind,
)
from tests.make_models.reference import PROMPTS

N_CTX = 256
MAX_DRAFT = 7
MAX_NODES = 4000
"""Of graphs; a pass of the tiny targets has 100 to 300."""
STAYS = 0.7
"""How often another drafter goes on with the same context of the target, where it can."""
TOKEN_S = (0.02, 0.1, 0.8)
"""What a token may add to a pass: next to nothing, little, so much that drafts hardly pay."""
TOLERANCE = 0.05
"""How far logits may be from those of one pass over everything, whose sums are added up in another order.

Keys and values are kept in 16 bits. A wrong cache is off by whole units.
"""
NEAR_TIE = 0.02
SAMPLED = SamplingSettings(temperature=0.9, top_k=20, top_p=0.95, min_p=0.02, presence_penalty=0.2)


@dataclass(frozen=True)
class RandomPolicy:
    """A DraftPolicy that asks any drafter for any length, and stops any draft anywhere."""

    chance: random.Random

    def draft(self, drafters: Sequence[Drafter], request: DraftRequest) -> Draft:
        n_max = min(self.chance.randint(0, MAX_DRAFT), request.n_max)
        if n_max == 0:
            return Draft()
        drafter = self.chance.choice(drafters)
        n_admitted = self.chance.choice((0, 1, 2, 3, MAX_DRAFT, MAX_DRAFT, MAX_DRAFT))
        return drafter.draft(
            request.history, n_max, request.sampler, request.rng, lambda i, confidence: i < n_admitted
        )

    def learn(self, cost: RoundCost) -> None:
        """Chance learns nothing."""


class Workshop:
    """What sequences share: a scratch context of each target, and a pair of each kind that is emptied before use."""

    def __init__(self, library: LlamaLibrary, written: Path) -> None:
        self._library, self._written = library, written
        self._undo = contextlib.ExitStack()
        self._pairs: dict[str, OpenKind] = {}
        self._contexts: dict[str, Context] = {}

    def open(self, kind: Kind) -> OpenKind:
        return open_kind(self._library, kind, self._written, N_CTX)

    def open_beside(self, opened: OpenKind, kind: Kind) -> OpenKind:
        return open_beside(self._library, opened, kind, self._written)

    def unspoilt(self, kind: Kind) -> OpenKind:
        """Return the pair of this kind with nothing in it."""
        if kind.name not in self._pairs:
            self._pairs[kind.name] = pair = self.open(kind)
            self._undo.callback(pair.close)
        self._pairs[kind.name].bundle.forget()
        return self._pairs[kind.name]

    def scratch(self, kind: Kind) -> Context:
        """Return an empty context of the target of `kind` that no drafter reads."""
        if kind.target not in self._contexts:
            model = self.unspoilt(kind).bundle.target
            self._contexts[kind.target] = Context(model, ContextSettings(N_CTX, n_threads=1))
        self._contexts[kind.target].rewind(0)
        return self._contexts[kind.target]

    def close(self) -> None:
        self._undo.close()


@dataclass
class RandomLife:
    """One conversation in the making. `history` is what was said, `n_prompt` where the last answer begins in it."""

    workshop: Workshop
    seed: int
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        target = self.chance.choice(sorted({kind.target for kind in KINDS}))
        self.kinds = [kind for kind in KINDS if kind.target == target]
        self.homes: dict[str, OpenKind] = {}
        self.guests: dict[tuple[str, str], OpenKind] = {}
        self.learned = Learned()
        self.history: list[int] = []
        self.n_prompt = 0
        self.switch_drafter()
        self.begin()

    # ------------------------------------------------------------------------------------------------ steps

    def run(self) -> None:
        """Do some steps, checking after each; raises AssertionError with what was done."""
        steps = (
            self.begin, self.generate, self.generate, self.cancel, self.abort, self.give_up, self.edit,
            self.cut, self.say, self.switch_drafter, self.regenerate, self.forget,
        )  # fmt: skip
        try:
            for _ in range(self.chance.randint(3, 9)):
                self.chance.choice(steps)()
                self.check_target()
            self.generate()
            self.check_target()
            self.check_drafts()
        except AssertionError as error:
            raise AssertionError(f"sequence {self.seed}: {'; '.join(self.log)}: {error}") from error
        finally:
            for guest in self.guests.values():
                guest.close_drafter()
            for home in self.homes.values():
                home.close()

    def begin(self) -> None:
        text = "".join(self.chance.choice(PROMPTS) for _ in range(self.chance.randint(1, 3)))
        tokens = self.pair.tokens(text)
        self.history = tokens[: self.chance.choice((1, 2, 7, 40, 100, len(tokens)))]
        self.note("begin", len(self.history))

    def say(self) -> None:
        self.history += [self.chance.randrange(256) for _ in range(self.chance.randint(1, 30))]
        del self.history[N_CTX - 1 :]
        self.note("say", len(self.history))

    def edit(self) -> None:
        place = self.chance.randrange(len(self.history))
        self.history[place] = self.chance.randrange(376)
        self.note("edit", place)

    def cut(self) -> None:
        del self.history[self.chance.randint(1, len(self.history)) :]
        self.note("cut", len(self.history))

    def switch_drafter(self) -> None:
        """Have another drafter, on the context that the last one drafted for or on one of its own."""
        kind = self.chance.choice(self.kinds)
        if not (self.homes and not kind.is_inside and self.chance.random() < STAYS):
            if kind.name not in self.homes:
                self.homes[kind.name] = self.workshop.open(kind)
            self.home = self.homes[kind.name]
        self.pair = self.home if kind is self.home.kind else self._guest(kind)
        self.note("switch", f"{kind.name} on {self.home.kind.name}")

    def _guest(self, kind: Kind) -> OpenKind:
        key = (self.home.kind.name, kind.name)
        if key not in self.guests:
            self.guests[key] = self.workshop.open_beside(self.home, kind)
        return self.guests[key]

    def forget(self) -> None:
        self.pair.bundle.forget()
        self.note("forget", 0)

    def generate(self) -> None:
        self.answer("generate", self.chance.choice((1, 2, 5, 20, 20, 300)))

    def regenerate(self) -> None:
        del self.history[max(1, self.n_prompt) :]
        self.generate()

    def give_up(self) -> None:
        self.answer("give up", 20, n_rounds=self.chance.randint(1, 5))

    def cancel(self) -> None:
        self.pair.cancel.cancel_at(n_passes := self.chance.randint(1, 15))
        self.answer(f"cancel at pass {n_passes}", 20)

    def abort(self) -> None:
        """Cancel in the middle of a pass, whichever it is."""
        n_nodes = self.chance.randint(1, MAX_NODES)
        with broken_off_at_node(self.pair, n_nodes):
            self.answer(f"abort at node {n_nodes}", 100)

    # ---------------------------------------------------------------------------------------------- answers

    def answer(self, what: str, max_tokens: int, n_rounds: int = 1000) -> None:
        prompt = self.history = self.history[: N_CTX - 1]
        self.n_prompt = len(prompt)
        settings = self.chance.choice((GREEDY, GREEDY, SAMPLED))
        policy = self.policy(settings)
        target = DearTarget(self.pair.context, self.chance.choice(TOKEN_S))
        rounds = self.pair.rounds(
            prompt,
            settings=settings,
            policy=policy,
            max_tokens=max_tokens,
            seed=self.seed,
            target=target,
            clock=target.clock,
        )
        said = list(self._said(rounds, n_rounds))
        rounds.close()  # type: ignore[attr-defined]
        self.pair.cancel.cancel_at(None)
        self.history = [*prompt, *said]
        self.note(f"{what}{'' if settings.is_greedy else ' sampled'} {type(policy).__name__}", len(said))
        self.check_answer(said, settings)

    def policy(self, settings: SamplingSettings) -> DraftPolicy:
        fixed = FixedLength(self.chance.randint(0, MAX_DRAFT))
        controller = AdaptiveController(self.learned, settings.temperature)
        return self.chance.choice((RandomPolicy(self.chance), fixed, controller))

    def _said(self, rounds: Iterator[Round], n_rounds: int) -> Iterator[int]:
        with contextlib.suppress(Cancelled):
            for _, done in zip(range(n_rounds), rounds, strict=False):
                yield from done.tokens

    def note(self, what: str, n: int | str) -> None:
        self.log.append(f"{what} ({n})")

    # ----------------------------------------------------------------------------------------------- checks

    def check_answer(self, said: Sequence[int], settings: SamplingSettings) -> None:
        """Assert that each token is one that the target says there, by its logits from scratch."""
        for token, row in zip(said, self._rows_from_scratch(len(said)), strict=True):
            if settings.is_greedy:
                assert row.max() - row[token] < NEAR_TIE, f"{token} is not what the target says"
            else:
                # A penalty may let others through that are not among the top k without it.
                n_better = int((row > row[token] + settings.presence_penalty + NEAR_TIE).sum())
                assert n_better < settings.top_k + len(set(self.history)), f"{token} is out of the question"

    def _rows_from_scratch(self, n_said: int) -> Iterator[Logits]:
        """Yield the logits that each of the last `n_said` tokens was chosen by."""
        context = self.workshop.scratch(self.pair.kind)
        first = len(self.history) - n_said
        evaluate_missing(context, self.history[: first - 1])
        for start in range(first - 1, len(self.history) - 1, context.max_rows):
            chunk = self.history[start : min(start + context.max_rows, len(self.history) - 1)]
            context.extend(chunk, len(chunk))
            yield from (context.logits(row) for row in range(len(chunk)))

    def check_target(self) -> None:
        """Assert that the target's cache is of a beginning of the conversation, and worth what one from scratch is."""
        context, history = self.pair.context, self.history[: N_CTX - 1]
        if self.log[-1].startswith(("generate", "cancel", "abort", "give up")):
            assert list(context.cached) == history[: len(context.cached)]
        context.rewind(n_reusable(context.cached, history))
        evaluate_missing(context, history)
        scratch = self.workshop.scratch(self.pair.kind)
        evaluate_missing(scratch, history)
        off = float(np.abs(context.logits(0) - scratch.logits(0)).max())
        assert off < TOLERANCE, f"the target's logits are off by {off}"

    def check_drafts(self) -> None:
        """Assert that the drafters propose what they propose in a conversation without a past.

        Up to where the two answers part, as they may where the target has two tokens to choose from. The drafter may
        have that once too; a spoilt cache changes more than one draft.
        """
        if self.pair.kind.learns:
            return
        prompt = self.history[: N_CTX - 20]
        pairs = (self.pair, self.workshop.unspoilt(self.pair.kind))
        aged, new = ([*pair.rounds(prompt, n_draft=5, max_tokens=16)] for pair in pairs)
        n_others = 0
        for ours, theirs in zip(*(drop_prompt(rounds) for rounds in (aged, new)), strict=False):
            n_others += ours.drafted != theirs.drafted
            if ours.tokens != theirs.tokens:
                break
        assert n_others <= 1, f"{n_others} drafts are others"


def drop_prompt(rounds: Sequence[Round]) -> list[Round]:
    return [done for done in rounds if not done.is_prompt_pass]
