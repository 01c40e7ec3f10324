"""Plots of tests: differences and their null distribution, intervals that miss, ranks, power, planned experiments."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.drawing import figures as marks
from evalkit.drawing.plots import COLOURS, GREY, GRID, Sides, intervals, legend, note, style_of
from evalkit.metrics.grid import Counted
from evalkit.numbers import number, signed

BINS = 40  # even: none straddles 0
MISSED = "#c1272d"
TICKS = (100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)


def forest(frame: pd.DataFrame, ax: Any, *, label: str, margin: float | None, sides: Sides | None = None) -> Any:
    """Differences with their intervals around 0, and the margin inside which they are equivalent as a band."""
    if margin:
        ax.axvspan(-margin, margin, color=COLOURS[4], alpha=0.16, linewidth=0)
        note(ax, f"±{margin:g}", (margin, -0.55), (3, 0), color=GREY, va="top")
    return intervals(frame, ax, label=label, zero=True, sides=sides)


def histogram(values: Counted, ax: Any, *, xlabel: str, ylabel: str, less_is_better: bool = False) -> Any:
    """Differences of units, the better ones green, those of 0 as a grey bar of their own; mean and median as lines."""
    reach = max(abs(values.low), abs(values.high)) or 1.0
    edges = np.linspace(-reach, reach, BINS + 1)
    zeros, counts = values.zeros, values.histogram(edges).astype(np.int64)
    counts[np.searchsorted(edges, 0.0, side="right") - 1] -= zeros
    middle = (edges[1:] + edges[:-1]) / 2
    better, worse = (middle < 0, middle > 0) if less_is_better else (middle > 0, middle < 0)
    for side, colour in ((better, COLOURS[2]), (worse, COLOURS[1])):
        drawn = ax.bar(middle[side], counts[side], width=edges[1] - edges[0], color=colour, linewidth=0)
        for bar, low, count in zip(drawn, edges[:-1][side], counts[side], strict=True):
            marks.series(bar, "", [f"{signed(low)} to {signed(low + edges[1] - edges[0])}: {count:,}"])
    if zeros:
        ax.bar([0], [zeros], width=(edges[1] - edges[0]) / 2, color="none", edgecolor=GREY, hatch="////", linewidth=0.8)
        top = min(zeros, 1.6 * max(counts.max(), 1))
        ax.set(ylim=(0, 1.08 * max(top, counts.max())))
        cut = " (bar cut off)" if zeros > top else ""
        note(ax, f"{zeros:,} equal{cut}", (0, top), (7, -3), color=GREY, va="top")
    ax.axvline(values.mean, color="#444", linestyle="--", linewidth=1.2, label=f"mean {signed(values.mean)}")
    ax.axvline(values.median, color="#444", linestyle=":", linewidth=1.2, label=f"median {signed(values.median)}")
    ax.legend(loc="upper left")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def null_edges(draws: Floats, observed: float) -> Floats:
    """The edges of the bars of `null_distribution`."""
    reach = 1.08 * max(float(np.abs(draws).max(initial=0.0)), abs(observed)) or 1.0
    return np.linspace(-reach, reach, 2 * BINS)


def far(draws: Floats, observed: float) -> np.ndarray:
    """The draws at least as far from 0 as the observed mean."""
    return np.abs(draws) >= abs(observed) * (1 - 1e-9)


def null_distribution(draws: Floats, ax: Any, *, observed: float, xlabel: str, ylabel: str) -> Any:
    """Means under random signs; the share as far from 0 as the observed one, both sides, is p and drawn red."""
    edges = null_edges(draws, observed)
    weight = np.full(draws.size, 1 / max(draws.size, 1))
    red = far(draws, observed)
    ax.hist([draws[~red], draws[red]], edges, weights=[weight[~red], weight[red]], stacked=True, color=[GREY, MISSED])
    for at, style in ((observed, "-"), (-observed, ":")):
        ax.axvline(at, color=COLOURS[0], linestyle=style, linewidth=1.6)
    outward = abs(observed) < edges[-1] / 2  # away from the dotted line, where there is room
    side = "right" if (observed > 0) != outward else "left"
    top = 1.15 * ax.get_ylim()[1]
    ax.set_ylim(top=top)
    by = (-4 if side == "right" else 4, -2)
    note(ax, f"observed {signed(observed)}", (observed, top), by, ha=side, va="top", color=COLOURS[0])
    ax.locator_params(axis="x", nbins=6)  # room for the digits of small differences
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def null_shares(k: Floats, chance: Floats, ax: Any, *, seen: int, counted: np.ndarray, xlabel: str) -> Any:
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
    curve: pd.DataFrame, ax: Any, *, observed: float, alpha: float, limits: tuple[float, float], label: str
) -> Any:
    """p against the mean under the null: where it is at least α is the interval, and at 0 stands the test's p."""
    marks.series(ax.plot(curve["mean"], curve["p"], color=COLOURS[0])[0], "")
    ax.axhline(alpha, color=GREY, linestyle="--", linewidth=1)
    inside = curve["p"] >= alpha
    ax.fill_between(curve["mean"], 0, curve["p"], where=inside, color=COLOURS[0], alpha=0.14, linewidth=0)
    ax.axvline(0, color="#444", linewidth=0.9)
    for limit in limits:
        ax.axvline(limit, color=COLOURS[1], linewidth=1, linestyle=":")
    ax.plot([observed], [1], marker="o", color=COLOURS[0])
    note(ax, f"α = {alpha:.4g}", (curve["mean"].iloc[0], alpha), (2, 3))
    ax.set(ylim=(0, 1.1), xlabel=label, ylabel="two-sided p")
    return ax


