"""The facts of a model, name beside value: speeds that others measured, licence, source, where it lies."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app import fonts
from app.format import count, factor
from app.models.memory import measured_words
from app.models.subject import Subject
from app.widgets.parts import label
from engine.models.catalogue import MeasuredSpeedup
from engine.worker.messages import Loaded

_UNCHECKED = "Not yet: what stands here comes from others, and the Hub is asked before the download."


class Facts(QWidget):
    """Rows that wrap; only those of which something is known."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        self._rows: tuple[tuple[str, str], ...] = ()
        self._labels: list[tuple[QLabel, QLabel]] = []

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return self._rows

    def set_rows(self, rows: tuple[tuple[str, str], ...]) -> None:
        if rows == self._rows:
            return
        self._rows = rows
        while len(self._labels) < len(rows):
            self._labels.append(self._new_row(len(self._labels)))
        for i, (caption, text) in enumerate(self._labels):
            name, value = rows[i] if i < len(rows) else ("", "")
            caption.setText(name)
            text.setText(value)
            caption.setVisible(i < len(rows))
            text.setVisible(i < len(rows))

    def _new_row(self, y: int) -> tuple[QLabel, QLabel]:
        caption = label(tone="muted", font=fonts.small())
        text = label(wraps=True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        text.setMinimumWidth(1)
        self._grid.addWidget(caption, y, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(text, y, 1)
        return caption, text


def facts_of(subject: Subject, loaded: Loaded | None = None) -> tuple[tuple[str, str], ...]:
    """Return the rows for `subject`; `loaded` is what llama.cpp said of it, if it is the loaded one."""
    remote, installed = subject.remote, subject.installed
    files = [file.name for file in remote.files] if remote and installed is None else []
    kind = (installed.architecture, installed.quantisation) if installed else ()
    made_for = count(subject.n_ctx_train, "token") if subject.n_ctx_train else ""
    entry = subject.offer.entry if subject.offer else None
    is_unchecked = installed is None and entry is not None and not entry.is_verified
    rows = [
        ("Licence", subject.licence),
        ("Made for", f"a context of {made_for} at most" if made_for else ""),
        ("Measured", "\n".join(_speedup(one) for one in subject.speedups)),
        ("Source", subject.source_repo),
        ("Files", "\n".join(files)),
        ("Checked", _UNCHECKED if is_unchecked else ""),
        ("Lies in", _breakable(installed.bundle.target) if installed else ""),
        ("Loaded", measured_words(loaded) if loaded else ""),
        ("Kind", " · ".join(part for part in kind if part)),
    ]
    return tuple((name, value) for name, value in rows if value)


def _speedup(one: MeasuredSpeedup) -> str:
    return f"{factor(one.low)} to {factor(one.high)} with speculation on {one.hardware} ({one.source})"


def _breakable(path: str) -> str:
    """Return `path` with places where a line may break."""
    return path.replace("/", "/\u200b").replace("\\", "\\\u200b")
