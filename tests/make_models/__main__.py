"""Write the whole family into a folder: `python -m tests.make_models FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.make_models.family import write_family

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_family(folder)
    for path in sorted(folder.glob("*.gguf")):
        print(f"{path.name:32} {path.stat().st_size / 1e6:6.2f} MB")
