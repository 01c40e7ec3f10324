"""What stands beside the test: sizes of effects, the other tests, mean ranks, power and the units needed."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.catalogue.lookup import Chosen
from evalkit.metrics.sums import both
from evalkit.statistics import inference, intervals, multiplicity, power, proportions, ranks, significance
from evalkit.statistics.power import effect
from evalkit.studies.significance import Significance

RESAMPLES = 2_000


def effects(s: Significance) -> pd.DataFrame:
    """The size of every difference: relative; by unit standardised (d_z) and P(first > second), of ties the half."""
    rows = []
    for chosen in s.directed:
        for pair in s.pairs:
            sides = s.sides(chosen, pair)
            keep = both(*sides)
            total, count = s.summed(pair, chosen)
            sizes = effect(total / count, np.zeros(total.size))
            base = abs(s.estimate(chosen, pair[1]).value)
            mean = sides[0].take(keep).value - sides[1].take(keep).value
            relative = mean / base if base > 0 else np.nan
            place = {"metric": chosen.label, "first": pair[0], "second": pair[1]}
            rows.append(place | vars(sizes) | {"difference": mean, "relative": relative})
    return pd.DataFrame(rows)


def other_tests(s: Significance) -> pd.DataFrame:
    """Every pair by every other test, those that do not test a mean among them; p not adjusted but for bh and tukey.

    Nothing for ratios of sums and folds, which none of them fits.
    """
    if s.test_to_train:
        return pd.DataFrame()
    rows = [row for chosen in s.directed for row in _other_tests(s, chosen)]
    return pd.DataFrame(rows)


def _other_tests(s: Significance, chosen: Chosen) -> list[dict[str, Any]]:
    if s.is_ratio(chosen):
        return []
    tukey, rows = _tukey(s, chosen), []
    for pair in s.pairs:
        d = s.differences(pair, chosen).to_numpy()
        tests = {
            **_of_the_mean(s, chosen, pair),
            "tukey": tukey.get(pair, np.nan),
            "wilcoxon": ranks.wilcoxon(d).p_value,
            "sign": proportions.sign_test(d).p_value if np.any(d != 0) else 1.0,
        }
        rows.append({"metric": chosen.label, "first": pair[0], "second": pair[1]} | tests)
    for row, adjusted in zip(rows, multiplicity.benjamini_hochberg([row["t"] for row in rows]), strict=True):
        row["bh"] = float(adjusted)
    return rows


def _of_the_mean(s: Significance, chosen: Chosen, pair: tuple[str, str]) -> dict[str, float]:
    """The tests of the mean that is compared: over units, or over the rows of whole units by the delta method."""
    if s.unit is None:
        d = s.differences(pair, chosen).to_numpy()
        t, drawn = significance.paired_t(d), significance.paired_bootstrap(d, rng=s.rng(5), resamples=RESAMPLES)
    else:
        total, count = s.summed(pair, chosen)
        columns = total, count, np.zeros(total.size), count
        t = significance.paired_ratio(*columns)
        drawn = significance.paired_ratio_bootstrap(*columns, rng=s.rng(5), resamples=RESAMPLES)
    return {"t": t.p_value, "bh": np.nan, "bootstrap": drawn.p_value}


def table(s: Significance, chosen: Chosen) -> Floats:
    """A metric, units × systems in order; units where one system has none are left out."""
    values = np.column_stack([s.values(chosen, name).per_unit for name in s.order])
    keep = ~np.isnan(values).any(axis=1)
    if s.unit is None:
        return values[keep]
    sums = [intervals.by_unit(column, s.unit[keep]) for column in values[keep].T]
    return np.column_stack([total / count for total, count in sums])


def _tukey(s: Significance, chosen: Chosen) -> dict[tuple[str, str], float]:
    values = table(s, chosen)
    if len(s.order) < 3 or len(values) < 2:
        return {}
    with np.errstate(invalid="ignore", divide="ignore"):
        p = ranks.blocked_tukey(values)
    found = {}
    for i, j in combinations(range(len(s.order)), 2):
        found[s.order[i], s.order[j]] = found[s.order[j], s.order[i]] = float(p[i, j])
    return found


def mean_ranks(s: Significance) -> dict[str, Any] | None:
    """Mean ranks, Friedman's p and Nemenyi's critical difference, of three systems or more on two units or more."""
    if len(s.order) < 3 or s.test_to_train or s.primary.metric.best == "neither":
        return None
    values = table(s, s.primary)
    if len(values) < 2:
        return None
    signed = values if s.primary.metric.best == "high" else -values
    n, k = signed.shape
    return {
        "mean_ranks": dict(zip(s.order, map(float, ranks.mean_ranks(signed)), strict=True)),
        "units": n,
        "friedman": ranks.friedman(signed),
        "iman_davenport": ranks.iman_davenport(signed),
        "critical_difference": ranks.critical_difference(k, n, level=s.settings.level),
    }


def spread(s: Significance) -> tuple[float, int]:
    """The standard deviation of the headline's differences over units that a t-test sees, and their number.

    NaN over folds, whose spread is not that of a sample, and below two units.
    """
    first, second = (s.measure(s.primary, name) for name in s.opponents)
    sd, n = inference.spread(first, second, s.inference_options(2))
    return (float("nan") if s.test_to_train else sd), n


def power_curve(s: Significance, points: int = 41) -> pd.DataFrame:
    """The chance that a paired t-test shows a true difference, of as many units, a quarter of them and four times."""
    sd, n = spread(s)
    if not sd > 0:
        return pd.DataFrame()
    far = 1.4 * power.minimum_detectable(sd, max(n // 4, 3), level=s.test_level)
    rows = []
    for size in sorted({max(n // 4, 3), n, 4 * n}):
        for d in np.linspace(0, far, points):
            chance = power.paired_power(float(d), sd, size, level=s.test_level)
            rows.append({"units": size, "difference": float(d), "power": chance})
    return pd.DataFrame(rows)


def needed(s: Significance) -> pd.DataFrame:
    """How many units show which true difference with 80 and 90 % power: the margin, what was seen, what would show."""
    sd, n = spread(s)
    if not sd > 0:
        return pd.DataFrame()
    seen = abs(float(s.headline.iloc[0]["difference"]))
    least = power.minimum_detectable(sd, n, level=s.test_level)
    wanted = [("the margin", s.settings.margin or 0.0), ("as large as observed", seen), ("half of it", seen / 2)]
    wanted += [(f"what {n:,} show with 80 %", least), ("half of that", least / 2)]
    rows = []
    for name, d in wanted:
        if d > 0:
            sizes = {f"n_{p}": power.required_n(d, sd, level=s.test_level, power=p / 100) for p in (80, 90)}
            rows.append({"which": name, "difference": d} | sizes)
    return pd.DataFrame(rows)
