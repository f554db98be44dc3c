"""Models: what suits this computer, what is on it, what the Hub has; what each takes, and how to get it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.announce import announce
from app.models.budgets import Budgets
from app.models.hub import HubState
from app.models.rows import SEARCH_AGAIN, SHOW_ALL, UNREADABLE, Filter, Row, RowKind, rows_of
from app.models.state import Job, ModelsState, Task
from app.models.subject import Subject, judged_subject, subject_of_repo
from app.pages.models_actions import ModelsActions
from app.session import MEASUREMENT, EngineSession, ModelPhase, ModelState
from app.trouble import Trouble
from app.widgets.load_strip import LoadStrip
from app.widgets.models.detail import ModelDetail, spoken_of
from app.widgets.models.folders import open_folders
from app.widgets.models.lesson import Lesson
from app.widgets.models.measure_strip import MeasureStrip
from app.widgets.models.model_list import ModelList
from app.widgets.models.search_bar import SearchBar
from app.widgets.notice import Notice, Remedy
from app.widgets.notice_stack import NoticeStack
from app.widgets.parts import IconButton
from engine.hub.listing import HubRepo

_LIST_SHARE, _LEAST_LIST_PX, _WIDEST_LIST_PX = 0.36, 272, 400
_PAUSE_MS = 200
_OFFLINE = Trouble(
    "You are offline: the Hub cannot be reached.",
    "What is chosen here and what is on this computer work as always.",
)


class ModelsPage(QWidget):
    """Puts list and detail together, and shows what the states tell.

    Signals:
        page_asked(str): "chat" or "compare" is to be shown: what was asked for is loaded.
    """

    page_asked = Signal(str)

    def __init__(self, state: ModelsState, session: EngineSession) -> None:
        super().__init__()
        self._state = state
        self.hub = HubState(state.service, state.bridge, self)
        self.budgets = Budgets(state.service, state.bridge, self)
        self._wanted_repo = ""
        self._shows_all = False
        # Who runs down the list with the arrows does not want every page of it.
        self._opening = QTimer(self)
        self._opening.setSingleShot(True)
        self._opening.setInterval(_PAUSE_MS)
        self._opening.timeout.connect(self._open_wanted)
        self.search = SearchBar()
        self.list = ModelList(lambda: self.hub.can_fetch_more, self.hub.fetch_more)
        self.measure = MeasureStrip(state)
        self.folders = IconButton("folder-open", "Folders of your own", size_px=32)
        self.notice = Notice()
        self.offline = Notice()
        self.lesson = Lesson()
        self.detail = ModelDetail(state, self.budgets, session, state.drafters)
        self.loading = LoadStrip(session)
        self.side = QStackedWidget()
        self.doing = ModelsActions(self, state, session, self.detail)
        self._lay_out()
        self._connect(session)
        self.lesson.teach(can_begin=False)
        self._show_rows()

    def _lay_out(self) -> None:
        self._left = QFrame()
        self._left.setProperty("role", "side")
        left = QVBoxLayout(self._left)
        left.setContentsMargins(16, 16, 8, 12)
        left.setSpacing(8)
        self.search.add_tool(self.folders)
        left.addWidget(self.search)
        left.addWidget(self.list, 1)
        left.addWidget(self.measure)
        self.side.addWidget(self.lesson)
        self.side.addWidget(self.detail)
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.side, 1)
        # Below: what comes and goes moves no button that somebody is about to press.
        strip = QHBoxLayout()
        strip.setContentsMargins(24, 0, 24, 0)
        strip.addWidget(self.loading)
        right.addLayout(strip)
        columns = QHBoxLayout()
        columns.setSpacing(0)
        columns.addWidget(self._left)
        columns.addLayout(right, 1)
        self.offline.let_stay()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(columns, 1)
        column.addWidget(NoticeStack(self.offline, self.notice))

    def _connect(self, session: EngineSession) -> None:
        session.running_changed.connect(self._on_running)
        self.search.changed.connect(self._on_filter)
        self.search.sort_changed.connect(lambda sort: self.hub.ask_for(sort=sort))
        self.search.left.connect(self._enter_list)
        self.list.chosen.connect(self._on_chosen)
        self.list.activated_row.connect(self._on_activated)
        self.list.typed.connect(self.search.type_in)
        self.folders.clicked.connect(lambda: open_folders(self.folders, self._state))
        self.lesson.begun.connect(self._enter_list)
        self.detail.hub_asked.connect(self.open_repo)
        self._state.offers_changed.connect(self._on_offers)
        self._state.downloads_changed.connect(lambda _: self._show_rows())
        self._state.connection_changed.connect(self._on_connection)
        self._state.troubled.connect(self._on_trouble)
        self._state.token_checked.connect(self._on_token)
        self.hub.changed.connect(self._show_rows)
        self.hub.repo_changed.connect(self._on_repo)
        self.hub.judged.connect(self._on_judged)
        self.detail.choices.subject_changed.connect(self._judge)
        session.state_changed.connect(self._on_model)
        self.detail.memory.said.connect(lambda words: announce(self.detail, words))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._state.look_first()

    def focus_first(self) -> None:
        """Put the keyboard where one would begin."""
        (self.list if self.list.key else self.search.edit).setFocus()

    # ----------------------------------------------------------------------------------------- showing

    def _show_rows(self) -> None:
        wanted = replace(self.search.filter, whole=self._shows_all, keep=self.list.key)
        self.list.set_rows(rows_of(self._state, self.hub, wanted))

    def _on_filter(self, wanted: Filter) -> None:
        self.hub.ask(wanted.text)
        self.hub.ask_for(has_drafter=wanted.only_drafted, params=wanted.params)
        self._show_rows()
        self.list.scrollToTop()

    def _on_offers(self) -> None:
        """Show the new list, and in the detail what has become of its subject."""
        self._show_rows()
        shown = self.detail.subject
        offer = self._state.offer(shown.id) if shown.offer is not None else None
        if offer is not None and offer != shown.offer:
            subject = Subject(offer)
            is_same_place = (offer.installed is None) == (shown.installed is None)
            self.detail.show_subject(subject.with_picks_of(shown) if is_same_place else subject)
        elif shown.repo is not None:
            self.detail.show_subject(shown)
        elif shown.offer is not None and offer is None and not self.list.choose_first():
            self.lesson.teach(can_begin=False)
            self.side.setCurrentWidget(self.lesson)
        self.doing.tell_freed()
        has_begun = any(one.installed and one.installed.place != "starter" for one in self._state.offers)
        if self.list.key == "" and (has_begun or self._state.speed.devices):
            self.list.choose_first()
        elif self.list.key == "":
            self.lesson.teach(can_begin=bool(self._state.offers))

    def _on_chosen(self, row: Row) -> None:
        if row.kind is RowKind.OFFER:
            offer = self._state.offer(row.key)
            is_shown = self.side.currentWidget() is self.detail and self.detail.subject.offer == offer
            if offer is not None and not is_shown:
                self._wanted_repo = ""
                self._show(Subject(offer))
        elif row.kind is RowKind.REPO:
            self._wanted_repo = row.key
            if row.key in self.hub.repos:
                self.open_repo(row.key)
            else:
                self.lesson.wait_for(row.key)
                self.side.setCurrentWidget(self.lesson)
                self._opening.start()

    def _open_wanted(self) -> None:
        if self._wanted_repo:
            self.open_repo(self._wanted_repo)

    def open_repo(self, repo: str) -> None:
        """Show the page of `repo`, as soon as it is here."""
        self.list.choose(repo)
        self._wanted_repo = repo
        if repo in self.hub.repos:
            self._on_repo(repo)
            return
        self.lesson.wait_for(repo)
        self.side.setCurrentWidget(self.lesson)
        self.hub.open_repo(repo)

    def _on_repo(self, repo: str) -> None:
        if repo != self._wanted_repo:
            return
        page, trouble = self.hub.repos.get(repo), self.hub.repo_troubles.get(repo)
        if page is not None:
            self._show(subject_of_repo(page))
            self._judge(self.detail.subject)
        elif trouble is not None:
            self.lesson.fail(repo)
            self.lesson.notice.tell(trouble, Remedy("Try again", lambda: self.open_repo(repo)), tone="plain")

    def _judge(self, subject: Subject) -> None:
        """Have the drafters looked at for the version that is picked."""
        if subject.repo is not None and subject.repo.quantisations:
            quantisation = subject.repo.quantisations[subject.quantisation]
            self.hub.judge(subject.repo, quantisation)
            is_judging = self.hub.is_judging(subject.repo.model.repo, quantisation.label)
            self.detail.choices.set_checking(is_judging)

    def _on_judged(self, repo: HubRepo, label: str) -> None:
        shown = self.detail.subject
        if (
            shown.id == repo.model.repo
            and shown.repo is not None
            and shown.versions[shown.quantisation][0] == label
        ):
            self.detail.choices.set_checking(False)
            self.detail.show_subject(judged_subject(shown, repo))

    def _show(self, subject: Subject) -> None:
        self.detail.show_subject(subject)
        self.side.setCurrentWidget(self.detail)
        announce(self.detail, spoken_of(subject))

    def _on_model(self, state: ModelState) -> None:
        """Other memory is free now: what is shown is asked for anew."""
        if state.phase is not ModelPhase.LOADING:
            self.budgets.forget()
            self.detail.show_memory()

    def _on_running(self, what: str) -> None:
        self.budgets.hold(what == MEASUREMENT)
        self.measure.hold(what == MEASUREMENT)
        self.detail.show_memory()

    def _on_connection(self, is_online: bool) -> None:
        if is_online:
            self.offline.hide()
        else:
            self.offline.tell(_OFFLINE, Remedy("Try again", self._reconnect), tone="plain")
        self._show_rows()

    def _on_trouble(self, job: Job, trouble: Trouble) -> None:
        if job.task is Task.TOKEN:
            return  # It is told where the token was entered.
        if job.task in (Task.REMOVE, Task.VERIFY):
            self.detail.notice.tell(trouble)
        elif job.task is Task.MEASURE:
            self.notice.tell(trouble, Remedy("Measure again", self._state.measure))
        else:
            self.notice.tell(trouble, Remedy("Try again", self._state.refresh))

    # ------------------------------------------------------------------------------------------- doing

    def _reconnect(self) -> None:
        self._state.is_online = True
        if self.hub.has_query:
            self.hub.search_now()
        else:
            self._state.refresh()
        self.detail.show_memory()
        if self._wanted_repo:
            self.open_repo(self._wanted_repo)
        self._show_rows()

    def _on_token(self, user: str) -> None:
        """Ask again for what was not to be had without the token."""
        if user:
            self.budgets.forget()
            self.detail.show_memory()
            if self._wanted_repo in self.hub.repo_troubles:
                self.open_repo(self._wanted_repo)

    def _enter_list(self) -> None:
        if not self.list.choose(self.list.key):
            self.list.choose_first()
        self.list.setFocus()

    def _on_activated(self, row: Row) -> None:
        if row.key == SEARCH_AGAIN:
            self.hub.search_now()
        elif row.key == SHOW_ALL:
            self._shows_all = True
            self._show_rows()
        elif row.key == UNREADABLE:
            open_folders(self.folders, self._state)
        elif row.key == self.detail.subject.id:
            self.detail.act()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wanted = int(self.width() * _LIST_SHARE)
        self._left.setFixedWidth(min(_WIDEST_LIST_PX, max(_LEAST_LIST_PX, wanted)))
