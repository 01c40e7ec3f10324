"""What a report prints of a sample: every value with its limits, every difference with its limits,
every p.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from world import Inputs, World

from evalkit.parameters import reports
from evalkit.studies import (
    beyond_relevance,
    binary_diagnostics,
    classification,
    decision_curves,
    diagnostics,
    diff,
    interleaving,
    paired,
    ranking,
    rating,
    significance,
    validation,
)

READ: dict[str, tuple[Any, Callable[..., Any]]] = {
    "classification": (reports.ClassificationParameters, classification.study_of),
    "interleaving": (reports.InterleavingParameters, interleaving.study_of),
    "ranking": (reports.RankingParameters, ranking.study_of),
    "rating": (reports.RatingParameters, rating.study_of),
    "significance": (reports.SignificanceParameters, significance.study_of),
    "validation": (reports.ValidationParameters, validation.study_of),
}
FIRST, SECOND = "a", "b"


@dataclass(frozen=True)
class Number:
    """A number of the page. table: where it stands. p: of a test of what is true, NaN where there
    is none.

    truth: what the interval should hold, where the sample says so itself; NaN for the value of
    large samples. shows: the difference that "would show"; the test should then reject what is not
    true, and p be below 5% in 80%.
    """

    table: str
    name: str
    value: float
    low: float
    high: float
    p: float = np.nan
    truth: float = np.nan
    shows: float = np.nan

    @property
    def key(self) -> str:
        """What names the number in every sample of a world."""
        return f"{self.table}: {self.name}"


Frame = Callable[[Any], Iterable[Number]]


def study(world: World, inputs: Inputs) -> Any:
    """The study of a sample, as a notebook reads it."""
    if world.report == "diff":
        return _of_days(world, inputs)
    asked, study_of = READ[world.report]
    read = study_of(asked.from_raw({**inputs, **world.parameters}), world.limits)
    return (read.log or read.users) if world.report == "interleaving" else read


def _of_days(world: World, inputs: Inputs) -> Any:
    """The diff of the reports of two days, by way of their files of units."""
    asked, study_of = READ[world.of]
    with TemporaryDirectory() as folder:
        paths = {day: Path(folder) / f"{day}.units.parquet" for day in inputs}
        for day, path in paths.items():
            study_of(
                asked.from_raw({"preds": inputs[day], **world.parameters}), world.limits
            ).write_units(path)
        return diff.study_of(reports.DiffParameters.from_raw(paths), world.limits)


def numbers(of: Any, frames: Iterable[str]) -> Iterator[Number]:
    """The numbers of these frames."""
    for frame in frames:
        yield from (VALUES | TESTS)[frame](of)


def values(of: Any, frames: Iterable[str]) -> Iterator[Number]:
    """Those whose true value large samples tell."""
    for frame in frames:
        yield from (VALUES | POINTS).get(frame, lambda of: ())(of)


def _alone(of: Any) -> Any:
    """The study, of which frames have the first system alone, so that nothing is made for the
    others.
    """
    alone = copy(of)
    vars(alone)["order"] = [FIRST]
    return alone


def _of_first(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["system"] == FIRST]


# Values -------------------------------------------------------------------------------------------


def _estimates(of: Any) -> Iterator[Number]:
    for chosen in of.settings.metrics:
        e = of.estimate(chosen, FIRST)
        yield Number("value", chosen.label, e.value, e.low, e.high)


def _points(of: Any) -> Iterator[Number]:
    """The same without limits."""
    for chosen in of.settings.metrics:
        value = of.measure(chosen, FIRST).value
        yield Number("value", chosen.label, value, np.nan, np.nan)


def _apart(of: Any) -> Iterator[Number]:
    """Differences of systems that are not equally good: large samples tell the true ones."""
    for n in _comparisons(of):
        yield Number("apart", n.name, n.value, n.low, n.high)


def _claim_means(of: Any) -> Iterator[Number]:
    """The first system's macro mean over new questions of the same tasks."""
    for row in _of_same_tasks(_of_first(significance.claim_means(of))):
        yield Number("macro mean", SAME, row["value"], row["value_low"], row["value_high"])


