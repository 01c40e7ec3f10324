"""Tables: the parts of an input read by role, with every value checked and the file and number of
every row.

Text columns are stored as codes of their distinct texts. Slices are the groups of units that share
a value of a column; a numeric column with many values is cut into quartiles.
"""

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints
from evalkit.metrics import hashes
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.parts import InputPart, Source, names
from evalkit.reading.tables.rules import CheckedColumn, Field, Fields, columns_by_type

if TYPE_CHECKING:
    import pyarrow as pa

# a column of texts, in one piece or in several
Texts = Union["pa.Array", "pa.ChunkedArray", list["pa.Array"], np.ndarray]
PIECE = 2**18  # texts that are hashed at once, within some megabytes


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of texts as codes of its distinct texts, which are sorted."""

    names: tuple[str, ...]
    code: Ints

    @classmethod
    def from_texts(cls, texts: Sequence[str], index: Ints) -> "Coded":
        """The column whose row i holds texts[index[i]].

        texts: in any order; equal texts, as of two spellings of a label, get the same code.

        >>> Coded.from_texts(["b", "a", "b"], np.array([0, 2, 1])).texts.tolist()
        ['b', 'b', 'a']
        """
        names = sorted(set(texts))
        code_of_name = {name: code for code, name in enumerate(names)}
        code_of_text = np.array([code_of_name[text] for text in texts], np.int64)
        return cls(tuple(names), code_of_text[index])

    @cached_property
    def texts(self) -> np.ndarray:
        """The column as objects; equal texts are one object."""
        return np.array([*self.names, None], dtype=object)[self.code]

    def __len__(self) -> int:
        return len(self.code)

    def take(self, rows: Bools | Ints | slice) -> "Coded":
        """The column of some rows. Names that none of them has are dropped, so that `names` are
        those that occur, and the codes of the others are renumbered.
        """
        code = self.code[rows]
        occurs = np.bincount(code, minlength=len(self.names)) > 0  # for each name
        if occurs.all():
            return Coded(self.names, code)
        new_code = np.cumsum(occurs) - 1  # of each name: the number of names before it that occur
        return Coded(tuple(itertools.compress(self.names, occurs)), new_code[code])

    def first(self, names: Collection[str]) -> int:
        """The first row with one of the names."""
        codes = [self.names.index(name) for name in names]
        return int(np.isin(self.code, codes).argmax())

    def among(self, classes: Sequence[str]) -> Ints:
        """The number of each row's text among the classes."""
        return np.array([classes.index(name) for name in self.names], dtype=np.int64)[self.code]


def concatenated(columns: Sequence[Coded]) -> Coded:
    """The texts of several columns in sequence."""
    names: list[str] = []  # those of all columns, some of which may be equal
    codes = []
    for column in columns:
        codes.append(column.code + len(names))
        names += column.names
    return Coded.from_texts(names, np.concatenate(codes))


def rows_of_repeated(column: "pa.Array | pa.ChunkedArray") -> Ints:
    """The rows of an Arrow text column whose text occurs more than once, in order.

    >>> import pyarrow as pa
    >>> rows_of_repeated(pa.chunked_array([["a", "b"], ["c", "a"]])).tolist()
    [0, 3]
    """
    chunks = getattr(column, "chunks", [column])
    hashes_of_pieces = []
    for chunk in chunks:
        for start in range(0, len(chunk), PIECE):
            hashes_of_pieces.append(hashes.hash_texts(chunk.slice(start, PIECE)))
    key = np.concatenate(hashes_of_pieces)
    ascending = np.sort(key)
    repeated_keys = ascending[1:][ascending[1:] == ascending[:-1]]
    rows = np.flatnonzero(np.isin(key, repeated_keys))
    code = encode(column.take(rows)).code  # different texts may have one key
    return rows[np.bincount(code)[code] > 1]


