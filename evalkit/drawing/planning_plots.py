"""Pictures of simulated experiments: wrong signs by users, preference against lift, families of rankers."""

from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing.plots import COLOURS, GREY, style_of

TICKS = (100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)


def draw_errors(curves: pd.DataFrame, groups: pd.DataFrame, ax: Any) -> Any:
    """One line a `system`, `error` against `users`, and the counted points of `groups` in its colour."""
    for i, (name, line) in enumerate(curves.groupby("system", sort=False)):
        look = style_of(i)
        dash = "--" if i % 2 else "-"  # two curves that lie on each other both show
        ax.plot(line["users"], line["error"], label=name, color=look["color"], linestyle=dash)
        counted = groups[groups["system"] == name]
        ax.plot(counted["users"], counted["error"], linestyle="none", **look)
    ax.axhline(0.05, color="#444", linewidth=0.9, linestyle="--")
    ax.annotate(
        "5 %: agrees in 95 %", (curves["users"].max(), 0.05), xytext=(0, 3), textcoords="offset points", ha="right"
    )
    ax.set_xscale("log")
    ax.set_xticks(TICKS, [f"{tick:,}" for tick in TICKS])
    ax.minorticks_off()
    ax.set_ylim(0, 0.55)
    ax.set_xlabel("users in the experiment (log scale)")
    ax.set_ylabel("probability of the wrong sign")
    ax.grid(color="#ddd", linewidth=0.6)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def draw_agreement(points: list[np.ndarray], titles: list[str], axes: Any) -> Any:
    """One panel a pair of columns: preference across, lift in percent up, with the least-squares line."""
    for ax, title, xy in zip(axes.flat, titles, points, strict=True):
        x, y = xy[:, 0], 100 * xy[:, 1]
        ax.axhline(0, color="#444", linewidth=0.8)
        ax.axvline(0, color="#444", linewidth=0.8)
        ax.plot(x, y, "o", color=COLOURS[0], markersize=4.5)
        ax.plot(x, np.polyval(np.polyfit(x, y, 1), x), color=GREY, linewidth=1.0)
        ax.set_title(title)
        ax.set_xlabel(f"user share − ½ (n = {len(x)} rankers)")
        ax.grid(color="#ddd", linewidth=0.6)
    axes.flat[0].set_ylabel("lift in plays, %")
    return axes


def draw_families(found: pd.DataFrame, axes: Any) -> Any:
    """One panel a lift, `plays` and `hours` in percent up, `share` across; a marker a `family`."""
    for ax, lift in zip(axes.flat, ("plays", "hours"), strict=True):
        ax.axhline(0, color="#444", linewidth=0.8)
        ax.axvline(0, color="#444", linewidth=0.8)
        for i, (family, rows) in enumerate(found.groupby("family", sort=False)):
            if i == 0:
                line = np.polyfit(rows["share"], 100 * rows[lift], 1)
                across = np.array([found["share"].min(), found["share"].max()])
                ax.plot(across, np.polyval(line, across), color=GREY, linewidth=1.0)
            ax.plot(rows["share"], 100 * rows[lift], linestyle="none", label=family, **style_of(i))
        ax.set_xlabel(f"user share of plays − ½ (n = {len(found)} rankers)")
        ax.set_ylabel(f"true lift in {lift}, %")
        ax.grid(color="#ddd", linewidth=0.6)
    axes.flat[0].legend(loc="upper left")
    return axes
