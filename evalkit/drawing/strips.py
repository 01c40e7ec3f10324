"""The strip of results: a table with a row for each system, and in each row its estimate as a dot
and its interval as a line, on one axis that all rows share.

As a table it is read without the picture too. The SVG of a row has its places as percentages of the
axis: it needs no script, has any width, and takes the colours of the page.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from evalkit.drawing.cells import Cell, Head, as_cell, escape
from evalkit.drawing.pieces import Html
from evalkit.drawing.tables import table
from evalkit.numbers import number

EDGE = 5  # per cent of the axis left free on each side, for dots and for the numbers below
TICKS = 4  # steps of the axis, at most
FAR = 1  # times the span of the results: a reference farther out is only marked at the edge
REFERENCE = "constant"  # the tone of the row of the reference
LETTERS = 110  # of a row: with more, second lines of cells stay below, to leave the axis room
HEIGHT = 18  # pixels of a row of the axis, where the page has no style
OUTSIDE_BELOW = '<text y="70%" stroke="none">◂ outside</text>'
OUTSIDE_ABOVE = '<text x="100%" y="70%" text-anchor="end" stroke="none">outside ▸</text>'
Point = tuple[float, float, float]  # value, low, high


@dataclass(frozen=True)
class Result:
    """A row of the strip.

    name: of the row. points: the name and the estimate of each dot. cells: those beside the axis.
    tone: the verdict that gives the row its colour, `REFERENCE`, or "".
    """

    name: Cell
    points: Sequence[tuple[str, Point]]
    cells: Sequence[Cell | str]
    tone: str = ""


@dataclass(frozen=True)
class Axis:
    """The values that a strip shows, from `low` to `high`. reference: the value at which all rows
    have a dotted line, NaN for none.
    """

    low: float
    high: float
    reference: float = math.nan

    @classmethod
    def around(cls, points: Sequence[Point], reference: float) -> "Axis":
        """The axis that has all points with their limits, and the reference if that is not farther
        from them than their span; see `FAR`.
        """
        ends = [end for end in chain.from_iterable(points) if math.isfinite(end)] or [0.0]
        low = min(ends)
        high = max(ends)
        # of equal values a tenth of their size, of zeros 1
        span = high - low or abs(high) / 10 or 1.0
        is_near = low - FAR * span <= reference <= high + FAR * span
        if not is_near:  # or NaN
            return cls(low, low + span)
        low = min(low, reference)
        high = max(high, reference)
        return cls(low, max(high, low + span), reference)

    def place_of(self, value: float) -> str:
        """Where a value lies, as a percentage of the width; values far beyond the ends lie at 0 %
        or 100 %.

        >>> Axis(0.5, 1.0).place_of(0.75), Axis(0.5, 1.0).place_of(math.inf)
        ('50%', '100%')
        """
        share = (value - self.low) / (self.high - self.low)
        percent = EDGE + (100 - 2 * EDGE) * share
        return f"{min(max(percent, 0), 100):.4g}%"

    @property
    def has_reference(self) -> bool:
        """True if all rows have a dotted line."""
        return not math.isnan(self.reference)

    @property
    def ticks(self) -> list[float]:
        """Round numbers along the axis.

        >>> Axis(0.71, 0.83).ticks
        [0.75, 0.8]
        """
        first = math.ceil(self.low / self.step)
        last = math.floor(self.high / self.step)
        return [round(i * self.step, 12) for i in range(first, last + 1)]

    @property
    def step(self) -> float:
        """The distance of two ticks: 1, 2 or 5 times a power of ten, the least with which the axis
        has at most `TICKS` steps.
        """
        least = (self.high - self.low) / TICKS
        power = 10.0 ** math.floor(math.log10(least))
        return next(power * times for times in (1, 2, 5, 10) if power * times >= least)

    @property
    def lines(self) -> str:
        """The lines that every row has, as SVG: one at each tick, and a dotted one at the
        reference.
        """
        lines = [_line(self.place_of(tick), ' stroke-opacity=".15"') for tick in self.ticks]
        if self.has_reference:
            lines.append(_line(self.place_of(self.reference), ' stroke-dasharray="2"'))
        return "".join(lines)

    @property
    def numbers(self) -> str:
        """The numbers at the ticks, as an SVG that stands below all rows."""
        places = max(0, -math.floor(math.log10(self.step)))  # the decimals of the step
        texts = "".join(
            f'<text x="{self.place_of(tick)}" y="12">{number(tick, places)}</text>'
            for tick in self.ticks
        )
        return (
            f'<svg aria-hidden="true" width="100%" height="{HEIGHT}" '
            f'text-anchor="middle">{texts}</svg>'
        )


def _line(x: str, style: str) -> str:
    """An upright line through a row, as SVG. x: a percentage. style: attributes."""
    return f'<line x1="{x}" x2="{x}" y2="100%"{style}/>'


def strip(
    caption: str, heads: Sequence[Head], strip_rows: Sequence[Result], reference: float = math.nan
) -> Html:
    """The strip as a table: name, axis, and the cells of the rows; without the axis in
    notebooks.

    heads: of the names, and of each column of cells. reference: the value of a dotted line through
    all rows, NaN for none.
    """
    systems = [result for result in strip_rows if result.tone != REFERENCE]
    points = [point for result in systems for _, point in result.points]
    axis = Axis.around(points, reference)
    first, *further = map(as_cell, heads)
    rows = [[result.name, *result.cells] for result in strip_rows]
    plain = table(caption, heads, rows)
    head = f'<th scope="col">{escape(first.text)}</th><td class="axis"></td>'
    for column in further:
        head += f'<th scope="col">{column.markup or escape(column.text)}</th>'
    body = "".join(_row(result, axis) for result in strip_rows)
    empty_cells = "<td></td>" * len(further)
    foot = f'<tr><td></td><td class="axis">{axis.numbers}</td>{empty_cells}</tr>'
    inner = (
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody><tfoot>{foot}</tfoot>"
    )
    (contents,) = plain.tables
    kind = "scroll strip long" if sum(contents.widths) > LETTERS else "scroll strip"
    html = f'<div class="{kind}"><table>{inner}</table></div>'
    return Html(html, plain.text, plain.tables, (plain,))


def _row(result: Result, axis: Axis) -> str:
    """A row of the strip in HTML."""
    drawing = (
        f'<svg aria-hidden="true" width="100%" height="{HEIGHT}" stroke="currentColor" '
        f'fill="currentColor">{axis.lines}{"".join(_marks(result, axis))}</svg>'
    )
    cells = "".join(f"<td>{as_cell(content).html}</td>" for content in result.cells)
    tone = f' class="{result.tone.replace(" ", "-")}"' if result.tone else ""
    name = f'<th scope="row">{result.name.html}</th>'
    return f'<tr{tone}>{name}<td class="axis">{drawing}</td>{cells}</tr>'


def _marks(result: Result, axis: Axis) -> Iterator[str]:
    """A dot for each point of a row, as SVG, and the interval of a single one. In place of the dot
    the row of the reference has words if that lies outside the axis.
    """
    is_outside = result.tone == REFERENCE and not axis.has_reference
    for name, (value, low, high) in result.points:
        if len(result.points) == 1 and not math.isnan(low):
            yield (
                f'<line x1="{axis.place_of(low)}" x2="{axis.place_of(high)}" y1="50%" y2="50%" '
                f'stroke-width="3"/>'
            )
        if is_outside and value < axis.low:
            yield OUTSIDE_BELOW
        elif is_outside:
            yield OUTSIDE_ABOVE
        elif math.isfinite(value):
            title = f"<title>{escape(name)}</title>"
            yield f'<circle cx="{axis.place_of(value)}" cy="50%" r="5">{title}</circle>'
