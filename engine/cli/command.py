"""`slipstream …`: from the arguments to an exit code. Nothing that goes wrong ends in a traceback."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import TypeGuard

from engine.cli.arguments import Arguments, parse_arguments
from engine.cli.client import Interrupted
from engine.cli.devices import print_devices
from engine.cli.doctor import examine
from engine.cli.run import run_lanes
from engine.errors import BadOption, SlipstreamError

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_SIGNAL_BASE = 128
EXIT_BROKEN_PIPE = 141

_OUTPUT_ERRORS = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EINVAL, errno.EBADF, errno.EDQUOT)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; the epilog of --help says what the codes mean."""
    _speak_utf8()
    # What is logged has been told in a sentence already; without a handler Python would print it once more.
    logging.getLogger("engine").addHandler(logging.NullHandler())
    verbose = "--verbose" in argv
    try:
        code = _dispatch(parse_arguments(argv))
        sys.stdout.flush()
    except BadOption as error:
        _complain(error, verbose)
        return EXIT_USAGE
    except SlipstreamError as error:
        _complain(error, verbose)
        return EXIT_FAILED
    except Interrupted as interrupted:
        print("slipstream: stopped before there was an answer.", file=sys.stderr)
        return EXIT_SIGNAL_BASE + interrupted.number
    except KeyboardInterrupt:
        return EXIT_SIGNAL_BASE + signal.SIGINT
    except BrokenPipeError:
        _give_up_output()
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - a mistake of ours is told like everything else
        if is_output_error(error):
            _give_up_output()
            _complain(SlipstreamError(f"The output could not be written: {error.strerror}."), verbose)
            return EXIT_FAILED
        detail = "".join(traceback.format_exception(error))
        remedy = "Run it again with --verbose and report what it prints."
        _complain(
            SlipstreamError(
                f"Something went wrong inside Slipstream ({error!r}).", remedy=remedy, detail=detail
            ),
            verbose,
        )
        return EXIT_FAILED
    return code


def _dispatch(arguments: Arguments) -> int:
    if arguments.act is not None:
        return arguments.act()
    if arguments.run is not None:
        return run_lanes(arguments.run, is_race=arguments.command == "compare")
    if arguments.command == "devices":
        return print_devices(arguments.as_json)
    return examine(verbose=arguments.verbose)


def _complain(error: SlipstreamError, verbose: bool) -> None:
    lines = [f"slipstream: {error.sentence}", error.remedy, error.detail if verbose else ""]
    print("\n".join(line for line in lines if line), file=sys.stderr)


def is_output_error(error: Exception) -> TypeGuard[OSError]:
    """Whether `error` says that a stream which is open already takes no more."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_ERRORS


def _speak_utf8() -> None:
    """Have no character of an answer fail on a terminal of another encoding."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _give_up_output() -> None:
    """Have Python not complain once more when it flushes standard output at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
