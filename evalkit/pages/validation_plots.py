"""The pictures of the validation page, each from the study's frames."""

from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints
from evalkit.drawing import plots, tables
from evalkit.drawing.plots import COLOURS, GREY, Picture
from evalkit.drawing.tables import Html, number
from evalkit.pages import pieces
from evalkit.pages.validation_findings import why_not
from evalkit.studies.validity import Validation
from evalkit.studies.words import counted

pieces.listed(__name__)

BINS = 120
KINDS = {"test": COLOURS[0], "both": "#9ec6e0", "training": "#d9dce1"}
NO_FITS = "Predictions alone cannot be split again: with features and an estimator this page also draws"


# Where the folds lie


def fold_map(s: Validation) -> Picture:
    """Which rows train and test in each fold, along time, groups or the rows of the table."""
    along, place = _places(s)
    frame = _stretches(s, place)
    mixed = "; both: test and training rows between each other" if "both" in set(frame["kind"]) else ""
    n, folds = len(s.examples), counted(len(s.tests), "fold")
    caption = f"Where each fold trains and tests, along the {along}{mixed}. {folds}, {counted(n, 'row')}."
    labels: dict[str, Any] = {"xlabel": f"{along} (n = {counted(n, 'row')})", "dated": s.examples.dated}
    size = (7.6, 1.3 + 0.2 * len(s.tests))
    return plots.picture(draw_map, frame, alt=caption, caption=caption, size=size, **labels)


def _places(s: Validation) -> tuple[str, np.ndarray]:
    """What the folds are laid along, and the place of each row on it."""
    e = s.examples
    if e.time is not None:
        return "time", e.time
    if e.group is None:
        return "rows of the table", np.arange(len(e), dtype=float)
    first = np.full(len(e), len(s.tests))
    for i, (_, at) in reversed(list(enumerate(s.tests))):
        first[s.rows[at]] = i
    names, code = np.unique(e.group, return_inverse=True)
    tested = np.full(names.size, len(s.tests))
    np.minimum.at(tested, code, first)
    rank = np.empty(names.size)
    rank[np.lexsort((np.arange(names.size), tested))] = np.arange(names.size)
    return "groups, in the order of the folds that test them", rank[code]


def _stretches(s: Validation, place: np.ndarray) -> pd.DataFrame:
    """Neighbouring parts of the axis of one kind, fold by fold: fold, kind, start, width."""
    last = place.max() + (0 if s.examples.time is not None else 1)
    bins = min(BINS, np.unique(place).size)
    edges = np.linspace(place.min(), last, bins + 1)
    part = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, bins - 1)
    ordered = s.examples.time is not None or s.examples.group is not None
    exact = place if ordered else part.astype(float)  # rows of a table have no order to keep
    rows = []
    for (name, at), train in zip(s.tests, s.training, strict=True):
        kind = _kinds(part, exact, s.rows[at], train, bins)
        cuts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1]))
        ends = np.append(cuts[1:], bins)
        rows += [(name, kind[a], edges[a], edges[b] - edges[a]) for a, b in zip(cuts, ends, strict=True) if kind[a]]
    return pd.DataFrame(rows, columns=["fold", "kind", "start", "width"])


def _kinds(part: Ints, place: Floats, test: Ints, train: Ints, bins: int) -> np.ndarray:
    """What each bin holds; both only where test and training rows lie between each other, else what it has more of."""
    count, low, high = [], [], []
    for side in (test, train):
        count.append(np.bincount(part[side], minlength=bins))
        low.append(np.full(bins, np.inf))
        high.append(np.full(bins, -np.inf))
        np.minimum.at(low[-1], part[side], place[side])
        np.maximum.at(high[-1], part[side], place[side])
    mixed = (high[1] >= low[0]) & (high[0] >= low[1])  # else the bin is only too wide to part them
    tests, trains = count[0] > 0, count[1] > 0
    more = np.where(count[0] >= count[1], "test", "training")
    return np.where(tests & trains, np.where(mixed, "both", more), np.select([tests, trains], ["test", "training"], ""))


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


# Fold by fold


