"""Loading a bundle for the command line."""

from __future__ import annotations

import sys

from engine.cli.arguments import RunOptions
from engine.cli.client import EngineClient
from engine.cli.terminal import is_terminal
from engine.models.bundle import Bundle
from engine.service import ServiceEvent, WorkerSilent
from engine.worker.messages import Loaded, LoadProgress, LogLine

_CLEAR_LINE = "\r\x1b[2K"


def load(client: EngineClient, bundle: Bundle, options: RunOptions) -> Loaded:
    """Load `bundle`, with progress on standard error where that is a terminal.

    Raises SlipstreamError if that fails and Interrupted if a signal ended it.
    """
    shows_progress = is_terminal(sys.stderr)
    try:
        for event in client.run(lambda service: service.load(bundle, options.load)):
            if isinstance(event, Loaded):
                return event
            if isinstance(event, LoadProgress) and shows_progress:
                sys.stderr.write(f"{_CLEAR_LINE}Loading the {event.what}: {event.fraction:.0%}")
                sys.stderr.flush()
            elif shows_progress and isinstance(event, (WorkerSilent, LogLine)):
                sys.stderr.write(_CLEAR_LINE)
            note(event, verbose=options.verbose)
    finally:
        if shows_progress:
            sys.stderr.write(_CLEAR_LINE)
    client.raise_if_interrupted()
    raise AssertionError("a load ends with Loaded or an error")


def note(event: ServiceEvent, *, verbose: bool) -> None:
    """Tell on standard error what `event` says about the worker, if it does."""
    if isinstance(event, WorkerSilent):
        print(f"slipstream: no answer for {event.silent_s:.0f} s; Ctrl-C ends it.", file=sys.stderr)
    elif isinstance(event, LogLine) and verbose:
        print(f"llama.cpp {event.level}: {event.text}", file=sys.stderr)
