"""The items of ranked lists: their ids, ranks, the top of each list, and the catalogue of items."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, InputError, Ints, ParameterError
from evalkit.metrics.diversity import Items
from evalkit.metrics.rankings import Lists
from evalkit.reading.inputs.rows import ListRows
from evalkit.reading.tables import columns as column_roles, ids, rules, table
from evalkit.reading.tables.parts import InputPart, Source

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ListAccount:
    """How one system's rows and the queries were used: the number of everything left out or
    unusual.

    rows = used + unjudged_query. missing: judged queries without a row. extra: queries of the run
    without judgements. tied: used rows with the same score as the row before. unjudged: used rows
    without a judgement. late: lists whose first rank is above 1. gaps: lists that lack a rank after
    their first. own: lists that return the query itself as an item; own_early: those that return it
    in their first fifth. respelled: lists among whose first rows is an item that differs from a
    judged one only in case or ending.
    """

    rows: int
    used: int
    unjudged_query: int
    missing: int
    extra: int
    tied: int
    unjudged: int
    late: int = 0
    gaps: int = 0
    own: int = 0
    own_early: int = 0
    respelled: int = 0

    @property
    def record(self) -> dict[str, int]:
        """The counts that the JSON holds, by name; those about items are in the findings alone."""
        in_findings = ("own", "own_early", "respelled")
        return {name: count for name, count in vars(self).items() if name not in in_findings}

    def __add__(self, other: "ListAccount") -> "ListAccount":
        """The counts of two shards of the queries together."""
        return ListAccount(*map(sum, zip(astuple(self), astuple(other), strict=True)))


# Items --------------------------------------------------------------------------------------------


class Collision(Exception):
    """Raised if two different items of a query have the same hash."""


class ItemCodes(NamedTuple):
    """For each row of the runs, and of the judgements, the number of its item."""

    runs: NDArray[np.uint64]
    judgements: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class ListedItems:
    """The items of the rows of runs and of judgements, as numbers that are equal for equal items.

    compares_texts: False if the numbers are hashes of the items' texts, which are quick to make but
    may be equal for two items; True if each item has a number of its own.
    """

    runs: ListRows
    judgements: ListRows
    compares_texts: bool

    @cached_property
    def run_keys(self) -> NDArray[np.uint64]:
        """The number of the item of each row of the runs: a hash of its text, or a number that only
        this item has if `compares_texts`.
        """
        return self._item_codes.runs if self.compares_texts else _item_hashes(self.runs)

    @cached_property
    def judgement_keys(self) -> NDArray[np.uint64]:
        """The number of the item of each row of the judgements, made as that of a row of the runs,
        so that equal items have equal numbers in both.
        """
        if self.judgements is self.runs:  # one table holds the runs and their grades
            return self.run_keys
        return self._item_codes.judgements if self.compares_texts else _item_hashes(self.judgements)

    @cached_property
    def _item_codes(self) -> "ItemCodes":
        """A number for each item of the runs and judgements that no other item has."""
        _, codes = ids.sorted_codes(self.runs.item, self.judgements.item)
        # in the upper bits: those are what `ids.row_keys` keeps
        runs, judgements = [code.astype(np.uint64) << np.uint64(32) for code in codes]
        return ItemCodes(runs, judgements)

    def item_ranks(self, rows: Ints) -> Ints:
        """For each of some rows of the run the rank of its item among the items of these rows, in
        the order of UTF-8 bytes.
        """
        return table.encode_sorted(items_of_rows(self.runs.item, rows))[0]

    def refuse_collisions(
        self, first_table: ListRows, first_rows: Ints, second_table: ListRows, second_rows: Ints
    ) -> None:
        """Raise `Collision` if two rows whose items have the same hash have different items.

        first_table, second_table: the runs or the judgements. first_rows, second_rows: row numbers
        in them; the i-th row of the one has the same hash as the i-th row of the other.
        """
        if self.compares_texts:  # the numbers of items are no hashes
            return
        if first_table is second_table:  # no text is read to compare a row with itself
            is_other_row = first_rows != second_rows
            first_rows = first_rows[is_other_row]
            second_rows = second_rows[is_other_row]
        if not len(first_rows):
            return
        first_items = items_of_rows(first_table.item, first_rows)
        second_items = items_of_rows(second_table.item, second_rows)
        if not first_items.equals(second_items):
            raise Collision


def _item_hashes(rows: ListRows) -> NDArray[np.uint64]:
    """A hash of the item of each row. The systems of a wide table share their blocks of items, each
    of which is hashed once.
    """
    hashes = {id(block): ids.text_hashes(block) for block in rows.item}
    return ids.concatenated([hashes[id(block)] for block in rows.item])


def own_documents(rows: ListRows) -> Bools:
    """True for each row whose item has the id of its query, as in lists of documents similar to a
    document.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    masks = [
        pc.equal(query.cast(text), item.cast(text)).to_numpy(zero_copy_only=False)
        for query, item in zip(rows.query, rows.item, strict=True)
    ]
    return np.concatenate(masks) if masks else np.zeros(0, np.bool_)


