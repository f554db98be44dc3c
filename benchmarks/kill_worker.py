"""Kill the worker at random moments of a race in a real window, again and again: what stays, what leaks?

    python -m benchmarks.kill_worker [--kills 50] [--seed 1]

Runs the window itself (set QT_QPA_PLATFORM=offscreen where there is no display) on the starter model. Each time the
worker is killed with SIGKILL somewhere between the press of Run and the end of the race; then the partial text must
stand, the next race must run to its end, and no process may be left over.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil
from PySide6.QtWidgets import QApplication

from app.main import open_window
from app.pages.compare_run import RunPhase
from app.tune.engine_bench import engine_bench
from app.window import Window
from benchmarks.report import machine_line, table
from engine.desk.desk import ModelsDesk
from engine.service import Service
from engine.shelf.shelf import list_installed

PATIENCE_S = 120.0
PROMPT = "Count from one to twenty in words."


@dataclass(frozen=True)
class Kill:
    """`after_s` after Run was pressed; `characters` of partial text then; memory of the window's process afterwards."""

    after_s: float
    characters: int
    text_stayed: bool
    finished_next: bool
    processes: int
    rss_bytes: int
    open_files: int


class Trial:
    def __init__(self, app: QApplication, window: Window) -> None:
        self._app = app
        self._window = window
        self._me = psutil.Process()

    def wait_until(self, holds: Callable[[], bool], timeout_s: float = PATIENCE_S) -> bool:
        deadline_s = time.monotonic() + timeout_s
        while not holds() and time.monotonic() < deadline_s:
            self._app.processEvents()
            time.sleep(0.002)
        return holds()

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes; the resource tracker of multiprocessing is none."""
        return [p for p in self._me.children(recursive=True) if "spawn_main" in " ".join(p.cmdline())]

    def race(self) -> bool:
        page = self._window.compare
        page.start()
        return self.wait_until(lambda: page.run.phase is RunPhase.IDLE) and page.run.race is not None

    def kill_once(self, after_s: float) -> Kill:
        page = self._window.compare
        page.start()
        began_s = time.monotonic()
        self.wait_until(lambda: time.monotonic() - began_s >= after_s)
        text = page.plain.view.toPlainText()
        for process in self.workers():
            process.kill()
        self.wait_until(lambda: page.run.phase is RunPhase.IDLE)
        stayed = page.plain.view.toPlainText().startswith(text)
        finished = self.race() and page.run.race is not None and page.run.race.plain.is_finished
        return Kill(
            after_s,
            len(text),
            stayed,
            finished,
            len(self.workers()),
            self._me.memory_info().rss,
            self._me.num_fds() if hasattr(self._me, "num_fds") else 0,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    app = QApplication(sys.argv[:1])
    service = Service()
    window = open_window(app, service, list_installed, ModelsDesk(), engine_bench())
    trial = Trial(app, window)
    window.compare.prompt.edit.replace_text(PROMPT)
    while not trial.race():  # until the installed models are listed and one is chosen
        trial.wait_until(lambda: False, timeout_s=0.1)
    began_s = time.monotonic()
    trial.race()
    usual_s = time.monotonic() - began_s
    kills = []
    for number in range(options.kills):
        kills.append(trial.kill_once(chance.uniform(0.0, usual_s)))
        print(f"{number + 1} of {options.kills}: {kills[-1]}", flush=True)
    window.close()
    service.stop()
    print(machine_line())
    print(summary(kills))
    print(f"processes left: {len(trial.workers())}")


def summary(kills: list[Kill]) -> str:
    half = len(kills) // 2
    mib = [kill.rss_bytes / 2**20 for kill in kills]
    rows = [
        ("kills", len(kills)),
        ("partial text stayed", sum(kill.text_stayed for kill in kills)),
        ("next race finished", sum(kill.finished_next for kill in kills)),
        ("kills in the middle of text", sum(kill.characters > 0 for kill in kills)),
        ("most workers at once", max(kill.processes for kill in kills)),
        ("memory of the window, first half, MiB", f"{statistics.median(mib[:half]):.1f}"),
        ("memory of the window, second half, MiB", f"{statistics.median(mib[half:]):.1f}"),
        ("open files, first and last", f"{kills[0].open_files}, {kills[-1].open_files}"),
    ]
    return table(("what", "value"), rows)


if __name__ == "__main__":
    main()
