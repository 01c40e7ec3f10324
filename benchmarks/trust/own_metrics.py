"""Own metrics as a user declares them: of rows a mean, a ratio, a share and a function of counts,
of lists two.
"""

import numpy as np

import evalkit as ek


@ek.mean(low=-5, high=20)
def saved(label, predicted):
    """Money saved per row: 20 for each positive that is predicted, less 5 for each row that is
    predicted.
    """
    return 20.0 * label * predicted - 5.0 * predicted


@ek.ratio(low=0, best="low")
def misses_per_hit(label, predicted):
    """False alarms for each positive that is predicted."""
    return predicted & (label == 0), predicted & (label == 1)


@ek.share(best="low")
def in_vain(label, predicted):
    """Rows predicted positive that are negative."""
    return predicted, ~label


@ek.of_counts(low=0, best="low")
def cost(tp, fp, fn, tn):
    """Mean cost of a row: 1 for a false positive, 5 for a false negative."""
    return (fp + 5 * fn) / (tp + fp + fn + tn)


@ek.mean(low=0, high=1, undefined="nothing is relevant")
def relevant_of_five(grades, ideal, level):
    """Relevant items among the first five, of as many as there could be."""
    possible = min(int((ideal >= level).sum()), 5)
    return (grades[:5] >= level).sum() / possible if possible else np.nan


@ek.ratio(low=0, high=1)
def relevant_per_place(grades, level):
    """Relevant items among the first five, of all places."""
    return (grades[:5] >= level).sum(), 5


@ek.mean(low=0, best="low")
def overshoot(actual, forecast):
    """Mean of forecast − actual where that is above 0."""
    return np.maximum(forecast - actual, 0)


@ek.ratio(low=0, best="low")
def overshoot_share(actual, forecast):
    """Σ (forecast − actual where that is above 0) / Σ |actual|."""
    return np.maximum(forecast - actual, 0), np.abs(actual)
