"""Looks at files that were opened by hand before they are chosen, beside the window's thread."""

from __future__ import annotations

import threading
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal

from app.trouble import Trouble, trouble_of
from engine.errors import SlipstreamError
from engine.models.bundle import DrafterKind
from engine.models.file_kind import drafter_kind
from engine.models.model_file import ModelRole, check_model_file


class FileCheck(QObject):
    """Signals, in the order of the files; after a refused one the rest is left.

    passed(str, ModelRole, DrafterKind): the file is whole and can be used so; how it would draft.
    refused(str, Trouble): it cannot, and why.
    """

    passed = Signal(str, object, object)
    refused = Signal(str, object)
    _looked = Signal(str, object, object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._looked.connect(self._tell, Qt.ConnectionType.QueuedConnection)

    def check(self, *files: tuple[str, ModelRole]) -> None:
        """Look at each path as what it is opened as; the signals follow."""
        threading.Thread(target=self._look, args=(files,), name="file-check", daemon=True).start()

    def _look(self, files: tuple[tuple[str, ModelRole], ...]) -> None:
        for path, role in files:
            trouble: Trouble | None = None
            kind = DrafterKind.NONE
            try:
                kind = drafter_kind(check_model_file(Path(path), role).kind)
            except SlipstreamError as error:
                trouble = trouble_of(error)
            except OSError as error:
                what = f"“{Path(path).name}” cannot be read."
                trouble = Trouble(what, "Check that it is there and that you may read it.", str(error))
            try:
                self._looked.emit(path, role, kind, trouble)
            except RuntimeError:
                # The window was closed meanwhile, and this object with it.
                return
            if trouble is not None:
                return

    def _tell(self, path: str, role: ModelRole, kind: DrafterKind, trouble: Trouble | None) -> None:
        if trouble is None:
            self.passed.emit(path, role, kind)
        else:
            self.refused.emit(path, trouble)
