"""`slipstream models show`: one bundle of the catalogue, or one repository of the Hub."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

import msgspec

from engine.cli.models.entries import find_entry
from engine.cli.models.hub import open_hub
from engine.cli.models.installed import show_installed
from engine.cli.models.table import count_text, print_table, size_text
from engine.cli.models.verb import add_verb
from engine.cli.terminal import printable, width, write_json
from engine.cli.wrapping import wrap
from engine.download.unfinished import list_everything
from engine.errors import BadOption, GatedRepository, NoSuchModel, TokenRefused
from engine.folders import headers_folder
from engine.hub.client import HubClient
from engine.hub.drafters import facts_reader, find_drafters, judge_drafters
from engine.hub.listing import DrafterOption, HubRepo
from engine.hub.pasted import parse_address
from engine.models.catalogue import CatalogueEntry, MeasuredSpeedup, load_catalogue
from engine.models.remote import RemoteFile
from engine.shelf.installed_model import InstalledModel
from engine.shelf.naming import find_installed

_MAX_WIDTH = 100
_COMMON_LABEL = "Q4_K_M"


def add_show(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream models show`."""
    parser = add_verb(verbs, "show", "show a bundle of the catalogue, or a repository of the Hub", show)
    parser.add_argument(
        "name", metavar="BUNDLE|REPO", help="a bundle's id, owner/name, or what is on this computer"
    )
    parser.add_argument(
        "--judge",
        metavar="QUANTISATION",
        nargs="?",
        const=_COMMON_LABEL,
        help="also look for drafters elsewhere, and say by their headers which fit (default: Q4_K_M)",
    )
    parser.add_argument("--readme", action="store_true", help="print the repository's own text too")


def show(given: argparse.Namespace) -> int:
    """Print one entry, one repository or one model of this computer."""
    entry = find_entry(given.name)
    if entry is not None:
        _show_entry(entry, given.json)
        return 0
    pasted = parse_address(given.name)
    name = pasted.repo if pasted is not None else given.name
    if "/" not in name:
        show_installed(_find_installed(name), given.json)
        return 0
    with contextlib.closing(open_hub()) as client:
        repo = client.open_repo(name)
        if given.judge is not None:
            repo = _judge(repo, given.judge, client)
        page_url = client.page_url(name)
        is_open = not repo.model.gate or client.has_access(name)
    if given.json:
        write_json(msgspec.json.encode(repo_facts(repo)).decode())
    else:
        _show_repo(repo, "" if is_open else page_url, with_readme=given.readme)
    return 0


def _find_installed(name: str) -> InstalledModel:
    """Return the model on this computer that `name` means; raises BadOption."""
    try:
        return find_installed(name, list_everything())
    except NoSuchModel as error:
        raise BadOption(
            f"There is no bundle “{name}” in the catalogue, and no model of that name on this computer.",
            remedy="`slipstream models recommend` lists the catalogue; a repository is written owner/name.",
        ) from error


def _judge(repo: HubRepo, label: str, client: HubClient) -> HubRepo:
    """Return `repo` with drafters from everywhere, judged for the quantisation `label`."""
    labels = {quantisation.label.upper(): quantisation for quantisation in repo.quantisations}
    if not labels:
        return repo
    chosen = labels.get(label.upper())
    if chosen is None:
        if label != _COMMON_LABEL:
            known = ", ".join(quantisation.label for quantisation in repo.quantisations)
            raise BadOption(f"There is no quantisation “{label}” here. There are: {known}.")
        chosen = repo.quantisations[0]
    whole = find_drafters(repo, client, load_catalogue())
    try:
        return judge_drafters(whole, chosen, facts_reader(headers_folder(), client))
    except (GatedRepository, TokenRefused) as error:
        print(f"slipstream: No drafter was judged. {error.sentence}", file=sys.stderr)
        return whole


def repo_facts(repo: HubRepo) -> dict[str, Any]:
    """Return what --json tells of a repository."""
    facts: dict[str, Any] = msgspec.to_builtins(repo)
    for told, choice in zip(facts["quantisations"], repo.quantisations, strict=True):
        told["size_bytes"] = choice.size_bytes
    for told, option in zip(facts["drafters"], repo.drafters, strict=True):
        told["size_bytes"] = option.size_bytes
    return facts


def _show_entry(entry: CatalogueEntry, as_json: bool) -> None:
    bundle = entry.bundle
    if as_json:
        facts = msgspec.to_builtins(entry)
        told = {"target_bytes": entry.target_bytes, "drafter_bytes": entry.drafter_bytes}
        write_json(msgspec.json.encode(facts | told).decode())
        return
    print(f"{bundle.name} ({bundle.id})")
    print(f"{entry.good_at}\n")
    _print_wrapped(entry.about)
    print(f"\n{count_text(entry.n_params)} parameters, {bundle.licence}, up to {bundle.n_ctx_train} tokens")
    draft = f"; others draft {bundle.draft_length} tokens at a time" if bundle.draft_length else ""
    print(f"drafter: {bundle.drafter_kind}{draft}\n")
    _print_files(bundle.target, "target", entry.rough_target_bytes)
    _print_files(bundle.drafter, "drafter", entry.rough_drafter_bytes)
    if not entry.is_verified:
        print("\nThe files' facts come from third parties: the Hub is asked before the first download.")
    if entry.speedups:
        print("\nmeasured by others:")
        print_table(("", "on", "told by"), [(_factor(s), s.hardware, s.source) for s in entry.speedups])


def _factor(speedup: MeasuredSpeedup) -> str:
    if speedup.low == speedup.high:
        return f"{speedup.low:g}×"
    return f"{speedup.low:g} to {speedup.high:g}×"


def _print_files(files: tuple[RemoteFile, ...], use: str, rough_bytes: int) -> None:
    for file in files:
        size = size_text(file.size_bytes) if file.size_bytes else size_text(rough_bytes, is_rough=True)
        print(printable(f"{use + ':':9}{size:>9}  {file.repo}/{file.path}"))


def _show_repo(repo: HubRepo, gate_url: str, *, with_readme: bool) -> None:
    """Print a repository; `gate_url` is where its terms are still to be accepted, "" if they need not be."""
    model = repo.model
    facts = [
        f"{count_text(model.n_params)} parameters" if model.n_params else "",
        model.architecture,
        f"up to {model.n_ctx_train} tokens" if model.n_ctx_train else "",
        repo.licence_name or model.licence or "no licence given",
    ]
    print(printable(f"{model.repo} at {repo.revision[:12]}"))
    print(printable(", ".join(fact for fact in facts if fact)))
    if gate_url:
        approval = " and wait for approval" if model.gate == "manual" else ""
        print(f"Accept the terms at {gate_url}{approval} before a download.")
    print()
    if repo.quantisations:
        rows = [(q.label, size_text(q.size_bytes), _files_text(q.files)) for q in repo.quantisations]
        print_table(("quantisation", "size", "file"), rows, right=(1,))
    else:
        print("There is no model in GGUF files here.")
    print()
    print_table(
        ("drafter", "size", "name", ""), [_drafter_row(option) for option in repo.drafters], right=(1,)
    )
    if with_readme and repo.readme:
        print()
        print(printable(repo.readme))


def _drafter_row(option: DrafterOption) -> tuple[str, str, str, str]:
    size = size_text(option.size_bytes) if option.files else ""
    return (option.kind, size, option.name, option.reason)


def _files_text(files: tuple[RemoteFile, ...]) -> str:
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0].path}{more}"


def _print_wrapped(text: str) -> None:
    for line in wrap(printable(text), min(width(), _MAX_WIDTH)):
        print(line)
