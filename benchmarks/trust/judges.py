"""Cells of judges: intervals of agreement, and of means and differences that labels correct."""

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
from samples import COVERAGE, Cell, contains

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.lookup import named
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics.rows import Sums
from evalkit.statistics import agreement, judged, methods
from evalkit.statistics.agreement import Ratings
from evalkit.statistics.judged import JudgedStatistic

Generator = np.random.Generator
UNITS, LABELS = 1_000, (50, 200)
CLUSTER = 5  # units of a cluster
LARGE = 2_000_000
SCORE = MetricAtK(named("score", "high"))

# Agreement ----------------------------------------------------------------------------------------

# how often the judge (a row each) and the oracle (a column each) give two categories
JOINT = {
    "0 and 1, half each": np.array([[0.41, 0.09], [0.11, 0.39]]),
    "0 and 1, one in ten": np.array([[0.86, 0.04], [0.04, 0.06]]),
    "three categories": np.array([[0.40, 0.07, 0.03], [0.05, 0.22, 0.04], [0.02, 0.05, 0.12]]),
    "grades 1 to 5": np.array(
        [
            [0.06, 0.03, 0.01, 0.00, 0.00],
            [0.02, 0.10, 0.04, 0.01, 0.00],
            [0.01, 0.05, 0.16, 0.05, 0.01],
            [0.00, 0.01, 0.06, 0.17, 0.05],
            [0.00, 0.00, 0.01, 0.04, 0.11],
        ]
    ),
}
COEFFICIENTS = {
    "kappa": agreement.kappa,
    "AC1": agreement.ac1,
    "alpha": agreement.alpha,
    "weighted kappa": agreement.weighted_kappa,
    "alpha of numbers": agreement.interval_alpha,
}


def ratings(world: str, cell: Ints) -> Ratings:
    """The ratings of cells of the joint table."""
    first, second = np.divmod(cell, len(JOINT[world]))
    return Ratings(first.astype(float), second.astype(float))


@cache
def true_agreement(world: str, name: str) -> float:
    """The coefficient of the joint table itself."""
    joint = JOINT[world]
    every = ratings(
        world, np.repeat(np.arange(joint.size), np.round(1e6 * joint.ravel()).astype(int))
    )
    return agreement.estimate(every, COEFFICIENTS[name](every), 0.95).value


def of_agreement(rng: Generator, world: str, labels: int) -> dict[str, float]:
    """The intervals of all coefficients."""
    joint = JOINT[world].ravel()
    drawn = ratings(world, rng.choice(joint.size, labels, p=joint / joint.sum()))
    return {
        f"contains {name}": contains(
            agreement.estimate(drawn, coefficient(drawn), 0.95), true_agreement(world, name)
        )
        for name, coefficient in COEFFICIENTS.items()
    }


# Corrected means ----------------------------------------------------------------------------------

OPTIONS = methods.Options(0.95, np.random.default_rng(0))
FAVOURS = {"a biased judge": 0.0, "a judge that favours a": 0.6}


def outputs(
    rng: Generator, favour: float, kind: str, size: int, clusters: Ints | None
) -> list[tuple[Floats, Floats]]:
    """For systems a and b the judge's scores and what the oracle would say, shape (size,) each; a
    is somewhat better. clusters: of each unit, whose qualities resemble each other.
    """
    easy = rng.normal(size=size)
    if clusters is not None:
        easy = (easy + rng.normal(size=clusters.max() + 1)[clusters]) / np.sqrt(2)
    made = []
    for skill, kindness in ((0.3, 0.4 + favour), (0.0, 0.4)):
        lasting = 0.8 * rng.normal(size=size)
        if clusters is not None:
            lasting += 0.5 * rng.normal(size=clusters.max() + 1)[clusters]
        quality = skill + easy + lasting
        seen = quality + kindness + 0.8 * rng.normal(size=size)
        if kind == "0 and 1":
            made.append(((seen > 0).astype(float), (quality > 0).astype(float)))
        else:
            made.append((1 / (1 + np.exp(-seen)), 1 / (1 + np.exp(-quality))))
    return made


@cache
def true_means(favour: float, kind: str, *, clustered: bool) -> tuple[float, float]:
    """The mean of the oracle for a, and its difference from b."""
    clusters = np.arange(LARGE) // CLUSTER if clustered else None
    (_, first), (_, second) = outputs(np.random.default_rng(76), favour, kind, LARGE, clusters)
    return float(first.mean()), float(first.mean() - second.mean())


def labelled(rng: Generator, labels: int, clusters: Ints | None, *, whole: bool) -> Bools:
    """The labelled units: random ones, or those of random clusters."""
    if whole and clusters is not None:
        return np.isin(clusters, rng.permutation(clusters.max() + 1)[: labels // CLUSTER])
    return np.isin(np.arange(UNITS), rng.permutation(UNITS)[:labels])


def of_means(
    rng: Generator, favour: float, kind: str, labels: int, *, clustered: bool, whole: bool
) -> dict[str, float]:
    """The intervals of a corrected mean and of a difference, which the same units are labelled
    for.
    """
    clusters = np.arange(UNITS) // CLUSTER if clustered else None
    made = outputs(rng, favour, kind, UNITS, clusters)
    known = labelled(rng, labels, clusters, whole=whole)
    mean, difference = true_means(favour, kind, clustered=clustered)
    first, second = (statistic(score, label, known, clusters) for score, label in made)
    of_pair = judged.compare(first, second, OPTIONS).difference
    return {
        "contains the mean": contains(judged.interval(first, OPTIONS), mean),
        "contains the difference": contains(of_pair, difference),
    }


def statistic(score: Floats, label: Floats, known: Bools, clusters: Ints | None) -> JudgedStatistic:
    """The corrected mean as a study has it."""
    return JudgedStatistic(SCORE, Sums(score), clusters, labels=np.where(known, label, np.nan))


def cells() -> Iterator[Cell]:
    """Every cell of judges."""
    for labels in LABELS:
        for world in JOINT:
            names = list(COEFFICIENTS)
            if len(JOINT[world]) < 5:
                names = names[:3]  # weights are of grades
            bounds = {f"contains {name}": COVERAGE for name in names}
            sample = partial(of_agreement, world=world, labels=labels)
            yield Cell(f"agreement, {world}, {labels} labels", sample, bounds)
        for judge, favour in FAVOURS.items():
            for kind in ("scores", "0 and 1"):
                for clustered, whole, design in (
                    (False, False, "rows"),
                    (True, False, "clusters, random units labelled"),
                    (True, True, "clusters, whole ones labelled"),
                ):
                    yield Cell(
                        f"corrected, {judge}, {kind}, {design}, {labels} labels",
                        partial(
                            of_means,
                            favour=favour,
                            kind=kind,
                            labels=labels,
                            clustered=clustered,
                            whole=whole,
                        ),
                        {"contains the mean": COVERAGE, "contains the difference": COVERAGE},
                    )
