"""Reads the files that are named on standard input, one a line, and prints what came of each as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import psutil

from engine.errors import SlipstreamError
from engine.models.facts import read_facts
from engine.models.pairing import judge


def read(path: Path) -> str:
    """Return "read", or "refused" for an error with words for people."""
    try:
        facts = read_facts(path)
    except SlipstreamError as error:
        return "refused" if error.sentence.endswith(".") and len(error.sentence) < 300 else error.sentence
    judge(facts, facts)
    judge(TARGET, facts)
    return "read"


TARGET = read_facts(Path(sys.argv[1]))

for line in sys.stdin:
    began = time.process_time()
    outcome = read(Path(line.rstrip("\n")))
    took_s = time.process_time() - began
    info = psutil.Process().memory_info()
    peak_bytes = getattr(info, "peak_wset", 0)
    if sys.platform != "win32":
        import resource

        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
            1 if sys.platform == "darwin" else 1024
        )
    print(json.dumps({"outcome": outcome, "took_s": took_s, "peak_bytes": peak_bytes}), flush=True)
