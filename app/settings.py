"""What Slipstream remembers between two starts: one typed struct, one JSON file, written atomically.

The file holds what a person typed and chose, never a conversation. A file that cannot be read is moved aside
and replaced by the defaults; a folder that cannot be written costs the memory, not the work.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
import platformdirs

from app.tune.plan import TuneSettings
from engine.budget.budget import KvType
from engine.models.bundle import DrafterKind

FILE_NAME = "settings.json"


class RunSettings(msgspec.Struct, frozen=True):
    """What the options row holds. `draft_length` None: the controller decides before each pass. `seed` None: another
    one each time.
    """

    draft_length: int | None = msgspec.field(default=None, name="draft")
    temperature: float = 0.0
    max_tokens: int = 256
    seed: int | None = None


class Settings(msgspec.Struct, frozen=True):
    """`target` and `drafter_path` are files; `opened_files` those that were opened by hand, latest first.
    `n_ctx` is the context in tokens, 0: left to the model; `kv_type` how precisely the cache keeps it.
    `draft_lengths` are those of single bundles (app/draft_lengths.py); `run` has that of all others.
    """

    theme: str = "system"
    page: str = "compare"
    geometry: str = ""
    target: str = ""
    drafter_kind: DrafterKind = DrafterKind.NGRAM
    drafter_path: str = ""
    drafter_with_ngram: bool = False
    n_ctx: int = 0
    kv_type: KvType = KvType.F16
    opened_files: tuple[str, ...] = ()
    prompt: str = ""
    composer: str = ""
    run: RunSettings = RunSettings()
    tune: TuneSettings = TuneSettings()
    draft_lengths: dict[str, int | None] = {}
    chat_temperature: float = 0.7
    speculative: bool = True
    colour_tokens: bool = True


class _EarlierRun(msgspec.Struct, frozen=True):
    """Before a controller decided, there always was a length, untouched one of 3."""

    draft_length: int | None = None

    @property
    def was_chosen(self) -> bool:
        return self.draft_length not in (None, 3)


class _EarlierSettings(msgspec.Struct, frozen=True):
    run: _EarlierRun = _EarlierRun()


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The settings to start with, and a sentence where something was wrong with the file."""

    settings: Settings
    trouble: str = ""


def settings_path() -> Path:
    """Return where the settings file lies; SLIPSTREAM_CONFIG_DIR overrides the folder."""
    override = os.environ.get("SLIPSTREAM_CONFIG_DIR")
    folder = Path(override) if override else platformdirs.user_config_path("Slipstream", appauthor=False)
    return folder / FILE_NAME


def read_settings(path: Path) -> ReadSettings:
    """Return what `path` holds; the defaults where there is no file, or where it is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ReadSettings(Settings())
    except OSError as error:
        return ReadSettings(
            Settings(), f"Your settings could not be read ({_reason(error)}). Defaults are used."
        )
    try:
        settings = msgspec.json.decode(data, type=Settings)
        return ReadSettings(_with_earlier_choice(settings, msgspec.json.decode(data, type=_EarlierSettings)))
    except msgspec.DecodeError:
        return ReadSettings(Settings(), _put_aside(path))


def _with_earlier_choice(settings: Settings, earlier: _EarlierSettings) -> Settings:
    if not earlier.run.was_chosen:
        return settings
    run = msgspec.structs.replace(settings.run, draft_length=earlier.run.draft_length)
    return msgspec.structs.replace(settings, run=run)


def write_settings(path: Path, settings: Settings) -> str:
    """Write `settings` in one step; return "" or a sentence that says why it was not possible."""
    scratch = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(settings)))
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as error:
        _forget(scratch)
        return f"Your settings cannot be saved in {path.parent} ({_reason(error)}). Everything else works."
    except UnicodeEncodeError:
        # A file name that is not valid UTF-8 has half a character (a lone surrogate) in Python.
        _forget(scratch)
        return "Your settings cannot be saved: a file name or a text in them is not valid. Everything else works."
    return ""


def _put_aside(path: Path) -> str:
    aside = path.with_suffix(".damaged.json")
    try:
        path.replace(aside)
    except OSError:
        return "Your settings file is damaged. Defaults are used."
    return f"Your settings file was damaged. It was kept as {aside.name}, and defaults are used."


def _forget(scratch: Path) -> None:
    try:
        scratch.unlink(missing_ok=True)
    except OSError:
        return


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
