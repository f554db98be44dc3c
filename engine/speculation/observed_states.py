"""Which of a target's hidden states a drafter was shown, and which of them it has not read yet."""

from __future__ import annotations

from collections.abc import Sequence

from engine.speculation.cache import common_prefix
from engine.speculation.kept_states import KeptStates, States


class ObservedStates:
    """The states of one sequence of tokens by position: first those that were read, then those that wait.

    A drafter makes of each state that it reads one entry of its own cache. The entry at position P depends on the
    tokens up to P + `lookahead` (EAGLE-3 pairs a state with the token that follows: 1; block drafters: 0), and holds
    as long as they do. States are copied: what a target publishes is overwritten by its next pass. `width` is the
    numbers per state.
    """

    def __init__(self, width: int, lookahead: int) -> None:
        self._lookahead = lookahead
        self._tokens: list[int] = []
        """Tokens by position: those whose states were shown, and what the entries depend on beyond them."""
        self._waiting = KeptStates(width)

    @property
    def n_read(self) -> int:
        return self._waiting.start

    @property
    def n_shown(self) -> int:
        return self._waiting.end

    @property
    def n_waiting(self) -> int:
        return self.n_shown - self.n_read

    def begin(self, prompt: Sequence[int]) -> int:
        """Keep what holds for `prompt`; return how many of its leading states are here."""
        agreed = common_prefix(self._tokens, prompt)
        holding = self._entries_holding(agreed)
        self._keep(holding, min(self.n_shown, agreed) if holding == self.n_read else holding)
        del self._tokens[max(agreed, self.n_shown) :]
        return self.n_shown

    def observe(self, tokens: Sequence[int], first_position: int, rows: States) -> None:
        """Take in the states (shape (len(tokens), width)) of `tokens`, and forget what was shown from
        `first_position` on.

        After a gap, or where an entry does not hold whose state was not kept, nothing is known any more until the
        target starts over.
        """
        agreed = first_position + common_prefix(self._tokens[first_position:], tokens)
        holding = self._entries_holding(agreed)
        if first_position > self.n_shown or (holding < self.n_read and holding < first_position):
            self.forget()
            return
        self._keep(holding, max(holding, min(self.n_shown, first_position)))
        self._waiting.put(self.n_shown, rows[self.n_shown - first_position :])
        self._tokens[first_position:] = tokens

    def settle(self, history: Sequence[int]) -> bool:
        """Drop what does not belong to `history` (rejected drafts); return whether the states of all of it but the
        last token are here."""
        if len(history) <= self.n_read:
            return False
        agreed = common_prefix(self._tokens, history, start=self.n_read)
        self._keep(self.n_read, min(self.n_shown, agreed, len(history) - 1))
        del self._tokens[agreed:]
        return self.n_shown == len(history) - 1

    def waiting(self, n_states: int) -> States:
        """Return the next `n_states` states to be read: shape (n_states, width), a view."""
        return self._waiting.between(self.n_read, self.n_read + n_states)

    def tokens_from(self, position: int) -> Sequence[int]:
        """Return the tokens from `position` on."""
        return self._tokens[position:]

    def mark_read(self, n_states: int) -> None:
        """The next `n_states` states are in the drafter's cache."""
        self._waiting.drop_before(self.n_read + n_states)

    def expect(self, token: int) -> None:
        """`token` follows those shown: the last entry may depend on it before its own state is shown."""
        self._tokens[self.n_shown :] = [token]

    def forget(self) -> None:
        self._tokens.clear()
        self._keep(0, 0)

    def _entries_holding(self, n_tokens: int) -> int:
        """Return how many read entries hold where only the first `n_tokens` tokens stay."""
        return max(0, min(self.n_read, n_tokens - self._lookahead))

    def _keep(self, n_read: int, n_shown: int) -> None:
        if n_read != self.n_read:
            # Of what was read no state is kept: nothing waits then, and `n_shown` is `n_read`.
            self._waiting.clear(n_read)
        self._waiting.truncate(n_shown)