def folds(s: Validation) -> Picture:
    """The primary metric of every system on each fold; of the subject also on the training rows."""
    frame, label = s.by_fold, s.primary.label
    sides = " Hollow: on the fold's own training rows." if "on_train" in frame else ""
    spread = s.fold_values(s.subject)
    if s.holdout:
        caption = f"{label} on the test rows.{sides} {s.subject} {number(spread[0])}."
    else:
        ends = f"{s.subject} from {number(np.nanmin(spread))} to {number(np.nanmax(spread))}"
        caption = f"{label} on each fold's test rows.{sides} {ends} over {counted(len(s.tests), 'fold')}."
    names: dict[str, Any] = {"label": label, "subject": s.subject, "n": s.rows.size}
    return plots.picture(draw_folds, frame, alt=caption, caption=caption, size=(7.6, 3.0), **names)


def draw_folds(frame: pd.DataFrame, ax: Any, *, label: str, subject: str, n: int) -> Any:
    """One point a `system` and `fold`; the subject's `on_train` hollow."""
    order, drawn = list(dict.fromkeys(frame["fold"])), []
    for i, (name, part) in enumerate(frame.groupby("system", sort=False)):
        x = [order.index(fold) + 0.12 * i for fold in part["fold"]]
        look = plots.style_of(i)
        drawn.append((str(name), ax.plot(x, part[label], linestyle="none", **look)[0]))
        if name == subject and "on_train" in part:
            ax.plot(x, part["on_train"], linestyle="none", **(look | {"markerfacecolor": "none"}))
    ax.set_xticks(range(len(order)), [str(fold) for fold in order])
    ax.set_xlabel(f"fold (n = {counted(n, 'row')} tested)")
    ax.set_ylabel(label)
    ax.grid(axis="y", color="#ddd", linewidth=0.6)
    plots.legend(ax, drawn, **plots.BESIDE)
    return ax


# Other splits


def strip(s: Validation) -> Picture | Html:
    """Every estimate that each way of splitting gave, on one axis."""
    if s.other is None:
        return tables.paragraph(f"{NO_FITS} what other splits of the same rows would have said, and a learning curve.")
    frame, label = s.other.points, s.primary.label
    if not len(frame):
        return tables.paragraph("No other split was fitted: " + "; ".join(map(why_not, s.other.unfitted)))
    told = "; ".join(
        f"{row['way']} {number(row['lowest'])} to {number(row['highest'])}"
        for row in s.other.summary.to_dict("records")
    )
    caption = (
        f"{label} of {s.subject} by each way of splitting. A point: one holdout's or bootstrap sample's test rows, or "
        "all rows over the folds of one draw, or the mean of such draws where the name says so. The bar: their mean."
    )
    size = (7.6, 1.0 + 0.5 * frame["way"].nunique())
    xlabel = f"{label} (n = {counted(len(s.examples), 'row')})"
    return plots.picture(draw_strip, frame, alt=f"{caption} {told}.", caption=caption, size=size, xlabel=xlabel)


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


def learning_curve(s: Validation) -> Picture | Html:
    """The primary metric by the number of training rows, on the test rows and on the training rows."""
    if s.other is None or s.other.curve["rows"].nunique() < 2:
        return Html("")
    frame, label = s.other.curve, s.primary.label
    ends = "; ".join(
        f"{name} {number(part['value'].iloc[0])} at {part['rows'].iloc[0]:,} rows, "
        f"{number(part['value'].iloc[-1])} at {part['rows'].iloc[-1]:,}"
        for name, part in frame.groupby("system", sort=False)
    )
    caption = f"{label} of {s.subject} by the number of training rows; band: from the lowest to the highest fold."
    labels: dict[str, Any] = {"x": "rows", "y": "value", "log": True}
    labels |= {"xlabel": "training rows (log scale)", "ylabel": f"{label} (n = {len(s.tests)} folds)"}
    return plots.picture(plots.curves, frame, alt=f"{caption} {ends}.", caption=caption, size=(7.6, 2.8), **labels)


def intervals(s: Validation) -> Picture:
    """The honest intervals and the naive ones, which are grey, on one axis."""
    frame = pd.DataFrame({"name": s.intervals["what"]} | {c: s.intervals[c] for c in ("value", "low", "high")})
    frame["colour"] = [COLOURS[0] if honest else GREY for honest in s.intervals["honest"]]
    caption = f"{s.primary.label} of {s.subject} with {s.settings.level:.0%} intervals; grey: of what is no sample."
    label = f"{s.primary.label} (n = {counted(s.rows.size, 'row')})"
    size = (7.6, 0.9 + 0.3 * len(frame))
    return plots.picture(plots.intervals, frame, alt=caption, caption=caption, size=size, label=label, zero=False)
