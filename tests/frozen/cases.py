"""The frozen cases: every report on every set of data, in the ways that a restructuring could break
(cases.toml).
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHARED = "../shared/data"
FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
METRICS: dict[str, str] = FILE["lists"]


@dataclass(frozen=True)
class Case:
    """One report with its parameters. needs: what it takes beyond the checkout and its
    environment.
    """

    name: str
    report: str
    parameters: Mapping[str, Any]
    needs: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, *, needs: tuple[str, ...] = (), **parameters: Any) -> "Case":
        """A case by its name, which begins with the report."""
        report = name.partition(":")[0]
        return cls(name, report, FILE["shared"].get(report, {}) | parameters, tuple(needs))

    @property
    def local(self) -> bool:
        """True if it needs data that must not be committed, nor its results."""
        return any(need.startswith(SHARED) for need in self.needs)


def load(path: Path) -> tuple[Case, ...]:
    """The cases of a file."""
    file = tomllib.loads(path.read_text(encoding="utf-8"))
    lists = METRICS | file["lists"]
    return tuple(_case(name, written, lists) for name, written in file["cases"].items())


def _case(name: str, written: Mapping[str, Any], lists: Mapping[str, str]) -> Case:
    """A case of a file."""
    parameters = {
        key: value
        for part in written.get("with", ())
        for key, value in FILE["shared"][part].items()
    }
    for key, value in written.items():
        if key != "with":
            listed = isinstance(value, str) and value.startswith("@")
            parameters[key] = lists[value[1:]] if listed else value
    return Case.of(name, **parameters)


CASES = load(Path(__file__).with_suffix(".toml"))
