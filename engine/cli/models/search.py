"""`slipstream models search`: what there is on the Hub."""

from __future__ import annotations

import argparse
import contextlib
import re

import msgspec

from engine.cli.models.hub import open_hub
from engine.cli.models.table import count_text, print_table
from engine.cli.models.verb import add_verb
from engine.cli.terminal import write_json
from engine.errors import BadOption
from engine.hub.listing import HubModel, HubQuery, HubSort
from engine.hub.pasted import parse_address

_SORTS = {
    "trending": HubSort.TRENDING,
    "downloads": HubSort.DOWNLOADS,
    "likes": HubSort.LIKES,
    "newest": HubSort.NEWEST,
    "updated": HubSort.UPDATED,
}
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}
_MAX_PAGES = 10
_MAX_LIMIT = 1000


def add_search(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream models search`."""
    parser = add_verb(verbs, "search", "search the Hugging Face Hub for models", search)
    parser.add_argument("text", metavar="TEXT", nargs="?", default="", help="words of the name")
    parser.add_argument("--author", metavar="NAME", default="", help="only repositories of this user")
    parser.add_argument("--min-params", metavar="N", default="", help="at least so many parameters, like 4B")
    parser.add_argument("--max-params", metavar="N", default="", help="at most so many parameters, like 9B")
    parser.add_argument("--has-drafter", action="store_true", help="only what names a drafter")
    parser.add_argument("--sort", choices=tuple(_SORTS), default="trending", help="default: trending")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="default: 20")
    parser.add_argument("--cursor", metavar="TEXT", default="", help="go on where --json ended before")


def search(given: argparse.Namespace) -> int:
    """Print what the Hub finds; pages are fetched only as far as --limit needs them."""
    if not 1 <= given.limit <= _MAX_LIMIT:
        raise BadOption(f"--limit must be between 1 and {_MAX_LIMIT}.")
    pasted = parse_address(given.text)
    owner, _, name = pasted.repo.partition("/") if pasted is not None else ("", "", given.text)
    query = HubQuery(
        text=name,
        author=given.author or owner,
        min_params=_n_params(given.min_params, "--min-params"),
        max_params=_n_params(given.max_params, "--max-params"),
        sort=_SORTS[given.sort],
        has_drafter=given.has_drafter,
    )
    models, cursor = _find(query, given.cursor, given.limit)
    if given.json:
        write_json(msgspec.json.encode({"models": models, "cursor": cursor}).decode())
        return 0
    if not models:
        print("Nothing was found. Try fewer words, or look at huggingface.co/models?library=gguf.")
        return 0
    _print(models)
    return 0


def _find(query: HubQuery, cursor: str, limit: int) -> tuple[list[HubModel], str]:
    """Return at most `limit` models, and where to go on: the Hub's cursor, and "~N" where N of its page were told."""
    at, _, told = cursor.partition("~")
    n_told = int(told) if told.isdecimal() and len(told) < 6 else 0
    models: list[HubModel] = []
    with contextlib.closing(open_hub()) as client:
        for _page in range(_MAX_PAGES):
            page = client.search(query, at)
            left = limit - len(models)
            new = page.models[n_told:]
            models += new[:left]
            if len(new) > left:
                return models, f"{at}~{n_told + left}"
            at, n_told = page.cursor, 0
            if not at or len(models) == limit:
                break
    return models, at


def _print(models: list[HubModel]) -> None:
    rows = [
        (
            model.repo,
            count_text(model.n_params),
            count_text(model.n_ctx_train),
            count_text(model.downloads),
            model.licence,
            "terms to accept" if model.gate else "",
            _drafters_text(len(model.drafter_files)),
        )
        for model in models
    ]
    print_table(("repository", "size", "context", "downloads", "licence", "", ""), rows, right=(1, 2, 3))


def _drafters_text(n_files: int) -> str:
    if not n_files:
        return ""
    return f"{n_files} drafter files" if n_files > 1 else "1 drafter file"


def _n_params(text: str, option: str) -> int:
    """Return the number in "8B", "350M" or "1.5b"; 0 for none."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([KMB]?)", text.upper())
    if match is not None:
        return int(float(match[1]) * _UNITS[match[2]])
    if text:
        raise BadOption(f"{option} must be a number of parameters, like 8B or 350M.")
    return 0
