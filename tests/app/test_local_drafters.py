"""Who may guess ahead for a model that is here, in the detail and in the pickers."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app.models.words import CANNOT_RUN_YET
from engine.models.bundle import NGRAM_DRAFTER, DrafterChoice, DrafterKind
from engine.models_events import LocalDrafter
from tests.app.conftest import OpenApp, Opened
from tests.app.models_page import asked, choose, show
from tests.app.scripted_models import ModelsScript, ScriptedModels

SMALL = DrafterChoice(DrafterKind.MODEL, "/models/qwen-0.5b.gguf")
WHY_NOT = "it was trained for another model"
SCRIPT = ModelsScript(
    drafters=(
        LocalDrafter(SMALL, "qwen-0.5b", 400_000_000, remark="it is more than half as large"),
        LocalDrafter(NGRAM_DRAFTER, "n-gram"),
        LocalDrafter(DrafterChoice(DrafterKind.MTP, "/models/mtp.gguf"), "mtp", 90_000_000),
        LocalDrafter(DrafterChoice(DrafterKind.MODEL, "/m/other.gguf"), "other", 1, reason=WHY_NOT),
    )
)


@pytest.fixture
def opened(qtbot: QtBot, open_app: OpenApp) -> Opened:
    return show(qtbot, open_app(models=ScriptedModels(SCRIPT)))


def said(menu: QMenu) -> list[tuple[str, bool, str]]:
    return [
        (one.text(), one.isEnabled(), one.toolTip() if one.toolTip() != one.text() else "")
        for one in menu.actions()
        if not one.isSeparator()
    ]


def test_the_detail_offers_what_is_here_the_best_first_and_greys_the_rest(
    qtbot: QtBot, opened: Opened
) -> None:
    page = choose(qtbot, opened, "qwen2.5-coder-1.5b")
    qtbot.waitUntil(lambda: bool(page.detail.subject.local))
    menu = QMenu()
    page.detail.choices._fill_drafters(menu)
    assert said(menu) == [
        ("qwen-0.5b · 400 MB", True, "It fits, but it is more than half as large."),
        ("Words seen before (n-gram)", True, ""),
        ("MTP head in a file of its own · 90.0 MB – cannot answer yet", False, CANNOT_RUN_YET),
        ("other · 1 B – does not fit", False, WHY_NOT),
        ("Nobody", True, ""),
    ]
    assert menu.actions()[1].isChecked()
    menu.actions()[0].trigger()
    page.detail.primary.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)
    choice = page.doing._session.choice
    assert choice is not None
    assert choice.drafter == SMALL


def test_the_picker_of_a_chat_offers_the_same(qtbot: QtBot, opened: Opened) -> None:
    picker = opened.window.chat.picker
    menu = QMenu()
    picker._fill_drafters(menu)
    qtbot.waitUntil(lambda: menu.actions()[0].text() == "qwen-0.5b")
    assert [text for text, is_enabled, _ in said(menu) if not is_enabled] == [
        "MTP head in a file of its own – cannot answer yet",
        "other – does not fit",
    ]
    assert len(asked(opened, "suggest_drafters")) >= 1
    menu.actions()[0].trigger()
    assert picker.drafter.chosen == "qwen-0.5b"
