"""`slipstream models recommend`, as a person and as a script run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.models.catalogue import load_catalogue
from engine.recommend.advice import ComputerSpeed, DeviceSpeed
from engine.recommend.store import keep_speed
from tests.engine.cli.slipstream import slipstream


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    names = ("HOME", "USERPROFILE", "SLIPSTREAM_DATA_DIR", "SLIPSTREAM_CACHE_DIR", "SLIPSTREAM_MODELS_DIR")
    return dict.fromkeys(names, str(tmp_path))


def test_without_a_measurement_the_order_is_told_and_how_to_measure(places: dict[str, str]) -> None:
    outcome = slipstream("models", "recommend", environment=places)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("1. ")
    assert "slipstream models recommend --measure" in outcome.out
    assert "tokens per second" not in outcome.out


def test_a_script_gets_advice_about_every_bundle(places: dict[str, str], tmp_path: Path) -> None:
    keep_speed(ComputerSpeed((DeviceSpeed("CPU", 40e9, 200, 98_000_000),)), tmp_path)
    told = json.loads(slipstream("models", "recommend", "--json", environment=places).out)
    assert {advice["id"] for advice in told["advice"]} == {entry.bundle.id for entry in load_catalogue()}
    first = told["advice"][0]
    assert first["rank"] == 1
    assert 0 < first["plain"]["low_tokens_per_s"] < first["plain"]["high_tokens_per_s"]
    assert first["largest_n_ctx"] >= 8192
    assert told["speed"]["devices"][0]["bandwidth_bytes_per_s"] == 40e9
    assert told["devices"][0]["memory_total_bytes"] > 0
    assert told["installed"] == []


def test_all_of_the_catalogue_can_be_shown_with_reasons(places: dict[str, str], tmp_path: Path) -> None:
    keep_speed(ComputerSpeed((DeviceSpeed("CPU", 40e9),)), tmp_path)
    outcome = slipstream("models", "recommend", "--all", environment=places)
    assert all(f"({entry.bundle.id}): " in outcome.out for entry in load_catalogue())
    assert "tokens per second" in outcome.out
    assert "more are in the catalogue" not in outcome.out
