"""A file that is opened by hand is looked at before it is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app.settings import read_settings, settings_path
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models_events import LocalDrafter
from tests.app.conftest import OpenApp
from tests.app.scripted_models import ModelsScript, ScriptedModels

MODELS = Path(__file__).parents[1] / "models"
TINY, DRAFT, EAGLE = (MODELS / f"{name}.gguf" for name in ("llama", "llama-draft", "llama-eagle3"))


def test_a_good_model_is_chosen_and_remembered(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app().window
    window.compare.picker.open_target(str(TINY))
    qtbot.waitUntil(lambda: window.compare.picker.target.chosen == "llama")
    window.close()
    assert read_settings(settings_path()).settings.opened_files == (str(TINY),)


def test_a_draft_model_that_was_opened_is_offered_again(qtbot: QtBot, open_app: OpenApp) -> None:
    draft = DrafterChoice(DrafterKind.MODEL, str(DRAFT))
    script = ModelsScript(
        drafters=(LocalDrafter(draft, "llama-draft"), LocalDrafter(NGRAM_DRAFTER, "n-gram"))
    )
    window = open_app(models=ScriptedModels(script)).window
    picker = window.compare.picker
    picker.open_pair(str(TINY), str(DRAFT))
    qtbot.waitUntil(lambda: picker.drafter.chosen == "llama-draft")
    assert picker.target.chosen == "llama"
    window.close()
    assert read_settings(settings_path()).settings.opened_files == (str(DRAFT), str(TINY))
    menu = QMenu()
    picker._choose_drafter(DrafterChoice())
    picker._fill_drafters(menu)
    assert [one.text() for one in menu.actions()][-2] == "Looking what else fits…"
    qtbot.waitUntil(lambda: menu.actions()[0].text() == "llama-draft")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.gguf", b"these are notes", "notes.gguf"),
        ("gone.gguf", None, "gone.gguf"),
    ],
)
def test_a_wrong_file_is_refused_where_one_is_and_leaves_the_choice_alone(
    qtbot: QtBot, open_app: OpenApp, tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    window = open_app().window
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    window.compare.picker.open_target(str(path))
    qtbot.waitUntil(window.compare.notice.isVisible)
    assert said in window.compare.notice.sentence
    assert "SmolLM2" in window.compare.picker.target.chosen
    window.close()
    assert read_settings(settings_path()).settings.opened_files == ()


def test_a_drafter_opened_as_a_model_says_what_it_is(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app().window
    window.chat.picker.open_target(str(EAGLE))
    qtbot.waitUntil(lambda: "EAGLE-3" in window.chat.notice.sentence)


def test_a_refused_file_leaves_the_list_of_recent_ones(
    qtbot: QtBot, open_app: OpenApp, tmp_path: Path
) -> None:
    window = open_app().window
    path = tmp_path / "good.gguf"
    path.write_bytes(TINY.read_bytes())
    picker = window.compare.picker
    picker.open_target(str(path))
    qtbot.waitUntil(lambda: picker.target.chosen == "good")
    path.write_bytes(b"not any more")
    picker.open_target(str(path))
    qtbot.waitUntil(window.compare.notice.isVisible)
    assert str(path) not in picker._library.opened
    assert "good" not in [bundle.name for bundle in picker._library.bundles]


def test_a_head_that_is_opened_drafts_as_its_header_says_and_is_no_model(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    window = open_app().window
    picker = window.compare.picker
    picker.open_pair(str(TINY), str(EAGLE))
    qtbot.waitUntil(lambda: picker.drafter.chosen.startswith("An EAGLE-3 head: "))
    assert picker._session.choice == Bundle("llama", str(TINY), DrafterChoice(DrafterKind.EAGLE3, str(EAGLE)))
    assert str(EAGLE) not in [bundle.target for bundle in picker._library.bundles]
    window.close()
    assert read_settings(settings_path()).settings.opened_files == (str(EAGLE), str(TINY))
