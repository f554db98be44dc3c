"""The `slipstream` command: opens the window, or runs a command without it.

Nothing of Qt is imported before it is clear that a window is wanted and can be shown.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping

_NO_DISPLAY = (
    "slipstream: there is no display to open the window on; "
    "use “slipstream compare”, “generate”, “devices” or “doctor” instead (see “slipstream --help”)."
)


def main() -> int:
    """Return the exit code of what the command line asks for."""
    # A frozen program starts itself again as the worker; this is where that copy turns off.
    multiprocessing.freeze_support()
    if len(sys.argv) > 1:
        from engine.cli.command import main as run_command

        return run_command(sys.argv[1:])
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
