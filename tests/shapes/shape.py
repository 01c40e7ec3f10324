"""A table as people have it, and what must come of it: systems, unit, n and value, or a refusal in one line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

Content = pd.DataFrame | str | bytes


@dataclass(frozen=True)
class Right:
    """What the page must say. value: the primary metric of each system, computed by other means."""

    systems: set[str]
    unit: str
    n: int
    value: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Refused:
    """A refusal whose one line holds this pattern."""

    pattern: str


@dataclass(frozen=True)
class Shape:
    """Files by name; parameters in which a text "@name" stands for the path of a file."""

    name: str
    files: Mapping[str, Content]
    parameters: Mapping[str, Any]
    expected: Right | Refused


def write(shape: Shape, folder: Path) -> dict[str, Any]:
    """Writes the files and returns the parameters with their paths in place."""
    for name, content in shape.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, content)
    return {
        name: re.sub(r"@", f"{folder}/", value) if isinstance(value, str) else value
        for name, value in shape.parameters.items()
    }


def _write(path: Path, content: Content) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif path.suffix == ".parquet":
        content.to_parquet(path, index=False)
    elif path.suffix == ".jsonl":
        content.to_json(path, orient="records", lines=True)
    else:
        content.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


def csv(frame: pd.DataFrame, **options: Any) -> str:
    """The frame as CSV text."""
    return frame.to_csv(index=False, **options)


def with_cell(frame: pd.DataFrame, column: str, row: int, value: Any) -> pd.DataFrame:
    """The frame with one cell replaced; `row` counts from 1."""
    columns = {name: frame[name].astype(object) if name == column else frame[name] for name in frame}
    changed = pd.DataFrame(columns)
    changed.loc[changed.index[row - 1], column] = value
    return changed
