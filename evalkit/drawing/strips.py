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
        """The axis from the lowest to the highest of all values and finite limits. It extends to
        the reference, unless that is so far from them that it would squeeze them into less than
        half of the axis: farther than `FAR` times their span.
        """
        ends = [end for end in chain.from_iterable(points) if math.isfinite(end)]
        if not ends:  # nothing is known: any axis will do
            ends = [0.0]
        low = min(ends)
        high = max(ends)
        span = high - low
        if not span:  # all ends are equal: a tenth of their size, so that the axis has a width
            span = abs(high) / 10 or 1.0
        is_near = low - FAR * span <= reference <= high + FAR * span  # False for NaN, no reference
        if not is_near:
            return cls(low, low + span)
        low = min(low, reference)
        high = max(high, reference)
        return cls(low, max(high, low + span), reference)

    def position_percent(self, value: float) -> str:
        """Where a value lies, as a percentage of the width; values far beyond the ends lie at 0 %
        or 100 %.

        >>> Axis(0.5, 1.0).position_percent(0.75), Axis(0.5, 1.0).position_percent(math.inf)
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
        lines = [_line(self.position_percent(tick), ' stroke-opacity=".15"') for tick in self.ticks]
        if self.has_reference:
            lines.append(_line(self.position_percent(self.reference), ' stroke-dasharray="2"'))
        return "".join(lines)

    @property
    def numbers(self) -> str:
        """The numbers at the ticks, as an SVG that stands below all rows."""
        places = max(0, -math.floor(math.log10(self.step)))  # the decimals of the step
        texts = "".join(
            f'<text x="{self.position_percent(tick)}" y="12">{number(tick, places)}</text>'
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
    """The strip as a table with a row for each result: its name, its points on the common axis, and
    its cells; below them the numbers of the axis. In notebooks it is a plain table without axis.

    heads: of the names, and of each column of cells. reference: the value of a dotted line through
    all rows, NaN for none.
    """
    points = []  # of the systems: the row of the reference does not decide how far the axis goes
    for result in strip_rows:
        if result.tone != REFERENCE:
            points += [point for _, point in result.points]
    axis = Axis.around(points, reference)
    first_head, *further_heads = map(as_cell, heads)
    plain = table(caption, heads, [[result.name, *result.cells] for result in strip_rows])
    # the axis is the second column, which has no head
    head = f'<th scope="col">{escape(first_head.text)}</th><td class="axis"></td>'
    for cell in further_heads:
        head += f'<th scope="col">{cell.markup or escape(cell.text)}</th>'
    body = "".join(_row(result, axis) for result in strip_rows)
    empty_cells = "<td></td>" * len(further_heads)
    foot = f'<tr><td></td><td class="axis">{axis.numbers}</td>{empty_cells}</tr>'
    inner = (
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody><tfoot>{foot}</tfoot>"
    )
    (contents,) = plain.tables
    row_letters = sum(contents.column_widths)
    # the style sheet leaves the axis more room in a strip of long rows
    kind = "scroll strip long" if row_letters > LETTERS else "scroll strip"
    html = f'<div class="{kind}"><table>{inner}</table></div>'
    return Html(html, plain.text, plain.tables, (plain,))


def _row(result: Result, axis: Axis) -> str:
    """A row of the strip in HTML: its name, the axis with the lines that all rows have and the dots
    of this one, and its cells. The class of the row, such as "better", gives it its colour.
    """
    marks = "".join(_marks(result, axis))
    drawing = (
        f'<svg aria-hidden="true" width="100%" height="{HEIGHT}" stroke="currentColor" '
        f'fill="currentColor">{axis.lines}{marks}</svg>'
    )
    cells = "".join(f"<td>{as_cell(content).html}</td>" for content in result.cells)
    html_class = ""
    if result.tone:
        name_of_class = result.tone.replace(" ", "-")  # of "cannot tell"
        html_class = f' class="{name_of_class}"'
    name = f'<th scope="row">{result.name.html}</th>'
    return f'<tr{html_class}>{name}<td class="axis">{drawing}</td>{cells}</tr>'


def _marks(result: Result, axis: Axis) -> Iterator[str]:
    """The marks of a row on the axis, as SVG: a dot for each point, and if there is a single one
    its interval as a line. If the axis leaves the reference out, the row of the reference has a
    word at the end beyond which it lies, in place of a dot.
    """
    is_reference = result.tone == REFERENCE
    is_outside = is_reference and not axis.has_reference
    for name, (value, low, high) in result.points:
        if len(result.points) == 1 and not math.isnan(low):
            left = axis.position_percent(low)
            right = axis.position_percent(high)
            yield f'<line x1="{left}" x2="{right}" y1="50%" y2="50%" stroke-width="3"/>'
        if is_outside and value < axis.low:
            yield OUTSIDE_BELOW
        elif is_outside:
            yield OUTSIDE_ABOVE
        elif math.isfinite(value):
            title = f"<title>{escape(name)}</title>"
            yield f'<circle cx="{axis.position_percent(value)}" cy="50%" r="5">{title}</circle>'
