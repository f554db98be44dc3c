"""Searching the Hub while one types, page after page, and opening a repository's page."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.bridge import ModelsBridge
from app.trouble import Trouble, trouble_of
from engine.hub.listing import HubModel, HubQuery, HubRepo, HubSort, Quantisation
from engine.models_events import HubRepoOpened, HubSearched, ModelsFailed
from engine.models_service import ModelsService

TYPING_MS = 350
LEAST_LETTERS = 2


class HubState(QObject):
    """What the Hub said to the last search, and the page that is open.

    Nothing is asked of the Hub until something is typed.

    Signals:
        changed: models, whether it searches, or its trouble are other ones now.
        repo_changed(str): the page of this repository came, or could not be had.
        judged(HubRepo, str): the drafters for the quantisation with this label were looked at.
    """

    changed = Signal()
    repo_changed = Signal(str)
    judged = Signal(object, str)

    def __init__(self, service: ModelsService, bridge: ModelsBridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._service = service
        self.query = HubQuery()
        self.models: tuple[HubModel, ...] = ()
        self.trouble: Trouble | None = None
        self.repos: dict[str, HubRepo] = {}
        self.repo_troubles: dict[str, Trouble] = {}
        self._cursor = ""
        self._job = 0
        self._repo_jobs: dict[int, str] = {}
        self._judged: dict[tuple[str, str], HubRepo] = {}
        self._judging: dict[int, tuple[str, str]] = {}
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_MS)
        self._typing.timeout.connect(self.search_now)
        bridge.hub_searched.connect(self._on_page)
        bridge.repo_opened.connect(self._on_repo)
        bridge.failed.connect(self._on_failed)

    @property
    def is_searching(self) -> bool:
        return self._job != 0 or self._typing.isActive()

    @property
    def has_query(self) -> bool:
        return len(self.query.text) >= LEAST_LETTERS or bool(self.query.author)

    @property
    def can_fetch_more(self) -> bool:
        return bool(self._cursor) and not self.is_searching and self.trouble is None

    def ask(self, text: str) -> None:
        """Search for `text` as soon as the typing pauses; "owner/words" asks for that owner's only."""
        author, slash, rest = text.strip().rpartition("/")
        self._change(text=(rest if slash else text).strip(), author=author.strip())

    def ask_for(
        self,
        *,
        sort: HubSort | None = None,
        has_drafter: bool | None = None,
        params: tuple[int, int] | None = None,
    ) -> None:
        """Change how the search is sorted and what is left out; `params` in parameters, 0: no bound."""
        least, most = params if params is not None else (self.query.min_params, self.query.max_params)
        self._change(
            sort=sort or self.query.sort,
            has_drafter=self.query.has_drafter if has_drafter is None else has_drafter,
            min_params=least,
            max_params=most,
        )

    def _change(self, **fields: object) -> None:
        query = msgspec.structs.replace(self.query, **fields)
        if query == self.query:
            return
        self.query = query
        self._forget()
        if self.has_query:
            self._typing.start()
        self.changed.emit()

    def search_now(self) -> None:
        """Search again from the first page."""
        self._forget()
        if self.has_query:
            self._job = self._service.search(self.query)
        self.changed.emit()

    def fetch_more(self) -> None:
        if self.can_fetch_more:
            self._job = self._service.search(self.query, self._cursor)
            self.changed.emit()

    def open_repo(self, repo: str) -> None:
        """Ask for the page of `repo`, unless it is here or on its way."""
        if repo not in self.repos and repo not in self._repo_jobs.values():
            self.repo_troubles.pop(repo, None)
            self._repo_jobs[self._service.open_repo(repo)] = repo

    def judge(self, repo: HubRepo, quantisation: Quantisation) -> None:
        """Have the headers of the drafters read, to see which fit this target; `judged` follows."""
        key = (repo.model.repo, quantisation.label)
        if key in self._judged:
            self.judged.emit(self._judged[key], quantisation.label)
        elif key not in self._judging.values():
            self._judging[self._service.judge_drafters(repo, quantisation)] = key

    def is_judging(self, repo: str, label: str) -> bool:
        return (repo, label) in self._judging.values()

    def _forget(self) -> None:
        self._typing.stop()
        if self._job:
            self._service.cancel(self._job)
        self._job, self._cursor, self.models, self.trouble = 0, "", (), None

    def _on_page(self, event: HubSearched) -> None:
        if event.job != self._job:
            return
        known = {model.repo for model in self.models}
        self.models += tuple(model for model in event.page.models if model.repo not in known)
        self._job, self._cursor = 0, event.page.cursor
        self.changed.emit()

    def _on_repo(self, event: HubRepoOpened) -> None:
        key = self._judging.pop(event.job, None)
        if key is not None:
            self._judged[key] = event.repo
            self.judged.emit(event.repo, key[1])
            return
        self._repo_jobs.pop(event.job, None)
        repo = event.repo.model.repo
        self.repos[repo] = event.repo
        self.repo_changed.emit(repo)

    def _on_failed(self, event: ModelsFailed) -> None:
        if event.job in self._judging:
            # Which drafters fit is not known then: none is greyed, and a pair is checked when it loads.
            repo, label = self._judging.pop(event.job)
            if repo in self.repos:
                self.judged.emit(self.repos[repo], label)
            return
        repo_asked = self._repo_jobs.pop(event.job, None)
        trouble = trouble_of(event)
        if repo_asked is not None and not trouble.is_cancel:
            self.repo_troubles[repo_asked] = trouble
            self.repo_changed.emit(repo_asked)
        if event.job == self._job:
            self._job, self.trouble = 0, None if trouble.is_cancel else trouble
            self.changed.emit()
