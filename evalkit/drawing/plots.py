"""Plots of estimates and tests: each function draws computed numbers on a matplotlib `ax` and
returns it.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats
from evalkit.drawing import figures as marks
from evalkit.drawing.figures import characters, letters, wrapped
from evalkit.metrics.distributions import Distribution
from evalkit.numbers import Show, decimals, estimate, number, signed
from evalkit.statistics.alternatives import Alternative

# 5: no look comes again before 40 lines
DASHES = (
    "-",
    "--",
    "-.",
    (0, (1, 1.2)),
    (0, (6, 1.5, 1, 1.5, 1, 1.5)),
)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b6b6b", "#332288")
BETTER, WORSE = COLOURS[2], COLOURS[1]  # of differences
GREY = "#767676"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MANY = 2000  # more points than a picture can show, thinned by their quantiles
GRID: dict[str, Any] = {"color": "#ddd", "linewidth": 0.6}
WIDEST = 0.01  # inches that a character needs for each point of its size, wide ones among them
NAMES = 0.45  # share of the width of a figure that names beside axes may take
BELOW = (12, 2.4)  # points, and lines, between axes and the legend below
Sides = tuple[str, str]  # what it means to lie to the left of 0, and to the right


def colour(i: int) -> str:
    """The colour of the i-th system: the page's, or that of a cycle of colours that the reader set
    in rcParams.
    """
    import matplotlib as mpl

    usual: Mapping[Any, Any] = mpl.rcParamsDefault
    cycle = mpl.rcParams["axes.prop_cycle"]
    colours = COLOURS if cycle == usual["axes.prop_cycle"] else cycle.by_key().get("color", COLOURS)
    return str(colours[i % len(colours)])


def style_of(i: int) -> dict[str, Any]:
    """Colour and marker of the i-th system: told apart also without colour."""
    return {
        "color": colour(i),
        "marker": MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
        "markersize": 5,
    }


def short(name: str, most: int = 32) -> str:
    """The name, or its beginning and an ellipsis."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def beside(names: Iterable[str], ax: Any) -> list[str]:
    """Names that stand beside the axes, in as many lines as the width of the figure needs."""
    most = characters(NAMES * ax.figure.get_figwidth())
    words = ((short(word, most) for word in name.split(" ")) for name in names)
    return [wrapped(" ".join(name), most) for name in words]


def above(name: str, ax: Any) -> str:
    """The title of a panel, in as many lines as its width needs."""
    return wrapped(name, characters(width(ax)))


def width(ax: Any) -> float:
    """The inches that a panel has of the width of its figure."""
    spec = ax.get_subplotspec()
    across = spec.get_gridspec().ncols if spec else 1
    return float(ax.figure.get_figwidth()) / across


def note(ax: Any, words: str, at: tuple[Any, Any], by: tuple[float, float], **style: Any) -> None:
    """Words beside a point, so many points of type away from it."""
    ax.annotate(words, at, xytext=by, textcoords="offset points", **style)


def legend(
    ax: Any, lines: Sequence[tuple[str, Any]], words: Mapping[str, str] = MappingProxyType({})
) -> None:
    """A legend of named lines below the axes. Matplotlib by itself leaves out names that begin with
    an underscore.

    words: what stands behind a name.
    """
    from matplotlib.transforms import ScaledTranslation

    named = [f"{short(name)}{words.get(name, '')}" for name, _ in lines]
    room = characters(width(ax))
    columns = 2 if 2 * (max(map(len, named)) + marks.KEY) <= room else 1
    for (_, line), label in zip(lines, named, strict=True):
        line.set_label(label)
    points, rows = BELOW
    down = (points + rows * letters()) / 72
    below = ScaledTranslation(0, -down, ax.figure.dpi_scale_trans)
    drawn = ax.legend(
        [line for _, line in lines],
        [str(i) for i in range(len(lines))],
        ncol=columns,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=ax.transAxes + below,
    )
    drawn.set_label(f"{-(-len(lines) // columns)} lines")
    for text, handle, shown, (name, _) in zip(
        drawn.get_texts(), drawn.legend_handles, named, lines, strict=True
    ):
        marks.legend(text, name).set_text(shown)
        marks.legend(handle, name)


