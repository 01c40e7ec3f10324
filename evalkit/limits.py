"""Limits: the sizes at which reading or inference switches to another method, and numbers of
resamples.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingLimits:
    """Limits of reading. All are numbers of rows or units, so that a page does not depend on the
    machine's memory.

    rows: rows of a table of predictions that are read into memory; larger tables are read in
    blocks. held: the most rows of out-of-fold predictions; more are rejected. lists: rows of ranked
    lists that are read into memory. collected: rows of a Spark table that are collected; more need
    an engine. shard, largest: the fewest and the most rows of a shard; at_once: its bytes at
    most. row: bytes per row, in DuckDB, Arrow and numpy together, while a shard is reduced.
    worker: rows that a Spark worker reduces at once, about 300 MB. units: distinct units whose
    sums are all kept; more are sorted, so that each is in one shard. values: distinct values of
    a column for segments. ids: ids whose hashes are kept to find duplicates; with more, the
    engine is queried. max_values: the most values to keep, one per unit, system and metric.
    max_listed: up to so many units, each is listed and resampled, and signs can be flipped.
    """

    rows: int = 2**20
    held: int = 2**23
    lists: int = 2_000_000
    collected: int = 2**20
    shard: int = 100_000
    largest: int = 2**22
    at_once: int = 1_000 * 2**19
    row: int = 1_000
    worker: int = 2**19
    units: int = 2**14
    values: int = 2**20
    ids: int = 2**24
    max_values: int = 40_000_000
    max_listed: int = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits of a study.

    flipped: units up to which sign flips are used; with more, t is as good and faster. resamples:
    bootstrap samples for the lower limit of KS. bands: resamples for the band of a curve, and draws
    of labels from the scores. held: the most users or sessions, with one row each in memory. bins,
    slice_bins: bins of scores in a table read in blocks, over all rows and in a slice. drawn: rows
    of a random sample. holdouts, repeats, samples: how often an estimator is fitted on random
    holdouts, repeated k-folds and bootstrap samples. averaged: the draws of the folds that a
    repeated k-fold averages. second_process: seconds of fitting from which a second process pays.
    reading: see `ReadingLimits`.
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
    second_process: float = 8.0
    reading: ReadingLimits = ReadingLimits()


USUAL_LIMITS = Limits()
