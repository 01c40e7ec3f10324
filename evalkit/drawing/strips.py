"""The strip of results: a row for each system, its estimate as dot and whisker on one axis that all
rows share.

It is a table, so that it is read without the picture, with an SVG in each row whose places are
percentages of the axis: it needs no script, has any width, and takes the colours of the page.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalkit.drawing.tables import Cell, Head, Html, cell, escape, table
from evalkit.numbers import number

EDGE = 5  # per cent of the axis on each side, for the ends of whiskers and of the numbers below
TICKS = 4  # steps of the axis, about
FAR = 1  # times the span of the results: a reference farther out is only marked at the edge
REFERENCE = "constant"  # the tone of the row of the reference
LETTERS = 110  # more in a row leave no room for the axis, and what stands below stays there
HEIGHT = 18  # pixels of a row of the axis, where the page has no style
OUTSIDE_BELOW = '<text y="70%" stroke="none">◂ outside</text>'
OUTSIDE_ABOVE = '<text x="100%" y="70%" text-anchor="end" stroke="none">outside ▸</text>'
Point = tuple[float, float, float]  # value, low, high


@dataclass(frozen=True)
class Result:
    """A row of the strip: a name, the points drawn, each with its limits and its name, and the
    cells beside the axis.

    tone: what gives the row its colour, a verdict; "" for none.
    """

    name: Cell
    points: Sequence[tuple[str, Point]]
    cells: Sequence[Cell | str]
    tone: str = ""


@dataclass(frozen=True)
class Axis:
    """The part of a metric that a strip shows; reference: where all rows have a dotted line, NaN
    for none.
    """

    low: float
    high: float
    reference: float = math.nan

    @classmethod
    def of(cls, points: Sequence[Point], reference: float) -> "Axis":
        """The axis of all points with their limits, and of the reference where that is not far from
        them.
        """
        ends = [end for point in points for end in point if math.isfinite(end)] or [0.0]
        low = min(ends)
        high = max(ends)
        span = high - low or abs(high) / 10 or 1.0
        if not low - FAR * span <= reference <= high + FAR * span:
            return cls(low, low + span)
        low = min(low, reference)
        high = max(high, reference)
        return cls(low, max(high, low + span), reference)

    def at(self, value: float) -> str:
        """Where a value lies, as a percentage of the width; what is beyond the ends lies on the
        edge.

        >>> Axis(0.5, 1.0).at(0.75), Axis(0.5, 1.0).at(math.inf)
        ('50%', '100%')
        """
        share = (value - self.low) / (self.high - self.low)
        return f"{min(max(EDGE + (100 - 2 * EDGE) * share, 0), 100):.4g}%"

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
        """The distance of two ticks: 1, 2 or 5 times a power of ten."""
        least = (self.high - self.low) / TICKS
        size = 10.0 ** math.floor(math.log10(least))
        return next(size * times for times in (1, 2, 5, 10) if size * times >= least)

    @property
    def lines(self) -> str:
        """The lines that every row has: one at each tick, and the reference."""
        grid = "".join(_line(self.at(tick), ' stroke-opacity=".15"') for tick in self.ticks)
        dotted = (
            _line(self.at(self.reference), ' stroke-dasharray="2"')
            if self.reference == self.reference
            else ""
        )
        return grid + dotted

    @property
    def numbers(self) -> str:
        """The numbers at the ticks, as an SVG below all rows."""
        places = max(0, -math.floor(math.log10(self.step)))
        texts = (
            f'<text x="{self.at(tick)}" y="12">{number(tick, places)}</text>' for tick in self.ticks
        )
        return (
            f'<svg aria-hidden="true" width="100%" height="{HEIGHT}" '
            f'text-anchor="middle">{"".join(texts)}</svg>'
        )


def _line(x: str, style: str) -> str:
    """A line from the top to the bottom of a row."""
    return f'<line x1="{x}" x2="{x}" y2="100%"{style}/>'


def strip(
    caption: str, heads: Sequence[Head], results: Sequence[Result], reference: float = math.nan
) -> Html:
    """The strip as a table: the name, the axis, and a column for each further head; in notebooks
    without the axis.
    """
    systems = [result for result in results if result.tone != REFERENCE]
    axis = Axis.of([point for result in systems for _, point in result.points], reference)
    first, *others = map(cell, heads)
    rows = [[result.name, *map(cell, result.cells)] for result in results]
    plain = table(caption, [first, *others], rows)
    head = "".join(
        f'<th scope="col">{column.markup or escape(column.text)}</th>' for column in others
    )
    head = f'<th scope="col">{escape(first.text)}</th><td class="axis"></td>{head}'
    body = "".join(map(_row, results, [axis] * len(results)))
    foot = (
        f"<tfoot><tr><td></td><td "
        f'class="axis">{axis.numbers}</td>{"<td></td>" * len(others)}</tr></tfoot>'
    )
    inner = (
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody>{foot}"
    )
    widths = [max(map(len, column)) for column in zip(*plain.tables[0].lines, strict=True)]
    kind = "scroll strip long" if sum(widths) > LETTERS else "scroll strip"
    html = f'<div class="{kind}"><table>{inner}</table></div>'
    return Html(html, plain.text, plain.tables, (plain,))


def _row(result: Result, axis: Axis) -> str:
    """A row of the strip as HTML."""
    drawn = (
        f'<svg aria-hidden="true" width="100%" height="{HEIGHT}" stroke="currentColor" '
        f'fill="currentColor">'
    )
    drawn += f"{axis.lines}{''.join(_marks(result, axis))}</svg>"
    cells = "".join(f"<td>{cell(each).html}</td>" for each in result.cells)
    tone = f' class="{result.tone.replace(" ", "-")}"' if result.tone else ""
    return (
        f'<tr{tone}><th scope="row">{result.name.html}</th><td '
        f'class="axis">{drawn}</td>{cells}</tr>'
    )


def _marks(result: Result, axis: Axis) -> Iterator[str]:
    """The dot of each point with its name, and of a single one its whisker."""
    for name, (value, low, high) in result.points:
        if len(result.points) == 1 and not math.isnan(low):
            yield (
                f'<line x1="{axis.at(low)}" x2="{axis.at(high)}" y1="50%" y2="50%" '
                f'stroke-width="3"/>'
            )
        if result.tone == REFERENCE and axis.reference != axis.reference:
            yield OUTSIDE_BELOW if value < axis.low else OUTSIDE_ABOVE
        elif math.isfinite(value):
            yield (
                f'<circle cx="{axis.at(value)}" cy="50%" '
                f'r="5"><title>{escape(name)}</title></circle>'
            )
