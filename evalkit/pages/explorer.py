"""Single units on a page: the rows that a system misses most, folded, each open to its other
columns.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from evalkit.arrays import Floats
from evalkit.caching import cached
from evalkit.drawing import tables
from evalkit.drawing.cells import Cell, Head, breakable_name, escape, number_cell
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.numbers import END, LISTED, count_with_noun, cut, decimals, rounded, signed_number
from evalkit.pages import texts
from evalkit.studies.row_study import ErrorKind, LargestErrors, RowStudy, missed_within

if TYPE_CHECKING:
    import numpy as np

MOST = 500  # rows that a page lists
ROOM = 10_000  # letters of HTML that they may take, without what they open to
OPENED = 30  # rows that open to the other columns of the input
SYSTEMS = 4  # whose values stand beside the two that are compared
MAX_OFFERED_SYSTEMS = 5  # systems of which a reader chooses the two that are compared
HEADS = {ErrorKind.LABELS: "worst label of {}"}  # of a column of predictions; else the system
Columns = Mapping[str, Sequence[Cell | str]]  # the cells of each column, by its head
# what a column of `ComparedPairColumns` holds; the page's script has these
FIRST, SECOND, DIFFERENCE = range(3)


@dataclass(frozen=True, eq=False)
class ComparedPairColumns:
    """The columns of two systems, those that the page compares until the reader chooses others.

    values: of each system that can be chosen, one per unit, the two first. differences: one per
    unit. heads: of each column, with {0} and {1} for the systems; mapped to what it holds: the
    values of the `FIRST` or the `SECOND` system, or the `DIFFERENCE`. places: the decimals.
    """

    values: Mapping[str, Floats]
    differences: Iterable[float]
    heads: Mapping[str, int]
    places: int

    @property
    def has_choice(self) -> bool:
        """True if there are more than two systems."""
        return len(self.values) > 2

    def columns(self) -> dict[Cell, list[Cell]]:
        """The cells of the columns of the first two systems, one per unit, by the head of each
        column, such as "miss new − old". Heads are bold.
        """
        first, second = islice(self.values.values(), 2)
        cells_by_content = {
            FIRST: [number_cell(value, self.places) for value in first],
            SECOND: [number_cell(value, self.places) for value in second],
            DIFFERENCE: [
                number_cell(value, self.places, signed_number) for value in self.differences
            ],
        }
        columns = {}
        for template, content in self.heads.items():  # such as "miss {0} − {1}", DIFFERENCE
            head = template.format(*self.values)  # with the names of the systems
            columns[Cell(head, markup=f"<b>{breakable_name(head)}</b>")] = cells_by_content[content]
        return columns

    def choice(self, start: int) -> Html:
        """Two boxes in which a reader chooses the two systems that the table compares. A script of
        the page then writes the columns anew, from the values of all systems, which an attribute
        holds as JSON. start: the index of the first of these columns in the table. A notebook,
        which runs no script, shows nothing in place of the boxes.
        """
        names_and_values: list[list[object]] = []  # of each system its name, then a value per unit
        for name, numbers in self.values.items():
            rounded_values = [rounded(value, self.places) for value in numbers]
            names_and_values.append([name, *rounded_values])
        data = {
            "values": names_and_values,
            "heads": list(self.heads.items()),  # a template of each head, and what its column holds
            "start": start,
            "places": self.places,
        }
        packed = escape(json.dumps(data, separators=(",", ":"), ensure_ascii=False))
        first_box = self._options(selected=0)
        second_box = self._options(selected=1)
        boxes = (
            f'<select aria-label="first system">{first_box}</select> and '
            f'<select aria-label="second system">{second_box}</select>'
        )
        html = f'<div class="tools sweep" data-pair="{packed}"><span>Compare {boxes}</span></div>'
        return Html(html, replaced_by=(Html(""),))

    def _options(self, selected: int) -> str:
        """The systems as options of a box. selected: the number of the one that it shows first;
        without a mark a browser shows number 0.
        """
        options = ""
        for i, name in enumerate(self.values):
            mark = " selected" if i == selected > 0 else ""
            options += f"<option{mark}>{escape(name)}"
        return options


@dataclass(frozen=True, eq=False)
class UnitListing:
    """The units that a page lists.

    which: the line that opens the list. systems: in words. unit: what a unit is called. names: of
    the units. attributes: the text of each unit by column, such as its segments. opened: HTML that
    the first of the units open to; "" for one that does not. pair: whose columns stand between
    `columns` and `further_columns`.
    """

    which: str
    systems: str
    unit: str
    names: Sequence[object]
    attributes: Mapping[str, Sequence[object]]
    columns: Columns
    opened: Sequence[str] = ()
    note: str = ""
    pair: ComparedPairColumns | None = None
    further_columns: Columns = field(default_factory=dict)


def listing(explored: UnitListing) -> Html:
    """A fold with a table of single units, the first of which open to further HTML; of more than
    two systems also, above the table, boxes to choose the two that it compares.
    """
    # `opened` has an entry for the first units only; the others do not open, as for ""
    names_and_html = zip_longest(explored.names, explored.opened, fillvalue="")
    heads_of_rows = [_opening(name, html) for name, html in names_and_html]
    table = _listing_table(explored, heads_of_rows)
    pair = explored.pair
    if pair is None or not pair.has_choice:
        return folded(explored.which, table, place=LISTED)
    # the columns of the pair follow the unit's name, its attributes and `columns`
    first_column_of_pair = 1 + len(explored.attributes) + len(explored.columns)
    boxes = pair.choice(first_column_of_pair)
    return folded(explored.which, stack([boxes, table]), place=LISTED)


def _listing_table(explored: UnitListing, heads: Sequence[Cell]) -> Html:
    """The table of the units: their attributes, `columns`, the columns of the pair, and
    `further_columns`. heads: the first cell of each row.
    """
    attributes = []
    for name, values in explored.attributes.items():
        attributes.append([_attribute(name, value) for value in values])
    table_heads: list[Head] = [explored.unit, *explored.attributes, *explored.columns]
    columns: list[Sequence[Head]] = [heads, *attributes, *explored.columns.values()]
    caption = f"{explored.which}, {explored.systems}"
    if explored.pair is not None:
        pair_columns = explored.pair.columns()
        table_heads += pair_columns
        columns += pair_columns.values()
        if explored.pair.has_choice:  # the order stays if the reader chooses other systems
            caption = f"{explored.which}, in the order of {explored.systems}"
    table_heads += explored.further_columns
    columns += explored.further_columns.values()
    rows = list(zip(*columns, strict=True))
    return tables.unlimited_table(caption, table_heads, rows, explored.note)


def _opening(name: object, html: str) -> Cell:
    """The head of a unit's row, which opens to the HTML; "" for one that does not open."""
    if not html:
        return Cell(str(name))
    details = f"<details><summary>{escape(name)}</summary><div>{html}</div></details>"
    return Cell(str(name), markup=details)


