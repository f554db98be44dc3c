"""Holds the settings while the window lives and writes them a moment after the last change."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.settings import ReadSettings, Settings, write_settings

_SETTLE_MS = 600


class SettingsKeeper(QObject):
    """The settings as they are now.

    Signals:
        trouble(str): once, when they cannot be saved.
    """

    trouble = Signal(str)

    def __init__(self, path: Path, read: ReadSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._settings = read.settings
        self._written = read.settings
        self._told = False
        self._writing: threading.Thread | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SETTLE_MS)
        self._timer.timeout.connect(self._write_beside)

    @property
    def settings(self) -> Settings:
        return self._settings

    def change(self, **fields: Any) -> None:
        """Replace some fields; they are on disk a moment later."""
        changed = msgspec.structs.replace(self._settings, **fields)
        if changed != self._settings:
            self._settings = changed
            self._timer.start()

    def flush(self) -> None:
        """Write now, at the end of the window's life."""
        self._timer.stop()
        if self._writing is not None:
            self._writing.join(timeout=1.0)
        if self._settings != self._written:
            self._write(self._settings)

    def _write_beside(self) -> None:
        """Write on a thread: a slow disk must not hold up the window."""
        if self._writing is not None and self._writing.is_alive():
            self._timer.start()
            return
        self._writing = threading.Thread(
            target=self._write, args=(self._settings,), name="settings", daemon=True
        )
        self._writing.start()

    def _write(self, settings: Settings) -> None:
        sentence = write_settings(self._path, settings)
        if not sentence:
            self._written = settings
        elif not self._told:
            self._told = True
            self.trouble.emit(sentence)
