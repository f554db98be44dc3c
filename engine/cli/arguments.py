"""What can be typed after `slipstream`, and what it means."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from engine.budget.budget import KvType
from engine.cli.drafter_argument import AUTO, TypedDrafter, parse_drafters
from engine.cli.more_commands import add_more
from engine.errors import BadOption
from engine.shelf.walk import is_encodable
from engine.speculation.settings import (
    GenerationSettings,
    SamplingSettings,
    check_generation,
)
from engine.version import slipstream_version
from engine.worker.messages import LoadSettings

DEFAULT_CLI_MAX_TOKENS = 128
_MIN_CONTEXT = 64
_MAX_CONTEXT = 2**31 - 1
_MAX_THREADS = 1024

_EPILOG = """\
exit codes:
  0    it worked
  1    it failed; a sentence on standard error says what and what can be done
  2    wrong usage; nothing was loaded
  130  stopped with Ctrl-C; with --json what there was is printed, as "cancelled"
  141  whoever read the output went away
  143  stopped with SIGTERM, as for Ctrl-C

Without a command `slipstream` opens its window.
"""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `compare` and `generate` do. One of the prompts is set.

    `target` and `bundle` None: the starter model. A drafter that was not typed is the bundle's, or n-gram.
    """

    target: str | None
    drafter: TypedDrafter
    prompt: str | None
    prompt_file: str | None
    system: str | None
    raw: bool
    generation: GenerationSettings
    load: LoadSettings
    as_json: bool
    verbose: bool
    bundle: str | None = None
    grammar_file: str | None = None
    schema_file: str | None = None


@dataclass(frozen=True, slots=True)
class Arguments:
    """A command; `run` is set for `compare` and `generate`, `act` for a command that brought its own."""

    command: str
    as_json: bool = False
    verbose: bool = False
    run: RunOptions | None = None
    act: Callable[[], int] | None = None


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Return what `argv` asks for.

    Raises BadOption for a value out of range and SystemExit as argparse does: 2 for wrong usage, 0 after
    --help and --version.
    """
    given = _parser(argv).parse_args(argv)
    if given.command in ("compare", "generate"):
        return Arguments(given.command, given.json, given.verbose, _run_options(given))
    if hasattr(given, "act"):
        return Arguments(given.command, given.json, given.verbose, act=partial(given.act, given))
    return Arguments(given.command, getattr(given, "json", False), given.verbose)


def parse_draft_length(value: str) -> int | None:
    """Return the draft length that `value` is, None for "auto": the controller decides before each round."""
    if value == AUTO:
        return None
    try:
        return int(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{value}” is neither a number of tokens nor auto") from None


def _run_options(given: argparse.Namespace) -> RunOptions:
    sampling = SamplingSettings(
        temperature=given.temperature,
        top_k=given.top_k,
        top_p=given.top_p,
        min_p=given.min_p,
        repeat_penalty=given.repeat_penalty,
        seed=given.seed,
    )
    generation = GenerationSettings(sampling, given.max_tokens, given.draft, tuple(given.stop))
    check_generation(generation)
    check_text(
        given,
        ("target", "bundle", "drafter", "prompt", "prompt_file", "system", "stop", "grammar", "json_schema"),
    )
    if given.raw and given.system is not None:
        raise BadOption("--raw sends the prompt as it is, so --system has no place in it.")
    return RunOptions(
        target=given.target,
        drafter=parse_drafters(given.drafter),
        prompt=given.prompt,
        prompt_file=given.prompt_file,
        system=given.system,
        raw=given.raw,
        generation=generation,
        load=load_settings(given),
        as_json=given.json,
        verbose=given.verbose,
        bundle=given.bundle,
        grammar_file=given.grammar,
        schema_file=given.json_schema,
    )


def check_text(given: argparse.Namespace, options: Sequence[str]) -> None:
    """Refuse what Python could not decode from the command line and carries as lone surrogates."""
    for option in options:
        value = getattr(given, option)
        for text in value if isinstance(value, list) else [value or ""]:
            if not is_encodable(text):
                raise BadOption(f"The text of --{option.replace('_', '-')} is not valid UTF-8.")


def load_settings(given: argparse.Namespace) -> LoadSettings:
    """Return how to load, from the options of `add_model_options`; raises BadOption for a value out of range."""
    if given.target == "":
        raise BadOption("The target must be the path of a GGUF file, or a name.")
    if given.context and not _MIN_CONTEXT <= given.context <= _MAX_CONTEXT:
        raise BadOption(
            f"The context must be between {_MIN_CONTEXT} and {_MAX_CONTEXT} tokens, or 0 for the model's own."
        )
    if not 0 <= given.threads <= _MAX_THREADS:
        raise BadOption(f"The number of threads must be between 1 and {_MAX_THREADS}, or 0 to choose for me.")
    if not -1 <= given.gpu_layers <= _MAX_CONTEXT:
        raise BadOption("The number of layers on the GPU must be 0 or more, or -1 for all.")
    return LoadSettings(
        given.context, given.threads, given.gpu_layers, not given.load_anyway, KvType(given.kv)
    )


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slipstream",
        description="Local language models with speculative decoding, and what it buys.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"slipstream {slipstream_version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, summary in (
        ("compare", "answer one prompt with and without speculation, and compare"),
        ("generate", "answer one prompt"),
    ):
        _add_run_options(commands.add_parser(name, help=summary, description=summary, allow_abbrev=False))
    devices = commands.add_parser("devices", help="list what llama.cpp can compute on", allow_abbrev=False)
    devices.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    doctor = commands.add_parser(
        "doctor", help="check this installation and say what is wrong", allow_abbrev=False
    )
    add_more(commands, argv)
    for parser_of in (devices, doctor):
        parser_of.add_argument("--verbose", action="store_true", help="also print the details of an error")
    return parser


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    add_model_options(parser)
    _add_prompt_options(parser)
    _add_sampling_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    output.add_argument("--verbose", action="store_true", help="also print what llama.cpp reports")


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which models are loaded and how."""
    models = parser.add_argument_group("models")
    what = models.add_mutually_exclusive_group()
    what.add_argument("--target", metavar="FILE|NAME", help="the model (default: the starter model)")
    what.add_argument(
        "--bundle", metavar="NAME", help="a model with its drafter, see `slipstream models list`"
    )
    models.add_argument(
        "--drafter",
        action="append",
        metavar="FILE|NAME|mtp|ngram|auto|none",
        help="what proposes tokens (default: the bundle's, or ngram); mtp is the head inside the model, auto the best "
        "that is here; ngram may be given beside another",
    )
    models.add_argument(
        "--context",
        type=int,
        metavar="N",
        default=0,
        help="tokens that fit (default: the model's own, at most 8192)",
    )
    models.add_argument("--threads", type=int, metavar="N", default=0, help="default: chosen while running")
    models.add_argument(
        "--gpu-layers", type=int, metavar="N", default=-1, help="layers on the GPU (default: -1, all)"
    )
    models.add_argument(
        "--kv",
        choices=[str(kind) for kind in KvType],
        default=str(KvType.F16),
        help="how caches store a number; the smaller ones save memory (default: f16)",
    )
    models.add_argument("--load-anyway", action="store_true", help="load even if memory seems too small")


