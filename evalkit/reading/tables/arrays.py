"""Columns in memory as a frame: lists, numpy arrays, and the columns of pandas, polars and Arrow."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from evalkit.arrays import InputError
from evalkit.parameters.arrays import Arrays

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


def _is_table(values: Any) -> bool:
    return isinstance(values, str | bytes | Mapping) or hasattr(values, "column_names") or hasattr(values, "columns")


def frame(columns: Mapping[str, Any]) -> Any:
    """The columns as an Arrow table.

    Raises InputError if they differ in length, or one is not one value per row.
    """
    import pyarrow as pa

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

    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        several = values if isinstance(values, list | tuple | pa.Array) else np.asarray(values)
        if getattr(several, "ndim", 1) != 1:
            raise InputError(f"{name} must have one value per row, got an array of shape {np.shape(several)}")
        return several if isinstance(several, pa.Array) else pa.array(several, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise InputError(f"{name} must be values of one type, one per row: {str(error).splitlines()[0]}") from None


def table(arrays: Arrays) -> Any:
    """Labels and predictions as a frame: a column of scores per system; with several columns per system, its rows."""
    names = _names(arrays)
    shared = {key: column for role, v in arrays.shared.items() for key, column in _columns(role, v, names).items()}
    systems = {name: _of_system(arrays, name, names) for name in _systems(arrays)}
    if None in systems:
        return frame({**shared, **systems[None]})
    if all(len(columns) == 1 for columns in systems.values()) and "predicted" not in arrays.own:
        wide = {f"{role}_{name}": v for name, columns in systems.items() for role, v in columns.items()}
        return frame({**shared, **wide})
    return _long(shared, systems)


def _systems(arrays: Arrays) -> list[str | None]:
    """The systems, which every argument must name alike."""
    (role, first), *others = arrays.own.items()
    for other, systems in others:
        if {*systems} != {*first}:
            raise InputError(f"{role} and {other} must name the same systems, got {[*first]} and {[*systems]}")
    return list(first)


def _names(arrays: Arrays) -> list[str]:
    """The classes as scikit-learn orders them; of several labels at once their numbers or the names of columns."""
    label = next(iter(arrays.shared.values()))
    if np.ndim(label) == 2:
        return _heads(label) or [str(i) for i in range(np.shape(label)[1])]
    return [str(name) for name in np.unique(np.asarray(label))] if _several(arrays) else []


def _several(arrays: Arrays) -> bool:
    return any(np.ndim(values) == 2 for systems in arrays.own.values() for values in systems.values())


def _heads(values: Any) -> list[str]:
    return [str(name) for name in getattr(values, "columns", ())]


def _of_system(arrays: Arrays, system: str | None, names: list[str]) -> dict[str, Any]:
    """The columns of one system."""
    roles = ((role, systems[system]) for role, systems in arrays.own.items())
    return {key: column for role, values in roles for key, column in _columns(role, values, names).items()}


def _columns(role: str, values: Any, names: list[str]) -> dict[str, Any]:
    """The values as columns: their own, or for a matrix one per class or label; of two classes the second's alone."""
    if np.ndim(values) != 2:
        return {role: values}
    matrix, heads = np.asarray(values), _heads(values) or names
    if len(heads) != matrix.shape[1] or role not in PREFIX:
        raise InputError(f"{role} must have one column per class or label, {len(heads)}, got {matrix.shape[1]}")
    if role == "score" and len(names) == matrix.shape[1] == 2:
        return {role: matrix[:, 1]}
    return {f"{PREFIX[role]}{name}": matrix[:, i] for i, name in enumerate(heads)}


def _long(shared: Mapping[str, Any], systems: Mapping[Any, Mapping[str, Any]]) -> Any:
    """One row per row and system, with the number of the row as its id."""
    import pyarrow as pa

    tables = []
    for name, columns in systems.items():
        rows = frame({**shared, **columns})
        tables.append(rows.append_column("id", pa.array(range(len(rows)))))
        tables[-1] = tables[-1].append_column("system", pa.array([name] * len(rows)))
    return pa.concat_tables(tables)
