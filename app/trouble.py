"""What went wrong, in the shape that a notice shows: a sentence, what to do, the detail for the log."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import SlipstreamError
from engine.models_events import ModelsFailed
from engine.service import WorkerLost
from engine.worker.messages import Failed

_LOST = "WorkerDied"
_CANCELLED = "Cancelled"
_GONE = "FileGone"
_OFFLINE = "Offline"
_GATED = "GatedRepository"
_TOO_LARGE = "ContextTooLarge"
_ABOUT_DRAFTER = ("PairUnfit", "DrafterCannotRun", "VocabularyMismatch")
_LOAD_FAILED = "LoadFailed"
# What memory the engine foresees has no kind of its own: engine/budget/refusal.py and engine/llama/context_settings.py.
_NEEDS_MORE = "This model needs "
_BEYOND_MODEL = "This model looks back at most "


@dataclass(frozen=True, slots=True)
class Trouble:
    """`kind` is the error's class name (engine.errors)."""

    sentence: str
    remedy: str = ""
    detail: str = ""
    kind: str = ""

    @property
    def is_worker_lost(self) -> bool:
        return self.kind == _LOST

    @property
    def is_cancel(self) -> bool:
        return self.kind == _CANCELLED

    @property
    def is_gone(self) -> bool:
        """Whether a file is not there any more."""
        return self.kind == _GONE

    @property
    def is_about_drafter(self) -> bool:
        """Whether another drafter would help."""
        return self.kind in _ABOUT_DRAFTER

    @property
    def is_offline(self) -> bool:
        return self.kind == _OFFLINE

    @property
    def is_gate(self) -> bool:
        """Whether the owner's consent is missing."""
        return self.kind == _GATED

    @property
    def is_about_memory(self) -> bool:
        """Whether "Load anyway" may help: memory was found too small by a forecast, not by trying."""
        if self.kind == _TOO_LARGE:
            return not self.sentence.startswith(_BEYOND_MODEL)
        return self.kind == _LOAD_FAILED and self.sentence.startswith(_NEEDS_MORE)


def trouble_of(source: Failed | ModelsFailed | WorkerLost | SlipstreamError) -> Trouble:
    """Return what `source` says to the person."""
    kind = _LOST if isinstance(source, WorkerLost) else source.kind
    return Trouble(source.sentence, source.remedy, source.detail, kind)


NOTHING_CHOSEN = Trouble("No model is chosen yet.", "Choose one, or drop a model file on the window.")
MEASURING = Trouble(
    "The Tune page is measuring: a run beside it would falsify its figures, and wait for its turn.",
    "Wait until it has ended, or stop it.",
)
