"""The bottom bar: loaded bundle, context, device and memory, truth light; each opens its detail."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app import fonts, words
from app.format import count, duration, file_size, memory_size
from app.models.memory import measured_words
from app.models.words import KV_WORDS
from app.session import ModelPhase, ModelState
from app.truth import truth_light, truth_words
from app.widgets.bundle_picker import drafter_words
from app.widgets.parts import Popover, TintedButton, button
from app.widgets.truth_dot import TruthDot
from engine.budget.budget import KvType
from engine.measure.metrics import Metrics
from engine.worker.messages import Loaded

HEIGHT_PX = 28
_DEVICE_FROM_PX = 840
_CONTEXT_FROM_PX = 700
_BUNDLE_SHARE = 0.35
_NOTHING = "Nothing loaded"
_NOTHING_DETAIL = "No model is loaded. It loads with the first run."


class StatusBar(QWidget):
    """One line of facts about what is loaded, quiet until asked."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "bar")
        self.setFixedHeight(HEIGHT_PX)
        self._is_loaded = False
        self._name = _NOTHING
        self._details: dict[TintedButton, tuple[str, str]] = {}
        self._bundle = self._part(
            "Nothing loaded", "Model", "No model is loaded. It loads with the first run."
        )
        self._context = self._part("", "Context", words.CONTEXT)
        self._device = self._part("", "Computer", "")
        self._dot = TruthDot()
        self._truth = self._part("", "Speculation", "")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 1, 8, 0)
        row.setSpacing(4)
        row.addWidget(self._bundle)
        row.addWidget(self._context)
        row.addWidget(self._device)
        row.addStretch()
        row.addWidget(self._dot)
        row.addWidget(self._truth)
        for hidden in (self._context, self._device, self._dot, self._truth):
            hidden.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self) -> None:
        """In a narrow window leave out what matters least, and shorten the bundle's name."""
        room_px = int(self.width() * _BUNDLE_SHARE)
        elided = self._bundle.fontMetrics().elidedText(self._name, Qt.TextElideMode.ElideRight, room_px)
        self._bundle.setText(elided)
        self._device.setVisible(self._is_loaded and self.width() >= _DEVICE_FROM_PX)
        self._context.setVisible(self._is_loaded and self.width() >= _CONTEXT_FROM_PX)

    def _part(self, text: str, title: str, detail: str) -> TintedButton:
        one = button(text, role="status")
        one.setFont(fonts.tabular(fonts.small()))
        one.clicked.connect(lambda: Popover.show_text(one, *self._details[one]))
        self._say(one, text, title, detail)
        return one

    def _say(self, one: TintedButton, text: str, title: str, detail: str) -> None:
        one.setText(text)
        one.setAccessibleName(f"{title}: {text}")
        one.setToolTip(title)
        self._details[one] = (title, detail)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return what the visible parts say."""
        parts = (self._bundle, self._context, self._device, self._truth)
        return tuple(part.text() for part in parts if not part.isHidden())

    @property
    def details(self) -> dict[str, str]:
        """Return what opens with a click, by its title."""
        return dict(self._details.values())

    def show_model(self, state: ModelState) -> None:
        """Show what is loaded, or that it is loading."""
        is_loaded = state.phase is ModelPhase.LOADED and state.loaded is not None
        self._is_loaded = is_loaded
        self._make_room()
        if state.loaded is not None and state.bundle is not None:
            name = f"{state.bundle.name} · {drafter_words(state.bundle.drafter)}"
            self._say_bundle(
                name, f"{model_detail(state.loaded)}\n{precision_detail(state.settings.kv_type)}"
            )
            self._say(self._device, device_words(state.loaded), "Computer", device_detail(state.loaded))
            self.show_context(0, state.loaded.n_ctx)
        elif state.phase is ModelPhase.LOADING and state.bundle is not None:
            self._say_bundle(f"Loading {state.bundle.name}", "The model is being loaded.")
        else:
            self._say(
                self._bundle, "Nothing loaded", "Model", "No model is loaded. It loads with the first run."
            )

    def _say_bundle(self, text: str, detail: str) -> None:
        self._name = text
        self._say(self._bundle, text, "Model", detail)
        self._make_room()

    def show_context(self, n_used: int, n_ctx: int) -> None:
        text = f"{n_used:,} of {n_ctx:,} tokens"
        self._say(self._context, text, "Context", words.CONTEXT)

    def hide_truth(self) -> None:
        """Forget what speculation did: it was another model's answer, or a process that is gone."""
        self._dot.hide()
        self._truth.hide()

    def show_truth(self, metrics: Metrics, *, speculative: bool, decided: str = "") -> None:
        """Show what speculation did; `decided` is a sentence about how far was drafted, and why not at all."""
        said = truth_words(metrics, speculative=speculative)
        self._dot.show_light(truth_light(metrics, speculative=speculative), said)
        lines = [line for line in (f"{said}.", decided, words.ACCEPTANCE) if line]
        self._say(self._truth, said, "Speculation", "\n\n".join(lines))
        self._dot.show()
        self._truth.show()


def device_words(loaded: Loaded) -> str:
    """Return the device that holds most of the model, and what the model takes in all."""
    total = sum(loaded.memory_bytes.values())
    main = max(loaded.memory_bytes, key=lambda name: loaded.memory_bytes[name], default="CPU")
    return f"{main} · {memory_size(total)}"


def device_detail(loaded: Loaded) -> str:
    lines = [
        f"{device.name}: {device.description}, {memory_size(device.memory_free_bytes)} free "
        f"of {memory_size(device.memory_total_bytes)}"
        for device in loaded.devices
    ]
    lines += [f"Slipstream uses {line}" for line in measured_words(loaded).splitlines()]
    lines.append(f"{loaded.n_threads} threads, flash attention {'on' if loaded.flash_attention else 'off'}")
    return "\n".join(lines)


def precision_detail(kv_type: KvType) -> str:
    return f"Cache precision: {KV_WORDS[kv_type].lower()} ({kv_type})"


def model_detail(loaded: Loaded) -> str:
    target = loaded.target
    lines = [
        target.path,
        f"{target.name}, {target.architecture}, {target.n_params / 1e6:,.0f} million weights, "
        f"{file_size(target.file_bytes)}",
        f"{target.n_layers_offloaded} of {count(target.n_layers, 'layer')} on the GPU, loaded in "
        f"{duration(loaded.load_s)}",
    ]
    if loaded.drafter is not None:
        lines.append(f"Drafter: {loaded.drafter.path}, {file_size(loaded.drafter.file_bytes)}")
    return "\n".join(lines)
