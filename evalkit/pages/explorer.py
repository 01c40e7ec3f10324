"""Single units on a page: the rows that a system misses most, folded, each open to its other
columns.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from evalkit.arrays import Floats
from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, number_cell
from evalkit.numbers import END, LISTED, counted, cut, decimals, rounded, signed
from evalkit.pages import texts
from evalkit.studies.row_study import ErrorKind, Missed, RowStudy, fitting
from evalkit.system import cached

MOST = 500  # rows that a page lists


ROOM = 10_000  # letters of HTML that they may take, without what they open to


OPENED = 30  # rows that open to the other columns of the input


SYSTEMS = 4  # whose values stand beside the two that are compared


CHOICE = 5  # systems of which a reader chooses the two that are compared


HEADS = {ErrorKind.LABELS: "worst label of {}"}  # of what a system says; else its name


@dataclass(frozen=True, eq=False)
class Pair:
    """The columns of two systems, those that the page compares until the reader chooses others.

    values: of each system that can be chosen, one per unit, the two first. apart: their
    differences. heads: of each column, with {0} and {1} for the systems -> 0 or 1 for the values of
    the first or the second, 2 for the differences.
    """

    values: Mapping[str, Floats]
    apart: Iterable[float]
    heads: Mapping[str, int]
    places: int

    @property
    def chosen(self) -> bool:
        """Whether there are others to choose."""
        return len(self.values) > 2

    def columns(self) -> dict[Cell, list[Cell]]:
        """Heads and cells."""
        first, second, *_ = self.values.values()
        cells = [[number_cell(value, self.places) for value in of] for of in (first, second)]
        cells.append([number_cell(value, self.places, signed) for value in self.apart])
        heads = {head.format(*self.values): which for head, which in self.heads.items()}
        return {
            Cell(head, markup=f"<b>{tables.breaking(head)}</b>"): cells[which]
            for head, which in heads.items()
        }

    def choice(self, start: int) -> Html:
        """Two boxes to choose from, where a script runs. start: the place of the first column."""
        values = [
            [name, *(rounded(value, self.places) for value in of)]
            for name, of in self.values.items()
        ]
        data = {
            "values": values,
            "heads": [*self.heads.items()],
            "start": start,
            "places": self.places,
        }
        packed = escape(json.dumps(data, separators=(",", ":"), ensure_ascii=False))
        first, second, *rest = (f"<option>{escape(name)}" for name in self.values)
        chosen = second.replace(">", " selected>", 1)
        boxes = f'<select aria-label="first system">{"".join([first, second, *rest])}</select> and '
        boxes += f'<select aria-label="second system">{"".join([first, chosen, *rest])}</select>'
        html = f'<div class="tools sweep" data-pair="{packed}"><span>Compare {boxes}</span></div>'
        return Html(html, replaced_by=(Html(""),))


@dataclass(frozen=True, eq=False)
class Explored:
    """The units that a page lists. beside: column -> text of each, such as its segments. columns:
    head -> cells.

    opened: HTML, what the first of them open to; nothing where that is empty. pair: whose columns
    stand before `more`.
    """

    which: str
    of: str
    unit: str
    names: Sequence[object]
    beside: Mapping[str, Sequence[object]]
    columns: Mapping[str, Sequence[Cell | str]]
    opened: Sequence[str]
    note: str = ""
    pair: Pair | None = None
    more: Mapping[str, Sequence[Cell | str]] = field(default_factory=dict)


def listing(e: Explored) -> Html:
    """A fold with a table of the units."""
    heads = [_opening(name, text) for name, text in zip_longest(e.names, e.opened, fillvalue="")]
    choice = [e.pair.choice(1 + len(e.beside) + len(e.columns))] if e.pair and e.pair.chosen else []
    return tables.folded(e.which, tables.stack([*choice, _listing_table(e, heads)]), place=LISTED)


def _listing_table(e: Explored, heads: Sequence[Cell]) -> Html:
    beside = [[_beside(name, value) for value in values] for name, values in e.beside.items()]
    columns: dict[Any, Any] = {**e.columns, **(e.pair.columns() if e.pair else {}), **e.more}
    rows: list[Any] = list(zip(heads, *beside, *columns.values(), strict=True))
    order = "in the order of " if e.pair and e.pair.chosen else ""
    return tables.unlimited_table(
        f"{e.which}, {order}{e.of}", [e.unit, *e.beside, *columns], rows, e.note
    )


def _opening(name: object, opened: str) -> Cell:
    if not opened:
        return Cell(str(name))
    return Cell(
        str(name), markup=f"<details><summary>{escape(name)}</summary><div>{opened}</div></details>"
    )


def _beside(name: str, value: object) -> Cell:
    """A value with the name of its column, which a reader can type to filter; with its end a link
    filters by it.
    """
    return Cell(f"{name} {value}{END}", kind="text")


def explorer(study: RowStudy) -> Html:
    """The rows that the leader misses by most or unlike its opponent, with what every system says
    of them.
    """
    if study.data is None:
        return tables.paragraph(texts.sentence("explorer.not_listed", study))
    m = _missed(study)
    several = (
        [f"{escape(name)}: {escape(cut(text))}" for name, text in row.items()]
        for row in m.opened(OPENED)
    )
    return listing(_listing(m, list(map("<br>".join, several))))


def _listing(m: Missed, opened: Sequence[str] = ()) -> Explored:
    total = len(m.aligned)
    first, *others = m.pair
    kind = (
        "rows with the largest or most unlike errors" if others else "rows with the largest errors"
    )
    which = f"All {counted(total, 'row')}" if len(m.rows) == total else f"The {len(m.rows)} {kind}"
    slices = ", overall and per segment" if m.study.slices else ""
    unlike = (
        f", and those where the errors of {first} and {others[0]} differ most" if others else ""
    )
    some = f"Of {total:,} rows, those with the largest errors of {first}{slices}{unlike}. "
    note = some if len(m.rows) < total else ""
    beside = {
        name: m.study.attributes[name][m.rows].tolist() for name in m.study.settings.attributes
    }
    names = m.aligned.id[m.rows].tolist()
    note = f"{note}{texts.DEFINITIONS['misses'][m.misses.error_kind.name]}"
    of = " and ".join(m.pair)
    if not others:
        return Explored(which, of, "row", names, beside, _said(m) | _alone(m), opened, note)
    return Explored(which, of, "row", names, beside, _said(m), opened, note, _misses(m))


def recorded(study: RowStudy) -> dict[str, Any]:
    """The rows that the page lists, unrounded; nothing where the rows are not at hand."""
    if study.data is None:
        return {}
    m = _missed(study)
    return {"missed": [_record(m, row) for row in m.rows.tolist()]}


def _record(m: Missed, row: int) -> dict[str, Any]:
    by_system = (
        (name, m.misses.predictions[name][row], m.misses.errors[name][row])
        for name in m.misses.predictions
    )
    said = [{"system": name, "says": says, "miss": off} for name, says, off in by_system]
    return {"row": m.aligned.id[row], m.misses.truth_name: m.misses.truth[row], "systems": said}


@cached
def _missed(study: RowStudy) -> Missed:
    """As many rows as a page has room for."""
    return fitting(study, MOST, ROOM, _letters)


def _letters(m: Missed) -> int:
    e = _listing(m)
    if e.pair:  # what lets a reader choose takes no room from the rows
        plain = {head.text: cells for head, cells in e.pair.columns().items()}
        e = replace(e, columns={**e.columns, **plain}, pair=None)
    return len(_listing_table(e, [Cell(str(name)) for name in e.names]).html)


def _said(m: Missed) -> dict[str, list[Cell | str]]:
    """What rows are and systems say."""
    head = HEADS.get(m.misses.error_kind, "{}")
    systems = list(dict.fromkeys([*m.pair, *m.study.order]))[:SYSTEMS]
    says = {head.format(name): _values(m.misses.predictions[name][m.rows]) for name in systems}
    return {m.misses.truth_name: _values(m.misses.truth[m.rows])} | says


def _alone(m: Missed) -> dict[str, list[Cell | str]]:
    """The misses of the only system."""
    return {f"miss {m.pair[0]}": _values(m.misses.errors[m.pair[0]][m.rows])}


def _misses(m: Missed) -> Pair:
    """The misses of the first of two systems, and how much more it misses than the second."""
    values = {
        name: m.misses.errors[name][m.rows]
        for name in dict.fromkeys([*m.pair, *m.study.order][:CHOICE])
    }
    places = decimals(value for name in m.pair for value in values[name])
    return Pair(values, m.apart, {"miss {0}": 0, "miss {0} − {1}": 2}, places)


def _values(values: Any) -> list[Cell | str]:
    """Numbers with the same decimals, or words."""
    if values.dtype == object:
        return [Cell(cut(str(value)), kind="text") for value in values]
    places = decimals(values)
    return [number_cell(value, places) for value in values]
