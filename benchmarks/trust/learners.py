"""Cells of learners: two equal ones on repeated folds and holdouts, nested cross-validation, the
conservative z, and the best of several.

The two learn from other columns that tell as much, so they are equally good.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import combinations, product

import numpy as np
import pandas as pd
from samples import COVERAGE, LEVEL, Cell, contains, rejects

from evalkit.arrays import Bools, Floats, Ints
from evalkit.offline import splits
from evalkit.parameters.reports import ValidationParameters
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.nested import NestedDraws, NestedFold, conservative_z
from evalkit.statistics.significance import DifferenceByT, nadeau_bengio, paired_t
from evalkit.studies import split_claims, validation
from evalkit.studies.out_of_fold import LEARNER_CLAIM, MODELS, Validation
from evalkit.studies.resplits import IN_HALF, TESTED_SHARE

Generator = np.random.Generator
Learner = Callable[[Floats, Ints, Floats], Bools]  # (columns, label, columns to predict) -> classes
COLUMNS = 3  # that each learner sees
NAMES = "abcdef"  # of systems
SIZES = (100, 500)
FOLDS, REPEATS, HOLDOUTS = 5, 10, 200
FEW = 400  # samples of a cell that takes long
SHARE = 0.2  # of the rows, by each holdout
TEST_ROWS, TRAINING_SETS = 4_000, 1_000  # for the true value of a learner


def rows(rng: Generator, n: int, systems: int = 2) -> tuple[Floats, Ints]:
    """Columns of every learner, shape (n, systems, COLUMNS), and labels that all of them tell."""
    x = rng.normal(size=(n, systems, COLUMNS))
    merit = 0.7 * x.sum(axis=(1, 2)) * np.sqrt(2 / systems)
    return x, (rng.random(n) < 1 / (1 + np.exp(-merit))).astype(np.int64)


def least_squares(x: Floats, label: Ints, tested: Floats) -> Bools:
    """Classes by a linear regression on the label."""
    design = np.column_stack([np.ones(len(x)), x])
    weights = np.linalg.solve(design.T @ design + 1e-9 * np.eye(design.shape[1]), design.T @ label)
    return weights[0] + tested @ weights[1:] >= 0.5


def centroid(x: Floats, label: Ints, tested: Floats) -> Bools:
    """The class with the nearer mean; 0 if all rows are of one class."""
    if label.min() == label.max():
        return np.full(len(tested), bool(label[0]))
    means = [x[label == each].mean(axis=0) for each in (0, 1)]
    apart = means[1] - means[0]
    return tested @ apart >= (means[0] + means[1]) @ apart / 2


def neighbour(x: Floats, label: Ints, tested: Floats) -> Bools:
    """The class of the nearest row."""
    distance = np.square(x).sum(axis=1) - 2 * tested @ x.T
    return label[distance.argmin(axis=1)] == 1


LEARNERS: dict[str, Learner] = {
    "least squares": least_squares,
    "nearest centroid": centroid,
    "nearest neighbour": neighbour,
}


@cache
def truth(name: str, trained: int, systems: int = 2, noise: float = 0.0) -> float:
    """The mean accuracy of one of some learners, fitted to so many rows. noise: on its columns."""
    rng = np.random.default_rng([76, trained, systems, round(10 * noise)])
    values = []
    for _ in range(TRAINING_SETS // 5 if name == "nearest neighbour" else TRAINING_SETS):
        x, label = rows(rng, trained + TEST_ROWS, systems)
        own = x[:, 0] + noise * rng.normal(size=x[:, 0].shape)
        predicted = LEARNERS[name](own[:trained], label[:trained], own[trained:])
        values.append((predicted == label[trained:]).mean())
    return float(np.mean(values))


# Two equal learners -------------------------------------------------------------------------------


Split = tuple[Ints, Ints]  # training and test rows


def repeated_folds(rng: Generator, n: int, repeats: int = REPEATS) -> list[Split]:
    """Five folds, drawn several times."""
    pairs = []
    for _ in range(repeats):
        fold = rng.permutation(n) % FOLDS
        pairs += [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(FOLDS)]
    return pairs


def random_holdouts(rng: Generator, n: int, times: int) -> list[Split]:
    """Random holdouts of a fifth of the rows."""
    tested = round(SHARE * n)
    orders = [rng.permutation(n) for _ in range(times)]
    return [(np.sort(order[tested:]), np.sort(order[:tested])) for order in orders]


def table(x: Floats, label: Ints, pairs: Sequence[Split], name: str) -> pd.DataFrame:
    """The out-of-fold predictions of every system, as a user's table."""
    tested = np.concatenate([test for _, test in pairs])
    columns = {"id": tested, "label": label[tested]}
    for system, own in zip(NAMES, np.moveaxis(x, 1, 0), strict=False):
        scores = [LEARNERS[name](own[train], label[train], own[test]) for train, test in pairs]
        columns[f"score_{system}"] = np.concatenate(scores).astype(np.float64)
    place = np.repeat(np.arange(len(pairs)), [len(test) for _, test in pairs])
    return pd.DataFrame(columns | {"repeat": place // FOLDS, "fold": place % FOLDS})


def read(preds: pd.DataFrame) -> Validation:
    """The study, as a notebook reads it."""
    return validation.study_of(
        ValidationParameters.from_raw({"preds": preds, "metrics": "accuracy"})
    )


def of_equals(rng: Generator, name: str, n: int, times: int) -> dict[str, float]:
    """Tests of two equal learners over folds, and the interval of one, from the values of the folds
    alone. times: holdouts, 0 for repeated folds.
    """
    x, label = rows(rng, n)
    pairs = random_holdouts(rng, n, times) if times else repeated_folds(rng, n)
    hits = [[hits_of(name, own, label, *pair) for pair in pairs] for own in (x[:, 0], x[:, 1])]
    values = np.array([[fold.mean() for fold in side] for side in hits])
    apart = values[0] - values[1]
    corrected = partial(nadeau_bengio, train=1 - SHARE, test=SHARE)
    by_row = np.concatenate(hits[0]) - np.concatenate(hits[1])
    true = truth(name, round((1 - SHARE) * n))
    return {
        "called better": rejects(corrected(apart).p_value),
        "called better, rows as units": rejects(paired_t(by_row).p_value),
        "called better, plain t on folds": rejects(paired_t(apart).p_value),
        "contains the learner's value": contains(corrected(values[0]).difference, true),
    }


def of_halves(rng: Generator, name: str, n: int) -> dict[str, float]:
    """Tests of two equal learners on two folds, drawn five times: Dietterich's t, as mlxtend has
    it, and the corrected one.
    """
    x, label = rows(rng, n)
    apart = []
    for _ in range(5):
        first, second = np.array_split(rng.permutation(n), 2)
        for train, test in ((first, second), (second, first)):
            values = [hits_of(name, own, label, train, test).mean() for own in (x[:, 0], x[:, 1])]
            apart.append(values[0] - values[1])
    within = np.square(np.diff(np.reshape(apart, (5, 2)))).mean() / 2
    dietterich = DifferenceByT(apart[0], float(np.sqrt(within)), n=10, freedom=5, method="5 × 2 t")
    return {
        "called better": rejects(nadeau_bengio(apart, train=1, test=1).p_value),
        "called better, Dietterich's t": rejects(dietterich.p_value),
    }


def hits_of(name: str, x: Floats, label: Ints, train: Ints, test: Ints) -> Floats:
    """1 for each test row that a learner of the training rows classifies correctly, else 0."""
    right = LEARNERS[name](x[train], label[train], x[test]) == label[test]
    return right.astype(np.float64)


def of_page(rng: Generator, name: str, n: int) -> dict[str, float]:
    """Both claims of the page of two equal learners on repeated folds."""
    x, label = rows(rng, n)
    study = read(table(x, label, repeated_folds(rng, n), name))
    claims = split_claims.claims(study)
    of_other = claims[claims["against"].isin(["a", "b"])].set_index("claim")
    value = study.deciding_estimate(study.primary_metric, "a")
    return {
        "called better": rejects(of_other["p"][LEARNER_CLAIM]),
        "called better, ids as units": rejects(of_other["p"][MODELS]),
        "contains the learner's value": contains(value, truth(name, round((1 - SHARE) * n))),
    }


# Intervals from fits of their own -----------------------------------------------------------------


def nested(hits: Callable[[Ints, Ints], Floats], n: int, seed: int, label: Ints) -> Estimate:
    """Nested cross-validation of ten draws of five folds. hits: of test rows, by a model of
    training rows.
    """
    drawn = list(splits.k_fold(n, seed=seed, k=FOLDS, repeats=REPEATS, label=label).pairs)
    draws: list[NestedFold] = []
    for start in range(0, len(drawn), FOLDS):
        pairs = drawn[start : start + FOLDS]
        inner: list[list[Floats]] = [[] for _ in pairs]
        for one, other in combinations(range(FOLDS), 2):
            both = np.intersect1d(pairs[one][0], pairs[other][0])
            inner[one].append(hits(both, pairs[other][1]))
            inner[other].append(hits(both, pairs[one][1]))
        for (train, test), rest in zip(pairs, inner, strict=True):
            draws.append(NestedFold(hits(train, test), np.concatenate(rest)))
    return NestedDraws(draws, FOLDS, n).estimate()


def halved(hits: Callable[[Ints, Ints], Floats], n: int, seed: int, label: Ints) -> Estimate:
    """Nadeau and Bengio's conservative z, as a report with features has it."""

    def mean(parts: splits.Folds, within: Ints) -> Floats:
        return np.array([hits(within[train], within[test]).mean() for train, test in parts.pairs])

    every = np.arange(n)
    values = mean(
        splits.holdout(n, seed=seed, share=TESTED_SHARE, repeats=HOLDOUTS, label=label), every
    )
    sides: list[list[float]] = [[], []]
    for pair in splits.holdout(n, seed=seed + 1, share=0.5, repeats=REPEATS, label=label).pairs:
        for side, half in zip(sides, pair, strict=True):
            drawn = splits.holdout(
                half.size, seed=seed, share=2 * TESTED_SHARE, repeats=IN_HALF, label=label[half]
            )
            side.append(float(mean(drawn, half).mean()))
    return conservative_z(values, np.array(sides[0]), np.array(sides[1]), n=n)


def of_fits(rng: Generator, name: str, n: int) -> dict[str, float]:
    """The intervals that need fits: of the learner's value, and of the model of all rows."""
    x, label = rows(rng, n + TEST_ROWS)
    own = x[:, 0]
    seed = int(rng.integers(2**31))

    def hits(train: Ints, test: Ints) -> Floats:
        return hits_of(name, own, label, train, test)

    e = nested(hits, n, seed, label[:n])
    z = halved(hits, n, seed, label[:n])
    fitted = float(hits(np.arange(n), np.arange(n, n + TEST_ROWS)).mean())
    return {
        "nested: contains the learner's value": contains(e, truth(name, n)),
        "nested: contains the value of the model of all rows": contains(e, fitted),
        "nested: value less the learner's": e.value - truth(name, n),
        "nested: width": e.high - e.low,
        "conservative z: contains the learner's value": contains(
            z, truth(name, n - round(TESTED_SHARE * n))
        ),
        "conservative z: width": z.high - z.low,
    }


# The best of several ------------------------------------------------------------------------------


SYSTEMS = 6
WEAKER = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # noise on the columns of each system


def of_winner(rng: Generator, n: int, *, equal: bool) -> dict[str, float]:
    """The best of six learners on five folds, without the gain of being chosen."""
    x, label = rows(rng, n + TEST_ROWS, SYSTEMS)
    noise = np.zeros(SYSTEMS) if equal else np.array(WEAKER)
    x += noise[:, None] * rng.normal(size=x.shape)
    pairs = repeated_folds(rng, n, 1)
    study = read(table(x[:n], label[:n], pairs, "least squares"))
    row = split_claims.winner(study).iloc[0]
    noise_of_winner = float(noise[NAMES.index(row["system"])])
    true = truth("least squares", round((1 - SHARE) * n), SYSTEMS, noise_of_winner)
    apparent = study.deciding_estimate(study.primary_metric, row["system"])
    corrected = Estimate(row["value"], row["low"], row["high"], 0.95, n, "")
    return {
        "contains the winner's value": contains(corrected, true),
        "uncorrected: contains the winner's value": contains(apparent, true),
        "value less the true one": row["value"] - true,
        "uncorrected: value less the true one": row["apparent"] - true,
    }


def cells() -> Iterator[Cell]:
    """Every cell of learners."""
    of_tests = {"called better": LEVEL, "contains the learner's value": COVERAGE}
    of_nested = {"nested: contains the learner's value": COVERAGE}
    of_best = {"contains the winner's value": COVERAGE}
    for n, name in product(SIZES, LEARNERS):
        for times, way in ((0, "10 × 5 folds"), (10, "10 holdouts"), (100, "100 holdouts")):
            sample = partial(of_equals, name=name, n=n, times=times)
            yield Cell(f"{way}, {name}, n = {n}", sample, of_tests)
        sample = partial(of_halves, name=name, n=n)
        yield Cell(f"5 × 2 folds, {name}, n = {n}", sample, {"called better": LEVEL})
        sample = partial(of_fits, name=name, n=n)
        yield Cell(f"own fits, {name}, n = {n}", sample, of_nested, FEW)
    for n in SIZES:
        sample = partial(of_page, name="least squares", n=n)
        yield Cell(f"page of 10 × 5 folds, n = {n}", sample, of_tests, FEW)
    for n, world in product(SIZES, ("equal", "unequal")):
        sample = partial(of_winner, n=n, equal=world == "equal")
        yield Cell(f"best of six, {world}, n = {n}", sample, of_best, FEW)
