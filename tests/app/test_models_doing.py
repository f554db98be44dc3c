"""What the Models page does: load, delete, verify, ask for a token, measure, and be offline."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QMessageBox
from pytestqt.qtbot import QtBot

from engine.budget.budget import KvType
from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteBundle
from engine.models_events import ConnectionChanged
from engine.recommend.advice import ComputerSpeed
from engine.worker.messages import Failed, LoadSettings
from tests.app.conftest import OpenApp, Opened
from tests.app.models_page import SLOW_DOWNLOAD, asked, choose, show
from tests.app.models_page import opened as opened
from tests.app.scripted_models import ModelsScript, ScriptedModels
from tests.app.scripted_service import Script


def test_load_takes_context_and_precision_along_and_shows_the_chat(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "qwen2.5-coder-1.5b")
    page.detail.choices.pick_kv_type(KvType.Q8_0)
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0)
    page.detail.memory.slider.slider.setValue(1)
    page.detail.primary.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)
    loads = [what for name, what in opened.service.calls if name == "load"]
    assert loads[-1][1] == LoadSettings(n_ctx=4096, kv_type=KvType.Q8_0)  # type: ignore[index]
    assert opened.window.compare.picker.target.chosen == "Qwen2.5 Coder 1.5B"
    opened.window.show_page(2)
    assert page.detail.primary.text() == "Compare"
    assert ("Loaded", "310 MiB on CPU") in page.detail.facts.rows
    page.detail.primary.click()
    assert opened.window.pages.currentIndex() == 1


def test_a_load_that_does_not_fit_is_refused_here_and_can_be_forced(qtbot: QtBot, open_app: OpenApp) -> None:
    refusal = Failed(
        0, "ContextTooLarge", "This context needs 14.4 GiB; 11.2 GiB are free.", "With 32,768 tokens it fits."
    )
    opened = show(qtbot, open_app(Script(speed=40.0, load_failure=refusal)))
    page = choose(qtbot, opened, "starter")
    page.detail.primary.click()
    qtbot.waitUntil(lambda: page.detail.notice.isVisible())
    assert opened.window.pages.currentIndex() == 2
    assert page.detail.notice.sentence == refusal.sentence
    opened.service.script = Script(speed=40.0)
    (anyway,) = page.detail.notice.buttons
    assert anyway.text() == "Load anyway"
    anyway.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)
    loads = [what for name, what in opened.service.calls if name == "load"]
    assert not loads[-1][1].check_memory  # type: ignore[index]


def test_deleting_is_asked_about_by_its_verb_and_keeps_by_default(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-e2b")
    assert page.detail.delete.text() == "Delete 3.2 GB"
    page.detail.delete.click()
    box = page.doing.question
    assert isinstance(box, QMessageBox)
    assert {one.text() for one in box.buttons()} == {"Delete 3.2 GB", "Keep"}
    assert box.defaultButton().text() == "Keep"
    QTest.keyClick(box, Qt.Key.Key_Escape)
    assert asked(opened, "remove") == []
    page.detail.delete.click()
    box = page.doing.question
    assert box is not None
    next(one for one in box.buttons() if one.text().startswith("Delete")).click()
    qtbot.waitUntil(lambda: page.detail.primary.text() == "Download 3.2 GB")
    assert asked(opened, "remove") == ["gemma-4-e2b"]
    assert page.notice.sentence == "Deleted. 3.2 GB are free again."


def test_only_what_was_downloaded_here_can_be_deleted(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "qwen2.5-coder-1.5b")
    assert page.detail.delete.isHidden()
    assert page.detail.folder.isVisible()
    assert "In LM Studio's folder" in [row.second for row in page.list.rows]


@pytest.mark.parametrize(
    "sentence", ["", "“gemma-4-E2B-it-Q4_K_M.gguf” has changed since it was downloaded."]
)
def test_verifying_ends_with_a_sentence(qtbot: QtBot, open_app: OpenApp, sentence: str) -> None:
    models = ScriptedModels(ModelsScript(verify_sentence=sentence))
    opened = show(qtbot, open_app(models=models))
    page = choose(qtbot, opened, "gemma-4-e2b")
    page.detail.verify.click()
    qtbot.waitUntil(lambda: page.detail.notice.isVisible())
    assert page.detail.notice.sentence == (sentence or "Every file is what it should be.")
    assert page.detail.verify.isEnabled()


def test_a_gate_says_what_to_do_and_takes_a_token(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "llama-3.3-70b")
    gate = page.detail.gate
    assert gate.isVisible()
    assert "accept the conditions" in gate.words
    QTest.keyClicks(gate.token, "hf_secret")
    assert "hf_secret" not in gate.token.displayText()
    QTest.keyClick(gate.token, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "The Hub knows you as ada." in gate.words)
    assert asked(opened, "set_token") == ["hf_secret"]
    assert gate.token.text() == ""
    assert gate.token.isHidden()
    gate.forget.click()
    qtbot.waitUntil(lambda: gate.token.isVisible())
    page.list.choose("gemma-4-e4b")
    assert gate.isHidden()


def test_offline_is_a_state_with_a_name_and_everything_here_still_works(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(online=False))))
    page = opened.window.models
    page.search.edit.setText("qwen2.5")
    qtbot.waitUntil(lambda: page.offline.isVisible())
    assert page.offline.sentence.startswith("You are offline")
    qtbot.waitUntil(lambda: any("Press here to search again" in row.title for row in page.list.rows))
    choose(qtbot, opened, "qwen2.5-coder-1.5b")
    assert page.detail.primary.text() == "Load"
    opened.models.script = ModelsScript()
    page.offline.buttons[0].click()
    qtbot.waitUntil(lambda: not page.hub.is_searching)
    assert page.offline.isHidden()
    assert not any("search again" in row.title for row in page.list.rows)


def test_a_page_of_the_hub_that_does_not_open_says_so_in_its_place(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(online=False))))
    page = opened.window.models
    page.open_repo("unsloth/Qwen3.8-27B-GGUF")
    assert page.side.currentWidget() is page.lesson
    qtbot.waitUntil(lambda: page.lesson.notice.isVisible())
    opened.models.script = ModelsScript()
    page.lesson.notice.buttons[0].click()
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.8-27B-GGUF")


def test_measuring_shows_how_far_it_is_and_can_be_cancelled(qtbot: QtBot, open_app: OpenApp) -> None:
    models = ScriptedModels(ModelsScript(speed=ComputerSpeed(), measure_s=20.0))
    page = show(qtbot, open_app(models=models)).window.models
    assert page.measure.go.text() == "Measure this computer"
    page.measure.go.click()
    qtbot.waitUntil(lambda: "Reading weights on the GPU" in page.measure.words)
    page.measure.go.click()
    qtbot.waitUntil(lambda: page.measure.go.text() == "Measure this computer")
    models.script = ModelsScript(measure_s=0.1)
    page.measure.go.click()
    qtbot.waitUntil(lambda: page.measure.words.replace("\u2060", "") == "CUDA0 reads 431 GB/s")
    assert page.notice.isHidden()


def test_a_folder_dropped_on_the_window_is_looked_into(qtbot: QtBot, opened: Opened, tmp_path: Path) -> None:
    opened.window.show_page(1)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    opened.window.dropEvent(event)
    qtbot.waitUntil(lambda: opened.window.models.detail._state.folders == (str(tmp_path),))
    assert opened.window.pages.currentIndex() == 2


def test_a_bundle_of_the_hub_is_downloaded_as_picked(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(SLOW_DOWNLOAD)))
    page = opened.window.models
    page.open_repo("unsloth/Qwen3.8-27B-GGUF")
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.8-27B-GGUF")
    page.detail.primary.click()
    (bundle,) = asked(opened, "download")
    assert isinstance(bundle, RemoteBundle)
    assert bundle.drafter_kind is DrafterKind.MTP
    qtbot.waitUntil(lambda: page.detail.download.isVisible())


def test_what_was_downloaded_from_the_hub_is_loaded_from_its_page(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    page.open_repo("unsloth/Qwen3.8-27B-GGUF")
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.8-27B-GGUF")
    page.detail.primary.click()
    qtbot.waitUntil(lambda: page.detail.primary.text() == "Load", timeout=5000)
    page.detail.choices._pick_version(0)
    assert page.detail.primary.text() == "Download 9.4 GB"
    page.detail.choices._pick_version(2)
    page.detail.primary.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)
    assert opened.window.chat.picker.target.chosen == "Qwen3.8-27B-GGUF Q4_K_M"


def test_the_pickers_offer_what_the_shelf_holds(qtbot: QtBot, opened: Opened) -> None:
    menu = QMenu()
    opened.window.compare.picker._fill_targets(menu)
    names = [one.text() for one in menu.actions()]
    assert names[:3] == ["Gemma 4 E2B", "Starter: SmolLM2 135M", "Qwen2.5 Coder 1.5B"]


def test_going_offline_and_back_is_followed(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    opened.models.tell(ConnectionChanged(False))
    qtbot.waitUntil(lambda: page.offline.isVisible())
    opened.models.tell(ConnectionChanged(True))
    qtbot.waitUntil(lambda: page.offline.isHidden())
