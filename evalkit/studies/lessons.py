"""The teaching part of the significance page: coin tosses, 100 intervals, wrong methods."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtr

from evalkit.arrays import Bools, Floats, Ints
from evalkit.statistics import intervals, multiplicity, proportions, significance
from evalkit.studies.study import Row, as_data_frame, limits

SEED = 6
MEAN = 145.0  # of heights in cm
SIGMA = 7.0  # their standard deviation
SAMPLES = 100
FLIPS = 10
FEW = 5  # values a sample: where z with s goes visibly wrong
SIMULATION_RUNS = 300
FEWER_RUNS = SIMULATION_RUNS // 10  # of the slower test, which is never in doubt
USERS = 1_000
SKEWED_VALUES = [0.0, -0.1, 1.0]
SKEWED_SHARES = [0.7, 0.3 * 10 / 11, 0.3 / 11]  # of the values, whose mean is 0
FOLDS = 10


@as_data_frame
def coin(flips: int = FLIPS) -> Iterator[Row]:
    """Heads of a fair coin, as a frame with a row for each number of heads: heads, chance (its
    probability), one_sided (p for "more heads") and two_sided (p for "not fair").

    flips: the number of tosses.

    >>> coin().set_index("heads")["one_sided"][[8, 9]].round(4).tolist()
    [0.0547, 0.0107]
    """
    for heads in range(flips + 1):
        test = proportions.binomial_test(heads, flips)
        assert test.tails is not None
        chance = float(np.exp(proportions.log_binomial(heads, flips, 0.5)))
        # upper: the probability of at least so many heads
        tests = {"one_sided": test.tails.upper, "two_sided": test.p_value}
        yield {"heads": heads, "chance": chance} | tests


@as_data_frame
def hundred(n: int = FEW) -> Iterator[Row]:
    """95% intervals of the mean from `SAMPLES` normal samples, by t and by z with the standard
    deviation s of the sample, as a frame: method, sample (its number, from 1), value, low, high,
    covers (whether the interval holds the true mean). n: the size of a sample.
    """
    samples = np.random.default_rng(SEED).normal(MEAN, SIGMA, (SAMPLES, n))
    for i, sample in enumerate(samples, start=1):
        error = float(sample.std(ddof=1) / np.sqrt(n))
        # t with infinitely many degrees of freedom is z
        z = intervals.t_interval(
            sample.mean(), error, n=n, level=0.95, method="z with s", freedom=np.inf
        )
        for name, e in (("t", intervals.mean_t(sample)), ("z with s", z)):
            yield {"method": name, "sample": i} | limits(e) | {"covers": e.low <= MEAN <= e.high}


def coverage() -> pd.DataFrame:
    """The exact probability that mean ± 1.96 s/√n contains the true mean of a normal population.

    >>> coverage()["z_with_s"].round(3).tolist()
    [0.878, 0.918, 0.94]
    """
    z = intervals.normal_quantile(0.95)
    sizes = [5, 10, 30]
    # (mean − true mean) / (s/√n) has the t distribution with n − 1 degrees of freedom
    tails: Floats = stdtr(np.array(sizes) - 1, -z)
    return pd.DataFrame({"n": sizes, "z_with_s": 1 - 2 * tails})


def replicate() -> float:
    """The probability that the mean of a new sample lies in an earlier 95% interval: 2 Φ(1.96 / √2)
    − 1.

    >>> round(replicate(), 3)
    0.834
    """
    z = intervals.normal_quantile(0.95)
    return float(2 * ndtr(z / np.sqrt(2)) - 1)


@as_data_frame
def looks() -> Iterator[Row]:
    """Interim analyses (looks), as a frame with a row for 1, 2, 5, 10 and 20 looks.

    Columns: looks; rate, how often a true null is rejected at one of the looks if each tests at
    0.05; pocock, the level at which each look has to test instead; obrien_fleming, the level of the
    last look by O'Brien and Fleming, whose earlier levels are lower.
    """
    for k in (1, 2, 5, 10, 20):
        z_of_every_look = multiplicity.pocock(k)[0]
        z_of_last_look = multiplicity.obrien_fleming(k)[-1]
        yield {
            "looks": k,
            "rate": multiplicity.false_positive_rate(k),
            "pocock": 2 * ndtr(-z_of_every_look),
            "obrien_fleming": 2 * ndtr(-z_of_last_look),
        }


def figures() -> dict[str, dict[str, list[Any]]]:
    """The data of the figures and tables of the lessons, as columns."""
    frames = {"coin": coin(), "hundred": hundred(), "coverage": coverage(), "looks": looks()}
    return {name: frame.to_dict("list") for name, frame in frames.items()}


def noise() -> float:
    """How accurate simulated error rates are: two standard errors of a rate of a half over
    `SIMULATION_RUNS` samples, in percentage points.
    """
    return float(200 * np.sqrt(0.25 / SIMULATION_RUNS))


# Wrong methods beside right ones, under a true null or at a nominal coverage of 95% ---------------


def wrong() -> pd.DataFrame:
    """Simulated error rates at a nominal 5%: setting, wrong method, its rate, right method, its
    rate.
    """
    return pd.DataFrame(MISTAKES)


class Mistake(NamedTuple):
    """A wrong method beside the right one, each with the rate at which it errs in simulations."""

    setting: str
    wrong: str
    wrong_rate: float
    right: str
    right_rate: float


class Errors(NamedTuple):
    """Whether the wrong and the right method err on one sample."""

    wrong: bool
    right: bool


class ErrorRates(NamedTuple):
    """The shares of samples on which the wrong and the right method err."""

    wrong: float
    right: float


def _error_rates(errors_of_sample: Callable[[], Errors]) -> ErrorRates:
    """The error rates over `SIMULATION_RUNS` samples. errors_of_sample: draws the next sample."""
    # shape (samples, methods)
    samples: Bools = np.array([errors_of_sample() for _ in range(SIMULATION_RUNS)])
    wrong, right = samples.mean(axis=0)
    return ErrorRates(float(wrong), float(right))


def rows_of_users() -> ErrorRates:
    """Clicks of 1,000 users, each with another click-through rate, some of them very active: does
    the interval of the mean rate hold it?
    """
    rng = np.random.default_rng(SEED + 1)
    rate = 2 / 20  # the mean of the beta distribution below

    def errors_of_sample() -> Errors:
        """Draw users with their views and clicks. wrong, right: whether the interval that takes
        views as independent rows, and the one that takes users as units, miss the mean rate.
        """
        views = np.ceil(rng.lognormal(1, 1.5, USERS)).astype(int)
        clicks = rng.binomial(views, rng.beta(2, 18, USERS))
        by_row = intervals.wilson(int(clicks.sum()), int(views.sum()))
        by_user = intervals.ratio_delta(clicks, views)
        return Errors(
            wrong=not by_row.low <= rate <= by_row.high,
            right=not by_user.low <= rate <= by_user.high,
        )

    return _error_rates(errors_of_sample)


def folds() -> ErrorRates:
    """Two equally good learners in 10-fold cross-validation, repeated ten times on the same 200
    rows: their accuracies differ only by chance.
    """
    n = 200
    repeats = 10
    rng = np.random.default_rng(SEED + 2)

    def errors_of_sample() -> Errors:
        """Draw rows and folds. wrong, right: whether t over all folds, and the corrected t, declare
        a difference of the two learners, which does not exist.

        Each learner has a feature of its own; both features follow the same distribution.
        """
        label = rng.integers(0, 2, n)
        fold = np.argsort(rng.random((repeats, n)), axis=1) % FOLDS  # folds of equal size
        first_feature = rng.normal(label, 1.0)
        second_feature = rng.normal(label, 1.0)
        first = fold_accuracies(first_feature, label, fold)
        second = fold_accuracies(second_feature, label, fold)
        d = first - second  # one difference for each of the 100 folds
        uncorrected = significance.paired_t(d)
        # the correction needs the ratio of test rows to training rows: 1 fold to 9 folds
        corrected = significance.nadeau_bengio(d, train=FOLDS - 1, test=1)
        return Errors(uncorrected.p_value < 0.05, corrected.p_value < 0.05)

    return _error_rates(errors_of_sample)


def fold_accuracies(x: Floats, label: Ints, fold: Ints) -> Floats:
    """Test accuracy of each fold of each repeat, repeat by repeat. The learner cuts the feature x
    midway between the two class means of its training rows.

    x, label: of each row. fold: shape (repeats, rows), from 0.
    """
    is_in_fold = fold[:, None, :] == np.arange(FOLDS)[None, :, None]  # (repeats, folds, rows)
    # 1 for a test row, with a line for each fold of each repeat
    is_test: Floats = is_in_fold.reshape(-1, label.size).astype(float)
    class_means = []  # of the training rows of each line
    for one_class in (0, 1):
        in_class = (label == one_class).astype(float)
        training_sum = (x * in_class).sum() - is_test @ (x * in_class)
        training_rows = in_class.sum() - is_test @ in_class
        class_means.append(training_sum / training_rows)
    cut = (class_means[0] + class_means[1]) / 2
    is_right = (x[None, :] > cut[:, None]) == (label == 1)
    right_test_rows = (is_test * is_right).sum(axis=1)
    return np.asarray(right_test_rows / is_test.sum(axis=1))


def signed_ranks() -> ErrorRates:
    """Wilcoxon's signed-rank test beside t, on differences of mean 0: 70% zeros, many small losses,
    a few large gains. Wilcoxon's test rejects, as it asks whether the differences are symmetric
    about 0, and not whether their mean is 0.
    """
    n = 500
    samples = np.random.default_rng(SEED + 3).choice(
        SKEWED_VALUES, (SIMULATION_RUNS, n), p=SKEWED_SHARES
    )
    # Wilcoxon's test is slow, and rejects nearly always: few samples are enough to show that
    by_ranks = [multiplicity.wilcoxon(d) < 0.05 for d in samples[:FEWER_RUNS]]
    by_t = [significance.paired_t(d).p_value < 0.05 for d in samples]
    return ErrorRates(float(np.mean(by_ranks)), float(np.mean(by_t)))


def sessions() -> ErrorRates:
    """Interleaving of two equally good rankers: single users prefer one or the other, and some
    users have many sessions.
    """
    users = 2_000
    rng = np.random.default_rng(SEED + 4)

    def errors_of_sample() -> Errors:
        """Draw users with their sessions. wrong, right: whether the test that takes sessions as
        independent, and the one that takes users as units, declare a winner, which does not exist.
        """
        sessions = np.ceil(rng.lognormal(1, 1.5, users)).astype(int)
        # each user's probability to prefer the first ranker in a session, on average 1/2
        p_first = rng.beta(3, 3, users)
        won = rng.binomial(sessions, p_first)
        n_won = int(won.sum())
        n_lost = int(sessions.sum()) - n_won
        excess_share = won / sessions - 0.5
        by_session = proportions.mcnemar_p(n_won, n_lost)
        by_user = significance.paired_t(excess_share)
        return Errors(by_session < 0.05, by_user.p_value < 0.05)

    return _error_rates(errors_of_sample)


# These simulations, in the order of `MISTAKES`, take as long as three figures. Their seeds are
# fixed, so that the rates are always the same, and are written down.
SIMULATIONS = (rows_of_users, folds, signed_ranks, sessions)
MISTAKES = [
    Mistake(
        setting="click-through rate, 1,000 users: 95% interval misses it",
        wrong="rows as units (Wilson)",
        wrong_rate=97 / SIMULATION_RUNS,
        right="users as units (delta method)",
        right_rate=14 / SIMULATION_RUNS,
    ),
    Mistake(
        setting="two equal learners, 10 × 10 cross-validation: a difference is declared",
        wrong="t over the 100 folds",
        wrong_rate=149 / SIMULATION_RUNS,
        right="Nadeau–Bengio corrected t",
        right_rate=6 / SIMULATION_RUNS,
    ),
    Mistake(
        setting="mean difference 0, skewed, n = 500: a difference is declared",
        wrong="Wilcoxon",
        wrong_rate=30 / FEWER_RUNS,
        right="t (a mean)",
        right_rate=9 / SIMULATION_RUNS,
    ),
    Mistake(
        setting="interleaving 2,000 users, no better ranker: a winner is declared",
        wrong="sessions as units (sign test)",
        wrong_rate=151 / SIMULATION_RUNS,
        right="share of each user (t)",
        right_rate=17 / SIMULATION_RUNS,
    ),
]
