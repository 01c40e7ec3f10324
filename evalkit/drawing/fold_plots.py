"""Pictures of folds and of other splits: bars of training and test rows, a point a fold, a strip an estimate."""

from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import plots
from evalkit.drawing.plots import COLOURS

KINDS = {"test": COLOURS[0], "both": "#9ec6e0", "training": "#d9dce1"}


def draw_map(frame: pd.DataFrame, ax: Any, *, xlabel: str, dated: bool = False) -> Any:
    """One bar a fold, its stretches coloured by what they do: `fold`, `kind`, `start`, `width`."""
    folds = list(dict.fromkeys(frame["fold"]))
    for kind, colour in KINDS.items():
        some = frame[frame["kind"] == kind]
        for i, fold in enumerate(folds):
            part = some[some["fold"] == fold]
            ax.broken_barh(list(zip(part["start"], part["width"], strict=True)), (i - 0.4, 0.8), color=colour, lw=0)
        if len(some):
            ax.plot([], [], color=colour, linewidth=6, label=kind)
    ax.set_yticks(range(len(folds)), [str(fold) for fold in folds])
    ax.set_ylim(len(folds) - 0.4, -0.6)
    ax.set_ylabel("fold")
    ax.set_xlabel(xlabel)
    if dated:
        ax.xaxis_date()
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def draw_folds(frame: pd.DataFrame, ax: Any, *, label: str, subject: str, xlabel: str) -> Any:
    """One point a `system` and `fold`; the subject's `on_train` hollow."""
    order, drawn = list(dict.fromkeys(frame["fold"])), []
    for i, (name, part) in enumerate(frame.groupby("system", sort=False)):
        x = [order.index(fold) + 0.12 * i for fold in part["fold"]]
        look = plots.style_of(i)
        drawn.append((str(name), ax.plot(x, part[label], linestyle="none", **look)[0]))
        if name == subject and "on_train" in part:
            ax.plot(x, part["on_train"], linestyle="none", **(look | {"markerfacecolor": "none"}))
    ax.set_xticks(range(len(order)), [str(fold) for fold in order])
    ax.set_xlabel(xlabel)
    ax.set_ylabel(label)
    ax.grid(axis="y", color="#ddd", linewidth=0.6)
    plots.legend(ax, drawn, **plots.BESIDE)
    return ax


def draw_strip(frame: pd.DataFrame, ax: Any, *, xlabel: str) -> Any:
    """One row a `way`: its `value`s as points side by side where they coincide, and their mean."""
    names = list(dict.fromkeys(frame["way"]))
    for i, name in enumerate(names):
        values = np.sort(frame[frame["way"] == name]["value"].dropna().to_numpy(float))
        step = np.arange(values.size) * 0.618 % 1 - 0.5  # a fixed sequence that spreads evenly
        ax.plot(values, i + 0.55 * step * (values.size > 1), "o", color=COLOURS[0], markersize=3.2, alpha=0.55)
        if values.size:
            ax.plot([values.mean()] * 2, [i - 0.36, i + 0.36], color=COLOURS[1], linewidth=2)
    counts = frame.groupby("way", sort=False).size()
    ax.set_yticks(range(len(names)), [f"{name} ({counts[name]})" for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(xlabel)
    ax.grid(axis="x", color="#ddd", linewidth=0.6)
    return ax
