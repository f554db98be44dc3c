"""A computer and a text that are only numbers: what passes cost, what a drafter knows, and how sure it is.

Which token would be accepted is drawn once for each position of the text, so that every policy meets the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.speculation.draft_length import FixedLength
from engine.speculation.protocols import Draft, Drafter, DraftPolicy, DraftRequest, Gate, RoundCost, Sampler
from engine.speculation.round import DraftSource, Skip
from engine.speculation.settings import MAX_DRAFT_LENGTH, SamplingSettings
from tests.numpy_models import NumpySampler

GOOD, BAD = 1, 0


@dataclass(frozen=True)
class Computer:
    """`pass_s(n)` seconds for a target pass over n tokens; a draft takes `fixed_s` and `step_s` a step; a token that
    the drafter missed takes `missed_s`. Every time is multiplied by log-normal noise, some by a disturbance.
    """

    pass_s: Callable[[int], float]
    step_s: float
    fixed_s: float = 0.0
    missed_s: float = 0.0
    noise: float = 0.05
    disturbed: float = 0.02
    disturbance: float = 3.0


@dataclass(frozen=True)
class Text:
    """Position by position: whether a drafter's token would be accepted after accepted ones, how sure the drafter is,
    and how sure the target is.
    """

    accepted: Sequence[bool]
    confidences: Sequence[float]
    certainties: Sequence[float]


def make_text(chances: Sequence[float], seed: int, *, sharpness: float = 3.0, bias: float = 0.0) -> Text:
    """Return a text whose tokens are accepted with `chances` on average.

    A token's own chance is spread about the average, the more the smaller `sharpness`; the confidence is that chance,
    shifted by `bias` in log odds.
    """
    rng = np.random.default_rng(seed)
    mean = np.clip(np.asarray(chances, dtype=np.float64), 0.01, 0.99)
    own = np.clip(rng.beta(mean * sharpness, (1.0 - mean) * sharpness), 1e-6, 1.0 - 1e-6)
    told = 1.0 / (1.0 + np.exp(-np.log(own / (1.0 - own)) - bias))
    sure = 1.0 / (1.0 + np.exp(-np.log(mean / (1.0 - mean)) - rng.normal(0.0, 1.5, len(mean))))
    return Text(
        [bool(one) for one in rng.random(len(own)) < own],
        [float(one) for one in told],
        [float(one) for one in sure],
    )


@dataclass
class SimulatedDrafter:
    """Drafts what `text` says. One that drafts blocks takes a single step for any length."""

    text: Text
    source: DraftSource = DraftSource.DRAFT_MODEL
    is_block: bool = False
    n_steps: int = 0
    n_seen: int = 0
    n_missed: int = 0

    def begin(self, prompt: Sequence[int]) -> int:
        return len(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        """Nothing to read."""

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        at = len(history)
        self.n_missed, self.n_seen = max(0, at - self.n_seen - MAX_DRAFT_LENGTH), at
        tokens: list[int] = []
        while len(tokens) < n_max:
            i = len(tokens)
            self.n_steps = 1 if self.is_block else i + 1
            if not gate(i, self.text.confidences[at + i]):
                break
            tokens.append(GOOD if self.text.accepted[at + i] else BAD)
        return Draft(tuple(tokens), self.source, None, tuple(self.text.confidences[at : at + len(tokens)]))


@dataclass
class Outcome:
    """What an answer took but for noise, which the policy sees; and the draft length and the reason of each round."""

    seconds: float = 0.0
    n_tokens: int = 0
    lengths: list[int] = field(default_factory=list)
    sources: list[DraftSource] = field(default_factory=list)
    skips: list[Skip | None] = field(default_factory=list)

    @property
    def tokens_per_s(self) -> float:
        return self.n_tokens / self.seconds


def simulate(
    policy: DraftPolicy,
    drafters: Sequence[SimulatedDrafter],
    computer: Computer,
    n_tokens: int,
    seed: int = 0,
    n_prompt: int = 20,
    slow: Callable[[int], float] = lambda n: 1.0,
) -> Outcome:
    """Return how `policy` does over an answer of `n_tokens`; `slow(n)` is how much slower all is after n tokens."""
    rng = np.random.default_rng(seed)
    sampler = NumpySampler(SamplingSettings())
    history, done = [0] * n_prompt, Outcome()
    asked: list[Drafter] = [*drafters]
    for drafter in drafters:
        drafter.n_seen = n_prompt
    while done.n_tokens < n_tokens:
        for drafter in drafters:
            drafter.n_steps = drafter.n_missed = 0
        left = n_tokens - done.n_tokens - 1
        request = DraftRequest(history, left, sampler, rng)
        draft = policy.draft(asked, request) if left else Draft()
        accepted = next((i for i, token in enumerate(draft.tokens) if token == BAD), len(draft.tokens))
        pace = slow(done.n_tokens)
        draft_s = sum(_draft_s(computer, drafter) for drafter in drafters) * pace
        verify_s = computer.pass_s(1 + len(draft.tokens)) * pace
        measured = (draft_s * _noise(computer, rng), verify_s * _noise(computer, rng))
        surest = max(drafter.text.certainties[len(history)] for drafter in drafters)
        certainty = None if draft.skip is None else surest
        policy.learn(RoundCost(1 + len(draft.tokens), len(history), draft, accepted, *measured, certainty))
        history += [GOOD] * (accepted + 1)
        done.n_tokens += accepted + 1
        done.seconds += draft_s + verify_s
        done.lengths.append(len(draft.tokens))
        done.sources.append(draft.source if draft.tokens else DraftSource.NONE)
        done.skips.append(draft.skip)
    return done


def best_fixed(
    drafters: Sequence[SimulatedDrafter], computer: Computer, n_tokens: int, seed: int = 0
) -> tuple[int, float]:
    """Return the fixed length that does best on this text in hindsight, 0 included, and its tokens per second."""
    speeds = {
        n: simulate(FixedLength(n), drafters, computer, n_tokens, seed).tokens_per_s
        for n in (0, 1, 2, 3, 4, 6, 8, 12, 16)
    }
    best = max(speeds, key=speeds.__getitem__)
    return best, speeds[best]


def _draft_s(computer: Computer, drafter: SimulatedDrafter) -> float:
    if not drafter.n_steps or drafter.source is DraftSource.NGRAM:
        return 0.0
    return computer.fixed_s + drafter.n_steps * computer.step_s + drafter.n_missed * computer.missed_s


def _noise(computer: Computer, rng: np.random.Generator) -> float:
    noise = float(np.exp(rng.normal(0.0, computer.noise)))
    return noise * computer.disturbance if rng.random() < computer.disturbed else noise


def flat(single_s: float, slope: float) -> Callable[[int], float]:
    """A target that waits for memory: each further token adds `slope` of a single pass."""
    return lambda n: single_s * (1.0 + slope * (n - 1))


def stepped(single_s: float, at: int, jump: float, slope: float) -> Callable[[int], float]:
    """Another kernel from `at` tokens on."""
    return lambda n: single_s * (1.0 + slope * (n - 1) + (jump if n >= at else 0.0))
