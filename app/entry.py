"""The `slipstream` command: opens the window, or runs a command without it.

Nothing of Qt is imported before it is clear that a window is wanted and can be shown.
"""

from __future__ import annotations

import multiprocessing
import os
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
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


if __name__ == "__main__":
    sys.exit(main())