def one_array(column: Texts) -> "pa.Array":
    """A column of texts as one Arrow array of large strings.

    column: an array of Arrow or numpy, a chunked array, or a list of Arrow arrays.
    """
    import pyarrow as pa

    if not isinstance(column, list | pa.ChunkedArray | pa.Array):
        column = pa.array(column)
    chunks = column if isinstance(column, list) else getattr(column, "chunks", [column])
    kind = pa.large_string()
    texts = pa.chunked_array([chunk.cast(kind) for chunk in chunks], kind)
    # combine_chunks would copy a single chunk
    return texts.chunk(0) if texts.num_chunks == 1 else texts.combine_chunks()


class EncodedTexts(NamedTuple):
    """A column of texts by codes.

    code: for each row the index of its text among the distinct ones. texts: the distinct texts, an
    Arrow array; a null stands for empty cells, if there are any.
    """

    code: Ints
    texts: "pa.Array"


def encode(column: Texts) -> EncodedTexts:
    """The distinct texts of a column, in any order, and for each row the index of its text. If
    there are empty cells, the last text is null. column: as in `one_array`.
    """
    import pyarrow as pa

    chunks = column if isinstance(column, list) else getattr(column, "chunks", [column])
    if chunks and all(pa.types.is_dictionary(getattr(chunk, "type", None)) for chunk in chunks):
        # each chunk is encoded already, but by a list of texts (a dictionary) of its own
        large = pa.chunked_array([_large(chunk) for chunk in chunks])
        encoded = pa.concat_arrays(large.unify_dictionaries().chunks)
    else:
        encoded = one_array(column).dictionary_encode("encode")
    texts = encoded.dictionary
    indices = encoded.indices.fill_null(len(texts))  # an index behind the last text
    code = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if encoded.indices.null_count:
        texts = pa.concat_arrays([texts, pa.nulls(1, texts.type)])
    # the dictionary of a column that the user encoded may hold texts that no row has: drop them
    occurs = np.bincount(code, minlength=len(texts)) > 0
    if occurs.all():
        return EncodedTexts(code, texts)
    new_code = np.cumsum(occurs) - 1  # of each text: the number of texts before it that occur
    return EncodedTexts(new_code[code], texts.filter(pa.array(occurs)))


