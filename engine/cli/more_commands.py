"""Commands that bring modules of their own: those are imported only when the command is typed.

What speaks to the Hub takes a third of a second to import, which `slipstream --version` should not cost.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

Commands = argparse._SubParsersAction  # the type has no public name

AddCommand = Callable[["Commands[argparse.ArgumentParser]"], None]
"""Adds a command's parser and sets its default `act`: what is done with the parsed namespace, to an exit code."""


@dataclass(frozen=True, slots=True)
class Command:
    """`summary` is what `slipstream --help` says before `add` has been called."""

    name: str
    summary: str
    add: AddCommand


def add_more(commands: Commands[argparse.ArgumentParser], argv: Sequence[str]) -> None:
    """Add every command, those that `argv` does not name by their summary only."""
    for command in MORE_COMMANDS:
        if command.name in argv:
            command.add(commands)
        else:
            commands.add_parser(command.name, help=command.summary, allow_abbrev=False)


def _add_models(commands: Commands[argparse.ArgumentParser]) -> None:
    from engine.cli.models.command import add_models

    add_models(commands)


def _add_budget(commands: Commands[argparse.ArgumentParser]) -> None:
    from engine.cli.budget import add_budget

    add_budget(commands)


def _add_inspect(commands: Commands[argparse.ArgumentParser]) -> None:
    from engine.cli.inspect import add_inspect

    add_inspect(commands)


def _add_bench(commands: Commands[argparse.ArgumentParser]) -> None:
    from engine.cli.bench import add_bench

    add_bench(commands)


MORE_COMMANDS: Final = (
    Command("bench", "measure what speculation gains here, over many kinds of text", _add_bench),
    Command("models", "find, download and keep models", _add_models),
    Command("budget", "say what a model takes in memory at each context", _add_budget),
    Command("inspect", "say what a model file is, here or on the Hub", _add_inspect),
)