def intervals(
    frame: pd.DataFrame, ax: Any, *, label: str, zero: bool, sides: Sides | None = None
) -> Any:
    """One row a result, `name`, `value`, `low`, `high`: a point and its interval, best reading from
    top to bottom.
    """
    known = np.flatnonzero(np.isfinite(frame["value"]))
    rows = list(frame.itertuples())
    for i, text in zip(known, said(frame.iloc[known], signed if zero else number), strict=True):
        row = rows[i]
        colour = row.colour if "colour" in frame else COLOURS[0]
        low, high = (value if np.isfinite(value) else row.value for value in (row.low, row.high))
        marks.band(ax.plot([low, high], [i, i], color=colour, solid_capstyle="butt")[0], row.name)
        point = ax.plot([row.value], [i], marker="o", markersize=6, color=colour, linestyle="none")[
            0
        ]
        marks.series(point, row.name, [f"{row.name}: {text}"])
    if zero:
        ax.axvline(0, color="#444", linewidth=0.9)
    if sides:
        above: dict[str, Any] = {
            "xycoords": ("data", "axes fraction"),
            "fontsize": marks.small(),
            "color": "#444",
        }
        if sides[0]:
            note(ax, f"← {sides[0]}", (0, 1), (-5, 2), ha="right", **above)
        if sides[1]:
            note(ax, f"{sides[1]} →", (0, 1), (5, 2), ha="left", **above)
    ax.set_yticks(range(len(frame)), beside(frame["name"], ax), linespacing=1)
    ax.set(ylim=(len(frame) - 0.4, -0.6))
    if np.ptp(ax.get_xlim()) < 0.05:  # ticks have four decimals or more
        ax.locator_params(axis="x", nbins=4)
    ax.grid(axis="x", color="#ddd", linewidth=0.6)
    ax.set_xlabel(short(label, 64), loc="right")
    return ax


def said(frame: pd.DataFrame, show: Show = number, value: str = "value") -> list[str]:
    """The values of a frame with their intervals, in words, all with the same decimals."""
    columns = [frame[name].tolist() for name in (value, "low", "high")]
    places = decimals(*columns)
    return [estimate(x, low, high, show, places) for x, low, high in zip(*columns, strict=True)]


def curves(
    frame: pd.DataFrame, ax: Any, *, x: str, y: str, xlabel: str, ylabel: str, log: bool = False
) -> Any:
    """One line a `system` with its band from `low` to `high`."""
    lines = []
    faint = marks.paleness(frame["system"].nunique())
    for i, (name, line) in enumerate(frame.groupby("system", sort=False)):
        look = style_of(i)
        says = [
            f"{name}, {x} {place:g}: {text}"
            for place, text in zip(line[x], said(line, value=y), strict=True)
        ]
        drawn = ax.plot(line[x], line[y], linestyle=DASHES[i % len(DASHES)], **look)[0]
        lines.append((str(name), marks.series(drawn, name, says)))
        limits = ax.fill_between(
            line[x], line["low"], line["high"], color=look["color"], alpha=faint, linewidth=0
        )
        marks.band(limits, name)
    if log:
        ax.set(xscale="log")
        ticks = sorted(set(frame[x]))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.grid(**GRID)
    legend(ax, lines)
    return ax


