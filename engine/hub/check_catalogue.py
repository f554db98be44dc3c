"""`python -m engine.hub.check_catalogue [ID …] [--write FILE]`: does the Hub agree with the catalogue?

For those who maintain it, with a connection. Prints a line for each entry; the exit code is 1 if any does not agree.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from engine.errors import Offline, RateLimited, SlipstreamError
from engine.hub.client import HubClient
from engine.hub.resolve import resolve_bundle
from engine.models.catalogue import CatalogueEntry, load_catalogue
from engine.models.catalogue_text import catalogue_text


class Check(msgspec.Struct, frozen=True):
    """What became of one entry: as the Hub completes it, or unchanged where `error` says what is wrong."""

    entry: CatalogueEntry
    n_completed: int = 0
    error: SlipstreamError | None = None

    @property
    def line(self) -> str:
        name = f"{self.entry.bundle.id}:"
        if self.error is not None:
            return f"WRONG  {name} {self.error.sentence} {self.error.detail}"
        if not self.entry.is_verified:
            return f"PARTLY {name} this endpoint does not tell the sha256 of every file"
        added = f", {self.n_completed} files completed" if self.n_completed else ""
        return f"ok     {name} {self.entry.bundle.size_bytes} bytes{added}"


def check_entries(entries: Iterable[CatalogueEntry], client: HubClient) -> Iterator[Check]:
    """Check one entry after the other; raises Offline and RateLimited, which are no faults of an entry."""
    for entry in entries:
        try:
            bundle = resolve_bundle(entry.bundle, client)
        except (Offline, RateLimited):
            raise
        except SlipstreamError as error:
            yield Check(msgspec.structs.replace(entry, is_verified=False), error=error)
            continue
        n_completed = sum(was != now for was, now in zip(entry.bundle.files, bundle.files, strict=True))
        yield Check(_verified(entry, msgspec.structs.replace(entry, bundle=bundle)), n_completed)


def _verified(entry: CatalogueEntry, resolved: CatalogueEntry) -> CatalogueEntry:
    has_sizes = resolved.is_size_exact
    return msgspec.structs.replace(
        resolved,
        is_verified=all(file.is_pinned for file in resolved.bundle.files),
        rough_target_bytes=0 if has_sizes else entry.rough_target_bytes,
        rough_drafter_bytes=0 if has_sizes else entry.rough_drafter_bytes,
    )


def main(argv: Sequence[str]) -> int:
    """Check the entries that `argv` names, all without names."""
    parser = argparse.ArgumentParser(prog="python -m engine.hub.check_catalogue", description=__doc__)
    parser.add_argument("ids", metavar="ID", nargs="*", help="entries to check (default: all)")
    parser.add_argument(
        "--write", metavar="FILE", type=Path, help="write the catalogue as the Hub completes it"
    )
    given = parser.parse_args(argv)
    entries = load_catalogue()
    unknown = set(given.ids) - {entry.bundle.id for entry in entries}
    if unknown:
        parser.error(f"no such entry: {', '.join(sorted(unknown))}")
    checks: dict[str, Check] = {}
    try:
        with contextlib.closing(HubClient()) as client:
            wanted = [entry for entry in entries if not given.ids or entry.bundle.id in given.ids]
            for check in check_entries(wanted, client):
                checks[check.entry.bundle.id] = check
                print(check.line, flush=True)
    except SlipstreamError as error:
        print(f"{error.sentence} {error.remedy}", file=sys.stderr)
        return 1
    if given.write is not None:
        completed = [checks[e.bundle.id].entry if e.bundle.id in checks else e for e in entries]
        given.write.write_text(catalogue_text(completed), encoding="utf-8")
    return int(any(check.error is not None for check in checks.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
