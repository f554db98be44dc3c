"""docs/complaints.md names tests: they exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_test_that_the_complaints_name_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "complaints.md").read_text(encoding="utf-8")))
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    defined = {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.MULTILINE)}
    assert len(named) > 10
    assert named - defined == set()