def bars(
    values: Sequence[float], ax: Any, *, xlabel: str, ylabel: str, colours: Sequence[str] = COLOURS
) -> Any:
    """Sorted numbers, one bar per unit: above 0 in the first colour, below in the second; the mean
    as a line.
    """
    every = np.sort(np.asarray(values, float))
    if not len(every):
        return ax
    kept = every if len(every) <= MANY else np.quantile(every, np.linspace(0, 1, MANY))
    place = (np.arange(len(kept)) + 0.5) * len(every) / len(kept)
    edges = np.arange(len(kept) + 1) * len(every) / len(kept)
    for sign, colour in ((1, colours[0]), (-1, colours[1])):
        bar = ax.stairs(
            np.where(sign * kept > 0, kept, 0.0), edges, fill=True, color=colour, linewidth=0
        )
        marks.series(bar, "")
    ax.axhline(0, color="#444", linewidth=0.9)
    mean = float(every.mean())
    show = signed if every.min(initial=0) < 0 else number
    ax.axhline(mean, color="#444", linewidth=1.2, linestyle="--", label="mean")
    note(ax, f"mean {show(mean)}", (place[0], mean), (2, 3))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def multiples(frame: pd.DataFrame, axes: Any, *, label: str) -> Any:
    """One panel a `slice`, same axes: each `system` as a point with its interval, n in the
    title.
    """
    systems = list(dict.fromkeys(frame["system"]))
    frame = frame.assign(text=said(frame))  # with the digits of the table of the slices
    widest = WIDEST * letters()
    names = widest * max(len(short(name, 22)) for name in systems)
    most = int((axes.flat[0].figure.get_figwidth() - names) / axes.shape[1] / widest)
    for ax, (name, part) in zip(axes.flat, frame.groupby("slice", sort=False), strict=False):
        for row in part.itertuples():
            i = systems.index(row.system)
            low, high = (
                value if np.isfinite(value) else row.value for value in (row.low, row.high)
            )
            marks.band(ax.plot([low, high], [i, i], color=colour(i))[0], row.system)
            point = ax.plot([row.value], [i], linestyle="none", **style_of(i))[0]
            marks.series(point, row.system, [f"{row.system}, {name}: {row.text}"])
        ax.set_title(f"{wrapped(str(name), most)}\nn = {part['n'].max():,}")
        ax.grid(axis="x", color="#ddd", linewidth=0.6)
    _lowest(axes, frame["slice"].nunique(), label)
    axes.flat[0].set_yticks(range(len(systems)), [short(name, 22) for name in systems])
    axes.flat[0].set_ylim(len(systems) - 0.5, -0.5)
    return axes


def _lowest(axes: Any, panels: int, label: str) -> None:
    """The lowest of so many panels in each column have the numbers and the label of the axis."""
    for i, ax in enumerate(axes.flat):
        if i >= panels:
            ax.set_axis_off()
        elif i + axes.shape[1] >= panels:
            ax.tick_params(labelbottom=True)
            ax.set(xlabel=label)


BINS = 40  # even: none straddles 0
MISSED = "#c1272d"
TICKS = {10**2: "100", 10**3: "1k", 10**4: "10k", 10**5: "100k", 10**6: "1M", 10**7: "10M"}


def forest(
    frame: pd.DataFrame, ax: Any, *, label: str, margin: float | None, sides: Sides | None = None
) -> Any:
    """Differences with their intervals around 0, and the margin inside which they are equivalent as
    a band.
    """
    if margin:
        ax.axvspan(-margin, margin, color=COLOURS[4], alpha=0.16, linewidth=0)
        note(ax, f"±{margin:g}", (margin, -0.55), (3, 0), color=GREY, va="top")
    return intervals(frame, ax, label=label, zero=True, sides=sides)


def histogram(
    values: Distribution, ax: Any, *, xlabel: str, ylabel: str, direction: int = 1
) -> Any:
    """Differences of units, the better ones green, those of 0 as a grey bar of their own; mean and
    median as lines.

    direction: 1 if higher values are better, −1 if lower ones are, 0 if nothing says it.
    """
    reach = max(abs(values.low), abs(values.high)) or 1.0
    edges = np.linspace(-reach, reach, BINS + 1)
    zeros = values.zeros
    counts = values.histogram(edges).astype(np.int64)
    counts[np.searchsorted(edges, 0.0, side="right") - 1] -= zeros
    middle = (edges[1:] + edges[:-1]) / 2
    above = below = COLOURS[0]
    if direction > 0:
        above, below = BETTER, WORSE
    elif direction < 0:
        above, below = WORSE, BETTER
    for side, colour in ((middle > 0, above), (middle < 0, below)):
        drawn = ax.bar(
            middle[side], counts[side], width=edges[1] - edges[0], color=colour, linewidth=0
        )
        for bar, low, count in zip(drawn, edges[:-1][side], counts[side], strict=True):
            marks.series(
                bar, "", [f"{signed(low)} to {signed(low + edges[1] - edges[0])}: {count:,}"]
            )
    if zeros:
        ax.bar(
            [0],
            [zeros],
            width=(edges[1] - edges[0]) / 2,
            color="none",
            edgecolor=GREY,
            hatch="////",
            linewidth=0.8,
        )
        top = min(zeros, 1.6 * max(counts.max(), 1))
        ax.set(ylim=(0, 1.08 * max(top, counts.max())))
        cut = " (bar cut off)" if zeros > top else ""
        note(ax, f"{zeros:,} equal{cut}", (0, top), (7, -3), color=GREY, va="top")
    ax.axvline(
        values.mean,
        color="#444",
        linestyle="--",
        linewidth=1.2,
        label=f"mean {signed(values.mean)}",
    )
    ax.axvline(
        values.median,
        color="#444",
        linestyle=":",
        linewidth=1.2,
        label=f"median {signed(values.median)}",
    )
    ax.legend(loc="upper left")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def null_edges(draws: Floats, observed: float) -> Floats:
    """The edges of the bars of `null_distribution`."""
    reach = 1.08 * max(float(np.abs(draws).max(initial=0.0)), abs(observed)) or 1.0
    return np.linspace(-reach, reach, 2 * BINS)