def encode_sorted(column: Texts) -> EncodedTexts:
    """The distinct texts of a column, in the order of their bytes, and for each row the index of
    its text. column: as in `one_array`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    code, texts = encode(column)
    order = pc.sort_indices(texts).to_numpy()
    sorted_code = np.empty(len(order), np.int64)  # code -> its place in the order
    sorted_code[order] = np.arange(len(order))
    return EncodedTexts(sorted_code[code], texts.take(pa.array(order)))


def indices_among(column: "pa.Array", texts: Sequence[str]) -> Ints:
    """The index of each text of an Arrow column in a list that contains them all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = pc.index_in(column, value_set=pa.array(texts, column.type))
    return np.asarray(place.to_numpy())


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids of the rows as Arrow text, for texts that hardly repeat."""

    texts: "pa.Array"

    @cached_property
    def code(self) -> Ints:
        """A number for each row, equal for equal ids: the rank of its id, or, if all ids differ,
        the number of the row, as ranking them takes long.
        """
        return self.rank if len(rows_of_repeated(self.texts)) else np.arange(len(self))

    @cached_property
    def rank(self) -> Ints:
        """For each row the place of its id among the distinct ids of all rows, sorted, from 0."""
        import pyarrow.compute as pc

        rank_from_1 = pc.rank(self.texts, tiebreaker="dense").to_numpy().astype(np.int64)
        return np.asarray(rank_from_1 - 1)

    def __len__(self) -> int:
        return len(self.texts)

    def name(self, row: int) -> str:
        """The id of a row."""
        return str(self.texts[row].as_py())

    def take(self, rows: Ints) -> "Ids":
        """The ids of some rows."""
        return Ids(self.texts.take(rows))


def coded(column: Texts, normalise: Callable[[str], str] = str, empty_text: str = "") -> Coded:
    """A column of texts as codes: the distinct texts, sorted, and for each row the index of its
    text. column: as in `one_array`.

    normalise: maps texts with the same meaning, such as 1.0 and 1, to one text. empty_text: the
    text that stands for an empty cell.
    """
    encoded = encode(column)
    distinct_texts = encoded.texts.to_pylist()  # so that each is normalised once
    names = [empty_text if text is None else normalise(text) for text in distinct_texts]
    return Coded.from_texts(names, encoded.code)


def _large(block: "pa.DictionaryArray") -> "pa.DictionaryArray":
    """An Arrow dictionary of text, whatever its numbers are, as one of long texts and 32 bits."""
    import pyarrow as pa

    indices = block.indices.cast(pa.int32())
    texts = block.dictionary.cast(pa.large_string())
    return pa.DictionaryArray.from_arrays(indices, texts)


class Pairing(NamedTuple):
    """The rows of systems paired by their ids.

    rows: one row per id that all systems have, in the order of the ids, with a column per system:
    the number of the system's row with this id. repeated_row: the first row, in the order of ids
    and systems, whose system has its id more than once; None if there is none. If there is one,
    `rows` is not to be used.
    """

    rows: Ints
    repeated_row: int | None


def pair_rows(code: Ints, system: Ints, systems: int) -> Pairing:
    """Pair the rows of systems: for each id that all systems have, the row number of each system.

    code: a number for the id of each row, equal for equal ids. system: the number of the system of
    each row, from 0. systems: how many systems there are.

    >>> pair_rows(np.array([5, 7, 7, 6]), np.array([0, 0, 1, 1]), 2)
    Pairing(rows=array([[1, 2]]), repeated_row=None)
    >>> pair_rows(np.array([7, 5, 7]), np.array([0, 0, 0]), 1).repeated_row
    2
    """
    id_and_system = code * systems + system  # sorts by id, then by system
    order = np.argsort(id_and_system, kind="stable")
    code = code[order]
    system = system[order]
    has_previous_id = code[1:] == code[:-1]  # for each row but the first
    # the rows of an id follow each other; [: len(code)]: a table without rows has no id
    begins_id = np.append(True, ~has_previous_id)[: len(code)]
    start = np.flatnonzero(begins_id)  # of each id
    rows_of_id = np.diff(start, append=len(code))
    # Unless a system repeats an id, an id with as many rows as there are systems has one of each,
    # in the order of the systems.
    complete_start = start[rows_of_id == systems]
    rows = order[complete_start[:, np.newaxis] + np.arange(systems)]  # of shape (ids, systems)
    repeated = np.flatnonzero(has_previous_id & (system[1:] == system[:-1]))
    if not repeated.size:
        return Pairing(rows, repeated_row=None)
    return Pairing(rows, repeated_row=int(order[repeated[0] + 1]))


# Tables -------------------------------------------------------------------------------------------


Named = TypeVar("Named")
Column = TypeVar("Column")


@dataclass(frozen=True, eq=False)
class CheckedPart:
    """A part whose columns have been read and checked.

    fields: role -> the column and its rules. columns: role -> an Arrow array of texts, or a numpy
    array of doubles. rows: the number of rows.
    """

    part: InputPart
    fields: Fields
    columns: dict[str, CheckedColumn]
    rows: int


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """The rows of several parts, in sequence."""

    blocks: Sequence[CheckedPart]

    def __len__(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def sources(self) -> tuple[Source, ...]:
        """What the report states of each part: its name, rows and file. Raises InputError if a
        file changed during reading.
        """
        return tuple(block.part.fingerprint(block.rows) for block in self.blocks)

    def locate(self, row: int) -> tuple[InputPart, int]:
        """The part of a row (from 0) and its number there, from 1."""
        return locate(((block.part, block.rows) for block in self.blocks), row)

    def place(self, row: int) -> str:
        """The part and row, for errors."""
        part, number = self.locate(row)
        return part.place(number)

    def released(self, role: str, read: Callable[["CheckedTable", str], Column]) -> Column:
        """A column, which the table then no longer holds. read: makes it from the table and the
        role.
        """
        column = read(self, role)
        for block in self.blocks:
            del block.columns[role]
        return column

    def numbers(self, role: str) -> Floats:
        """The doubles of a role, of all parts in sequence."""
        columns = [block.columns[role] for block in self.blocks]
        return columns[0] if len(columns) == 1 else np.concatenate(columns)

    def chunks(self, role: str) -> list["pa.Array"]:
        """The texts of a role as Arrow arrays, which are not copied into one: those of the first
        file or table, then those of the next.
        """
        chunks: list[pa.Array] = []
        for block in self.blocks:
            column = block.columns[role]
            # a chunked array has several arrays; any other column is an array itself
            chunks += getattr(column, "chunks", [column])
        return chunks

    def column(self, role: str) -> "pa.ChunkedArray":
        """A text column as a chunked Arrow array."""
        import pyarrow as pa

        chunks = [chunk.cast(pa.string()) for chunk in self.chunks(role)]
        return pa.chunked_array(chunks, pa.string())

    def texts(self, role: str) -> np.ndarray:
        """A text column as objects, None if a cell is empty; equal texts are one object."""
        code, texts = encode(self.chunks(role))
        return np.array(texts.to_pylist(), dtype=object)[code]

    def coded(
        self, role: str, normalise: Callable[[str], str] = str, empty_text: str = ""
    ) -> Coded:
        """The texts of a role, encoded. normalise, empty_text: as in the function `coded`."""
        return coded(self.chunks(role), normalise, empty_text)


def locate(stretches: Iterable[tuple[Named, int]], row: int) -> tuple[Named, int]:
    """The part that a row lies in, and its number there, from 1.

    stretches: parts in sequence, each with the number of its rows. row: from 0, in all of them.
    """
    for part, rows in stretches:
        if row < rows:
            return part, row + 1
        row -= rows
    raise IndexError(row)


def read(parts: Sequence[InputPart], fields: Sequence[Fields]) -> CheckedTable:
    """Read the columns of several parts. fields: those of each part. Raises InputError as
    `read_part` does.
    """
    pairs = zip(parts, fields, strict=True)
    return CheckedTable([read_part(part, fields_of_part) for part, fields_of_part in pairs])


def too_many_error(parts: Sequence[InputPart], what: str, max_units: int) -> InputError:
    """The error for an input with more units than can be held in memory."""
    return refused(names(parts), "not_held", most=max_units, what=what)


def refuse_missing_columns(parts: Sequence[InputPart], fields: Sequence[Fields]) -> None:
    """Raise InputError if one part has a role that another lacks."""
    first = parts[0]
    first_fields = fields[0]
    for part, part_fields in zip(parts[1:], fields[1:], strict=True):
        lacking = []
        for role, field in first_fields.items():
            if role not in part_fields:
                lacking.append(_lacks(part, field, first))
        for role, field in part_fields.items():
            if role not in first_fields:
                lacking.append(_lacks(first, field, part))
        if lacking:
            raise InputError(
                f"{first.name} and {part.name} must have the same columns: {'; '.join(lacking[:5])}"
            )


def _lacks(part: InputPart, column: Field, other_part: InputPart) -> str:
    """A clause of an error: a part has no column for the role that a column of another has."""
    return f"{part.name} has no column like {column.column!r} of {other_part.name}"


def read_part(part: InputPart, fields: Fields) -> CheckedPart:
    """Read columns of a file or table and check every value.

    fields: role -> the column and the rules that its values must follow. Raises InputError if there
    is no row, or a value breaks a rule of its column.
    """
    by_type = columns_by_type(fields)
    loaded = part.load(by_type.texts, by_type.numbers)  # role -> Arrow array
    rows = len(next(iter(loaded.values())))  # all columns have the same number
    if not rows:
        raise part.no_rows_error()
    columns = {role: field.check(loaded[role], part) for role, field in fields.items()}
    return CheckedPart(part, fields, columns, rows)


# Slices -------------------------------------------------------------------------------------------


MOST = 12  # slices of a column
EMPTY_ATTRIBUTE = "(none)"  # the value of an attribute that is empty
MOST_DECIMALS = 16  # of the bounds of quartiles
BOUND = re.compile(r"\s*([<>])=?\s*(?=[0-9])")


@dataclass(frozen=True)
class Slice:
    """A slice: the units that share a value, or a range of values, of a column.

    label: the value or range. member: True for each unit in it; if the rows are not in memory, the
    number of the slice, from 1. texts: the values of the column in it. is_remainder: True for the
    slice that all rare values share.
    """

    column: str
    label: str
    member: Any
    texts: Sequence[str] = ()
    is_remainder: bool = False

    @property
    def name(self) -> str:
        """The slice as written for the parameter `segment`."""
        return f"{self.column}={self.label}"


def slices(column: str, values: ArrayLike | Coded, max_slices: int = MOST) -> list[Slice]:
    """The slices of a text column, in natural order of the value; every unit is in one of them.

    If there are more than `max_slices` distinct values, numbers are grouped by quartile; the most
    frequent texts have a slice each, and all others share one, so that no unit is left out.

    >>> [(s.label, int(s.member.sum())) for s in slices("digit", ["2", "10", "2"])]
    [('2', 2), ('10', 1)]
    """
    if isinstance(values, Coded):
        names = np.array(values.names)
        code = values.code
    else:
        texts = np.asarray(values, dtype=object).astype(str)
        names, code = np.unique(texts, return_inverse=True)
    grouped = groups(names, np.bincount(code, minlength=len(names)), max_slices)
    group_of_unit = grouped.number_of_value[code]
    return [
        Slice(
            column,
            label,
            group_of_unit == i,
            names[grouped.number_of_value == i].tolist(),
            is_remainder=i == grouped.remainder,
        )
        for i, label in enumerate(grouped.labels)
    ]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of the distinct values of a column.

    labels: of each group. number_of_value: for each distinct value the number of its group.
    remainder: the number of the group that all rare values share; None if each value has a group.
    """

    labels: list[str]
    number_of_value: Ints
    remainder: int | None = None