def hundred(frame: pd.DataFrame, axes: Any, *, truth: float, label: str) -> Any:
    """One panel a `method`: intervals of many samples against the true value; red and thick: those that miss it."""
    for ax, (name, part) in zip(axes.flat, frame.groupby("method", sort=False), strict=True):
        for covers, colour, width in ((True, GREY, 0.8), (False, MISSED, 1.8)):
            some = part[part["covers"] == covers]
            ax.vlines(some["sample"], some["low"], some["high"], color=colour, linewidth=width)
        ax.axhline(truth, color=COLOURS[0], linewidth=1.2)
        ax.set(title=f"{name}: {int((~part['covers']).sum())} of {len(part)} miss", xlabel="sample", ylabel=label)
    return axes


def critical_difference(ranks: Mapping[str, float], ax: Any, *, distance: float, label: str) -> Any:
    """Mean ranks on a line, best left; bars join systems whose ranks differ by less than the critical difference."""
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
        by, place = (-4 if side == "right" else 4, 0), {"xycoords": ax.get_yaxis_transform(), "annotation_clip": False}
        note(ax, f"{name} {rank:.2f}", (edge, y), by, ha=side, va="center", **place)
    return ax


def cliques(ordered: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """First and last place of each longest run of two or more rising ranks that lie within the distance.

    >>> cliques([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, int]] = []
    for first, low in enumerate(ordered):
        last = max(i for i, rank in enumerate(ordered) if rank - low < distance or i == first)
        if last > first and not any(last <= end for _, end in runs):
            runs.append((first, last))
    return runs


def power(frame: pd.DataFrame, ax: Any, *, observed: float, margin: float | None, xlabel: str) -> Any:
    """The chance to show a true difference, a line for each number of `units`; marks: what was seen, the margin."""
    lines = []
    for i, (units, line) in enumerate(frame.groupby("units")):
        style = ("--", "-", ":")[i % 3]
        name = f"n = {units:,}"
        drawn = ax.plot(line["difference"], line["power"], color=COLOURS[i], linestyle=style, label=name)[0]
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
    """One line a `system`, `error` against `users`, and the counted points of `groups` in its colour."""
    lines = []
    for i, (name, line) in enumerate(curves.groupby("system", sort=False)):
        look = style_of(i)
        dash = "--" if i % 2 else "-"  # two curves that lie on each other both show
        drawn = ax.plot(line["users"], line["error"], color=look["color"], linestyle=dash)[0]
        lines.append((str(name), marks.band(drawn, name)))
        counted = groups[groups["system"] == name]
        points = ax.plot(counted["users"], counted["error"], linestyle="none", **look)[0]
        pairs = zip(counted["users"], counted["error"], strict=True)
        marks.series(points, name, [f"{name}, {users:,.0f} users: {number(error)}" for users, error in pairs])
    ax.axhline(0.05, color="#444", linewidth=0.9, linestyle="--")
    note(ax, "5%: agrees in 95%", (curves["users"].min(), 0.05), (0, 3), ha="left")
    ax.set(xscale="log")
    ax.set_xticks(TICKS, [f"{tick:,}" for tick in TICKS])
    ax.minorticks_off()
    ax.set(ylim=(0, 0.55), xlabel="users in the experiment (log scale)", ylabel="probability of the wrong sign")
    ax.grid(**GRID)
    legend(ax, lines)
    return ax


def draw_agreement(points: list[np.ndarray], titles: list[str], axes: Any) -> Any:
    """One panel a pair of columns: preference across, lift in percent up, with the least-squares line."""
    for ax, title, xy in zip(axes.flat, titles, points, strict=True):
        x, y = xy[:, 0], 100 * xy[:, 1]
        ax.axhline(0, color="#444", linewidth=0.8)
        ax.axvline(0, color="#444", linewidth=0.8)
        marks.series(ax.plot(x, y, "o", color=COLOURS[0], markersize=4.5)[0], "")
        ax.plot(x, np.polyval(np.polyfit(x, y, 1), x), color=GREY, linewidth=1.0)
        ax.set(title=title, xlabel=f"user share − ½ (n = {len(x)} rankers)", ylabel="lift in plays, %")
        ax.grid(**GRID)
    return axes


def draw_families(frame: pd.DataFrame, axes: Any) -> Any:
    """One panel a lift, `plays` and `hours` in percent up, `share` across; a marker a `family`."""
    for ax, lift in zip(axes.flat, ("plays", "hours"), strict=True):
        ax.axhline(0, color="#444", linewidth=0.8)
        ax.axvline(0, color="#444", linewidth=0.8)
        for i, (family, rows) in enumerate(frame.groupby("family", sort=False)):
            if i == 0:
                line = np.polyfit(rows["share"], 100 * rows[lift], 1)
                across = np.array([frame["share"].min(), frame["share"].max()])
                ax.plot(across, np.polyval(line, across), color=GREY, linewidth=1.0)
            points = ax.plot(rows["share"], 100 * rows[lift], linestyle="none", label=family, **style_of(i))[0]
            marks.series(points, family)
        ax.set(xlabel=f"user share of plays − ½ (n = {len(frame)} rankers)", ylabel=f"true lift in {lift}, %")
        ax.grid(**GRID)
    axes.flat[0].legend(loc="upper left")
    return axes
