"""`python -m app`, the same as `slipstream`."""

from __future__ import annotations

import sys

from app.entry import main

if __name__ == "__main__":
    sys.exit(main())
