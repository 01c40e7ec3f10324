"""Scores read as probabilities: Brier score, log loss, calibration and its decomposition, all from `Counts`."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.metrics.counts import Counts, Weights, base_rate

EPSILON = float(np.finfo(np.float64).eps)


def brier(c: Counts) -> float:
    """Mean of (score - label)², also the Brier score, for scores that are probabilities.

    Equals scikit-learn's brier_score_loss. doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.

    >>> from evalkit.metrics.counts import count
    >>> print(f"{brier(count([0.9, 0.4], [1, 0])):.3f}")
    0.085
    """
    p, n = c.positive, c.negative
    return float(ratio(np.dot(p, (1 - c.threshold) ** 2) + np.dot(n, c.threshold**2), c.total))


def brier_skill(c: Counts) -> float:
    """1 - Brier / (Brier score of always predicting the base rate). Undefined if one class is absent."""
    return float(1 - ratio(brier(c), brier(_constant(c))))


def brier_skill_bins(c: Counts) -> Floats:
    """What a positive (first row) and a negative (second) at each threshold adds to the Brier skill, to first order.

    With loss l, Brier score B, base rate r and U = r(1 − r) it is −(l − B) / U + B (1 − 2r)(label − r) / U², over n.

    >>> from evalkit.metrics.counts import count
    >>> brier_skill_bins(count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0])).round(3).tolist()
    [[0.175, 0.025, -0.175, -0.625], [-0.625, -0.175, 0.025, 0.175]]
    """
    b, r = brier(c), base_rate(c)
    loss, label = np.array([(1 - c.threshold) ** 2, c.threshold**2]), np.array([[1.0], [0.0]])
    return ratio(b - loss + ratio(b * (1 - 2 * r), r * (1 - r)) * (label - r), c.total * r * (1 - r))


def log_loss(c: Counts) -> float:
    """Mean of -log(probability of what happened), probabilities clipped to [eps, 1 - eps] of float64.

    Equals scikit-learn's log_loss. A clipped row of the wrong class costs 36 nats: see `clipped`.

    >>> from evalkit.metrics.counts import count
    >>> print(f"{log_loss(count([0.5, 0.5], [1, 0])):.6f}")
    0.693147
    """
    p, n = c.positive, c.negative
    probability = np.clip(c.threshold, EPSILON, 1 - EPSILON)
    return float(ratio(-np.dot(p, np.log(probability)) - np.dot(n, np.log1p(-probability)), c.total))


def clipped(c: Counts) -> float:
    """Weight of the rows whose score `log_loss` clips: 0, 1 and everything outside [0, 1]."""
    outside = (c.threshold < EPSILON) | (c.threshold > 1 - EPSILON)
    return (c.positive + c.negative)[outside].sum().item()


def unforeseen(c: Counts, chance: float) -> float:
    """The share of the log loss that comes from rows whose outcome had a probability below `chance`.

    Rows with a clipped probability count in the total only.

    >>> from evalkit.metrics.counts import count
    >>> round(unforeseen(count([0.0005, 0.5, 0.5], [1, 1, 0]), 0.001), 3)
    0.846
    """
    probability = np.clip(c.threshold, EPSILON, 1 - EPSILON)
    loss = np.array([-c.positive * np.log(probability), -c.negative * np.log1p(-probability)])
    happened = np.array([c.threshold, 1 - c.threshold])
    return float(ratio(loss[(happened >= EPSILON) & (happened < chance)].sum(), loss.sum()))


def calibration_in_the_large(c: Counts) -> float:
    """Mean score - base rate: positive if the probabilities are too high on average."""
    return mean_score(c) - base_rate(c)


def mean_score(c: Counts) -> float:
    """Mean of the scores over all rows."""
    return float(ratio(np.dot(c.positive + c.negative, c.threshold), c.total))


# Isotonic calibration -------------------------------------------------------------------------------------


def recalibrate(c: Counts) -> Counts:
    """Counts with each score replaced by its isotonic probability (pool adjacent violators).

    `threshold` holds the probabilities and may repeat values. doi:10.1073/pnas.2016191118.

    >>> from evalkit.metrics.counts import count
    >>> recalibrate(count([0.9, 0.6, 0.5, 0.1], [1, 0, 1, 0])).threshold
    array([1. , 0.5, 0.5, 0. ])
    """
    from scipy.optimize import isotonic_regression

    p, n = c.positive, c.negative
    if not len(p):
        return c
    return replace(c, threshold=isotonic_regression(p / (p + n), weights=p + n, increasing=False).x)


@dataclass(frozen=True)
class Decomposition:
    """loss = miscalibration - discrimination + uncertainty (CORP); it needs no bins."""

    miscalibration: float
    discrimination: float
    uncertainty: float


def decompose(c: Counts, loss: Callable[[Counts], float] = brier) -> Decomposition:
    """CORP decomposition of a loss into miscalibration, discrimination and uncertainty.

    loss: `brier` or `log_loss`. Miscalibration: loss - loss of the isotonic probabilities. Uncertainty: loss
    of always predicting the base rate. Discrimination: uncertainty - loss of the isotonic probabilities.
    doi:10.1073/pnas.2016191118. Equals model-diagnostics' decompose.

    >>> from evalkit.metrics.counts import count
    >>> d = decompose(count([0.9, 0.6, 0.5, 0.1], [1, 0, 1, 0]))
    >>> print(f"{d.miscalibration:.4f} {d.discrimination:.4f} {d.uncertainty:.4f}")
    0.0325 0.1250 0.2500
    """
    best, worst = loss(recalibrate(c)), loss(_constant(c))
    return Decomposition(loss(c) - best, worst - best, worst)


# Bins -----------------------------------------------------------------------------------------------------


def miscalibration(c: Counts) -> float:
    """That of the Brier score."""
    return decompose(c).miscalibration


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows, positives and sum of scores in each bin of scores, lowest first, without empty bins."""

    rows: Weights
    positives: Weights
    score: Weights

    @property
    def gap(self) -> Floats:
        """|mean score - share of positives| in each bin."""
        return ratio(np.abs(self.score - self.positives), self.rows)


