"""What `--drafter` means."""

from __future__ import annotations

import pytest

from engine.cli.drafter_argument import TypedDrafter, parse_drafters, settle_drafter
from engine.errors import BadOption
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, DrafterChoice, DrafterKind
from tests.engine.cli.slipstream import LLAMA
from tests.make_models.gguf_file import TRAINED

PAIRED = DrafterChoice(DrafterKind.MODEL, "/d.gguf")


def settled(
    *typed: str, default: DrafterChoice = NGRAM_DRAFTER, best: DrafterChoice = PAIRED
) -> DrafterChoice:
    return settle_drafter(parse_drafters(typed), LLAMA, default, lambda name: name, lambda target: best)


@pytest.mark.parametrize(
    ("what", "choice"),
    [("ngram", NGRAM_DRAFTER), ("none", NO_DRAFTER), ("mtp", DrafterChoice(DrafterKind.MTP))],
)
def test_drafters_without_a_file_have_names(what: str, choice: DrafterChoice) -> None:
    assert settled(what) == choice


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("llama-draft", DrafterKind.MODEL),
        ("llama-eagle3", DrafterKind.EAGLE3),
        ("llama-dflash", DrafterKind.DFLASH),
        ("llama-dspark", DrafterKind.DSPARK),
        ("mtp-qwen35", DrafterKind.MTP),
        ("mtp-gemma4", DrafterKind.MTP),
    ],
)
def test_the_kind_of_a_file_comes_from_its_header(file: str, kind: DrafterKind) -> None:
    path = str(TRAINED / f"{file}.gguf")
    assert settled(path) == DrafterChoice(kind, path)


def test_a_file_that_cannot_be_read_is_left_to_the_checks_of_files() -> None:
    assert settled("/nowhere.gguf") == DrafterChoice(DrafterKind.MODEL, "/nowhere.gguf")


def test_nothing_typed_is_what_the_bundle_has() -> None:
    assert settled(default=PAIRED) == PAIRED


def test_auto_is_the_bundles_drafter_or_the_best_that_is_here_with_ngram_beside_it() -> None:
    own = DrafterChoice(DrafterKind.MTP)
    assert settled("auto", default=own) == DrafterChoice(DrafterKind.MTP, with_ngram=True)
    assert settled("auto") == DrafterChoice(DrafterKind.MODEL, "/d.gguf", with_ngram=True)
    assert settled("auto", best=NGRAM_DRAFTER) == NGRAM_DRAFTER


@pytest.mark.parametrize("typed", [("ngram", LLAMA), (LLAMA, "ngram")])
def test_ngram_goes_beside_a_drafter_with_weights(typed: tuple[str, ...]) -> None:
    assert settled(*typed) == DrafterChoice(DrafterKind.MODEL, LLAMA, with_ngram=True)


@pytest.mark.parametrize(
    "typed",
    [("",), ("ngram", ""), ("ngram", "none"), ("ngram", "ngram"), ("a.gguf", "b.gguf"), ("ngram", "a", "b")],
)
def test_what_cannot_go_together_is_refused(typed: tuple[str, ...]) -> None:
    with pytest.raises(BadOption):
        parse_drafters(typed)


def test_no_option_is_nothing_typed() -> None:
    assert parse_drafters(None) == TypedDrafter()