def far(draws: Floats, observed: float, alternative: Alternative) -> Bools:
    """The draws at least as far from 0 as the observed mean, or of a one-sided question as far in
    the direction that counts.
    """
    rounding = 1e-9 * abs(observed)
    beyond: Bools = alternative.evidence(draws) >= alternative.evidence(observed) - rounding
    return beyond


def null_distribution(
    draws: Floats, ax: Any, *, observed: float, alternative: Alternative, xlabel: str, ylabel: str
) -> Any:
    """Means under random signs; the share of those that are `far` is p and drawn red."""
    edges = null_edges(draws, observed)
    weight = np.full(draws.size, 1 / max(draws.size, 1))
    red = far(draws, observed, alternative)
    ax.hist(
        [draws[~red], draws[red]],
        edges,
        weights=[weight[~red], weight[red]],
        stacked=True,
        color=[GREY, MISSED],
    )
    ax.axvline(observed, color=COLOURS[0], linestyle="-", linewidth=1.6, label="observed")
    if not alternative.one_sided:
        ax.axvline(-observed, color=COLOURS[0], linestyle=":", linewidth=1.6, label="opposite")
    outward = abs(observed) < edges[-1] / 2  # away from the dotted line, where there is room
    side = "right" if (observed > 0) != outward else "left"
    top = 1.15 * ax.get_ylim()[1]
    ax.set_ylim(top=top)
    by = (-4 if side == "right" else 4, -2)
    note(
        ax, f"observed {signed(observed)}", (observed, top), by, ha=side, va="top", color=COLOURS[0]
    )
    ax.locator_params(axis="x", nbins=6)  # room for the digits of small differences
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def null_shares(
    k: Floats, chance: Floats, ax: Any, *, seen: int, counted: np.ndarray, xlabel: str
) -> Any:
    """The probability of each number of successes under the null; red: those that p adds up."""
    kept = chance > 1e-6 * chance.max()
    here = k == seen
    kept |= here
    width = 0.8 * float(np.median(np.diff(k))) if len(k) > 1 else 0.8
    for part, colour in ((~counted, GREY), (counted, MISSED)):
        ax.bar(k[kept & part], chance[kept & part], width=width, color=colour, linewidth=0)
    note(ax, f"observed: {seen:,}", (seen, chance[here][0]), (0, 4), ha="center")
    ax.set(xlabel=xlabel, ylabel="probability under the null")
    return ax


def duality(
    curve: pd.DataFrame,
    ax: Any,
    *,
    observed: float,
    p_of_observed: float,
    alpha: float,
    limits: Sequence[float],
    sided: str,
    label: str,
) -> Any:
    """p against the mean under the null: where it is at least α is the interval, and at 0 stands
    the test's p.
    """
    marks.series(ax.plot(curve["mean"], curve["p"], color=COLOURS[0], label="p")[0], "")
    ax.axhline(alpha, color=GREY, linestyle="--", linewidth=1, label="α")
    inside = curve["p"] >= alpha
    ax.fill_between(
        curve["mean"], 0, curve["p"], where=inside, color=COLOURS[0], alpha=0.14, linewidth=0
    )
    ax.axvline(0, color="#444", linewidth=0.9)
    for limit in limits:
        ax.axvline(limit, color=COLOURS[1], linewidth=1, linestyle=":")
    ax.plot([observed], [p_of_observed], marker="o", color=COLOURS[0])
    note(ax, f"α = {alpha:.4g}", (curve["mean"].iloc[0], alpha), (2, 3))
    ax.set(ylim=(0, 1.1), xlabel=label, ylabel=f"{sided} p")
    return ax


