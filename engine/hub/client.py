"""Asking the Hub: search, a repository's page, files' facts, and whom a token belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

import httpx2

from engine.errors import BadOption, Cancelled, Offline, RateLimited, SlipstreamError
from engine.hub import answers
from engine.hub.connection import (
    DEFAULT_TIMEOUTS,
    Connection,
    IsCancelled,
    OnContact,
    Params,
    RawAnswer,
    Timeouts,
    check,
    decode,
    decode_list,
    never_cancelled,
    nobody_hears,
)
from engine.hub.failures import token_refused
from engine.hub.grouping import group_files
from engine.hub.listing import HubModel, HubPage, HubQuery, HubRepo
from engine.hub.token import read_token
from engine.models.remote import RemoteFile

PAGE_SIZE: Final = 30
WIDE_PAGE_SIZE: Final = 100
"""For searches that look through what comes: those for drafters."""

MAX_README_CHARS: Final = 200_000
_MAX_TREE_PAGES: Final = 20
_REPO: Final = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}", re.ASCII)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
# Not "cardData": what authors write is of any depth, and one that cannot be decoded would cost the whole page.
_EXPAND: Final = ("downloads", "likes", "lastModified", "tags", "gguf", "gated", "siblings", "sha")
_SORTS: Final = {
    "trending_score": "trendingScore",
    "created_at": "createdAt",
    "last_modified": "lastModified",
}


class HubClient:
    """The Hub, or the mirror at `endpoint`. Its methods block, raise SlipstreamError, and may run on several threads.

    `token` is asked before every request. `is_cancelled` is asked between two requests; Cancelled is raised then.
    `on_contact` hears of each answer of the Hub, and of each failure to reach it.
    """

    def __init__(
        self,
        endpoint: str = "",
        token: Callable[[], str] = read_token,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        on_contact: OnContact = nobody_hears,
    ) -> None:
        self._connection = Connection(endpoint, token, timeouts, on_contact)

    @property
    def endpoint(self) -> str:
        return self._connection.endpoint

    @property
    def on_contact(self) -> OnContact:
        return self._connection.on_contact

    def http(self) -> httpx2.Client:
        """Return the client that all requests share, for files; raises Offline or HubTrouble for wrong settings."""
        return self._connection.http()

    def close(self) -> None:
        self._connection.close()

    def page_url(self, repo: str) -> str:
        """Return where a person sees `repo` and accepts its terms."""
        return self._connection.page_url(repo)

    def search(self, query: HubQuery, cursor: str = "") -> HubPage:
        """Return one page of repositories with GGUF files, by one request.

        Whether there is a drafter is told by names here, so a page of a search for drafters may hold few or none
        and still have a `cursor`.
        """
        size = WIDE_PAGE_SIZE if query.has_drafter else PAGE_SIZE
        params = _search_params(query, size) | ({"cursor": cursor} if cursor else {})
        answer = self._connection.get("/api/models", params)
        found = decode_list(answer, answers.Model)
        models = [answers.hub_model(model) for model in found if _REPO.fullmatch(model.id)]
        if query.has_drafter:
            models = [model for model in models if model.drafter_files or "mtp" in model.name.lower()]
        return HubPage(tuple(models), _next_cursor(answer))

    def open_repo(self, repo: str, is_cancelled: IsCancelled = never_cancelled) -> HubRepo:
        """Return the page of `repo` ("owner/name"): two requests, a third where a mirror leaves out sizes.

        Its files are called as the Hub spells the repository: it takes any case, and names before a renaming too.
        """
        model = self._model(repo, {"blobs": "true"})
        repo = model.id if _REPO.fullmatch(model.id) else repo
        revision = model.sha or "main"
        found = [answers.sibling_file(repo, revision, sibling) for sibling in model.siblings or ()]
        if any(file.name.endswith(".gguf") and not file.size_bytes for file in found):
            found = self._complete(repo, revision, found, is_cancelled)
        check(is_cancelled)
        has_readme = any(file.path == "README.md" for file in found)
        grouped = group_files(found)
        return HubRepo(
            model=answers.hub_model(model),
            revision=revision,
            quantisations=grouped.quantisations,
            drafters=grouped.drafters,
            other_files=grouped.other_files,
            readme=self._readme(repo, revision) if has_readme else "",
            licence_name=answers.licence_name(model),
        )

    def head_of(self, repo: str, revision: str = "main") -> tuple[str, HubModel]:
        """Return the commit that `revision` names now ("" where a mirror does not say), and the repository's facts."""
        model = self._model(repo, {}, f"/revision/{quote(revision, safe='')}")
        commit = model.sha or ""
        return commit if _COMMIT.fullmatch(commit) else "", answers.hub_model(model)

    def file_facts(self, repo: str, paths: Sequence[str], revision: str) -> dict[str, RemoteFile]:
        """Return size and sha256 of `paths` at `revision` by path; what does not exist is left out."""
        where = f"/api/models/{_checked(repo)}/paths-info/{quote(revision, safe='')}"
        answer = self._connection.post(where, {"paths": list(paths), "expand": "false"}, repo=repo)
        entries = decode_list(answer, answers.TreeEntry)
        wanted = set(paths)
        return {
            entry.path: answers.entry_file(repo, revision, entry)
            for entry in entries
            if entry.type == "file" and entry.path in wanted
        }

    def has_access(self, repo: str) -> bool:
        """Whether the token, or anybody, may load the files of `repo`; raises Offline."""
        try:
            self._connection.get(f"/api/models/{_checked(repo)}/auth-check", repo=repo)
        except Offline:
            raise
        except SlipstreamError:
            return False
        return True

    def whoami(self) -> str:
        """Return whose token it is, "" without one; raises TokenRefused."""
        if not self._connection.has_token:
            return ""
        name = decode(self._connection.get("/api/whoami-v2"), answers.WhoAmI).name
        if not name:
            raise token_refused()
        return name

    def _model(self, repo: str, params: Params, tail: str = "") -> answers.Model:
        answer = self._connection.get(f"/api/models/{_checked(repo)}{tail}", params, repo=repo)
        return decode(answer, answers.Model)

    def _readme(self, repo: str, revision: str) -> str:
        """Return the README; "" if it cannot be had, which is no reason not to show the rest."""
        path = f"/{repo}/resolve/{quote(revision, safe='')}/README.md"
        try:
            answer = self._connection.get(path, repo=repo, accept="text/plain, */*")
        except (Cancelled, Offline, RateLimited):
            raise
        except SlipstreamError:
            return ""
        if "html" in answer.headers.get("content-type", ""):
            return ""
        return answer.body.decode("utf-8", "replace")[:MAX_README_CHARS]

    def _complete(
        self, repo: str, revision: str, files: Sequence[RemoteFile], is_cancelled: IsCancelled
    ) -> list[RemoteFile]:
        """Return `files` with the facts that the tree has; a mirror may have no tree either."""
        known: dict[str, RemoteFile] = {}
        path = f"/api/models/{repo}/tree/{quote(revision, safe='')}"
        cursor = ""
        for _ in range(_MAX_TREE_PAGES):
            check(is_cancelled)
            params = {"recursive": "true"} | ({"cursor": cursor} if cursor else {})
            try:
                answer = self._connection.get(path, params, repo=repo)
                entries = decode_list(answer, answers.TreeEntry)
            except (Offline, RateLimited):
                raise
            except SlipstreamError:
                break
            known |= {entry.path: answers.entry_file(repo, revision, entry) for entry in entries}
            cursor = _next_cursor(answer)
            if not cursor:
                break
        return [known.get(file.path, file) for file in files]