def plain_texts(items: "pa.Array") -> "pa.Array":
    """Items in small letters and without an ending such as .jpg. items: Arrow text."""
    import pyarrow.compute as pc

    lower = pc.utf8_lower(pc.utf8_trim_whitespace(items))
    return pc.replace_substring_regex(lower, r"\.[a-z][a-z0-9]{0,4}$", "")


def is_respelled(items: "pa.Array", query: Ints, judged: "pa.Array", judged_query: Ints) -> Bools:
    """True for each item that differs from a judged item of its query in case or ending alone, and
    equals no judged item.

    items, judged: Arrow text; query, judged_query: the number of the query of each.
    """
    plain, (item_code, judged_code) = ids.sorted_codes([plain_texts(items)], [plain_texts(judged)])
    judged_pairs = np.unique(judged_query * len(plain) + judged_code)
    is_near = np.isin(query * len(plain) + item_code, judged_pairs)
    _, (exact_code, exact_judged_code) = ids.sorted_codes([items], [judged])
    return np.asarray(is_near & ~np.isin(exact_code, exact_judged_code))


def items_of_rows(blocks: Sequence["pa.Array"], rows: Ints) -> "pa.Array":
    """The ids of the items of some rows, as one Arrow array of texts.

    blocks: Arrow arrays that together have the item of every row, in the order of the rows. rows:
    the numbers of the wanted rows.
    """
    import pyarrow as pa

    if len(blocks) > 1:  # which may differ in their type of text: they get a common one first
        column = pa.chunked_array([block.cast(pa.large_string()) for block in blocks])
        return column.take(pa.array(rows)).combine_chunks()
    return blocks[0].take(pa.array(rows)).cast(pa.large_string())


# Ranks as places ----------------------------------------------------------------------------------


def positions(ranked: Bools, score: Floats, tied: Bools, ends: Ints) -> Ints | None:
    """The rank of each row of lists in order; None if it is the row's number in its list for all
    rows.

    ranked: rows whose negated score is their rank; the others are counted. tied: rows with the same
    score as the row before. ends: the indices at which the lists begin and end.

    >>> positions(
    ...     np.array([True, True]),
    ...     np.array([-2.0, -9.0]),
    ...     np.array([False, False]),
    ...     np.array([0, 2]),
    ... ).tolist()
    [2, 9]
    """
    counted = np.arange(1, len(score) + 1) - np.repeat(ends[:-1], np.diff(ends))
    position = distinct_ranks(np.where(ranked, -score, counted).astype(np.int64), tied, ends)
    return None if np.array_equal(position, counted) else position


def distinct_ranks(rank: Ints, tied: Bools, ends: Ints) -> Ints:
    """The rank of each row of lists in order: its own, or the next free one if rows before it have
    the same.

    rank: ascending in each list; ends: the indices at which the lists begin and end.

    >>> distinct_ranks(
    ...     np.array([2, 2, 3, 9]), np.array([False, True, False, False]), np.array([0, 4])
    ... ).tolist()
    [2, 3, 4, 9]
    """
    if not tied.any():
        return rank
    size = np.diff(ends)
    place_in_list = np.arange(len(rank)) - np.repeat(ends[:-1], size)
    # A place is the largest rank less row number so far in the list, plus the row number. Lists are
    # kept apart by the codes of these differences, whose product with the number of lists fits
    # where the differences would not.
    value, code = np.unique(rank - place_in_list, return_inverse=True)
    key = np.repeat(np.arange(len(size)), size) * len(value) + code
    return np.asarray(value[np.maximum.accumulate(key) % len(value)] + place_in_list)


class RankGaps(NamedTuple):
    """The number of lists whose first rank is above 1 (late), and of lists that lack a rank after
    their first (gaps).
    """

    late: int
    gaps: int


def rank_gaps(lists: Lists) -> RankGaps:
    """Count the lists whose first row has a rank above 1 (late), and those that skip a rank between
    their first and last row (gaps): rows may have been lost there.
    """
    if lists.position is None:  # rows are ranked 1, 2, 3, …, as the input states no other ranks
        return RankGaps(0, 0)
    has_rows = lists.length > 0
    first_row = lists.offset[:-1][has_rows]  # of each list, among the rows of all lists
    first_rank = lists.position[first_row]
    last_rank = lists.depth[has_rows]  # a list is as deep as the rank of its last row
    has_gap = last_rank - first_rank + 1 > lists.length[has_rows]  # more ranks than rows
    return RankGaps(late=int((first_rank > 1).sum()), gaps=int(has_gap.sum()))


