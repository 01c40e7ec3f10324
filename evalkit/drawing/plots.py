"""Plots of estimates and tests: each function draws computed numbers on a matplotlib `ax` and
returns it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats
from evalkit.drawing import figures as marks
from evalkit.drawing.figures import (
    POINTS_PER_INCH,
    AxesArray,
    Style,
    characters_per_line,
    font_size,
    wrapped_name,
)
from evalkit.metrics.distributions import Distribution
from evalkit.numbers import Show, decimals, estimate, number, signed_number
from evalkit.statistics.alternatives import Alternative

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# 5 dashes and 8 colours have no common factor: no pair of them comes again before 40 lines
DASHES = (
    "-",
    "--",
    "-.",
    (0, (1, 1.2)),
    (0, (6, 1.5, 1, 1.5, 1, 1.5)),
)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b6b6b", "#332288")
BETTER = COLOURS[2]  # of differences
WORSE = COLOURS[1]
GREY = "#767676"
DARK_GREY = "#444"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MAX_BARS = 2000  # more than this cannot be told apart in a picture
GRID_LINE_STYLE: Style = {"color": "#ddd", "linewidth": 0.6}
ZERO_LINE_STYLE: Style = {"color": DARK_GREY, "linewidth": 0.9}
WIDE_CHARACTER = (
    0.01  # inches of a wide character per point of the font size: 0.72 em, 72 points an inch
)
LABEL_SHARE = 0.45  # of the width of a figure, at most, for the labels of its rows
PANEL_NAME_LETTERS = 22  # characters of a system's name beside small panels
# between the axes and a legend below are the numbers at ticks and the label of the axis:
LEGEND_POINTS = 12  # their distances, and as many times the font size:
LEGEND_LINES = 2.4
SideMeanings = tuple[str, str]  # what it means to lie to the left of 0, and to the right


def system_colour(i: int) -> str:
    """The colour of the i-th system: the page's, or that of a cycle of colours that the reader set
    in rcParams.
    """
    import matplotlib as mpl

    colours: Sequence[str] = COLOURS
    if not marks.is_default_rc_param("axes.prop_cycle"):
        colours = mpl.rcParams["axes.prop_cycle"].by_key().get("color", COLOURS)
    return str(colours[i % len(colours)])


def marker_style(i: int) -> Style:
    """Colour and marker of the i-th system, as options of `ax.plot`: told apart also without
    colour.
    """
    rounds = i // len(COLOURS)
    # each round of the colours begins one marker later, so that no pair of them comes again soon
    marker = MARKERS[(i + rounds) % len(MARKERS)]
    return {"color": system_colour(i), "marker": marker, "markersize": 5}


def shorten(name: str, max_letters: int = 32) -> str:
    """The name; one of more than `max_letters` characters ends there in an ellipsis."""
    return name if len(name) <= max_letters else f"{name[: max_letters - 1]}…"


def row_labels(names: Iterable[str], ax: Axes) -> list[str]:
    """The names as labels of rows: broken into lines that take less than half of the figure's
    width, a word that is longer than a line shortened.
    """
    max_characters = characters_per_line(LABEL_SHARE * marks.figure_of(ax).get_figwidth())
    labels = []
    for name in names:
        words = [shorten(word, max_characters) for word in name.split(" ")]
        labels.append(wrapped_name(" ".join(words), max_characters))
    return labels


def panel_title(name: str, ax: Axes) -> str:
    """The name as title of a panel, broken into lines that are no wider than the panel."""
    return wrapped_name(name, characters_per_line(panel_width(ax)))


def panel_width(ax: Axes) -> float:
    """The width of the figure that axes have, in inches, their labels among it."""
    return marks.figure_of(ax).get_figwidth() / marks.columns_of_panels(ax)


def note(
    ax: Axes, text: str, point: tuple[float, float], offset: tuple[float, float], **style: Any
) -> None:
    """Write a text beside a point of the data. offset: to the right and up, in points of type."""
    ax.annotate(text, point, xytext=offset, textcoords="offset points", **style)


def add_legend(
    ax: Axes, artists: Mapping[str, Artist], remarks: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Add a legend below the axes, in two columns if the panel is wide enough.

    artists: what is drawn of each system, by its name. remarks: a text behind the name of a system,
    by its name.
    """
    from matplotlib.transforms import ScaledTranslation

    texts = [f"{shorten(name)}{remarks.get(name, '')}" for name in artists]
    for artist, text in zip(artists.values(), texts, strict=True):
        artist.set_label(text)  # also for a reader's own `ax.legend()`
    entry_characters = max(map(len, texts)) + marks.LEGEND_KEY_WIDTH
    columns = 2 if 2 * entry_characters <= characters_per_line(panel_width(ax)) else 1
    # the legend stands below the numbers and the label of the x axis; their height in inches
    distance = (LEGEND_POINTS + LEGEND_LINES * font_size()) / POINTS_PER_INCH
    downwards = ScaledTranslation(0, -distance, ax.figure.dpi_scale_trans)
    box = ax.legend(
        list(artists.values()),
        # matplotlib leaves out names that begin with "_": these numbers get their texts below
        [str(i) for i in range(len(artists))],
        ncol=columns,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),  # the middle of the lower edge of the axes
        bbox_transform=ax.transAxes + downwards,
    )
    setattr(box, marks.LEGEND_ROWS_ATTRIBUTE, math.ceil(len(artists) / columns))
    keys: Sequence[Any] = box.legend_handles  # the line or marker before each text
    # on the page a click on either leaves only this system in the figure
    for label, text, key, name in zip(box.get_texts(), texts, keys, artists, strict=True):
        marks.mark_key(label, name).set_text(text)
        marks.mark_key(key, name)


