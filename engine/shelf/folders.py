"""The folders in which a person keeps models of their own: added once, looked into every time."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from engine.errors import FileGone, SlipstreamError
from engine.folders import data_folder
from engine.json_file import read_json, write_json

FILE_NAME = "model-folders.json"


class _Folders(msgspec.Struct, frozen=True):
    folders: tuple[str, ...] = ()


def read_folders(path: Path | None = None) -> tuple[str, ...]:
    """Return the folders in the order in which they were added; `path` overrides where they are written down."""
    return read_json(path or data_folder() / FILE_NAME, _Folders, _Folders()).folders


def add_folder(folder: str, path: Path | None = None) -> tuple[str, ...]:
    """Remember `folder` and return all of them; one that is there already stays where it is.

    Raises FileGone where there is no such folder, SlipstreamError where it cannot be remembered.
    """
    absolute = os.path.abspath(os.path.expanduser(folder))
    if not os.path.isdir(absolute):
        raise FileGone(f"There is no folder “{folder}”.", remedy="Choose another one.")
    known = read_folders(path)
    if _key(absolute) in map(_key, known):
        return known
    return _write((*known, absolute), path)


def remove_folder(folder: str, path: Path | None = None) -> tuple[str, ...]:
    """Forget `folder` and return those that are left; its files are not touched.

    Raises SlipstreamError where it cannot be written down.
    """
    known = read_folders(path)
    left = tuple(other for other in known if _key(other) != _key(os.path.abspath(os.path.expanduser(folder))))
    return known if left == known else _write(left, path)


def _write(folders: tuple[str, ...], path: Path | None) -> tuple[str, ...]:
    place = path or data_folder() / FILE_NAME
    try:
        write_json(place, _Folders(folders))
    except OSError as error:
        raise SlipstreamError(
            "The list of your model folders cannot be saved.",
            remedy="Free space on the disk, or check the permissions of its folder.",
            detail=f"{place}: {error}",
        ) from error
    return folders


def _key(folder: str) -> str:
    return os.path.normcase(os.path.realpath(folder))
