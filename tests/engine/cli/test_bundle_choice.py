"""Models by name in `compare` and `generate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli.arguments import RunOptions, parse_arguments
from engine.cli.bundle_choice import choose_bundle
from engine.errors import DamagedDownload, NoSuchModel
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.recommend.advice import SpeedRange
from engine.recommend.store import own_figures
from engine.shelf.installed_model import InstalledModel, Place
from tests.engine.cli.slipstream import LLAMA, assert_plain_failure, slipstream

DRAFT = DrafterChoice(DrafterKind.MODEL, "/d.gguf")
PAIR = InstalledModel("pair", Bundle("The pair", "/t.gguf", DRAFT), Place.DOWNLOADED, 1)
HEAD = InstalledModel("head", Bundle("A head", "/h.gguf", DrafterChoice(DrafterKind.MTP)), Place.FOLDER, 1)


def options(*typed: str) -> RunOptions:
    run = parse_arguments(["compare", "--prompt", "a", *typed]).run
    assert run is not None
    return run


def choose(*typed: str) -> Bundle:
    return choose_bundle(options(*typed), lambda: (PAIR, HEAD))


def test_a_bundle_brings_its_drafter() -> None:
    assert choose("--bundle", "pair") == PAIR.bundle
    assert options("--bundle", "pair").generation.draft_length is None


def test_what_is_typed_counts_more_than_what_the_bundle_has() -> None:
    assert choose("--bundle", "pair", "--drafter", "none").drafter == NO_DRAFTER
    assert choose("--bundle", "pair", "--drafter", "ngram").drafter == NGRAM_DRAFTER
    assert options("--bundle", "pair", "--draft", "2").generation.draft_length == 2


def test_target_and_drafter_may_be_names_too() -> None:
    bundle = choose("--target", "pair", "--drafter", "head")
    assert (bundle.target, bundle.drafter) == ("/t.gguf", DrafterChoice(DrafterKind.MODEL, "/h.gguf"))


def test_a_file_is_a_file_without_looking_for_models(tmp_path: Path) -> None:
    def unasked() -> tuple[InstalledModel, ...]:
        raise AssertionError("nobody has to look for models")

    (tmp_path / "pair").touch()
    for path in (LLAMA, str(tmp_path / "pair")):
        bundle = choose_bundle(options("--target", path), unasked)
        assert (bundle.name, bundle.target) == (Path(path).stem, path)


def test_what_looks_like_a_path_is_left_to_the_checks_of_files(tmp_path: Path) -> None:
    for path in ("gone.gguf", str(tmp_path / "gone")):
        assert choose("--target", path).target == path
    for typed in (("--target", "gone"), ("--bundle", "gone.gguf"), ("--drafter", "gone")):
        with pytest.raises(NoSuchModel):
            choose(*typed)


def test_a_bundle_of_the_catalogue_that_is_not_here_is_told_how_to_get() -> None:
    with pytest.raises(NoSuchModel, match="“qwen3-8b” is in the catalogue") as told:
        choose("--bundle", "Qwen3-8B")
    assert told.value.remedy == "Get it first: slipstream models download qwen3-8b"


def test_what_is_not_whole_is_not_loaded() -> None:
    half = InstalledModel("half", Bundle("Half", ""), Place.DOWNLOADED, 1, trouble="paused at 14%")
    with pytest.raises(DamagedDownload, match="“half” cannot be used: paused at 14%") as told:
        choose_bundle(options("--bundle", "half"), lambda: (half,))
    assert "slipstream models download half" in told.value.remedy


def test_a_bundle_and_a_target_at_once_are_wrong_usage() -> None:
    with pytest.raises(SystemExit):
        options("--bundle", "a", "--target", "b")


def test_a_model_of_the_persons_is_compared_by_its_name(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "Tiny-1M.gguf").write_bytes(Path(LLAMA).read_bytes())
    places = {
        name: str(tmp_path) for name in ("HOME", "USERPROFILE", "SLIPSTREAM_DATA_DIR", "SLIPSTREAM_CACHE_DIR")
    }
    places["SLIPSTREAM_MODELS_DIR"] = str(models)
    run = ("--prompt", "def a", "--threads", "1", "--context", "256", "--max-tokens", "48")
    outcome = slipstream("compare", "--bundle", "tiny", *run, "--json", environment=places)
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["target"] == str(models / "Tiny-1M.gguf")
    # What it reached is this computer's own figure from now on.
    figures = own_figures(Bundle("", told["target"]), tmp_path)
    reached = [lane["tokens_per_s"] for lane in told["lanes"]]
    assert figures.plain == SpeedRange(reached[0], reached[0], is_measured=True)
    assert figures.speculative == SpeedRange(reached[1], reached[1], is_measured=True)
    refused = slipstream("compare", "--bundle", "tini-1m", *run, environment=places)
    assert_plain_failure(refused, 1)
    assert "Did you mean “Tiny-1M”?" in refused.err