def _attribute(name: str, value: object) -> Cell:
    """A value with the name of its column, which a reader can type to filter; with its end a link
    filters by it.
    """
    return Cell(f"{name} {value}{END}", kind="text")


def explorer(study: RowStudy) -> Html:
    """A folded table of the rows on which the leader's error is largest, or differs most from its
    opponent's, with predictions and errors. The first rows open to those columns of the input that
    the report does not use. A sentence in its place if the rows are not in memory.
    """
    if study.data is None:
        return muted_paragraph(texts.sentence("explorer.not_listed", study))
    missed = _missed(study)
    opened = []  # HTML of each of the first rows
    for texts_by_column in missed.unused_values(OPENED):
        lines = [f"{escape(name)}: {escape(cut(text))}" for name, text in texts_by_column.items()]
        opened.append("<br>".join(lines))
    return listing(_explored(missed, opened))


def _explored(missed: LargestErrors, opened: Sequence[str] = ()) -> UnitListing:
    """The table of the rows with the largest errors, as the page lists them: the actual value, the
    predictions of the systems, and the errors of the two compared systems, or of the only one.
    opened: HTML that the first rows open to.
    """
    leader = missed.pair[0]
    attributes = {}
    for name in missed.study.settings.attributes:
        attributes[name] = missed.study.attributes[name][missed.rows].tolist()
    columns = _predictions(missed)
    pair_columns = None
    if len(missed.pair) > 1:
        pair_columns = _errors_of_pair(missed)
    else:
        columns[f"miss {leader}"] = _values(missed.misses.errors[leader][missed.rows])
    return UnitListing(
        which=_which_rows(missed),
        systems=" and ".join(missed.pair),
        unit="row",
        names=missed.input_rows.id[missed.rows].tolist(),
        attributes=attributes,
        columns=columns,
        opened=opened,
        note=_note_on_rows(missed),
        pair=pair_columns,
    )