def _add_prompt_options(parser: argparse.ArgumentParser) -> None:
    asked = parser.add_argument_group("prompt")
    prompt = asked.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="what to answer")
    prompt.add_argument(
        "--prompt-file", metavar="F", help="the file with what to answer, - for standard input"
    )
    asked.add_argument("--system", metavar="TEXT", help="how to answer, as a system message")
    asked.add_argument(
        "--raw", action="store_true", help="send the prompt as it is, without the chat template"
    )


def _add_sampling_options(parser: argparse.ArgumentParser) -> None:
    defaults = SamplingSettings()
    group = parser.add_argument_group("generation")
    for flag, kind, default, text in (
        ("--max-tokens", int, DEFAULT_CLI_MAX_TOKENS, "most tokens of the answer"),
        ("--temperature", float, defaults.temperature, "0 always takes the most likely token"),
        ("--top-k", int, defaults.top_k, "only the K most likely tokens, 0 for all"),
        ("--top-p", float, defaults.top_p, "only the most likely tokens that make up P, 1 for all"),
        ("--min-p", float, defaults.min_p, "only tokens at least P times as likely as the first, 0 for all"),
        ("--repeat-penalty", float, defaults.repeat_penalty, "above 1 makes repetition less likely"),
    ):
        group.add_argument(
            flag,
            type=kind,
            metavar=(kind is int and "N") or "X",
            default=default,
            help=f"{text} (default: {default})",
        )
    group.add_argument(
        "--draft",
        type=parse_draft_length,
        metavar="N|auto",
        help="tokens drafted per round, 0 to 16 (default: auto, decided before each round by what it costs and gains)",
    )
    group.add_argument(
        "--seed", type=int, metavar="S", help="the same seed gives the same answer (default: a new one)"
    )
    group.add_argument(
        "--stop", metavar="TEXT", action="append", default=[], help="end at this text; may be repeated"
    )
    held_to = group.add_mutually_exclusive_group()
    held_to.add_argument(
        "--grammar", metavar="FILE", help="the answer is one that this grammar (GBNF) allows"
    )
    held_to.add_argument("--json-schema", metavar="FILE", help="the answer is JSON that fits this schema")
