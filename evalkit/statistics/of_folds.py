"""Folds whose rows were added up: how much their values vary, and where their scores lie among those of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.metrics.grid import Grid
from evalkit.statistics.of_sums import POSITIVE, Form, Moments
from evalkit.statistics.statistic import Layout


def alike(whole: Any, parts: Sequence[Any]) -> Floats:
    """1 / variance of a mean of rows on parts of rows that count alike: how they vary is taken from all together.

    whole: the same mean of all rows, each of which stands in one part.
    """
    if whole.chosen.metric.kind.decided:
        hits, members = whole.hits()
        share = ratio(hits, members)
        return ratio([part.hits()[1] for part in parts], ratio(members, members - 1) * share * (1 - share))
    (name,), n = whole.form, whole.n
    squares = whole.moments.product(name, name) - whole.moments.total(whole.form) ** 2 / n
    return ratio([part.n for part in parts], squares * n**2 / (n - 1))


def variances(parts: Sequence[Any]) -> tuple[Floats, float]:
    """The variance of one metric on parts of like rows, and from how many units it is known.

    As `statistic.pooled_variances` of rows at hand: what a unit adds is taken from all parts together, of each class
    where the metric takes these apart, by the size of the class in the part.
    """
    apart = parts[0].layout is Layout.SUMMED and parts[0].chosen.metric.kind.apart
    variance, fewest = np.zeros(len(parts)), np.inf
    for side in (_of_class(positive=True), _of_class(positive=False)) if apart else (_of_units,):
        squares, units = np.array([side(part) for part in parts]).T
        variance += ratio(float(squares @ units**2), np.sum(units - 1) * units)
        fewest = min(fewest, float(units.sum()))
    return variance, fewest


def _of_class(*, positive: bool) -> Callable[[Any], tuple[float, float]]:
    """The sum of the squares of what the rows of a class move, and how many they are."""

    def of(part: Any) -> tuple[float, float]:
        form = {name: times for name, times in part.form.items() if name.endswith(POSITIVE) == positive}
        c = part.tables.counts
        return _squares(part.moments, form), float(c.positives if positive else c.negatives)

    return of


def _of_units(part: Any) -> tuple[float, float]:
    """The sum of the squares of what units move, less what bins leave of their sum, and how many they are."""
    m: Moments = part.moments
    each = ratio(m.total(part.form), m.sums[m.names.index("rows")])
    return _squares(m, {**part.form, "rows": part.form.get("rows", 0.0) - each}), float(m.n)


def _squares(m: Moments, form: Form) -> float:
    at, times = [m.names.index(name) for name in form], np.array(list(form.values()))
    return float(times @ m.gram[np.ix_(at, at)] @ times)


def mean_ranks(tables: Sequence[Grid]) -> tuple[Floats, float]:
    """The mean rank of the scores of each part among those of all, and the variance of all ranks.

    tables: the bins of all rows, then those of each part, which may be wider.

    >>> from evalkit.metrics import grid
    >>> score, label = np.array([0.1, 0.2, 0.2, 0.4]), np.zeros(4, bool)
    >>> parts = [grid.reduce(score[rows], label[rows]) for rows in (slice(4), slice(2), slice(2, 4))]
    >>> mean_ranks(parts)[0].tolist()
    [1.75, 3.25]
    """
    whole, *parts = tables
    rows = whole.positive + whole.negative
    rank = np.cumsum(rows) - (rows - 1) / 2
    n = int(rows.sum())
    variance = float(rows @ (rank - (n + 1) / 2) ** 2 / (n - 1))
    means = []
    for part in parts:
        own = part.positive + part.negative
        low, high = (rank[np.searchsorted(whole.low, code, side="right") - 1] for code in (part.low, part.high))
        means.append(float(own @ ((low + high) / 2) / own.sum()))
    return np.array(means), variance
