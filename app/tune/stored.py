"""Results of earlier benches, read and written beside the window's thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal

from app.draft_lengths import bundle_key
from app.tune.tools import BenchTools
from engine.bench.results import BenchResult
from engine.models.bundle import Bundle

_log = logging.getLogger(__name__)


class StoredResults(QObject):
    """The latest result of each bundle, as far as it was asked for.

    Signals:
        found(str): what is stored of the bundle of this key is known now.
        not_kept(str): a result could not be written, for this reason.
    """

    found = Signal(str)
    not_kept = Signal(str)
    _read = Signal(str, object)
    _failed = Signal(str)

    def __init__(self, tools: BenchTools, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tools = tools
        self._known: dict[str, BenchResult | None] = {}
        self._read.connect(self._on_read, Qt.ConnectionType.QueuedConnection)
        self._failed.connect(self._on_failed, Qt.ConnectionType.QueuedConnection)

    def of(self, bundle: Bundle | None) -> BenchResult | None:
        """Return what is known of `bundle`, None for nothing or nothing yet."""
        return None if bundle is None else self._known.get(bundle_key(bundle))

    def ask(self, bundle: Bundle) -> None:
        """Have `found` follow, at once where it is known."""
        key = bundle_key(bundle)
        if key in self._known:
            self.found.emit(key)
        else:
            threading.Thread(target=self._look, args=(key, bundle), name="bench-results", daemon=True).start()

    def put(self, bundle: Bundle, result: BenchResult, forget: Callable[[], None]) -> BenchResult:
        """Take a new result in, and return what is to be shown from now on.

        One that is complete is kept for the next time; then `forget` is called, beside the window's thread: there is
        nothing to go on from any more. One that was broken off counts only where there is no whole one.
        """
        key = bundle_key(bundle)
        last = self._known.get(key)
        if last is not None and last.is_complete and not result.is_complete:
            return last
        self._known[key] = result
        if result.is_complete:
            # Not a daemon: a window that is closed now waits for the disk.
            threading.Thread(target=self._keep, args=(bundle, result, forget), name="bench-results").start()
        return result

    def _look(self, key: str, bundle: Bundle) -> None:
        try:
            result = self._tools.stored(bundle)
        except OSError:
            _log.exception("An earlier result could not be read")
            result = None
        self._tell(key, result)

    def _tell(self, key: str, result: BenchResult | None) -> None:
        try:
            self._read.emit(key, result)
        except RuntimeError:
            # The window was closed meanwhile, and this object with it.
            return

    def _keep(self, bundle: Bundle, result: BenchResult, forget: Callable[[], None]) -> None:
        try:
            self._tools.keep(bundle, result)
        except OSError as error:
            _log.exception("A result could not be kept")
            self._say_not_kept(error.strerror or type(error).__name__)
        else:
            forget()

    def _say_not_kept(self, reason: str) -> None:
        try:
            self._failed.emit(reason.lower())
        except RuntimeError:
            # The window was closed meanwhile, and this object with it.
            return

    def _on_failed(self, reason: str) -> None:
        self.not_kept.emit(reason)

    def _on_read(self, key: str, result: BenchResult | None) -> None:
        self._known.setdefault(key, result)
        self.found.emit(key)
