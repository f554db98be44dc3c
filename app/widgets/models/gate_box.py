"""What to do where an owner asks for consent first: three steps, and a field for the token."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app import fonts
from app.models.state import ModelsState
from app.widgets.flow import FlowLayout
from app.widgets.parts import button, label

_HUB = "https://huggingface.co"
_WAITING = {"manual": " The owner answers by hand; that can take days."}


class GateBox(QFrame):
    """Shown for repositories that ask for consent. The token is handed on and not kept here."""

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
        self.token.setMinimumWidth(120)
        self.use = button("Use this token")
        self.forget = button("Forget the token", role="quiet")
        self._known = label(tone="accent", wraps=True)
        self.page.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(f"{_HUB}/{self._repo}")))
        self.tokens.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(f"{_HUB}/settings/tokens")))
        self.use.clicked.connect(self._use)
        self.token.returnPressed.connect(self._use)
        self.forget.clicked.connect(lambda: state.set_token(""))
        state.token_checked.connect(self._on_checked)
        self._lay_out()
        self._on_checked(state.user)
        self.hide()

    def _lay_out(self) -> None:
        field = QHBoxLayout()
        field.setSpacing(8)
        field.addWidget(self.token, 1)
        field.addWidget(self.use)
        links = QWidget()
        flow = FlowLayout(links, gap_px=8, line_px=4)
        for one in (self.page, self.tokens, self.forget):
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
        return f"{self._steps.text()} {self._known.text()}".strip()

    def show_gate(self, gate: str, repo: str) -> None:
        """Show the steps for `repo`; `gate` is "", "auto" or "manual"."""
        self._repo = repo
        self._steps.setText(
            "1. Open its page and accept the conditions. 2. Get a token of yours that may read. "
            f"3. Paste it here; it is kept in this computer’s keychain.{_WAITING.get(gate, '')}"
        )
        self.setVisible(bool(gate))

    def _use(self) -> None:
        token = self.token.text().strip()
        if token:
            self.token.clear()
            self._known.setText("Asking the Hub who you are…")
            self._known.show()
            self._state.set_token(token)

    def _on_checked(self, user: str) -> None:
        self._known.setText(f"The Hub knows you as {user}." if user else "")
        self._known.setVisible(bool(user))
        self.forget.setVisible(bool(user))
        self.token.setVisible(not user)
        self.use.setVisible(not user)
        self.tokens.setVisible(not user)
