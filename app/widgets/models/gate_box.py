"""What to do where an owner asks for consent first: three steps, and a field for the token."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app import fonts
from app.models.state import Job, ModelsState, Task
from app.trouble import Trouble
from app.widgets.flow import FlowLayout
from app.widgets.parts import button, label, set_tone
from engine.hub.token import read_token

_HUB = "https://huggingface.co"
_WAITING = {"manual": " The owner answers by hand; that can take days."}


class GateBox(QFrame):
    """Shown for repositories that ask for consent. The token is handed on and not kept in the window."""

    def __init__(self, state: ModelsState) -> None:
        super().__init__()
        self._state = state
        self._repo = ""
        self.setProperty("role", "notice")
        self.setProperty("tone", "plain")
        self._title = label("The owner asks for your consent", font=fonts.strong())
        self._steps = label(wraps=True)
        self.page = button("Open its page", tip="Accept the conditions there")
        self.tokens = button("Get a token", role="quiet", tip=f"{_HUB}/settings/tokens")
        self.token = QLineEdit()
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setPlaceholderText("hf_…")
        self.token.setAccessibleName("Token of the Hugging Face Hub")
        self.token.setMinimumWidth(88)
        self.use = button("Use this token")
        self.another = button("Use another token", role="quiet")
        self.forget = button("Forget the token", role="quiet")
        self._known = label(tone="accent", wraps=True)
        self._gate = ""
        self._is_refused = self._wants_another = False
        self.page.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(f"{_HUB}/{self._repo}")))
        self.tokens.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(f"{_HUB}/settings/tokens")))
        self.use.clicked.connect(self._use)
        self.token.returnPressed.connect(self._use)
        self.forget.clicked.connect(lambda: state.set_token(""))
        self.another.clicked.connect(self._ask_for_another)
        state.token_checked.connect(self._on_checked)
        state.troubled.connect(self._on_trouble)
        self._lay_out()
        self.hide()

    def _lay_out(self) -> None:
        field = QHBoxLayout()
        field.setSpacing(8)
        field.addWidget(self.token, 1)
        field.addWidget(self.use)
        links = QWidget()
        flow = FlowLayout(links, gap_px=8, line_px=4)
        for one in (self.page, self.tokens, self.another, self.forget):
            flow.addWidget(one)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 12)
        column.setSpacing(6)
        for line in (self._title, self._steps, self._known):
            column.addWidget(line)
        column.addWidget(links)
        column.addLayout(field)

    @property
    def words(self) -> str:
        return f"{self._title.text()}. {self._steps.text()} {self._known.text()}".strip()

    def show_gate(self, gate: str, repo: str) -> None:
        """Show the steps for `repo`; `gate` is "", "auto" or "manual"."""
        if repo != self._repo:
            self._is_refused = self._wants_another = False
            self._say("", "accent")
        self._repo, self._gate = repo, gate
        if gate:
            self._show()
        self.setVisible(bool(gate))

    def show_refusal(self) -> None:
        """The Hub gave no access: what is left to do depends on whether it knows who asks."""
        self._is_refused = True
        self._show()

    def _show(self) -> None:
        user, has_token = self._state.user, bool(self._state.user or read_token())
        asks = not has_token or self._wants_another
        wait = _WAITING.get(self._gate, "")
        if has_token and self._is_refused:
            self._title.setText(f"{user or 'The token that is here'} has no access yet; the owner decides")
            self._steps.setText(
                f"Open its page and accept the conditions, or ask for access there.{wait} "
                "Then choose this model again."
            )
        elif has_token:
            self._title.setText("The owner asks for your consent")
            self._steps.setText(
                f"Open its page and accept the conditions, unless you have done so already.{wait} "
                "The token that is on this computer is used."
            )
        else:
            self._title.setText("The owner asks for your consent")
            self._steps.setText(
                "1. Open its page and accept the conditions. 2. Get a token of yours that may read. "
                f"3. Paste it here; it is kept in the file that the Hub’s own tools use.{wait}"
            )
        if user and not self._known.text():
            self._say(f"The Hub knows you as {user}.", "accent")
        for one in (self.token, self.use, self.tokens):
            one.setVisible(asks)
        self.another.setVisible(not asks)
        self.forget.setVisible(has_token)

    def _say(self, text: str, tone: str) -> None:
        self._known.setText(text)
        self._known.setVisible(bool(text))
        set_tone(self._known, tone)

    def _ask_for_another(self) -> None:
        self._wants_another = True
        self._show()
        self.token.setFocus()

    def _use(self) -> None:
        token = self.token.text().strip()
        if token:
            self.token.clear()
            self._say("Asking the Hub who you are…", "muted")
            self._state.set_token(token)

    def _on_checked(self, user: str) -> None:
        self._is_refused = self._wants_another = False
        self._say(f"The Hub knows you as {user}." if user else "", "accent")
        self._show()

    def _on_trouble(self, job: Job, trouble: Trouble) -> None:
        """Say here what is wrong with a token: this is where it was entered."""
        if job.task is Task.TOKEN:
            self._say(f"{trouble.sentence} {trouble.remedy}".strip(), "error")
