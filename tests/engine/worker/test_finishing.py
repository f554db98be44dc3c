"""The end of an answer is told before what was learned in it is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.llama.library import LlamaLibrary
from engine.models.bundle import NGRAM_DRAFTER
from engine.worker.activity import Activity
from engine.worker.learned import learned_path
from engine.worker.messages import Event, Finished, Generate, LoadBundle, Race
from engine.worker.session import LlamaSession
from tests.engine.worker.real import GREEDY_32, LLAMA, RAW, SETTINGS


@pytest.mark.parametrize("job", [Generate(2, RAW, GREEDY_32), Race(2, RAW, GREEDY_32)])
def test_nobody_waits_for_the_file_of_what_was_learned(
    llama: LlamaLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: Generate | Race
) -> None:
    monkeypatch.setenv("SLIPSTREAM_CACHE_DIR", str(tmp_path))
    was_written: list[bool] = []

    def emit(event: Event) -> None:
        if isinstance(event, Finished):
            was_written.append(learned_path().exists())

    session = LlamaSession(llama, emit, Activity())
    session.perform(LoadBundle(1, LLAMA, NGRAM_DRAFTER, SETTINGS))
    session.perform(job)
    assert was_written == [False]
    assert learned_path().exists()
    session.close()
