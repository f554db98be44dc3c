"""How an attempt at a download ended, in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.download.partial import NO_ROOM, disk_full
from engine.download.progress import DownloadState
from engine.download.switch import Stopped
from engine.errors import DiskFull, DownloadBroken, SlipstreamError


def outcome_of(
    attempt: Callable[[], None], folder: Path
) -> tuple[DownloadState | None, SlipstreamError | None]:
    """Call `attempt`; return the state in which it leaves a download into `folder`, None if it was stopped, and why."""
    try:
        attempt()
    except Stopped:
        return None, None
    except DiskFull as error:
        return DownloadState.PAUSED, error
    except SlipstreamError as error:
        return DownloadState.FAILED, error
    except OSError as error:
        if error.errno in NO_ROOM:
            return DownloadState.PAUSED, disk_full(error)
        return DownloadState.FAILED, _unwritable(folder, error)
    except Exception as error:  # noqa: BLE001  a fault of ours must end as a sentence, not as a silent thread
        return DownloadState.FAILED, _unexpected(error)
    return DownloadState.DONE, None


def _unwritable(folder: Path, error: OSError) -> SlipstreamError:
    return DownloadBroken(
        f"The folder for models cannot be written to: {error.strerror or 'the system refuses it'}.",
        remedy=f"Check that {folder} exists and may be written to, then retry.",
        detail=f"{type(error).__name__}: {error}",
    )


def _unexpected(error: Exception) -> SlipstreamError:
    return DownloadBroken(
        "The download ended for a reason that Slipstream did not foresee.",
        remedy="Retry; what has arrived is kept. If it happens again, please report it with the details.",
        detail=f"{type(error).__name__}: {error}",
    )
