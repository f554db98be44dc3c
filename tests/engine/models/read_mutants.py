"""Reads the files that are named on standard input, one a line, and prints what came of each as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import msgspec
import psutil

from engine.budget.budget import BudgetQuestion, KvType
from engine.budget.estimated import EstimatedFiles, estimated_budget
from engine.errors import SlipstreamError
from engine.models.bundle import NO_DRAFTER
from engine.models.description import Device
from engine.models.facts import read_facts
from engine.models.gguf_header import read_header
from engine.models.pairing import judge
from engine.recommend.local_memory import LocalMemoryCache


def read(path: Path) -> str:
    """Return "read", or "refused" for an error with words for people."""
    try:
        facts = read_facts(path)
    except SlipstreamError as error:
        return "refused" if error.sentence.endswith(".") and len(error.sentence) < 300 else error.sentence
    judge(facts, facts)
    judge(TARGET, facts)
    return "read"


def has_budget(path: Path) -> bool:
    """Whether a budget can be estimated, which must then be one that can be sent; and so what a list needs."""
    LocalMemoryCache(path.with_suffix(".json")).memory(str(path))
    header = read_header(path)
    question = BudgetQuestion(str(path), NO_DRAFTER, kv_types=tuple(KvType), race=True)
    try:
        found = estimated_budget(question, EstimatedFiles(header, header, "CPU"), COMPUTER)
    except SlipstreamError:
        return False
    msgspec.msgpack.encode(found)
    return True


def peak_bytes() -> int:
    """Return the most memory that this process has ever had.

    Linux hands a parent's getrusage peak on to what it starts, so the high-water mark of this address space is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) * 1024
    info = psutil.Process().memory_info()
    return int(getattr(info, "peak_wset", info.rss))


TARGET = read_facts(Path(sys.argv[1]))
COMPUTER = (Device("CPU", "a computer", "cpu", 8 << 30, 8 << 30),)

for line in sys.stdin:
    began = time.process_time()
    path = Path(line.rstrip("\n"))
    outcome = read(path)
    took_s = time.process_time() - began
    if outcome == "read" and not has_budget(path):
        outcome = "read without a budget"
    budget_s = time.process_time() - began - took_s
    told = {"outcome": outcome, "took_s": took_s, "budget_s": budget_s, "peak_bytes": peak_bytes()}
    print(json.dumps(told), flush=True)
