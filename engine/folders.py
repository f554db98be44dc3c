"""Where Slipstream keeps what is its own: data that matters, and caches that can be made again."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

DATA_FOLDER_VARIABLE = "SLIPSTREAM_DATA_DIR"
CACHE_FOLDER_VARIABLE = "SLIPSTREAM_CACHE_DIR"
MODELS_FOLDER_VARIABLE = "SLIPSTREAM_MODELS_DIR"


def data_folder() -> Path:
    """Return the folder for data; SLIPSTREAM_DATA_DIR in the environment overrides it. It may not exist."""
    override = os.environ.get(DATA_FOLDER_VARIABLE)
    return Path(override) if override else platformdirs.user_data_path("Slipstream", appauthor=False)


def cache_folder() -> Path:
    """Return the folder for caches; SLIPSTREAM_CACHE_DIR in the environment overrides it. It may not exist."""
    override = os.environ.get(CACHE_FOLDER_VARIABLE)
    return Path(override) if override else platformdirs.user_cache_path("Slipstream", appauthor=False)


def models_folder() -> Path:
    """Return the folder for models; SLIPSTREAM_MODELS_DIR in the environment overrides it. It may not exist."""
    override = os.environ.get(MODELS_FOLDER_VARIABLE)
    return Path(override) if override else data_folder() / "models"


def headers_folder() -> Path:
    """Return the folder for the headers of models that are not here (engine.hub.remote_header). It may not exist."""
    return cache_folder() / "headers"