class IntervalRow(Protocol):
    """An estimate with its interval, such as a row of a frame as `itertuples` yields it."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def intervals(
    frame: pd.DataFrame, ax: Axes, *, label: str, zero: bool, sides: SideMeanings | None = None
) -> Axes:
    """Draw one row per result, from top to bottom: a point at its value, a line for its interval.

    frame: `name`, `value`, `low`, `high`, and `colour` if not all have the same; a row whose value
    is not finite stays empty. label: of the x axis. zero: True for differences, which have a line
    at 0 and are printed with their sign. sides: words to the left and to the right of 0, "" for
    none.
    """
    row_numbers = np.flatnonzero(np.isfinite(frame["value"]))
    results = frame.iloc[row_numbers]
    show = signed_number if zero else number
    texts = estimate_texts(results, show)
    for y, result, text in zip(row_numbers, results.itertuples(), texts, strict=True):
        colour = result.colour if "colour" in frame else COLOURS[0]
        limits = ax.plot(_limits(result), [y, y], color=colour, solid_capstyle="butt")[0]
        marks.mark_limits(limits, result.name)
        point = ax.plot(
            [result.value], [y], marker="o", markersize=6, color=colour, linestyle="none"
        )[0]
        marks.mark_points(point, result.name, [f"{result.name}: {text}"])
    if zero:
        ax.axvline(0, **ZERO_LINE_STYLE)
    if sides:
        _name_sides(ax, sides)
    ax.set_yticks(range(len(frame)), row_labels(frame["name"], ax), linespacing=1)
    rows_downwards(ax, len(frame))
    if np.ptp(ax.get_xlim()) < 0.05:
        ax.locator_params(axis="x", nbins=4)  # the numbers have four decimals or more: few fit
    ax.grid(axis="x", **GRID_LINE_STYLE)
    ax.set_xlabel(shorten(label, 64), loc="right")
    return ax


def _limits(result: IntervalRow) -> list[float]:
    """The ends of the line of a result's interval; where a limit is not finite, the line ends at
    the value.
    """
    low = result.low if np.isfinite(result.low) else result.value
    high = result.high if np.isfinite(result.high) else result.value
    return [low, high]


def _name_sides(ax: Axes, sides: SideMeanings) -> None:
    """Write above the axes, to the left and to the right of x = 0, what these sides mean."""
    left, right = sides
    above_axes: Style = {
        "xycoords": ("data", "axes fraction"),
        "fontsize": marks.small_font_size(),
        "color": DARK_GREY,
    }
    if left:
        note(ax, f"← {left}", (0, 1), (-5, 2), ha="right", **above_axes)
    if right:
        note(ax, f"{right} →", (0, 1), (5, 2), ha="left", **above_axes)


def rows_downwards(ax: Axes, rows: int) -> None:
    """Let y run from row 0 on top to the last below, with room of 0.6 rows before and behind."""
    ax.set_ylim(rows - 0.4, -0.6)  # the last row is rows − 1


def estimate_texts(frame: pd.DataFrame, show: Show = number, value: str = "value") -> list[str]:
    """Each row's value with its interval, as "0.79 [0.75, 0.81]", all with the same decimals.

    frame: `low`, `high`, and the column that `value` names. show: writes a number.
    """
    columns = [frame[name].tolist() for name in (value, "low", "high")]
    places = decimals(*columns)
    return [
        estimate(number, low, high, show, places)
        for number, low, high in zip(*columns, strict=True)
    ]


def curves(
    frame: pd.DataFrame, ax: Axes, *, x: str, y: str, xlabel: str, ylabel: str, log: bool = False
) -> Axes:
    """Draw one line per `system`, column `y` against column `x`, with its band from `low` to
    `high`. log: put x on a log scale, with a tick at each of its values.
    """
    lines = {}
    opacity = marks.band_opacity(frame["system"].nunique())
    for i, (name, points) in enumerate(frame.groupby("system", sort=False)):
        style = marker_style(i)
        texts = estimate_texts(points, value=y)
        texts_of_points = [
            f"{name}, {x} {position:g}: {text}"
            for position, text in zip(points[x], texts, strict=True)
        ]
        line = ax.plot(points[x], points[y], linestyle=DASHES[i % len(DASHES)], **style)[0]
        lines[str(name)] = marks.mark_points(line, name, texts_of_points)
        limits = ax.fill_between(
            points[x],
            points["low"],
            points["high"],
            color=style["color"],
            alpha=opacity,
            linewidth=0,
        )
        marks.mark_limits(limits, name)
    if log:
        ax.set(xscale="log")
        ticks = sorted(set(frame[x]))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.grid(**GRID_LINE_STYLE)
    add_legend(ax, lines)
    return ax


def bars(
    values: Sequence[float], ax: Axes, *, xlabel: str, ylabel: str, colours: Sequence[str] = COLOURS
) -> Axes:
    """Draw the values of units as bars, lowest first, and a line at their mean.

    colours: of values above 0, and of those below. Of more than `MAX_BARS` units the bars are
    quantiles. Without values nothing is drawn.
    """
    ascending = np.sort(np.asarray(values, float))
    units = len(ascending)
    if not units:
        return ax
    heights = ascending
    if units > MAX_BARS:
        heights = np.quantile(ascending, np.linspace(0, 1, MAX_BARS))
    # fewer bars are wider, so that the x axis counts units
    edges = np.arange(len(heights) + 1) * units / len(heights)
    for sign, colour in ((1, colours[0]), (-1, colours[1])):
        of_sign = np.where(sign * heights > 0, heights, 0.0)
        marks.mark_points(ax.stairs(of_sign, edges, fill=True, color=colour, linewidth=0), "")
    ax.axhline(0, **ZERO_LINE_STYLE)
    mean = float(ascending.mean())
    show = signed_number if ascending[0] < 0 else number  # values below 0 are differences
    ax.axhline(mean, color=DARK_GREY, linewidth=1.2, linestyle="--", label="mean")
    middle_of_first_bar = 0.5 * units / len(heights)
    note(ax, f"mean {show(mean)}", (middle_of_first_bar, mean), (2, 3))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def draw_small_multiples(frame: pd.DataFrame, axes: AxesArray, *, label: str) -> AxesArray:
    """Draw small multiples: one panel per `slice`, with a point and an interval for each `system`,
    which has the same row in all panels.

    frame: `slice`, `system`, `value`, `low`, `high`, and `n`, the number of units, which stands in
    the title. label: of the x axis, below the lowest panels.
    """
    systems = list(dict.fromkeys(frame["system"]))
    names = [shorten(name, PANEL_NAME_LETTERS) for name in systems]
    frame = frame.assign(text=estimate_texts(frame))  # with the digits of the table of the slices
    # titles must fit the panels: the names stand beside the first column of panels, which share the
    # rest of the width
    character = WIDE_CHARACTER * font_size()  # inches
    names_width = character * max(map(len, names))
    title_width = (axes.flat[0].figure.get_figwidth() - names_width) / axes.shape[1]
    title_characters = int(title_width / character)
    for ax, (name, results) in zip(axes.flat, frame.groupby("slice", sort=False), strict=False):
        for result in results.itertuples():
            i = systems.index(result.system)
            limits = ax.plot(_limits(result), [i, i], color=system_colour(i))[0]
            marks.mark_limits(limits, result.system)
            point = ax.plot([result.value], [i], linestyle="none", **marker_style(i))[0]
            marks.mark_points(point, result.system, [f"{result.system}, {name}: {result.text}"])
        ax.set_title(f"{wrapped_name(str(name), title_characters)}\nn = {results['n'].max():,}")
        ax.grid(axis="x", **GRID_LINE_STYLE)
    _label_lowest(axes, frame["slice"].nunique(), label)
    axes.flat[0].set_yticks(range(len(systems)), names)
    axes.flat[0].set_ylim(len(systems) - 0.5, -0.5)  # the first system on top
    return axes


def _label_lowest(axes: AxesArray, panels: int, label: str) -> None:
    """Give the lowest panel of each column the numbers and the label of the x axis, and hide the
    axes that are left over. axes: of shape (rows, columns); the first `panels`, row by row, are
    drawn on.
    """
    n_columns = axes.shape[1]
    for i, ax in enumerate(axes.flat):
        has_none_below = i + n_columns >= panels
        if i >= panels:
            ax.set_axis_off()
        elif has_none_below:
            ax.tick_params(labelbottom=True)
            ax.set(xlabel=label)


BINS = 40  # of a histogram around 0; even, so that none holds numbers of both signs
HIGHLIGHT_COLOUR = "#c1272d"
TICKS = {10**2: "100", 10**3: "1k", 10**4: "10k", 10**5: "100k", 10**6: "1M", 10**7: "10M"}


def draw_equivalence_forest(
    frame: pd.DataFrame,
    ax: Axes,
    *,
    label: str,
    margin: float | None,
    sides: SideMeanings | None = None,
) -> Axes:
    """Draw differences with their intervals around 0, as `intervals`, and as a band the differences
    that count as equivalent, from −margin to margin.
    """
    if margin:
        ax.axvspan(-margin, margin, color=COLOURS[4], alpha=0.16, linewidth=0)
        top_of_rows = -0.55  # row 0 is the first, and y grows downwards
        note(ax, f"±{margin:g}", (margin, top_of_rows), (3, 0), color=GREY, va="top")
    return intervals(frame, ax, label=label, zero=True, sides=sides)


def histogram(
    values: Distribution, ax: Axes, *, xlabel: str, ylabel: str, direction: int = 1
) -> Axes:
    """Draw a histogram of differences per unit: better ones green, worse ones orange, those of 0 as
    a hatched bar of their own; lines at the mean and the median.

    direction: 1 if higher values are better, −1 if lower ones are, 0 if neither is known to be.
    """
    # 0 is in the middle of the axis, and between two bars, as their colour depends on the sign
    reach = max(abs(values.low), abs(values.high)) or 1.0
    edges = np.linspace(-reach, reach, BINS + 1)
    edges[BINS // 2] = 0.0  # exactly, which `linspace` may miss by rounding
    bin_width = edges[1] - edges[0]
    counts = values.histogram(edges).astype(np.int64)
    bin_of_zero = np.searchsorted(edges, 0.0, side="right") - 1
    counts[bin_of_zero] -= values.zeros  # differences of 0 have the hatched bar instead
    middle = (edges[1:] + edges[:-1]) / 2
    above = below = COLOURS[0]
    if direction > 0:
        above, below = BETTER, WORSE
    elif direction < 0:
        above, below = WORSE, BETTER
    for is_drawn, colour in ((middle > 0, above), (middle < 0, below)):
        heights = counts[is_drawn]
        bars = ax.bar(middle[is_drawn], heights, width=bin_width, color=colour, linewidth=0)
        lows = edges[:-1][is_drawn]
        highs = edges[1:][is_drawn]
        for bar, low, high, count in zip(bars, lows, highs, heights, strict=True):
            text = f"{signed_number(low)} to {signed_number(high)}: {count:,}"
            marks.mark_points(bar, "", [text])
    if values.zeros:
        _zero_bar(values.zeros, bin_width / 2, int(counts.max()), ax)
    style: Style = {"color": DARK_GREY, "linewidth": 1.2}
    ax.axvline(values.mean, linestyle="--", label=f"mean {signed_number(values.mean)}", **style)
    ax.axvline(
        values.median, linestyle=":", label=f"median {signed_number(values.median)}", **style
    )
    ax.legend(loc="upper left")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def _zero_bar(zeros: int, width: float, highest: int, ax: Axes) -> None:
    """Draw the number of differences that are 0 as a hatched bar with its number.

    highest: the count of the highest other bar. The axis is cut at 1.6 times that, so that many
    zeros do not make the others too low to read.
    """
    hatched: Style = {"color": "none", "edgecolor": GREY, "hatch": "////"}
    ax.bar([0], [zeros], width=width, linewidth=0.8, **hatched)
    visible = min(zeros, 1.6 * max(highest, 1))
    ax.set(ylim=(0, 1.08 * max(visible, highest)))
    remark = " (bar cut off)" if zeros > visible else ""
    note(ax, f"{zeros:,} equal{remark}", (0, visible), (7, -3), color=GREY, va="top")


def null_bin_edges(draws: Floats, observed: float) -> Floats:
    """The edges of the bars of `null_distribution`: around 0, with 8 % of room beyond the draws and
    the observed mean; an odd number of bars, so that one has 0 in its middle.
    """
    reach = 1.08 * max(float(np.abs(draws).max(initial=0.0)), abs(observed)) or 1.0
    bars = 2 * BINS - 1
    return np.linspace(-reach, reach, bars + 1)


def is_as_extreme(draws: Floats, observed: float, alternative: Alternative) -> Bools:
    """True for the draws that are as strong evidence against the null as the observed mean, or
    stronger: their share is the p-value.
    """
    # sums of the same differences in another order may differ in their last digits
    rounding = 1e-9 * abs(observed)
    as_far: Bools = alternative.evidence(draws) >= alternative.evidence(observed) - rounding
    return as_far


def null_distribution(
    draws: Floats, ax: Axes, *, observed: float, alternative: Alternative, xlabel: str, ylabel: str
) -> Axes:
    """Draw the histogram of the null distribution of a sign-flip test, with lines at the observed
    mean and, if the test is two-sided, at its opposite. Red: the means that are as strong evidence
    against the null as the observed one, or stronger; their share is p.

    draws: means of the differences under random signs. Heights are shares of the draws.
    """
    edges = null_bin_edges(draws, observed)
    share = np.full(draws.size, 1 / max(draws.size, 1))
    red = is_as_extreme(draws, observed, alternative)
    ax.hist(
        [draws[~red], draws[red]],
        edges.tolist(),
        weights=[share[~red], share[red]],
        stacked=True,
        color=[GREY, HIGHLIGHT_COLOUR],
    )
    ax.axvline(observed, color=COLOURS[0], linestyle="-", linewidth=1.6, label="observed")
    if not alternative.one_sided:
        ax.axvline(-observed, color=COLOURS[0], linestyle=":", linewidth=1.6, label="opposite")
    # the text stands on the outer side of its line, away from the line at −observed, unless the
    # line is so far out that there is no room
    has_room_outside = abs(observed) < edges[-1] / 2
    is_right_of_line = (observed > 0) == has_room_outside
    placement: Style = {"offset": (-4, -2), "ha": "right"}
    if is_right_of_line:
        placement = {"offset": (4, -2), "ha": "left"}
    top = 1.15 * ax.get_ylim()[1]  # room for the text above the bars
    ax.set_ylim(top=top)
    text = f"observed {signed_number(observed)}"
    note(ax, text, (observed, top), color=COLOURS[0], va="top", **placement)
    ax.locator_params(axis="x", nbins=6)  # room for the digits of small differences
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def draw_null_probabilities(
    k: Floats, probability: Floats, ax: Axes, *, observed: int, in_p: np.ndarray, xlabel: str
) -> Axes:
    """Draw the probability of each number of successes under the null as bars. Red: those that are
    at least as strong evidence as the observed number, whose sum is p.

    k: the numbers of successes, ascending. probability: of each. in_p: True for those of the sum.
    """
    is_observed = k == observed
    is_visible = (probability > 1e-6 * probability.max()) | is_observed
    distance = float(np.median(np.diff(k))) if len(k) > 1 else 1.0  # from bar to bar
    style: Style = {"width": 0.8 * distance, "linewidth": 0}
    for has_colour, colour in ((~in_p, GREY), (in_p, HIGHLIGHT_COLOUR)):
        is_drawn = is_visible & has_colour
        ax.bar(k[is_drawn], probability[is_drawn], color=colour, **style)
    top_of_bar = (observed, probability[is_observed][0])
    note(ax, f"observed: {observed:,}", top_of_bar, (0, 4), ha="center")
    ax.set(xlabel=xlabel, ylabel="probability under the null")
    return ax


def draw_p_value_curve(
    curve: pd.DataFrame,
    ax: Axes,
    *,
    observed: float,
    p_of_observed: float,
    alpha: float,
    limits: Sequence[float],
    sided: str,
    label: str,
) -> Axes:
    """Draw how a test and its interval belong together: over hypothetical true means the p-value of
    the test against each. The interval holds the means whose p is at least α (shaded); the p-value
    of the test of no difference is the curve at 0.

    curve: `mean`, `p`. observed, p_of_observed: the observed mean, where p is highest, and this p.
    limits: the ends of the interval. sided: "two-sided" or "one-sided".
    """
    mean = curve["mean"]
    p = curve["p"]
    marks.mark_points(ax.plot(mean, p, color=COLOURS[0], label="p")[0], "")
    ax.axhline(alpha, color=GREY, linestyle="--", linewidth=1, label="α")
    ax.fill_between(mean, 0, p, where=p >= alpha, color=COLOURS[0], alpha=0.14, linewidth=0)
    ax.axvline(0, **ZERO_LINE_STYLE)
    for limit in limits:
        ax.axvline(limit, color=COLOURS[1], linewidth=1, linestyle=":")
    ax.plot([observed], [p_of_observed], marker="o", color=COLOURS[0])
    note(ax, f"α = {alpha:.4g}", (mean.iloc[0], alpha), (2, 3))
    ax.set(ylim=(0, 1.1), xlabel=label, ylabel=f"{sided} p")
    return ax


def sample_intervals(
    frame: pd.DataFrame, axes: AxesArray, *, truth: float, label: str
) -> AxesArray:
    """Draw the intervals of many samples and a line at the true value, one panel per `method`; the
    intervals that miss it are red and thick, and their number stands in the title.

    frame: `method`, `sample`, `low`, `high`, and `covers`, True if the interval holds the truth.
    """
    for ax, (name, results) in zip(axes.flat, frame.groupby("method", sort=False), strict=False):
        for covers, colour, width in ((True, GREY, 0.8), (False, HIGHLIGHT_COLOUR, 1.8)):
            rows = results[results["covers"] == covers]
            ax.vlines(rows["sample"], rows["low"], rows["high"], color=colour, linewidth=width)
        ax.axhline(truth, color=COLOURS[0], linewidth=1.2)
        misses = int((~results["covers"]).sum())
        title = panel_title(f"{name}: {misses} of {len(results)} miss", ax)
        ax.set(title=title, xlabel="sample", ylabel=label)
    return axes


BAR_STEP = 0.45  # height of a bar of `critical_difference` and the room below it
NAME_STEP = 0.9  # height of a name and the room below it
RANK_AXIS = 0.6  # height of the axis of ranks above 0, where the bars begin


def critical_difference(
    ranks: Mapping[str, float], ax: Axes, *, distance: float, label: str
) -> Axes:
    """Draw mean ranks on an axis, best left, and a bar below the systems whose ranks differ by less
    than the critical difference: a diagram of critical differences.

    ranks: by system. distance: the critical difference. label: of the axis. The better half of the
    names stands on the left, the best one on top; the others on the right, the worst one on top.
    Demšar 2006, https://jmlr.org/papers/v7/demsar06a.html.
    """
    names = sorted(ranks, key=lambda name: ranks[name])  # best first
    ordered_ranks = [ranks[name] for name in names]
    k = len(names)
    # the rank at the right end of the axis; the best of many systems can have ranks above k
    worst = max(k, int(np.ceil(ordered_ranks[-1])))
    bars = cliques(ordered_ranks, distance)
    # heights below the axis of ranks: the bars, then the names, then the critical difference itself
    names_top = -(BAR_STEP * len(bars) + 0.5)
    on_the_left = math.ceil(k / 2)
    scale = names_top - NAME_STEP * on_the_left - 0.4
    _rank_axis(ax, worst, math.ceil(worst / k), label)
    ax.set(ylim=(scale - 0.4, RANK_AXIS))
    end = min(1 + distance, worst)
    ax.plot([1, end], [scale, scale], color=DARK_GREY, linewidth=2, solid_capstyle="butt")
    note(ax, f"critical difference {distance:.2f}", (end, scale), (6, 0), va="center")
    for i, (first, last) in enumerate(bars):
        y = -BAR_STEP * (i + 1)
        ends = [ordered_ranks[first] - 0.04, ordered_ranks[last] + 0.04]  # a little beyond them
        ax.plot(ends, [y, y], color=GREY, linewidth=4, solid_capstyle="butt")
    for i, name in enumerate(names):
        row = i
        edge = 1
        if i >= on_the_left:
            row = k - 1 - i
            edge = worst
        _rank_name(ax, name, ranks[name], names_top - NAME_STEP * row, edge=edge)
    return ax


def _rank_axis(ax: Axes, worst: int, step: int, label: str) -> None:
    """Make the upper edge the axis of ranks from 1 to the worst; the other edges are not drawn."""
    ax.set(xlim=(1, worst))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set(xlabel=label)
    ax.set_xticks(range(1, worst + 1, step))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_visible(False)
    ax.spines["top"].set_visible(True)


def _rank_name(ax: Axes, name: str, rank: float, y: float, *, edge: int) -> None:
    """Draw a line from a system's mean rank on the axis down to the height y, and from there to the
    edge of the axes, and write name and rank beside this edge.

    edge: the rank at the edge: 1 for the left one, the worst rank for the right one.
    """
    ax.plot([rank, rank, edge], [RANK_AXIS, y, y], color=GREY, linewidth=0.8, clip_on=False)
    edge_share = 1.0  # the right edge, in shares of the width
    placement: Style = {"offset": (4, 0), "ha": "left"}
    if edge == 1:
        edge_share = 0.0
        placement = {"offset": (-4, 0), "ha": "right"}
    note(
        ax,
        f"{name} {rank:.2f}",
        (edge_share, y),  # y in the data
        **placement,
        va="center",
        xycoords=ax.get_yaxis_transform(),
        annotation_clip=False,
    )


def cliques(ordered: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """The groups of systems that a diagram of critical differences joins by a bar: of each, the
    index of its first and last rank. A group is as long a run of two or more as has all ranks less
    than `distance` from its first; runs that are part of another are left out.

    ordered: mean ranks, ascending.

    >>> cliques([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, int]] = []
    for first, low in enumerate(ordered):
        last = first
        while last + 1 < len(ordered) and ordered[last + 1] - low < distance:
            last += 1
        is_part_of_another = any(last <= end for _, end in runs)
        if last > first and not is_part_of_another:
            runs.append((first, last))
    return runs


