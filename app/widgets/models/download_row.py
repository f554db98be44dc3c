"""One download: how far it is, what can be done about it, and each of its files on demand."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from app import fonts
from app.format import file_size
from app.models.downloads import file_rows, state_words
from app.models.state import ModelsState
from app.widgets.elided import ElidedLabel
from app.widgets.models.disclosure import Disclosure
from app.widgets.models.table import Table
from app.widgets.parts import button, label, set_tone
from app.widgets.progress_line import ProgressLine
from engine.download.progress import DownloadProgress, DownloadState

_MUCH_BYTES = 50_000_000
_TONES = {DownloadState.STALLED: "warning", DownloadState.FAILED: "error"}


class DownloadRow(QFrame):
    """Shows `progress` and acts on the state's service. `with_name`: whether it says which bundle it is."""

    def __init__(self, state: ModelsState, *, with_name: bool = True) -> None:
        super().__init__()
        self._state = state
        self._id = ""
        self._progress: DownloadProgress | None = None
        self._name = ElidedLabel(font=fonts.strong())
        self._words = label(tone="muted", font=fonts.tabular(fonts.small()), wraps=True)
        self._line = ProgressLine("Download", "accent", "there", track="line")
        self.go = button("Pause")
        self.cancel = button("Cancel", role="quiet", tip="Stop, and delete what has come so far")
        self.keep = button("Keep it", role="quiet")
        self.delete = button("Delete")
        self._asks = False
        self.dismiss = button("Dismiss", role="quiet", tip="Take it off the list")
        self._table = Table()
        self.files = Disclosure("Files", self._table, apart=True)
        self.go.clicked.connect(self._on_go)
        self.cancel.clicked.connect(self._on_cancel)
        self.keep.clicked.connect(lambda: self._ask(asks=False))
        self.delete.clicked.connect(lambda: state.service.cancel_download(self._id))
        self.dismiss.clicked.connect(lambda: state.dismiss(self._id))
        self._lay_out()
        self._name.setVisible(with_name)

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(4)
        buttons.addWidget(self.files, 1)
        for one in (self.dismiss, self.cancel, self.go, self.keep, self.delete):
            buttons.addWidget(one)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self._name)
        column.addWidget(self._line)
        column.addWidget(self._words)
        column.addLayout(buttons)
        column.addWidget(self._table)

    @property
    def words(self) -> str:
        return self._words.text()

    def show_progress(self, progress: DownloadProgress) -> None:
        self._id, self._progress = progress.id, progress
        name = progress.bundle.name
        self._name.set_words(name)
        self._words.setText(state_words(progress, is_alone=len(self._state.running) < 2))
        set_tone(self._words, _TONES.get(progress.state, "muted"))
        self._words.setToolTip(progress.detail)
        self._line.set_name(f"Download of {name}")
        self._line.set_progress(progress.fraction, reading=False)
        self._table.set_rows(file_rows(progress.files))
        state = progress.state
        verb = "Pause" if state.is_active else "Try again" if state is DownloadState.FAILED else "Resume"
        self.go.set_words(verb)
        self.go.setAccessibleName(f"{verb}: {name}")
        stop = "Remove" if state is DownloadState.FAILED else "Cancel"
        self.cancel.set_words(stop)
        self.cancel.setAccessibleName(f"{stop}: {name}")
        self.dismiss.setAccessibleName(f"Dismiss: {name}")
        self.delete.set_words(f"Delete {file_size(progress.done_bytes)}")
        self._ask(asks=self._asks and not state.is_over)

    def _ask(self, *, asks: bool) -> None:
        """Put the question whether to delete what has come in the place of the buttons, or take it away."""
        self._asks = asks
        is_over = self._progress is None or self._progress.state.is_over
        self.go.setVisible(not is_over and not asks)
        self.cancel.setVisible(not is_over and not asks)
        self.dismiss.setVisible(is_over)
        self.keep.setVisible(asks)
        self.delete.setVisible(asks)

    def _on_cancel(self) -> None:
        """Cancel at once what has hardly begun; ask before much is deleted."""
        if self._progress is not None and self._progress.done_bytes > _MUCH_BYTES:
            self._ask(asks=True)
            self.keep.setFocus()
        else:
            self._state.service.cancel_download(self._id)

    def _on_go(self) -> None:
        progress = self._progress
        if progress is None:
            return
        if progress.state.is_active:
            self._state.service.pause(progress.id)
        else:
            self._state.service.resume(progress.id)
