"""Which model answers, who guesses ahead, and how far the model looks back: buttons with what there is, and a
way to open a file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QWidget
from shiboken6 import isValid

from app import words
from app.file_check import FileCheck
from app.library import Library
from app.models.actions import judged_here, loadable
from app.models.words import NGRAM_BESIDE, NOT_HERE
from app.models.words import drafter_words as kind_words
from app.session import EngineSession
from app.trouble import Trouble
from app.widgets.context_picker import ContextPicker
from app.widgets.parts import PickButton
from app.widgets.run_options import field
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.model_file import ModelRole
from engine.models_events import LocalDrafter

_MENU_PX = 400
_FILTER = "Models (*.gguf);;All files (*)"


class BundlePicker(QWidget):
    """Shows and changes the session's choice.

    Signals:
        file_opened(str): a file was opened by hand, or taken off the list of those.
        refused(Trouble): a file that was opened cannot be used.
    """

    file_opened = Signal(str)
    refused = Signal(object)

    def __init__(self, session: EngineSession, library: Library, *, with_drafter: bool = True) -> None:
        super().__init__()
        self._session = session
        self._library = library
        self.target = PickButton("Model", self._fill_targets)
        self.drafter = PickButton("Drafting", self._fill_drafters)
        self.context = ContextPicker(session)
        self._context_field = QWidget()
        context = field("Context", self.context, words.CONTEXT_CHOICE)
        context.setContentsMargins(0, 0, 0, 0)
        self._context_field.setLayout(context)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addLayout(field("Model", self.target, words.MODEL), 1)
        if with_drafter:
            row.addLayout(field("Who guesses ahead", self.drafter, words.DRAFTING), 1)
        row.addWidget(self._context_field)
        self._check = FileCheck(self)
        self._check.passed.connect(self._take)
        self._check.refused.connect(self._refuse)
        session.choice_changed.connect(self._show)
        library.changed.connect(lambda _: self._show(session.choice))
        self._show(session.choice)

    def show_context(self, shown: bool) -> None:
        """Show how far the model looks back, or leave it out where there is no room."""
        self._context_field.setVisible(shown)

    def open_target(self, path: str) -> None:
        """Choose the file `path` as the model, once it was looked at."""
        self._check.check((path, ModelRole.TARGET))

    def open_drafter(self, path: str) -> None:
        """Choose the file `path` as the drafter of the chosen model, once it was looked at."""
        self._check.check((path, ModelRole.DRAFTER))

    def open_pair(self, target: str, drafter: str) -> None:
        """Choose both, the model first."""
        self._check.check((target, ModelRole.TARGET), (drafter, ModelRole.DRAFTER))

    def _take(self, path: str, role: ModelRole, kind: DrafterKind) -> None:
        if role is ModelRole.TARGET:
            self._session.choose(self._library.remember(path))
        else:
            self._library.remember_drafter(path, can_answer=kind is DrafterKind.MODEL)
            self._choose_drafter(DrafterChoice(kind, path))
        self.file_opened.emit(path)

    def _refuse(self, path: str, trouble: Trouble) -> None:
        self._library.forget(path)
        self.file_opened.emit(path)
        self.refused.emit(trouble)

    def _show(self, bundle: Bundle | None) -> None:
        if bundle is None:
            self.target.set_chosen("Choose a model…", words.MODEL)
            self.drafter.set_chosen(kind_words(DrafterKind.NGRAM), words.DRAFTING)
            self.drafter.setEnabled(False)
            return
        self.drafter.setEnabled(True)
        self.target.set_chosen(bundle.name, f"{bundle.target}\n\n{words.MODEL}")
        self.drafter.set_chosen(drafter_words(bundle.drafter), f"{bundle.drafter.path or words.DRAFTING}")

    def _fill_targets(self, menu: QMenu) -> None:
        chosen = self._session.choice
        for bundle in self._library.bundles:
            is_chosen = chosen is not None and bundle.target == chosen.target
            self._add(menu, bundle.name, is_chosen, partial(self._choose_target, bundle))
        if not self._library.bundles:
            menu.addAction("No model is installed yet").setEnabled(False)
        menu.addSeparator()
        menu.addAction("Open a model file…", lambda: self._ask("Open a model", self.open_target))

    def _fill_drafters(self, menu: QMenu) -> None:
        """Offer all that may draft, the best first; what does not fit is greyed and its tooltip says why."""
        chosen = self._session.choice
        if chosen is None:
            return
        menu.setToolTipsVisible(True)
        suggested = self._library.drafters(chosen.target)
        if suggested is None:
            self._fill_when_known(menu, chosen.target)
        known = suggested or (*(LocalDrafter(one, drafter_words(one)) for one in self._drafters_of(chosen)),)
        now = alone(chosen.drafter)
        for one in judged_here(known, self._session.why_not):
            self._add_drafter(menu, one, now)
        self._add_drafter(menu, LocalDrafter(NO_DRAFTER, ""), now)
        if now.path and now not in {one.choice for one in known}:
            self._add_drafter(menu, LocalDrafter(now, ""), now)
        menu.addSeparator()
        self._add_ngram_beside(menu, chosen.drafter)
        if suggested is None:
            menu.addAction("Looking what else fits…").setEnabled(False)
        menu.addAction("Open a drafter file…", lambda: self._ask("Open a drafter", self.open_drafter))

    def _fill_when_known(self, menu: QMenu, target: str) -> None:
        """Ask what may draft for `target`, and put it into `menu` if that is still open then."""

        def fill(answered: str) -> None:
            if answered == target and isValid(menu):
                menu.clear()
                self._fill_drafters(menu)
                menu.adjustSize()

        connection = self._library.drafters_changed.connect(fill)
        menu.aboutToHide.connect(lambda: self._library.drafters_changed.disconnect(connection))
        self._library.drafters_wanted.emit(target)

    def _drafters_of(self, chosen: Bundle) -> tuple[DrafterChoice, ...]:
        """Return n-gram and what came with the model, for as long as nothing else was looked at."""
        known = next((bundle for bundle in self._library.bundles if bundle.target == chosen.target), chosen)
        return tuple(dict.fromkeys((NGRAM_DRAFTER, alone(known.drafter))))

    def _add_drafter(self, menu: QMenu, one: LocalDrafter, now: DrafterChoice) -> None:
        choice = one.choice
        why_not = " – does not fit" if one.reason else ""
        if one.reason and self._session.why_not(choice.kind):
            why_not = f" – {NOT_HERE}"
        text = menu.fontMetrics().elidedText(
            drafter_words(choice) + why_not, Qt.TextElideMode.ElideMiddle, max(_MENU_PX, self.drafter.width())
        )
        action = self._add(menu, text, choice == now, partial(self._choose_drafter, choice))
        action.setEnabled(not one.reason)
        action.setToolTip(one.reason or (f"It fits, but {one.remark}." if one.remark else choice.path))

    def _add_ngram_beside(self, menu: QMenu, now: DrafterChoice) -> None:
        """Offer to look up words seen before too, which costs next to nothing, beside a drafter with weights."""
        action = self._add(menu, NGRAM_BESIDE, now.with_ngram, self._toggle_ngram)
        action.setEnabled(now.kind.has_weights)
        action.setToolTip(words.NGRAM_BESIDE)

    def _toggle_ngram(self) -> None:
        chosen = self._session.choice
        if chosen is not None:
            drafter = msgspec.structs.replace(chosen.drafter, with_ngram=not chosen.drafter.with_ngram)
            self._session.choose(msgspec.structs.replace(chosen, drafter=drafter))

    def _choose_target(self, bundle: Bundle) -> None:
        self._session.choose(loadable(bundle, self._session.why_not))

    def _choose_drafter(self, choice: DrafterChoice) -> None:
        """Choose `choice` for the model; whether n-gram runs beside it stays as it was."""
        chosen = self._session.choice
        if chosen is not None:
            beside = chosen.drafter.with_ngram and choice.kind.has_weights
            drafter = msgspec.structs.replace(choice, with_ngram=beside)
            self._session.choose(msgspec.structs.replace(chosen, drafter=drafter))

    def _add(self, menu: QMenu, text: str, checked: bool, act: Callable[[], None]) -> QAction:
        action = menu.addAction(text, act)
        action.setCheckable(True)
        action.setChecked(checked)
        return action

    def _ask(self, title: str, take: Callable[[str], None]) -> None:
        dialog = QFileDialog(self, title, self._folder(), _FILTER)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(take)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _folder(self) -> str:
        opened = self._library.opened
        return str(Path(opened[0]).parent) if opened else str(Path.home())


def drafter_words(choice: DrafterChoice) -> str:
    """Return what lists show for a drafter."""
    if choice.kind is DrafterKind.MODEL:
        said = Path(choice.path).stem
    else:
        said = kind_words(choice.kind, has_file=bool(choice.path))
        # Several of a kind may lie here: only their files tell them apart.
        said = f"{said}: {Path(choice.path).stem}" if choice.path else said
    return f"{said} + n-gram" if choice.with_ngram and choice.kind.has_weights else said


def alone(choice: DrafterChoice) -> DrafterChoice:
    """Return `choice` without n-gram beside it."""
    return msgspec.structs.replace(choice, with_ngram=False)