def bins_uniform(c: Counts, bins: int = 10) -> Bins:
    """`bins` bins of equal width over [0, 1]: closed on the left, the last one on both sides.

    The borders are the floats nearest to k / `bins`, so that .3 lies in [.3, .4). np.linspace(0, 1, 11), which other
    tools use, has .3, .6 and .7 a little higher.
    """
    edges = np.arange(bins + 1) / bins
    return _bins(c, np.clip(np.searchsorted(edges, c.threshold, side="right") - 1, 0, bins - 1))


def bins_quantile(c: Counts, bins: int = 10) -> Bins:
    """Bins between quantiles of the score, closed on the left, with about the same number of rows each.

    Equal scores share a bin. The quantiles are numpy's; scikit-learn's calibration_curve(strategy="quantile")
    closes the same bins on the right.
    """
    rank = np.linspace(0, 1, bins + 1)[1:-1] * (c.total - 1)
    low, high = (_score_at(c, whole) for whole in (np.floor(rank), np.ceil(rank)))
    return _bins(c, np.searchsorted(low + (high - low) * (rank % 1), c.threshold, side="right"))


def ece_10(c: Counts) -> float:
    """`ece` of ten equal bins."""
    return ece(bins_uniform(c))


def ece(b: Bins) -> float:
    """Gap of the bins, averaged over rows: the expected calibration error of the positive class.

    It depends on the bins: report their number and kind with it. doi:10.1609/aaai.v29i1.9602.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.95, 1, 1], [0, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    >>> [round(ece(b), 4) for b in (bins_uniform(c), bins_quantile(c, 5))]
    [0.45, 0.33]
    """
    return float(ratio(np.dot(b.gap, b.rows), b.rows.sum()))


def ece_debiased(b: Bins) -> float:
    """`ece` less how much chance alone makes it too large, at least 0.

    In a bin of n rows with a share m of positives, the share varies with s = √(m (1 − m) / n): a gap d would be
    E|N(d, s²)| on average. Kumar, Liang and Ma 2019, arXiv:1909.10155, draw what is here a closed form; equals
    `normal_debiased_ce` of their package uncertainty-calibration with power 1, to its Monte Carlo error.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.95, 1, 1], [0, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    >>> round(ece_debiased(bins_quantile(c, 2)), 4)
    0.019
    """
    from scipy.special import erf

    share = ratio(b.positives, b.rows)
    spread = np.sqrt(ratio(share * (1 - share), b.rows))
    z = ratio(b.gap, spread)
    expected = np.where(
        spread > 0, spread * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + b.gap * erf(z / np.sqrt(2)), b.gap
    )
    return max(float(ratio(np.dot(2 * b.gap - expected, b.rows), b.rows.sum())), 0.0) if len(b.rows) else np.nan


def _score_at(c: Counts, rank: Floats) -> Floats:
    """The score of the row with each rank, 0 for the lowest."""
    if not len(c.threshold):
        return rank
    above = np.searchsorted(c.tp + c.fp, c.total - rank)  # the row is among the `total - rank` highest, and the last
    return c.threshold[np.minimum(above, len(c.threshold) - 1)]


def _constant(c: Counts) -> Counts:
    return replace(c, threshold=np.full(len(c.threshold), base_rate(c)))


def _bins(c: Counts, place: Ints) -> Bins:
    p, n = c.positive, c.negative
    rows, positives, score = (np.bincount(place, weights=w) for w in (p + n, p, (p + n) * c.threshold))
    filled = rows > 0
    return Bins(rows[filled], positives[filled], score[filled])
