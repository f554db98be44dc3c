"""Headers from afar: by ranges, through a redirect, into sparse files that llama.cpp and everything here can read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import msgspec
import pytest
from llama_cpp import llama_cpp as api

from engine.errors import (
    Cancelled,
    GatedRepository,
    HubTrouble,
    NotAModelFile,
    Offline,
    RateLimited,
    RepositoryNotFound,
    SlipstreamError,
    TokenRefused,
)
from engine.hub import range_source
from engine.hub.range_source import FIRST_READ_BYTES, RangeSource
from engine.hub.remote_header import cached_header, fetch_bundle_headers, fetch_header, prune_headers
from engine.llama.library import LlamaLibrary
from engine.models.bundle import NGRAM_DRAFTER, DrafterKind
from engine.models.facts import read_facts
from engine.models.file_kind import FileKind
from engine.models.gguf_header import read_header
from engine.models.pairing import judge
from engine.models.remote import RemoteBundle, RemoteFile
from tests.engine.models.gguf_writer import Entry, gguf, tensor
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.server import HubServer

TINY_MODELS = Path(__file__).parents[2] / "models"
REPO = "owner/tiny-GGUF"
LARGE_VOCABULARY = [f"token {i} of a large vocabulary" for i in range(60_000)]


def large_model() -> bytes:
    """Return a model whose header takes three ranges: 1, 1 and 2 MiB."""
    metadata: dict[str, Entry] = {"general.architecture": "llama", "tokenizer.ggml.tokens": LARGE_VOCABULARY}
    return gguf(metadata, [tensor("token_embd.weight", [1 << 20])], data_bytes=4 << 20)


@pytest.fixture
def large(hub: HubServer) -> RemoteFile:
    hub.add(REPO, {"large-Q8_0.gguf": large_model()})
    return RemoteFile(REPO, "large-Q8_0.gguf")


@pytest.fixture
def tiny(hub: HubServer) -> RemoteFile:
    hub.add(REPO, {"MTP/llama.gguf": (TINY_MODELS / "llama.gguf").read_bytes()})
    return RemoteFile(REPO, "MTP/llama.gguf")


@pytest.fixture
def client() -> Iterator[httpx2.Client]:
    with httpx2.Client() as client:
        yield client


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_source, "_PAUSES_S", (0.0, 0.0))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


def pinned(hub: HubServer, remote: RemoteFile) -> RemoteFile:
    commit = hub.repositories[REPO].head
    stored = commit.files[remote.path]
    return msgspec.structs.replace(
        remote, revision=commit.sha, sha256=stored.sha256, size_bytes=len(stored.content)
    )


def test_a_header_from_afar_says_what_the_file_says(hub: HubServer, tiny: RemoteFile, tmp_path: Path) -> None:
    path = fetch_header(tiny, tmp_path, endpoint=hub.endpoint)
    whole, remote = read_facts(TINY_MODELS / "llama.gguf"), read_facts(path)
    assert path.name == "llama.gguf"
    assert msgspec.structs.replace(remote, path=whole.path) == whole
    assert path.stat().st_size == (TINY_MODELS / "llama.gguf").stat().st_size


def test_only_the_header_is_fetched_and_kept(hub: HubServer, large: RemoteFile, tmp_path: Path) -> None:
    path = fetch_header(large, tmp_path, endpoint=hub.endpoint)
    ranges = [served.range for served in hub.log if served.is_storage]
    assert ranges[:3] == ["bytes=0-1048575", "bytes=1048576-2097151", "bytes=2097152-4194303"]
    assert hub.body_bytes == 4 << 20
    header = read_header(path)
    assert path.read_bytes()[: header.data_offset] == large_model()[: header.data_offset]
    assert not path.read_bytes()[header.data_offset :].strip(b"\0")
    assert path.stat().st_size == len(large_model())
    if hasattr(os.stat_result, "st_blocks"):
        assert path.stat().st_blocks * 512 < len(large_model()) - (2 << 20)


def test_llama_cpp_takes_it_for_the_model(
    hub: HubServer, tiny: RemoteFile, tmp_path: Path, llama: LlamaLibrary
) -> None:
    path = fetch_header(tiny, tmp_path, endpoint=hub.endpoint)
    params = api.llama_model_default_params()
    params.no_alloc = True
    # With no_alloc any other way of loading ends the process (src/llama-model.cpp:1855).
    params.load_mode = api.LLAMA_LOAD_MODE_NONE
    with llama.log.recording() as record:
        model = api.llama_model_load_from_file(os.fsencode(path), params)
    assert model, record.trouble
    assert api.llama_model_n_params(model) == read_facts(path).n_params
    assert api.llama_model_size(model) == read_facts(path).weights_bytes
    api.llama_model_free(model)


def test_what_is_pinned_is_fetched_once(hub: HubServer, tiny: RemoteFile, tmp_path: Path) -> None:
    remote = pinned(hub, tiny)
    assert cached_header(remote, tmp_path) is None
    path = fetch_header(remote, tmp_path, endpoint=hub.endpoint)
    hub.clear_log()
    assert fetch_header(remote, tmp_path, endpoint=hub.endpoint) == path
    by_commit = msgspec.structs.replace(remote, sha256="")
    other = fetch_header(by_commit, tmp_path, endpoint=hub.endpoint)
    asked = len(hub.log)
    assert asked > 0
    assert (
        fetch_header(by_commit, tmp_path, endpoint=hub.endpoint)
        == other
        == cached_header(by_commit, tmp_path)
    )
    assert len(hub.log) == asked


def test_a_branch_is_asked_for_each_time_and_its_new_content_has_a_place_of_its_own(
    hub: HubServer, tiny: RemoteFile, tmp_path: Path
) -> None:
    first = fetch_header(tiny, tmp_path, endpoint=hub.endpoint)
    assert fetch_header(tiny, tmp_path, endpoint=hub.endpoint) == first
    hub.repositories[REPO].commit({tiny.path: (TINY_MODELS / "llama-draft.gguf").read_bytes()})
    second = fetch_header(tiny, tmp_path, endpoint=hub.endpoint)
    assert second != first
    assert read_facts(second).name == "llama-draft"
    assert read_facts(first).name == "llama"


def test_all_parts_are_fetched_into_one_folder(hub: HubServer, tmp_path: Path) -> None:
    files: dict[str, bytes | None] = {}
    for number in range(3):
        metadata: dict[str, Entry] = {"split.count": 3, "split.no": number}
        if number == 0:
            metadata["general.architecture"] = "llama"
        name = f"Q8_0/big-Q8_0-{number + 1:05d}-of-00003.gguf"
        files[name] = gguf(metadata, [tensor(f"blk.{number}.attn_norm.weight", [64])], data_bytes=256)
    hub.add(REPO, files)
    path = fetch_header(
        RemoteFile(REPO, "Q8_0/big-Q8_0-00001-of-00003.gguf"), tmp_path, endpoint=hub.endpoint
    )
    facts = read_facts(path)
    assert (facts.kind, facts.n_parts, facts.n_params) == (FileKind.TARGET, 3, 192)
    assert len(list(path.parent.iterdir())) == 3


def test_a_bundle_comes_as_one_of_headers(hub: HubServer, tmp_path: Path) -> None:
    names = ("llama.gguf", "llama-draft.gguf")
    hub.add(REPO, {name: (TINY_MODELS / name).read_bytes() for name in names})
    target, drafter = (RemoteFile(REPO, name) for name in names)
    remote = RemoteBundle("tiny", "Tiny", (target,), DrafterKind.MODEL, (drafter,))
    bundle = fetch_bundle_headers(remote, tmp_path, endpoint=hub.endpoint)
    assert (bundle.name, bundle.drafter.kind) == ("Tiny", DrafterKind.MODEL)
    assert judge(read_facts(Path(bundle.target)), read_facts(Path(bundle.drafter.path))).fits
    alone = fetch_bundle_headers(RemoteBundle("tiny", "Tiny", (target,)), tmp_path, endpoint=hub.endpoint)
    assert alone.drafter == NGRAM_DRAFTER


def test_a_token_opens_a_gate_and_is_not_told_to_storage(
    hub: HubServer, tiny: RemoteFile, tmp_path: Path
) -> None:
    hub.users["hf_secret"] = "me"
    repo = hub.repositories[REPO]
    repo.gated = "manual"
    repo.readers.add("me")
    with pytest.raises(GatedRepository) as caught:
        fetch_header(tiny, tmp_path, endpoint=hub.endpoint)
    assert REPO in caught.value.sentence
    with pytest.raises(TokenRefused) as refused:
        fetch_header(tiny, tmp_path, endpoint=hub.endpoint, token="hf_wrong")
    assert "hf_wrong" not in refused.value.detail
    fetch_header(tiny, tmp_path, endpoint=hub.endpoint, token="hf_secret")
    assert any(served.has_token for served in hub.log if not served.is_storage)
    assert not any(served.has_token for served in hub.log if served.is_storage)


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        (Fault(FaultKind.WHOLE), HubTrouble, "does not hand out parts"),
        (Fault(FaultKind.TRUNCATED, after_bytes=1000, times=-1), Offline, "cannot be reached"),
        (Fault(FaultKind.RESET, after_bytes=1000, times=-1), Offline, "cannot be reached"),
        (Fault(FaultKind.STATUS, status=429, retry_after="7"), RateLimited, "asks for a pause"),
        (Fault(FaultKind.STATUS, status=503, times=-1), HubTrouble, "trouble of its own"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_leaves_no_file(
    fault: Fault, error: type[SlipstreamError], said: str, hub: HubServer, tiny: RemoteFile, tmp_path: Path
) -> None:
    hub.faults.add(fault)
    with pytest.raises(error, match=said) as caught:
        fetch_header(tiny, tmp_path, endpoint=hub.endpoint)
    assert caught.value.remedy
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.RESET, after_bytes=100_000),
        Fault(FaultKind.TRUNCATED, after_bytes=100_000, times=2),
        Fault(FaultKind.STATUS, status=502),
        Fault(FaultKind.NO_ETAG),
        Fault(FaultKind.SHORT_LENGTH, after_bytes=100_000),
    ],
)
def test_a_connection_that_breaks_or_gives_less_than_asked_is_made_again(
    fault: Fault, hub: HubServer, large: RemoteFile, tmp_path: Path
) -> None:
    hub.faults.add(fault)
    path = fetch_header(large, tmp_path, endpoint=hub.endpoint)
    assert read_facts(path).n_vocab == 60_000


def test_two_contents_are_never_joined(hub: HubServer, large: RemoteFile, client: httpx2.Client) -> None:
    source = RangeSource(large, client, endpoint=hub.endpoint)
    hub.faults.add(Fault(FaultKind.CHANGED))
    with pytest.raises(HubTrouble, match="was changed on the Hub while it was read"):
        source.read(FIRST_READ_BYTES, 100)
    assert source.read(FIRST_READ_BYTES, 100) == large_model()[FIRST_READ_BYTES : FIRST_READ_BYTES + 100]


def test_a_file_that_is_not_the_pinned_one_is_refused(
    hub: HubServer, tiny: RemoteFile, tmp_path: Path
) -> None:
    remote = pinned(hub, tiny)
    for other in (
        msgspec.structs.replace(remote, sha256=hashlib.sha256(b"").hexdigest()),
        msgspec.structs.replace(remote, size_bytes=remote.size_bytes + 1, sha256=""),
    ):
        with pytest.raises(HubTrouble, match="has changed since it was checked"):
            fetch_header(other, tmp_path, endpoint=hub.endpoint)


def test_what_is_not_there_or_no_model_is_said(hub: HubServer, tiny: RemoteFile, tmp_path: Path) -> None:
    hub.repositories[REPO].commit(
        {"empty.gguf": b"", "page.gguf": b"<html>" * 50, "half.gguf": large_model()[:9000]}
    )
    for name, said in (("empty", "is empty"), ("page", "is not a GGUF file"), ("half", "cut short")):
        with pytest.raises(NotAModelFile, match=said):
            fetch_header(RemoteFile(REPO, f"{name}.gguf"), tmp_path, endpoint=hub.endpoint)
    for remote in (RemoteFile(REPO, "gone.gguf"), RemoteFile("no/such", "a.gguf")):
        with pytest.raises(RepositoryNotFound):
            fetch_header(remote, tmp_path, endpoint=hub.endpoint)


def test_each_contact_is_reported_and_a_header_that_is_here_is_none(
    hub: HubServer, tiny: RemoteFile, tmp_path: Path
) -> None:
    heard: list[bool] = []
    remote = pinned(hub, tiny)
    for endpoint in (hub.endpoint, "http://127.0.0.1:9"):
        fetch_header(remote, tmp_path, endpoint=endpoint, on_contact=heard.append)
    with pytest.raises(Offline):
        fetch_header(tiny, tmp_path / "new", endpoint="http://127.0.0.1:9", on_contact=heard.append)
    assert heard == [True, False]


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [("SSL_CERT_FILE", "/no/such/file", "certificates"), ("ALL_PROXY", "ftp://proxy:1", "proxy settings")],
)
def test_settings_that_cannot_be_used_are_told(
    variable: str, value: str, said: str, tiny: RemoteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SlipstreamError, match=said):
        fetch_header(tiny, tmp_path, endpoint="http://127.0.0.1:9")


def test_without_a_connection_a_branch_is_what_it_was_last_time(
    hub: HubServer, tiny: RemoteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch_header(tiny, tmp_path, endpoint=hub.endpoint)
    hub.repositories[REPO].commit({tiny.path: (TINY_MODELS / "llama-draft.gguf").read_bytes()})
    last = fetch_header(tiny, tmp_path, endpoint=hub.endpoint)
    heard: list[bool] = []
    assert fetch_header(tiny, tmp_path, endpoint="http://127.0.0.1:9", on_contact=heard.append) == last
    assert heard == [False]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fetch_header(tiny, tmp_path, endpoint=hub.endpoint) == last
    last.unlink()
    with pytest.raises(Offline):
        fetch_header(tiny, tmp_path, endpoint=hub.endpoint)


def test_being_offline_is_told(tiny: RemoteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Offline):
        fetch_header(tiny, tmp_path, endpoint="http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Offline, match="told not to use the network"):
        fetch_header(tiny, tmp_path)


def test_it_can_be_stopped_between_two_pieces(hub: HubServer, large: RemoteFile, tmp_path: Path) -> None:
    asked = 0

    def is_cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 5

    with pytest.raises(Cancelled):
        fetch_header(large, tmp_path, endpoint=hub.endpoint, is_cancelled=is_cancelled)
    assert hub.body_bytes < FIRST_READ_BYTES


def test_a_header_that_does_not_end_is_given_up(
    hub: HubServer, large: RemoteFile, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_source, "MAX_READ_BYTES", 2 << 20)
    source = RangeSource(large, client, endpoint=hub.endpoint)
    with pytest.raises(NotAModelFile, match="longer than 2 MB"):
        source.read(0, 3 << 20)


def test_the_headers_that_nobody_asked_for_longest_are_forgotten(hub: HubServer, tmp_path: Path) -> None:
    data = (TINY_MODELS / "llama-draft.gguf").read_bytes()
    paths = []
    for number in range(4):
        hub.add(f"owner/{number}", {"m.gguf": data})
        remote = RemoteFile(f"owner/{number}", "m.gguf", hub.repositories[f"owner/{number}"].head.sha)
        paths.append(fetch_header(remote, tmp_path, endpoint=hub.endpoint))
        os.utime(paths[-1].parent, (number, number))
    first = RemoteFile("owner/0", "m.gguf", hub.repositories["owner/0"].head.sha)
    assert cached_header(first, tmp_path) == paths[0]
    prune_headers(tmp_path, 2)
    assert [path.exists() for path in paths] == [True, False, False, True]


def test_names_from_the_hub_stay_in_the_folder(hub: HubServer, tmp_path: Path) -> None:
    data = (TINY_MODELS / "llama-draft.gguf").read_bytes()
    for name in ("a/..\\..\\evil.gguf", "con.gguf", "a:b*?.gguf", f"{'long' * 60}.gguf"):
        hub.add(REPO, {name: data})
        path = fetch_header(RemoteFile(REPO, name), tmp_path / "cache", endpoint=hub.endpoint)
        assert tmp_path / "cache" == path.parent.parent
        assert path.name.endswith(".gguf")
        assert not set(path.name) & set('\\/:*?"<>|')
        assert len(path.name) <= 151
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