def _claim_tests(of: Any) -> Iterator[Number]:
    """The difference of the macro means of two equally good systems, on such questions."""
    for row in _of_same_tasks(significance.claims(of)):
        value = row["difference"]
        low = row["difference_low"]
        high = row["difference_high"]
        if of.headline_systems[0] != FIRST:
            value, low, high = -value, -high, -low
        yield Number("macro mean, difference", SAME, value, low, high, row["p"], 0.0)


SAME = "of the same tasks"


def _of_same_tasks(frame: pd.DataFrame) -> list[dict[str, Any]]:
    same = (frame["claim"] == reports.SUCH) & (frame["mean"] == significance.MACRO)
    return frame[same].to_dict("records")


def _apart_points(of: Any) -> Iterator[Number]:
    """The same without limits."""
    for chosen in of.settings.metrics:
        first, second = (of.measure(chosen, name).value for name in (FIRST, SECOND))
        yield Number("apart", chosen.label, first - second, np.nan, np.nan)


def _days_apart(of: Any) -> Iterator[Number]:
    """The difference of two days that are not alike."""
    for row in _tuples(of.comparisons):
        yield Number("apart", row.metric, row.difference, row.low, row.high)


def _days_apart_points(of: Any) -> Iterator[Number]:
    """The same over all units of both days, without limits."""
    for row in of.account.itertuples():
        yield Number("apart", row.metric, row.change, np.nan, np.nan)


def _rows(table: str, frame: pd.DataFrame, names: Iterable[str]) -> Iterator[Number]:
    """The rows of a frame with limits, each named by the columns that do; by its place where that
    is a number.
    """
    for number, row in enumerate(frame.to_dict("records")):
        name = " ".join(
            row[name] if isinstance(row[name], str) else f"{name} {number + 1}" for name in names
        )
        yield Number(table, name, row["value"], row["low"], row["high"])


def _each_class(table: str, frame: pd.DataFrame, column: str) -> Iterator[Number]:
    """Every metric of every class or label: columns x, x_low, x_high."""
    metrics = [name for name in frame if f"{name}_low" in frame]
    for row in _of_first(frame).to_dict("records"):
        for metric in metrics:
            yield Number(
                table,
                f"{metric} of {row[column]}",
                row[metric],
                row[f"{metric}_low"],
                row[f"{metric}_high"],
            )


def _segments(of: Any) -> Iterator[Number]:
    return _rows("slice", _of_first(of.by_segment), ["slice"])


def _intervals(of: Any) -> Iterator[Number]:
    frame = of.intervals
    return _rows(
        "estimate", frame[frame["honest"] & ~frame["what"].str.startswith("pooled")], ["what"]
    )


def _training_gap(of: Any) -> Iterator[Number]:
    e = of.training_gap
    yield Number("training", "gap", e.value, e.low, e.high)


def _lists(of: Any) -> Iterator[Number]:
    """Diversity, novelty and coverage of the lists of one system."""
    return _rows("lists", _of_first(beyond_relevance.measures(of)), ["metric"])


VALUES: dict[str, Frame] = {
    "lists": _lists,
    "values": _estimates,
    "apart": _apart,
    "days_apart": _days_apart,
    "elsewhere": lambda of: _rows(
        "elsewhere", _alone(of).metrics_by_base_rate, ["base_rate", "metric"]
    ),
    "gains": lambda of: _rows("lift", _alone(of).gains, ["depth"]),
    "by_class": lambda of: _each_class("class", _alone(of).by_class, "class"),
    "by_label": lambda of: _each_class("label", _alone(of).by_label, "label"),
    "tops": lambda of: _rows("top", _of_first(of.tops), ["k"] if "k" in of.tops else []),
    "by_tenths": lambda of: _rows(
        "tenth", _alone(of).tenths.assign(value=lambda f: f["bias"]), ["tenth"]
    ),
    "curves": lambda of: _rows("curve", _of_first(of.curves), ["k"]),
    "precision_recall": lambda of: _rows("curve", _of_first(of.precision_recall), ["recall"]),
    "segments": _segments,
    "by_position": lambda of: _rows("position", _of_first(of.by_position), ["position"]),
    "intervals": _intervals,
    "training_gap": _training_gap,
    "claim_means": _claim_means,
}


