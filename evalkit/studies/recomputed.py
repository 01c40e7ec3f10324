"""A report read again from its JSON and its file of units: the same study, whose limits can be had at any level."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import InputError
from evalkit.catalogue.kinds import Loss, PerUnit, Proportion, Ratio
from evalkit.catalogue.metric import Chosen
from evalkit.numbers import estimate as printed, unpacked
from evalkit.parameters import reports
from evalkit.reading.tables.table import Slice
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import Layout, OfRows, OfUnits
from evalkit.studies import diagnostics, diff, study, unit_files, units
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.unit_files import UnitFile

DRAWS = 0.02  # of the width of an interval: by how much random draws may move its limits
OF_TERMS = (PerUnit, Ratio, Proportion, Loss)  # kinds whose intervals and tests need no more than the terms
USED = ("level", "margin", "baseline", "seed")  # parameters of a report that its intervals and tests depend on
DESIGNS = {"users": Layout.INDEPENDENT, "interleaving": Layout.DIVIDED}  # by structure, else rows that count alike


def of_report(path: Path) -> tuple[list[Study], list[dict[str, Any]]]:
    """The studies of a report, one for each of its tables, and its findings. path: of any of its files.

    Raises InputError where the JSON or the units are missing, or are not of one run.
    """
    file = path if path.suffix == ".json" else diff.located(path).with_suffix("").with_suffix(".json")
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
        findings = results["findings"]
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise InputError(f"{file}: must be the results of a report (NAME.json)") from None
    if results["report"] == "diff":
        given = {name: value for name, value in results["parameters"].items() if name != "gate"}
        return [diff.study_of(reports.Diff.of(given))], findings
    units_file = unit_files.read([diff.located(file)])[0][0]
    if units_file.about.get("inputs") != results["inputs"]:
        raise InputError(f"{units_file.path}: must be the units of {file.name}, got those of other inputs")
    return [Recomputed.of(units_file, results, table) for table in units_file.about["unit"]], findings


@dataclass(frozen=True, eq=False, repr=False)
class Recomputed(Study):
    """The study of a table of a report. file: its units. results: its part of the JSON; table: its name, or empty."""

    file: UnitFile
    results: Mapping[str, Any]
    table: str

    @classmethod
    def of(cls, file: UnitFile, results: Mapping[str, Any], table: str) -> Recomputed:
        """The study of a table."""
        given = {name: value for name, value in results["parameters"].items() if name in USED}
        own = [of for of in file.about["metrics"] if of["table"] == table]
        part = results[table] if table else results
        systems = tuple(dict.fromkeys(row["system"] for row in part["estimates"]))
        given |= {"baseline": None} if given.get("baseline") not in systems else {}
        p = reports.Compared.of(given)
        settings = study.settings(p, map(unit_files.chosen, own))
        return cls(settings, systems, {}, p, (), file, {"word": results.get("verdict", {}), **part}, table)

    @property
    def unit_name(self) -> str:
        """What the report calls its unit."""
        return str(self.file.about["unit"][self.table])

    @property
    def word(self) -> str | None:
        """The verdict of a validation report."""
        return self.results["word"].get("word")

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> Any:
        """A metric of a system, with the intervals and tests of its kind."""
        side = self.file.of_rows(chosen.label, system) or self.file.side(chosen.label, system)
        assert side is not None
        side = side if member is EVERY else side.take(side.file.has(*member)[side.at])  # type: ignore[misc]
        if not side.termed:
            return OfRows(chosen, side.data)
        design = DESIGNS.get(self.file.metrics[chosen.label]["structure"], Layout.PLAIN)
        ratio = isinstance(chosen.metric.kind, PerUnit) and side.data.denominator is not None
        if side.whole or ratio or not isinstance(chosen.metric.kind, OF_TERMS):
            return side.statistic(design, mean=side.averaged)
        return OfUnits(chosen, side.data, side.unit if self.file.clustered[side.at].any() else None, design)

    def divisions(self) -> list[Slice]:
        """The slices of the columns of segments."""
        columns = self.file.segments.items()
        return [Slice(name, label, (column, label)) for name, column in columns for label in self.file.words[column]]

    def doubt(self, chosen: Chosen, system: str, second: str) -> str:
        """Why the limits cannot be had: at its own level they are not those that the report has."""
        reported = self._reported.get((chosen.label, system, second))
        if reported is None:
            return f"the report does not compare {system} with {second} on {chosen.label}"
        e = self.compare(chosen, (system, second)).difference if second else self.estimate(chosen, system)
        ours, theirs = (np.array([ends.value, ends.low, ends.high]) for ends in (e, reported))
        near = DRAWS * float(np.nan_to_num(reported.high - reported.low))
        if np.allclose(np.where(np.isfinite(ours), ours, np.nan), theirs, rtol=1e-9, atol=near, equal_nan=True):
            return ""
        shown = (printed(ends.value, ends.low, ends.high) for ends in (e, reported))
        return "limits recomputed from the units: {}, those of the report: {}".format(*shown)

    @cached_property
    def _reported(self) -> dict[tuple[str, str, str], Estimate]:
        """The limits that the report has, of systems and, in both directions, of pairs."""
        of = {(row["metric"], row["system"], ""): _estimate(row, "value") for row in self.results["estimates"]}
        columns = {name: unpacked(column) for name, column in self.results["comparisons"].items()}
        for row in pd.DataFrame(columns).fillna(np.nan).to_dict("records"):
            for each in (row, diagnostics.turned(row)):
                of[each["metric"], each["first"], each["second"]] = _estimate(each, "difference")
        return of

    def units_held(self) -> units.Units:
        """None: they are a file."""
        return units.Units(0, ())


def _estimate(row: Mapping[Any, Any], name: str) -> Estimate:
    """A number of the JSON with its limits."""
    value, low, high = (np.nan if row[key] is None else row[key] for key in (name, "low", "high"))
    return Estimate(value, low, high, row.get("level", np.nan), row["n"], row["method"])
