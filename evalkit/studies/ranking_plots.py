"""The pictures of the ranking page, each from the study's frames."""

from typing import Any

import pandas as pd

from evalkit import plots, tables
from evalkit.plots import Picture
from evalkit.studies.ranking import Ranking
from evalkit.studies.words import plural
from evalkit.tables import Html, interval, number, signed


def differences(s: Ranking) -> Picture | Html:
    """The primary differences of all pairs with their intervals, around 0."""
    if not len(s.headline):
        return tables.paragraph("One system: no differences to draw.")
    found = s.comparisons[s.comparisons["metric"] == s.primary.label].head(30)
    frame = pd.DataFrame({"name": found["first"] + " − " + found["second"], "value": found["difference"]})
    frame["low"], frame["high"] = found["low"], found["high"]
    frame["colour"] = [plots.COLOURS[0] if word in ("better", "worse") else "#767676" for word in found["verdict"]]
    n = found.iloc[0]["n"]
    label = f"difference in {s.primary.label} (n = {n:,} {plural(s.unit_name, n)})"
    told = "; ".join(
        f"{row.name}: {signed(row.value)} {interval(row.low, row.high, signed)}"
        for row in frame.itertuples(index=False, name="Row")
    )
    caption = (
        f"Paired differences in {s.primary.label} with {s.settings.level:.0%} intervals; grey: not shown to differ."
    )
    size = (7.6, 0.9 + 0.3 * len(frame))
    return plots.picture(
        plots.intervals, frame, alt=f"{caption} {told}", caption=caption, size=size, label=label, zero=True
    )


def queries(s: Ranking) -> Picture | Html:
    """The primary difference of each query, sorted."""
    if not len(s.headline):
        return tables.paragraph("One system: no differences to draw.")
    row, found = s.headline.iloc[0], s.differences()
    pair = f"{row['first']} − {row['second']}"
    better, worse = int((found > 0).sum()), int((found < 0).sum())
    caption = (
        f"{pair}: difference in {s.primary.label} of each query, sorted. {better:,} queries better, "
        f"{len(found) - better - worse:,} equal, {worse:,} worse; dashed: the mean over queries."
    )
    labels: dict[str, Any] = {
        "xlabel": f"queries, sorted (n = {len(found):,})",
        "ylabel": f"difference in {s.primary.label}",
    }
    return plots.picture(plots.bars, found.to_numpy(), alt=caption, caption=caption, size=(7.6, 2.8), **labels)


def curves(s: Ranking) -> Picture:
    """The primary metric against its cut-off."""
    name, n = s.curves.iloc[0]["metric"], int(s.curves["n"].max())
    caption = f"Mean {name}@k against k with {s.settings.level:.0%} bands, {n:,} queries."
    labels: dict[str, Any] = {
        "x": "k",
        "y": "value",
        "xlabel": "cut-off k (log scale)",
        "ylabel": f"mean {name}@k (n = {n:,})",
        "log": True,
    }
    return plots.picture(plots.curves, s.curves, alt=_told(caption, s.curves, "k", "value"), caption=caption, **labels)


def precision_recall(s: Ranking) -> Picture:
    """Interpolated precision at eleven recall levels."""
    n = int(s.precision_recall["n"].max())
    caption = f"Mean interpolated precision at 11 recall levels with {s.settings.level:.0%} bands, {n:,} queries."
    labels: dict[str, Any] = {
        "x": "recall",
        "y": "value",
        "xlabel": "recall",
        "ylabel": f"interpolated precision (n = {n:,})",
    }
    alt = _told(caption, s.precision_recall, "recall", "value")
    return plots.picture(plots.curves, s.precision_recall, alt=alt, caption=caption, **labels)


def _told(caption: str, frame: pd.DataFrame, x: str, y: str) -> str:
    """The caption, and each line's first and last point in words."""
    ends = [
        f"{name} from {number(ys.iloc[0])} at {xs.iloc[0]:g} to {number(ys.iloc[-1])} at {xs.iloc[-1]:g}"
        for name, xs, ys in ((name, line[x], line[y]) for name, line in frame.groupby("system", sort=False))
    ]
    return f"{caption} {'; '.join(ends)}."


def segments(s: Ranking) -> Picture | Html:
    """Small multiples of the slices, same axes."""
    if not len(s.by_segment):
        return tables.paragraph("No slices to draw.")
    frame = s.by_segment.assign(slice=s.by_segment["segment"] + " " + s.by_segment["slice"])
    count = frame["slice"].nunique()
    across = min(4, count)
    down = -(-count // across)
    caption = f"{s.primary.label} by segment with {s.settings.level:.0%} intervals; same axes, n in each title."
    size = (7.6, 0.5 + down * (0.55 + 0.17 * len(s.order)))
    return plots.picture(
        plots.multiples, frame, alt=caption, caption=caption, size=size, panels=(down, across), label=s.primary.label
    )
