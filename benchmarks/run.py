"""Runs every benchmark of this folder: `make bench`. Each prints ratios against a peer or a bound, from one run."""

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NO_BENCHMARK = ("run", "contenders")  # this, and what ranking.py starts once for each tool


def main() -> None:
    """Runs the `main` of every other module here, in the order of their names."""
    sys.path.insert(0, str(HERE))
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in NO_BENCHMARK:
            print(f"\n== {path.stem}", flush=True)
            importlib.import_module(path.stem).main()


if __name__ == "__main__":
    main()
