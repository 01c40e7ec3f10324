"""Single units on a page: the rows that a system misses most, folded, each open to its other columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from evalkit import numbers
from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, number_cell
from evalkit.numbers import END, counted, decimals, signed
from evalkit.pages import page
from evalkit.studies import row_study
from evalkit.studies.row_study import By, Missed, RowStudy
from evalkit.system import cached

MOST = 500  # rows that a page lists


ROOM = 10_000  # letters of HTML that they may take, without what they open to


OPENED = 30  # rows that open to the other columns of the input


SYSTEMS = 4  # whose values stand beside the two that are compared


CUT = 80  # letters of a cell


HEADS = {By.LABELS: "worst label of {}"}  # of what a system says; else its name


@dataclass(frozen=True, eq=False)
class Explored:
    """The units that a page lists. beside: column -> text of each, such as its segments. columns: head -> cells.

    opened: HTML, what the first of them open to; nothing where that is empty.
    """

    which: str
    of: str
    unit: str
    names: Sequence[object]
    beside: Mapping[str, Sequence[object]]
    columns: Mapping[str, Sequence[Cell | str]]
    opened: Sequence[str]
    note: str = ""


def listing(e: Explored) -> Html:
    """A fold with a table of the units."""
    heads = [_opening(name, text) for name, text in zip_longest(e.names, e.opened, fillvalue="")]
    return tables.folded(e.which, _listing_table(e, heads), place=numbers.LISTED)


def _listing_table(e: Explored, heads: Sequence[Cell]) -> Html:
    beside = [[_beside(name, value) for value in values] for name, values in e.beside.items()]
    rows: list[Any] = list(zip(heads, *beside, *e.columns.values(), strict=True))
    return tables.whole(f"{e.which}, {e.of}", [e.unit, *e.beside, *e.columns], rows, e.note)


def _opening(name: object, opened: str) -> Cell:
    if not opened:
        return Cell(str(name))
    return Cell(str(name), markup=f"<details><summary>{escape(name)}</summary><div>{opened}</div></details>")


def _beside(name: str, value: object) -> Cell:
    """A value with the name of its column, which a reader can type to filter; with its end a link filters by it."""
    return Cell(f"{name} {value}{END}", kind="text")


def explorer(study: RowStudy) -> Html:
    """The rows that the leader misses by most or unlike its opponent, with what every system says of them."""
    if study.data is None:
        return tables.paragraph(
            f"Single rows are not listed: of more than {study.settings.limits.reading.rows:,} rows none is kept."
        )
    m = _missed(study)
    opened = [
        "<br>".join(f"{escape(name)}: {escape(_short(text))}" for name, text in row.items()) for row in m.opened(OPENED)
    ]
    return listing(_listing(m, opened))


def _listing(m: Missed, opened: Sequence[str] = ()) -> Explored:
    total, (first, *others) = len(m.aligned), m.pair
    kind = "rows with the largest or most unlike errors" if others else "rows with the largest errors"
    which = f"All {counted(total, 'row')}" if len(m.rows) == total else f"The {len(m.rows)} {kind}"
    slices = ", overall and per segment" if m.study.slices else ""
    unlike = f", and those where the errors of {first} and {others[0]} differ most" if others else ""
    note = (
        f"Of {total:,} rows, those with the largest errors of {first}{slices}{unlike}. " if len(m.rows) < total else ""
    )
    beside = {name: m.study.attributes[name][m.rows].tolist() for name in m.study.settings.attributes}
    names, note = m.aligned.id[m.rows].tolist(), f"{note}{page.DEFINITIONS['misses'][m.misses.by.name]}"
    return Explored(which, " and ".join(m.pair), "row", names, beside, _said(m), opened, note)


def recorded(study: RowStudy) -> dict[str, Any]:
    """The rows that the page lists, unrounded; nothing where the rows are not at hand."""
    if study.data is None:
        return {}
    m = _missed(study)
    return {"missed": [_record(m, row) for row in m.rows.tolist()]}


def _record(m: Missed, row: int) -> dict[str, Any]:
    by_system = ((name, m.misses.says[name][row], m.misses.off[name][row]) for name in m.misses.says)
    said = [{"system": name, "says": says, "miss": off} for name, says, off in by_system]
    return {"row": m.aligned.id[row], m.misses.truth_is: m.misses.truth[row], "systems": said}


@cached
def _missed(study: RowStudy) -> Missed:
    """As many rows as a page has room for."""
    return row_study.fitting(study, MOST, ROOM, _letters)


def _letters(m: Missed) -> int:
    e = _listing(m)
    return len(_listing_table(e, [Cell(str(name)) for name in e.names]).html)


def _said(m: Missed) -> dict[str, list[Cell | str]]:
    """What rows are and systems say, then the misses of the two that are compared and the difference of these."""
    head = HEADS.get(m.misses.by, "{}")
    systems = list(dict.fromkeys([*m.pair, *m.study.order]))[:SYSTEMS]
    says = {head.format(name): _values(m.misses.says[name][m.rows]) for name in systems}
    off = [m.misses.off[name][m.rows] for name in m.pair]
    places = decimals(value for values in off for value in values)
    columns = {m.misses.truth_is: _values(m.misses.truth[m.rows])} | says
    columns[f"miss {m.pair[0]}"] = [number_cell(value, places) for value in off[0]]
    if len(off) > 1:
        columns[f"miss {m.pair[0]} − {m.pair[1]}"] = [number_cell(value, places, signed) for value in m.apart]
    return columns


def _values(values: Any) -> list[Cell | str]:
    """Numbers with the same decimals, or words."""
    if values.dtype == object:
        return [Cell(_short(value), kind="text") for value in values]
    places = decimals(values)
    return [number_cell(value, places) for value in values]


def _short(value: object) -> str:
    """The first letters of a text."""
    text = str(value)
    return text if len(text) <= CUT else f"{text[:CUT]}…"
