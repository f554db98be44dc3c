"""What to expect of one drafter in one answer."""

from __future__ import annotations

from typing import Final

from engine.speculation.adaptive.calibration import UNTOLD, shifted
from engine.speculation.adaptive.learned import SourceKnowledge
from engine.speculation.protocols import Draft

_SHIFT_RATE: Final = 0.25
_MOST_SHIFT: Final = 4.0
_FORGET: Final = 0.97
_FIRST_TRIAL: Final = 8
_LONGEST_PAUSE: Final = 256
_CERTAINTY_RISE: Final = 0.18
_SHORT_RATE: Final = 0.12
_LONG_RATE: Final = 0.03
_LENGTH_RATE: Final = 0.6
_LENGTH_GROWTH: Final = 0.35


class Outlook:
    """The knowledge of a drafter, and by how much this answer departs from it.

    `shift` moves all chances together: a text may be harder to foresee than the drafter's confidence says. It follows
    within some tens of tokens and fades while nothing is verified, since the text goes on changing.
    """

    def __init__(self, knowledge: SourceKnowledge) -> None:
        self.knowledge = knowledge
        self.shift = 0.0
        self.n_missed = 0
        """Tokens of the answer that the drafter has not seen."""
        self.length = 0.0
        """How far to draft at most; 0 before it is known. Fractions add up over rounds."""
        self._n_unasked = 0
        self._pause = 0
        self._certainty: float | None = None
        self._long_certainty = 0.0
        self._n_certain = 0
        self._n_unjudged = 0
        self._judge_pause = _FIRST_TRIAL

    @property
    def usual(self) -> float:
        """The usual chance that one more token is accepted."""
        return self.knowledge.chance

    def chance(self, confidence: float) -> float:
        """Return the chance that a token of `confidence` is accepted in this answer."""
        chance = self.knowledge.calibration.chance(confidence)
        return shifted(chance, self.shift) if self.shift else chance

    def saw(self, chance: float) -> None:
        self.knowledge.saw(chance)

    @property
    def is_given_up(self) -> bool:
        """Whether it was not asked in the last round."""
        return self._n_unasked > 0

    @property
    def is_due(self) -> bool:
        """Whether it has not been asked for so long that a trial is due."""
        return self._n_unasked >= self._pause

    @property
    def is_judgement_due(self) -> bool:
        """Whether none of its tokens has been verified for so long that one should be."""
        return self._n_unjudged >= self._judge_pause

    def asked(self, gain: float, n_asked: int, length_wished: int | None, *, is_trial: bool) -> None:
        """It was asked for `n_asked` tokens; that was worth `gain` tokens, and `length_wished` would have been enough.

        The length follows the third quartile of what is wished: one step too many costs less than tokens that are
        left out.
        """
        self.knowledge.asked(gain, is_trial=is_trial)
        if length_wished is None:
            self.length += max(_LENGTH_RATE, _LENGTH_GROWTH * self.length)
        elif length_wished < n_asked:
            self.length = max(1.0, self.length - _LENGTH_RATE / 3.0)
        self._n_unasked = 0
        self._certainty = None
        self._pause = 0 if gain > 0.0 else min(2 * self._pause + 1, _LONGEST_PAUSE)

    def judged(self, draft: Draft, accepted: int) -> None:
        """`draft` was verified: learn from each of its tokens that the target looked at."""
        n_judged = min(accepted + 1, len(draft.tokens))
        told = (draft.confidences or (UNTOLD,) * n_judged)[:n_judged]
        # All are judged by one curve, which is drawn afresh once what they taught is in it.
        expected = [self.chance(confidence) for confidence in told]
        for i, (confidence, chance) in enumerate(zip(told, expected, strict=True)):
            is_accepted = i < accepted
            shift = self.shift + _SHIFT_RATE * (is_accepted - chance)
            self.shift = min(max(shift, -_MOST_SHIFT), _MOST_SHIFT)
            self.knowledge.calibration.learn(confidence, is_accepted)
        self._n_unjudged = 0
        self._judge_pause = _FIRST_TRIAL if accepted else min(2 * self._judge_pause, _LONGEST_PAUSE)

    @property
    def has_text_changed(self) -> bool:
        """Whether the target has become much surer of its tokens than it was when the drafter was given up."""
        return self._certainty is not None and self._certainty - self._long_certainty > _CERTAINTY_RISE

    def passed_over(self, *, was_asked: bool, certainty: float | None) -> None:
        """A round went by in which none of its tokens was verified."""
        if certainty is not None and not was_asked:
            if self._certainty is None:
                self._certainty = self._long_certainty = certainty
                self._n_certain = 0
            self._n_certain += 1
            rate = max(_LONG_RATE, 1.0 / self._n_certain)
            self._long_certainty += rate * (certainty - self._long_certainty)
            self._certainty += max(_SHORT_RATE, 1.0 / self._n_certain) * (certainty - self._certainty)
        self.shift *= _FORGET
        self._n_unjudged += 1
        if not was_asked:
            self._n_unasked += 1
