"""`slipstream compare` and `slipstream generate`."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
from pathlib import Path

from engine.cli.arguments import RunOptions
from engine.cli.bundle_choice import choose_bundle
from engine.cli.client import EngineClient
from engine.cli.constraint import constrained
from engine.cli.live import Live, Sections, Silent, race_display
from engine.cli.loading import load, note
from engine.cli.prompt import read_prompt
from engine.cli.recording import Recording
from engine.cli.summary import difference_sentence, summary_table
from engine.cli.terminal import write_json
from engine.measure.explain import explain, has_mostly_skipped
from engine.measure.report import BASELINE, SPECULATIVE, DifferenceReport, as_json, lane_report, run_report
from engine.measure.verdict import verdict
from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.recommend.races import telling_speeds
from engine.recommend.store import remember_race
from engine.service import EngineService, Service
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import PLAIN_LANE, SPECULATIVE_LANE, Prompt

_NAMES = {PLAIN_LANE: BASELINE, SPECULATIVE_LANE: SPECULATIVE}
_EXIT_SIGNAL_BASE = 128
_CAUSES: dict[int, str] = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


def run_lanes(options: RunOptions, *, is_race: bool) -> int:
    """Answer with one lane or with two, print what the options ask for and return the exit code.

    Raises SlipstreamError where it fails and Interrupted where a signal came before anything could be shown.
    """
    bundle = choose_bundle(options)
    prompt, settings = read_prompt(options), constrained(options)
    with EngineClient(Service()) as client:
        load(client, bundle, options)
        lanes = _lanes(bundle.drafter, is_race)
        recording = Recording(lanes, _display(options, bundle.drafter, lanes, is_race))
        try:
            for event in client.run(lambda service: _submit(service, prompt, settings, lanes)):
                recording.take(event)
                note(event, verbose=options.verbose)
        finally:
            # However it ends: what a lane has said is shown, and its last line is a whole one.
            recording.close()
        interrupted_by = client.interrupted_by
        if recording.is_empty and not options.as_json:
            client.raise_if_interrupted()
    if interrupted_by:
        print(f"slipstream: stopped by {_CAUSES[interrupted_by]}; this is what there was.", file=sys.stderr)
    if is_race:
        _remember(bundle, recording)
    _print_result(options, bundle, recording, is_race)
    return _EXIT_SIGNAL_BASE + interrupted_by if interrupted_by else 0


def _lanes(drafter: DrafterChoice, is_race: bool) -> tuple[int, ...]:
    if is_race:
        return (PLAIN_LANE, SPECULATIVE_LANE)
    return (PLAIN_LANE,) if drafter.kind is DrafterKind.NONE else (SPECULATIVE_LANE,)


def _display(options: RunOptions, drafter: DrafterChoice, lanes: tuple[int, ...], is_race: bool) -> Live:
    if options.as_json:
        return Silent()
    if not is_race:
        return Sections(lanes, {})
    name = Path(drafter_name(drafter)).name
    titles = {PLAIN_LANE: "baseline", SPECULATIVE_LANE: f"speculative, {name}"}
    # Where only one can be streamed, it is the one that people came for.
    return race_display((SPECULATIVE_LANE, PLAIN_LANE), titles, shutil.get_terminal_size().lines)


def drafter_name(drafter: DrafterChoice) -> str:
    """Return the drafter's file, or its kind where it has none, and n-gram if that is beside it."""
    name = drafter.path or str(drafter.kind)
    return f"{name} + ngram" if drafter.with_ngram and drafter.kind.has_weights else name


def _submit(
    service: EngineService, prompt: Prompt, settings: GenerationSettings, lanes: tuple[int, ...]
) -> int:
    if len(lanes) > 1:
        return service.race(prompt, settings)
    return service.generate(prompt, settings, speculative=lanes == (SPECULATIVE_LANE,))


def _remember(bundle: Bundle, recording: Recording) -> None:
    """Have `models recommend` know this computer's own figures from now on."""
    speeds = telling_speeds(recording.metrics[PLAIN_LANE], recording.metrics[SPECULATIVE_LANE])
    if speeds is not None:
        with contextlib.suppress(OSError):
            remember_race(bundle, *speeds)


def _print_result(options: RunOptions, bundle: Bundle, recording: Recording, is_race: bool) -> None:
    if options.as_json:
        reports = [
            lane_report(_NAMES[lane], recording.rounds[lane], recording.tails[lane])
            for lane in recording.lanes
        ]
        parted = recording.first_difference
        difference = DifferenceReport(parted.index, parted.logit_gap) if parted is not None else None
        name = drafter_name(bundle.drafter)
        report = run_report(bundle.target, name, recording.n_prompt_tokens, reports, difference)
        write_json(as_json(report))
        return
    # The text of one lane is for pipes; what there is to say about it is not.
    out = sys.stdout if is_race else sys.stderr
    metrics = [recording.metrics[lane] for lane in recording.lanes]
    print(f"\n{summary_table([_NAMES[lane] for lane in recording.lanes], metrics)}", file=out)
    if is_race:
        is_complete = recording.is_complete
        found = verdict(metrics[0], metrics[1], is_final=is_complete)
        if is_complete or found.speedup is not None:
            print(f"\n{found.sentence}", file=out)
        if has_mostly_skipped(recording.rounds[SPECULATIVE_LANE]):
            print(explain(recording.rounds[SPECULATIVE_LANE]), file=out)
        if options.generation.sampling.is_greedy:
            print(difference_sentence(recording.first_difference, is_complete=is_complete), file=out)
