"""Advice: how a bundle fits this computer, how fast it is likely to be, and which to take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from engine.budget.budget import USABLE_N_CTX, Budget, KvType
from engine.budget.estimate import ERROR_FRACTION
from engine.budget.search import largest_context
from engine.models.description import Device
from engine.recommend.advice import Advice, ComputerSpeed, DeviceSpeed, Fit, SpeedRange
from engine.recommend.forecast import device_kind_of, plain_forecast, speculative_forecast
from engine.recommend.placement import Capacity, Placement, capacity_of, place
from engine.recommend.store import NO_FIGURES, OwnFigures
from engine.recommend.subject import Subject
from engine.recommend.words import Lead, better, cost, fit_sentence, why, why_not

COMFORTABLE_TOKENS_PER_S: Final = 8.0
"""About as fast as people read."""
MOST_RECOMMENDED_SLOW: Final = 3
_SAME_PACE: Final = 1.3

NOT_MEASURED: Final = ComputerSpeed()

# Only to rank before anything was measured; never shown.
_ASSUMED_BYTES_PER_S: Final = {"cpu": 30e9, "igpu": 60e9, "gpu": 400e9}


@dataclass(frozen=True, slots=True)
class Computer:
    """Devices with what is free on them, and what they were measured to do."""

    devices: tuple[Device, ...]
    speed: ComputerSpeed = NOT_MEASURED

    @property
    def capacity(self) -> Capacity:
        return capacity_of(self.devices)

    @property
    def assumed_speed(self) -> ComputerSpeed:
        """Return the measured speed, with assumptions for devices that were not measured."""
        measured = {device.device for device in self.speed.devices}
        assumed = (
            DeviceSpeed(device.name, _ASSUMED_BYTES_PER_S[device.kind])
            for device in self.devices
            if device.name not in measured and device.kind in _ASSUMED_BYTES_PER_S
        )
        return ComputerSpeed((*self.speed.devices, *assumed))


@dataclass(frozen=True, slots=True)
class _Case:
    """A subject with what was found about it; `pace` is what it is ranked by.

    `surely_fits`: also where an estimate is as far off as it may be.
    """

    subject: Subject
    advice: Advice
    pace: float
    surely_fits: bool

    @property
    def can_be_recommended(self) -> bool:
        return self.advice.largest_n_ctx >= USABLE_N_CTX and self.surely_fits

    @property
    def pace_class(self) -> int:
        """Return a number that is the same for paces that nobody could tell apart."""
        return round(math.log(self.pace, _SAME_PACE)) if self.pace > 0 else 0

    @property
    def is_comfortable(self) -> bool:
        return self.pace >= COMFORTABLE_TOKENS_PER_S


def advise(
    subject: Subject, computer: Computer, figures: OwnFigures = NO_FIGURES, budget: Budget | None = None
) -> Advice:
    """Return what is expected of one bundle here; `rank` and `sentence` are left to `recommend`.

    `budget` is llama.cpp's own, where it was asked; else the memory is estimated.
    """
    return _case(subject, computer, figures, budget).advice


def recommend(
    subjects: Sequence[Subject],
    computer: Computer,
    figures: Mapping[str, OwnFigures] | None = None,
    budgets: Mapping[str, Budget] | None = None,
) -> tuple[Advice, ...]:
    """Return advice about all `subjects`: the recommended ones in their order, then the rest as they came.

    Recommended is what fits with a usable context and answers comfortably, the most capable first, one form of each
    model; where nothing is comfortable, the fastest few. The sentence of what is not recommended says why not.
    `figures` and `budgets` by id.
    """
    cases = [
        _case(s, computer, (figures or {}).get(s.id, NO_FIGURES), (budgets or {}).get(s.id)) for s in subjects
    ]
    ranked = _ranking([case for case in cases if case.can_be_recommended])
    chosen = [_with_sentence(case, rank, ranked[0], computer) for rank, case in enumerate(ranked, start=1)]
    taken = {case.subject.id for case in ranked}
    best_forms = {case.subject.family: case.subject.name for case in ranked}
    return (*chosen, *(_without_rank(case, best_forms) for case in cases if case.subject.id not in taken))


def _ranking(cases: Sequence[_Case]) -> list[_Case]:
    comfortable = sorted(
        (case for case in cases if case.is_comfortable),
        key=lambda case: (-case.subject.quality, -case.pace_class, case.advice.total_bytes),
    )
    slow = sorted((case for case in cases if not case.is_comfortable), key=lambda c: -c.pace)
    seen: set[str] = set()
    best = []
    for case in comfortable or slow[:MOST_RECOMMENDED_SLOW]:
        if case.subject.family not in seen:
            seen.add(case.subject.family)
            best.append(case)
    return best


def _with_sentence(case: _Case, rank: int, first: _Case, computer: Computer) -> Advice:
    advice = case.advice
    speed = advice.speculative or advice.plain
    short_bytes = max(advice.total_bytes - computer.capacity.best_bytes, 0)
    lead = Lead(
        rank,
        case.is_comfortable,
        has_speed=speed is not None,
        quality_share=case.subject.quality / first.subject.quality if first.subject.quality else 1.0,
        # Before this computer was measured nobody knows the paces, only how they are ordered.
        times_as_fast=case.pace / first.pace if first.pace and speed is not None else 1.0,
        less_bytes=first.advice.total_bytes - advice.total_bytes,
    )
    parts = [f"{why(lead)}: {cost(advice.total_bytes, speed)}"]
    parts += [better(advice.fit, speed, short_bytes)]
    sentence = "; ".join(part for part in parts if part)
    return msgspec.structs.replace(advice, rank=rank, sentence=f"{sentence}.")


def _without_rank(case: _Case, best_forms: Mapping[str, str]) -> Advice:
    advice = case.advice
    reason = why_not(
        advice.fit,
        advice.largest_n_ctx,
        advice.speculative or advice.plain,
        best_forms.get(case.subject.family, ""),
        is_comfortable=case.is_comfortable,
        surely_fits=case.surely_fits,
    )
    return msgspec.structs.replace(advice, sentence=reason)


def _case(subject: Subject, computer: Computer, figures: OwnFigures, budget: Budget | None) -> _Case:
    capacity = computer.capacity
    total_bytes = _total_bytes(subject, budget)
    placement = _placement(subject, capacity, total_bytes, budget)
    plain = figures.plain or plain_forecast(subject.cost, placement.shares, computer.speed, computer.devices)
    speculative = figures.speculative or (
        speculative_forecast(plain, subject.drafter_kind, subject.speedups, device_kind_of(computer.devices))
        if plain is not None
        else None
    )
    advice = Advice(
        id=subject.id,
        fit=placement.fit,
        fit_sentence=_fit_sentence(subject, placement.fit, total_bytes, capacity),
        plain=plain,
        speculative=speculative,
        largest_n_ctx=_largest_n_ctx(subject, capacity, placement.fit, budget),
        total_bytes=total_bytes,
        is_estimate=budget is None or budget.is_estimate,
    )
    assumed = plain or plain_forecast(
        subject.cost, placement.shares, computer.assumed_speed, computer.devices
    )
    error_fraction = ERROR_FRACTION if advice.is_estimate else 0.0
    surely_fits = total_bytes * (1 + error_fraction) <= capacity.all_bytes
    return _Case(subject, advice, _middle(assumed), surely_fits)


def _middle(speed: SpeedRange | None) -> float:
    return (speed.low_tokens_per_s + speed.high_tokens_per_s) / 2 if speed is not None else 0.0


def _total_bytes(subject: Subject, budget: Budget | None) -> int:
    """Return what it takes with a usable context, its files alone where nothing more is known."""
    exact = budget.at(subject.n_ctx) if budget is not None else None
    if exact is not None:
        return exact.total_bytes
    return subject.total_bytes(subject.n_ctx) if subject.total_bytes is not None else subject.file_bytes


def _placement(subject: Subject, capacity: Capacity, total_bytes: int, budget: Budget | None) -> Placement:
    placed = place(total_bytes, capacity)
    exact = budget.at(subject.n_ctx) if budget is not None else None
    if exact is None and subject.total_bytes is None:
        # Files alone: they may show that it does not fit, but not that it does.
        is_too_large = total_bytes > 0 and placed.fit is Fit.DOES_NOT_FIT
        return placed if is_too_large else Placement(Fit.UNKNOWN, placed.shares if total_bytes else {})
    if exact is not None and not exact.fits and placed.fit in (Fit.FITS, Fit.TIGHT):
        return Placement(Fit.PARTLY_ON_CPU if capacity.gpu_bytes else Fit.DOES_NOT_FIT, placed.shares)
    return placed


def _largest_n_ctx(subject: Subject, capacity: Capacity, fit: Fit, budget: Budget | None) -> int:
    """Return the largest context that fits as `fit` says, 0 for none."""
    if budget is not None and budget.largest_fit.get(KvType.F16):
        return budget.largest_fit[KvType.F16]
    if subject.total_bytes is None or fit in (Fit.DOES_NOT_FIT, Fit.UNKNOWN):
        return 0
    room_bytes = capacity.all_bytes if fit is Fit.PARTLY_ON_CPU else capacity.best_bytes
    total_bytes = subject.total_bytes
    return largest_context(lambda n_ctx: room_bytes - total_bytes(n_ctx), subject.n_ctx_train or USABLE_N_CTX)


def _fit_sentence(subject: Subject, fit: Fit, total_bytes: int, capacity: Capacity) -> str:
    room_bytes = capacity.all_bytes if fit is Fit.DOES_NOT_FIT else capacity.best_bytes
    return fit_sentence(fit, total_bytes, room_bytes, subject.n_ctx, has_gpu=bool(capacity.gpu_bytes))
