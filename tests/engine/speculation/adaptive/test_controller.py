from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.speculation.adaptive.controller import AdaptiveController
from engine.speculation.adaptive.learned import Learned
from engine.speculation.adaptive.taught import Taught
from engine.speculation.draft_length import FixedLength
from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.loop import decode_rounds
from engine.speculation.protocols import Distribution, Draft, DraftRequest, Gate, RoundCost, Sampler
from engine.speculation.round import DraftSource
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.chi_square import p_value, transition_matrix
from tests.numpy_models import LetterText, NumpyModel, NumpySampler, markov_table

SINGLE_S = 0.1
GREEDY, SAMPLED = SamplingSettings(), SamplingSettings(temperature=0.9, top_k=6, top_p=0.95, min_p=0.03)


class Told:
    """A drafter that is as sure as it is told to be, and asks the gate as drafters do."""

    def __init__(self, confidences: Sequence[float], source: DraftSource = DraftSource.DRAFT_MODEL) -> None:
        self.confidences = confidences
        self._source = source
        self.n_asked = 0

    @property
    def source(self) -> DraftSource:
        return self._source

    def begin(self, prompt: Sequence[int]) -> int:
        return len(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        """Nothing to read."""

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        self.n_asked += 1
        n = 0
        while n < min(n_max, len(self.confidences)) and gate(n, self.confidences[n]):
            n += 1
        one = Distribution(np.array([7], dtype=np.int32), np.array([1.0]))
        known = None if sampler.is_greedy or self._source is DraftSource.NGRAM else (one,) * n
        return Draft((7,) * n, self._source, known, tuple(self.confidences[:n]))


def request(settings: SamplingSettings = GREEDY, n_max: int = 16) -> DraftRequest:
    return DraftRequest([1, 2, 3], n_max, NumpySampler(settings), np.random.default_rng(0))


def experienced(slope: float = 0.05, step: float = 0.1) -> Learned:
    """Return what is known of a computer where each token of a pass adds `slope` single passes."""
    learned = Learned()
    for _ in range(8):
        for width in range(1, 18):
            learned.costs.add_pass(width, 3, SINGLE_S * (1.0 + slope * (width - 1)))
        for n_steps in (1, 2, 4):
            learned.costs.add_draft(DraftSource.DRAFT_MODEL, 3, n_steps, 0, SINGLE_S * step * n_steps)
    return learned


def rounds(
    policy: AdaptiveController, drafters: Sequence[Told], n: int, settings: SamplingSettings = GREEDY
) -> list[Draft]:
    """Return the drafts of `n` rounds in which everything is accepted and costs what it did."""
    drafts = []
    for _ in range(n):
        draft = policy.draft(drafters, request(settings))
        drafts.append(draft)
        width = 1 + len(draft.tokens)
        policy.learn(
            RoundCost(width, 3, draft, len(draft.tokens), 0.0, SINGLE_S * (1.0 + 0.05 * (width - 1)))
        )
    return drafts


def test_the_first_round_of_all_measures_a_single_pass() -> None:
    drafter = Told([0.9] * 16)
    assert AdaptiveController(Learned()).draft([drafter], request()) == Draft()
    assert drafter.n_asked == 0


def test_a_sure_drafter_is_asked_for_more_and_more() -> None:
    lengths = [
        len(draft.tokens) for draft in rounds(AdaptiveController(experienced()), [Told([0.99] * 16)], 20)
    ]
    assert max(lengths) >= 12


def test_what_fits_bounds_the_draft() -> None:
    draft = AdaptiveController(experienced()).draft([Told([0.99] * 16)], request(n_max=2))
    assert 1 <= len(draft.tokens) <= 2


def test_an_unsure_drafter_is_given_up_with_the_reason() -> None:
    policy = AdaptiveController(experienced(slope=0.8, step=0.4))
    drafter = Told([0.2] * 16)
    drafts = rounds(policy, [drafter], 60)
    skip = drafts[-1].skip
    assert drafter.n_asked < 20
    assert skip is not None
    assert skip.source is DraftSource.DRAFT_MODEL
    assert skip.pass_cost == pytest.approx(1.0 + 0.8 * skip.n_tokens, rel=0.1)
    assert skip.draft_cost == pytest.approx(0.4 * skip.n_tokens, rel=0.1)
    assert skip.needed_acceptance > 1.0 > skip.expected_acceptance


def test_a_draft_that_is_free_is_cut_where_it_stops_paying() -> None:
    ngram = Told([0.95, 0.95, 0.9, 0.05, 0.05, 0.05], DraftSource.NGRAM)
    draft = AdaptiveController(experienced(slope=0.2)).draft([ngram], request())
    assert (draft.source, len(draft.tokens), len(draft.confidences)) == (DraftSource.NGRAM, 3, 3)


def test_a_good_lookup_spares_the_model() -> None:
    ngram, model = Told([0.99] * 16, DraftSource.NGRAM), Told([0.5] * 16)
    draft = AdaptiveController(experienced()).draft([ngram, model], request())
    assert (draft.source, model.n_asked) == (DraftSource.NGRAM, 0)


def test_a_poor_lookup_leaves_it_to_the_model() -> None:
    ngram, model = Told([0.05] * 4, DraftSource.NGRAM), Told([0.95] * 16)
    assert (
        AdaptiveController(experienced()).draft([ngram, model], request()).source is DraftSource.DRAFT_MODEL
    )


def test_a_sampled_draft_is_verified_whole() -> None:
    """Which tokens are submitted must not depend on them: the gate says yes or no before each, and that stands."""
    policy, drafter = AdaptiveController(experienced(slope=0.3), 0.9), Told([0.9, 0.9, 0.9, 0.02])
    seen: list[int] = []
    ask = drafter.draft

    def spy(*given: object) -> Draft:
        draft = ask(*given)  # type: ignore[arg-type]
        seen.append(len(draft.tokens))
        return draft

    drafter.draft = spy  # type: ignore[method-assign, assignment]
    lengths = [len(draft.tokens) for draft in rounds(policy, [drafter], 30, SAMPLED)]
    assert [length for length in lengths if length] == [n for n in seen if n]


def test_a_silent_drafter_is_not_a_decision() -> None:
    assert AdaptiveController(experienced()).draft([Told([])], request()) == Draft()


def test_a_round_before_which_nobody_was_asked_teaches_nothing_about_drafts() -> None:
    """At the end of an answer no draft fits any more, and the loop does not ask."""
    learned = experienced()
    policy = AdaptiveController(learned)
    draft = policy.draft([Told([0.9] * 16)], request())
    assert draft.tokens
    policy.learn(RoundCost(1 + len(draft.tokens), 3, draft, 1, 0.02, SINGLE_S))
    costs = learned.costs.drafts(3, DraftSource.DRAFT_MODEL)
    assert costs is not None
    before = (costs.n, costs.seconds(2))
    policy.learn(RoundCost(1, 3, Draft(), 0, 1e-6, SINGLE_S))
    assert (costs.n, costs.seconds(2)) == before


def test_a_fixed_length_teaches_what_the_controller_wants_to_know() -> None:
    learned = Learned()
    policy = Taught(FixedLength(3), learned)
    for _ in range(6):
        draft = policy.draft([Told([0.9] * 16)], request())
        policy.learn(RoundCost(4, 3, draft, 3, 0.03, 0.12))
        policy.learn(RoundCost(1, 3, Draft(), 0, 0.0, 0.1))
        policy.learn(RoundCost(4, 3, draft, 3, 0.03, 0.12))
    table, drafts = learned.costs.table(3), learned.costs.drafts(3, DraftSource.DRAFT_MODEL)
    assert table is not None
    assert table.passes[4] == pytest.approx(1.2)
    assert drafts is not None
    assert drafts.seconds(3) == pytest.approx(0.03)
    assert learned.source(DraftSource.DRAFT_MODEL, 0.0).calibration.chance(0.9) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("settings", [SAMPLED, SamplingSettings(temperature=1.3)])
def test_adaptive_drafts_keep_the_distribution(settings: SamplingSettings) -> None:
    n_tokens = 20_000
    p = markov_table(8, seed=1, sharpness=3.0)
    q = p + markov_table(8, seed=2, sharpness=1.5)
    now_s = [0.0]

    def clock() -> float:
        now_s[0] += 1e-3
        return now_s[0]

    done = decode_rounds(
        NumpyModel(p, n_ctx=n_tokens + 10),
        [0],
        sampler=NumpySampler(settings),
        drafters=(DraftModelDrafter(NumpyModel(q, n_ctx=2 * n_tokens), 8),),
        policy=AdaptiveController(experienced(slope=0.05, step=0.01), settings.temperature),
        text=LetterText(),
        max_tokens=n_tokens,
        rng=np.random.default_rng(5),
        clock=clock,
    )
    lengths: set[int] = set()
    tokens: list[int] = []
    for one in done:
        lengths.add(len(one.drafted))
        tokens += one.tokens
    assert len(lengths) > 3
    assert p_value(tokens, transition_matrix(p, settings)) > 1e-3
