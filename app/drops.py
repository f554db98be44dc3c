"""What is being dropped on the window that it can use."""

from __future__ import annotations

from PySide6.QtCore import QFileInfo
from PySide6.QtGui import QDropEvent


def dropped_models(event: QDropEvent) -> list[str]:
    """Return the local .gguf files that are being dropped."""
    return [path for path in _paths(event) if path.lower().endswith(".gguf") and not QFileInfo(path).isDir()]


def dropped_folders(event: QDropEvent) -> list[str]:
    """Return the local folders that are being dropped."""
    return [path for path in _paths(event) if path and QFileInfo(path).isDir()]


def _paths(event: QDropEvent) -> list[str]:
    return [url.toLocalFile() for url in event.mimeData().urls()]