def grades_in_order(row: Ints, grade: Floats, order: Ints, levels: Floats) -> Floats:
    """The grades of all rows, sorted as `order` sorts the rows; NaN for a row without a judgement.

    row, grade: the row number of each judged row, and its grade. order: the row numbers of all
    rows, list by list from the first rank on. levels: the distinct grades, ascending.

    >>> levels = np.array([1.0, 2.0])
    >>> grades_in_order(np.array([2, 1]), np.array([1.0, 2.0]), np.array([2, 0, 1]), levels)
    array([ 1., nan,  2.])
    """
    # Grades are ordered as whole numbers of few bytes, as more of them fit into the processor's
    # cache than doubles. Code 0 is a row without a judgement, code i the i-th level.
    code = np.zeros(len(order), np.min_scalar_type(len(levels)))
    code[row] = np.searchsorted(levels, grade) + 1
    grade_of_code = np.concatenate([[np.nan], levels])
    ordered_grade = np.empty(len(order))
    for block in ids.cache_slices(len(order)):
        grade_of_code.take(code.take(order[block]), out=ordered_grade[block])
    return ordered_grade


def grades_best_first(query: Ints, grade: Floats, levels: Floats) -> Floats:
    """The grades of each query, best first, query by query in the order of their numbers.

    query: for each grade the number of its query. levels: the distinct grades, ascending.

    >>> grades_best_first(np.array([0, 1, 1]), np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0]))
    array([1., 2., 1.])
    """
    # One sort of whole numbers is quicker than a sort by two columns. So a grade becomes a number
    # with its query in the upper bits, and its rank among the levels, 1 for the best, in the lower.
    rank_bits = len(levels).bit_length()
    rank_of_level = len(levels) - np.searchsorted(levels, grade)
    query_and_rank = (query.astype(np.int64) << rank_bits) | rank_of_level
    query_and_rank.sort()
    sorted_ranks = query_and_rank & ((1 << rank_bits) - 1)  # the lower bits alone
    return np.asarray(levels[len(levels) - sorted_ranks])


# The first items of each list ---------------------------------------------------------------------


KEPT = 200_000  # rows of all lists together whose items stay in memory
DEEPEST = 100  # rows of each list whose items stay
SHALLOWEST = 10  # with fewer rows per list none stays


@dataclass(frozen=True, eq=False)
class RetrievedItems:
    """The first `depth` rows of all lists, in the order of the systems and their lists.

    items: a function that returns the items of all these rows, as Arrow text; it is called when
    they are first needed. length: the rows of each list.
    """

    items: Callable[[], "pa.Array"]
    length: Ints
    systems: Sequence[str]
    depth: int

    @cached_property
    def _coded(self) -> "pa.DictionaryArray":
        """The items as an Arrow array of dictionary type."""
        return self.items().dictionary_encode()

    @property
    def texts(self) -> "pa.Array":
        """The distinct items, as Arrow text."""
        return self._coded.dictionary

    @cached_property
    def lists(self) -> Mapping[str, Items]:
        """System -> the first rows of its lists, as indices into `texts`."""
        item = self._coded.indices.to_numpy().astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(self.length)])
        queries = len(self.length) // len(self.systems)
        lists = {}
        for i, system in enumerate(self.systems):
            offset = ends[i * queries : (i + 1) * queries + 1]
            items = item[offset[0] : offset[-1]]
            lists[system] = Items(items, offset - offset[0], len(self.texts))
        return lists

    def take(self, member: Bools) -> "RetrievedItems":
        """The lists of some queries. member: True for these."""
        is_taken = np.tile(member, len(self.systems))  # of each list
        rows = np.repeat(is_taken, self.length)
        return RetrievedItems(
            lambda: self.items().filter(rows), self.length[is_taken], self.systems, self.depth
        )

    def first(self, system: str, query: int, k: int) -> list[str]:
        """The items of the first k rows of a list, at most `depth`."""
        lists = self.lists[system]
        start, stop = lists.offset[query : query + 2]
        items = self.texts.take(lists.item[start : min(start + k, stop)])
        return [str(item) for item in items.to_pylist()]


