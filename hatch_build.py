"""Builds the wheel with notebooks that have no stored outputs: they run on the user's own data, and
their pictures would be a third of the wheel.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NotebooksWithoutOutputs(BuildHookInterface):
    """Puts copies of notebooks/ without outputs into the wheel, as evalkit/notebooks/."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the copies and name them among the files of the wheel.

        version: "editable" for an installation that reads notebooks/ where it is.
        """
        self.copies = Path(tempfile.mkdtemp(prefix="notebooks-"))
        if version == "editable":
            return
        for path in sorted(Path(self.root, "notebooks").glob("*.ipynb")):
            copy = self.copies / path.name
            copy.write_text(without_outputs(path.read_text(encoding="utf-8")), encoding="utf-8")
            build_data["force_include"][str(copy)] = f"evalkit/notebooks/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copies."""
        shutil.rmtree(self.copies)


def without_outputs(text: str) -> str:
    """The JSON of a notebook without what its cells printed."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
