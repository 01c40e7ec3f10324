"""Limits: the sizes at which a method gives way to another, and how often is resampled."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a study may spend, and from where on it uses other methods.

    flipped: units up to which signs are flipped; of more, t is as good, and quicker. resamples: of the lower
    limit of KS. bands: of a curve, and draws of labels from the scores.
    bins, slice_bins: of the scores of all rows, and of a slice of them, where rows are not kept.
    holdouts, repeats, samples: how often an estimator's rows are split by holdouts, k-folds and bootstrap samples.
    averaged: draws of the folds that one repeated k-fold takes the mean of.
    worth: seconds of fits from which starting a second process pays.
    """

    flipped: int = 20_000
    resamples: int = 1_000
    bands: int = 400
    bins: int = 2**20
    slice_bins: int = 2**16
    holdouts: int = 200
    repeats: int = 10
    samples: int = 50
    averaged: int = 10
    worth: float = 8.0


USUAL = Limits()
