"""Pinning a bundle: the Hub is asked what its files are now, and what was stated must agree with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from engine.errors import ChangedOnHub, NotInRepository
from engine.hub.client import HubClient
from engine.hub.connection import IsCancelled, check, never_cancelled
from engine.hub.listing import HubModel
from engine.models.remote import RemoteBundle, RemoteFile


def resolve_bundle(
    bundle: RemoteBundle, client: HubClient, is_cancelled: IsCancelled = never_cancelled
) -> RemoteBundle:
    """Return `bundle` with revision, size and sha256 of every file as the Hub tells them.

    A revision by name becomes the commit that it names now. Two requests for each repository. Raises ChangedOnHub
    where a file is gone, or where its stated size or sha256 is another than the Hub's, and what HubClient raises.
    A mirror that tells no sha256 leaves what was stated.
    """
    by_place: defaultdict[tuple[str, str], list[RemoteFile]] = defaultdict(list)
    for file in bundle.files:
        by_place[file.repo, file.revision].append(file)
    resolved: dict[RemoteFile, RemoteFile] = {}
    models: list[HubModel] = []
    for (repo, revision), files in by_place.items():
        check(is_cancelled)
        commit, model = _head_of(repo, revision, client)
        models.append(model)
        check(is_cancelled)
        resolved |= _resolve_files(files, commit or revision, client)
    return msgspec.structs.replace(
        bundle,
        target=tuple(resolved[file] for file in bundle.target),
        drafter=tuple(resolved[file] for file in bundle.drafter),
        is_gated=any(model.gate for model in models),
        licence=bundle.licence or models[0].licence,
        n_ctx_train=bundle.n_ctx_train or models[0].n_ctx_train,
    )


def _head_of(repo: str, revision: str, client: HubClient) -> tuple[str, HubModel]:
    """Return the commit of `revision`; one that is gone was rewritten by the repository's author."""
    try:
        return client.head_of(repo, revision)
    except NotInRepository as error:
        raise ChangedOnHub(
            f"“{repo}” was published anew: the version that was checked is not there any more.",
            remedy="Open the repository's page and choose from what is there now, or look for a newer Slipstream.",
            detail=error.detail,
        ) from error


def _resolve_files(
    files: Sequence[RemoteFile], commit: str, client: HubClient
) -> dict[RemoteFile, RemoteFile]:
    repo = files[0].repo
    told = client.file_facts(repo, [file.path for file in files], commit)
    return {file: _resolve_file(file, told.get(file.path), commit) for file in files}


def _resolve_file(file: RemoteFile, told: RemoteFile | None, commit: str) -> RemoteFile:
    if told is None:
        raise ChangedOnHub(
            f"“{file.name}” is not in “{file.repo}” any more.",
            remedy="Open the repository's page and choose from what is there now, or look for a newer Slipstream.",
            detail=f"{file.path} at {commit}",
        )
    for what, stated, found in (
        ("size", file.size_bytes, told.size_bytes),
        ("sha256", file.sha256, told.sha256),
    ):
        if stated and found and stated != found:
            raise ChangedOnHub(
                f"“{file.name}” on the Hub is not the file that was checked.",
                remedy="It is not downloaded, as nobody knows what changed. Look for a newer Slipstream, or choose "
                f"a file on the page of “{file.repo}” yourself.",
                detail=f"{file.path} at {commit}: {what} {found}, expected {stated}",
            )
    return RemoteFile(
        file.repo, file.path, commit, told.size_bytes or file.size_bytes, told.sha256 or file.sha256
    )
