"""What a record of earlier runs may hold, and what is put into one."""

from __future__ import annotations

import math

import msgspec
import pytest

from engine.speculation.adaptive.learned import Learned
from engine.speculation.adaptive.record import (
    BucketRecord,
    DraftCostRecord,
    LearnedRecord,
    SourceRecord,
    WidthRecord,
)
from engine.speculation.round import DraftSource

KNOWN = SourceRecord(chance=0.25, gain=1.0, n_asked=3)


@pytest.mark.parametrize(
    "name", ["mtp", "mtp hot", "mtp 0.75", "nobody greedy", "mtp greedy\n", "x" * 10_000]
)
def test_names_that_slipstream_does_not_give_are_dropped(name: str) -> None:
    record = Learned(LearnedRecord(sources={name: KNOWN, "mtp greedy": KNOWN})).record()
    assert list(record.sources) == ["mtp greedy"]


def test_the_temperatures_that_were_used_last_are_kept() -> None:
    learned = Learned()
    for tenths in range(1, 80):
        learned.source(DraftSource.EAGLE3, tenths / 10)
        learned.source(DraftSource.MTP, 0.0).asked(2.0, is_trial=False)
    sources = learned.record().sources
    assert len(sources) == 32
    assert {"mtp greedy", "eagle3 7.9"} <= set(sources)
    assert "eagle3 0.1" not in sources
    assert Learned(learned.record()).source(DraftSource.MTP, 0.0).gain == pytest.approx(2.0)


@pytest.mark.parametrize("seconds", [0.0, 5e-324, 1e-9, -1.0, 1e5, math.inf, math.nan])
def test_times_that_no_computer_takes_are_neither_learned_nor_believed(seconds: float) -> None:
    learned = Learned()
    learned.costs.add_pass(1, 10, seconds)
    learned.costs.add_draft(DraftSource.MTP, 10, 2, 0, seconds)
    assert learned.costs.table(10) is None
    assert learned.costs.drafts(10, DraftSource.MTP) is None
    bucket = BucketRecord(0, (WidthRecord(1, seconds, 9),), {"mtp": DraftCostRecord(seconds, -1.0, 0.0, 5)})
    believed = Learned(LearnedRecord((bucket,)))
    assert believed.costs.table(10) is None
    assert believed.costs.drafts(10, DraftSource.MTP) is None


def test_a_record_can_be_written_as_json_and_read_again() -> None:
    learned = Learned()
    for gain in (math.inf, 1e300):
        learned.source(DraftSource.MTP, 0.0).asked(gain, is_trial=False)
    learned.source(DraftSource.EAGLE3, 0.0).asked(1.5, is_trial=False)
    learned.costs.add_pass(1, 10, 0.1)
    again = msgspec.json.decode(msgspec.json.encode(learned.record()), type=LearnedRecord)
    assert again == learned.record()
    assert (again.sources["mtp greedy"].n_asked, again.sources["eagle3 greedy"].gain) == (0, 1.5)


def test_a_draft_without_a_step_divides_by_nothing() -> None:
    learned = Learned()
    learned.costs.add_draft(DraftSource.MTP, 10, 0, 0, 0.01)
    found = learned.costs.drafts(10, DraftSource.MTP)
    assert found is not None
    assert found.seconds(1) >= 0.0
