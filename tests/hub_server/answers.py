"""The Hub's JSON answers as pure functions of the repositories and the query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.hub_server.repository import Commit, Repository, StoredFile

Query = Mapping[str, Sequence[str]]
_DEFAULT_FIELDS = (
    *("_id", "id", "modelId", "likes", "trendingScore", "private", "downloads", "tags", "pipeline_tag"),
    *("library_name", "createdAt"),
)
_FULL_FIELDS = ("author", "gated", "lastModified", "sha", "siblings", "disabled")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Answer:
    """A status, headers and a body that becomes JSON (or is sent as it is if it is bytes)."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def error(status: int, code: str = "", message: str = "", **headers: str) -> Answer:
    told = {"X-Error-Code": code} if code else {}
    if message:
        told["X-Error-Message"] = message
    return Answer(status, {"error": message or code}, {**told, **headers})


def model_list(repositories: Iterable[Repository], query: Query, page_size: int, url: str) -> Answer:
    """Answer GET /api/models: filters, sort, expand, and paging by a Link header."""
    found = [repo.facts_of(repo.head) for repo in repositories if _matches(repo, query)]
    key = _one(query, "sort") or "trendingScore"
    # The Hub sorts downwards, and so that the same question gets the same order.
    found.sort(key=lambda facts: (facts.get(key) or 0, facts["id"]), reverse=True)
    limit = min(int(_one(query, "limit") or page_size), page_size)
    return _page([_chosen(facts, query) for facts in found], query, limit, url)


def model_info(repo: Repository, commit: Commit, query: Query) -> Answer:
    """Answer GET /api/models/{id}, with sizes and hashes if `blobs` is set."""
    facts = repo.facts_of(commit, blobs=_flag(query, "blobs"))
    return Answer(body=_chosen(facts, query) if query.get("expand") else facts)


def tree(commit: Commit, folder: str, query: Query, page_size: int, url: str) -> Answer:
    """Answer GET /api/models/{id}/tree/{revision}: files and folders, paged by cursor."""
    prefix = f"{folder}/" if folder else ""
    inside = [file for path, file in sorted(commit.files.items()) if path.startswith(prefix)]
    if folder and not inside:
        return error(404, "EntryNotFound", f"{folder} does not exist")
    entries: dict[str, dict[str, Any]] = {}
    for file in inside:
        parts = file.path.removeprefix(prefix).split("/")
        depth = len(parts) if _flag(query, "recursive") else 1
        for level in range(1, min(depth, len(parts) - 1) + 1):
            path = prefix + "/".join(parts[:level])
            entries[path] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": path}
        if depth == len(parts):
            entries[file.path] = _entry(file)
    return _page(list(entries.values()), query, int(_one(query, "limit") or page_size), url)


def paths_info(commit: Commit, paths: Sequence[str]) -> Answer:
    """Answer POST /api/models/{id}/paths-info/{revision}; paths that do not exist are left out."""
    return Answer(body=[_entry(commit.files[path]) for path in paths if path in commit.files])


def refs(repo: Repository) -> Answer:
    def told(names: Mapping[str, str], kind: str) -> list[dict[str, str]]:
        return [
            {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": sha} for name, sha in names.items()
        ]

    return Answer(
        body={"branches": told(repo.branches, "heads"), "converts": [], "tags": told(repo.tags, "tags")}
    )


def whoami(user: str) -> Answer:
    token = {"displayName": "test", "role": "read"}
    auth = {"type": "access_token", "accessToken": token}
    return Answer(body={"type": "user", "id": "1", "name": user, "fullname": user, "orgs": [], "auth": auth})


def _entry(file: StoredFile) -> dict[str, Any]:
    told: dict[str, Any] = {"type": "file", "oid": file.blob_id, "size": len(file.content), "path": file.path}
    if file.is_lfs:
        told["lfs"] = file.lfs("oid")
    return told


def _page(items: list[dict[str, Any]], query: Query, limit: int, url: str) -> Answer:
    start = int(_one(query, "cursor") or 0)
    headers = {}
    if start + limit < len(items):
        following = {**{key: list(values) for key, values in query.items()}, "cursor": [str(start + limit)]}
        headers["Link"] = f'<{url}?{urlencode(following, doseq=True)}>; rel="next"'
    return Answer(body=items[start : start + limit], headers=headers)


def _chosen(facts: dict[str, Any], query: Query) -> dict[str, Any]:
    expand = query.get("expand") or ()
    if expand:
        names = {"_id", "id", "modelId", *expand}
    else:
        names = {*_DEFAULT_FIELDS, *(_FULL_FIELDS if _flag(query, "full") else ())}
        names |= {"cardData"} if _flag(query, "cardData") else set()
    return {key: value for key, value in facts.items() if key in names}


def _matches(repo: Repository, query: Query) -> bool:
    facts = repo.facts_of(repo.head)
    words = (_one(query, "search") or "").lower().split()
    author = _one(query, "author")
    gated = _one(query, "gated")
    return (
        not repo.is_private
        and all(word in repo.id.lower() for word in words)
        and (not author or repo.author == author)
        and all(tag in facts["tags"] for tag in query.get("filter", ()))
        and (not query.get("apps") or "gguf" in facts["tags"])
        and (not gated or _flag(query, "gated") == bool(repo.gated))
        and (not _one(query, "pipeline_tag") or facts["pipeline_tag"] == _one(query, "pipeline_tag"))
        and _in_range(facts, _one(query, "num_parameters"))
    )


def _in_range(facts: dict[str, Any], bounds: str) -> bool:
    if not bounds:
        return True
    total = int((facts.get("gguf") or {}).get("total") or 0)
    for bound in bounds.split(","):
        match = re.fullmatch(r"(min|max):([0-9.]+)([KMBT]?)", bound)
        if match is None:
            return False
        limit = float(match[2]) * _UNITS[match[3]]
        if (match[1] == "min" and total < limit) or (match[1] == "max" and total > limit) or not total:
            return False
    return True


def _one(query: Query, key: str) -> str:
    return next(iter(query.get(key, ())), "")


def _flag(query: Query, key: str) -> bool:
    return _one(query, key).lower() in ("true", "1")
