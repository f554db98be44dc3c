"""The two palettes can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.palette import CONTRASTS, DARK, LIGHT, Colours, contrast, current_colours
from app.theme import Theme, ThemeChoice

APP = Path(__file__).parents[2] / "app"


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_pair_has_the_contrast_that_it_needs(colours: Colours) -> None:
    poor = {
        (front, ground): round(contrast(getattr(colours, front), getattr(colours, ground)), 2)
        for front, ground, least in CONTRASTS
        if contrast(getattr(colours, front), getattr(colours, ground)) < least
    }
    assert poor == {}


def test_black_on_white_has_the_contrast_that_the_standard_says() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)


def test_no_colour_literal_stands_outside_the_palette() -> None:
    literal = re.compile(r"""["'\s:]#[0-9a-fA-F]{3,8}\b""")
    guilty = [
        str(path.relative_to(APP))
        for path in APP.rglob("*.py")
        if path.name != "palette.py" and literal.search(path.read_text(encoding="utf-8"))
    ]
    assert guilty == []


def test_a_chosen_theme_is_applied_where_the_platform_has_none(qapp: QApplication) -> None:
    theme = Theme(qapp, ThemeChoice.DARK)
    assert current_colours() is DARK
    theme.choose(ThemeChoice.LIGHT)
    assert current_colours() is LIGHT
    assert DARK.window not in qapp.styleSheet()