def _which_rows(missed: LargestErrors) -> str:
    """Which rows a table lists, for the line that opens it."""
    n_listed = len(missed.rows)
    if n_listed == len(missed.input_rows):
        return f"All {count_with_noun(n_listed, 'row')}"
    if len(missed.pair) > 1:
        return f"The {n_listed} rows with the largest or most unlike errors"
    return f"The {n_listed} rows with the largest errors"


def _note_on_rows(missed: LargestErrors) -> str:
    """How the listed rows were chosen, unless all are listed, and what an error ("miss") is."""
    definition_of_error: str = texts.DEFINITIONS["misses"][missed.misses.error_kind.name]
    n_rows = len(missed.input_rows)
    if len(missed.rows) == n_rows:
        return definition_of_error
    leader = missed.pair[0]
    choice = f"Of {n_rows:,} rows, those with the largest errors of {leader}"
    if missed.study.slices:
        choice += ", overall and per segment"
    if len(missed.pair) > 1:
        opponent = missed.pair[1]
        choice += f", and those where the errors of {leader} and {opponent} differ most"
    return f"{choice}. {definition_of_error}"


def listed_rows(study: RowStudy) -> dict[str, object]:
    """The rows that the page lists, unrounded; nothing where the rows are not at hand."""
    if study.data is None:
        return {}
    missed = _missed(study)
    return {"missed": [_record(missed, row) for row in missed.rows.tolist()]}


def _record(missed: LargestErrors, row: int) -> dict[str, object]:
    """A row for the JSON: its id, its actual value, and each system's prediction and error. row:
    its number among all rows.
    """
    misses = missed.misses
    systems = []
    for name, predictions in misses.predictions.items():
        systems.append({"system": name, "says": predictions[row], "miss": misses.errors[name][row]})
    return {
        "row": missed.input_rows.id[row],
        misses.truth_name: misses.truth[row],
        "systems": systems,
    }


@cached
def _missed(study: RowStudy) -> LargestErrors:
    """The rows with the largest errors, as many as a page has room for."""
    return missed_within(study, MOST, ROOM, _size_in_html)


def _size_in_html(missed: LargestErrors) -> int:
    """The number of characters of the HTML of a plain table of these rows, by which the number of
    rows is limited. HTML that rows open to, bold heads and the boxes to choose other systems are
    not in it: they would leave room for fewer rows.
    """
    explored = _explored(missed)
    if explored.pair is not None:
        plain_columns = dict(explored.columns)
        for bold_head, cells in explored.pair.columns().items():
            plain_columns[bold_head.text] = cells
        explored = replace(explored, columns=plain_columns, pair=None)
    heads_of_rows = [Cell(str(name)) for name in explored.names]
    return len(_listing_table(explored, heads_of_rows).html)


def _predictions(missed: LargestErrors) -> dict[str, list[Cell | str]]:
    """The columns of the listed rows with the actual values, and with the predictions of up to
    `SYSTEMS` systems, the compared ones first; a cell per row, by the head of the column.
    """
    misses = missed.misses
    columns = {misses.truth_name: _values(misses.truth[missed.rows])}
    # the name of the system, or for some kinds of predictions a text with the name in place of {}
    head = HEADS.get(misses.error_kind, "{}")
    for name in _compared_first(missed)[:SYSTEMS]:
        columns[head.format(name)] = _values(misses.predictions[name][missed.rows])
    return columns


def _compared_first(missed: LargestErrors) -> list[str]:
    """All systems, the compared ones first, the others in the order of the study."""
    return list(dict.fromkeys([*missed.pair, *missed.study.order]))


def _errors_of_pair(missed: LargestErrors) -> ComparedPairColumns:
    """Two columns of the listed rows: the error ("miss") of the leader, and by how much it exceeds
    that of its opponent. They hold the errors of up to `MAX_OFFERED_SYSTEMS` systems, of which the
    reader can choose others.
    """
    errors = {}
    for name in _compared_first(missed)[:MAX_OFFERED_SYSTEMS]:
        errors[name] = missed.misses.errors[name][missed.rows]
    places = decimals(chain.from_iterable(errors[name] for name in missed.pair))
    heads = {"miss {0}": FIRST, "miss {0} − {1}": DIFFERENCE}  # {0}, {1}: the systems
    return ComparedPairColumns(errors, missed.excess, heads, places)


def _values(values: "np.ndarray") -> list[Cell | str]:
    """The cells of a column: numbers with the same decimals, or words.

    values: an array of doubles or of objects.
    """
    if values.dtype == object:
        return [Cell(cut(str(value)), kind="text") for value in values]
    places = decimals(values)
    return [number_cell(value, places) for value in values]
