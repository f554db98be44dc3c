from __future__ import annotations

import os

import pytest

from engine.llama.environment import prepare_environment


def test_aborts_start_no_debugger_and_waiting_threads_soon_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", environment := dict[str, str]())
    prepare_environment()
    assert environment == {"GGML_NO_BACKTRACE": "1", "GOMP_SPINCOUNT": "1000"}


def test_a_spin_count_that_the_person_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", environment := {"GOMP_SPINCOUNT": "50000"})
    prepare_environment()
    assert environment["GOMP_SPINCOUNT"] == "50000"
