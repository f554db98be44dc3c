"""Who may guess ahead for a model that is here, in the detail and in the pickers."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app import words as common_words
from app.models.actions import loadable
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.capability import DrafterCapability
from engine.models_events import LocalDrafter
from engine.worker.messages import Ready
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


READY = Ready(
    4242,
    "0.3.36",
    (
        DrafterCapability(DrafterKind.MTP, "this build of llama.cpp lacks llama_mtp"),
        DrafterCapability(DrafterKind.EAGLE3),
    ),
)
NO_MTP = "It cannot run here: this build of llama.cpp lacks llama_mtp."


@pytest.fixture
def opened(qtbot: QtBot, open_app: OpenApp) -> Opened:
    """A window whose engine cannot run MTP heads."""
    one = show(qtbot, open_app(models=ScriptedModels(SCRIPT)))
    with qtbot.waitSignal(one.window.compare._session.drafters_known):
        one.service.tell(READY)
    return one


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
        ("MTP head in a file of its own · 90.0 MB – cannot run here", False, NO_MTP),
        ("other · 1 B – does not fit", False, WHY_NOT),
        ("Nobody", True, ""),
        ("Also look up words seen before (n-gram)", False, common_words.NGRAM_BESIDE),
    ]
    assert menu.actions()[1].isChecked()
    menu.actions()[0].trigger()
    menu.clear()
    page.detail.choices._fill_drafters(menu)
    menu.actions()[-1].trigger()
    assert page.detail.choices.drafter.chosen == "qwen-0.5b · 400 MB + n-gram"
    page.detail.primary.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)
    choice = page.doing._session.choice
    assert choice is not None
    assert choice.drafter == DrafterChoice(SMALL.kind, SMALL.path, with_ngram=True)


def test_the_picker_of_a_chat_offers_the_same(qtbot: QtBot, opened: Opened) -> None:
    picker = opened.window.chat.picker
    menu = QMenu()
    picker._fill_drafters(menu)
    qtbot.waitUntil(lambda: menu.actions()[0].text() == "qwen-0.5b")
    assert [text for text, is_enabled, _ in said(menu) if not is_enabled] == [
        "MTP head in a file of its own: mtp – cannot run here",
        "other – does not fit",
        "Also look up words seen before (n-gram)",
    ]
    assert len(asked(opened, "suggest_drafters")) >= 1
    menu.actions()[0].trigger()
    assert picker.drafter.chosen == "qwen-0.5b"


HEAD_INSIDE = DrafterChoice(DrafterKind.MTP)
EAGLE = DrafterChoice(DrafterKind.EAGLE3, "/models/eagle.gguf")
HEADS = ModelsScript(
    drafters=(
        LocalDrafter(HEAD_INSIDE, "MTP head inside the model"),
        LocalDrafter(EAGLE, "eagle", 90_000_000),
        LocalDrafter(NGRAM_DRAFTER, "n-gram"),
    )
)


def entry(menu: QMenu, words: str) -> QAction:
    return next(one for one in menu.actions() if one.text().startswith(words))


def test_every_kind_of_drafter_can_be_chosen_with_n_gram_beside_it(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(models=ScriptedModels(HEADS))
    picker, session = opened.window.compare.picker, opened.window.compare._session
    menu = QMenu()
    picker._fill_drafters(menu)
    qtbot.waitUntil(lambda: menu.actions()[0].text() == "Its own MTP head")
    assert not entry(menu, "Also look up").isEnabled()
    menu.actions()[0].trigger()
    assert session.choice is not None
    assert session.choice.drafter == HEAD_INSIDE
    menu.clear()
    picker._fill_drafters(menu)
    entry(menu, "Also look up").trigger()
    assert session.choice.drafter == DrafterChoice(DrafterKind.MTP, with_ngram=True)
    assert picker.drafter.chosen == "Its own MTP head + n-gram"
    menu.clear()
    picker._fill_drafters(menu)
    checked = [one.text() for one in menu.actions() if one.isChecked()]
    assert checked == ["Its own MTP head", "Also look up words seen before (n-gram)"]
    entry(menu, "An EAGLE-3 head: eagle").trigger()
    assert session.choice.drafter == DrafterChoice(DrafterKind.EAGLE3, EAGLE.path, with_ngram=True)
    opened.window.close()
    again = open_app(models=ScriptedModels(HEADS)).window
    assert again.compare.picker.drafter.chosen == "An EAGLE-3 head: eagle + n-gram"
    entry(menu, "Words seen before").trigger()
    assert session.choice.drafter == NGRAM_DRAFTER


def test_what_the_engine_cannot_run_is_loaded_with_n_gram_and_says_so(opened: Opened) -> None:
    session = opened.window.compare._session
    bundle = Bundle("Gemma", "/m/gemma.gguf", DrafterChoice(DrafterKind.MTP, "/m/mtp.gguf"))
    assert loadable(bundle, session.why_not) == Bundle("Gemma", "/m/gemma.gguf", NGRAM_DRAFTER)
    eagle = Bundle("Gemma", "/m/gemma.gguf", EAGLE)
    assert loadable(eagle, session.why_not) is eagle
