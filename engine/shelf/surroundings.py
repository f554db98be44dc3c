"""The person's home and environment, which say where other programs keep their models."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`system` is what platform.system() says: "Windows", "Darwin" or "Linux"."""

    home: Path
    environ: Mapping[str, str]
    system: str

    def expand(self, path: str) -> Path:
        """Return `path` with the home for a leading `~`; a relative path starts at the home."""
        if path == "~" or path.startswith(("~/", "~\\")):
            return self.home / path[2:]
        return self.home / path

    def program_data(self) -> tuple[Path, ...]:
        """Return the folders in which desktop programs keep their data here."""
        match self.system:
            case "Windows":
                roaming = self.environ.get("APPDATA")
                return (Path(roaming) if roaming else self.home / "AppData" / "Roaming",)
            case "Darwin":
                return (self.home / "Library" / "Application Support",)
            case _:
                data = self.environ.get("XDG_DATA_HOME") or "~/.local/share"
                config = self.environ.get("XDG_CONFIG_HOME") or "~/.config"
                return (self.expand(data), self.expand(config))


def here() -> Surroundings:
    """Return those of this process."""
    return Surroundings(Path.home(), os.environ, platform.system())
