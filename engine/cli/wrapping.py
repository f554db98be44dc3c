"""Breaking text into lines of a terminal's width."""

from __future__ import annotations

import unicodedata


def wrap(text: str, n_cells: int) -> list[str]:
    """Return `text` in lines of at most `n_cells` cells, broken at spaces where there are any; tabs become
    spaces.
    """
    lines: list[str] = []
    for paragraph in text.expandtabs(4).split("\n"):
        line, used, last_space = "", 0, -1
        for character in paragraph:
            cells = cell_width(character)
            if used + cells > n_cells:
                if last_space > 0:
                    line, rest = line[:last_space], line[last_space + 1 :]
                else:
                    rest = ""
                lines.append(line)
                line, used, last_space = rest, sum(map(cell_width, rest)), -1
            if character == " ":
                last_space = len(line)
            line += character
            used += cells
        lines.append(line)
    return lines


def pad(line: str, n_cells: int) -> str:
    """Return `line` cut and filled up to exactly `n_cells` cells."""
    used = n_kept = 0
    for character in line:
        cells = cell_width(character)
        if used + cells > n_cells:
            break
        used += cells
        n_kept += 1
    return line[:n_kept] + " " * (n_cells - used)


def cell_width(character: str) -> int:
    """Return how many cells a terminal gives `character`."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
