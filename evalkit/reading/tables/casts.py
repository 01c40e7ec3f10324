"""Arrow columns as texts and as doubles, without a query, where Arrow writes what DuckDB writes."""

from typing import Any


def has_texts(kind: Any) -> bool:
    """True for a type whose values Arrow and DuckDB write alike: texts, whole numbers, booleans."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return has_texts(kind.value_type)
    alike = (types.is_string, types.is_large_string, types.is_integer, types.is_boolean)
    return any(is_alike(kind) for is_alike in alike)


def has_numbers(kind: Any) -> bool:
    """True for a type of whole numbers, floats or booleans, but not of their texts."""
    import pyarrow.types as types

    numeric = (types.is_floating, types.is_integer, types.is_boolean)
    return any(is_numeric(kind) for is_numeric in numeric)


def texts(column: Any) -> Any:
    """The values as one array of texts; an empty text is an empty cell.

    >>> import pyarrow as pa
    >>> texts(pa.chunked_array([[1, None], [20]])).to_pylist()
    ['1', None, '20']
    >>> texts(pa.chunked_array([["a", ""]])).to_pylist()
    ['a', None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type != pa.large_string():
        column = column.cast(pa.string())
    array = joined(column)
    empty = pc.equal(array, "")
    if pc.any(empty).as_py():
        return pc.if_else(empty, pa.scalar(None, array.type), array)
    return array


def doubles(column: Any) -> Any:
    """The values as one array of doubles; true and false are 1 and 0.

    >>> import pyarrow as pa
    >>> doubles(pa.chunked_array([[True, None]])).to_pylist()
    [1.0, None]
    """
    import pyarrow as pa

    return joined(column.cast(pa.float64(), safe=False))


def joined(column: Any) -> Any:
    """A chunked array as one array; a single chunk is not copied."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
