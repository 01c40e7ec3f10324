"""Values of several systems on the same units: a wide table, a long one, counts of successes, an earlier report's JSON.

Wide: one row a unit and one column of numbers a system. Long: columns unit, system, value and perhaps metric. A value
that is missing is undefined (NaN) and never 0.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, codes
from evalkit.findings import inputs
from evalkit.findings.finding import Finding
from evalkit.metrics.sums import Sums
from evalkit.reading.inputs import pairing, unit_roles
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules, table
from evalkit.reading.tables.parts import Part, Source, at
from evalkit.reading.tables.rules import Field
from evalkit.reading.tables.table import Table

NAMED = 8  # columns or measures that a note names
COUNTED = ("successes", "trials")
MOST = 2**53 - 1  # the largest whole number that a double holds apart from the next one
VALUE = "value"  # what the numbers of a wide table are called where nobody says


class Described(Protocol):
    """What a page says of values, wherever they are; see `UnitValues`."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> Mapping[str, str]: ...

    @property
    def sources(self) -> tuple[Source, ...]: ...

    @property
    def findings(self) -> tuple[Finding, ...]: ...

    @property
    def known(self) -> Mapping[tuple[str, str], Mapping[str, Any]]: ...


@dataclass(frozen=True, eq=False)
class UnitValues:
    """One value a row for each (metric, system); `unit` is what each row is about, which may come several times.

    name: what the input calls the unit, "row" where it names none. texts: further columns that could name clusters.
    id: what names each row where `unit` is what several rows are about, None where `unit` names it. findings: what was
    decided or left out on the way.
    known: (metric, system) -> value, low, high, level, n of an earlier report, which holds differences only, and
    directions: which values of a metric are better by it, "high", "low" or "neither".
    """

    unit: np.ndarray
    name: str
    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    values: Mapping[tuple[str, str], Sums]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    id: np.ndarray | None = None
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    known: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class Trials:
    """Successes and trials of each system, which are independent groups."""

    systems: tuple[str, ...]
    successes: Ints
    trials: Ints
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


# Tables -----------------------------------------------------------------------------------------------------------


def read_trials(parts: Sequence[Part], chosen: Mapping[str, str]) -> Trials:
    """Columns successes and trials; the first column of text names the system of each row.

    Raises InputError for counts that are not whole, for more successes than trials, and for no trial at all.
    """
    columns = {role: chosen.get(role, role) for role in COUNTED}
    text = [column.name for column in unit_roles.held(parts).every if not column.clean]
    label = chosen.get("system") or next((name for name in text if name not in columns.values()), None)
    fields = {role: Field(name, rules.MEASURED) for role, name in columns.items()}
    fields |= {"system": Field(label)} if label else {}
    rows = Table([table.block(part, fields) for part in parts])
    successes, trials = (rows.numbers(role) for role in COUNTED)
    _refuse_uncountable(rows, successes, trials)
    systems = _trial_names(rows, label)
    printed = columns | ({"system": label} if label else {})
    return Trials(systems, successes.astype(np.int64), trials.astype(np.int64), printed, rows.sources)


def _refuse_uncountable(rows: Table, successes: Floats, trials: Floats) -> None:
    """Raise InputError for counts that are not whole, more successes than trials, no trial, or too many to count."""
    whole = (successes == np.rint(successes)) & (trials == np.rint(trials))
    wrong = np.flatnonzero(~(whole & (successes >= 0) & (successes <= trials) & (trials >= 1) & (trials <= MOST)))
    if wrong.size:
        part, row = rows.locate(int(wrong[0]))
        raise InputError(
            f"{part.name}: successes and trials must be whole numbers with 0 ≤ successes ≤ trials and "
            f"1 ≤ trials < 2⁵³, got {successes[wrong[0]]:g} of {trials[wrong[0]]:g} (row {row})"
        )


def _trial_names(rows: Table, label: str | None) -> tuple[str, ...]:
    """The system of each row; raises InputError where a column names one twice."""
    if label is None:
        return tuple(f"row {i}" for i in range(1, len(rows) + 1)) if len(rows) > 1 else ("the sample",)
    systems = rows.texts("system")
    if (again := pairing.repeated(codes(systems)[0], np.arange(len(systems)))) is not None:
        part, row = rows.locate(again)
        raise InputError(f"{part.name}: {label} must name each row once, got {systems[again]!r} again{at(row)}")
    return tuple(map(str, systems))


def read_report(parts: Sequence[Part]) -> UnitValues:
    """The differences of the headline pair, unit by unit, of a report that evalkit wrote."""
    part = parts[0]
    if len(parts) > 1:
        raise InputError(f"{part.name}: one report at a time, got {len(parts)} files")
    report = json.loads(part.path.read_text(encoding="utf-8"))
    differences = report.get("differences") or {}
    values = differences.get("values") or []
    ids: list[Any] = next((column for name, column in differences.items() if name != "values"), [])
    if not values or len(ids) != len(values) or not report.get("headline"):
        raise InputError(f"{part.name}: a report of {report['report']!r} without differences of each unit")
    row = report["headline"][0]
    pair, metric = (row["first"], row["second"]), report["primary"]
    estimates = {(estimate["metric"], estimate["system"]): estimate for estimate in report["estimates"]}
    sides = (np.array(values, float), np.zeros(len(values)))
    return UnitValues(
        unit=np.array(ids, dtype=object),
        name=row["unit"],
        metrics=(metric,),
        systems=pair,
        values={(metric, name): Sums(side) for name, side in zip(pair, sides, strict=True)},
        columns={"differences": f"{pair[0]} − {pair[1]}"},
        sources=(part.fingerprint(len(values)),),
        known={(metric, name): estimates[metric, name] for name in pair},
        directions={row["name"]: row["best"] for row in report.get("metrics", [])},
    )


# What readers of values share -------------------------------------------------------------------------------------


def wanted(names: Iterable[object], asked: Sequence[str], parameter: str) -> tuple[str, ...]:
    """The names asked for, or all; raises ParameterError for one that is not there."""
    there = list(map(str, names))
    return tuple(roles_of.require(there, name, "the input", parameter) for name in dict.fromkeys(asked)) or tuple(there)


def unused(what: str, names: Sequence[str]) -> tuple[Finding, ...]:
    """A finding on columns or measures that are not used, if there are any."""
    return (inputs.UNUSED_COLUMNS.warning(f"{what}: {roles_of.listed(names, NAMED)}.", len(names)),) if names else ()
