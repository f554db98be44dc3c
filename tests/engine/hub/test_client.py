"""The client against a server that speaks the Hub's API."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from engine.errors import BadOption, Cancelled, GatedRepository, RepositoryNotFound, TokenRefused
from engine.hub.client import MAX_README_CHARS, PAGE_SIZE, HubClient
from engine.hub.connection import Connection
from engine.hub.listing import HubQuery, HubSort
from engine.models.bundle import DrafterKind
from tests.engine.hub.conftest import requests_of
from tests.hub_server.server import HubServer

TOKEN = "hf_aVeryGoodToken"
GEMMA = {
    "gemma-4-E4B-it-Q4_K_M.gguf": b"q4" * 50,
    "gemma-4-E4B-it-Q8_0.gguf": b"q8" * 100,
    "mtp-gemma-4-E4B-it-Q8_0.gguf": b"mtp",
    "mmproj-F16.gguf": b"projector",
    "README.md": b"# Gemma\n\nA model.",
    ".gitattributes": b"*.gguf lfs",
}


def _fill(hub: HubServer, n: int) -> None:
    for number in range(n):
        hub.add(f"org/model-{number:02d}-GGUF", {"model-Q4_0.gguf": b"x"}, downloads=number)


def test_a_search_fetches_one_page_by_one_request_and_goes_on_from_its_cursor(
    hub: HubServer, client: HubClient
) -> None:
    _fill(hub, PAGE_SIZE + 5)
    query = HubQuery(sort=HubSort.DOWNLOADS)
    first = client.search(query)
    n_requests = [len(requests_of(hub, 1))]
    assert len(first.models) == PAGE_SIZE
    assert first.models[0].name == f"model-{PAGE_SIZE + 4:02d}-GGUF"
    rest = client.search(query, first.cursor)
    n_requests.append(len(requests_of(hub, 2)))
    assert n_requests == [1, 2]
    assert [model.downloads for model in rest.models] == [4, 3, 2, 1, 0]
    assert rest.cursor == ""


def test_a_search_looks_at_text_author_and_size(hub: HubServer, client: HubClient) -> None:
    hub.add("a/llama-1B-GGUF", {"m.gguf": b"x"}, gguf={"total": 1_200_000_000})
    hub.add("a/llama-8B-GGUF", {"m.gguf": b"x"}, gguf={"total": 8_000_000_000})
    hub.add("b/llama-8B-GGUF", {"m.gguf": b"x"}, gguf={"total": 8_000_000_000})
    hub.add("b/qwen-8B-GGUF", {"m.gguf": b"x"}, gguf={"total": 8_000_000_000})

    def found(query: HubQuery) -> set[str]:
        return {model.repo for model in client.search(query).models}

    assert found(HubQuery("qwen")) == {"b/qwen-8B-GGUF"}
    assert found(HubQuery(author="a")) == {"a/llama-1B-GGUF", "a/llama-8B-GGUF"}
    assert found(HubQuery("llama", max_params=2_000_000_000)) == {"a/llama-1B-GGUF"}
    assert found(HubQuery("llama", min_params=2_000_000_000)) == {"a/llama-8B-GGUF", "b/llama-8B-GGUF"}
    assert found(HubQuery("nothing like this")) == set()


def test_only_what_names_a_drafter_is_found_where_one_is_asked_for(hub: HubServer, client: HubClient) -> None:
    hub.add("a/gemma-GGUF", GEMMA)
    hub.add("a/plain-GGUF", {"plain-Q4_0.gguf": b"x"})
    hub.add("a/Qwen-MTP-GGUF", {"Qwen-Q4_0.gguf": b"x"})
    page = client.search(HubQuery(has_drafter=True))
    assert {model.name for model in page.models} == {"gemma-GGUF", "Qwen-MTP-GGUF"}
    assert {model.drafter_files for model in page.models} == {("mtp-gemma-4-E4B-it-Q8_0.gguf",), ()}


def test_a_list_tells_what_the_hub_tells(hub: HubServer, client: HubClient) -> None:
    hub.add(
        "a/gemma-GGUF",
        GEMMA,
        gated="manual",
        downloads=7,
        likes=3,
        tags=["gguf", "license:apache-2.0"],
        gguf={"total": 8_000_000_000, "architecture": "gemma4", "context_length": 131072},
    )
    (model,) = client.search(HubQuery()).models
    assert (model.author, model.name, model.downloads, model.likes) == ("a", "gemma-GGUF", 7, 3)
    assert (model.architecture, model.n_params, model.n_ctx_train) == ("gemma4", 8_000_000_000, 131072)
    assert (model.licence, model.gate) == ("apache-2.0", "manual")
    assert model.updated_at.startswith("2026-01-02")


def test_a_page_has_quantisations_with_sizes_drafters_readme_and_the_rest(
    hub: HubServer, client: HubClient
) -> None:
    commit = hub.add("a/gemma-GGUF", GEMMA, cardData={"license": "other", "license_name": "gemma terms"}).head
    page = client.open_repo("a/gemma-GGUF")
    assert [(q.label, q.size_bytes) for q in page.quantisations] == [("Q4_K_M", 100), ("Q8_0", 200)]
    (file,) = page.quantisations[0].files
    assert file.sha256 == hashlib.sha256(b"q4" * 50).hexdigest()
    assert file.is_pinned
    assert page.revision == commit.sha
    assert [(option.kind, option.size_bytes) for option in page.drafters] == [
        (DrafterKind.MTP, 3),
        (DrafterKind.NGRAM, 0),
    ]
    assert [file.name for file in page.other_files] == ["mmproj-F16.gguf"]
    assert page.readme == "# Gemma\n\nA model."
    assert (page.model.licence, page.licence_name) == ("other", "gemma terms")
    assert len(requests_of(hub, 3)) == 3  # facts, README, and the redirect to where it lies


def test_a_choice_on_a_page_makes_a_pinned_bundle(hub: HubServer, client: HubClient) -> None:
    hub.add("a/gemma-GGUF", GEMMA)
    page = client.open_repo("a/gemma-GGUF")
    bundle = page.bundle(page.quantisations[0], page.drafters[0])
    assert bundle.id == "a--gemma-GGUF--Q4_K_M--mtp"
    assert all(file.is_pinned for file in bundle.files)
    assert bundle.size_bytes == 103


def test_files_are_called_as_the_hub_spells_their_repository(hub: HubServer, client: HubClient) -> None:
    hub.repositories["A/Gemma-gguf"] = hub.add("a/gemma-GGUF", GEMMA)
    page = client.open_repo("A/Gemma-gguf")
    offered = [each.files for each in page.quantisations] + [each.files for each in page.drafters]
    assert {file.repo for files in offered for file in files} == {"a/gemma-GGUF"}


def test_a_mirror_without_sizes_is_asked_for_its_tree(hub: HubServer, client: HubClient) -> None:
    hub.page_size = 2  # the tree comes in pages too
    siblings = [{"rfilename": path} for path in GEMMA]
    hub.add("a/gemma-GGUF", GEMMA).facts_of = _without_sizes(siblings)  # type: ignore[method-assign]
    page = client.open_repo("a/gemma-GGUF")
    assert [q.size_bytes for q in page.quantisations] == [100, 200]
    assert all(file.is_pinned for q in page.quantisations for file in q.files)


def _without_sizes(siblings: list[dict[str, str]]):  # type: ignore[no-untyped-def]
    def facts_of(commit, *, blobs=False):  # type: ignore[no-untyped-def]
        return {"id": "a/gemma-GGUF", "sha": commit.sha, "siblings": siblings}

    return facts_of


def test_a_gated_repository_shows_its_page_and_says_so(hub: HubServer, client: HubClient) -> None:
    hub.add("a/gemma-GGUF", GEMMA, gated="auto")
    page = client.open_repo("a/gemma-GGUF")
    assert page.model.gate == "auto"
    assert page.readme == ""
    assert page.bundle(page.quantisations[0], page.drafters[0]).is_gated


def test_a_private_repository_needs_a_token(
    hub: HubServer, client: HubClient, client_with: Callable[[str], HubClient]
) -> None:
    repo = hub.add("a/secret-GGUF", GEMMA, private=True)
    repo.readers.add("me")
    hub.users[TOKEN] = "me"
    with pytest.raises(RepositoryNotFound, match="or it is private") as caught:
        client.open_repo("a/secret-GGUF")
    assert "token" in caught.value.remedy
    assert client_with(TOKEN).open_repo("a/secret-GGUF").readme == "# Gemma\n\nA model."


def test_a_repository_that_is_not_there_is_told_by_its_name(
    hub: HubServer, client_with: Callable[[str], HubClient]
) -> None:
    hub.users[TOKEN] = "me"
    with pytest.raises(RepositoryNotFound, match="“a/nothing”"):
        client_with(TOKEN).open_repo("a/nothing")


@pytest.mark.parametrize(
    "repo", ["", "name", "a/b/c", "a/../b", "../x", "a/b?x=1", "a/ b", "é/b", "a/" + "b" * 200]
)
def test_what_cannot_be_a_repository_is_not_asked_for(hub: HubServer, client: HubClient, repo: str) -> None:
    with pytest.raises(BadOption, match="not the name of a repository"):
        client.open_repo(repo)
    assert hub.log == ()


def test_a_token_is_known_by_its_user(
    hub: HubServer, client: HubClient, client_with: Callable[[str], HubClient]
) -> None:
    hub.users[TOKEN] = "me"
    assert client_with(TOKEN).whoami() == "me"
    assert client.whoami() == ""


def test_a_wrong_token_is_refused_with_a_sentence(
    hub: HubServer, client_with: Callable[[str], HubClient]
) -> None:
    with pytest.raises(TokenRefused) as caught:
        client_with("hf_wrongwrong").whoami()
    assert "hf_wrongwrong" not in str(vars(caught.value))


def test_facts_of_files_come_at_a_revision_and_leave_out_what_is_not_there(
    hub: HubServer, client: HubClient
) -> None:
    repo = hub.add("a/gemma-GGUF", GEMMA)
    first = repo.head.sha
    repo.commit({"gemma-4-E4B-it-Q4_K_M.gguf": b"new"})
    facts = client.file_facts("a/gemma-GGUF", ["gemma-4-E4B-it-Q4_K_M.gguf", "no.gguf"], first)
    assert [(path, file.size_bytes) for path, file in facts.items()] == [("gemma-4-E4B-it-Q4_K_M.gguf", 100)]
    assert client.head_of("a/gemma-GGUF")[0] == repo.head.sha


def test_a_page_is_given_up_between_two_requests(hub: HubServer, client: HubClient) -> None:
    hub.add("a/gemma-GGUF", GEMMA)
    with pytest.raises(Cancelled):
        client.open_repo("a/gemma-GGUF", lambda: True)
    assert len(requests_of(hub, 1)) == 1


def test_a_readme_is_bounded(hub: HubServer, client: HubClient) -> None:
    hub.add("a/long-GGUF", {"m-Q4_0.gguf": b"x", "README.md": b"a" * (MAX_README_CHARS + 10)})
    assert len(client.open_repo("a/long-GGUF").readme) == MAX_README_CHARS


def test_the_token_goes_to_the_hub_and_not_to_another_host(
    hub: HubServer, connection_with: Callable[[str], Connection]
) -> None:
    """The server refuses a request to its storage that bears a token."""
    hub.users[TOKEN] = "me"
    hub.add("a/model-GGUF", {"m-Q4_0.gguf": b"x" * 10})
    connection = connection_with(TOKEN)
    assert connection.get("/a/model-GGUF/resolve/main/m-Q4_0.gguf").body == b"x" * 10
    assert [(served.is_storage, served.has_token) for served in requests_of(hub, 2)] == [
        (False, True),
        (True, False),
    ]


def test_a_gated_file_is_refused_with_the_place_where_to_accept_its_terms(
    hub: HubServer, connection_with: Callable[[str], Connection]
) -> None:
    hub.add("a/gated-GGUF", {"m-Q4_0.gguf": b"x"}, gated="auto")
    hub.users[TOKEN] = "me"
    connection = connection_with(TOKEN)
    with pytest.raises(GatedRepository, match="has no access to “a/gated-GGUF” yet") as caught:
        connection.get("/a/gated-GGUF/resolve/main/m-Q4_0.gguf", repo="a/gated-GGUF")
    assert connection.page_url("a/gated-GGUF") in caught.value.remedy
