from __future__ import annotations

import pytest

from engine.speculation.adaptive.prospects import Terms, best_prefix
from engine.speculation.adaptive.reasons import skip_of
from engine.speculation.round import DraftSource

PASSES = [0.0, *(1.0 + 0.3 * n for n in range(17))]


def terms(worth: float, n_max: int = 16) -> Terms:
    return Terms(0.1, PASSES, PASSES, worth, n_max)


@pytest.mark.parametrize("worth", [1.0, 1.4, 2.5])
@pytest.mark.parametrize("chances", [(0.3,) * 16, (0.9, 0.1, 0.1), (0.6, 0.5, 0.4, 0.1), (0.99,) * 8])
def test_a_draft_lacks_acceptance_exactly_where_it_was_found_not_to_pay(
    worth: float, chances: tuple[float, ...]
) -> None:
    skip = skip_of(DraftSource.NGRAM, terms(worth), chances, (0.0, 0.0))
    n_paying, _ = best_prefix(PASSES, worth, chances)
    assert (skip.expected_acceptance > skip.needed_acceptance) == (n_paying > 0)
    assert skip.worth == worth


def test_what_is_needed_grows_with_what_is_yielded_without_the_draft() -> None:
    plain, busy = (skip_of(DraftSource.MTP, terms(worth), (0.2,) * 16, (0.1, 0.2)) for worth in (1.0, 1.5))
    assert plain.n_tokens == 1
    assert (plain.pass_cost, plain.draft_cost) == pytest.approx((1.3, 0.3))
    assert plain.needed_acceptance == pytest.approx(0.6)
    assert busy.needed_acceptance == pytest.approx(0.9)


def test_no_draft_is_longer_than_what_fits() -> None:
    assert skip_of(DraftSource.MTP, terms(1.0, n_max=2), (0.99,) * 16, (0.0, 0.0)).n_tokens == 2
