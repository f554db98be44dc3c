"""The Hub's own client takes this server for the Hub, and each fault is what its name says."""

from __future__ import annotations

import hashlib
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile, RepoFolder

from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.server import HubServer

BODY = bytes(range(256)) * 400
FILES: dict[str, bytes | None] = {"a.gguf": BODY, "MTP/mtp-a.gguf": b"head" * 100, "README.md": b"# A\n"}
PATH = "some/model/a.gguf"


@pytest.fixture
def api(hub: HubServer) -> HfApi:
    hub.add("some/model", FILES, downloads=7, gguf={"total": 4_000_000_000, "architecture": "llama"})
    hub.add("some/small-model", {"b.gguf": b"b"}, gguf={"total": 100_000_000}, trendingScore=9)
    hub.add("other/gated", {"c.gguf": b"c"}, gated="manual").readers.add("ann")
    hub.users["hf_ann"] = "ann"
    hub.users["hf_bob"] = "bob"
    return HfApi(endpoint=hub.endpoint, token=False)


def test_the_client_searches_filters_and_pages(api: HfApi, hub: HubServer) -> None:
    hub.page_size = 2
    expand: list[str] = ["gguf", "downloads", "siblings", "gated"]
    found = list(api.list_models(expand=expand))  # type: ignore[arg-type]
    assert [model.id for model in found] == ["some/small-model", "some/model", "other/gated"]
    assert found[1].gguf == {"total": 4_000_000_000, "architecture": "llama"}
    assert [s.rfilename for s in found[1].siblings or []] == ["MTP/mtp-a.gguf", "README.md", "a.gguf"]
    assert [found[1].gated, found[2].gated] == [False, "manual"]
    assert [m.id for m in api.list_models(author="some", search="SMALL")] == ["some/small-model"]
    assert [m.id for m in api.list_models(num_parameters="min:1B,max:8B")] == ["some/model"]
    assert [m.id for m in api.list_models(sort="downloads", limit=1)] == ["some/model"]
    assert [m.id for m in api.list_models(gated=True, filter="gguf", apps="llama.cpp")] == ["other/gated"]


def test_the_client_reads_info_tree_paths_and_refs(api: HfApi, hub: HubServer) -> None:
    info = api.model_info("some/model", files_metadata=True)
    sibling = next(s for s in info.siblings or [] if s.rfilename == "a.gguf")
    assert sibling.lfs is not None
    assert (sibling.size, sibling.lfs.sha256) == (len(BODY), hashlib.sha256(BODY).hexdigest())
    hub.page_size = 2
    entries = list(api.list_repo_tree("some/model", recursive=True))
    assert [(type(e), e.path) for e in entries] == [
        (RepoFolder, "MTP"),
        (RepoFile, "MTP/mtp-a.gguf"),
        (RepoFile, "README.md"),
        (RepoFile, "a.gguf"),
    ]
    assert [entry.path for entry in api.list_repo_tree("some/model")] == ["MTP", "README.md", "a.gguf"]
    (found,) = api.get_paths_info("some/model", ["a.gguf", "missing.gguf"])
    assert isinstance(found, RepoFile)
    assert found.lfs is not None
    assert found.lfs.sha256 == sibling.lfs.sha256
    assert api.list_repo_refs("some/model").branches[0].target_commit == info.sha


def test_the_client_downloads_through_both_kinds_of_redirect(
    api: HfApi, hub: HubServer, tmp_path: Path
) -> None:
    api = HfApi(endpoint=hub.endpoint, token="hf_ann")
    for path in ("a.gguf", "README.md"):
        local = api.hf_hub_download("some/model", path, cache_dir=tmp_path)
        assert Path(local).read_bytes() == FILES[path]
    metadata = api.get_hf_file_metadata(url=f"{hub.endpoint}/some/model/resolve/main/a.gguf")
    assert metadata.etag == hashlib.sha256(BODY).hexdigest()
    assert metadata.size == len(BODY)
    assert not any(served.has_token for served in hub.log if served.is_storage)


def test_a_commit_keeps_its_files_when_main_moves_on(api: HfApi, hub: HubServer) -> None:
    before = hub.repositories["some/model"].head
    hub.repositories["some/model"].commit({"a.gguf": b"new", "README.md": None})
    assert api.model_info("some/model").sha != before.sha
    old = api.get_paths_info("some/model", ["a.gguf", "README.md"], revision=before.sha)
    assert [entry.size for entry in old if isinstance(entry, RepoFile)] == [len(BODY), 4]


