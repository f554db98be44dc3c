"""Keeping a drafter's cache up with what its target publishes: in the prompt at once, in the answer when needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.speculation.kept_states import MAX_WAITING, States
from engine.speculation.observed_states import ObservedStates
from engine.speculation.protocols import HiddenStates


class StateReader(Protocol):
    """The cache of a drafter that reads its target's hidden states, one entry per position."""

    @property
    def n_ctx(self) -> int:
        """Most entries."""

    @property
    def n_batch(self) -> int:
        """Most states of one pass."""

    def rewind(self, n_entries: int) -> int:
        """Forget all but the first `n_entries` entries; return how many are left.

        Those are all of them, or none where a sliding window has lost what the next entry would look at.
        """

    def read(self, states: States, tokens: Sequence[int], *, keep_outputs: bool) -> None:
        """Make the next entries of `states` (shape (n, width), n at most `n_batch`); `tokens` as `lookahead` says.

        With `keep_outputs` what the model says at the last of them can be read. Raises Cancelled or DecodeFailed; the
        entries are then those from before.
        """


class StateFollower:
    """Shows a reader the states of its target's passes, once it is certain that they stay.

    Prompt states are read while the target goes through the prompt, so that they count in the time to the first token.
    The states of a verification pass are read by the next draft, which knows what was accepted: llama.cpp reads them
    all and forgets the rejected ones (common/speculative.cpp, "there is waste in verify cycle"). `lookahead`: see
    ObservedStates; `read` gets the tokens at the states' positions + `lookahead`.
    """

    def __init__(self, target: HiddenStates, reader: StateReader, lookahead: int) -> None:
        self._target, self._reader, self._lookahead = target, reader, lookahead
        self._seen = ObservedStates(target.width, lookahead)
        self._n_prompt = 0

    @property
    def n_read(self) -> int:
        return self._seen.n_read

    def begin(self, prompt: Sequence[int]) -> int:
        """Return how many tokens of `prompt` need not be observed; see Drafter."""
        self._n_prompt = len(prompt)
        self._seen.begin(prompt)
        self.drop_draft()
        return self._seen.n_shown

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        self._seen.observe(tokens, first_position, self._target.rows())
        # What the target evaluates on top of is committed; so is all of the prompt.
        n_certain = max(first_position, min(self._n_prompt, self._seen.n_shown))
        if first_position < self._n_prompt or self._seen.n_waiting > MAX_WAITING:
            self._read(min(n_certain, self._seen.n_shown) - self._lookahead, keep_outputs=False)

    def catch_up(self, history: Sequence[int]) -> bool:
        """Read what `history` adds, keeping what the model says at its end; return whether all of it was there.

        False where the target has not shown everything: nothing can be drafted then.
        """
        if not self._seen.settle(history) or len(history) - 1 > self._reader.n_ctx:
            return False
        self._seen.expect(history[-1])
        return self._read(len(history) - 1, keep_outputs=True)

    def drop_draft(self) -> bool:
        """Take out of the cache what a draft put after the entries; return whether they are all still there.

        Where they are not, nothing is known any more until the target starts over.
        """
        if self._reader.rewind(self._seen.n_read) == self._seen.n_read:
            return True
        self._seen.forget()
        return False

    def _read(self, n_entries: int, *, keep_outputs: bool) -> bool:
        """Bring the cache to `n_entries` entries, or as many as it has room for; False if it lost some."""
        seen, n_entries = self._seen, min(n_entries, self._reader.n_ctx)
        if n_entries <= seen.n_read:
            return True
        if not self.drop_draft():
            return False
        while (n_left := n_entries - seen.n_read) > 0:
            count = min(n_left, self._reader.n_batch)
            first = seen.n_read + self._lookahead
            tokens = seen.tokens_from(first)[:count]
            self._reader.read(seen.waiting(count), tokens, keep_outputs=keep_outputs and count == n_left)
            seen.mark_read(count)
        return True
