"""Many random lives of conversations with every kind of drafter; see tests/engine/speculation/fuzz.py.

    python -m benchmarks.fuzz [--sequences 1000] [--first 0]

A sequence depends on its number alone: `--first N --sequences 1` runs it again. It is printed before it runs, so
that it is known even if the process ends.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from engine.llama.library import start_llama
from tests.engine.speculation.fuzz import RandomLife, Workshop
from tests.make_models.family import write_family


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    began_s, failures = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        write_family(Path(folder))
        workshop = Workshop(start_llama(), Path(folder))
        for number in range(arguments.first, arguments.first + arguments.sequences):
            print(f"\r{number}", end="", flush=True)
            try:
                RandomLife(workshop, number).run()
            except Exception as error:  # noqa: BLE001
                failures.append(number)
                print(f"\r{type(error).__name__}: {error}")
        workshop.close()
    print(f"\r{arguments.sequences} sequences in {time.monotonic() - began_s:.0f} s, {len(failures)} failed")
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