POINTS: dict[str, Frame] = {
    "values": _points,
    "apart": _apart_points,
    "days_apart": _days_apart_points,
}

# Differences and tests ----------------------------------------------------------------------------


def _comparisons(of: Any) -> Iterator[Number]:
    for row in _tuples(of.comparisons):
        if {row.first, row.second} == {FIRST, SECOND}:
            yield _signed("difference", row.metric, row, row.p)


def _days(of: Any) -> Iterator[Number]:
    """The difference of two days that are alike."""
    for row in _tuples(of.comparisons):
        yield Number("difference", row.metric, row.difference, row.low, row.high, row.p, 0.0)


def _group_gaps(of: Any) -> Iterator[Number]:
    """The gaps of groups that are alike."""
    for row in of.gaps("group").to_dict("records"):
        if row["group"] != row["reference"]:
            limits = (row["gap"], row["gap_low"], row["gap_high"])
            yield Number("gap", f"{row['metric']} of {row['group']}", *limits, truth=0.0)


def _largest_gaps(of: Any) -> Iterator[Number]:
    """The largest gaps of groups that are alike."""
    for row in of.largest_gaps("group").to_dict("records"):
        limits = (row["gap"], row["low"], row["high"])
        yield Number("largest gap", row["metric"], *limits, truth=0.0)


class Row(NamedTuple):
    """What is read of a comparison."""

    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float


def _tuples(comparisons: pd.DataFrame) -> Iterator[Row]:
    """The comparisons, of each only what is read: the methods and verdicts take a while to come out
    of a frame.
    """
    return starmap(Row, zip(*(comparisons[name].tolist() for name in Row._fields), strict=True))


def _signed(table: str, name: str, row: Any, p: float, shows: float = np.nan) -> Number:
    """first − second: the sides are told by who is better, so they are put back."""
    value, low, high = row.difference, row.low, row.high
    if row.first != FIRST:
        value, low, high = -value, -high, -low
    return Number(table, name, value, low, high, p, 0.0, shows)


def _against(of: Any) -> Iterator[Number]:
    """The test of a share against the one that is known."""
    for row in of.comparisons.itertuples():
        if FIRST in (row.first, row.second):
            yield _signed("against a known", row.metric, row, row.p)


def _power(of: Any) -> Iterator[Number]:
    for row in of.comparisons.itertuples():
        yield _signed("power", row.metric, row, row.p, row.detectable)


def _planned(of: Any) -> Iterator[Number]:
    """What the page says would show, from a and b, which are equally good; c and a, which is the
    baseline of an A/B test, differ by about that.
    """
    planned = next(
        row for row in of.comparisons.itertuples() if {row.first, row.second} == {FIRST, SECOND}
    )
    row = next(
        row for row in of.comparisons.itertuples() if {row.first, row.second} == {FIRST, "c"}
    )
    p = min(1.0, row.p * len(of.pairs))  # as Holm's first step, which the page plans for
    yield Number(
        "planned", row.metric, abs(row.difference), row.low, row.high, p, 0.0, planned.detectable
    )


