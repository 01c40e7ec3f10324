"""Bootstrap of counts: a resample draws new counts for the cells of a table, and nothing is ever sorted again.

A row bootstrap moves a curve only through the counts of its cells. Where a table has few thresholds, or few positives,
some cells are enough for exactly the row bootstrap; elsewhere neighbouring thresholds share a cell.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Floats, ParameterError, codes
from evalkit.limits import USUAL
from evalkit.metrics.cells import cells, ends, pool
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows

FEW_CELLS = 256  # enough for the largest distance of two rates


# Tables ------------------------------------------------------------------------------------------------------


def resampled(c: Counts, *, rng: np.random.Generator, resamples: int = USUAL.resamples) -> list[Counts]:
    """Tables of `resamples` bootstrap samples of the rows behind `c`, as many rows each, without empty cells.

    Raises ParameterError for weights that are no whole numbers: they do not say how many rows there are.
    """
    drawn = _draw(np.concatenate([c.positive, c.negative]), rng, resamples)
    k = len(c.threshold)
    return [_table(c.threshold, size[:k], size[k:]) for size in drawn]


def largest_rise(
    c: Counts, sizes: tuple[int, int], sign: float, *, rng: np.random.Generator, share: float, resamples: int
) -> float:
    """The quantile at `share` of the largest amount by which sign (TPR − FPR) of a resample exceeds that of the table.

    The largest over all thresholds: what KS can have gained by choosing its own. sizes: positives and negatives that
    each resample draws.

    >>> from evalkit.metrics.counts import count
    >>> c = count(np.arange(200), np.arange(200) % 3 == 0)
    >>> rise = largest_rise(c, (67, 133), 1.0, rng=np.random.default_rng(1), share=0.975, resamples=200)
    >>> 0.1 < rise < 0.3
    True
    """
    table = ends(c, FEW_CELLS)
    gap = np.zeros(1)
    for size, weight, side in zip(sizes, (table.positive, table.negative), (sign, -sign), strict=True):
        chance = weight / weight.sum()
        drawn = np.cumsum(rng.multinomial(size, chance, size=resamples), axis=1) / size
        gap = gap + side * (drawn - np.cumsum(chance))
    return float(np.quantile(gap.max(axis=1), share))


# Curves ---------------------------------------------------------------------------------------------------------


def band(tables: Sequence[Counts], curve: Callable[[Counts], Floats], *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Lower and upper limits of a curve read at fixed places: pointwise, each right for its place alone.

    tables: of one bootstrap. curve: a table -> the heights at these places.
    """
    heights = np.array([curve(table) for table in tables])
    known = ~np.isnan(heights).all(axis=0)
    limits = np.full((2, heights.shape[1]), np.nan)
    limits[:, known] = np.nanquantile(heights[:, known], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return limits[0], limits[1]


def resampled_units(rows: Rows, *, rng: np.random.Generator, resamples: int = USUAL.resamples) -> list[Counts]:
    """Tables of bootstrap samples of whole units: the rows of a unit, weighted or not, come and go together."""
    cell = cells(rows.counts)
    table, k = pool(rows.counts, cell), int(cell[-1]) + 1
    where = cell[rows.place] + k * (rows.actual == 0)
    of, names = codes(np.arange(len(rows)) if rows.unit is None else rows.unit)
    drawn = []
    for _ in range(resamples):
        times = np.bincount(rng.integers(0, len(names), len(names)), minlength=len(names))
        sums = np.bincount(where, rows.weights * times[of], 2 * k)
        drawn.append(_table(table.threshold, sums[:k], sums[k:]))
    return drawn


# Draws ----------------------------------------------------------------------------------------------------------


def _draw(size: NDArray, rng: np.random.Generator, resamples: int) -> NDArray:
    """Counts of each cell in samples of all rows with replacement."""
    if resamples < 1:
        raise ParameterError(f"resamples must be at least 1, got {resamples}")
    if np.asarray(size).dtype.kind == "f":
        raise ParameterError("a bootstrap of counts must have weights that are whole numbers, got fractions")
    total = int(size.sum())
    if total == 0:
        return np.zeros((resamples, len(size)), dtype=np.int64)
    return rng.multinomial(total, size / total, size=resamples)


def _table(threshold: Floats, positive: NDArray, negative: NDArray) -> Counts:
    filled = (positive + negative) > 0
    tp, fp = np.cumsum(positive[filled]), np.cumsum(negative[filled])
    positives, negatives = (column[-1].item() if column.size else 0 for column in (tp, fp))
    return Counts(threshold[filled], tp, fp, positives, negatives)
