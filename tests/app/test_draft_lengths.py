"""How far to guess ahead: auto unless something else was chosen, and for each bundle on its own."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.draft_lengths import changes_for, draft_length_of, with_draft_length
from app.settings import RunSettings, Settings
from app.widgets.run_options import DraftLengthSlider
from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.speculation.settings import GenerationSettings
from tests.app.conftest import BUNDLES, OpenApp
from tests.app.scripted_service import Script, ScriptedService

FAST = Script(speed=40.0)
FIRST, SECOND = BUNDLES


def asked(service: ScriptedService, job: str) -> GenerationSettings:
    """Return the settings of the last `job` that was asked for."""
    what = next(what for name, what in reversed(service.calls) if name == job)
    assert isinstance(what, tuple)
    settings = what[1]
    assert isinstance(settings, GenerationSettings)
    return settings


def test_auto_stands_at_the_left_end_of_the_slider(qtbot: QtBot) -> None:
    slider = DraftLengthSlider(2)
    qtbot.addWidget(slider)
    slider.set_value(0)
    assert (slider.value, slider._number.text()) == (0, "0")
    slider._slider.setValue(slider._slider.minimum())
    assert (slider.value, slider._number.text()) == (None, "Auto")
    assert slider._slider.accessibleName() == "Draft length: Auto"


def test_a_chat_and_a_comparison_leave_the_draft_length_to_the_controller(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = open_app(FAST)
    window, service = opened.window, opened.service
    window.compare.start()
    qtbot.waitUntil(lambda: window.compare.run.phase == "idle", timeout=20_000)
    assert asked(service, "race").draft_length is None
    window.compare.copy_result("markdown")
    assert "draft length auto" in QApplication.clipboard().text()
    window.chat.composer.edit.setPlainText("Hello")
    window.chat.send()
    qtbot.waitUntil(lambda: window.chat.run.phase == "idle", timeout=20_000)
    assert asked(service, "generate").draft_length is None


def test_another_bundle_has_a_draft_length_of_its_own(open_app: OpenApp) -> None:
    window = open_app(FAST).window
    slider, session = window.compare.options.draft_length, window.compare._session
    slider.set_value(5)
    session.choose(SECOND)
    shown = [slider.value]
    slider.set_value(0)
    session.choose(FIRST)
    assert [*shown, slider.value] == [None, 5]
    settings = window.compare._keeper.settings
    assert (draft_length_of(settings, FIRST), draft_length_of(settings, SECOND)) == (5, 0)


def test_another_drafter_makes_another_bundle_and_a_name_does_not() -> None:
    settings = Settings(draft_lengths=with_draft_length(Settings(), FIRST, 4))
    assert draft_length_of(settings, Bundle("renamed", FIRST.target, FIRST.drafter)) == 4
    other = Bundle(FIRST.name, FIRST.target, DrafterChoice(DrafterKind.MODEL, "/models/small.gguf"))
    assert draft_length_of(settings, other) is None


def test_a_draft_length_that_equals_that_of_all_others_is_not_written_down() -> None:
    changed = changes_for(Settings(), FIRST, RunSettings(temperature=0.5))
    assert changed == {"run": RunSettings(temperature=0.5), "draft_lengths": {}}


def test_without_a_bundle_the_draft_length_of_all_is_changed() -> None:
    assert changes_for(Settings(), None, RunSettings(draft_length=2)) == {"run": RunSettings(draft_length=2)}


def test_the_oldest_draft_lengths_are_forgotten() -> None:
    settings = Settings()
    for i in range(150):
        lengths = with_draft_length(settings, Bundle("", f"/models/{i}.gguf"), i % 8)
        settings = Settings(draft_lengths=lengths)
    assert len(settings.draft_lengths) == 100
    assert draft_length_of(settings, Bundle("", "/models/149.gguf")) == 5
    assert draft_length_of(settings, Bundle("", "/models/2.gguf")) is None
