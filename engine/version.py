"""Which Slipstream this is."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "slipstream-chat"


def slipstream_version() -> str:
    """Return the installed version, or that of the source tree that this file is in."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
