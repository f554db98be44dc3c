"""`slipstream models …`: its parser; each verb lives in a file of its own."""

from __future__ import annotations

import argparse

from engine.cli.models.download import add_download
from engine.cli.models.list import add_list
from engine.cli.models.recommend import add_recommend
from engine.cli.models.remove import add_remove
from engine.cli.models.search import add_search
from engine.cli.models.show import add_show
from engine.cli.models.verb import AddVerb
from engine.cli.models.verify import add_verify

VERBS: tuple[AddVerb, ...] = (
    add_list,
    add_recommend,
    add_search,
    add_show,
    add_download,
    add_remove,
    add_verify,
)


def add_models(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `models` and its verbs to the commands of `slipstream`."""
    summary = "find, download and keep models"
    parser = commands.add_parser("models", help=summary, description=summary, allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="verb")
    for add in VERBS:
        add(verbs)
