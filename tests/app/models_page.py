"""The Models page in a real window, with a scripted facade at its boundary: what its tests share."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.pages.models import ModelsPage
from engine.hub.listing import HubQuery
from tests.app.conftest import OpenApp, Opened
from tests.app.scripted_models import ModelsScript

SLOW_DOWNLOAD = ModelsScript(download_s=30.0)


@pytest.fixture
def opened(qtbot: QtBot, open_app: OpenApp) -> Opened:
    return show(qtbot, open_app())


def show(qtbot: QtBot, opened: Opened) -> Opened:
    opened.window.show_page(2)
    qtbot.waitUntil(lambda: opened.window.models.detail._state.is_listed)
    return opened


def choose(qtbot: QtBot, opened: Opened, key: str) -> ModelsPage:
    """Choose a row and wait until it is known what it takes."""
    page = opened.window.models
    assert page.list.choose(key)
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0)
    return page


def asked(opened: Opened, name: str) -> list[object]:
    return [what for called, what in opened.models.calls if called == name]


def searches(opened: Opened) -> list[tuple[HubQuery, str]]:
    return [what for what in asked(opened, "search") if isinstance(what, tuple)]
