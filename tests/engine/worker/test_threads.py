"""The choice of the number of threads on a simulated computer, and that llama.cpp is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from llama_cpp import llama_cpp as api

from engine.errors import PreconditionFailed
from engine.llama.context import Context, ContextSettings
from engine.llama.model import Model
from engine.llama.threads import use_threads
from engine.models.description import Device
from engine.speculation.round import Round
from engine.worker.messages import LoadSettings
from engine.worker.threads import ThreadPolicy, make_thread_policy, thread_counts, with_chosen_threads

GPU = Device("CUDA0", "a GPU", "gpu", 1, 1)
CPU = Device("CPU", "a processor", "cpu", 1, 1)


@dataclass
class Computer:
    """`n_cores` cores on which passes meet at barriers; `n_busy` other programs keep one core each busy."""

    n_cores: int
    n_busy: int = 0
    noise: float = 0.05
    penalty: Callable[[int], float] = lambda k: 1.0
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def best_s(self, k: int, width: int = 1) -> float:
        """Seconds of a pass with `k` threads while nothing else runs."""
        work_s = 0.010 * (1 + 0.2 * (width - 1))
        return work_s * (0.2 + 0.8 / k) * self.penalty(k)

    def pass_s(self, k: int, width: int = 1) -> float:
        crowded = k + self.n_busy - self.n_cores
        slower = 1.0 if crowded <= 0 else (3.0 if k > 1 else 1.0 + self.n_busy / self.n_cores)
        spike = 4.0 if self.rng.random() < 0.01 else 1.0
        return self.best_s(k, width) * slower * spike * float(np.exp(self.noise * self.rng.standard_normal()))


def run(
    computer: Computer, policy: ThreadPolicy, n_passes: int, widths: tuple[int, ...] = (1,)
) -> list[float]:
    times = []
    for i in range(n_passes):
        width = widths[i % len(widths)]
        times.append(computer.pass_s(policy.n_threads, width))
        policy.observe(width, times[-1])
    return times


def policy_for(computer: Computer, n_default: int | None = None) -> ThreadPolicy:
    n = n_default or computer.n_cores
    return ThreadPolicy(thread_counts(n, computer.n_cores), n)


@pytest.mark.parametrize("n_cores", [1, 2, 4, 8, 16])
def test_quiet_speed_is_within_a_twentieth_of_the_best_setting(n_cores: int) -> None:
    computer = Computer(n_cores)
    times = run(computer, policy_for(computer), 1000)
    steady = Computer(n_cores, rng=np.random.default_rng(6))
    assert sum(steady.pass_s(n_cores) for _ in range(1000)) / sum(times) > 0.95


@pytest.mark.parametrize("n_cores", [2, 4, 8])
@pytest.mark.parametrize("widths", [(1,), (1, 4, 2, 4, 9)])
def test_beside_one_busy_program_nine_of_ten_tokens_are_near_the_quiet_median(
    n_cores: int, widths: tuple[int, ...]
) -> None:
    computer = Computer(n_cores)
    policy = policy_for(computer)
    quiet = np.median(run(computer, policy, 300, widths))
    computer.n_busy = 1
    busy = run(computer, policy, 300, widths)
    assert np.quantile(busy, 0.9) < 3 * quiet
    assert policy.n_threads < n_cores


def test_a_computer_that_is_busy_from_the_start_is_noticed() -> None:
    computer = Computer(4, n_busy=2)
    policy = policy_for(computer)
    run(computer, policy, 100)
    times = run(computer, policy, 200)
    assert np.median(times) < 1.2 * computer.best_s(2)


def test_threads_come_back_when_the_other_program_ends() -> None:
    computer = Computer(4, n_busy=2)
    policy = policy_for(computer)
    run(computer, policy, 300)
    computer.n_busy = 0
    run(computer, policy, 600)
    assert np.median(run(computer, policy, 100)) < 1.1 * computer.best_s(4)


def test_fewer_threads_are_kept_where_more_are_slower() -> None:
    """Slow cores beside fast ones: every pass waits for the slowest."""
    computer = Computer(8, penalty=lambda k: 1.0 if k <= 4 else 2.0)
    policy = policy_for(computer)
    run(computer, policy, 200)
    assert np.median(run(computer, policy, 200)) < 1.3 * computer.best_s(4)


def test_more_threads_than_the_default_are_found_where_they_help() -> None:
    computer = Computer(8)
    policy = policy_for(computer, n_default=4)
    run(computer, policy, 200)
    assert np.median(run(computer, policy, 100)) < 1.1 * computer.best_s(8)


def test_noise_alone_makes_no_change_that_costs() -> None:
    computer = Computer(4, noise=0.15)
    times = run(computer, policy_for(computer), 2000)
    steady = Computer(4, noise=0.15, rng=np.random.default_rng(8))
    fixed = [steady.pass_s(4) for _ in range(2000)]
    assert sum(fixed) / sum(times) > 0.95


def test_passes_that_grow_with_the_context_are_not_taken_for_a_busy_computer() -> None:
    computer = Computer(4)
    policy = policy_for(computer)
    n_full = 0
    for i in range(3000):
        n_full += policy.n_threads == 4
        policy.observe(1, computer.pass_s(policy.n_threads) * (1 + i / 1000))
    assert n_full > 2900


@pytest.mark.parametrize(
    ("n_default", "n_usable", "counts"),
    [
        (1, 1, (1,)),
        (2, 2, (1, 2)),
        (2, 4, (1, 2, 4)),
        (8, 16, (1, 2, 4, 7, 8, 16)),
        (4, 2, (1, 2, 3, 4)),
    ],
)
def test_numbers_to_choose_among(n_default: int, n_usable: int, counts: tuple[int, ...]) -> None:
    assert thread_counts(n_default, n_usable) == counts


def test_one_processor_leaves_nothing_to_choose() -> None:
    policy = ThreadPolicy((1,), 1)
    for _ in range(200):
        policy.observe(1, 0.01)
    assert policy.n_threads == 1


def test_a_persons_choice_is_kept_and_a_gpu_needs_none() -> None:
    assert make_thread_policy(LoadSettings(n_threads=3), (CPU,)) is None
    assert make_thread_policy(LoadSettings(), (GPU, CPU)) is None
    assert make_thread_policy(LoadSettings(n_gpu_layers=0), (GPU, CPU)) is not None
    assert make_thread_policy(LoadSettings(), (CPU,)) is not None


# ----------------------------------------------------------------------------------------------- on llama.cpp


def threads_of(context: Context) -> tuple[int, int]:
    """Return the threads of a pass over one token and of one over many."""
    pointer = context.pointer
    return int(api.llama_n_threads(pointer)), int(api.llama_n_threads_batch(pointer))


def test_llama_is_told_before_the_next_pass(llama_model: Model) -> None:
    told = []
    with Context(llama_model, ContextSettings(n_ctx=256, n_threads=1)) as context:
        policy = ThreadPolicy((1, 2), 2)
        rounds = iter([Round(n_prompt=5), *[Round(tokens=(1,), pass_s=0.01)] * 20])
        for _ in with_chosen_threads(policy, lambda: (context,), rounds):
            told.append((threads_of(context), policy.n_threads))
    assert all(pair == (n, n) for pair, n in told)
    assert {n for _, n in told} == {1, 2}


def test_without_a_policy_nothing_is_changed(llama_model: Model) -> None:
    with Context(llama_model, ContextSettings(n_ctx=256, n_threads=3)) as context:
        assert len(list(with_chosen_threads(None, lambda: (context,), iter([Round(), Round()])))) == 2
        assert threads_of(context) == (3, 3)


def test_same_logits_with_another_number_of_threads(llama_model: Model) -> None:
    rows = []
    with Context(llama_model, ContextSettings(n_ctx=256, n_threads=1)) as context:
        for n in (1, 2):
            use_threads((context,), n)
            context.rewind(0)
            context.extend([1, 2, 3], 1)
            rows.append(context.logits(0).copy())
    assert np.array_equal(rows[0], rows[1])


def test_no_threads_at_all_are_refused(llama_model: Model) -> None:
    with Context(llama_model, ContextSettings(n_ctx=256)) as context, pytest.raises(PreconditionFailed):
        use_threads((context,), 0)
