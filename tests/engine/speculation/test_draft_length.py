from __future__ import annotations

import pytest

from engine.errors import BadOption
from engine.speculation.draft_length import FixedLength


@pytest.mark.parametrize("n_tokens", [0, 3, 16])
def test_fixed_length_learns_nothing(n_tokens: int) -> None:
    length = FixedLength(n_tokens)
    length.learn(drafted=16, accepted=0, draft_s=9.0, verify_s=0.1)
    assert length.next_length() == n_tokens


@pytest.mark.parametrize("n_tokens", [-1, 17])
def test_length_out_of_range_is_refused(n_tokens: int) -> None:
    with pytest.raises(BadOption, match="between 0 and 16"):
        FixedLength(n_tokens)