def test_who_may_have_what(api: HfApi, hub: HubServer, tmp_path: Path) -> None:
    hub.add("ann/secret", {"d.gguf": b"d"}, private=True).readers.add("ann")
    assert api.whoami(token="hf_ann")["name"] == "ann"
    for token in (False, "hf_bob"):
        with pytest.raises(GatedRepoError):
            api.hf_hub_download("other/gated", "c.gguf", token=token, cache_dir=tmp_path)
        with pytest.raises(RepositoryNotFoundError):
            api.model_info("ann/secret", token=token)
    assert api.model_info("other/gated").gated == "manual"
    assert api.model_info("ann/secret", token="hf_ann").private
    api.hf_hub_download("other/gated", "c.gguf", token="hf_ann", cache_dir=tmp_path)
    with pytest.raises(HfHubHTTPError, match="401"):
        api.model_info("some/model", token="hf_wrong")


def test_what_does_not_exist_is_told_apart(api: HfApi, tmp_path: Path) -> None:
    with pytest.raises(RepositoryNotFoundError):
        api.model_info("some/nothing")
    with pytest.raises(RevisionNotFoundError):
        api.model_info("some/model", revision="nowhere")
    with pytest.raises(RemoteEntryNotFoundError):
        api.hf_hub_download("some/model", "nothing.gguf", cache_dir=tmp_path)


def test_the_api_answers_with_a_status_when_it_should(api: HfApi, hub: HubServer) -> None:
    hub.api_faults.add(Fault(FaultKind.STATUS, "/api/models/some/*", status=429, retry_after="1"))
    answer = httpx2.get(f"{hub.endpoint}/api/models/some/model")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
    assert api.model_info("some/model").id == "some/model"


def _fetch(hub: HubServer, fault: Fault, start: int = 0, **headers: str) -> httpx2.Response:
    hub.faults.add(fault)
    commit = hub.repositories["some/model"].head.sha
    asked = {**({"Range": f"bytes={start}-"} if start else {}), **headers}
    return httpx2.get(f"{hub.storage}/some/model/{commit}/a.gguf", headers=asked, timeout=0.3)


@pytest.mark.usefixtures("api")
def test_ranges_are_served_and_counted(hub: HubServer) -> None:
    answer = _fetch(hub, Fault(FaultKind.NO_ETAG, "no match"), 1000)
    assert (answer.status_code, answer.content) == (206, BODY[1000:])
    assert answer.headers["Content-Range"] == f"bytes 1000-{len(BODY) - 1}/{len(BODY)}"
    assert _fetch(hub, Fault(FaultKind.NO_ETAG, "no match"), len(BODY)).status_code == 416
    assert _fetch(hub, Fault(FaultKind.NO_ETAG, "x"), 10, **{"If-Range": '"another"'}).status_code == 200
    assert hub.body_bytes == len(BODY) - 1000 + len(BODY)


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FaultKind.STALLED, httpx2.ReadTimeout),
        (FaultKind.TRUNCATED, httpx2.RemoteProtocolError),
        (FaultKind.RESET, httpx2.ReadError),
        (FaultKind.LONG_LENGTH, httpx2.RemoteProtocolError),
    ],
)
def test_a_broken_connection_breaks_where_it_should(
    hub: HubServer, kind: FaultKind, error: type[Exception]
) -> None:
    with pytest.raises(error):
        _fetch(hub, Fault(kind, PATH, after_bytes=5000))
    assert _fetch(hub, Fault(kind, "no match")).content == BODY


@pytest.mark.usefixtures("api")
def test_a_body_that_lies_lies_as_it_should(hub: HubServer) -> None:
    right = _fetch(hub, Fault(FaultKind.SLOW, PATH, after_bytes=50_000, bytes_per_s=10_000_000.0))
    assert right.content == BODY
    wrong = _fetch(hub, Fault(FaultKind.WRONG_BYTES, PATH, after_bytes=5000), 100).content
    assert [at for at, byte in enumerate(wrong) if byte != BODY[100 + at]] == [5000]
    assert _fetch(hub, Fault(FaultKind.SHORT_LENGTH, PATH, after_bytes=5000)).content == BODY[:5000]
    assert _fetch(hub, Fault(FaultKind.WHOLE, PATH), 100).status_code == 200
    changed = _fetch(hub, Fault(FaultKind.CHANGED, PATH), 100)
    assert changed.headers["ETag"] != right.headers["ETag"]
    assert len(changed.content) == len(BODY) - 100
    assert "ETag" not in _fetch(hub, Fault(FaultKind.NO_ETAG, PATH)).headers
    refused = _fetch(hub, Fault(FaultKind.STATUS, PATH, status=503, retry_after="2"))
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
