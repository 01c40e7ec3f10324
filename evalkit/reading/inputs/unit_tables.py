"""Values of several systems on the same units from tables: one column a system, or one row a unit and system.

Several rows of one unit and system are draws: their mean is the value, and each unit counts once.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from evalkit.arrays import Ints, codes
from evalkit.findings import inputs
from evalkit.findings.finding import Finding
from evalkit.metrics.sums import Sums
from evalkit.reading.inputs import trec_eval, unit_columns
from evalkit.reading.inputs.unit_columns import Column
from evalkit.reading.inputs.unit_roles import Columns, Long, Wide
from evalkit.reading.inputs.unit_values import VALUE, UnitValues, unused, wanted
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.json_lines import JsonLines
from evalkit.reading.tables.parts import Part

OF_VALUES = ("unit", "value", "metric", "successes", "trials")  # roles that tables of predictions do not have


def kind(parts: Sequence[Part], chosen: Mapping[str, str], systems: Sequence[str] = ()) -> str:
    """What the columns are: "report", "trec_eval", "ranking", "trials", "long", "classification" or "wide".

    A table with a column of systems is long, unless `systems` names columns of it.
    """
    first = parts[0]
    names = set(first.columns)
    if trec_eval.is_output(first):
        return "trec_eval"
    if first.layout:
        return "ranking"
    if isinstance(first, JsonLines) and {"schema", "report", "versions"} <= names:
        return "report"
    if all(chosen.get(role, role) in names for role in ("successes", "trials")):
        return "trials"
    wanted = ("query", "item", "score", "rank", "label")
    roles = roles_of.resolve(first.columns, wanted, _of(chosen), "")
    if {"query", "item"} <= set(roles) and {"score", "rank"} & set(roles) and not chosen.get("value"):
        return "ranking"
    if systems and set(systems) <= names:
        return "wide"
    has_system = bool(chosen.get("system") or Columns.of([first]).system())
    if has_system and chosen.get("value", VALUE) in names:
        return "long"
    if {"label", "score"} <= set(roles) and not systems:
        return "classification"
    return "long" if has_system or chosen.get("value") else "wide"


def _of(chosen: Mapping[str, str]) -> dict[str, str]:
    """The roles that the tables of predictions have, too."""
    return {role: name for role, name in chosen.items() if role not in OF_VALUES}


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
    columns = Columns.of(parts)
    roles = Wide.of(columns, chosen, unit, systems)
    rows = [column.numbers() for column in roles.systems]
    names = tuple(column.name for column in roles.systems)
    code, labels, varying = roles.units.coded()
    means, draws = zip(*(unit_columns.means(code, numbers, len(labels)) for numbers in rows), strict=True)
    if "unit" not in chosen:
        unit_columns.refuse_other_units(code, 1, roles.rest.every, roles.units.name, columns.where)
    values = {(metric, name): column for name, column in zip(names, means, strict=True)}
    unit_columns.refuse_summaries(labels, values, roles.units.name, columns.where)
    empty = [column.name for column in roles.rest.every if column.kind == "empty"]
    return UnitValues(
        unit=varying,
        name=roles.units.varying,
        metrics=(metric,),
        systems=names,
        values={key: Sums(column) for key, column in values.items()},
        columns=roles.units.printed | {"systems": ", ".join(names)},
        sources=columns.sources(),
        texts=_texts(roles.rest.every, code, len(labels)),
        findings=(
            *_draws(draws[0], roles.units.name if len(names) > 1 else f"{roles.units.name} and system"),
            *_left_out(roles.rest),
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
    columns = Columns.of(parts)
    roles = Long.of(columns, chosen, unit)
    numbers = roles.value.numbers()
    code, labels, varying = roles.units.coded()
    system, system_names = codes(roles.system.texts())
    metric, metric_names = codes(roles.metric.texts() if roles.metric else np.full(len(numbers), VALUE))
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
        name=roles.units.varying,
        metrics=measures,
        systems=compared,
        values={key: Sums(column) for key, column in values.items()},
        columns=roles.printed,
        sources=columns.sources(),
        findings=(
            *_draws(draws, f"{roles.units.name} and system"),
            *([inputs.GUESSED_VALUES.warning(roles.guess)] if roles.guess else []),
            *_left_out(roles.rest),
        ),
    )


def _draws(rows: Ints, each: str) -> tuple[Finding, ...]:
    """A finding on the rows that are draws of the same unit, if there are any; `rows` of each unit or cell."""
    most = int(rows.max(initial=0))
    if most < 2:
        return ()
    number = f"{most:,}" if (rows[rows > 0] == most).all() else f"up to {most:,}"
    total = int(rows.sum())
    text = (
        f"{total:,} rows are draws, {number} per {each}: the value of a unit is the mean of its draws, and each unit "
    )
    return (inputs.DRAWS.warning(f"{text}counts once.", total),)


def _left_out(rest: Columns) -> tuple[Finding, ...]:
    """A finding on the numeric columns whose name is not that of a system."""
    return unused("Numeric columns that were not compared", [column.name for column in rest.numbers])


def _texts(columns: Sequence[Column], code: Ints, units: int) -> dict[str, np.ndarray]:
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
