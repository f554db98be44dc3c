"""The states of the Models page: what take_screenshots renders, and where test_models_look looks for cut text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from app.window import Window
from engine.download.progress import DownloadState
from engine.models_events import ConnectionChanged
from engine.recommend.advice import ComputerSpeed
from tests.app.model_facts import BY_RANK, ENTRIES, HERE
from tests.app.scripted_models import ModelsScript, ScriptedModels, progress_of

STAY = ModelsScript()


@dataclass(frozen=True)
class ModelScene:
    name: str
    act: Callable[[Window, object], Iterator[int]]
    script: ModelsScript = field(default_factory=ModelsScript)


def models_of(window: Window) -> ScriptedModels:
    service = window.models.detail._state.service
    assert isinstance(service, ScriptedModels)
    return service


def full(window: Window, _service: object) -> Iterator[int]:
    window.show_page(2)
    yield 500


def every_byte(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    window.models.detail.memory.details.button.click()
    window.models.detail.choices.race.click()
    yield 300
    bar = window.models.detail.verticalScrollBar()
    bar.setValue(bar.maximum())
    yield 200


def installed(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    window.models.list.choose("gemma-4-e2b")
    yield 300


def downloading(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    models = models_of(window)
    bundles = [entry.bundle for entry in ENTRIES]
    models.show_download(progress_of(bundles[0], 0.42, DownloadState.RUNNING))
    models.show_download(progress_of(bundles[1], 0.13, DownloadState.STALLED))
    models.show_download(progress_of(bundles[6], 0.77, DownloadState.PAUSED))
    models.show_download(progress_of(bundles[7], 0.2, DownloadState.FAILED))
    window.models.list.choose("gemma-4-e4b")
    yield 400


def waiting(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    models = models_of(window)
    models.show_download(progress_of(ENTRIES[0].bundle, 0.42, DownloadState.PAUSED))
    models.show_download(progress_of(ENTRIES[7].bundle, 0.2, DownloadState.FAILED))
    window.models.list.choose("gemma-4-e4b")
    yield 400


def recount(window: Window, _service: object) -> Iterator[int]:
    """Numbers for a comparison are being worked out: those before stay."""
    yield from full(window, _service)
    models_of(window).script = ModelsScript(budget_s=60.0)
    window.models.detail.choices.race.click()
    yield 1400


def panel(window: Window, _service: object) -> Iterator[int]:
    yield from downloading(window, _service)
    window.rail.ring.click()
    window.downloads.rows["gemma-4-e4b"].files.button.click()
    yield 300


def speed_or_context(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    window.models.list.choose("gemma-4-12b")
    yield 300
    window.models.detail.memory.slider.slider.setValue(5)
    yield 300


def gated(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    window.models.list.choose("llama-3.3-70b")
    yield 300


def searching(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    window.models.search.edit.setText("qwen")
    yield 1200


def repository(window: Window, _service: object) -> Iterator[int]:
    yield from searching(window, _service)
    window.models.open_repo("unsloth/Qwen3.8-27B-GGUF")
    yield 500


def nothing_found(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    window.models.search.edit.setText("no such model")
    yield 900


def offline(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    models_of(window).tell(ConnectionChanged(False))
    window.models.search.edit.setText("gemma")
    yield 900


def measuring(window: Window, _service: object) -> Iterator[int]:
    yield from full(window, _service)
    window.models.measure.go.click()
    yield 900


UNMEASURED = tuple(
    msgspec.structs.replace(
        offer, advice=msgspec.structs.replace(offer.advice, plain=None, speculative=None, sentence="")
    )
    for offer in (*BY_RANK, HERE[0])
)
NEW = ModelsScript(offers=UNMEASURED, speed=ComputerSpeed())
MODEL_SCENES = (
    ModelScene("full", full),
    ModelScene("bytes", every_byte),
    ModelScene("installed", installed),
    ModelScene("empty", full, NEW),
    ModelScene("downloading", downloading),
    ModelScene("waiting", waiting),
    ModelScene("recount", recount),
    ModelScene("panel", panel),
    ModelScene("speed-or-context", speed_or_context),
    ModelScene("gated", gated),
    ModelScene("searching", searching),
    ModelScene("repository", repository),
    ModelScene("nothing-found", nothing_found),
    ModelScene("offline", offline, ModelsScript(online=False)),
    ModelScene("measuring", measuring, ModelsScript(measure_s=4.0)),
)
