"""Give stored notebooks one form: `python tests/stored_outputs.py NOTEBOOK…`.

The results for pipelines are left out: they are every number of a report, unrounded, and most of
the bytes; `evalkit report` writes them as JSON. So is metadata of the program that ran a notebook,
such as times. Code is folded, but for the parameters and the cell that reads the data; what only
explains the notebook is tagged.
"""

import sys
from pathlib import Path
from typing import Any

import nbformat

RESULTS = "application/vnd.evalkit+json"
OPEN = ("parameters", "read")  # the ids of code cells that JupyterLab shows unfolded


def stored_form(notebook: Any) -> Any:
    """The notebook without results, and with the metadata that each cell should have."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(RESULTS, None)
        tags = ["notebook-only"] if cell.id.startswith("about-") else cell.metadata.get("tags")
        metadata = {"tags": tags} if tags else {}
        if cell.cell_type == "code" and cell.id not in OPEN:
            metadata["jupyter"] = {"source_hidden": True}
        cell.metadata = nbformat.from_dict(metadata)
    kept = ("kernelspec", "language_info")
    notebook.metadata = nbformat.from_dict({name: notebook.metadata[name] for name in kept})
    return notebook


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        nbformat.write(stored_form(nbformat.read(path, as_version=4)), path)
