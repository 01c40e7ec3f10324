"""Columns in memory as a frame: lists, numpy arrays, and the columns of pandas, polars and Arrow."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import InputError
from evalkit.parameters.kinds import named
from evalkit.parameters.reports import Arrays

CELL = str | int | float | bool | None
PREFIX = {"y_true": "y_", "score": "p_"}  # of the columns of several labels or classes


def is_column(values: Any) -> bool:
    """True if this is one value per row: neither a path, a part of several tables nor a table.

    >>> is_column([0.2, 0.4]), is_column("a.csv"), is_column(["a.csv", "b.csv"])
    (True, False, True)
    """
    if isinstance(values, list | tuple):
        return bool(values) and all(isinstance(value, CELL) for value in values)
    return hasattr(values, "__len__") and getattr(values, "ndim", 1) == 1 and not _is_table(values)


def canonical(label: str) -> str:
    """A label as one text however it was written: 1.0 and 1, TRUE and true.

    >>> canonical("1.0"), canonical("TRUE"), canonical("spam"), canonical("-1")
    ('1', 'true', 'spam', '-1')
    """
    if label.lower() in ("true", "false"):
        return label.lower()
    try:
        number = float(label)
    except ValueError:
        return label
    return str(int(number)) if number.is_integer() and not label.strip("+-0123456789").strip(".0") else label


def _is_table(values: Any) -> bool:
    return isinstance(values, str | bytes | Mapping) or hasattr(values, "column_names") or hasattr(values, "columns")


def joined(data: Any) -> Any:
    """Labels and predictions in memory, or a dict of columns, as one Arrow table; anything else as it is.

    Raises InputError if columns differ in length, or one is not one value per row.
    """
    if isinstance(data, Arrays):
        shared = {role: _plain(role, values) for role, values in data.shared.items()}
        each = {role: {name: _plain(role, v) for name, v in systems.items()} for role, systems in data.own.items()}
        return _table(Arrays(shared, each, data.positive))
    if isinstance(data, Mapping) and data and all(map(is_column, data.values())):
        return _frame(named("data", data))
    return data


def _plain(name: str, values: Any) -> Any:
    """A sparse array in full, a tensor as an array without its gradient, anything else as it is."""
    try:
        if hasattr(values, "detach"):
            return np.asarray(values.detach().cpu())
        return values.toarray() if hasattr(values, "toarray") else values
    except Exception as error:
        raise InputError(f"{name} cannot be read as an array: {str(error).partition(chr(10))[0]}") from None


def _frame(columns: Mapping[str, Any]) -> Any:
    """The columns as an Arrow table.

    Raises InputError if they differ in length, or one is not one value per row.
    """
    import pyarrow as pa

    _refuse_other_order(columns)
    arrays = {name: _column(name, values) for name, values in columns.items()}
    first, *others = arrays
    for name in others:
        if len(arrays[name]) != len(arrays[first]):
            had = f"{len(arrays[first]):,}, got {len(arrays[name]):,}"
            raise InputError(f"{name} must have as many values as {first}, {had}")
    return pa.table(arrays)


def _column(name: str, values: Any) -> Any:
    """A column as an Arrow array; those of polars, pandas and Arrow keep their type."""
    import pyarrow as pa

    values = _plain(name, values)
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        several = values if isinstance(values, list | tuple | pa.Array) else _array(values)
        if (dimensions := getattr(several, "ndim", 1)) != 1:
            got = f"an array of shape {np.shape(several)}" if dimensions else type(values).__name__
            raise InputError(f"{name} must have one value per row, got {got}")
        return several if isinstance(several, pa.Array) else pa.array(several, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        why = re.sub(r"Unsupported numpy type \d+", f"got {_type(values)}", str(error).splitlines()[0])
        raise InputError(f"{name} must be values of one type, one per row: {why}") from None


def _type(values: Any) -> str:
    return str(getattr(values, "dtype", type(values).__name__))


def _array(values: Any) -> Any:
    """A numpy array in the byte order of the machine; a masked one keeps its mask."""
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _refuse_other_order(columns: Mapping[str, Any]) -> None:
    """Refuse columns of pandas whose indexes have the same rows in another order: they are not matched by index."""
    indexes = {name: column.index for name, column in columns.items() if hasattr(column, "iloc")}
    for name, index in list(indexes.items())[1:]:
        first, other = next(iter(indexes.items()))
        if len(index) != len(other) or index.equals(other) or not (index.is_unique and other.is_unique):
            continue
        if index.isin(other).all():
            raise InputError(
                f"{name}: its index has the rows of {first} in another order; give both in one order, or .to_numpy()"
            )


@dataclass(frozen=True)
class Classes:
    """The classes as scikit-learn orders them, or the labels of which a row may have several; none without a matrix.

    positive: the class of which a matrix of two has the score, None for the second. labels: True for labels.
    """

    names: Sequence[str]
    positive: str | None
    labels: bool

    @classmethod
    def of(cls, arrays: Arrays) -> "Classes":
        """Those of the labels."""
        role, label = next(iter(arrays.shared.items()))
        if np.ndim(label) == 2:
            return cls(_heads(label) or [str(i) for i in range(np.shape(label)[1])], None, labels=True)
        if not any(np.ndim(values) == 2 for systems in arrays.own.values() for values in systems.values()):
            return cls((), None, labels=False)
        column = _column(role, label)
        names = np.unique(np.asarray(column.drop_null() if column.null_count else label))
        return cls([str(name) for name in names], arrays.positive, labels=False)

    def columns(self, role: str, values: Any) -> dict[str, Any]:
        """The values as columns: their own, or for a matrix one per class; of two classes the positive's alone."""
        if np.ndim(values) != 2:
            return {role: values}
        matrix, heads = _array(values), _heads(values) or self.names
        if role not in PREFIX:
            got = f"{matrix.shape[1]} columns"
            raise InputError(f"{role} must have one value per row, got {got}; name several systems by a dict")
        if len(heads) != matrix.shape[1]:
            raise InputError(f"{role} must have one column per class or label, {len(heads)}, got {matrix.shape[1]}")
        if role == "score" and len(self.names) == matrix.shape[1] == 2 and not self.labels:
            return {role: matrix[:, self._of_positive(heads)]}
        return {f"{PREFIX[role]}{name}": matrix[:, i] for i, name in enumerate(heads)}

    def _of_positive(self, heads: Sequence[str]) -> int:
        """The number of the positive class's column; where it is no class, which the reader says, the second's."""
        columns, classes = [*map(canonical, heads)], [*map(canonical, self.names)]
        if {*columns} != {*classes}:
            must, got = ", ".join(self.names), ", ".join(heads)
            raise InputError(f"score must have the columns {must}, got {got}; name several systems by a dict")
        wanted = classes[1] if self.positive is None else canonical(self.positive)
        return columns.index(wanted if wanted in columns else classes[1])


