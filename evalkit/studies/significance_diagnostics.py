"""What the tests of a significance report take for granted, measured: clusters, ties, skew, tests that disagree."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats
from evalkit.statistics import multiplicity, proportions
from evalkit.statistics.flip_tail import TAIL
from evalkit.studies import significance_study as extras
from evalkit.studies.diagnostics import FEW, alpha
from evalkit.studies.significance_study import Significance
from evalkit.studies.trials import Shares

SCALE = 30  # times as large, from which two systems could have two units
TIED = 0.5  # share of equal units from which few of them decide
CLOSE = 1e-9  # of the values: further apart, two means are not of the same numbers
LITTLE = 40  # systems times units below which the χ² of Friedman's test is no approximation
RANKED = ("wilcoxon", "sign")
EXACT = proportions.EXACT  # trials above which the score test replaces the exact one


# Shares of trials


def trials(study: Shares) -> int:
    """All trials."""
    return int(study.data.trials.sum())


def small_systems(study: Shares) -> list[str]:
    """The systems with few trials."""
    return [name for name, n in zip(study.data.systems, study.data.trials, strict=True) if n < FEW]


def two_answers(study: Shares) -> pd.DataFrame:
    """The comparisons whose test and whose interval, each the better one for itself, answer differently."""
    if not len(study.comparisons):
        return study.comparisons
    outside = (study.comparisons["low"] > 0) | (study.comparisons["high"] < 0)
    return study.comparisons[(study.comparisons["p"] < alpha(study)) != outside]


# Paired values


def other_means(study: Significance) -> tuple[float, float] | None:
    """The mean of the differences, and the difference of the two values, which may be means over something else.

    None where the two are the same.
    """
    values = [study.estimate(study.primary, name).value for name in study.opponents]
    of_differences, between_values = study.distribution().mean, values[0] - values[1]
    apart = abs(of_differences - between_values)
    return (of_differences, between_values) if apart > CLOSE * max(map(abs, values)) else None


def other_scales(study: Significance) -> list[tuple[str, str, str, float]]:
    """Metrics whose values could have two units: metric, the systems with larger and smaller values, how many times.

    Per cent are 100 times shares, and seconds 60 times minutes; half of the latter, as the systems differ too. Both
    means and root mean squares have to: means alone differ by any factor where they are near 0, or where a system hits
    a few units alone. Where no values are above 1, nothing is taken for per cent.
    """
    scales, z = [], NormalDist().inv_cdf((1 + study.settings.level) / 2)
    for metric, rows in study.estimates[study.estimates["value"] != 0].groupby("metric", sort=False):
        size, spread = np.abs(rows["value"].to_numpy()), (rows["high"] - rows["low"]).to_numpy() / 2
        deviation = np.nan_to_num(spread / z * np.sqrt(rows["n"].to_numpy()))
        root = np.hypot(size, deviation)
        large, small = int(size.argmax()), int(size.argmin())
        if min(size[large] / size[small], root[large] / root[small]) >= SCALE and root[large] > 1:
            systems = rows["system"].tolist()
            scales.append((str(metric), systems[large], systems[small], float(size[large] / size[small])))
    return scales


def undefined(study: Significance) -> dict[str, int]:
    """Rows without a value, by system and metric, without zeros."""
    several = {
        f"{name} {chosen.label}": study.undefined(chosen, name)
        for chosen in study.settings.metrics
        for name in study.order
    }
    return {name: n for name, n in several.items() if n}


def least_p(units: int) -> float:
    """The smallest p that sign flips of so few units can give."""
    return 2.0 ** (1 - units)


def equal_units(study: Significance) -> tuple[pd.DataFrame, bool]:
    """The pairs equal by the primary metric on more than half of their units (`of`); True if all have as many units."""
    pairs = extras.effects(study)
    pairs = pairs[pairs["metric"] == study.primary.label]
    pairs = pairs.assign(of=pairs["wins"] + pairs["ties"] + pairs["losses"])
    return pairs[(pairs["ties"] > TIED * pairs["of"]) & (pairs["of"] > 0)], pairs["of"].nunique() == 1


def sampled_tails(study: Significance) -> int:
    """How many p-values importance sampling decides."""
    return int(study.comparisons["method"].str.contains(TAIL, regex=False).sum())


@dataclass(frozen=True)
class Agreement:
    """Comparisons with a t-test, those in which it disagrees, and how many each test of ranks answers differently."""

    compared: int
    apart: pd.DataFrame
    otherwise: dict[str, int]
    every: int


def agreement(study: Significance) -> Agreement | None:
    """The other tests beside the one that decides, before Holm's correction; None where there are none."""
    tests = extras.other_tests(study)
    if not len(tests):
        return None
    both = study.comparisons.merge(tests, on=["metric", "first", "second"])
    both = both.assign(**{name: study.over_looks(both[name].to_numpy(float)) for name in ("t", *RANKED)})
    known = both.dropna(subset=["p", "t"])
    apart = known[(known["p"] < alpha(study)) != (known["t"] < alpha(study))]
    other = {name: int(((both[name] < alpha(study)) != (both["p"] < alpha(study))).sum()) for name in RANKED}
    return Agreement(len(known), apart, {name: n for name, n in other.items() if n}, len(both))


def false_positives(study: Significance) -> float:
    """The chance that one of the looks finds something by chance, each at the level asked for."""
    return multiplicity.false_positive_rate(study.looks, level=study.settings.level)


def within_margin(study: Significance, row: Mapping[str, float]) -> tuple[bool, bool]:
    """Whether the interval of the two one-sided tests lies within the margin, and above its worse end."""
    margin, low, high = study.settings.margin or 0.0, row["equivalence_low"], row["equivalence_high"]
    worst = low if study.primary.metric.best == "high" else -high
    return -margin < low and high < margin, worst > -margin


def whole(units: float) -> int:
    """So many units or more, as a whole number."""
    return int(np.ceil(round(units, 6)))


@dataclass(frozen=True)
class NullShares:
    """Numbers of successes, their probability under the null, which of them p adds up, the one seen, the step drawn."""

    k: Floats
    probability: Floats
    added: Bools
    seen: int
    step: int


def null_shares(study: Shares) -> NullShares | None:
    """What the null share gives; None of so many trials that p is from the score test."""
    if study.counts(study.opponents[0])[1] > EXACT:
        return None
    k, probability, seen = study.null_shares()
    either = probability <= probability[k == seen] * (1 + 1e-7)
    added = {"greater": k >= seen, "less": k <= seen}.get(study.alternative, either)
    return NullShares(k, probability, np.asarray(added), seen, int(np.median(np.diff(k))) if len(k) > 1 else 1)


def ranked_roughly(systems: int, units: int) -> bool:
    """True if the χ² of Friedman's test is no approximation."""
    return systems * units < LITTLE


def family_alpha(study: Significance) -> float:
    """The α of Holm's first step, at which power and needed units are computed."""
    return 1 - study.family_level


def look_alpha(study: Significance) -> float:
    """What each look counts as, so that all of them together keep the level."""
    return 1 - study.test_level
