"""The `slipstream` command: opens the window, or runs a command without it.

Nothing of Qt is imported before it is clear that a window is wanted and can be shown.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence

_EXIT_INTERRUPTED = 130
_NO_DISPLAY = (
    "slipstream: there is no display to open the window on; "
    "use “slipstream compare”, “generate”, “devices” or “doctor” instead (see “slipstream --help”)."
)


def main() -> int:
    """Return the exit code of what the command line asks for."""
    # A frozen program starts itself again as the worker; this is where that copy turns off.
    multiprocessing.freeze_support()
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED


def _run(argv: Sequence[str]) -> int:
    if argv:
        from engine.cli.command import main as run_command

        return run_command(argv)
    if not has_display(sys.platform, os.environ):
        print(_NO_DISPLAY, file=sys.stderr)
        return 1
    from app.main import run_app

    return run_app()


def has_display(platform: str, environment: Mapping[str, str]) -> bool:
    """Whether a window can appear: only on Linux and the like it may be that nothing shows one."""
    if platform in ("win32", "darwin", "cygwin"):
        return True
    if environment.get("QT_QPA_PLATFORM") or environment.get("WAYLAND_DISPLAY"):
        return True
    return bool(environment.get("DISPLAY")) and x_server_answers(environment["DISPLAY"])


def x_server_answers(display: str) -> bool:
    """Whether the X server of a local display takes connections; one elsewhere is believed without asking.

    Qt ends the whole process if it does not, as with the DISPLAY of a terminal that outlived its desktop.
    """
    local = re.fullmatch(r"(?:unix)?:(\d+)(?:\.\d+)?", display)
    if local is None:
        return True
    path = f"/tmp/.X11-unix/X{local[1]}"
    for address in (path, "\0" + path):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(2.0)
            probe.connect(address)
            return True
    return False


def _open_missing_streams() -> None:
    """Give closed standard streams (`>&-`, a program without a console) somewhere to go."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for the life of the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main())
