"""`slipstream models recommend`: what suits this computer, and how fast it is likely to be here."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence

import msgspec

from engine.cli.client import EngineClient
from engine.cli.devices import ask_devices
from engine.cli.models.table import size_text
from engine.cli.models.verb import add_verb
from engine.cli.progress import ProgressLine
from engine.cli.terminal import printable, width, write_json
from engine.cli.wrapping import wrap
from engine.models.catalogue import CatalogueEntry, load_catalogue
from engine.recommend.advice import Advice, ComputerSpeed, Fit
from engine.recommend.advise import Computer, recommend
from engine.recommend.store import OwnFigures, keep_speed, own_figures, read_speed
from engine.recommend.subjects import subject_of_entry
from engine.service import Service
from engine.shelf.installed_model import InstalledModel
from engine.shelf.shelf import list_shelf
from engine.worker.messages import DevicesMeasured, MeasureDevicesProgress

_FIT_WORDS = {
    Fit.FITS: "fits",
    Fit.TIGHT: "tight",
    Fit.PARTLY_ON_CPU: "partly on the processor",
    Fit.DOES_NOT_FIT: "does not fit",
    Fit.UNKNOWN: "size not known",
}
_MOST_SHOWN = 5
_MAX_WIDTH = 100


def add_recommend(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream models recommend`."""
    parser = add_verb(verbs, "recommend", "say which bundles suit this computer", recommend_models)
    parser.add_argument("--measure", action="store_true", help="measure this computer first; takes seconds")
    parser.add_argument("--all", action="store_true", help="show every bundle of the catalogue")


def recommend_models(given: argparse.Namespace) -> int:
    """Print the recommended bundles of the catalogue in their order, with --all the others too."""
    entries = load_catalogue()
    with EngineClient(Service()) as client:
        devices = ask_devices(client).devices
        speed = measure(client) if given.measure else read_speed()
    computer = Computer(devices, speed)
    installed = {model.remote_id: model for model in list_shelf() if model.remote_id}
    advice = recommend([subject_of_entry(entry) for entry in entries], computer, _figures(installed))
    if given.json:
        told = {"devices": devices, "speed": speed, "advice": advice, "installed": sorted(installed)}
        write_json(msgspec.json.encode(told).decode())
        return 0
    by_id = {entry.bundle.id: entry for entry in entries}
    shown = [one for one in advice if given.all or 0 < one.rank <= _MOST_SHOWN]
    for one in shown:
        _print(one, by_id[one.id], is_here=one.id in installed)
    _print_end(advice, shown, speed)
    return 0


def measure(client: EngineClient) -> ComputerSpeed:
    """Measure this computer, keep what was found and return it; raises SlipstreamError and Interrupted."""
    with ProgressLine() as line:
        for event in client.run(lambda service: service.measure_devices()):
            if isinstance(event, MeasureDevicesProgress):
                line.show(f"Measuring {event.what}: {event.fraction:.0%}")
            elif isinstance(event, DevicesMeasured):
                try:
                    keep_speed(event.speed)
                except OSError as error:
                    print(f"slipstream: what was measured cannot be kept: {error.strerror}.", file=sys.stderr)
                return event.speed
    client.raise_if_interrupted()
    raise AssertionError("measuring ends with DevicesMeasured or an error")


def _figures(installed: dict[str, InstalledModel]) -> dict[str, OwnFigures]:
    return {remote_id: own_figures(model.bundle) for remote_id, model in installed.items()}


def _print(advice: Advice, entry: CatalogueEntry, *, is_here: bool) -> None:
    n_bytes = entry.target_bytes + entry.drafter_bytes
    facts = [
        size_text(n_bytes, is_rough=not entry.is_size_exact),
        _FIT_WORDS[advice.fit],
        "on this computer" if is_here else "",
    ]
    number = f"{advice.rank}. " if advice.rank else ""
    print(
        printable(f"{number}{entry.bundle.name} ({advice.id}): {', '.join(fact for fact in facts if fact)}")
    )
    text = advice.sentence or advice.fit_sentence
    for line in wrap(printable(text), min(width(), _MAX_WIDTH) - 3):
        print(f"   {line}")


def _print_end(advice: Sequence[Advice], shown: Sequence[Advice], speed: ComputerSpeed) -> None:
    if not any(one.rank for one in advice):
        print("Nothing in the catalogue fits this computer with a usable context.")
    with contextlib.suppress(StopIteration):
        first = next(one for one in advice if one.rank == 1)
        print(f"\nGet the first one: slipstream models download {first.id}")
    if not speed.devices:
        print("How fast they are here is not known yet: slipstream models recommend --measure")
    if len(shown) < len(advice):
        print(f"{len(advice) - len(shown)} more are in the catalogue: slipstream models recommend --all")
