"""What holds for every test."""

from __future__ import annotations

import os

# Loads made by tests leave no trace among the person's own.
os.environ["SLIPSTREAM_MEMORY_RECORD"] = ""
