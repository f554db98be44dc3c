"""Do sampled answers begin as the target alone would have them begin? Every kind of drafter, thousands of seeds.

    python -m benchmarks.sampled_losslessness [--seeds 3000] [--only KIND]

Prints a p-value for each kind; of a hundred right ones, one is below 0.01.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from engine.llama.library import start_llama
from tests.engine.speculation.beginnings import deviation
from tests.engine.speculation.kinds import KINDS, open_kind
from tests.make_models.family import write_family
from tests.make_models.reference import PROMPTS

# Their random weights have one text to say.
SINGLE_MINDED = ("glm4moe", "mimo2")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3000)
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    arguments = parser.parse_args()
    library = start_llama()
    with tempfile.TemporaryDirectory() as folder:
        write_family(Path(folder))
        for kind in KINDS:
            if arguments.only in kind.name and kind.target not in SINGLE_MINDED:
                opened = open_kind(library, kind, Path(folder))
                print(f"{kind.name:26} p = {deviation(opened, PROMPTS[1], arguments.seeds):.4f}", flush=True)
                opened.close()


if __name__ == "__main__":
    main()
