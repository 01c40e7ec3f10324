"""Values of several systems on the same units from tables: one column a system, or one row a unit and system.

Several rows of one unit and system are draws: their mean is the value, and each unit counts once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Ints, codes
from evalkit.findings import inputs
from evalkit.findings.finding import Finding
from evalkit.metrics.sums import Sums
from evalkit.reading.inputs import trec_eval, unit_columns, unit_roles, unit_values
from evalkit.reading.inputs.unit_columns import HeldColumn
from evalkit.reading.inputs.unit_roles import Columns, Long, Wide
from evalkit.reading.inputs.unit_values import VALUE, UnitValues, unused, wanted
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import Part

OF_VALUES = ("unit", "value", "metric", "successes", "trials")  # roles that tables of predictions do not have
OF_PREDICTIONS = ("query", "item", "score", "rank", "label")


@dataclass(frozen=True)
class Header:
    """What tells kinds of input apart: the first part and its columns, and what the user says of them.

    columns: what the cells of the part's columns hold, read only where that matters.
    """

    part: Part
    chosen: Mapping[str, str]
    systems: Sequence[str]
    columns: Callable[[Sequence[Part]], Columns[Any]] = unit_roles.held

    def has(self, *names: str) -> bool:
        """True if the part has all of these columns."""
        return {*names} <= {*self.part.columns}

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """The roles of predictions that columns play."""
        chosen = {role: name for role, name in self.chosen.items() if role not in OF_VALUES}
        return roles_of.match(self.part.columns, OF_PREDICTIONS, chosen, "").resolved()

    @cached_property
    def system(self) -> bool:
        """True if a column names the system."""
        return bool(self.chosen.get("system") or self.columns([self.part]).system())

    @property
    def is_report(self) -> bool:
        """True of the JSON of an earlier report."""
        return self.part.nested and self.has("schema", "report", "versions")

    @property
    def is_ranking(self) -> bool:
        """True if rows are ranked items of a query."""
        ranked = {"query", "item"} <= {*self.roles} and {"score", "rank"} & {*self.roles}
        return bool(ranked) and not self.chosen.get("value")


KINDS: tuple[tuple[str, Callable[[Header], bool]], ...] = (  # the first that recognises the header
    ("trec_eval", lambda h: trec_eval.is_output(h.part)),
    ("ranking", lambda h: h.part.layout is not None),
    ("report", lambda h: h.is_report),
    ("trials", lambda h: h.has(*(h.chosen.get(role, role) for role in unit_values.COUNTED))),
    ("ranking", lambda h: h.is_ranking),
    ("wide", lambda h: bool(h.systems) and h.has(*h.systems)),
    ("long", lambda h: h.has(h.chosen.get("value", VALUE)) and h.system),
    ("classification", lambda h: {"label", "score"} <= {*h.roles} and not h.systems),
    ("long", lambda h: h.system or bool(h.chosen.get("value"))),
)


def kind(
    parts: Sequence[Part],
    chosen: Mapping[str, str],
    systems: Sequence[str] = (),
    columns: Callable[[Sequence[Part]], Columns[Any]] = unit_roles.held,
) -> str:
    """What the columns are: "report", "trec_eval", "ranking", "trials", "long", "classification" or "wide".

    A table with a column of systems is long, unless `systems` names columns of it.
    """
    header = Header(parts[0], chosen, systems, columns)
    return next((name for name, recognises in KINDS if recognises(header)), "wide")


def check_named(parts: Sequence[Part], chosen: Mapping[str, str], unit: str | None) -> None:
    """Raise ParameterError for all columns that the parameters name and a part lacks."""
    named = {name: f"columns: {role}" for role, name in chosen.items()} | ({unit: "unit"} if unit else {})
    for part in parts:
        roles_of.match(part.columns, (), {}, part.name, named=named).resolved()


def read_wide(
    parts: Sequence[Part],
    chosen: Mapping[str, str],
    *,
    unit: str | None = None,
    systems: Sequence[str] = (),
    metric: str = VALUE,
) -> UnitValues:
    """One row a unit; every column of numbers, or those named by `systems`, is a system.

    Ids, repetitions, ranks and positions are systems only where `systems` names them. Rows with the same unit are
    draws, whose mean is its value. unit: the cluster; without another column that names them its rows are the units.
    Raises InputError where no column holds numbers, a cell of them is text, or a value is infinite.
    """
    columns = unit_roles.held(parts)
    roles = Wide.of(columns, chosen, unit, systems)
    rows = [column.numbers() for column in roles.systems]
    names = tuple(column.name for column in roles.systems)
    code, labels, varying = unit_roles.coded(roles.units)
    means, draws = zip(*(unit_columns.means(code, numbers, len(labels)) for numbers in rows), strict=True)
    if "unit" not in chosen:
        unit_columns.refuse_other_units(code, 1, roles.rest.every, roles.units.name, columns.where)
    values = {(metric, name): column for name, column in zip(names, means, strict=True)}
    unit_columns.refuse_summaries(labels, values, roles.units.name, columns.where)
    empty = [column.name for column in roles.rest.every if column.kind == "empty"]
    return UnitValues(
        unit=varying,
        id=labels,
        name=roles.units.varying,
        metrics=(metric,),
        systems=names,
        values={key: Sums(column) for key, column in values.items()},
        columns=roles.units.printed | {"systems": ", ".join(names)},
        sources=columns.sources(),
        texts=_texts(roles.rest.every, code, len(labels)),
        findings=(
            *draws_of(spread_of(draws[0]), roles.units.name if len(names) > 1 else f"{roles.units.name} and system"),
            *left_out(roles.rest),
            *unused("Columns without any value", empty),
        ),
    )


def read_long(
    parts: Sequence[Part],
    chosen: Mapping[str, str],
    *,
    unit: str | None = None,
    systems: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> UnitValues:
    """One row a unit, system and, where that column is there, metric.

    Several rows of one unit, system and metric are draws, whose mean is the value. unit: the cluster, where another
    column names the units. Raises InputError if the columns do not show which holds the value, the unit or the system,
    ParameterError where a system or metric that was asked for is absent.
    """
    columns = unit_roles.held(parts)
    roles = Long.of(columns, chosen, unit)
    numbers = roles.value.numbers()
    code, labels, varying = unit_roles.coded(roles.units)
    system, system_names = codes(roles.system.texts())
    metric, metric_names = codes(roles.metric.texts() if roles.metric else np.full(len(numbers), roles.value.name))
    shape = (len(labels), len(system_names), len(metric_names))
    cell: Ints = np.asarray(np.ravel_multi_index((code, system, metric), shape), np.int64)
    means, draws = unit_columns.means(cell, numbers, int(np.prod(shape)))
    if "unit" not in chosen:
        unit_columns.refuse_other_units(cell, shape[1] * shape[2], roles.rest.every, roles.units.name, columns.where)
    table = means.reshape(shape)
    all_values = {(m, name): table[:, i, j] for i, name in enumerate(system_names) for j, m in enumerate(metric_names)}
    compared, measures = wanted(system_names, systems, "systems"), wanted(metric_names, metrics, "metrics")
    values = {(m, name): all_values[m, name] for m in measures for name in compared}
    unit_columns.refuse_summaries(labels, values, roles.units.name, columns.where)
    return UnitValues(
        unit=varying,
        id=labels,
        name=roles.units.varying,
        metrics=measures,
        systems=compared,
        values={key: Sums(column) for key, column in values.items()},
        columns=roles.printed,
        sources=columns.sources(),
        findings=(
            *draws_of(spread_of(draws), f"{roles.units.name} and system"),
            *([inputs.GUESSED_VALUES.warning(roles.guess)] if roles.guess else []),
            *left_out(roles.rest),
        ),
    )


def spread_of(rows: Ints) -> tuple[int, int, int]:
    """The fewest and the most rows of a unit or cell that has any, and all rows."""
    some = rows[rows > 0]
    return int(some.min(initial=np.iinfo(np.int64).max)), int(rows.max(initial=0)), int(rows.sum())


def draws_of(spread: tuple[int, int, int], each: str) -> tuple[Finding, ...]:
    """A finding on the rows that are draws of the same unit, if there are any; `spread_of` of each unit or cell."""
    least, most, total = spread
    if most < 2:
        return ()
    number = f"{most:,}" if least == most else f"up to {most:,}"
    text = (
        f"{total:,} rows are draws, {number} per {each}: the value of a unit is the mean of its draws, and each unit "
    )
    return (inputs.DRAWS.warning(f"{text}counts once.", total),)


def left_out(rest: Columns[Any]) -> tuple[Finding, ...]:
    """A finding on the numeric columns whose name is not that of a system."""
    return unused("Numeric columns that were not compared", [column.name for column in rest.numbers])


def _texts(columns: Sequence[HeldColumn], code: Ints, units: int) -> dict[str, np.ndarray]:
    """Columns that could name clusters, one text a unit: of text or ids, the same on all rows of a unit."""
    texts = {}
    for column in columns:
        if column.kind == "text" or column.identifies:
            cells = np.array(["(none)" if cell is None else cell for cell in column.cells], dtype=object)
            text = np.empty(units, dtype=object)
            text[code] = cells
            if (text[code] == cells).all():
                texts[column.name] = text
    return texts
