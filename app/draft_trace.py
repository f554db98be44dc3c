"""How far each pass of an answer was drafted, and by whom: what the strip under a comparison shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app.format import count
from engine.speculation.round import DraftSource, Round

SOURCE_WORDS: Final = {
    DraftSource.NONE: "nobody",
    DraftSource.NGRAM: "n-gram",
    DraftSource.DRAFT_MODEL: "draft model",
    DraftSource.MTP: "MTP head",
    DraftSource.EAGLE3: "EAGLE-3",
    DraftSource.DFLASH: "DFlash",
    DraftSource.DSPARK: "DSpark",
}


@dataclass(frozen=True, slots=True)
class DraftStep:
    """One pass: `drafted` tokens from `source`, `accepted` of them right; `is_skip`: drafting would not have paid."""

    drafted: int
    accepted: int
    source: DraftSource
    is_skip: bool = False


@dataclass(frozen=True, slots=True)
class DraftTrace:
    """The passes of an answer in order, the prompt's left out."""

    steps: tuple[DraftStep, ...] = ()

    @property
    def sources(self) -> tuple[DraftSource, ...]:
        """Return who drafted, the most diligent first."""
        used = dict.fromkeys(step.source for step in self.steps if step.drafted)
        return tuple(sorted(used, key=lambda source: -self._n_by(source)))

    @property
    def summary(self) -> str:
        """Return "draft model 61 of 80, n-gram 12 of 80, nobody 7 of 80"."""
        counts = [(SOURCE_WORDS[source], self._n_by(source)) for source in self.sources]
        counts.append((SOURCE_WORDS[DraftSource.NONE], sum(not step.drafted for step in self.steps)))
        return ", ".join(f"{name} {n} of {len(self.steps)}" for name, n in counts if n)

    def _n_by(self, source: DraftSource) -> int:
        return sum(1 for step in self.steps if step.drafted and step.source is source)

    def plus(self, rounds: Iterable[Round]) -> DraftTrace:
        """Return the trace with more rounds."""
        return DraftTrace((*self.steps, *steps_of(rounds)))


def steps_of(rounds: Iterable[Round]) -> tuple[DraftStep, ...]:
    return tuple(
        DraftStep(len(one.drafted), one.accepted, one.source, one.skip is not None)
        for one in rounds
        if not one.is_prompt_pass
    )


def step_words(i: int, step: DraftStep) -> str:
    """Return what a bar stands for."""
    if step.drafted:
        guesses = count(step.drafted, "guess", "guesses")
        return f"Pass {i + 1}: {step.accepted} of {guesses} right, by {SOURCE_WORDS[step.source]}"
    why = "a guess would not have paid" if step.is_skip else "nobody had a guess"
    return f"Pass {i + 1}: nothing guessed, {why}"


def shown(steps: Sequence[DraftStep], n_bars: int) -> tuple[int, Sequence[DraftStep]]:
    """Return the latest steps for which there is room, and how many come before them."""
    first = max(0, len(steps) - max(1, n_bars))
    return first, steps[first:]
