"""Advice: never what does not fit, never less for more, one sentence each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.budget.budget import USABLE_N_CTX
from engine.models.bundle import DrafterKind
from engine.models.description import Device
from engine.recommend.advice import Advice, ComputerSpeed, Fit, SpeedRange
from engine.recommend.advise import COMFORTABLE_TOKENS_PER_S, Computer, advise, recommend
from engine.recommend.store import OwnFigures
from engine.recommend.subject import Subject
from tests.engine.recommend.computers import GIB, computer, cpu, gpu, subject

SMALL = subject("small", 1)
MIDDLE = subject("middle", 5)
LARGE = subject("large", 18)
HUGE = subject("huge", 60)
ALL = (SMALL, MIDDLE, LARGE, HUGE)


def ranked(subjects: tuple[Subject, ...], here: Computer) -> list[str]:
    return [advice.id for advice in recommend(subjects, here) if advice.rank]


def by_id(advice: tuple[Advice, ...]) -> dict[str, Advice]:
    return {one.id: one for one in advice}


def test_the_most_capable_that_fits_and_is_comfortable_comes_first() -> None:
    assert ranked(ALL, computer(gpu(24), cpu(32))) == ["large", "middle", "small"]
    assert ranked(ALL, computer(gpu(8), cpu(8))) == ["middle", "small"]
    assert ranked(ALL, computer(cpu(32))) == ["small"]


def test_where_nothing_is_comfortable_the_fastest_few_are_recommended() -> None:
    slow = computer(cpu(32), cpu_gb_per_s=2)
    found = recommend((LARGE, MIDDLE, SMALL), slow)
    assert [advice.id for advice in found if advice.rank] == ["small", "middle", "large"]
    assert found[0].sentence.startswith("The fastest one that fits here: about ")
    assert "a smaller model" not in found[0].sentence


def test_everything_else_follows_with_its_reason() -> None:
    found = by_id(recommend(ALL, computer(gpu(8), cpu(8))))
    assert set(found) == {"small", "middle", "large", "huge"}
    assert found["huge"].fit is Fit.DOES_NOT_FIT
    assert found["huge"].fit_sentence == (
        "Needs 60.9 GiB with a context of 8,192 tokens; 15.2 GiB can be used here."
    )
    assert found["huge"].plain is None
    assert found["huge"].largest_n_ctx == 0


def test_each_recommendation_says_why_what_it_costs_and_what_would_make_it_better() -> None:
    mtp = replace(LARGE, drafter_kind=DrafterKind.MTP)
    first, second, third = recommend((mtp, MIDDLE, SMALL), computer(gpu(24), cpu(32)))
    assert first.sentence.startswith("The most capable one that runs well here: about ")
    assert "tokens per second, 18.9 GiB of memory" in first.sentence
    assert second.sentence.startswith("Less capable, but about 3.")
    assert third.rank == 3
    assert all(
        advice.sentence.count(".") >= 1 and advice.sentence.endswith(".") for advice in (first, second)
    )


def test_before_anything_is_measured_no_speed_is_shown_but_a_slow_one_is_not_recommended() -> None:
    here = Computer((cpu(64),))
    found = recommend(ALL, here)
    assert [advice.id for advice in found if advice.rank] == ["small"]
    assert all(advice.plain is None and advice.speculative is None for advice in found)
    assert found[0].sentence.endswith("; measure this computer to know how fast.")


def test_what_is_partly_on_the_cpu_says_how_much_more_would_do() -> None:
    (advice,) = recommend((subject("moe", 12, active_fraction=0.1),), computer(gpu(8), cpu(32)))
    assert advice.fit is Fit.PARTLY_ON_CPU
    assert "more on the GPU all of it would run there" in advice.sentence
    assert "some layers stay on the processor" in advice.fit_sentence


def test_own_figures_take_the_place_of_the_forecast() -> None:
    figures = OwnFigures(SpeedRange(3.0, 4.0, is_measured=True), SpeedRange(5.0, 6.0, is_measured=True))
    here = computer(gpu(24), cpu(32))
    advice = advise(MIDDLE, here, figures)
    assert (advice.plain, advice.speculative) == (figures.plain, figures.speculative)
    (chosen,) = recommend((MIDDLE,), here, {"middle": figures})
    assert "5.0 to 6.0 tokens per second" in chosen.sentence
    assert "about" not in chosen.sentence


def test_plain_figures_alone_make_the_speculative_forecast() -> None:
    advice = advise(MIDDLE, computer(gpu(24), cpu(32)), OwnFigures(SpeedRange(10.0, 10.0, is_measured=True)))
    assert advice.speculative is not None
    assert advice.speculative.low_tokens_per_s == 10.0
    assert not advice.speculative.is_measured


def test_the_largest_context_is_the_last_that_fits() -> None:
    advice = advise(MIDDLE, computer(gpu(8), cpu(1)))
    room_bytes = 8 * GIB - (512 << 20)
    assert MIDDLE.total_bytes is not None
    assert (
        MIDDLE.total_bytes(advice.largest_n_ctx)
        <= room_bytes
        < MIDDLE.total_bytes(advice.largest_n_ctx + 256)
    )
    assert advise(SMALL, computer(gpu(24), cpu(1))).largest_n_ctx == SMALL.n_ctx_train


def test_what_looks_back_less_than_a_usable_context_is_not_recommended() -> None:
    assert ranked((subject("short", 1, n_ctx_train=4096),), computer(gpu(24), cpu(32))) == []


def test_what_is_not_known_is_said_to_be_unknown_or_too_large() -> None:
    here = computer(cpu(16))
    unknown = subject("unknown", 0, params_b=4, is_known=False)
    large = subject("large", 30, is_known=False)
    assert advise(unknown, here).fit is Fit.UNKNOWN
    assert "not known before the Hub is asked" in advise(unknown, here).fit_sentence
    assert advise(subject("files", 1, is_known=False), here).fit_sentence.startswith(
        "Its files take 1.0 GiB; "
    )
    assert advise(large, here).fit is Fit.DOES_NOT_FIT
    assert ranked((unknown, large, subject("files", 1, is_known=False)), here) == []


def test_one_form_of_each_model_is_recommended() -> None:
    one = replace(subject("a-q4", 5), family="a")
    other = replace(subject("a-q8", 9, params_b=9), family="a")
    here = computer(gpu(24), cpu(32))
    assert ranked((one, other, SMALL), here) == ["a-q4", "small"]
    assert by_id(recommend((one, other), here))["a-q8"].sentence == (
        "“a-q4” is the form of this model that suits this computer best."
    )


def test_what_is_not_recommended_says_why_not() -> None:
    found = by_id(recommend((*ALL, subject("short", 1, n_ctx_train=4096)), computer(cpu(100))))
    assert found["small"].rank == 1
    assert found["large"].sentence.startswith("Not recommended here, as it would be slow: about 1.")
    assert found["short"].sentence == (
        "Not recommended here, as a conversation of 8,192 tokens has no room in it."
    )


# ------------------------------------------------------------------------------------------- for all of them

SUBJECTS = st.lists(
    st.builds(
        subject,
        name=st.uuids().map(str),
        weights_gib=st.floats(0.1, 100),
        active_fraction=st.sampled_from([1.0, 0.5, 0.1]),
        kv_bytes_per_token=st.integers(1_000, 400_000),
        n_ctx_train=st.sampled_from([0, 2048, 8192, 32768, 262144]),
        kind=st.sampled_from(DrafterKind),
        is_known=st.booleans(),
    ),
    max_size=8,
).map(tuple)
SIZES = st.floats(0, 120)


@settings(deadline=None)
@given(subjects=SUBJECTS, gpu_gib=SIZES, host_gib=SIZES, gpu_gb_per_s=st.floats(50, 4000))
def test_nothing_is_recommended_that_does_not_fit_with_a_usable_context(
    subjects: tuple[Subject, ...], gpu_gib: float, host_gib: float, gpu_gb_per_s: float
) -> None:
    devices = (gpu(gpu_gib), cpu(host_gib))
    found = recommend(subjects, computer(*devices, gpu_gb_per_s=gpu_gb_per_s))
    assert sorted(advice.id for advice in found) == sorted(subject.id for subject in subjects)
    free_bytes = sum(device.memory_free_bytes for device in devices)
    known = {subject.id: subject for subject in subjects}
    for advice in found:
        assert advice.sentence or advice.fit_sentence
        if advice.rank:
            total_bytes = known[advice.id].total_bytes
            assert total_bytes is not None
            assert total_bytes(USABLE_N_CTX) <= free_bytes
            assert USABLE_N_CTX <= advice.largest_n_ctx <= (known[advice.id].n_ctx_train or USABLE_N_CTX)
            assert total_bytes(advice.largest_n_ctx) <= free_bytes
            assert advice.fit in (Fit.FITS, Fit.TIGHT, Fit.PARTLY_ON_CPU)
    ranks = [advice.rank for advice in found if advice.rank]
    assert ranks == list(range(1, len(ranks) + 1))


def best(subjects: tuple[Subject, ...], here: Computer) -> tuple[float, bool]:
    """Return the quality of the first recommended one, and whether it is comfortable."""
    first = recommend(subjects, here)[:1]
    if not first or not first[0].rank or first[0].plain is None:
        return 0.0, False
    plain = first[0].plain
    is_comfortable = (plain.low_tokens_per_s + plain.high_tokens_per_s) / 2 >= COMFORTABLE_TOKENS_PER_S
    return next(s.quality for s in subjects if s.id == first[0].id), is_comfortable


@settings(deadline=None)
@given(
    subjects=SUBJECTS, gpu_gib=SIZES, host_gib=SIZES, more_gpu=st.floats(0, 60), more_host=st.floats(0, 60)
)
def test_more_memory_never_recommends_a_less_capable_one(
    subjects: tuple[Subject, ...], gpu_gib: float, host_gib: float, more_gpu: float, more_host: float
) -> None:
    quality, is_comfortable = best(subjects, computer(gpu(gpu_gib), cpu(host_gib)))
    richer = computer(gpu(gpu_gib + more_gpu), cpu(host_gib + more_host))
    if is_comfortable:
        assert best(subjects, richer)[0] >= quality


@settings(deadline=None)
@given(subjects=SUBJECTS, host_gib=SIZES, times=st.floats(1, 20))
def test_a_faster_computer_never_recommends_a_less_capable_one(
    subjects: tuple[Subject, ...], host_gib: float, times: float
) -> None:
    here = computer(cpu(host_gib))
    speed = here.speed.devices[0]
    faster = ComputerSpeed(
        (
            type(speed)(
                "CPU",
                speed.bandwidth_bytes_per_s * times,
                speed.small_model_tokens_per_s * times,
                speed.small_model_bytes,
            ),
        )
    )
    quality, is_comfortable = best(subjects, here)
    if is_comfortable:
        assert best(subjects, Computer(here.devices, faster))[0] >= quality


@pytest.mark.parametrize(
    "devices", [(), (Device("CPU", "", "cpu", 0, 0),), (Device("X", "", "accel", 0, 0),)]
)
def test_a_computer_that_says_nothing_gets_no_recommendation(devices: tuple[Device, ...]) -> None:
    assert ranked(ALL, Computer(devices)) == []


def test_what_only_fits_if_its_estimate_is_right_is_not_recommended() -> None:
    tight = subject("tight", 18)
    for room_gib, rank in ((20, 0), (24, 1)):
        (advice,) = recommend((tight,), computer(cpu(room_gib), cpu_gb_per_s=400))
        assert advice.fit in (Fit.FITS, Fit.TIGHT)
        assert advice.rank == rank, room_gib
        assert ("may not fit" in advice.sentence) == (rank == 0)


def test_nobody_says_that_something_runs_well_before_it_was_measured() -> None:
    chosen, *_ = recommend(ALL, Computer((cpu(64),)))
    assert chosen.rank == 1
    assert "runs well" not in chosen.sentence
    assert "likely" in chosen.sentence
