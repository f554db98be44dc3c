"""Records as a bench leaves them, made up."""

from __future__ import annotations

from engine.bench.results import BenchRunRecord, Machine

MACHINE = Machine("Linux 6 x86_64", "A processor", (), 4, "0.1.0", "b9000")


def record(
    task: str,
    mode: str,
    tokens_per_s: float | None,
    *,
    category: str = "",
    repeat: int = 0,
    n_tokens: int = 64,
    prefill_s: float = 1.0,
    drafted: tuple[int, ...] = (),
    accepted: tuple[int, ...] = (),
) -> BenchRunRecord:
    """Return a run of `task`, whose category is what stands before the first dash unless it is given."""
    decode_s = (n_tokens - 1) / tokens_per_s if tokens_per_s else 0.0
    return BenchRunRecord(
        task=task,
        category=category or task.split("-", maxsplit=1)[0],
        mode=mode,
        repeat=repeat,
        n_prompt=40,
        n_tokens=n_tokens,
        tokens_per_s=tokens_per_s,
        end_to_end_s=prefill_s + decode_s,
        prefill_s=prefill_s,
        rounds=n_tokens - 1 - sum(accepted),
        drafted_by_position=drafted,
        accepted_by_position=accepted,
    )
