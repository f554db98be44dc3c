"""Everything about one model: what it is, what it takes, how fast it may be, and what can be done with it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app import fonts
from app.format import file_size, share
from app.models import words
from app.models.actions import Act, Offered, judged_here, offered
from app.models.budgets import Budgets
from app.models.drafters import LocalDrafters
from app.models.readme import shown_readme
from app.models.state import ModelsState
from app.models.subject import Subject, drafted_subject
from app.session import EngineSession
from app.widgets.flow import FlowLayout
from app.widgets.markdown_view import MarkdownView
from app.widgets.models.choices import Choices
from app.widgets.models.disclosure import Disclosure
from app.widgets.models.download_row import DownloadRow
from app.widgets.models.facts import Facts, facts_of
from app.widgets.models.figures import SpeedFigures
from app.widgets.models.gate_box import GateBox
from app.widgets.models.memory_section import MemorySection
from app.widgets.notice import Notice
from app.widgets.parts import button, label, rule
from engine.models.bundle import DrafterKind

WIDEST_PX = 760
_README_CHARS = 12_000


class ModelDetail(QScrollArea):
    """Signals:
    load_asked(Subject), compare_asked(Subject), download_asked(Subject), delete_asked(Subject),
    verify_asked(Subject), folder_asked(Subject): a button was pressed.
    hub_asked(str): show all versions of this repository.
    """

    load_asked = Signal(object)
    compare_asked = Signal(object)
    download_asked = Signal(object)
    delete_asked = Signal(object)
    verify_asked = Signal(object)
    folder_asked = Signal(object)
    hub_asked = Signal(str)

    def __init__(
        self, state: ModelsState, budgets: Budgets, session: EngineSession, drafters: LocalDrafters
    ) -> None:
        super().__init__()
        self._state, self._session, self._drafters = state, session, drafters
        self._subject = Subject()
        self._offered = Offered(Act.NONE)
        self._title = label(font=fonts.heading(), wraps=True)
        self._good_at = label(tone="muted", wraps=True)
        self._about = label(wraps=True)
        self._why = label(tone="accent", wraps=True)
        self._note = label(tone="muted", font=fonts.small(), wraps=True)
        self.primary = button("Download", role="primary")
        self.compare = button("Compare", tip="Run one prompt with and without speculation, side by side")
        self.all_versions = button(
            "All versions on the Hub", role="quiet", tip="Show every version of this model on the Hub"
        )
        self.folder = button("Show folder", role="quiet")
        self.verify = button("Verify", role="quiet", tip="Compare every byte with what it should be (sha256)")
        self.delete = button("Delete", role="quiet")
        self.notice = Notice()
        self.download = DownloadRow(state, with_name=False)
        self.gate = GateBox(state)
        self.figures = SpeedFigures()
        self.choices = Choices(session.kv_type, session.why_not)
        self.memory = MemorySection(budgets, session.why_not)
        self.facts = Facts()
        self._readme = QVBoxLayout()
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = QWidget()
        page.setProperty("role", "page")
        column = QVBoxLayout()
        column.setContentsMargins(24, 16, 24, 24)
        column.setSpacing(12)
        head = QVBoxLayout()
        head.setSpacing(2)
        head.addWidget(self._title)
        head.addWidget(self._good_at)
        column.addLayout(head)
        column.addWidget(self._about)
        column.addWidget(self._why)
        actions = QWidget()
        self._buttons = FlowLayout(actions, gap_px=8, line_px=4)
        for one in (self.primary, self.compare, self.all_versions, self.folder, self.verify, self.delete):
            self._buttons.addWidget(one)
        column.addWidget(actions)
        self._actions = actions
        for widget in (self._note, self.download, self.notice, self.gate, self.figures, rule(), self.choices):
            column.addWidget(widget)
        column.addWidget(self.memory)
        column.addWidget(rule())
        column.addWidget(self.facts)
        column.addLayout(self._readme)
        column.addStretch()
        holder = QWidget()
        holder.setLayout(column)
        holder.setMaximumWidth(WIDEST_PX)
        row = QHBoxLayout(page)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(holder, 1)
        row.addStretch(0)
        self.setWidget(page)

    def _connect(self) -> None:
        self.primary.clicked.connect(self.act)
        for one, signal in (
            (self.compare, self.compare_asked),
            (self.folder, self.folder_asked),
            (self.verify, self.verify_asked),
            (self.delete, self.delete_asked),
        ):
            one.clicked.connect(lambda _=False, signal=signal: signal.emit(self._subject))
        self.all_versions.clicked.connect(lambda: self.hub_asked.emit(self._subject.source_repo))
        self.choices.subject_changed.connect(self.show_subject)
        self.choices.loading_changed.connect(self.show_memory)
        self.memory.gated.connect(self._on_gated)
        self.memory.choice_due.connect(self._show_choice)
        self.memory.without_drafter.connect(self._leave_drafter_out)
        self._state.downloads_changed.connect(self._on_download)
        self._drafters.changed.connect(self._on_drafters)
        self._state.verifying_changed.connect(self._on_verifying)
        self._session.state_changed.connect(lambda _: self._show_actions())
        self._session.running_changed.connect(lambda _: self._show_actions())
        self._session.drafters_known.connect(lambda: self.show_subject(self._subject))

    # ----------------------------------------------------------------------------------------- showing

    @property
    def subject(self) -> Subject:
        return self._subject

    @property
    def title(self) -> str:
        return self._title.text()

    @property
    def note(self) -> str:
        return self._note.text()

    def act(self) -> None:
        """Do what the coloured button says."""
        signals = {
            Act.DOWNLOAD: self.download_asked,
            Act.LOAD: self.load_asked,
            Act.COMPARE: self.compare_asked,
        }
        if self.primary.isEnabled() and (signal := signals.get(self._offered.primary)) is not None:
            signal.emit(self._subject)

    def show_subject(self, subject: Subject) -> None:
        """Show `subject`; what was said about another one goes."""
        is_other = subject.id != self._subject.id
        remote = subject.remote
        subject = replace(subject, here=self._state.installed_from(remote.id) if remote else None)
        if subject.is_whole_offer and subject.installed is not None:
            target = subject.installed.bundle.target
            self._drafters.ask(target)
            local = judged_here(self._drafters.of(target), self._session.why_not)
            subject = drafted_subject(subject, local or subject.local)
        self._subject = subject
        self._title.setText(subject.title)
        for line, text in (
            (self._good_at, subject.good_at),
            (self._about, subject.about),
            (self._why, subject.advice.sentence if subject.advice else ""),
        ):
            line.setText(text)
            line.setVisible(bool(text))
        if is_other:
            self.notice.hide()
            self.verticalScrollBar().setValue(0)
            self._show_readme()
        self.choices.show_subject(subject)
        self.figures.show_advice(subject.advice, self._state.speed, subject.picked_drafter.kind)
        self.gate.show_gate(subject.gate, subject.source_repo)
        for part in (self.choices, self.memory):
            part.setVisible(not subject.lacks_model)
        self._show_actions()
        self.show_memory()

    def show_memory(self) -> None:
        """Show what the subject takes as it is picked; asks where that is not known."""
        self.memory.show_subject(self._subject, self.choices.kv_type, race=self.choices.counts_race)

    def _show_readme(self) -> None:
        while (item := self._readme.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        readme = self._subject.repo.readme if self._subject.repo is not None else ""
        if readme:
            view = MarkdownView()
            view.append(shown_readme(readme[:_README_CHARS]))
            view.close_text()
            self._readme.addWidget(rule())
            self._readme.addWidget(Disclosure("What its owner says", view))

    def _show_actions(self) -> None:
        subject, installed = self._subject, self._subject.installed
        progress = self._state.downloads.get(subject.remote.id) if subject.remote else None
        under_way = progress is not None and not progress.state.is_over and installed is None
        self.download.setVisible(under_way)
        if progress is not None and under_way:
            self.download.show_progress(progress)
        loaded = self._session.state.loaded
        is_loaded = (
            loaded is not None and installed is not None and loaded.target.path == installed.bundle.target
        )
        self.facts.set_rows(facts_of(subject, loaded if is_loaded else None))
        self._offered = offered(
            subject, progress, self._session.why_not, is_loaded=is_loaded, running=self._session.running
        )
        self.primary.setVisible(self._offered.primary is not Act.NONE)
        if self._offered.verb:
            self.primary.set_words(self._offered.verb)
        self._note.setText(self._offered.note)
        self._note.setVisible(bool(self._offered.note))
        self.compare.setVisible(installed is not None and not is_loaded)
        self.all_versions.setVisible(subject.repo is None and bool(subject.source_repo))
        self.folder.setVisible(installed is not None)
        can_remove = installed is not None and installed.can_remove
        self.verify.setVisible(can_remove)
        self.delete.setVisible(can_remove)
        if installed is not None:
            self.delete.set_words(f"Delete {file_size(installed.size_bytes)}")
            self.delete.setEnabled(installed.id not in self._state.going)
        self._actions.updateGeometry()

    # ------------------------------------------------------------------------------------------- doing

    def _show_choice(self) -> None:
        """Bring the choice into view, once it has its place."""
        QTimer.singleShot(0, self, lambda: self.ensureWidgetVisible(self.memory.choice, 0, 16))

    def _on_gated(self) -> None:
        """Say what is to do, also where the list did not know that the owner asks for consent."""
        if self.gate.isHidden():
            self.gate.show_gate("auto", self._subject.source_repo)
        self.gate.show_refusal()

    def _leave_drafter_out(self) -> None:
        """Take n-gram, which needs no memory, in the drafter's place."""
        kinds = [one.kind for one in self._subject.drafters]
        self.choices._pick_drafter(kinds.index(DrafterKind.NGRAM))

    def _on_download(self, download_id: str) -> None:
        if self._subject.remote is not None and self._subject.remote.id == download_id:
            self._show_actions()

    def _on_drafters(self, target: str) -> None:
        installed = self._subject.installed
        if installed is not None and installed.bundle.target == target:
            self.show_subject(self._subject)

    def _on_verifying(self, model_id: str, fraction: float) -> None:
        installed = self._subject.installed
        if installed is not None and installed.id == model_id:
            is_over = fraction >= 1
            self.verify.setEnabled(is_over)
            self.verify.set_words("Verify" if is_over else f"Verifying {share(fraction)}")
            self._actions.updateGeometry()


def spoken_of(subject: Subject) -> str:
    """Return what a screen reader says when another model is shown."""
    advice = subject.advice
    fit = words.FIT_WORDS[advice.fit] if advice else ""
    return ", ".join(part for part in (subject.title, subject.good_at, fit) if part)
