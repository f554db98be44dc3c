"""Numbers for people."""

from __future__ import annotations

import pytest

from app import format as fmt


@pytest.mark.parametrize(
    ("value", "text"), [(None, "– tok/s"), (3.974, "3.97 tok/s"), (41.04, "41.0 tok/s"), (128.4, "128 tok/s")]
)
def test_a_speed_has_its_unit_and_three_digits(value: float | None, text: str) -> None:
    assert fmt.speed(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0083, "8.3 ms"),
        (0.0244, "24.4 ms"),
        (0.331, "0.33 s"),
        (12.44, "12.4 s"),
        (125.0, "2 min 5 s"),
    ],
)
def test_a_duration_takes_the_unit_that_suits_it(seconds: float | None, text: str) -> None:
    assert fmt.duration(seconds) == text


def test_files_are_decimal_and_memory_is_binary() -> None:
    assert fmt.file_size(4_700_000_000) == "4.7 GB"
    assert fmt.memory_size(310 * 2**20) == "310 MiB"
    assert fmt.file_size(999) == "999 B"


def test_downloads_and_contexts_are_said_in_short() -> None:
    assert fmt.rate(42_300_000) == "42.3 MB/s"
    assert [fmt.time_left(s) for s in (None, 0.2, 12.4, 59.8, 130, 7800)] == [
        "",
        "1 s left",
        "12 s left",
        "1 min left",
        "2 min left",
        "2 h 10 min left",
    ]
    assert [fmt.context(n) for n in (512, 8192, 50_176, 1_048_576)] == ["512", "8k", "49k", "1M"]
    assert fmt.file_progress(2_100_000_000, 5_100_000_000) == "2.1 GB of 5.1 GB"
    assert fmt.file_progress(2_100_000_000, 0) == "2.1 GB"
    assert fmt.speed_range(38.2, 54.9) == "38–55"


def test_shares_factors_and_counts_read_as_people_write_them() -> None:
    assert fmt.share(0.784) == "78 %"
    assert fmt.factor(1.6211) == "1.62×"
    assert fmt.count(1, "token") == "1 token"
    assert fmt.count(8192, "token") == "8,192 tokens"
    assert fmt.count(2, "pass", "passes") == "2 passes"
