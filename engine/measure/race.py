"""The race: several lanes on one machine, each with the whole of it to itself, one round at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from engine.speculation.round import Round


def race(lanes: Sequence[Iterator[Round]]) -> Iterator[tuple[int, Round]]:
    """Yield (lane, round), always stepping the lane whose own clock is behind; of equals the first.

    A lane's clock is the sum of its rounds' `total_s`: only its own time. So the lanes advance at their true
    relative speed, and each is as fast as if it ran alone. When this generator is closed or a lane raises,
    all lanes that can be closed are.
    """
    clocks_s = dict.fromkeys(range(len(lanes)), 0.0)
    try:
        while clocks_s:
            lane = min(clocks_s, key=clocks_s.__getitem__)
            done = next(lanes[lane], None)
            if done is None:
                del clocks_s[lane]
                continue
            clocks_s[lane] += done.total_s
            yield lane, done
    finally:
        for each in lanes:
            if isinstance(each, Generator):
                each.close()
