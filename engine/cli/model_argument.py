"""A model named on the command line: a file on this computer, or one on the Hub."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from engine.errors import BadOption, Offline, RepositoryNotFound
from engine.folders import headers_folder
from engine.hub.pasted import parse_address
from engine.hub.remote_header import fetch_header
from engine.hub.token import read_token
from engine.models.remote import RemoteFile
from engine.shelf.walk import is_encodable

_ON_THE_HUB = re.compile(
    r"(?P<repo>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[\w.-]+))?/(?P<path>.+\.gguf)", re.IGNORECASE
)


def parse_remote(text: str) -> RemoteFile | None:
    """Return the file that "owner/name/path.gguf", "owner/name@revision/path.gguf" or its address names on the Hub.

    None if `text` has another shape, is the path of a file that is here, or begins with a folder that is: a mistyped
    path is nobody else's business.
    """
    pasted = parse_address(text)
    if pasted is not None and pasted.path.lower().endswith(".gguf"):
        return RemoteFile(pasted.repo, pasted.path, pasted.revision)
    match = _ON_THE_HUB.fullmatch(text)
    if match is None or Path(text).exists() or _begins_here(text):
        return None
    if any(
        part in ("", ".", "..") for part in (*match["repo"].split("/"), *PurePosixPath(match["path"]).parts)
    ):
        return None
    return RemoteFile(match["repo"], match["path"], match["revision"] or "main")


def find_header(text: str) -> Path:
    """Return a file with the header of the model that `text` names; of one on the Hub it is fetched.

    Raises BadOption, and what fetch_header raises.
    """
    if not text:
        raise BadOption("Name a GGUF file, or one on the Hub as owner/name/file.gguf.")
    if not is_encodable(text):
        raise BadOption(
            "The file's name is not valid Unicode, so it cannot be opened here.", remedy="Rename it."
        )
    remote = parse_remote(text)
    if remote is None:
        return Path(text)
    try:
        return fetch_header(remote, headers_folder(), token=read_token())
    except (RepositoryNotFound, Offline) as error:
        remedy = f"Nor can it be had from the Hub: {error.sentence} {error.remedy}"
        sentence = f"There is no file “{text}” on this computer."
        raise type(error)(sentence, remedy=remedy, detail=error.detail) from error


def _begins_here(path: str) -> bool:
    return Path(PurePosixPath(path).parts[0]).is_dir()
