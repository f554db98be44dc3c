"""The window: the rail, the pages, the bottom bar, the keyboard, and files dropped on it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QEvent, QSize
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QGuiApplication,
    QKeySequence,
    QShortcut,
)
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.drops import dropped_folders, dropped_models
from app.format import share
from app.icons import app_icon
from app.library import Library
from app.models.downloads import overall
from app.models.state import ModelsState
from app.pages.chat import ChatPage
from app.pages.compare import ComparePage
from app.pages.models import ModelsPage
from app.pages.tune import TunePage
from app.prompts import ready_prompts
from app.session import EngineSession, ModelPhase, ModelState
from app.settings_keeper import SettingsKeeper
from app.theme import Theme, ThemeChoice
from app.trouble import Trouble
from app.tune.tools import BenchTools
from app.widgets.models.download_ring import DownloadTray
from app.widgets.models.downloads_panel import DownloadsPanel
from app.widgets.notice import Notice, Remedy
from app.widgets.rail import Rail
from app.widgets.shortcut_list import show_shortcuts
from app.widgets.silence_notice import SilenceNotice
from app.widgets.status_bar import StatusBar
from engine.measure.explain import explain

LEAST_SIZE = QSize(640, 480)
FIRST_SIZE = QSize(1280, 800)
PAGES = ("chat", "compare", "models", "tune")
_FRAME_SIZE = QSize(8, 40)


class Window(QMainWindow):
    """Everything is handed in; the window only puts it together."""

    def __init__(
        self,
        session: EngineSession,
        library: Library,
        keeper: SettingsKeeper,
        theme: Theme,
        models: ModelsState,
        bench: BenchTools,
    ) -> None:
        super().__init__()
        self._session = session
        self._library = library
        self._keeper = keeper
        self._theme = theme
        self._models = models
        self.setWindowTitle("Slipstream")
        self.setWindowIcon(app_icon())
        self.setMinimumSize(LEAST_SIZE.boundedTo(self._screen_room()))
        self.setAcceptDrops(True)
        self.compare = ComparePage(session, library, keeper, ready_prompts())
        self.chat = ChatPage(session, library, keeper)
        self.models = ModelsPage(models, session)
        self.tune = TunePage(session, library, keeper, bench, self.models.budgets)
        self.rail = Rail(models)
        self.tray = DownloadTray(models)
        self.downloads = DownloadsPanel(models, self)
        self.pages = QStackedWidget()
        self.status = StatusBar()
        self.notice = Notice()
        self.silence = SilenceNotice(session)
        self._told_of_reload = False
        self.setCentralWidget(self._body())
        self._connect()
        self._add_shortcuts()
        self._restore()

    @property
    def opened_files(self) -> tuple[str, ...]:
        """Return the files that were opened by hand; may be asked from any thread."""
        return self._library.opened

    # -------------------------------------------------------------------------------------- composing

    def _body(self) -> QWidget:
        for page in (self.chat, self.compare, self.models, self.tune):
            self.pages.addWidget(page)
        top = QVBoxLayout()
        top.setSpacing(0)
        holder = QVBoxLayout()
        holder.setContentsMargins(24, 12, 24, 0)
        holder.setSpacing(8)
        holder.addWidget(self.silence)
        holder.addWidget(self.notice)
        self._notice_room = holder
        top.addLayout(holder)
        top.addWidget(self.pages, 1)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.rail)
        middle.addLayout(top, 1)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(middle, 1)
        column.addWidget(self.tray)
        column.addWidget(self.status)
        self._fit_notice_room()
        return body

    def _connect(self) -> None:
        self.rail.page_asked.connect(self.show_page)
        self.rail.theme_chosen.connect(self.choose_theme)
        self.rail.keys_asked.connect(self.show_shortcuts)
        self._session.state_changed.connect(self._on_model)
        self._session.choice_changed.connect(self._remember_choice)
        self._session.kv_type_changed.connect(lambda kv_type: self._keeper.change(kv_type=kv_type))
        self._session.n_ctx_changed.connect(lambda n_ctx: self._keeper.change(n_ctx=n_ctx))
        for picker in (self.compare.picker, self.chat.picker, self.tune.picker):
            picker.file_opened.connect(self._remember_files)
        self.tune.applied.connect(self.compare.show_draft_length)
        self._session.reload_failed.connect(self._on_reload_failed)
        self._keeper.trouble.connect(lambda sentence: self.tell(sentence))
        self.compare.run.advanced.connect(lambda _: self._show_race())
        self.compare.run.ended.connect(self._show_race)
        self.chat.answered.connect(self._show_answer)
        self.models.page_asked.connect(lambda name: self.show_page(PAGES.index(name)))
        for opener in (self.rail.ring, self.tray.open):
            opener.clicked.connect(lambda: self.downloads.open_beside(self.rail.ring))
        self._models.downloads_changed.connect(lambda _: self._show_downloads())
        self.notice.installEventFilter(self)
        self.silence.installEventFilter(self)

    def _add_shortcuts(self) -> None:
        keys: tuple[tuple[str, Callable[[], None]], ...] = (
            ("Ctrl+1", lambda: self.show_page(0)),
            ("Ctrl+2", lambda: self.show_page(1)),
            ("Ctrl+3", lambda: self.show_page(2)),
            ("Ctrl+4", lambda: self.show_page(3)),
            ("Ctrl+Return", self._submit),
            ("Esc", self._stop),
            ("Ctrl+.", self._stop),
            ("Ctrl+N", self._new_chat),
            ("Ctrl+R", self.chat.regenerate),
            ("Ctrl+Shift+C", self.chat.copy_last),
            ("?", self.show_shortcuts),
            ("F1", self.show_shortcuts),
        )
        for sequence, act in keys:
            shortcut = QShortcut(QKeySequence(sequence), self)
            shortcut.activated.connect(act)

    def _restore(self) -> None:
        settings = self._keeper.settings
        self.resize(self._room(FIRST_SIZE))
        if settings.geometry:
            self.restoreGeometry(QByteArray.fromBase64(settings.geometry.encode("ascii", "ignore")))
            self.resize(self._room(self.size()))
        self.show_page(PAGES.index(settings.page) if settings.page in PAGES else 1)
        self.rail.show_theme(self._theme.choice)
        self.status.show_model(self._session.state)

    def _room(self, size: QSize) -> QSize:
        """Return `size`, or what the screen has room for beside the frame that the window manager adds."""
        return size.boundedTo(self._screen_room()).expandedTo(self.minimumSize())

    def _screen_room(self) -> QSize:
        return self.screen().availableSize() - _FRAME_SIZE

    # ------------------------------------------------------------------------------------------- doing

    def show_page(self, index: int) -> None:
        """Show page `index`, which counts PAGES."""
        self.pages.setCurrentIndex(index)
        self.rail.show_page(index)
        self._keeper.change(page=PAGES[index])
        (
            self.chat.composer.edit.setFocus,
            self.compare.prompt.edit.setFocus,
            self.models.focus_first,
            self.tune.focus_first,
        )[index]()

    def tell(self, sentence: str, remedy: str = "", detail: str = "") -> None:
        """Say something that concerns the whole window."""
        self.notice.tell(Trouble(sentence, remedy, detail), tone="warning")

    def _on_model(self, state: ModelState) -> None:
        self.status.show_model(state)
        if state.phase is not ModelPhase.LOADED:
            self.status.hide_truth()
        elif self._told_of_reload:
            self._told_of_reload = False
            self.notice.hide()

    def _on_reload_failed(self, trouble: Trouble) -> None:
        self._told_of_reload = True
        self.notice.tell(trouble, Remedy("Load again", self._session.load_choice))

    def show_shortcuts(self) -> None:
        show_shortcuts(self)

    def _submit(self) -> None:
        acts = (self.chat.send, self.compare.start, self.models.detail.act, self.tune.start)
        acts[self.pages.currentIndex()]()

    def _stop(self) -> None:
        stops = (self.chat.stop, self.compare.stop, self._session.cancel_loading, self.tune.stop)
        stops[self.pages.currentIndex()]()

    def _new_chat(self) -> None:
        self.show_page(0)
        self.chat.start_over()

    def _show_downloads(self) -> None:
        """Say in the window's entry of the task bar how far downloads are: Qt has no bar of its own for that."""
        running = self._models.running
        title = f"{share(overall(running))} · Slipstream" if running else "Slipstream"
        if title != self.windowTitle():
            self.setWindowTitle(title)
            app = QApplication.instance()
            if isinstance(app, QGuiApplication):
                app.setBadgeNumber(len(running))

    def _show_race(self) -> None:
        race = self.compare.run.race
        if race is None:
            return
        metrics = race.speculative.metrics
        self.status.show_truth(metrics, speculative=True, decided=self.compare.drafting.sentence)
        if race.loaded is not None:
            self.status.show_context(race.n_prompt_tokens + metrics.n_tokens, race.loaded.n_ctx)

    def _show_answer(self) -> None:
        answer, loaded = self.chat.current_answer, self._session.state.loaded
        if answer is None:
            return
        decided = explain(answer.lane.rounds) if answer.speculative else ""
        self.status.show_truth(answer.lane.metrics, speculative=answer.speculative, decided=decided)
        if loaded is not None:
            self.status.show_context(answer.n_prompt_tokens + answer.lane.metrics.n_tokens, loaded.n_ctx)

    def _remember_choice(self) -> None:
        choice = self._session.choice
        if choice is not None:
            drafter = choice.drafter
            self._keeper.change(
                target=choice.target,
                drafter_kind=drafter.kind,
                drafter_path=drafter.path,
                drafter_with_ngram=drafter.with_ngram,
            )

    def _remember_files(self) -> None:
        self._keeper.change(opened_files=self._library.opened)

    # ------------------------------------------------------------------------------------------- theme

    def choose_theme(self, choice: ThemeChoice) -> None:
        self._theme.choose(choice)
        self._keeper.change(theme=choice.value)
        self.rail.show_theme(self._theme.choice)

    # ------------------------------------------------------------------------------------------ events

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if watched in (self.notice, self.silence) and event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self._fit_notice_room()
        return False

    def _fit_notice_room(self) -> None:
        """Give the notice its margins only while it is there."""
        shown = not (self.notice.isHidden() and self.silence.isHidden())
        self._notice_room.setContentsMargins(*((24, 12, 24, 0) if shown else (0, 0, 0, 0)))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_models(event) or dropped_folders(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Take models and folders of models; what a file is, is looked at before it is chosen."""
        paths, folders = dropped_models(event), dropped_folders(event)
        if not (paths or folders):
            return
        event.acceptProposedAction()
        for folder in folders:
            self._models.add_folder(folder)
        if folders:
            self.show_page(2)
        if paths:
            self.compare.open_files(paths)
            self.show_page(1)

    def closeEvent(self, event: QCloseEvent) -> None:
        geometry = bytes(self.saveGeometry().toBase64().data()).decode("ascii")
        self._keeper.change(geometry=geometry)
        self._keeper.flush()
        super().closeEvent(event)
        QApplication.quit()
