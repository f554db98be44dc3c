"""What the buttons of a model's detail do: download, load, compare, delete, verify, show where it lies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from app.announce import announce
from app.format import file_size
from app.models.actions import loadable
from app.models.state import ModelsState
from app.models.subject import Subject
from app.session import EngineSession, ModelPhase, ModelState
from app.trouble import Trouble
from app.widgets.models.detail import ModelDetail
from app.widgets.notice import Remedy
from engine.budget.budget import KvType
from engine.models.bundle import Bundle
from engine.shelf.installed_model import InstalledModel

if TYPE_CHECKING:
    from app.pages.models import ModelsPage


class ModelsActions(QObject):
    """Loading goes through the session; once it is loaded the page that was asked for is shown."""

    def __init__(
        self, page: ModelsPage, state: ModelsState, session: EngineSession, detail: ModelDetail
    ) -> None:
        super().__init__(page)
        self._page, self._state, self._session, self._detail = page, state, session, detail
        self._then = ""
        self._asked: Bundle | None = None
        self._chosen_before: tuple[Bundle | None, int, KvType] = (None, 0, KvType.F16)
        self._to_remove: InstalledModel | None = None
        self._freed = ""
        self.question: QMessageBox | None = None
        detail.download_asked.connect(self._download)
        detail.load_asked.connect(lambda subject: self._load(subject, "chat"))
        detail.compare_asked.connect(lambda subject: self._load(subject, "compare"))
        detail.delete_asked.connect(self._ask_to_delete)
        detail.verify_asked.connect(self._verify)
        detail.folder_asked.connect(self._show_folder)
        session.state_changed.connect(self._on_model)
        session.unloaded.connect(self._on_unloaded)
        state.removed.connect(self._on_removed)
        state.verified.connect(self._on_verified)

    def _download(self, subject: Subject) -> None:
        if subject.remote is not None:
            self._state.download(subject.remote)

    def _load(self, subject: Subject, then: str, *, check_memory: bool = True) -> None:
        if subject.bundle is None:
            return
        self._detail.notice.hide()
        session = self._session
        self._chosen_before = (session.choice, session.n_ctx, session.kv_type)
        self._asked = loadable(subject.bundle, session.why_not)
        session.choose(self._asked)
        if self._detail.memory.n_ctx:
            self._session.choose_n_ctx(self._detail.memory.n_ctx)
        self._session.choose_kv_type(self._detail.choices.kv_type)
        if self._session.is_choice_loaded:
            self._page.page_asked.emit(then)
            return
        self._then = then
        self._session.stop_running()
        self._session.load_choice(check_memory=check_memory)

    def _on_model(self, state: ModelState) -> None:
        then = self._then
        if not then or state.phase is ModelPhase.LOADING:
            return
        self._then = ""
        if state.phase is ModelPhase.LOADED and state.bundle == self._asked:
            # Who went to another page meanwhile is left there.
            if self._page.isVisible():
                self._page.page_asked.emit(then)
        elif state.phase is ModelPhase.FAILED and state.trouble is not None:
            self._tell_why_not(state.trouble, then)
        elif self._session.choice == self._asked:
            self._choose_as_before()

    def _choose_as_before(self) -> None:
        """Loading was cancelled: what was chosen for it is not what the person wants next."""
        bundle, n_ctx, kv_type = self._chosen_before
        if bundle is not None:
            self._session.choose(bundle)
            self._session.choose_n_ctx(n_ctx)
            self._session.choose_kv_type(kv_type)

    def _tell_why_not(self, trouble: Trouble, then: str) -> None:
        subject = self._detail.subject
        if trouble.is_gone:
            self._state.refresh()
        if trouble.is_about_memory:
            anyway = Remedy("Load anyway", lambda: self._load(subject, then, check_memory=False))
            self._detail.notice.tell(trouble, anyway)
        else:
            self._detail.notice.tell(trouble, Remedy("Try again", lambda: self._load(subject, then)))

    def _ask_to_delete(self, subject: Subject) -> None:
        """Ask first: what is deleted has to be downloaded again."""
        model = subject.installed
        if model is None:
            return
        size = file_size(model.size_bytes)
        box = QMessageBox(self._page)
        box.setIcon(QMessageBox.Icon.NoIcon)
        box.setWindowTitle("Delete a model")
        box.setText(f"Delete {model.bundle.name}?")
        loaded = "It is loaded and will be unloaded first. " if self._is_in_use(model) else ""
        box.setInformativeText(f"{loaded}{size} are freed. To have it again it must be downloaded again.")
        delete = box.addButton(f"Delete {size}", QMessageBox.ButtonRole.DestructiveRole)
        keep = box.addButton("Keep", QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        box.setEscapeButton(keep)
        delete.clicked.connect(lambda: self._delete(model))
        box.finished.connect(box.deleteLater)
        self.question = box
        box.open()

    def _is_in_use(self, model: InstalledModel) -> bool:
        state = self._session.state
        is_there = state.phase in (ModelPhase.LOADING, ModelPhase.LOADED)
        return is_there and state.bundle is not None and state.bundle.target == model.bundle.target

    def _delete(self, model: InstalledModel) -> None:
        """Delete `model`; what is loaded is unloaded first: as long as it is mapped the disk is not freed."""
        self._detail.delete.setEnabled(False)
        if self._is_in_use(model):
            self._to_remove = model
            self._session.unload()
        else:
            self._state.remove(model)

    def _on_unloaded(self) -> None:
        model, self._to_remove = self._to_remove, None
        if model is not None:
            self._state.remove(model)

    def _on_removed(self, _id: str, freed_bytes: int) -> None:
        self._freed = f"Deleted. {file_size(freed_bytes)} are free again."

    def tell_freed(self) -> None:
        """Say what was freed once the list is read anew; another model is chosen in the place of one that went."""
        said, self._freed = self._freed, ""
        if not said:
            return
        self._page.notice.tell(Trouble(said), tone="plain")
        choice, here = self._session.choice, self._state.installed
        if here and choice is not None and choice.target not in {bundle.target for bundle in here}:
            self._session.choose(loadable(here[0], self._session.why_not))

    def _verify(self, subject: Subject) -> None:
        if subject.installed is not None:
            self._state.verify(subject.installed)

    def _on_verified(self, model_id: str, sentence: str) -> None:
        installed = self._detail.subject.installed
        if installed is None or installed.id != model_id:
            announce(self._page, sentence or "Verified.")
        elif sentence:
            self._detail.notice.tell(Trouble(sentence, "Download it again."))
        else:
            self._detail.notice.tell(Trouble("Every file is what it should be."), tone="plain")

    def _show_folder(self, subject: Subject) -> None:
        if subject.installed is not None:
            folder = Path(subject.installed.bundle.target).parent
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
