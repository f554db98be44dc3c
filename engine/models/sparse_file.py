"""Files that are as long as a model but hold its header alone, and take no more room than that."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from engine.errors import NoSparseFiles

_PROBE_BYTES: Final = 16 << 20
_ST_BLOCK_BYTES: Final = 512
_FSCTL_SET_SPARSE: Final = 0x000900C4


def can_have_holes(folder: Path) -> bool:
    """Whether a hole in a file of `folder` takes no room; exFAT and FAT fill it, tens of gigabytes perhaps."""
    if sys.platform == "win32":
        return True  # asked of each file there
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(_PROBE_BYTES)
        return os.fstat(file.fileno()).st_blocks * _ST_BLOCK_BYTES < _PROBE_BYTES // 2


def write_sparse(
    path: Path, beginning: bytes, length: int, can_have_holes: Callable[[Path], bool] = can_have_holes
) -> None:
    """Write a file of `length` bytes that begins with `beginning` and is a hole after it.

    It appears whole or not at all. Raises NoSparseFiles where the disk would really take `length` bytes, and OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if length > _PROBE_BYTES and not can_have_holes(path.parent):
        raise _no_holes(path.parent)
    handle, name = tempfile.mkstemp(prefix=".", suffix=".partial", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _mark_sparse(file, path)
            file.write(beginning)
            file.truncate(length)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mark_sparse(file: BinaryIO, path: Path) -> None:
    """On Windows a file must be told to have holes before it is made longer."""
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        returned = ctypes.c_ulong(0)
        done = ctypes.windll.kernel32.DeviceIoControl(
            ctypes.c_void_p(msvcrt.get_osfhandle(file.fileno())),
            _FSCTL_SET_SPARSE, None, 0, None, 0, ctypes.byref(returned), None,
        )  # fmt: skip
        if not done:
            raise _no_holes(path.parent)


def _no_holes(folder: Path) -> NoSparseFiles:
    return NoSparseFiles(
        "The disk with Slipstream's cache cannot keep a model's header without the model.",
        remedy="Formats such as exFAT cannot. Have the cache on the system's own disk, or download the model first.",
        detail=str(folder),
    )
