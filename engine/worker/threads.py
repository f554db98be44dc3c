"""Choosing the number of threads by what passes take, while other programs come and go.

llama.cpp's threads meet hundreds of times in every pass, and each time wait for the slowest. A thread that has to share
its core with another program makes all of them wait: with two threads on two cores, one busy program beside makes a
token three times slower, while one thread hardly notices (docs/benchmarks.md).
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.llama.devices import default_threads, usable_cpus
from engine.llama.memory import Measurable
from engine.llama.threads import use_threads
from engine.models.description import Device
from engine.speculation.round import Round
from engine.worker.messages import LoadSettings

_RECENT_PASSES: Final = 7
_TRIAL_PASSES: Final = 5
_SLOW: Final = 1.5
"""Passes this many times slower than this computer's best are a reason to look for a better number at once."""
_WORTH_IT: Final = 0.93
"""Another number of threads has to be that much better: changing to and fro for noise would cost more."""
_NEAR: Final = 2
"""While passes are not slow, only this many neighbours to either side are tried."""
_FIRST_INTERVAL: Final = 8
_SLOW_INTERVAL: Final = 24
_LONGEST_INTERVAL: Final = 128
_QUIET_FALL: Final = 0.3
_QUIET_RISE: Final = 1.002
"""The quiet time of a pass follows faster passes soon and slower ones slowly: they grow with the context."""


def thread_counts(n_default: int, n_usable: int) -> tuple[int, ...]:
    """Return the numbers of threads to choose among, ascending: all usable processors, the default, one less (another
    program takes one core), and fewer (it takes more).
    """
    wanted = {n_usable, n_default, n_default - 1, n_default // 2, n_default // 4, 1}
    return tuple(sorted(n for n in wanted if 1 <= n <= max(n_usable, n_default)))


@dataclass(slots=True)
class ThreadPolicy:
    """Moves along `counts` to the number of threads that makes passes shortest, by short trials of others.

    A trial ends at its first pass that is no shorter than passes were before; five in a row that are win. Trials become
    rare while nothing changes, and come soon when passes are slower than this computer can do them. Passes over
    different numbers of tokens are made comparable by what a pass over as many took at best.
    """

    counts: tuple[int, ...]
    n_threads: int
    _quiet_s: dict[int, float] = field(default_factory=dict)
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT_PASSES))
    _untried: list[int] = field(default_factory=list)
    _trial: list[float] = field(default_factory=list)
    _before_trial: int | None = None
    _interval: int = _FIRST_INTERVAL
    _n_since_trial: int = 0

    def observe(self, n_tokens: int, pass_s: float) -> None:
        """Take in what one pass over `n_tokens` took; `n_threads` is then what the next one should use."""
        slowness = self._slowness(n_tokens, pass_s)
        if self._before_trial is not None:
            self._judge(slowness, self._before_trial)
            return
        self._recent.append(slowness)
        self._n_since_trial += 1
        interval = min(self._interval, _SLOW_INTERVAL) if self._is_slow else self._interval
        if self._n_since_trial >= interval:
            self._start_trial()

    @property
    def _level(self) -> float:
        return statistics.median(self._recent) if self._recent else 1.0

    @property
    def _is_slow(self) -> bool:
        return self._level > _SLOW

    def _slowness(self, n_tokens: int, pass_s: float) -> float:
        """Return how many times as long as at best a pass took, and follow what is best."""
        quiet_s = self._quiet_s.get(n_tokens)
        if quiet_s is None:
            # Nothing is known of passes over so many tokens: the last ones over others tell how busy the computer is.
            quiet_s = pass_s / self._level
        elif pass_s < quiet_s:
            quiet_s += _QUIET_FALL * (pass_s - quiet_s)
        else:
            quiet_s = min(quiet_s * _QUIET_RISE, pass_s)
        self._quiet_s[n_tokens] = max(quiet_s, 1e-9)
        return pass_s / self._quiet_s[n_tokens]

    def _start_trial(self) -> None:
        """Try the nearest number that was not tried yet; fewer first, which is what helps beside other programs."""
        if not self._untried:
            at = self.counts.index(self.n_threads)
            reach = len(self.counts) if self._is_slow else _NEAR
            near = [i for i in range(len(self.counts)) if 0 < abs(i - at) <= reach]
            self._untried = [self.counts[i] for i in sorted(near, key=lambda i: abs(i - at))]
        if self._untried:
            self._before_trial, self.n_threads = self.n_threads, self._untried.pop(0)
            self._trial.clear()

    def _judge(self, slowness: float, before: int) -> None:
        self._trial.append(slowness)
        level = self._level
        if slowness >= level or (
            len(self._trial) == _TRIAL_PASSES and statistics.median(self._trial) > _WORTH_IT * level
        ):
            self.n_threads = before
            self._interval = min(2 * self._interval, _LONGEST_INTERVAL)
        elif len(self._trial) == _TRIAL_PASSES:
            self._recent = deque(self._trial, maxlen=_RECENT_PASSES)
            self._interval = _FIRST_INTERVAL
            self._untried.clear()
        else:
            return
        self._before_trial = None
        self._n_since_trial = 0


def make_thread_policy(settings: LoadSettings, devices: Sequence[Device]) -> ThreadPolicy | None:
    """Return how the number of threads is chosen while running.

    None where the person chose it, and where a GPU computes.
    """
    on_gpu = settings.n_gpu_layers != 0 and any(device.kind in ("gpu", "igpu") for device in devices)
    if settings.n_threads or on_gpu:
        return None
    n_default = default_threads()
    return ThreadPolicy(thread_counts(n_default, usable_cpus()), n_default)


def with_chosen_threads(
    policy: ThreadPolicy | None, contexts: Callable[[], Iterable[Measurable]], rounds: Iterator[Round]
) -> Iterator[Round]:
    """Yield `rounds` while `contexts()` compute with as many threads as `policy` says."""
    if policy is None:
        yield from rounds
        return
    use_threads(contexts(), policy.n_threads)
    for done in rounds:
        if not done.is_prompt_pass:
            before = policy.n_threads
            policy.observe(1 + len(done.drafted), done.pass_s)
            if policy.n_threads != before:
                use_threads(contexts(), policy.n_threads)
        yield done
