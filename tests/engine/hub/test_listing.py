"""What a choice on a repository's page makes."""

from __future__ import annotations

import pytest

from engine.bundles.names import check_bundle
from engine.hub.listing import DrafterOption, HubModel, HubRepo, Quantisation
from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteFile

TARGET = RemoteFile("a/m-GGUF", "m-Q4_0.gguf", "0" * 40, 10, "0" * 64)


def _drafter(path: str, repo: str = "a/m-GGUF") -> DrafterOption:
    return DrafterOption(DrafterKind.MTP, path, (RemoteFile(repo, path, "0" * 40, 1, "0" * 64),))


def _id(label: str, drafter: DrafterOption, *all_drafters: DrafterOption) -> str:
    quantisation = Quantisation(label, (TARGET,))
    page = HubRepo(HubModel("a/m-GGUF"), "0" * 40, (quantisation,), all_drafters)
    bundle = page.bundle(quantisation, drafter)
    check_bundle(bundle)
    return bundle.id


def test_bundles_that_differ_in_anything_have_different_ids() -> None:
    ngram = DrafterOption(DrafterKind.NGRAM, "n-gram")
    drafters = (
        _drafter("mtp-Q8_0.gguf"),
        _drafter("MTP/mtp-Q8_0.gguf"),
        _drafter("mtp-Q8_0.gguf", "b/m"),
        ngram,
    )
    ids = [_id(label, drafter, *drafters) for label in ("Q4_0", "Q8_0") for drafter in drafters]
    assert len(set(ids)) == len(ids)
    assert ids[3] == "a--m-GGUF--Q4_0"


def test_the_only_drafter_of_its_kind_has_a_short_id() -> None:
    drafter = _drafter("mtp-Q8_0.gguf")
    assert _id("Q4_0", drafter, drafter) == _id("Q4_0", drafter) == "a--m-GGUF--Q4_0--mtp"


@pytest.mark.parametrize("label", ["x" * 300, "a b", "a:b?", "weiß", "con.", "..", '"<>|*'])
def test_a_strange_file_name_makes_an_id_that_can_be_a_file_name(label: str) -> None:
    drafter = _drafter("mtp.gguf")
    assert _id(label, drafter) != _id(label + "!", drafter)
