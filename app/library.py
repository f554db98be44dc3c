"""What is installed, looked up beside the window's thread, because it reads folders and files."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal

from engine.models.bundle import NGRAM_DRAFTER, Bundle
from engine.models_events import LocalDrafter

ListInstalled = Callable[[Sequence[str]], tuple[Bundle, ...]]

_log = logging.getLogger(__name__)


class Library(QObject):
    """The bundles that can be chosen.

    Signals:
        changed(tuple[Bundle, ...])
        drafters_wanted(str): what on this computer may draft for this target is to be looked up.
        drafters_changed(str): it is known now.
    """

    changed = Signal(object)
    drafters_wanted = Signal(str)
    drafters_changed = Signal(str)
    _found = Signal(object)

    def __init__(
        self, list_installed: ListInstalled, opened: Sequence[str], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._list = list_installed
        self._opened = tuple(opened)
        self._bundles: tuple[Bundle, ...] = ()
        self._has_shelf = False
        self._drafters: dict[str, tuple[LocalDrafter, ...]] = {}
        self._found.connect(self._on_found, Qt.ConnectionType.QueuedConnection)

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        return self._bundles

    @property
    def opened(self) -> tuple[str, ...]:
        return self._opened

    def refresh(self) -> None:
        """Look again; `changed` follows."""
        threading.Thread(target=self._look, args=(self._opened,), name="library", daemon=True).start()

    def remember(self, path: str) -> Bundle:
        """Take a file that was opened by hand into the list and return its bundle."""
        self._opened = (path, *(other for other in self._opened if other != path))[:12]
        known = next((bundle for bundle in self._bundles if bundle.target == path), None)
        if known is None:
            known = Bundle(Path(path).stem, path, NGRAM_DRAFTER)
            self._take((*self._bundles, known))
        return known

    def remember_drafter(self, path: str, *, can_answer: bool) -> None:
        """Take a drafter that was opened by hand into the list of files; one that can answer is a model too."""
        if can_answer:
            self.remember(path)
        else:
            self._opened = (path, *(other for other in self._opened if other != path))[:12]

    def forget(self, path: str) -> None:
        """Take a file that was opened by hand off the list again: it turned out to be no use."""
        if path in self._opened:
            self._opened = tuple(other for other in self._opened if other != path)
            self._take(tuple(bundle for bundle in self._bundles if bundle.target != path))

    def put_shelf(self, shelf: Sequence[Bundle]) -> None:
        """Take what the models' facade found: it knows drafters from models. Files opened since stay."""
        if shelf or self._has_shelf:
            self._has_shelf = True
            known = {bundle.target for bundle in shelf}
            opened = [one for one in self._bundles if one.target in self._opened and one.target not in known]
            self._take((*shelf, *opened))

    def drafters(self, target: str) -> tuple[LocalDrafter, ...] | None:
        """Return what may draft for `target`, the best first; None while that is not known."""
        return self._drafters.get(target)

    def put_drafters(self, target: str, drafters: Sequence[LocalDrafter]) -> None:
        self._drafters[target] = tuple(drafters)
        self.drafters_changed.emit(target)

    def _on_found(self, bundles: tuple[Bundle, ...]) -> None:
        if not self._has_shelf:
            self._take(bundles)

    def _look(self, opened: tuple[str, ...]) -> None:
        try:
            found = self._list(opened)
        except OSError:
            _log.exception("The installed models could not be listed")
            found = ()
        try:
            self._found.emit(found)
        except RuntimeError:
            # The window was closed meanwhile, and this object with it.
            return

    def _take(self, bundles: tuple[Bundle, ...]) -> None:
        if bundles != self._bundles:
            self._bundles = bundles
            self._drafters.clear()
        self.changed.emit(bundles)