def _looks(of: Any) -> Iterator[Number]:
    """Any of the planned analyses of growing data, of each pair of systems of its own: the smallest
    p, and what all intervals hold.
    """
    count = of.p.looks
    units = len(of.data)
    grown = [_first_units(of, units * look // count) for look in range(1, count + 1)]
    for pair in zip(of.systems[::2], of.systems[1::2], strict=True):
        tests = [look.compare(of.primary_metric, pair) for look in grown]
        limits = [test.difference for test in tests]
        low = max(e.low for e in limits)
        high = min(e.high for e in limits)
        p = min(test.p_value for test in tests)
        yield Number("looks", f"any of {count}", limits[-1].value, low, high, p, 0.0)


def _first_units(of: Any, count: int) -> Any:
    """The study of the first units."""
    some = slice(count)
    values = {key: sums.take(some) for key, sums in of.data.values.items()}
    return replace(of, data=replace(of.data, values=values, id=of.data.id[some]))


def _lifts(of: Any) -> Iterator[Number]:
    for row in of.comparisons.itertuples():
        inside = row.lift_low <= 0 <= row.lift_high  # the lift of equal arms is 0 whoever is first
        side = 0.0 if inside else row.lift
        yield Number("lift", row.metric, side, row.lift_low, row.lift_high, truth=0.0)


def _slice_tests(of: Any) -> Iterator[Number]:
    for row in _of_first(of.by_segment).to_dict("records"):
        low = row["difference_low"]
        high = row["difference_high"]
        yield Number("slice difference", row["slice"], row["difference"], low, high, row["p"], 0.0)


def _adjustments(of: Any) -> Iterator[Number]:
    for row in of.adjustments.to_dict("records"):
        yield Number(
            "adjusted", row["way"], row["difference"], row["low"], row["high"], row["p"], 0.0
        )


def _caps(of: Any) -> Iterator[Number]:
    for row in of.caps.to_dict("records"):
        yield Number(
            "capped",
            row["name"].partition(",")[0],
            row["value"],
            row["low"],
            row["high"],
            truth=0.0,
        )


def _coins(of: Any) -> Iterator[Number]:
    for row in of.shown_balance.to_dict("records"):
        place = f"position {row['position']}"
        yield Number(
            "draft", place, row["share"], row["low"], row["high"], row["p"], 1 / len(of.systems)
        )
    yield Number(
        "draft",
        "any position, adjusted",
        np.nan,
        np.nan,
        np.nan,
        float(of.shown_balance["adjusted"].min()),
    )


def _within_units(of: Any) -> Iterator[Number]:
    """Of units that mean nothing: AUC over all rows and within units are the same."""
    c: Any = binary_diagnostics.within_units(of)
    yield Number(
        "all rows", "within units", np.nan, c.difference.low, c.difference.high, c.p_value, 0.0
    )


def _calibration(of: Any) -> Iterator[Number]:
    """Of scores that are the rows' chances: the parts of Brier, and the tests of perfect
    calibration.
    """
    for row in _alone(of).calibration.to_dict("records"):
        yield Number("calibration", row["part"], row["value"], row["low"], row["high"], row["p"])


def _reliability(of: Any) -> Iterator[Number]:
    """Of such scores the share of positives in a tenth is the mean score of its rows."""
    for row in _alone(of).reliability.to_dict("records"):
        yield Number("reliability", "tenths", row["y"], row["low"], row["high"], truth=row["x"])


def _benefits(of: Any) -> Iterator[Number]:
    """Differences in net benefit at some of the thresholds that are drawn."""
    frame = decision_curves.first_differences(of)
    for row in frame[frame["x"].round(6).isin(THRESHOLDS)].itertuples():
        sides = (
            (row.value, row.low, row.high)
            if row.first == FIRST
            else (-row.value, -row.high, -row.low)
        )
        yield Number("net benefit", f"at {row.x:g}", *sides, truth=0.0)


THRESHOLDS = (0.1, 0.2, 0.3, 0.5)


def _band(of: Any) -> Iterator[Number]:
    """Of scores that are the rows' chances: the consistency band holds the isotonic curve."""
    return _inside(of.isotonic.curve, of.isotonic.bands, (0.1, 0.3))


def _band_of_means(of: Any) -> Iterator[Number]:
    """The same of forecasts that are the rows' means."""
    of_system = of.means[FIRST]
    return _inside(of_system.curve, of_system.bands, (-1.0, 0.0, 1.0))


def _inside(curve: pd.DataFrame, band: pd.DataFrame, places: Iterable[float]) -> Iterator[Number]:
    for x in places:
        y, low, high = (
            float(np.interp(x, frame["x"], frame[column]))
            for frame, column in ((curve, "y"), (band, "low"), (band, "high"))
        )
        yield Number("band", f"at {x:g}", y, low, high, truth=y)


def _ranks(of: Any) -> Iterator[Number]:
    """Whether the ranks of systems that are equally good all reach from the first to the last."""
    frame = diagnostics.rank_tiers(of)
    whole = ((frame["rank_low"] == 1) & (frame["rank_high"] == len(frame))).all()
    yield Number("ranks", "of all systems", np.nan, np.nan, np.nan, float(whole))


def _equivalence(of: Any) -> Iterator[Number]:
    """Whether a difference as large as the margin is called equivalent."""
    margin = of.settings.margin
    for row in of.comparisons.itertuples():
        within = -margin < row.equivalence_low and row.equivalence_high < margin
        yield Number("equivalence", row.metric, np.nan, np.nan, np.nan, 0.0 if within else 1.0)


def _other_tests(of: Any) -> Iterator[Number]:
    frame = paired.other_tests(of)
    for name in ("t", "bootstrap", "wilcoxon", "sign", "tukey"):
        yield Number("other test", name, np.nan, np.nan, np.nan, frame[name].iloc[0])
    ranks = paired.mean_ranks(of)
    if ranks is None:  # of two systems
        return
    for name, p in (("friedman", ranks.friedman), ("iman_davenport", ranks.iman_davenport)):
        yield Number("other test", name, np.nan, np.nan, np.nan, p)


def _family(of: Any) -> Iterator[Number]:
    """Whether any comparison of equal systems is declared; the system that leads, and how far
    before the last.
    """
    frame = of.comparisons
    for name in ("adjusted", "max_t"):
        if name in frame:
            yield Number(
                "any of the family", name, np.nan, np.nan, np.nan, float(frame[name].min())
            )
    e = of.estimate(of.primary_metric, of.leader)
    yield Number("picked", "the leader", e.value, e.low, e.high, truth=5.0)
    row = of.headline.iloc[-1] if not of.settings.baseline else of.headline.iloc[0]
    name = "the leader − the last" if not of.settings.baseline else "the best − the baseline"
    yield Number("picked", name, row["difference"], row["low"], row["high"], truth=0.0)


def _paired_folds(of: Any) -> Iterator[Number]:
    row = of.paired[of.paired["second"].isin([FIRST, SECOND])].iloc[0]
    yield Number("by fold", "difference", row["by_fold"], row["low"], row["high"], row["p"], 0.0)
    decides = row["p" if of.pools_few_rows else "p_pooled"]
    yield Number("test that decides", "difference", np.nan, np.nan, np.nan, decides)


def _unlike(of: Any) -> Iterator[Number]:
    yield Number("folds", "alike (Cochran's Q)", np.nan, np.nan, np.nan, of.heterogeneity["p"])


TESTS: dict[str, Frame] = {
    "group_gaps": _group_gaps,
    "largest_gaps": _largest_gaps,
    "differences": _comparisons,
    "claim_tests": _claim_tests,
    "days": _days,
    "against": _against,
    "power": _power,
    "planned": _planned,
    "lifts": _lifts,
    "looks": _looks,
    "slice_tests": _slice_tests,
    "adjustments": _adjustments,
    "caps": _caps,
    "coins": _coins,
    "within_units": _within_units,
    "calibration": _calibration,
    "reliability": _reliability,
    "benefits": _benefits,
    "band": _band,
    "band_of_means": _band_of_means,
    "ranks": _ranks,
    "equivalence": _equivalence,
    "other_tests": _other_tests,
    "family": _family,
    "paired_folds": _paired_folds,
    "unlike": _unlike,
}
