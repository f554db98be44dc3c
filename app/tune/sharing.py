"""Copies a result card or saves it: Markdown for people, JSON for programs, a picture for both."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QStandardPaths, Qt, Signal
from PySide6.QtGui import QGuiApplication, QImageWriter
from PySide6.QtWidgets import QFileDialog, QWidget

from app.trouble import Trouble
from app.tune.card import card_image
from app.tune.tools import BenchTools
from engine.bench.results import BenchResult

_FILTERS = {
    ".png": "Pictures (*.png)",
    ".md": "Markdown (*.md)",
    ".json": "JSON (*.json)",
}


class Sharing(QObject):
    """Signals:
    troubled(Trouble): a file could not be written.
    """

    troubled = Signal(object)
    _failed = Signal(object)

    def __init__(self, tools: BenchTools, parent: QWidget) -> None:
        super().__init__(parent)
        self._tools = tools
        self._window = parent
        self._failed.connect(self.troubled, Qt.ConnectionType.QueuedConnection)

    def share(self, result: BenchResult, form: str) -> None:
        """Copy `result` as "markdown", "json" or "picture", or ask where to save it as ".md", ".json" or ".png"."""
        clipboard = QGuiApplication.clipboard()
        acts: dict[str, Callable[[], None]] = {
            "markdown": lambda: clipboard.setText(self._tools.markdown(result)),
            "json": lambda: clipboard.setText(self._tools.json(result)),
            "picture": lambda: clipboard.setImage(card_image(result)),
        }
        acts.get(form, partial(self._ask, result, form))()

    def save(self, result: BenchResult, path: Path) -> None:
        """Write `result` to `path`, whose ending says in which form; `troubled` follows where that fails."""
        data = self._bytes(result, path.suffix.lower())
        # Not a daemon: a window that is closed now waits for the disk.
        threading.Thread(target=self._write, args=(path, data), name="result-card").start()

    def _write(self, path: Path, data: bytes) -> None:
        trouble = None
        try:
            path.write_bytes(data)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            trouble = Trouble(
                f"The result cannot be saved as {path.name} ({reason}).",
                "Choose another folder.",
                str(error),
            )
        # Closed meanwhile, the window has taken this object with it.
        with contextlib.suppress(RuntimeError):
            if trouble is not None:
                self._failed.emit(trouble)

    def _bytes(self, result: BenchResult, suffix: str) -> bytes:
        if suffix == ".png":
            return _png(result)
        return (self._tools.json if suffix == ".json" else self._tools.markdown)(result).encode()

    def _ask(self, result: BenchResult, suffix: str) -> None:
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        name = re.sub(r"[^\w.-]+", "-", result.bundle).strip("-") or "bundle"
        dialog = QFileDialog(
            self._window, "Save the result", str(Path(folder) / f"{name}-tuned{suffix}"), _FILTERS[suffix]
        )
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix.removeprefix("."))
        dialog.fileSelected.connect(lambda path: self.save(result, Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _png(result: BenchResult) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(card_image(result))
    return bytes(data.data())
