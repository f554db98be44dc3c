from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator

import pytest

from engine.chat.messages import Prompt
from engine.desk.jobs import CancelToken
from engine.desk.surveyor import Surveyor
from engine.errors import Cancelled, SlipstreamError, WorkerDied
from engine.models.bundle import Bundle
from engine.service import EngineService, Service
from engine.speculation.settings import GenerationSettings
from engine.worker.child import WorkerChild
from engine.worker.messages import DevicesListed, Finished, Loaded, LoadSettings, RoundDone
from tests.engine.worker.conftest import IMPATIENT
from tests.engine.worker.pretend import run_pretend_worker

MakeSurveyor = Callable[..., Surveyor]


@pytest.fixture
def services() -> list[Service]:
    return []


@pytest.fixture
def make_surveyor(services: list[Service]) -> Iterator[MakeSurveyor]:
    made: list[Surveyor] = []

    def new_service() -> Service:
        service = Service(settings=IMPATIENT, launch=functools.partial(WorkerChild, run_pretend_worker))
        services.append(service)
        return service

    def make(idle_s: float = 60.0) -> Surveyor:
        made.append(Surveyor(new_service, idle_s))
        return made[-1]

    yield make
    for surveyor in made:
        surveyor.stop(10.0)


def generate(what: str) -> Callable[[EngineService], int]:
    return lambda service: service.generate(Prompt(raw=what), GenerationSettings(), speculative=False)


def answers(surveyor: Surveyor) -> bool:
    event = surveyor.ask(lambda service: service.list_devices(), DevicesListed, CancelToken())
    return event.llama_cpp_version == "pretend"


def test_no_process_runs_before_the_first_question(
    make_surveyor: MakeSurveyor, services: list[Service]
) -> None:
    surveyor = make_surveyor()
    assert services == []
    assert answers(surveyor)
    assert answers(surveyor)
    assert len(services) == 1


def test_what_comes_before_the_answer_is_passed_on(make_surveyor: MakeSurveyor) -> None:
    seen: list[object] = []
    make_surveyor().ask(generate("count 3"), Finished, CancelToken(), seen.append)
    assert [event.round.tokens for event in seen if isinstance(event, RoundDone)] == [(0,), (1,), (2,)]


def test_a_failure_keeps_its_kind_and_its_sentence(make_surveyor: MakeSurveyor) -> None:
    with pytest.raises(SlipstreamError, match="The file is gone") as raised:
        make_surveyor().ask(
            lambda service: service.load(Bundle("x", "missing"), LoadSettings()), Loaded, CancelToken()
        )
    assert raised.value.kind == "FileGone"


def test_a_file_that_ends_the_process_costs_one_answer(make_surveyor: MakeSurveyor) -> None:
    surveyor = make_surveyor()
    with pytest.raises(WorkerDied, match="process that measures ended") as raised:
        surveyor.ask(generate("abort"), Finished, CancelToken())
    assert "GGML_ASSERT" in raised.value.sentence + raised.value.detail
    assert answers(surveyor)


def test_a_process_that_hangs_is_ended(make_surveyor: MakeSurveyor) -> None:
    surveyor = make_surveyor()
    with pytest.raises(WorkerDied, match="did not come to an end"):
        surveyor.ask(generate("hang"), Finished, CancelToken())
    assert answers(surveyor)


def test_a_question_can_be_cancelled(make_surveyor: MakeSurveyor) -> None:
    surveyor, token = make_surveyor(), CancelToken()
    with pytest.raises(Cancelled):
        surveyor.ask(generate("count 10000"), Finished, token, lambda _: token.set())


def test_an_idle_process_is_ended_and_started_again_when_asked(
    make_surveyor: MakeSurveyor, services: list[Service]
) -> None:
    surveyor = make_surveyor(idle_s=0.1)
    assert answers(surveyor)
    deadline_s = time.monotonic() + 10.0
    while surveyor.is_running and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not surveyor.is_running
    assert answers(surveyor)
    assert len(services) == 2
