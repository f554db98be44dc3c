"""What is known about a bundle on this computer: shared by all answers and lanes, and remembered between runs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

from engine.speculation.adaptive.calibration import Calibration
from engine.speculation.adaptive.costs import Costs
from engine.speculation.adaptive.record import LearnedRecord, SourceRecord
from engine.speculation.round import DraftSource

_MOST_JUDGED: Final = 50.0
"""What was judged in an earlier run weighs like so many tokens near each confidence: texts differ."""
_GAIN_N: Final = 15
_GAIN_N_STALE: Final = 2
_CHANCE_RATE: Final = 0.1
_MOST_GAIN: Final = 100.0
_MOST_SOURCES: Final = 32
"""Kept in a file: sources at the temperatures that were used last."""
_NAME: Final = re.compile(rf"({'|'.join(DraftSource)}) (greedy|\d{{1,2}}\.\d)")


@dataclass(slots=True)
class SourceKnowledge:
    """How one drafter does at one temperature.

    `chance` is the usual chance that one more token is accepted, `gain` what asking once usually gains, in tokens,
    after its cost; None before it was asked.
    """

    calibration: Calibration = field(default_factory=Calibration)
    chance: float = 0.7
    gain: float | None = None
    n_asked: int = 0

    def saw(self, chance: float) -> None:
        """A next token would be accepted with `chance`."""
        self.chance += _CHANCE_RATE * (chance - self.chance)

    def asked(self, gain: float, *, is_trial: bool) -> None:
        """Asking gained `gain`; a trial after a pause tells more than what was known before it."""
        weight = min(self.n_asked, _GAIN_N_STALE if is_trial else _GAIN_N)
        before = gain if self.gain is None else self.gain
        self.gain = (weight * before + gain) / (weight + 1)
        self.n_asked += 1

    def record(self) -> SourceRecord:
        """Return it as numbers that JSON can hold: a gain that is beyond all bounds is not known."""
        gain = self.gain if self.gain is not None and abs(self.gain) <= _MOST_GAIN else None
        return SourceRecord(
            tuple(self.calibration.accepted),
            tuple(self.calibration.judged),
            self.chance,
            gain or 0.0,
            self.n_asked if gain is not None else 0,
        )

    @classmethod
    def remembered(cls, record: SourceRecord) -> SourceKnowledge:
        """Begin with `record`; what cannot be true in it is left out."""
        counts = [*zip(record.accepted, record.judged, strict=False)]
        if not all(0.0 <= accepted <= judged < math.inf for accepted, judged in counts):
            counts = []
        shares = [min(1.0, _MOST_JUDGED / judged) if judged else 1.0 for _, judged in counts]
        calibration = Calibration(
            [accepted * share for (accepted, _), share in zip(counts, shares, strict=True)],
            [judged * share for (_, judged), share in zip(counts, shares, strict=True)],
        )
        is_sane = 0.0 <= record.chance <= 1.0 and abs(record.gain) <= _MOST_GAIN and record.n_asked > 0
        if not is_sane:
            return cls(calibration)
        return cls(calibration, record.chance, record.gain, min(record.n_asked, _GAIN_N_STALE))


class Learned:
    """Costs of passes and drafts, and what each drafter's confidence is worth at each temperature."""

    def __init__(self, record: LearnedRecord | None = None) -> None:
        record = record or LearnedRecord()
        self.costs = Costs.remembered(record.buckets)
        known = [(name, one) for name, one in record.sources.items() if _NAME.fullmatch(name)]
        self._sources = {name: SourceKnowledge.remembered(one) for name, one in known[-_MOST_SOURCES:]}
        self.n_rounds = 0
        """Rounds that taught something since this was made."""

    def source(self, source: DraftSource, temperature: float) -> SourceKnowledge:
        """Return what is known of `source` at `temperature` (0: greedy), to be added to."""
        name = f"{source} {temperature:.1f}" if temperature > 0.0 else f"{source} greedy"
        # What is used comes last.
        found = self._sources[name] = self._sources.pop(name) if name in self._sources else SourceKnowledge()
        return found

    def record(self) -> LearnedRecord:
        """Return it for a file: of the sources those that were used last."""
        last = [*self._sources.items()][-_MOST_SOURCES:]
        return LearnedRecord(self.costs.records(), {name: source.record() for name, source in last})
