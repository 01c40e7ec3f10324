"""Limits: the sizes at which a method or a way of reading gives way to another, and how often is resampled."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """How many rows reading holds at once, and from where on it goes another way, whatever the memory.

    rows: of a table of labels and scores; more are reduced shard by shard: the same page everywhere. held: of
    out-of-fold predictions, all of which are held; more are refused. lists: rows of ranked lists up to which they are
    read whole, which is faster, where there is memory for them. collected: rows of a
    Spark table that are read as a frame; more need an engine. shard: the fewest rows of a shard, however little memory
    there is. largest: the most rows of a shard, however much there is: more only take longer to be touched. row: bytes
    that each needs, in DuckDB's hands, in Arrow's and in numpy's, while its shard is reduced.
    worker: rows that a Spark worker reduces at once, about 300 MB.
    units: distinct units whose sums are kept side by side; more are sorted, so that each is in one shard.
    values: distinct values of a column for segments. ids: whose hashes are kept to find one that comes twice; of more
    the engine is asked. kept: values of units, one a unit, system and metric. listed: units up to which each is listed,
    resampled, and flipped whatever their number.
    """

    rows: int = 2**20
    held: int = 2**23
    lists: int = 2_000_000
    collected: int = 2**20
    shard: int = 100_000
    largest: int = 2**19
    row: int = 1_000
    worker: int = 2**19
    units: int = 2**14
    values: int = 2**20
    ids: int = 2**24
    kept: int = 40_000_000
    listed: int = 2**20


@dataclass(frozen=True)
class Limits:
    """What a study may spend, and from where on it uses other methods.

    flipped: units up to which signs are flipped; of more, t is as good, and quicker. resamples: of the lower limit of
    KS. bands: of a curve, and draws of labels from the scores. held: users or sessions, of which one row each is held.
    bins, slice_bins: of the scores of all rows, and of a slice of them, where rows are not kept. drawn: rows of a
    sample of them.
    holdouts, repeats, samples: how often an estimator's rows are split by holdouts, k-folds and bootstrap samples.
    averaged: draws of the folds that one repeated k-fold takes the mean of.
    worth: seconds of fits from which starting a second process pays. reading: of rows.
    """

    flipped: int = 20_000
    resamples: int = 1_000
    held: int = 2**24
    bands: int = 400
    bins: int = 2**20
    slice_bins: int = 2**16
    drawn: int = 2**20
    holdouts: int = 200
    repeats: int = 10
    samples: int = 50
    averaged: int = 10
    worth: float = 8.0
    reading: Reading = Reading()


USUAL = Limits()
