"""An oracle's labels beside a judge's scores: columns of one table, read as two sets of values of
the same units.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.parameters.reports import SUCH, SignificanceParameters
from evalkit.reading.inputs.unit_columns import UnitTable
from evalkit.reading.inputs.unit_roles import FreeColumns
from evalkit.reading.reductions.units import UnitValues
from evalkit.reading.tables import columns as column_roles
from evalkit.reading.tables.columns import refused

FEWEST = 10  # labels of a system: the spread of fewer says too little of the judge's error


def with_judge(p: SignificanceParameters, table: UnitTable, kind: str) -> SignificanceParameters:
    """The parameters with the judge's columns named: `value` of a long table, the `systems` of a
    wide one, in the order of the oracle's columns.

    Raises ParameterError for an oracle that is not in the table, or that does not go with other
    parameters.
    """
    if p.test_to_train or p.claim != SUCH:
        raise ParameterError("oracle: takes a sample of units, without claim and test_to_train")
    free = FreeColumns.from_table(table)
    oracle = [
        column_roles.require_column(free.names, name, table.name, "oracle") for name in p.oracle
    ]
    free = free.without(list(map(free.named, oracle)))
    if kind == "long":
        return _with_value(p, free)
    systems = p.systems or _judged_systems(p, free)
    if len(systems) > 1 and not p.systems:
        oracle = [_label_column(system, systems, oracle) for system in systems]
    if len(systems) != len(oracle):
        raise ParameterError(
            f"oracle: name one column of labels per system, got {len(oracle)} for the systems "
            f"{', '.join(systems)}; name both in one order: systems=A,B oracle=LABELS_A,LABELS_B "
            "(judges of the same outputs are read one at a time)"
        )
    return replace(p, systems=tuple(systems), oracle=tuple(oracle))


def _with_value(p: SignificanceParameters, free: FreeColumns) -> SignificanceParameters:
    if len(p.oracle) > 1:
        raise ParameterError(f"oracle: a long table has one column, got {', '.join(p.oracle)}")
    if "value" in p.columns:
        return p
    named = [free.named(name) for name in (*p.columns.values(), p.unit) if name]
    value = free.without([free.system(), *named]).value()
    return replace(p, columns={**p.columns, "value": value.name})


def _judged_systems(p: SignificanceParameters, free: FreeColumns) -> list[str]:
    """The columns of scores of a wide table."""
    if p.unit:
        free = free.without([free.named(p.unit)])
    ids = [free.named(p.columns["unit"])] if "unit" in p.columns else free.units_of_rows()
    return [column.name for column in free.without(ids).systems]


def _label_column(system: str, systems: Sequence[str], oracle: Sequence[str]) -> str:
    """The oracle's column of a system: the one whose name has the system's as a word, and no longer
    name of a system.
    """
    longer_names = [name for name in systems if system in name and name != system]
    word = re.compile(rf"(?<![^\W_]){re.escape(system)}(?![^\W_])")
    columns = []
    for column in oracle:
        if word.search(column) and not any(name in column for name in longer_names):
            columns.append(column)
    if len(columns) != 1:
        raise ParameterError(
            f"oracle: none of {', '.join(oracle)} is named after {system!r} alone; name both in "
            "one order: systems=A,B oracle=LABELS_A,LABELS_B"
        )
    return columns[0]


def of_oracle(p: SignificanceParameters) -> SignificanceParameters:
    """The parameters that read the oracle's columns in the place of the judge's."""
    if "value" in p.columns:
        value = p.oracle[0]
        columns = {**p.columns, "value": value}
        return replace(p, columns=columns, oracle=(p.columns["value"],), metrics=())
    return replace(p, systems=p.oracle, oracle=p.systems)


def with_labels(judged: UnitValues, oracle: UnitValues, where: str) -> UnitValues:
    """The judge's values with the oracle's labels of the same units, by system.

    Raises ParameterError for several metrics, and InputError for a system with few labels.
    """
    if len(judged.metrics) > 1:
        raise ParameterError(
            f"oracle: labels one metric, the input has {', '.join(judged.metrics)}; name it: "
            f"metrics={judged.metrics[0]!r}"
        )
    metric = judged.metrics[0] if judged.metrics[0] in oracle.metrics else oracle.metrics[0]
    names = dict(zip(judged.systems, oracle.systems, strict=True))
    labels = {}
    for system, name in names.items():
        labels[system] = oracle.values[metric, name].per_unit
        scored = judged.values[judged.metrics[0], system].defined
        count = int((scored & ~np.isnan(labels[system])).sum())
        if count < FEWEST:
            raise _few_labels(system, count, where)
    columns = {**judged.columns, "oracle": ", ".join(dict.fromkeys(_columns(oracle)))}
    return replace(judged, labels=labels, columns=columns)


def _few_labels(system: str, count: int, where: str) -> InputError:
    return refused(where, "few_labels", system=system, count=count, least=FEWEST)


def _columns(oracle: UnitValues) -> list[str]:
    """The oracle's columns: of a long table its values, of a wide one its systems."""
    return [oracle.columns["value"]] if "value" in oracle.columns else list(oracle.systems)