def _search_params(query: HubQuery, size: int) -> dict[str, str | Sequence[str]]:
    bounds = [
        f"{name}:{amount}"
        for name, n_params in (("min", query.min_params), ("max", query.max_params))
        if (amount := _amount(n_params))
    ]
    return {
        "filter": "gguf",
        "apps": "llama.cpp",
        "sort": _SORTS.get(query.sort, query.sort.value),
        "limit": str(size),
        "expand": _EXPAND,
        **({"search": query.text.strip()} if query.text.strip() else {}),
        **({"author": query.author.strip()} if query.author.strip() else {}),
        **({"num_parameters": ",".join(bounds)} if bounds else {}),
    }


def _amount(n_params: int) -> str:
    """Return a number of parameters as the Hub takes it ("7B", "350M"); "" for no bound."""
    if n_params <= 0:
        return ""
    return f"{n_params / 1e9:g}B" if n_params >= 1_000_000_000 else f"{max(n_params // 1_000_000, 1)}M"


def _next_cursor(answer: RawAnswer) -> str:
    """Return the cursor in the Link header. Only that is taken: the address could lead elsewhere."""
    header = answer.headers.get("link", "")
    links = httpx2.Response(200, headers={"link": header}).links if header else {}
    url = links.get("next", {}).get("url", "")
    return parse_qs(urlsplit(url).query).get("cursor", [""])[0]


def _checked(repo: str) -> str:
    """Return `repo`, which goes into an address as it is; raises BadOption if it is no repository's name."""
    if _REPO.fullmatch(repo) is None or ".." in repo or "--" in repo:
        raise BadOption(
            f"“{repo[:100]}” is not the name of a repository.",
            remedy="Write it as on the Hub: owner/name, for example “ggml-org/gemma-4-E4B-it-GGUF”.",
        )
    return repo
