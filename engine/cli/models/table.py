"""Tables for people: columns as wide as what stands in them, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cli.terminal import printable
from engine.cli.wrapping import cell_width

GAP = "  "


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print `rows` under `head`; the columns in `right` are aligned to the right. Control characters are left out."""
    shown = [[printable(cell).replace("\n", " ") for cell in row] for row in (head, *rows)]
    widths = [max(map(_width, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = [
            " " * (width - _width(cell)) + cell if index in right else cell + " " * (width - _width(cell))
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(GAP.join(cells).rstrip())


def size_text(n_bytes: int, *, is_rough: bool = False) -> str:
    """Return a size in decimal units, as the Hub shows it: "4.98 GB"; "?" for 0."""
    if n_bytes <= 0:
        return "?"
    sign = "~" if is_rough else ""
    if n_bytes >= 1_000_000_000:
        return f"{sign}{n_bytes / 1e9:.2f} GB"
    return f"{sign}{n_bytes / 1e6:.0f} MB" if n_bytes >= 1_000_000 else f"{sign}{n_bytes / 1e3:.0f} kB"


def count_text(number: int) -> str:
    """Return a number of parameters, downloads or tokens in few characters: "8.2B", "131k"; "" for 0."""
    for unit, size in (("B", 1_000_000_000), ("M", 1_000_000), ("k", 1000)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number) if number else ""


def _width(text: str) -> int:
    return sum(map(cell_width, text))
