"""200 downloads, each with a fault at a random place, killed and resumed at random: right, or a sentence."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from engine.bundles.store import file_path
from engine.download.line import Hub
from engine.download.manager import DownloadOptions
from engine.download.progress import DownloadProgress, DownloadState
from engine.models.remote import RemoteBundle
from tests.engine.download.kit import HASTY, Running, bundle_of, some_bytes
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.repository import Repository
from tests.hub_server.server import HubServer

ROOT = Path(__file__).parents[3]
N_DOWNLOADS = 200
N_IN_PROCESSES = 80
GROUP = 40
# Kinds and their weights: those that make what came worthless cost the whole file again, by nature.
KINDS = {
    FaultKind.RESET: 20,
    FaultKind.TRUNCATED: 20,
    FaultKind.STALLED: 12,
    FaultKind.SHORT_LENGTH: 12,
    FaultKind.LONG_LENGTH: 6,
    FaultKind.SLOW: 6,
    FaultKind.WHOLE: 8,
    FaultKind.NO_ETAG: 6,
    FaultKind.STATUS: 8,
    FaultKind.WRONG_BYTES: 1,
    FaultKind.CHANGED: 1,
}
FOR_GOOD = 0.03
"""The share of downloads whose fault strikes every time, so that they must end with a sentence."""


@dataclass
class Trial:
    bundle: RemoteBundle
    contents: tuple[bytes, ...]
    is_hopeless: bool


def _trials(hub: HubServer, dice: random.Random) -> list[Trial]:
    trials = []
    for number in range(N_DOWNLOADS):
        contents = (some_bytes(dice.randrange(60_000, 300_000), number), some_bytes(30_000, 1000 + number))
        repo = hub.add(f"some/model-{number}", {"a.gguf": contents[0], "d.gguf": contents[1]})
        bundle = bundle_of(repo, "a.gguf", drafter=("d.gguf",), bundle_id=f"bundle-{number}")
        is_hopeless = dice.random() < FOR_GOOD
        _add_faults(hub, repo, dice, is_hopeless)
        trials.append(Trial(bundle, contents, is_hopeless))
    return trials


def _add_faults(hub: HubServer, repo: Repository, dice: random.Random, is_hopeless: bool) -> None:
    path = f"{repo.id}/{dice.choice(['a.gguf', 'a.gguf', 'a.gguf', 'd.gguf'])}"
    length = len(repo.head.files[path.removeprefix(repo.id + "/")].content)
    if is_hopeless:
        kind = dice.choice([FaultKind.STATUS, FaultKind.RESET, FaultKind.WRONG_BYTES])
        hub.faults.add(Fault(kind, path, status=500, times=-1))
        return
    for _ in range(dice.choice([1, 1, 2])):
        (kind,) = dice.choices(list(KINDS), list(KINDS.values()))
        status, retry_after = dice.choice([(500, ""), (503, "0"), (429, "0"), (403, ""), (404, "")])
        hub.faults.add(
            Fault(
                kind,
                path,
                dice.randrange(length),
                bytes_per_s=400_000,
                status=status,
                retry_after=retry_after,
            )
        )


def _check(folder: Path, trial: Trial, end: DownloadProgress) -> None:
    if trial.is_hopeless:
        assert end.state is DownloadState.FAILED
    if end.state is DownloadState.FAILED:
        assert end.sentence, end
        assert end.remedy, end
    else:
        assert end.state is DownloadState.DONE
    for file, content in zip(trial.bundle.files, trial.contents, strict=True):
        path = file_path(folder, file)
        # Under its final name a file is right, or it is not there at all.
        assert not path.exists() or path.read_bytes() == content
        assert path.exists() or end.state is DownloadState.FAILED


def _run_in_processes(hub: HubServer, folder: Path, trials: list[Trial], dice: random.Random) -> int:
    """Run each group in processes that are killed after a random time; return how many were killed."""
    n_killed = 0
    for start in range(0, len(trials), GROUP):
        group = {trial.bundle.id: trial for trial in trials[start : start + GROUP]}
        ends: dict[str, DownloadProgress] = {}
        lives_s = [*(dice.uniform(0.02, 0.8) for _ in range(3)), 60.0]
        for life_s in lives_s:
            left = [trial.bundle for trial in group.values() if trial.bundle.id not in ends]
            was_killed, told = _run_process(hub, folder, left, life_s)
            n_killed += was_killed
            ends.update({end.id: end for end in told})
        assert ends.keys() == group.keys()
        for bundle_id, end in ends.items():
            _check(folder, group[bundle_id], end)
    return n_killed


def _run_process(
    hub: HubServer, folder: Path, bundles: list[RemoteBundle], life_s: float
) -> tuple[bool, list[DownloadProgress]]:
    if not bundles:
        return False, []
    wanted = folder.with_suffix(".json")
    wanted.write_bytes(msgspec.json.encode(bundles))
    command = [sys.executable, "-m", "tests.engine.download.fetch_until_killed"]
    hub.seen.clear()
    with subprocess.Popen(
        [*command, hub.endpoint, str(folder), str(wanted)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        # Its life begins with its first request, as starting Python takes longer than the downloads.
        hub.seen.wait(30.0)
        try:
            output, _ = process.communicate(timeout=life_s)
            was_killed = False
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            was_killed = True
    lines = [line for line in output.splitlines() if line.endswith("}")]
    return was_killed, [msgspec.json.decode(line, type=DownloadProgress) for line in lines]


def _run_here(folder: Path, hub: HubServer, trials: list[Trial], dice: random.Random) -> None:
    """Run in this process, pausing and resuming at random, with restarts of the manager between."""
    options = DownloadOptions(read_facts=None, transfer=HASTY, n_streams=8)
    running = Running(folder, Hub(hub.endpoint, lambda: None), options)
    for trial in trials:
        running.downloads.download(trial.bundle)
    deadline_s = time.monotonic() + 120
    ended = (DownloadState.DONE, DownloadState.FAILED)
    while time.monotonic() < deadline_s:
        time.sleep(0.02)
        alive = [p for p in running.downloads.progress() if p.state not in ended]
        if not alive:
            break
        for progress in alive:
            if progress.state is DownloadState.PAUSED:
                running.downloads.resume(progress.id)
            elif progress.state is not DownloadState.WAITING and dice.random() < 0.02:
                running.downloads.pause(progress.id)
    for trial, progress in zip(trials, running.downloads.progress(), strict=True):
        _check(folder, trial, progress)
    running.stop()


@pytest.mark.slow
def test_every_download_ends_right_or_with_a_sentence(tmp_path: Path, hub: HubServer) -> None:
    dice = random.Random(20_261_129)
    hub.bytes_per_s = 2_000_000
    trials = _trials(hub, dice)
    n_killed = _run_in_processes(hub, tmp_path / "killed", trials[:N_IN_PROCESSES], dice)
    assert n_killed >= 4
    _run_here(tmp_path / "paused", hub, trials[N_IN_PROCESSES:], dice)
    hopeful = [trial for trial in trials if not trial.is_hopeless]
    size_bytes = sum(len(content) for trial in hopeful for content in trial.contents)
    names = {trial.bundle.target[0].repo for trial in hopeful}
    fetched_bytes = sum(
        served.body_bytes for served in hub.log if "/".join(served.path.split("/")[1:3]) in names
    )
    assert fetched_bytes <= 1.1 * size_bytes
