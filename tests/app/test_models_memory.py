"""What a model takes: the slider, the precision, the second lane, and the drafter."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from engine.budget.budget import KvType
from engine.models.bundle import DrafterKind
from engine.models_service import BudgetRequest
from tests.app.conftest import OpenApp, Opened
from tests.app.models_page import asked, choose, show
from tests.app.models_page import opened as opened
from tests.app.scripted_models import ModelsScript, ScriptedModels


def test_the_slider_shows_what_each_context_takes_and_until_where_it_fits(
    qtbot: QtBot, opened: Opened
) -> None:
    memory = choose(qtbot, opened, "gemma-4-e4b").detail.memory
    assert memory.words.startswith(
        "≈ 5.9 GiB with a context of 8,192 tokens, and 400 MiB kept free · fits until "
    )
    assert memory.slider.mark == "fits until 95k"
    assert memory.bars[0].caption == "takes 5.6 GiB, leaves 5.6 GiB"
    memory.slider.slider.setValue(6)
    assert memory.bars[0].caption.startswith("needs ")
    assert not memory.fits
    assert memory.table.rows[0] == ("", "CUDA0", "CPU")


def test_another_precision_is_asked_for_once_and_moves_the_mark(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-12b")
    assert page.detail.memory.slider.mark == "fits until 32k"
    menu = QMenu()
    page.detail.choices._fill_precisions(menu)
    menu.actions()[2].trigger()
    qtbot.waitUntil(lambda: page.detail.memory.slider.mark == "fits until 115k")
    page.detail.choices.pick_kv_type(KvType.F16)
    page.detail.choices.pick_kv_type(KvType.Q4_0)
    requests = [what for what in asked(opened, "budget") if isinstance(what, BudgetRequest)]
    about = [what.kv_types for what in requests if what.remote and what.remote.id == "gemma-4-12b"]
    assert about == [(KvType.F16,), (KvType.Q4_0,)]


def test_a_comparison_is_counted_in_when_asked(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-e4b")
    assert not any("Second lane" in text for text in page.detail.memory.legend.texts)
    page.detail.choices.race.click()
    qtbot.waitUntil(lambda: any("Second lane" in text for text in page.detail.memory.legend.texts))


def test_numbers_stay_until_those_for_another_way_to_load_come(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app())
    page = choose(qtbot, opened, "gemma-4-e4b")
    memory = page.detail.memory
    opened.models.script = ModelsScript(budget_s=0.3)
    page.detail.choices.race.click()
    assert memory.words == "Working out what that takes…"
    assert memory.bars[0].isVisible()
    assert not memory.bars[0].isEnabled()
    qtbot.waitUntil(lambda: any("Second lane" in text for text in memory.legend.texts))
    assert memory.bars[0].isEnabled()


def test_working_out_can_be_cancelled_and_begun_again(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(budget_s=20.0))))
    memory = opened.window.models.detail.memory
    qtbot.waitUntil(lambda: memory.busy.isVisible())
    memory.busy.cancel.click()
    assert memory.words == "What it takes was not worked out."
    assert memory.busy.isHidden()
    opened.models.script = ModelsScript()
    memory.notice.buttons[0].click()
    qtbot.waitUntil(lambda: memory.n_ctx > 0)


def test_speed_or_context_is_left_to_the_person(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-12b")
    memory = page.detail.memory
    assert memory.choice.isHidden()
    memory.slider.slider.setValue(5)
    assert memory.choice.isVisible()
    assert "With the drafter it fits up to 32k, ≈ 47–79 tok/s" in memory.choice.words
    assert "without it up to 41k, ≈ 42–54 tok/s" in memory.choice.words
    memory.choice.speed.click()
    assert memory.n_ctx == 32_768
    memory.slider.slider.setValue(5)
    memory.choice.context.click()
    assert page.detail.subject.picked_drafter.kind is DrafterKind.NGRAM
    qtbot.waitUntil(lambda: memory.choice.isHidden())


def test_incompatible_drafters_are_shown_greyed_with_the_reason(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    page.open_repo("unsloth/Qwen3.8-27B-GGUF")
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.8-27B-GGUF")
    qtbot.waitUntil(lambda: any(one.reason for one in page.detail.subject.drafters))
    menu = QMenu()
    page.detail.choices._fill_drafters(menu)
    refused = [one for one in menu.actions() if not one.isEnabled()]
    assert len(refused) == 1
    assert refused[0].text().endswith("does not fit")
    assert "hidden size 4096; this one has 5120" in refused[0].toolTip()
    assert menu.actions()[0].isChecked()
    versions = QMenu()
    page.detail.choices._fill_versions(versions)
    versions.actions()[0].trigger()
    assert page.detail.primary.text() == "Download 9.4 GB"