def power(
    frame: pd.DataFrame, ax: Axes, *, observed: float, margin: float | None, xlabel: str
) -> Axes:
    """Draw the power of the test against the true difference, one line per number of `units`, with
    lines at 80 % power, at the observed difference and at the margin.

    frame: `units`, `difference`, `power`. A difference beyond the axis has no line.
    """
    lines = {}
    for i, (units, curve) in enumerate(frame.groupby("units")):
        style = ("--", "-", ":")[i % 3]
        name = f"n = {units:,}"
        line = ax.plot(
            curve["difference"], curve["power"], color=COLOURS[i], linestyle=style, label=name
        )[0]
        lines[name] = marks.mark_points(line, name)
    farthest = float(frame["difference"].max())
    ax.axhline(0.8, color=GREY, linewidth=0.9)
    reference_lines = [(abs(observed), "observed", ":")]
    if margin:
        reference_lines.append((margin, "margin", "-."))
    for i, (difference, name, style) in enumerate(reference_lines):
        if difference <= farthest:
            ax.axvline(difference, color=DARK_GREY, linewidth=1, linestyle=style)
            # the second name stands a line of 9 points higher, as both may be at one place
            note(ax, name, (difference, 1.02), (0, 2 + 9 * i), ha="center")
    ax.set(ylim=(0, 1.02), xlim=(0, farthest), xlabel=xlabel, ylabel="power")
    ax.grid(**GRID_LINE_STYLE)
    add_legend(ax, lines)
    return ax


