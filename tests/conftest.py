"""What holds for every test."""

from __future__ import annotations

import os
import tempfile

# What loads leave behind does not mix with the person's own.
os.environ["SLIPSTREAM_CACHE_DIR"] = tempfile.mkdtemp(prefix="slipstream-tests-")
os.environ["SLIPSTREAM_DATA_DIR"] = tempfile.mkdtemp(prefix="slipstream-tests-")
