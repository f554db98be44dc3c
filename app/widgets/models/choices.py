"""What can be picked of a bundle before it is downloaded or loaded: version, drafter, precision, lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QMenu, QVBoxLayout, QWidget

from app import words as common_words
from app.format import file_size
from app.models import words
from app.models.actions import WhyNot
from app.models.subject import Subject
from app.widgets.parts import PickButton
from app.widgets.run_options import field
from app.widgets.switch import Switch
from engine.budget.budget import KvType
from engine.hub.listing import DrafterOption
from engine.models.bundle import DrafterKind

_TWO_COLUMNS_FROM_PX = 440
_MENU_TEXT_PX, _MENU_SIDES_PX = 400, 56


class Choices(QWidget):
    """Signals:
    subject_changed(Subject): another version or drafter is picked.
    loading_changed: another precision is picked, or whether to count a comparison in.
    """

    subject_changed = Signal(object)
    loading_changed = Signal()

    def __init__(self, kv_type: KvType, why_not: WhyNot) -> None:
        super().__init__()
        self._why_not = why_not
        self._subject = Subject()
        self._kv_type = kv_type
        self._is_checking = False
        self.version = PickButton("Version", self._fill_versions)
        self.drafter = PickButton("Who guesses ahead", self._fill_drafters)
        self.precision = PickButton("Cache precision", self._fill_precisions)
        self.race = Switch("Count a comparison in", text="Count a comparison in")
        self.race.setToolTip(words.COMPARING)
        self.race.toggled.connect(lambda _: self.loading_changed.emit())
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(8)
        self._fields = tuple(
            _holder(field(name, control, tip))
            for name, control, tip in (
                ("Version", self.version, words.VERSION),
                ("Who guesses ahead", self.drafter, common_words.DRAFTING),
                ("Cache precision", self.precision, words.KV_CHOICE),
                (" ", self.race, words.COMPARING),
            )
        )
        self._n_columns = 0
        self._place(2)
        self._show()

    @property
    def kv_type(self) -> KvType:
        return self._kv_type

    @property
    def counts_race(self) -> bool:
        return self.race.isChecked()

    def show_subject(self, subject: Subject) -> None:
        self._subject = subject
        self._show()

    def _place(self, n_columns: int) -> None:
        """Put the fields into so many columns; Tab follows in the same order either way."""
        if n_columns == self._n_columns:
            return
        self._n_columns = n_columns
        for i, one in enumerate(self._fields):
            self._grid.addWidget(one, i // n_columns, i % n_columns)
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(1, 1 if n_columns > 1 else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place(2 if self.width() >= _TWO_COLUMNS_FROM_PX else 1)

    def set_checking(self, is_checking: bool) -> None:
        """Say that the drafters are being looked at, which takes a moment."""
        if is_checking != self._is_checking:
            self._is_checking = is_checking
            self._show()

    def pick_kv_type(self, kv_type: KvType) -> None:
        if kv_type is not self._kv_type:
            self._kv_type = kv_type
            self._show()
            self.loading_changed.emit()

    def _show(self) -> None:
        versions = self._subject.versions
        self.version.setEnabled(len(versions) > 1)
        at = min(self._subject.quantisation, max(0, len(versions) - 1))
        self.version.set_chosen(version_words(versions[at]) if versions else "–", words.VERSION)
        if self._subject.versions:
            picked = self._subject.picked_drafter
            why_not = words.cannot_run(self._why_not(picked.kind))
            tip = f"{why_not}\n\n" if why_not else ""
            checking = " · looking whether it fits…" if self._is_checking and picked.kind.has_weights else ""
            beside = " + n-gram" if self._has_ngram_beside else ""
            self.drafter.set_chosen(drafter_words(picked) + beside + checking, tip + common_words.DRAFTING)
        self.precision.set_chosen(words.KV_WORDS[self._kv_type], words.KV_CHOICE)

    def _fill_versions(self, menu: QMenu) -> None:
        for i, version in enumerate(self._subject.versions):
            self._add(
                menu, version_words(version), i == self._subject.quantisation, partial(self._pick_version, i)
            )

    def _fill_drafters(self, menu: QMenu) -> None:
        menu.setToolTipsVisible(True)
        for i, option in enumerate(self._subject.drafters):
            why_not = " – does not fit" if option.reason else ""
            if option.reason and self._why_not(option.kind) and self._subject.is_whole_offer:
                why_not = f" – {words.NOT_HERE}"
            said = self._elided(drafter_words(option) + why_not)
            action = self._add(menu, said, i == self._subject.drafter, partial(self._pick_drafter, i))
            action.setEnabled(not option.reason)
            action.setToolTip(option.reason or remark_of(self._subject, i))
        if self._subject.installed is not None:
            menu.addSeparator()
            beside = self._add(menu, words.NGRAM_BESIDE, self._has_ngram_beside, self._toggle_ngram)
            beside.setEnabled(self._subject.picked_drafter.kind.has_weights)
            beside.setToolTip(common_words.NGRAM_BESIDE)

    @property
    def _has_ngram_beside(self) -> bool:
        return self._subject.with_ngram and self._subject.picked_drafter.kind.has_weights

    def _toggle_ngram(self) -> None:
        self._pick(replace(self._subject, with_ngram=not self._subject.with_ngram))

    def _elided(self, text: str) -> str:
        """Cut `text` so that a menu is not wider than its field, or not by much."""
        room_px = max(_MENU_TEXT_PX, self.drafter.width() - _MENU_SIDES_PX)
        return self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, room_px)

    def _fill_precisions(self, menu: QMenu) -> None:
        menu.setToolTipsVisible(True)
        for kv_type in KvType:
            action = self._add(
                menu, words.KV_WORDS[kv_type], kv_type is self._kv_type, partial(self.pick_kv_type, kv_type)
            )
            action.setToolTip(words.KV_TIPS[kv_type])

    def _add(self, menu: QMenu, text: str, checked: bool, act: Callable[[], None]) -> QAction:
        action = menu.addAction(text)
        action.setCheckable(True)
        action.setChecked(checked)
        action.triggered.connect(lambda _=False: act())
        return action

    def _pick_version(self, i: int) -> None:
        self._pick(replace(self._subject, quantisation=i))

    def _pick_drafter(self, i: int) -> None:
        self._pick(replace(self._subject, drafter=i))

    def _pick(self, subject: Subject) -> None:
        if subject != self._subject:
            self._subject = subject
            self._show()
            self.subject_changed.emit(subject)


def _holder(layout: QVBoxLayout) -> QWidget:
    holder = QWidget()
    layout.setContentsMargins(0, 0, 0, 0)
    holder.setLayout(layout)
    return holder


def version_words(version: tuple[str, int]) -> str:
    name, size_bytes = version
    return f"{name} · {file_size(size_bytes)}" if size_bytes else name


def drafter_words(option: DrafterOption) -> str:
    """Return what the list shows: the kind in words or the model's name, and its size."""
    said = words.drafter_words(option.kind, has_file=bool(option.files))
    if option.kind is DrafterKind.MODEL and option.files:
        said = option.files[0].name.removesuffix(".gguf")
    return f"{said} · {file_size(option.size_bytes)}" if option.size_bytes else said


def remark_of(subject: Subject, i: int) -> str:
    """Return what speaks against a drafter that fits, "" for nothing."""
    remark = subject.local[i].remark if i < len(subject.local) else ""
    return f"It fits, but {remark}." if remark else ""
