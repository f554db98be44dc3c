from __future__ import annotations

import pytest

from engine.cli.arguments import parse_arguments
from engine.cli.command import main
from engine.cli.drafter_argument import TypedDrafter


@pytest.mark.parametrize(
    "options",
    [
        ("--draft", "17"),
        ("--draft", "-1"),
        ("--temperature", "-0.1"),
        ("--temperature", "nan"),
        ("--temperature", "1e-38"),
        ("--top-k", "-1"),
        ("--top-p", "0"),
        ("--min-p", "1"),
        ("--max-tokens", "0"),
        ("--seed", "-1"),
        ("--context", "-5"),
        ("--context", "8"),
        ("--threads", "-1"),
        ("--gpu-layers", "-2"),
        ("--repeat-penalty", "0"),
        ("--stop", ""),
        ("--drafter", ""),
        ("--target", ""),
        ("--target", "/tmp/\udcff.gguf"),
        ("--drafter", "/tmp/\udcff.gguf"),
        ("--stop", "\udcff"),
    ],
)
def test_a_value_out_of_range_is_refused_before_anything_loads(
    options: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--prompt", "Hello", "--target", "/nowhere.gguf", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("slipstream: ")
    assert captured.err.strip().endswith(".")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["dance"],
        ["compare"],
        ["compare", "--prompt", "a", "--prompt-file", "b"],
        ["compare", "--prompt", "a", "--draft", "many"],
        ["compare", "--prompt", "a", "--dra", "3"],
    ],
)
def test_wrong_usage_ends_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        parse_arguments(argv)
    assert ending.value.code == 2
    assert "usage: slipstream" in capsys.readouterr().err


def test_help_documents_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        parse_arguments(["--help"])
    assert ending.value.code == 0
    text = capsys.readouterr().out
    assert all(code in text for code in ("130", "141", "143", "compare", "doctor"))


def test_options_reach_their_settings() -> None:
    typed = (
        "generate --prompt a --drafter d.gguf --draft 5 --top-k 9 --top-p 0.5 --min-p 0.1 --temperature 0.7 "
        "--seed 3 --context 512 --threads 2 --gpu-layers 0 --max-tokens 7 --stop x --system s --json"
    )
    options = parse_arguments(typed.split()).run
    assert options is not None
    sampling = options.generation.sampling
    assert (sampling.top_k, sampling.top_p, sampling.min_p) == (9, 0.5, 0.1)
    assert (sampling.temperature, sampling.seed) == (0.7, 3)
    assert (options.generation.draft_length, options.generation.max_tokens) == (5, 7)
    assert options.generation.stop == ("x",)
    assert (options.load.n_ctx, options.load.n_threads, options.load.n_gpu_layers) == (512, 2, 0)
    assert options.drafter == TypedDrafter("d.gguf")
    assert (options.system, options.as_json) == ("s", True)


@pytest.mark.parametrize(
    ("typed", "draft_length"), [((), None), (("--draft", "auto"), None), (("--draft", "5"), 5)]
)
def test_the_draft_length_is_auto_unless_it_is_typed(
    typed: tuple[str, ...], draft_length: int | None
) -> None:
    options = parse_arguments(["compare", "--prompt", "a", *typed]).run
    assert options is not None
    assert options.generation.draft_length == draft_length


def test_a_system_message_has_no_place_in_a_raw_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--prompt", "a", "--raw", "--system", "b"]) == 2
    assert "--raw" in capsys.readouterr().err


def test_a_prompt_that_is_no_utf8_on_the_command_line_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--target", "/nowhere.gguf", "--prompt", "caf\udce9"]) == 2
    assert "UTF-8" in capsys.readouterr().err
