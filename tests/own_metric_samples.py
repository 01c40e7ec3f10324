"""Own metrics of every kind, and inputs for them."""

import numpy as np
import samples
from engine_samples import binary, long

import evalkit as ek

CHANCES = long(binary(300, ties=12))[["id", "label", "system", "score"]]


@ek.mean(best="low", low=0, high=1)
def own_brier(label, score):
    """Mean squared distance of score and label."""
    return (score - label) ** 2


@ek.mean(best="low")
def own_errors(label, predicted):
    return predicted != (label == 1)


@ek.share()
def own_recall(label, predicted):
    return label, predicted


@ek.share()
def own_precision(label, predicted):
    return predicted, label


@ek.of_counts(low=-1, high=1, undefined="labels or decisions are all one class")
def own_mcc(tp, fp, fn, tn):
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


@ek.ratio(best="low", low=0)
def own_wape(actual, forecast):
    return np.abs(actual - forecast), np.abs(actual)


@ek.mean(low=0, high=1, undefined="nothing is relevant")
def own_recall_at(grades, ideal, level):
    relevant = (ideal >= level).sum()
    return (grades >= level).sum() / relevant if relevant else np.nan


@ek.ratio(low=0, high=1)
def own_hits(grades, ideal, level):
    return (grades >= level).sum(), (ideal >= level).sum()


@ek.ratio(undefined="nothing is predicted")
def own_alarms(label, predicted):
    return predicted & (label == 0), predicted


@ek.ratio(low=0)
def own_gap(label, score):
    return np.abs(label - score), 0.5 + label


@ek.mean()
def saved(label, predicted, amount):
    """Money saved per case <b>: the amount of each positive that is predicted, less 1 per case
    predicted.
    """
    return amount * label * predicted - predicted


def forecasts():
    rng = np.random.default_rng(1)
    return samples.forecasts(90, exact=rng.random(90) + 0.1, user_id=rng.integers(0, 20, 90))
