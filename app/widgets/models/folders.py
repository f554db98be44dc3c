"""The folders that are looked into besides Slipstream's own, and how to add or take one away."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from app import fonts
from app.format import count
from app.models.state import ModelsState
from app.widgets.parts import IconButton, Popover, button, label

_MOST_UNREADABLE = 8
_LESSON = "Models in these folders are used where they lie, and never copied or changed."


def open_folders(anchor: QWidget, state: ModelsState) -> Popover:
    """Open the list beside `anchor`, with the files in them that could not be read."""
    popover = Popover(anchor)
    popover.setAccessibleName("Folders")
    popover.body.addWidget(label("Your folders", font=fonts.strong()))
    lesson = label(_LESSON, tone="muted", wraps=True)
    lesson.setMinimumWidth(320)
    popover.body.addWidget(lesson)
    for folder in state.folders:
        popover.body.addLayout(_row(folder, state, popover))
    if state.unreadable:
        popover.body.addWidget(
            label(f"{count(len(state.unreadable), 'file')} could not be read", font=fonts.strong())
        )
    for one in state.unreadable[:_MOST_UNREADABLE]:
        reason = label(f"{Path(one.path).name}: {one.sentence}", tone="muted", font=fonts.small(), wraps=True)
        reason.setToolTip(one.path)
        popover.body.addWidget(reason)
    if len(state.unreadable) > _MOST_UNREADABLE:
        popover.body.addWidget(label(f"and {len(state.unreadable) - _MOST_UNREADABLE} more", tone="muted"))
    add = button("Add a folder…")
    add.clicked.connect(popover.close)
    add.clicked.connect(lambda: ask_for_folder(anchor, state))
    popover.body.addWidget(add, 0, Qt.AlignmentFlag.AlignLeft)
    popover.open_above(anchor)
    return popover


def ask_for_folder(parent: QWidget, state: ModelsState) -> QFileDialog:
    """Ask for a folder; it is looked into from then on."""
    dialog = QFileDialog(parent, "Add a folder with models", str(Path.home()))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    dialog.fileSelected.connect(state.add_folder)
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def _row(folder: str, state: ModelsState, popover: Popover) -> QHBoxLayout:
    row = QHBoxLayout()
    name = label()
    name.setText(name.fontMetrics().elidedText(folder, Qt.TextElideMode.ElideMiddle, 280))
    name.setToolTip(folder)
    remove = IconButton("x", f"Do not look into {folder} any more", size_px=24)
    remove.clicked.connect(lambda: state.remove_folder(folder))
    remove.clicked.connect(popover.close)
    row.addWidget(name, 1)
    row.addWidget(remove)
    return row