def groups(names: np.ndarray, rows: Ints, max_groups: int = MOST) -> Groups:
    """The groups of `slices`, from the distinct values in order and the number of units of each.
    Beside quartiles of numbers, empty values (`EMPTY_ATTRIBUTE`) have a group of their own.

    >>> groups(np.array(["10", "2"]), np.array([1, 2])).labels
    ['2', '10']
    """
    is_empty = names == EMPTY_ATTRIBUTE
    numbers = _numbers(names[~is_empty])
    if len(names) > max_groups:
        if numbers is None or numbers.min() == numbers.max():  # different texts may be one double
            return _frequent(names, rows, max_groups)
        quarters = _quarters(numbers, rows[~is_empty])
        if not is_empty.any():
            return quarters
        number_of_value = np.full(len(names), len(quarters.labels), dtype=np.int64)
        number_of_value[~is_empty] = quarters.number_of_value
        return Groups([*quarters.labels, EMPTY_ATTRIBUTE], number_of_value)
    if numbers is None or is_empty.any():
        order = natural(names)
        labels = [str(names[i]) for i in order]
    else:
        order = np.argsort(numbers, kind="stable")
        labels = _plain([str(names[i]) for i in order])
    return Groups(labels, np.argsort(order))


def of_groups(labels: Mapping[str, Sequence[str]], columns: Iterable[Any]) -> list[Slice]:
    """The slices of columns whose rows are not in memory, numbered over all columns.

    labels: column -> the labels of its groups. columns: for each its distinct `values`, and
    `number_of_value`, the number of each one's group.
    """
    slices = list[Slice]()
    for (name, labels_of_column), column in zip(labels.items(), columns, strict=True):
        for i, label in enumerate(labels_of_column):
            texts = np.array(column.values)[column.number_of_value == i].tolist()
            slices.append(Slice(name, label, len(slices) + 1, texts))
    return slices


