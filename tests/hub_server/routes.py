"""Which answer belongs to which address, and who may have it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from tests.hub_server import answers
from tests.hub_server.answers import Answer, Query, error
from tests.hub_server.repository import Commit, Repository

if TYPE_CHECKING:
    from tests.hub_server.server import HubServer

_MODEL = re.compile(
    r"/api/models/([^/]+/[^/]+?)(?:/(revision|tree|paths-info|refs|auth-check)(?:/([^/]+))?(?:/(.+))?)?$"
)
_RESOLVE = re.compile(r"/([^/]+/[^/]+)/(?:resolve|raw)/([^/]+)/(.+)$")


def answer_api(hub: HubServer, path: str, query: Query, form: Query, user: str) -> Answer:
    """Answer everything under /api/; `path` is still quoted, as a revision may hold slashes."""
    if path == "/api/whoami-v2":
        return answers.whoami(user) if user else error(401, message="Invalid username or password.")
    if path == "/api/models":
        everything = hub.repositories.values()
        return answers.model_list(everything, query, hub.page_size, f"{hub.endpoint}/api/models")
    match = _MODEL.fullmatch(path)
    if match is None:
        return error(404, message="Not Found")
    repo_id, action, revision, tail = unquote(match[1]), match[2], unquote(match[3] or "main"), match[4]
    repo = hub.repositories.get(repo_id)
    if repo is None or not repo.may_see(user):
        return _no_repo(user)
    if action == "auth-check":
        return Answer(body={}) if repo.may_load(user) else _gated(repo, user)
    if action == "refs":
        return answers.refs(repo)
    commit = repo.at(revision)
    if commit is None:
        return _no_revision(revision)
    if action == "tree":
        folder = unquote(tail or "")
        return answers.tree(commit, folder, query, hub.page_size, hub.endpoint + path)
    if action == "paths-info":
        return answers.paths_info(commit, form.get("paths", ()))
    return answers.model_info(repo, commit, query)


def answer_resolve(hub: HubServer, path: str, user: str) -> Answer:
    """Answer /owner/name/resolve/revision/path: a redirect, to storage for LFS and to the Hub's cache else."""
    match = _RESOLVE.fullmatch(path)
    if match is None:
        return error(404, message="Not Found")
    repo_id, revision, file_path = unquote(match[1]), unquote(match[2]), unquote(match[3])
    repo = hub.repositories.get(repo_id)
    if repo is None or not repo.may_see(user):
        return _no_repo(user)
    commit = repo.at(revision)
    if commit is None:
        return _no_revision(revision)
    if not repo.may_load(user):
        return _gated(repo, user)
    return _redirect(hub, repo, commit, file_path)


def _redirect(hub: HubServer, repo: Repository, commit: Commit, path: str) -> Answer:
    file = commit.files.get(path)
    told: Mapping[str, str] = {"X-Repo-Commit": commit.sha}
    if file is None:
        return error(404, "EntryNotFound", "Entry not found", **told)
    where = f"/{repo.id}/{commit.sha}/{quote(path)}"
    if not file.is_lfs:
        location = f"/api/resolve-cache/models{where}"
        return Answer(307, b"", {**told, "ETag": f'"{file.etag}"', "Location": location})
    linked = {"X-Linked-ETag": f'"{file.etag}"', "X-Linked-Size": str(len(file.content))}
    location = f"{hub.storage}{where}?Signature=signed&Expires=1"
    return Answer(302, b"", {**told, **linked, "ETag": f'"{file.blob_id}"', "Location": location})


def _no_repo(user: str) -> Answer:
    """Answer as the Hub does: who is not known does not learn whether a private repository exists."""
    if not user:
        return error(401, "RepoNotFound", "Invalid username or password.")
    return error(404, "RepoNotFound", "Repository not found")


def _no_revision(revision: str) -> Answer:
    return error(404, "RevisionNotFound", f"Invalid rev id: {revision}")


def _gated(repo: Repository, user: str) -> Answer:
    message = f"Access to model {repo.id} is restricted and you are not in the authorized list."
    return error(403 if user else 401, "GatedRepo", message)
