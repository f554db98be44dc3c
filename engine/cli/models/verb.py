"""What every verb of `slipstream models` has."""

from __future__ import annotations

import argparse
from collections.abc import Callable

AddVerb = Callable[["argparse._SubParsersAction[argparse.ArgumentParser]"], None]
"""Adds a verb's parser and sets its default `act`: what is done with the parsed namespace, to an exit code."""


def add_verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    act: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add the verb `name` with the options that all of them have, and return its parser."""
    parser = verbs.add_parser(name, help=summary, description=summary, allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--verbose", action="store_true", help="also print the details of an error")
    parser.set_defaults(act=act)
    return parser