def natural(names: np.ndarray) -> Ints:
    """The order of texts in which the whole numbers in them count as numbers, and "<" and ">" as
    bounds.

    >>> natural(np.array(["10+", "2-9", "<=2", "week 10", "week 9"])).tolist()
    [2, 1, 0, 4, 3]
    """
    keys = [_natural_key(name) for name in names.tolist()]
    return np.array(sorted(range(len(names)), key=keys.__getitem__), np.int64)


def _natural_key(name: str) -> tuple[list[int | str], int]:
    """What a text is sorted by: its parts, with numbers as numbers, then −1 for a bound such as <2,
    1 for one such as >2, 0 for others.
    """
    bound_key = 0
    if bound := BOUND.match(name):
        bound_key = -1 if bound[1] == "<" else 1
        name = name[bound.end() :]
    parts = re.split(r"([0-9]+)", name)  # every second part is a number
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], bound_key


def _plain(labels: list[str]) -> list[str]:
    """Numbers as labels: without the exponent that some programs write, unless two then look alike.

    >>> _plain(["1.000e+00", "2.5"]), _plain(["1.000e+00", "1"])
    (['1', '2.5'], ['1.000e+00', '1'])
    """
    plain = [f"{float(label):.15g}" if "e" in label.lower() else label for label in labels]
    return plain if len(set(plain)) == len(labels) else labels


