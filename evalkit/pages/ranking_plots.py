"""The pictures of the ranking page, each from the study's frames."""

from typing import Any

import pandas as pd

from evalkit.drawing import plots
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, number, percent
from evalkit.pages import pieces
from evalkit.studies import diagnostics
from evalkit.studies.ranking import Ranking
from evalkit.studies.words import counted

pieces.listed(__name__)


def queries(s: Ranking) -> Picture | Html:
    """The primary difference of each query, sorted."""
    if not len(s.headline):
        return _values(s)
    row, found = s.headline.iloc[0], s.differences()
    pair = f"{row['first']} − {row['second']}"
    above, equal, below = diagnostics.sides(found)
    caption = (
        f"{pair}: difference in {s.primary.label} of each query, sorted. {counted(above, 'query')} better, "
        f"{equal:,} equal, {below:,} worse; dashed: the mean over queries."
    )
    labels: dict[str, Any] = {
        "xlabel": f"queries, sorted (n = {len(found):,})",
        "ylabel": f"difference in {s.primary.label}",
    }
    return plots.picture(plots.bars, found.to_numpy(), alt=caption, caption=caption, size=(7.6, 2.8), **labels)


def _values(s: Ranking) -> Picture:
    """The primary metric of each query of one system, sorted."""
    found = s.values()[s.leader].dropna().to_numpy()
    score = f"{diagnostics.sides(found)[1]:,} of {counted(len(found), 'query')} score 0"
    caption = f"{s.primary.label} of each query, sorted. {score}; dashed: the mean."
    labels: dict[str, Any] = {"xlabel": f"queries, sorted (n = {len(found):,})", "ylabel": s.primary.label}
    return plots.picture(plots.bars, found, alt=caption, caption=caption, size=(7.6, 2.8), **labels)


def curves(s: Ranking) -> Picture:
    """The primary metric against its cut-off."""
    name, n = s.curves.iloc[0]["metric"], max(s.curves["n"])
    caption = f"Mean {name}@k against k with {percent(s.settings.level)} bands, {counted(n, 'query')}."
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
    n = max(s.precision_recall["n"])
    level, over = percent(s.settings.level), counted(n, "query")
    caption = f"Mean interpolated precision at 11 recall levels with {level} bands, {over}."
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
