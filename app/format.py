"""Numbers for people: the unit always, two or three significant digits, one width while they change."""

from __future__ import annotations

NOTHING_YET = "–"
_NARROW_SPACE = " "


def tokens_per_s(value: float | None) -> str:
    """Return a speed without its unit, such as "41.0" or "128"; a dash where there is none yet."""
    if value is None:
        return NOTHING_YET
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def speed(value: float | None) -> str:
    """Return a speed with its unit: "41.0 tok/s"."""
    return f"{tokens_per_s(value)} tok/s"


def duration(seconds: float | None) -> str:
    """Return a duration such as "24 ms", "0.33 s", "12.4 s" or "2 min 5 s"."""
    if seconds is None:
        return NOTHING_YET
    if seconds < 0.1:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def share(fraction: float | None) -> str:
    """Return a fraction of 1 as "78 %"."""
    return NOTHING_YET if fraction is None else f"{fraction * 100:.0f}{_NARROW_SPACE}%"


def factor(value: float | None) -> str:
    """Return a ratio as "1.62×"."""
    return NOTHING_YET if value is None else f"{value:.2f}×"


def ratio(value: float | None) -> str:
    """Return a plain number with two decimals, for tokens per pass."""
    return NOTHING_YET if value is None else f"{value:.2f}"


def file_size(n_bytes: int) -> str:
    """Return a file's size in decimal units: "4.7 GB"."""
    return _scaled(n_bytes, 1000, ("B", "kB", "MB", "GB", "TB"))


def memory_size(n_bytes: int) -> str:
    """Return an amount of memory in binary units: "4.4 GiB"."""
    return _scaled(n_bytes, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def count(n: int, singular: str, plural: str | None = None) -> str:
    """Return "1 token" or "128 tokens"."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}".replace(",", _NARROW_SPACE)


def _scaled(n: float, base: int, units: tuple[str, ...]) -> str:
    """Return `n` in the largest unit that leaves it at 1 or above, with at most three digits."""
    unit = 0
    while n >= base and unit < len(units) - 1:
        n /= base
        unit += 1
    digits = 0 if unit == 0 or n >= 100 else 1
    return f"{n:.{digits}f} {units[unit]}"