def draw_errors(curves: pd.DataFrame, groups: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the probability that an experiment shows the wrong sign against its number of users: for
    each `system` a fitted line, and in the same colour the shares observed in groups of
    experiments.

    curves, groups: the lines and the points; columns `system`, `users`, `error` (the probability).
    """
    lines = {}
    for i, (name, curve) in enumerate(curves.groupby("system", sort=False)):
        style = marker_style(i)
        dashes = "--" if i % 2 else "-"  # two curves that lie on each other both show
        line = ax.plot(
            curve["users"],
            curve["error"],
            color=style["color"],
            linestyle=dashes,
            label=str(name),
        )[0]
        lines[str(name)] = marks.mark_limits(line, name)
        counted = groups[groups["system"] == name]
        points = ax.plot(counted["users"], counted["error"], linestyle="none", **style)[0]
        pairs = zip(counted["users"], counted["error"], strict=True)
        texts = [f"{name}, {users:,.0f} users: {number(error)}" for users, error in pairs]
        marks.mark_points(points, name, texts)
    ax.axhline(0.05, color=DARK_GREY, linewidth=0.9, linestyle="--")
    note(ax, "5%: agrees in 95%", (curves["users"].min(), 0.05), (0, 3), ha="left")
    ax.set(xscale="log")
    ax.set_xticks(list(TICKS), list(TICKS.values()))
    ax.minorticks_off()
    ax.set(
        ylim=(0, 0.55),  # without a difference half of the experiments have the wrong sign
        xlabel="users in the experiment (log scale)",
        ylabel="probability of the wrong sign",
    )
    ax.grid(**GRID_LINE_STYLE)
    add_legend(ax, lines)
    return ax


def draw_agreement(points: list[np.ndarray], titles: list[str], axes: AxesArray) -> AxesArray:
    """Draw rankers by preference and lift, one panel per title, with the least-squares line.

    points: of each panel an array of shape (n_rankers, 2): the user share − ½, and the lift as a
    share, which is drawn in percent.
    """
    for ax, title, rankers in zip(axes.flat, titles, points, strict=False):
        preference = rankers[:, 0]
        lift = 100 * rankers[:, 1]
        _draw_zero_lines(ax)
        dots = ax.plot(preference, lift, "o", color=COLOURS[0], markersize=4.5, label="rankers")[0]
        marks.mark_points(dots, "")
        line = np.polyfit(preference, lift, 1)
        fitted = np.polyval(line, preference)
        ax.plot(preference, fitted, color=GREY, linewidth=1.0, label="least squares")
        ax.set(
            title=panel_title(title, ax),
            xlabel=f"user share − ½ (n = {len(rankers)} rankers)",
            ylabel="lift in plays, %",
        )
        ax.grid(**GRID_LINE_STYLE)
    return axes


def _draw_zero_lines(ax: Axes) -> None:
    """Draw the lines y = 0 and x = 0."""
    ax.axhline(0, color=DARK_GREY, linewidth=0.8)
    ax.axvline(0, color=DARK_GREY, linewidth=0.8)


def draw_families(frame: pd.DataFrame, axes: AxesArray) -> AxesArray:
    """Draw the true lift of rankers against their user share − ½, one panel for `plays` and one for
    `hours`, with a marker per `family` and the least-squares line of the first family, which shows
    whether the other families follow it.

    frame: a row per ranker; `family`; `share`, the user share − ½; `plays` and `hours`, the lifts
    as shares, which are drawn in percent.
    """
    for ax, lift in zip(axes.flat, ("plays", "hours"), strict=False):
        _draw_zero_lines(ax)
        for i, (family, rankers) in enumerate(frame.groupby("family", sort=False)):
            if i == 0:
                line = np.polyfit(rankers["share"], 100 * rankers[lift], 1)
                ends = np.array([frame["share"].min(), frame["share"].max()])
                ax.plot(ends, np.polyval(line, ends), color=GREY, linewidth=1.0)
            points = ax.plot(
                rankers["share"],
                100 * rankers[lift],
                linestyle="none",
                label=family,
                **marker_style(i),
            )[0]
            marks.mark_points(points, family)
        ax.set(
            xlabel=f"user share of plays − ½ (n = {len(frame)} rankers)",
            ylabel=f"true lift in {lift}, %",
        )
        ax.grid(**GRID_LINE_STYLE)
    axes.flat[0].legend(loc="upper left")
    return axes
