"""The Hub's token: kept where the Hub's own tools keep it, read anew for every request, never logged.

Not in a keyring: `hf auth login` and every other program that speaks to the Hub read this file, so one sign-in serves
all of them, and a keyring would be one more dependency that has no back end on many a Linux desktop.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from engine.errors import BadOption, TokenNotKept

_ENVIRONMENT = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
# What may stand in a header and in one line of a file; the Hub's own tokens are "hf_" and letters.
_TOKEN = re.compile(r"[!-~]{8,512}")


def token_path() -> Path:
    """Return where the Hub's tools keep the token: HF_TOKEN_PATH, or `token` in HF_HOME."""
    told = os.environ.get("HF_TOKEN_PATH")
    if told:
        return Path(os.path.expandvars(told)).expanduser()
    home = os.environ.get("HF_HOME")
    if not home:
        home = str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    return Path(os.path.expandvars(home)).expanduser() / "token"


def token_from_environment() -> str:
    """Return the token that HF_TOKEN holds, which wins over the file; "" if there is none."""
    return next((text for name in _ENVIRONMENT if (text := os.environ.get(name, "").strip())), "")


def read_token() -> str:
    """Return the token, "" if there is none or none that could be sent."""
    token = _written_token()
    return token if _TOKEN.fullmatch(token) else ""


def token_trouble() -> str:
    """Return a sentence where a token is set that cannot be one, "" for a good one or none."""
    token = _written_token()
    if not token or _TOKEN.fullmatch(token):
        return ""
    where = "the variable HF_TOKEN" if token_from_environment() else f"“{token_path()}”"
    return f"What {where} holds is no token of the Hugging Face Hub, so none is sent."


def _written_token() -> str:
    token = token_from_environment()
    if not token:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            token = token_path().read_text("utf-8").strip()
    return token


def checked_token(token: str) -> str:
    """Return `token` without white space around it, "" for none.

    Raises BadOption for text that cannot be a token, and while HF_TOKEN is set.
    """
    token = token.strip()
    if token_from_environment():
        raise BadOption(
            "The token comes from the variable HF_TOKEN, which wins over one that is entered here.",
            remedy="Change or remove HF_TOKEN, and start Slipstream again.",
        )
    if token and not _TOKEN.fullmatch(token):
        raise BadOption(
            "This does not look like a token of the Hugging Face Hub.",
            remedy="Copy the whole token from huggingface.co/settings/tokens: it begins with “hf_”.",
        )
    return token


def write_token(token: str) -> None:
    """Keep `token` for this and other programs, readable by this user only; "" removes it.

    Raises what checked_token raises, and TokenNotKept.
    """
    token = checked_token(token)
    path = token_path()
    try:
        if token:
            _write_private(path, token)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise TokenNotKept(
            "The token cannot be kept.",
            remedy=f"Check that “{path.parent}” can be written.",
            detail=str(error),
        ) from error


def _write_private(path: Path, token: str) -> None:
    """Write beside and rename, so that no moment has half a token or one that others may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(token)
        os.replace(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