def _numbers(names: np.ndarray) -> Floats | None:
    """Texts as numbers; None if one is no finite number, or is written as numbers of tables are
    not, with an underscore or with other digits than 0 to 9.
    """
    if any("_" in name or not name.isascii() for name in names):
        return None
    try:
        numbers = np.array([float(name) for name in names])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _quarters(values: Floats, rows: Ints) -> Groups:
    """The groups of numbers by quartile, fewer if quartiles are equal. rows: how many units have
    each number.
    """
    quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], weights=rows, method="inverted_cdf")
    edges = np.unique(quartiles)
    interval = _interval_of(values, edges)
    bounds = _short_bounds(values, edges)
    texts = [_shortest_text(bound) for bound in bounds]
    labels = [f"({low}, {high}]" for low, high in itertools.pairwise(texts)]
    labels[0] = f"[{texts[0]}, {texts[1]}]"  # the least number is in the first group
    filled, group_of_value = np.unique(interval, return_inverse=True)
    return Groups([labels[i] for i in filled], group_of_value)


def _interval_of(values: Floats, edges: Floats) -> Ints:
    """The number of the interval (edge, next edge] that holds each value; the least edge belongs to
    the first.
    """
    return np.maximum(np.searchsorted(edges, values), 1) - 1


def _short_bounds(values: Floats, edges: Floats) -> Floats:
    """The edges of intervals with as few decimals as leave each value in its interval: rounded up,
    the first one down. Such decimals tell two neighbouring edges apart by ten units or more.
    """
    interval = _interval_of(values, edges)
    narrowest = float(np.diff(edges).min())
    if not np.isfinite(narrowest):  # beyond the largest double
        return edges
    fewest = max(1 - math.floor(math.log10(narrowest)), 0)
    for decimals in range(fewest, MOST_DECIMALS):
        bounds = np.array([_round_up(edge, decimals) for edge in edges])
        bounds[0] = -_round_up(-edges[0], decimals)
        if np.array_equal(_interval_of(values, bounds), interval):
            return bounds
    return edges


def _shortest_text(number: float) -> str:
    """A number in 15 digits if it is the same number, else in all that it has, so that different
    numbers have different texts.

    >>> _shortest_text(0.1 + 0.2), _shortest_text(0.67)
    ('0.30000000000000004', '0.67')
    """
    text = f"{number:.15g}"
    return text if float(text) == number else repr(float(number))


def _round_up(value: float, decimals: int) -> float:
    """The smallest number with so many decimals that is not below a value.

    >>> _round_up(0.6693, 2), _round_up(-0.6693, 2), _round_up(0.67, 2)
    (0.67, -0.66, 0.67)
    """
    nearest = round(value, decimals)
    return nearest if nearest >= value else round(nearest + 10.0**-decimals, decimals)


def _frequent(names: np.ndarray, rows: Ints, max_groups: int) -> Groups:
    """A group for each of the most frequent texts, in their natural order, and one for all others.
    rows: how many units have each text. max_groups: the number of groups.
    """
    by_frequency = np.argsort(-rows, kind="stable")
    frequent = np.sort(by_frequency[: max_groups - 1])
    frequent = frequent[natural(names[frequent])]
    rest = len(names) - len(frequent)
    remainder = len(frequent)  # the last group has the others
    group_of_value = np.full(len(names), remainder, dtype=np.int64)
    group_of_value[frequent] = np.arange(len(frequent))
    labels = [*(str(names[i]) for i in frequent), f"({rest} other values)"]
    return Groups(labels, group_of_value, remainder)