def retrieved_depth(lists: int) -> int:
    """The number of rows of each list whose items stay in memory; 0 if there are too many lists.

    >>> retrieved_depth(500), retrieved_depth(4_000), retrieved_depth(40_000)
    (100, 50, 0)
    """
    rows = min(DEEPEST, KEPT // max(lists, 1))
    return rows if rows >= SHALLOWEST else 0


def concatenated_ranges(start: Ints, length: Ints) -> Ints:
    """The whole numbers of several ranges, one range after another; a range has `length` numbers
    from `start` on.

    >>> concatenated_ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    numbers_before = np.cumsum(length) - length
    return np.asarray(np.arange(length.sum()) + np.repeat(start - numbers_before, length))


# The table of items -------------------------------------------------------------------------------


CATALOGUE_ROLES = (
    rules.Role.declared("item", required=True),
    rules.Role.declared("category"),
    rules.Role.declared("popularity"),
    rules.Role.declared("user_share"),
)
ONLY_OF_ITEMS = ("category", "popularity", "user_share")  # roles that only this table has
FEATURE = "feature_"
FEATURES = (rules.FINITE_OR_EMPTY, rules.MEASURABLE)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The items that could be listed, from the table `items`. Each array has a row per item; it is
    None if no column has it.

    item: ids as text. category: a number per item, -1 for none. features: shape (items, features),
    NaN for an empty cell. popularity: interactions with an item, NaN for an empty cell. user_share:
    the share of users that had it, NaN for an empty cell.
    """

    item: np.ndarray
    category: Ints | None
    features: Floats | None
    popularity: Floats | None
    user_share: Floats | None
    sources: tuple[Source, ...]

    def __len__(self) -> int:
        return len(self.item)

    def listed(self, retrieved: RetrievedItems) -> dict[str, Items]:
        """System -> its lists, with items as rows of this table, -1 for an item that it lacks.

        Raises InputError if the table has none of the items.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = retrieved.texts.cast(pa.large_string())
        place = pc.index_in(texts, value_set=pa.array(self.item, pa.large_string()))
        row = pc.fill_null(place, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if not (row >= 0).any():
            raise column_roles.refused(
                self.sources[0].name, "other_items", item=self.item[0], listed=texts[0].as_py()
            )
        return {
            name: Items(row[lists.item], lists.offset, len(self))
            for name, lists in retrieved.lists.items()
        }


def other_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """The columns by role, without those of this table alone.

    >>> other_columns({"query": "topic", "category": "genre"})
    {'query': 'topic'}
    """
    return {role: name for role, name in columns.items() if role not in ONLY_OF_ITEMS}


def planned_catalogue(part: InputPart, columns: Mapping[str, str]) -> dict[str, rules.Field]:
    """The columns of a part by role; a feature has its name as role. Raises InputError if there is
    no item column.
    """
    names = [role.name for role in CATALOGUE_ROLES]
    chosen = {role: columns[role] for role in ONLY_OF_ITEMS if role in columns}
    if columns.get("item") in part.columns:
        chosen["item"] = columns["item"]
    features = [name for name in part.columns if name.startswith(FEATURE)]
    roles = column_roles.match(part.columns, names, chosen, part.name, features).resolve(["item"])
    fields = {
        role.name: rules.Field(roles[role.name], role.rules)
        for role in CATALOGUE_ROLES
        if role.name in roles
    }
    return fields | {name: rules.Field(name, FEATURES) for name in features}


def read_catalogue(
    parts: Sequence[InputPart] | None, columns: Mapping[str, str]
) -> Catalogue | None:
    """The table of all items that could be recommended: their ids, categories, features and
    popularity; None if the user gives no such table.

    parts: its files. columns: role -> column, as the user names them. Raises ParameterError for a
    role that only this table has if there is none, InputError for invalid values.
    """
    if parts is None:
        for role in ONLY_OF_ITEMS:  # such as the category
            if role in columns:
                raise ParameterError(
                    f"columns: {role} is a column of the table of items; set items=TABLE"
                )
        return None
    fields = [planned_catalogue(part, columns) for part in parts]  # role -> column, of each file
    table.refuse_missing_columns(parts, fields)  # so that the columns of the first stand for all
    rows = table.read(parts, fields)
    item = rows.texts("item")
    _refuse_repeated(item, rows)
    category = None
    if "category" in fields[0]:
        category = _codes(rows.texts("category"))
    # popularity, share of users and features
    numbers = {role: rows.numbers(role) for role, field in fields[0].items() if field.is_number}
    feature_columns = [numbers[role] for role in numbers if role.startswith(FEATURE)]
    features = None
    if feature_columns:
        features = np.column_stack(feature_columns)
    return Catalogue(
        item,
        category,
        features,
        popularity=numbers.get("popularity"),
        user_share=numbers.get("user_share"),
        sources=rows.sources,
    )


def _refuse_repeated(item: np.ndarray, rows: table.CheckedTable) -> None:
    """Raise InputError for the first item that a row names again."""
    _, first = np.unique(item.astype(str), return_index=True)
    if len(first) < len(item):
        row = int(np.setdiff1d(np.arange(len(item)), first)[0])
        raise InputError(f"{rows.place(row)}: item must appear once, got {item[row]!r} again")


def _codes(names: np.ndarray) -> Ints:
    """A number for each text, -1 for an empty one."""
    numbers: dict[str | None, int] = {None: -1}
    return np.array([numbers.setdefault(name, len(numbers) - 1) for name in names], np.int64)
