"""A model file as it was found, before anybody has looked into it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.shelf.installed_model import Place

# Folders beside or below a target that only sort its files: drafters, or one quantisation.
_SORTING_FOLDER: Final = re.compile(
    r"^(mtp|draft(er)?s?|eagle-?3|dflash|dspark|(ud-)?(i?q|tq)\d\w*|mxfp4\w*|bf16|f16|f32|fp16)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """`name` is what the program that keeps it calls it, "" if nothing; files of one `group` belong together.

    `drafter` is what that program pairs it with, where it does. `trouble` says why there is nothing to look into.
    """

    path: Path
    place: Place
    name: str = ""
    group: str = ""
    drafter: Path | None = None
    trouble: str = ""


def group_of(path: Path) -> str:
    """Return the folder that holds a model with all that belongs to it."""
    folder = path.parent
    return str(folder.parent if _SORTING_FOLDER.match(folder.name) else folder)
