"""What stands beside the test: sizes of effects, the other tests, mean ranks, power and the units needed."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.catalogue.lookup import Chosen
from evalkit.drawing import claim_plots
from evalkit.progress import progress
from evalkit.statistics import multiplicity, power, ranks
from evalkit.statistics.methods import Paired
from evalkit.studies.once import once
from evalkit.studies.significance_study import Significance

MOST_OF_TUKEY = 20  # systems; of 200 its integrals would take ten minutes


@once
def effects(study: Significance) -> pd.DataFrame:
    """The size of every difference: relative; by unit standardised (d_z) and P(first > second), of ties the half."""
    rows = []
    for chosen in study.directed:
        for pair in study.pairs:
            sizes, mean = study.effect(chosen, pair)
            base = abs(study.estimate(chosen, pair[1]).value)
            relative = mean / base if base > 0 else np.nan
            place = {"metric": chosen.label, "first": pair[0], "second": pair[1]}
            rows.append(place | vars(sizes) | {"difference": mean, "relative": relative})
    return pd.DataFrame(rows)


@once
def other_tests(study: Significance) -> pd.DataFrame:
    """Every pair by every other test, those that do not test a mean among them; p not adjusted but for bh and tukey.

    Nothing for ratios of sums and folds, which none of them fits.
    """
    if study.test_to_train:
        return pd.DataFrame()
    rows = [row for chosen in study.directed for row in _other_tests(study, chosen)]
    return pd.DataFrame(rows)


def _other_tests(study: Significance, chosen: Chosen) -> list[dict[str, Any]]:
    if study.is_ratio(chosen):
        return []
    tukey, bootstrap, rows = _tukey(study, chosen), study.bootstraps(chosen), []
    with progress("other tests", len(study.pairs), "pairs") as draw:
        for done, pair in enumerate(study.pairs):
            draw(done)
            tests = {"t": np.nan, "bh": np.nan, "bootstrap": bootstrap.get(pair, np.nan)}
            tests |= {"tukey": tukey.get(pair, np.nan)} | study.other_tests(chosen, pair)
            rows.append({"metric": chosen.label, "first": pair[0], "second": pair[1]} | tests)
    for row, adjusted in zip(rows, multiplicity.benjamini_hochberg([row["t"] for row in rows]), strict=True):
        row["bh"] = float(adjusted)
    return rows


def _tukey(study: Significance, chosen: Chosen) -> dict[tuple[str, str], float]:
    p = study.tukey(chosen) if 3 <= len(study.order) <= MOST_OF_TUKEY else None
    if p is None:
        return {}
    by_pair = {}
    for i, j in combinations(range(len(study.order)), 2):
        by_pair[study.order[i], study.order[j]] = by_pair[study.order[j], study.order[i]] = float(p[i, j])
    return by_pair


@once
def mean_ranks(study: Significance) -> dict[str, Any] | None:
    """Mean ranks, Friedman's p and Nemenyi's critical difference, of three systems or more on two units or more."""
    if len(study.order) < 3 or study.test_to_train or study.primary.metric.best == "neither":
        return None
    ranked = study.ranked()
    if ranked is None:
        return None
    return {
        "mean_ranks": dict(zip(study.order, map(float, ranked.means), strict=True)),
        "units": ranked.units,
        "friedman": ranked.friedman,
        "iman_davenport": ranked.iman_davenport,
        "critical_difference": ranks.critical_difference(len(ranked.means), ranked.units, level=study.settings.level),
    }


def spread(study: Significance) -> Paired | None:
    """The headline's differences over units as a t-test sees them.

    None over folds, whose spread is not that of a sample, below two units, and where all differences are the same.
    """
    of = study.paired(study.primary, study.opponents)
    return of if of.spread > 0 and not study.test_to_train else None


def power_curve(study: Significance, points: int = 41) -> pd.DataFrame:
    """The chance that a paired t-test shows a true difference, of as many units, a quarter of them and four times."""
    if (of := spread(study)) is None:
        return pd.DataFrame()
    n, fewest = of.n, max(of.n // 4, 3)
    far = 1.4 * power.minimum_detectable(of.spread_at(0.0), fewest, level=study.family_level, grows=of.grows)
    rows = []
    for size in sorted({fewest, n, 4 * n}):
        for d in np.linspace(0, far, points):
            chance = power.paired_power(float(d), of.spread_at(d), size, level=study.family_level)
            rows.append({"units": size, "difference": float(d), "power": chance})
    return pd.DataFrame(rows)


def null_histogram(study: Significance) -> dict[str, Floats]:
    """The bars of the null distribution: both ends of each, and its share of the draws; empty if it is not known."""
    if not study.flips:
        return {}
    draws = study.null_draws()
    edges = claim_plots.null_edges(draws, float(study.headline.iloc[0]["difference"]))
    return {"low": edges[:-1], "high": edges[1:], "share": np.histogram(draws, edges)[0] / draws.size}


def p_curve(study: Significance) -> dict[str, list[float]]:
    """p of every mean difference around the headline's; empty if that is not known."""
    return study.p_curve().to_dict("list") if study.flips else {}


@once
def needed(study: Significance) -> pd.DataFrame:
    """How many units show which true difference with 80 and 90% power: the margin, what was seen, what would show."""
    if (of := spread(study)) is None:
        return pd.DataFrame()
    seen = abs(float(study.headline.iloc[0]["difference"]))
    least = of.detectable(study.family_level)
    wanted = [("the margin", study.settings.margin or 0.0), ("as large as observed", seen), ("half of it", seen / 2)]
    wanted += [(f"detectable by {of.n:,} with 80% power", least), ("half of that", least / 2)]
    rows = []
    for name, d in wanted:
        if d > 0:
            sd = of.spread_at(d)
            sizes = {f"n_{p}": power.required_n(d, sd, level=study.family_level, power=p / 100) for p in (80, 90)}
            rows.append({"which": name, "difference": d} | sizes)
    return pd.DataFrame(rows)
