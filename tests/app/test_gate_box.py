"""Models whose owner asks for consent: what is said, and what happens with a token."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from engine.models_events import ModelsFailed
from tests.app.conftest import OpenApp, Opened
from tests.app.models_page import asked, choose, show
from tests.app.scripted_models import ModelsScript, ScriptedModels

GATED = ModelsFailed(0, "GatedRepository", "“meta” asks everybody to accept its terms first.", "Accept them.")
REFUSED = ModelsFailed(
    0, "TokenRefused", "The Hugging Face Hub does not accept the token.", "Make a new one."
)


def enter(opened: Opened, token: str) -> None:
    gate = opened.window.models.detail.gate
    QTest.keyClicks(gate.token, token)
    QTest.keyClick(gate.token, Qt.Key.Key_Return)


def test_a_refused_token_is_told_where_it_was_entered_and_a_good_one_takes_its_place(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(token_trouble=REFUSED))))
    page = choose(qtbot, opened, "llama-3.3-70b")
    gate = page.detail.gate
    assert "kept in the file that the Hub’s own tools use" in gate.words
    enter(opened, "hf_wrong")
    qtbot.waitUntil(lambda: "does not accept the token. Make a new one." in gate.words)
    assert "Asking the Hub" not in gate.words
    assert page.detail.notice.isHidden()
    opened.models.script = ModelsScript()
    before = len(asked(opened, "budget"))
    enter(opened, "hf_right")
    qtbot.waitUntil(lambda: "The Hub knows you as ada." in gate.words)
    assert "does not accept" not in gate.words
    qtbot.waitUntil(lambda: len(asked(opened, "budget")) > before)


def test_who_is_known_but_has_no_access_is_told_that_the_owner_decides(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(budget_trouble=GATED))))
    page = opened.window.models
    page.list.choose("llama-3.3-70b")
    memory, gate = page.detail.memory, page.detail.gate
    qtbot.waitUntil(lambda: memory.words == "What it takes can be told once the Hub gives access.")
    assert memory.notice.isHidden()
    enter(opened, "hf_right")
    qtbot.waitUntil(lambda: "ada has no access yet; the owner decides" in gate.words)
    assert gate.token.isHidden()


def test_a_token_that_is_here_already_is_not_asked_for_again(
    qtbot: QtBot, open_app: OpenApp, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("hf_of_the_hubs_tools")
    opened = show(qtbot, open_app())
    gate = choose(qtbot, opened, "llama-3.3-70b").detail.gate
    assert "The token that is on this computer is used." in gate.words
    assert gate.token.isHidden()
    gate.another.click()
    assert gate.token.isVisible()
