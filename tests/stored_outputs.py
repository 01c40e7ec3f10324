"""Leave the results for pipelines out of stored notebooks: `python tests/stored_outputs.py
NOTEBOOK…`.

They are every number of a report, unrounded, and most of the bytes; `evalkit report` writes them as
JSON.
"""

import sys
from pathlib import Path

import nbformat

RESULTS = "application/vnd.evalkit+json"


def without_results(path: Path) -> None:
    """Write the notebook again without results."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(RESULTS, None)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        without_results(Path(name))