def hundred(frame: pd.DataFrame, axes: Any, *, truth: float, label: str) -> Any:
    """One panel a `method`: intervals of many samples against the true value; red and thick: those
    that miss it.
    """
    for ax, (name, part) in zip(axes.flat, frame.groupby("method", sort=False), strict=False):
        for covers, colour, width in ((True, GREY, 0.8), (False, MISSED, 1.8)):
            some = part[part["covers"] == covers]
            ax.vlines(some["sample"], some["low"], some["high"], color=colour, linewidth=width)
        ax.axhline(truth, color=COLOURS[0], linewidth=1.2)
        ax.set(
            title=above(f"{name}: {int((~part['covers']).sum())} of {len(part)} miss", ax),
            xlabel="sample",
            ylabel=label,
        )
    return axes


def critical_difference(ranks: Mapping[str, float], ax: Any, *, distance: float, label: str) -> Any:
    """Mean ranks on a line, best left; bars join systems whose ranks differ by less than the
    critical difference.
    """
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    k = len(ordered)
    worst = max(k, int(np.ceil(ordered[-1][1])))  # the best of many systems can have ranks above k
    bars = cliques([rank for _, rank in ordered], distance)
    left = (k + 1) // 2
    ax.set(xlim=(1, worst))
    bottom = -(0.45 * len(bars) + 0.9 * left + 0.9)
    ax.set(ylim=(bottom - 0.4, 0.6))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set(xlabel=label)
    ax.set_xticks(range(1, worst + 1, -(-worst // k)))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_visible(False)
    ax.spines["top"].set_visible(True)
    end = min(1 + distance, worst)
    ax.plot([1, end], [bottom, bottom], color="#444", linewidth=2, solid_capstyle="butt")
    note(ax, f"critical difference {distance:.2f}", (end, bottom), (6, 0), va="center")
    for i, (first, last) in enumerate(bars):
        y = -0.45 * (i + 1)
        ends = [ordered[first][1] - 0.04, ordered[last][1] + 0.04]
        ax.plot(ends, [y, y], color=GREY, linewidth=4, solid_capstyle="butt")
    for i, (name, rank) in enumerate(ordered):
        row = i if i < left else k - 1 - i
        y = -(0.45 * len(bars) + 0.5 + 0.9 * row)
        edge, side = (0.0, "right") if i < left else (1.0, "left")
        ax.plot([rank, rank], [0.6, y], color=GREY, linewidth=0.8, clip_on=False)
        corner = 1 if i < left else worst
        ax.plot([rank, corner], [y, y], color=GREY, linewidth=0.8)
        by = (-4 if side == "right" else 4, 0)
        note(
            ax,
            f"{name} {rank:.2f}",
            (edge, y),
            by,
            ha=side,
            va="center",
            xycoords=ax.get_yaxis_transform(),
            annotation_clip=False,
        )
    return ax


def cliques(ordered: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """First and last place of each longest run of two or more rising ranks that lie within the
    distance.

    >>> cliques([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, int]] = []
    for first, low in enumerate(ordered):
        last = max(i for i, rank in enumerate(ordered) if rank - low < distance or i == first)
        if last > first and not any(last <= end for _, end in runs):
            runs.append((first, last))
    return runs


def power(
    frame: pd.DataFrame, ax: Any, *, observed: float, margin: float | None, xlabel: str
) -> Any:
    """The chance to show a true difference, a line for each number of `units`; marks: what was
    seen, the margin.
    """
    lines = []
    for i, (units, line) in enumerate(frame.groupby("units")):
        style = ("--", "-", ":")[i % 3]
        name = f"n = {units:,}"
        drawn = ax.plot(
            line["difference"], line["power"], color=COLOURS[i], linestyle=style, label=name
        )[0]
        lines.append((name, marks.series(drawn, name)))
    far = float(frame["difference"].max())
    ax.axhline(0.8, color=GREY, linewidth=0.9)
    places = [(abs(observed), "observed"), (margin or np.inf, "margin")]
    for line_above, (at, name) in enumerate(places):
        if at <= far:
            ax.axvline(at, color="#444", linewidth=1, linestyle="-." if name == "margin" else ":")
            note(ax, name, (at, 1.02), (0, 2 + 9 * line_above), ha="center")
    ax.set(ylim=(0, 1.02), xlim=(0, far), xlabel=xlabel, ylabel="power")
    ax.grid(**GRID)
    legend(ax, lines)
    return ax


def draw_errors(curves: pd.DataFrame, groups: pd.DataFrame, ax: Any) -> Any:
    """One line a `system`, `error` against `users`, and the counted points of `groups` in its
    colour.
    """
    lines = []
    for i, (name, line) in enumerate(curves.groupby("system", sort=False)):
        look = style_of(i)
        dash = "--" if i % 2 else "-"  # two curves that lie on each other both show
        style = {"color": look["color"], "linestyle": dash, "label": str(name)}
        drawn = ax.plot(line["users"], line["error"], **style)[0]
        lines.append((str(name), marks.band(drawn, name)))
        counted = groups[groups["system"] == name]
        points = ax.plot(counted["users"], counted["error"], linestyle="none", **look)[0]
        pairs = zip(counted["users"], counted["error"], strict=True)
        marks.series(
            points, name, [f"{name}, {users:,.0f} users: {number(error)}" for users, error in pairs]
        )
    ax.axhline(0.05, color="#444", linewidth=0.9, linestyle="--")
    note(ax, "5%: agrees in 95%", (curves["users"].min(), 0.05), (0, 3), ha="left")
    ax.set(xscale="log")
    ax.set_xticks(list(TICKS), list(TICKS.values()))
    ax.minorticks_off()
    ax.set(
        ylim=(0, 0.55),
        xlabel="users in the experiment (log scale)",
        ylabel="probability of the wrong sign",
    )
    ax.grid(**GRID)
    legend(ax, lines)
    return ax


def draw_agreement(points: list[np.ndarray], titles: list[str], axes: Any) -> Any:
    """One panel a pair of columns: preference across, lift in percent up, with the least-squares
    line.
    """
    for ax, words, xy in zip(axes.flat, titles, points, strict=False):
        x = xy[:, 0]
        y = 100 * xy[:, 1]
        ax.axhline(0, color="#444", linewidth=0.8)
        ax.axvline(0, color="#444", linewidth=0.8)
        points = ax.plot(x, y, "o", color=COLOURS[0], markersize=4.5, label="rankers")[0]
        marks.series(points, "")
        fit = np.polyval(np.polyfit(x, y, 1), x)
        ax.plot(x, fit, color=GREY, linewidth=1.0, label="least squares")
        ax.set(
            title=above(words, ax),
            xlabel=f"user share − ½ (n = {len(x)} rankers)",
            ylabel="lift in plays, %",
        )
        ax.grid(**GRID)
    return axes


def draw_families(frame: pd.DataFrame, axes: Any) -> Any:
    """One panel a lift, `plays` and `hours` in percent up, `share` across; a marker a `family`."""
    for ax, lift in zip(axes.flat, ("plays", "hours"), strict=False):
        ax.axhline(0, color="#444", linewidth=0.8)
        ax.axvline(0, color="#444", linewidth=0.8)
        for i, (family, rows) in enumerate(frame.groupby("family", sort=False)):
            if i == 0:
                line = np.polyfit(rows["share"], 100 * rows[lift], 1)
                across = np.array([frame["share"].min(), frame["share"].max()])
                ax.plot(across, np.polyval(line, across), color=GREY, linewidth=1.0)
            points = ax.plot(
                rows["share"], 100 * rows[lift], linestyle="none", label=family, **style_of(i)
            )[0]
            marks.series(points, family)
        ax.set(
            xlabel=f"user share of plays − ½ (n = {len(frame)} rankers)",
            ylabel=f"true lift in {lift}, %",
        )
        ax.grid(**GRID)
    axes.flat[0].legend(loc="upper left")
    return axes
