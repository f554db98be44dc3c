"""Models that are loaded, deleted or loaded over while the window uses them, and the pickers that offer them."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.pages.compare_run import RunPhase
from app.session import ModelPhase
from app.window import Window
from engine.budget.budget import KvType
from engine.models.bundle import NGRAM_DRAFTER, Bundle
from tests.app.conftest import OpenApp, Opened
from tests.app.model_facts import ENTRIES, OFFERS, offer_of
from tests.app.models_page import asked, choose, show
from tests.app.scripted_models import ModelsScript, ScriptedModels
from tests.app.scripted_service import Script

SLOW = Script(speed=1.0, load_s=0.05)


def offered(window: Window) -> list[str]:
    return [bundle.name for bundle in window.chat.picker._library.bundles]


def load(qtbot: QtBot, opened: Opened, key: str) -> None:
    choose(qtbot, opened, key).detail.primary.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)


def press(opened: Opened, verb: str) -> str:
    """Press the button of the question that begins with `verb`; returns what the question explains."""
    box = opened.window.models.doing.question
    assert box is not None
    said = box.informativeText()
    next(one for one in box.buttons() if one.text().startswith(verb)).click()
    return said


def test_a_loaded_model_is_unloaded_before_it_is_deleted(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app())
    page, session = opened.window.models, opened.window.models.doing._session
    load(qtbot, opened, "gemma-4-e2b")
    opened.window.show_page(2)
    page.detail.delete.click()
    assert "It is loaded and will be unloaded first." in press(opened, "Delete")
    assert not page.detail.delete.isEnabled()
    qtbot.waitUntil(lambda: page.detail.primary.text() == "Download 3.2 GB")
    calls = [name for name, _ in opened.service.calls]
    assert "unload" in calls
    assert session.state.phase is ModelPhase.EMPTY
    assert page.notice.sentence == "Deleted. 3.2 GB are free again."
    assert asked(opened, "remove") == ["gemma-4-e2b"]
    assert session.choice is not None
    assert session.choice.name == "Starter: SmolLM2 135M"
    assert "Gemma 4 E2B" not in offered(opened.window)


def test_where_a_deleted_model_is_in_no_list_another_is_shown(qtbot: QtBot, open_app: OpenApp) -> None:
    hub_one = offer_of(ENTRIES[0].bundle)
    models = ScriptedModels(ModelsScript(offers=(*OFFERS[:1], hub_one)))
    opened = show(qtbot, open_app(models=models))
    page = choose(qtbot, opened, hub_one.id)
    page.detail.delete.click()
    press(opened, "Delete")
    qtbot.waitUntil(lambda: page.notice.isVisible())
    assert page.detail.title == "Qwen3.5 9B"


def test_what_was_downloaded_is_offered_though_the_models_page_was_never_shown(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = open_app(models=ScriptedModels(ModelsScript(download_s=0.05)))
    window = opened.window
    window.models._state.download(ENTRIES[1].bundle)
    qtbot.waitUntil(lambda: "Qwen3.5 9B" in offered(window))
    assert window.pages.currentIndex() == 1


def test_what_an_added_folder_holds_is_offered_at_once(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app()
    opened.models._offers = (*opened.models._offers, offer_of(ENTRIES[3].bundle))
    opened.window.models._state.add_folder("/srv/models")
    qtbot.waitUntil(lambda: "gpt-oss 20B" in offered(opened.window))


def test_loading_says_that_it_stops_a_comparison_and_stops_it_first(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app(SLOW))
    window = opened.window
    window.compare.start()
    qtbot.waitUntil(lambda: window.compare.run.phase is RunPhase.RACING)
    page = choose(qtbot, opened, "qwen2.5-coder-1.5b")
    assert page.detail.note == "Loading it stops the comparison that is running."
    page.detail.primary.click()
    qtbot.waitUntil(lambda: window.pages.currentIndex() == 0)
    assert window.compare.run.phase is RunPhase.IDLE
    names = [name for name, _ in opened.service.calls]
    assert names.index("cancel") < len(names) - 1 - names[::-1].index("load")


def test_a_load_that_waits_says_for_what_and_leaves_all_as_it_was_when_cancelled(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = show(qtbot, open_app(SLOW))
    window, session = opened.window, opened.window.models.doing._session
    window.compare.start()
    qtbot.waitUntil(lambda: window.compare.run.phase is RunPhase.RACING)
    before = session.state
    session.choose(Bundle("Another", "/models/another.gguf", NGRAM_DRAFTER))
    session.load_choice()
    strip = window.compare.loading
    qtbot.waitUntil(lambda: "waits until the running comparison has ended" in strip.words)
    session.cancel_loading()
    assert session.state == before
    window.compare.stop()


def test_a_cancelled_load_chooses_what_was_chosen_before(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app(Script(speed=1.0, load_s=5.0)))
    session = opened.window.models.doing._session
    page = choose(qtbot, opened, "qwen2.5-coder-1.5b")
    page.detail.choices.pick_kv_type(KvType.Q8_0)
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0)
    page.detail.primary.click()
    qtbot.waitUntil(lambda: session.state.fraction > 0)
    session.cancel_loading()
    assert session.choice is not None
    assert session.choice.name == "Starter: SmolLM2 135M"
    assert session.kv_type is KvType.F16
