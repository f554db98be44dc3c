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


def file_progress(done_bytes: int, whole_bytes: int) -> str:
    """Return how much of a file is there: "2.1 GB of 5.1 GB"; only the first where the whole is not known."""
    done = file_size(done_bytes)
    return f"{done} of {file_size(whole_bytes)}" if whole_bytes else done


def memory_size(n_bytes: int) -> str:
    """Return an amount of memory in binary units: "4.4 GiB"."""
    return _scaled(n_bytes, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def rate(bytes_per_s: float) -> str:
    """Return a download's speed: "42.1 MB/s"."""
    return f"{file_size(round(bytes_per_s))}/s"


def time_left(seconds: float | None) -> str:
    """Return what is left of a wait, as coarse as it is long: "12 s left", "3 min left", "2 h 10 min left"."""
    if seconds is None:
        return ""
    if round(seconds) < 60:
        return f"{max(1, round(seconds))} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min left"


def context(n_ctx: int) -> str:
    """Return a context length in short: "8k", "49k", "1M"; "k" is 1024 tokens."""
    if n_ctx >= 1 << 20:
        return f"{n_ctx / (1 << 20):.3g}M"
    return f"{n_ctx // 1024}k" if n_ctx >= 1024 else str(n_ctx)


def speed_range(low: float, high: float) -> str:
    """Return a range of speeds without its unit: "38–55", or one number where both are alike."""
    digits = 1 if high < 10 else 0
    first, last = f"{low:.{digits}f}", f"{high:.{digits}f}"
    return first if first == last else f"{first}–{last}"


def count(n: int, singular: str, plural: str | None = None) -> str:
    """Return "1 token" or "8,192 tokens"."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def _scaled(n: float, base: int, units: tuple[str, ...]) -> str:
    """Return `n` in the largest unit that leaves it at 1 or above, with at most three digits."""
    unit = 0
    while n >= base and unit < len(units) - 1:
        n /= base
        unit += 1
    digits = 0 if unit == 0 or n >= 100 else 1
    return f"{n:.{digits}f} {units[unit]}"
