"""Room on the disk for everything that is still to come."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from engine.errors import DiskFull

SPARE_BYTES = 256 << 20
"""Left to the rest of the system: a disk that is full to the last byte breaks more than a download."""


def free_bytes(folder: Path) -> int:
    """Return what is free on the volume that `folder` is on, or will be on; it may not exist yet."""
    for place in (folder, *folder.absolute().parents):
        if place.is_dir():
            return shutil.disk_usage(place).free
    return 0


def require_writable(folder: Path) -> None:
    """Make `folder` if it is not there. Raise OSError where it cannot be, or may not be written to."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def check_room(folder: Path, to_come_bytes: int, free: int) -> None:
    """Check that `to_come_bytes`, over all running downloads, fit beside the spare. Raise DiskFull."""
    short_bytes = to_come_bytes + SPARE_BYTES - free
    if to_come_bytes and short_bytes > 0:
        raise DiskFull(
            f"There is not enough room on the disk: {gigabytes(to_come_bytes)} are still to come and "
            f"{gigabytes(free)} are free, of which {gigabytes(SPARE_BYTES)} are kept for the rest of the computer.",
            remedy=f"Free {gigabytes(short_bytes)} or remove a model, then resume.",
            detail=f"{folder}: {free} bytes free, {to_come_bytes} to come, {SPARE_BYTES} spare",
        )


def gigabytes(n_bytes: int) -> str:
    """Return decimal gigabytes, as the Hub and disks are labelled."""
    if n_bytes < 10**9:
        return f"{max(n_bytes, 0) / 10**6:.0f} MB"
    return f"{n_bytes / 10**9:.1f} GB"
