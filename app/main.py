"""Opens the window: settings, theme, window, and only then the engine, so that something shows at once."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from logging.handlers import RotatingFileHandler
from types import FrameType, TracebackType

import platformdirs
from PySide6.QtCore import QObject, QSocketNotifier, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.bridge import EngineBridge, ModelsBridge
from app.icons import app_icon
from app.library import Library, ListInstalled
from app.models.actions import loadable
from app.models.drafters import LocalDrafters
from app.models.notes import EngineNotes
from app.models.state import ModelsState
from app.session import EngineSession
from app.settings import ReadSettings, read_settings, settings_path
from app.settings_keeper import SettingsKeeper
from app.theme import Theme, ThemeChoice
from app.tune.tools import BenchTools
from app.window import Window
from engine.models.bundle import Bundle, DrafterChoice
from engine.models_service import ModelsService
from engine.service import EngineService

_log = logging.getLogger(__name__)

# They write whole addresses, and that of a file in the Hub's storage is signed: whoever has it may load the file.
_TELLTALES = ("httpx2", "httpcore2", "huggingface_hub")


def run_app() -> int:
    """Open the window and return the exit status when it is closed."""
    from app.tune.engine_bench import engine_bench
    from engine.desk.desk import ModelsDesk
    from engine.service import Service
    from engine.shelf.shelf import list_installed

    _log_to_file()
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    service = Service()
    models = ModelsDesk(opened_files=lambda: window.opened_files)
    window = open_window(app, service, list_installed, models, engine_bench())
    _SignalWatch(app, window)
    try:
        return app.exec()
    finally:
        models.stop()
        service.stop()


def open_window(
    app: QApplication,
    service: EngineService,
    list_installed: ListInstalled,
    models_service: ModelsService,
    bench: BenchTools,
) -> Window:
    """Show the window; the engine and the models' facade start as soon as it stands."""
    app.setApplicationName("Slipstream")
    app.setDesktopFileName("slipstream")
    app.setWindowIcon(app_icon())
    path = settings_path()
    read = read_settings(path)
    theme = Theme(app, _theme_choice(read))
    bridge = EngineBridge(service)
    session = EngineSession(service, bridge)
    session.choose_n_ctx(max(0, read.settings.n_ctx))
    session.choose_kv_type(read.settings.kv_type)
    library = Library(list_installed, read.settings.opened_files)
    keeper = SettingsKeeper(path, read)
    models_bridge = ModelsBridge(models_service)
    models = ModelsState(models_service, models_bridge)
    window = Window(session, library, keeper, theme, models, bench)
    notes = EngineNotes(models_service, session, window.compare.run)
    for part in (bridge, session, library, keeper, models_bridge, models, notes):
        part.setParent(window)
    models.offers_changed.connect(lambda: library.put_shelf(models.installed))
    _share_drafters(library, models.drafters)
    library.changed.connect(lambda bundles: choose_first(session, read, bundles))
    if read.trouble:
        window.tell(read.trouble)
    _show_what_goes_wrong(window)
    window.show()
    QTimer.singleShot(0, bridge.start)
    QTimer.singleShot(0, models.start)
    QTimer.singleShot(0, library.refresh)
    return window


def _share_drafters(library: Library, drafters: LocalDrafters) -> None:
    """Have the library ask the models' facade what may draft for a model, anew whenever other files are here."""

    def put(target: str) -> None:
        library.put_drafters(target, drafters.of(target))

    library.drafters_wanted.connect(
        lambda target: (put if drafters.is_known(target) else drafters.ask)(target)
    )
    drafters.changed.connect(put)
    library.changed.connect(lambda _: drafters.forget())


def choose_first(session: EngineSession, read: ReadSettings, bundles: Sequence[Bundle]) -> None:
    """Choose what was chosen last time, or else the first that is installed."""
    if session.choice is not None or not bundles:
        return
    settings = read.settings
    last = next((bundle for bundle in bundles if bundle.target == settings.target), None)
    if last is None:
        session.choose(loadable(bundles[0], session.why_not))
    else:
        drafter = DrafterChoice(
            settings.drafter_kind, settings.drafter_path, with_ngram=settings.drafter_with_ngram
        )
        session.choose(Bundle(last.name, last.target, drafter))


def _theme_choice(read: ReadSettings) -> ThemeChoice:
    try:
        return ThemeChoice(read.settings.theme)
    except ValueError:
        return ThemeChoice.SYSTEM


class Reporter(QObject):
    """Brings an unexpected error to the log and, in words, to the window, from whatever thread."""

    _happened = Signal(str)

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        self._happened.connect(self._tell, Qt.ConnectionType.QueuedConnection)

    def report(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        _log.error("Unexpected error", exc_info=(kind, error, trace))
        self._happened.emit(f"{kind.__name__}: {error}")

    def _tell(self, detail: str) -> None:
        self._window.tell(
            "Something unexpected went wrong.", "Slipstream goes on; the log has the details.", detail
        )


def _show_what_goes_wrong(window: Window) -> None:
    reporter = Reporter(window)

    def on_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        reporter.report(kind, error, trace)

    def on_thread_error(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            on_error(args.exc_type, args.exc_value, args.exc_traceback)

    sys.excepthook = on_error
    threading.excepthook = on_thread_error


class _SignalWatch(QObject):
    """Closes the window on SIGINT and SIGTERM.

    Python runs signal handlers between byte codes, and there are none while Qt waits: the signal's number is
    written to a socket that Qt watches.
    """

    def __init__(self, app: QApplication, window: Window) -> None:
        super().__init__(app)
        self._ours, self._theirs = socket.socketpair()
        for end in (self._ours, self._theirs):
            end.setblocking(False)
        self._window = window
        signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        notifier = QSocketNotifier(self._ours.fileno(), QSocketNotifier.Type.Read, self)
        notifier.activated.connect(lambda: self._ours.recv(64))
        app.aboutToQuit.connect(self._end)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._window.close()

    def _end(self) -> None:
        signal.set_wakeup_fd(-1)


def _log_to_file() -> None:
    """Log to a file of bounded size; a folder that cannot be written costs the log, nothing else."""
    try:
        folder = platformdirs.user_log_path("Slipstream", appauthor=False, ensure_exists=True)
        handler = RotatingFileHandler(
            folder / "slipstream.log", maxBytes=1_000_000, backupCount=2, encoding="utf-8"
        )
    except OSError:
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.INFO)
    for name in _TELLTALES:
        logging.getLogger(name).setLevel(logging.WARNING)