def _table(arrays: Arrays) -> Any:
    """Labels and predictions as a frame: a column of scores per system; with several columns per system, its rows."""
    own = {role if name is None else f"{role}_{name}": v for role, o in arrays.own.items() for name, v in o.items()}
    _refuse_other_order({**arrays.shared, **own})
    arrays = _flat(arrays)
    classes = Classes.of(arrays)
    shared = _columns(classes, arrays.shared)
    by_system = {name: {role: own[name] for role, own in arrays.own.items()} for name in _systems(arrays)}
    systems = {name: _columns(classes, own) for name, own in by_system.items()}
    if None in systems:
        return _frame({**shared, **systems[None]})
    if all(len(columns) == 1 for columns in systems.values()) and "predicted" not in arrays.own:
        wide = {f"{role}_{name}": v for name, columns in systems.items() for role, v in columns.items()}
        return _frame({**shared, **wide})
    return _long(shared, systems)


def _columns(classes: Classes, values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: column for role, v in values.items() for key, column in classes.columns(role, v).items()}


def _flat(arrays: Arrays) -> Arrays:
    """The same, with a matrix of one column as that column."""
    own = {role: {name: _of_one(role, v) for name, v in systems.items()} for role, systems in arrays.own.items()}
    return Arrays({role: _of_one(role, v) for role, v in arrays.shared.items()}, own, arrays.positive)


def _of_one(role: str, values: Any) -> Any:
    try:
        several = np.ndim(values) != 2 or np.shape(values)[1] != 1
    except ValueError:
        raise InputError(f"{role} must have as many values in each row, got rows of several lengths") from None
    return values if several else _array(values)[:, 0]


def _systems(arrays: Arrays) -> list[str | None]:
    """The systems, which every argument must name alike."""
    (role, first), *others = arrays.own.items()
    for other, systems in others:
        if {*systems} != {*first}:
            raise InputError(f"{role} and {other} must name the same systems, got {[*first]} and {[*systems]}")
    if not first:
        raise InputError(f"{role} must name at least one system, got an empty dict")
    return list(first)


def _heads(values: Any) -> list[str]:
    return [str(name) for name in getattr(values, "column_names", getattr(values, "columns", ()))]


def _long(shared: Mapping[str, Any], systems: Mapping[Any, Mapping[str, Any]]) -> Any:
    """One row per row and system, with the number of the row as its id."""
    import pyarrow as pa

    (first, columns), *others = systems.items()
    for name, own in others:
        if {*own} != {*columns}:
            got = f"{', '.join(columns)} for {first}, {', '.join(own)} for {name}"
            raise InputError(f"every system must have the same columns, got {got}")
    tables = []
    for name, columns in systems.items():
        rows = _frame({**shared, **columns})
        tables.append(rows.append_column("id", pa.array(range(len(rows)))))
        tables[-1] = tables[-1].append_column("system", pa.array([name] * len(rows)))
    return pa.concat_tables(tables)
