"""How many tokens the model can see at once: a button with the sizes that are offered."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QMenu

from app import words
from app.session import EngineSession
from app.widgets.parts import PickButton

N_CTX_CHOICES = (0, 2048, 4096, 8192, 16_384, 32_768)
_WIDTH_PX = 96


class ContextPicker(PickButton):
    """Shows and changes the session's context; what is loaded is loaded again with the next run."""

    def __init__(self, session: EngineSession) -> None:
        super().__init__("Context", self._fill_sizes)
        self._session = session
        self.setFixedWidth(_WIDTH_PX)
        session.n_ctx_changed.connect(self._show)
        self._show(session.n_ctx)

    def _show(self, n_ctx: int) -> None:
        self.set_chosen(context_words(n_ctx), words.CONTEXT_CHOICE)

    def _fill_sizes(self, menu: QMenu) -> None:
        for n_ctx in N_CTX_CHOICES:
            action = menu.addAction(context_words(n_ctx), partial(self._session.choose_n_ctx, n_ctx))
            action.setCheckable(True)
            action.setChecked(n_ctx == self._session.n_ctx)


def context_words(n_ctx: int) -> str:
    """Return what the list shows for a context of `n_ctx` tokens; 0 is left to the model."""
    return f"{n_ctx:,}" if n_ctx else "Auto"
