"""Bootstrap of counts: a resample draws new counts for the cells of a table, and nothing is ever sorted again.

A row bootstrap moves a metric only through the counts of its cells. Where a table has few thresholds, or few positives,
some cells are enough for exactly the row bootstrap; elsewhere neighbouring thresholds share a cell, and the difference
between the metric of the cells and of the table, known exactly, is added to every resample.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Floats, Ints, ParameterError, codes
from evalkit.limits import USUAL
from evalkit.metrics.cells import CELLS, Metric, cells, derivatives, pool, pooled
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.statistics.intervals import Estimate, bca_interval

JOINT = 16_384  # cells of two models that cross: more would cost time and gain nothing
METHOD = "bootstrap of counts, BCa"


# One model ------------------------------------------------------------------------------------------------------


def resampled(c: Counts, *, rng: np.random.Generator, resamples: int = USUAL.resamples) -> list[Counts]:
    """Tables of `resamples` bootstrap samples of the rows behind `c`, as many rows each, without empty cells.

    Raises ParameterError for weights that are no whole numbers: they do not say how many rows there are.
    """
    drawn = _draw(np.concatenate([c.positive, c.negative]), rng, resamples)
    k = len(c.threshold)
    return [_table(c.threshold, size[:k], size[k:]) for size in drawn]


def replicates(
    c: Counts, metric: Metric, *, rng: np.random.Generator, resamples: int = USUAL.resamples, most: int = CELLS
) -> Floats:
    """A metric of the whole order in every bootstrap sample of the rows, the error of the cells taken off.

    >>> from evalkit.metrics.counts import average_precision, count
    >>> c = count(np.arange(200), np.arange(200) % 3 == 0)
    >>> drawn = replicates(c, average_precision, rng=np.random.default_rng(1), resamples=200)
    >>> drawn.shape, bool(abs(drawn.mean() - average_precision(c)) < 0.02)
    ((200,), True)
    """
    table = pool(c, cells(c, most))
    values = [metric(sample) for sample in resampled(table, rng=rng, resamples=resamples)]
    return np.array(values, dtype=np.float64) + (metric(c) - metric(table))


def interval(
    c: Counts, metric: Metric, *, rng: np.random.Generator, level: float = 0.95, resamples: int = USUAL.resamples
) -> Estimate:
    """The metric with the BCa interval of a bootstrap of counts; the limits are NaN where it is undefined.

    Efron, JASA 1987, doi:10.1080/01621459.1987.10478410.

    >>> from evalkit.metrics.counts import count, ks
    >>> e = interval(count(np.arange(50), np.arange(50) % 7 > 2), ks, rng=np.random.default_rng(1))
    >>> e.low <= e.value <= e.high, e.method
    (True, 'bootstrap of counts, BCa')
    """
    drawn = replicates(c, metric, rng=rng, resamples=resamples)
    table = pooled(c)
    moved, rows = np.concatenate(derivatives(table, metric)), np.concatenate([table.positive, table.negative])
    e = bca_interval(metric(c), drawn, moved, rows=rows, n=int(c.total), level=level)
    # A largest gap (KS, the best F) is larger in almost every resample: the limits hold at least the value itself.
    return replace(e, low=min(e.low, e.value), high=max(e.high, e.value), method=METHOD)


def of_tables(c: Counts, metric: Metric, tables: Sequence[Counts], *, n: int, level: float = 0.95) -> Estimate:
    """The metric with the bias-corrected limits of samples that are drawn already; NaN where none are.

    tables: the one in cells, then those of the samples, of rows or of whole units. No acceleration: miscalibration and
    ECE are larger in almost every sample, and the limits hold at least the value itself.

    >>> from evalkit.metrics.counts import count, ks
    >>> c = count(np.arange(50), np.arange(50) % 7 > 2)
    >>> e = of_tables(c, ks, [c, *resampled(c, rng=np.random.default_rng(1), resamples=50)], n=50)
    >>> e.low <= e.value <= e.high
    True
    """
    value, (table, *samples) = metric(c), tables
    if not samples:
        return Estimate(value, np.nan, np.nan, level, n, "no samples")
    drawn = np.array([metric(sample) for sample in samples]) + (value - metric(table))
    e = bca_interval(value, drawn, np.zeros(2), n=n, level=level)
    return replace(e, low=min(e.low, value), high=max(e.high, value), method=METHOD)


# Models on the same rows -----------------------------------------------------------------------------------------


def paired(
    label: Ints,
    models: Sequence[tuple[Counts, Ints]],
    metric: Metric,
    *,
    rng: np.random.Generator,
    resamples: int = USUAL.resamples,
) -> Floats:
    """The metric of every model (rows) in every bootstrap sample (columns) of the same rows.

    models: each one's table and where in it each row stands, `influence.place(table, score)`, in the order of `label`.
    Rows that share the label and the cell of every model are drawn together.

    >>> from evalkit.metrics.counts import auc, count
    >>> from evalkit.metrics.influence import place
    >>> label, score = np.array([1, 1, 0, 0]), np.array([0.9, 0.4, 0.6, 0.1])
    >>> model = count(score, label), place(count(score, label), score)
    >>> drawn = paired(label, [model, model], auc, rng=np.random.default_rng(1), resamples=20)
    >>> bool(np.array_equal(drawn[0], drawn[1], equal_nan=True))
    True
    """
    most = CELLS
    pooled, joint, size = _crossed(label, models, most)
    while len(size) > JOINT and most > 64:
        most //= 2
        pooled, joint, size = _crossed(label, models, most)
    drawn = _draw(size, rng, resamples)
    values = []
    for i, ((c, _), table) in enumerate(zip(models, pooled, strict=True)):
        k = len(table.threshold)
        sums = _by_cell(drawn, joint[0] * k + joint[1 + i], 2 * k)
        shift = metric(c) - metric(table)
        values.append([metric(_table(table.threshold, sums_of[k:], sums_of[:k])) + shift for sums_of in sums])
    return np.array(values, dtype=np.float64)


def _crossed(label: Ints, models: Sequence[tuple[Counts, Ints]], most: int) -> tuple[list[Counts], Ints, Ints]:
    """Each model's table in cells, the cells of all models together and how many rows they hold."""
    place_of = [cells(c, most) for c, _ in models]
    pooled = [pool(c, cell) for (c, _), cell in zip(models, place_of, strict=True)]
    rows = [cell[at] for (_, at), cell in zip(models, place_of, strict=True)]
    return pooled, *_joint(label, rows)


def _joint(label: Ints, rows: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The distinct combinations of label and cells, one column each, and how many rows have them."""
    key, width = label.astype(np.int64), 1
    for cell in rows:
        size = int(cell.max(initial=0)) + 1
        key, width = key * size + cell, width * size
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    return np.array([label[first], *(cell[first] for cell in rows)], dtype=np.int64), count


def _by_cell(drawn: NDArray, cell: Ints, total: int) -> NDArray:
    """Column sums of the draws by cell: one row a resample, one column a cell."""
    order = np.argsort(cell, kind="stable")
    start = np.flatnonzero(np.append(True, np.diff(cell[order]) > 0))
    sums = np.zeros((len(drawn), total), dtype=drawn.dtype)
    sums[:, cell[order[start]]] = np.add.reduceat(drawn[:, order], start, axis=1)
    return sums


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
