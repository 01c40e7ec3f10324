"""The counts that a page's slider moves over: the thresholds decide as the kit does, and no costs
have a better one.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from evalkit.limits import Limits, ReadingLimits
from evalkit.metrics import counts, curves
from evalkit.pages import threshold_page
from evalkit.parameters.kinds import Costs
from evalkit.parameters.reports import ClassificationParameters
from evalkit.statistics import intervals
from evalkit.statistics.class_cells import DecisionsByThreshold
from evalkit.statistics.closed_forms import t_within_range
from evalkit.studies import binary_diagnostics, classification, threshold_slider


def scored_rows(n=600, seed=3, **more):
    """600 rows with a label and the scores of two systems, a (the better) and b, and further
    columns.
    """
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    scores = {
        name: rng.beta(1 + skill * label, 1 + skill * (1 - label))
        for name, skill in (("a", 1.5), ("b", 0.7))
    }
    return pd.DataFrame({"label": label, **scores, **more})


def study_of(table, limits=None, **more):
    """The classification study of the systems a and b, with further parameters."""
    p = ClassificationParameters.from_raw({"preds": table, "systems": ["a", "b"], **more})
    return classification.study_of(p, *([limits] if limits else []))


# a table of more than 100 rows is summed up block by block and not held in memory
IN_BLOCKS = Limits(reading=ReadingLimits(rows=100, shard=100))


def data_on_the_page(study):
    """What the script of the page reads, from its JSON: named, the thresholds of the slider as
    text; systems, with a list of counts by threshold each.
    """
    text = re.search(
        r'data-sweep="(.*?)">', threshold_page.moving_threshold_table(study).html, re.S
    )[1]
    return json.loads(text.replace("&quot;", '"'))


@pytest.mark.parametrize("limits", [None, IN_BLOCKS], ids=["in memory", "in blocks"])
def test_the_counts_on_the_page_are_those_at_its_thresholds(limits):
    """The page of two systems has a slider over thresholds, up to ∞. Its data are the names of the
    thresholds, and for each system the counts at all of them, tp and fp, and the numbers P and N of
    positive and negative rows. They must be those of the study at the thresholds as named, also if
    the 600 rows are read in blocks of 100 and not held in memory.
    """
    study = study_of(scored_rows(), limits)
    assert (study.data is None) == (limits is IN_BLOCKS)
    data = data_on_the_page(study)
    names = data["named"].replace("∞", "inf").replace("−", "-")
    thresholds = [float(name) for name in names.split()]
    # of the 1,200 scores of both systems about 230 are thresholds, so that the page stays small
    assert 100 < len(thresholds) < 700
    assert thresholds == sorted(thresholds)
    for name, system in zip(study.order, data["systems"], strict=True):
        expected = counts.at(study.table(name), thresholds)
        assert (system["tp"], system["fp"]) == (expected.tp.tolist(), expected.fp.tolist())
        assert (system["P"], system["N"]) == (expected.positives, expected.negatives)


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 100), st.floats(0, 100))
def test_no_other_threshold_costs_less_whatever_the_errors_cost(fp, fn):
    for name, c in SLIDER.tables.items():
        every = curves.cost(curves.from_none(ALL_COUNTS[name]), fp, fn)
        assert curves.cost(c, fp, fn).min() == pytest.approx(every.min(), abs=1e-12)


WHOLE_STUDY = study_of(scored_rows())
ALL_COUNTS = {name: WHOLE_STUDY.table(name) for name in ("a", "b")}
SLIDER = threshold_slider.slider_counts(WHOLE_STUDY)


def test_a_short_threshold_decides_as_the_score_that_it_stands_for():
    """A study offers thresholds to choose from, such as the one with the best F1 (`choices`), here
    for the systems a and b. Each is a score with some 16 digits, such as 0.5624705980443004. The
    slider of the page names it by as few digits as tell it from other scores, 0.56247, and at most
    9 characters. At the short threshold as many positive rows are found as at the long one.
    """
    for system in ("a", "b"):
        counts_of_system = ALL_COUNTS[system]
        for threshold in WHOLE_STUDY.choices.query("system == @system")["threshold"]:
            name = SLIDER.named(threshold)
            assert len(name) <= 9
            short_threshold = float(name.replace("∞", "inf"))
            tp_at_short_threshold = counts.at(counts_of_system, short_threshold).tp
            assert tp_at_short_threshold == counts.at(counts_of_system, threshold).tp


def test_the_numbers_at_a_threshold_are_the_estimates_of_the_study():
    """The page has a slider that moves the threshold. For it, `ClosedFormIntervals` computes
    metrics with their intervals, and the mean cost of a decision, from the counts of a system at a
    threshold. At 0.4, the threshold of the study, they must be those that the study itself computes
    from the rows.
    """
    study = study_of(
        scored_rows(),
        metrics="precision,recall,f1,predicted_rate",
        threshold=0.4,
        costs="fp=1,fn=4",
    )
    on_the_slider = {}
    for system in ("a", "b"):
        at_threshold = counts.at(study.table(system), 0.4)
        on_the_slider[system] = threshold_slider.ClosedFormIntervals(level=0.95).estimates(
            system, at_threshold, Costs(fp=1, fn=4)
        )
    for row in study.estimates.to_dict("records"):
        estimate = on_the_slider[row["system"]][row["metric"]]
        expected = (row["value"], row["low"], row["high"])
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(expected, abs=1e-12)
    for row in study.decisions.to_dict("records"):
        assert on_the_slider[row["system"]]["cost"].value == pytest.approx(row["cost"])


# more columns of the 600 rows, and the parameters of the report
WEIGHTED_OR_CLUSTERED = {
    "units": ({"user": np.arange(600) // 3}, {"unit": "user"}),
    "weights": ({"weight": np.tile([0.5, 1.25, 2.0], 200)}, {}),
    "both": ({"user": np.arange(600) // 3, "weight": np.tile([0.5, 1.25], 300)}, {"unit": "user"}),
}


@pytest.mark.parametrize(
    ("columns", "parameters"), WEIGHTED_OR_CLUSTERED.values(), ids=WEIGHTED_OR_CLUSTERED
)
def test_weighted_or_clustered_rows_have_the_intervals_of_the_study(columns, parameters):
    """The 600 rows of the systems a and b have further `columns`, of users, of weights or of both;
    `parameters` makes users the units. The page has a slider that moves the threshold, with the
    intervals of each metric at each of its thresholds. At four of these thresholds, from the first
    to the last, a study with this threshold must have the same estimates and limits.
    """
    table = scored_rows(**columns)
    parameters = {"metrics": "precision,recall,f1,predicted_rate", **parameters}
    study = study_of(table, **parameters)
    slider = threshold_slider.slider_counts(study)
    intervals_at_each = threshold_slider.intervals(study, slider)
    for i in (0, 20, len(slider.threshold) // 2, slider.last):
        # the first is infinite, at which no row is predicted positive; a study needs a number, and
        # at 2 no row is either, as no score is above 1
        threshold = float(min(slider.threshold[i], 2.0))
        study_at_threshold = study_of(table, threshold=threshold, **parameters)
        for row in study_at_threshold.estimates.to_dict("records"):
            estimates = intervals_at_each.estimates_by_system[row["system"]][i]
            estimate = estimates[threshold_slider.METRICS.index(row["metric"])]
            found = (estimate.value, estimate.low, estimate.high)
            expected = (row["value"], row["low"], row["high"])
            assert found == pytest.approx(expected, abs=1e-10, nan_ok=True)


@pytest.mark.parametrize(
    ("columns", "parameters"), WEIGHTED_OR_CLUSTERED.values(), ids=WEIGHTED_OR_CLUSTERED
)
def test_the_mean_cost_has_the_variance_between_units(columns, parameters):
    """The 600 rows of the systems a and b have further `columns`, of users, of weights or of both;
    `parameters` makes users the units. At a threshold, a row costs 2 if it is a false positive, 7
    if it is a false negative, and else 0. The expected variance of the weighted mean cost is
    computed here from the rows: it is the sandwich variance, in which the influences of a user's
    rows are added up and squared, and Kish's number of units is the n of the factor n / (n − 1).

    The page gets this variance from sums at each threshold, and from the variance limits by t that
    keep within the range of a cost, 0 to 7: both must be as expected.
    """
    fp_cost, fn_cost = 2.0, 7.0
    table = scored_rows(**columns)
    study = study_of(table, **parameters)
    slider = threshold_slider.slider_counts(study)
    i = len(slider.threshold) // 3  # any threshold
    threshold = slider.threshold[i]

    weight = table.get("weight", pd.Series(np.ones(600)))
    user = table.get("user", pd.Series(np.arange(600)))
    false_positive = (table["a"] >= threshold) & (table["label"] == 0)
    false_negative = (table["a"] < threshold) & (table["label"] == 1)
    cost = fp_cost * false_positive + fn_cost * false_negative
    mean = np.average(cost, weights=weight)
    influence = (weight * (cost - mean) / weight.sum()).groupby(user).sum()
    size = weight.groupby(user).sum()
    units = size.sum() ** 2 / (size**2).sum()
    variance = (influence**2).sum() * units / (units - 1)

    # At each threshold error_variance has the variance of FP / n, twice the covariance of FP / n
    # and FN / n, and the variance of FN / n. With the costs c and d of a false positive and a false
    # negative, the mean cost c FP / n + d FN / n has the variance of c², c d and d² times these.
    decisions = DecisionsByThreshold.from_rows(study.measured.rows["a"], slider.tables["a"])
    products_of_costs = [fp_cost**2, fp_cost * fn_cost, fn_cost**2]
    assert decisions.units == pytest.approx(units)
    assert decisions.error_variance[i] @ products_of_costs == pytest.approx(variance)
    expected = t_within_range(
        mean, np.sqrt(variance), freedom=units - 1, n=int(units), level=0.95, ends=(0, fn_cost)
    )
    assert 0 < expected.low < expected.value == mean < expected.high < fn_cost
    own_intervals = threshold_slider.intervals(study, slider)
    at_threshold = counts.at(study.table("a"), threshold)
    found = own_intervals.estimates("a", at_threshold, Costs(fp_cost, fn_cost))["cost"]
    assert found.high == pytest.approx(expected.high)


def test_the_table_shows_the_limits_that_the_script_reads():
    """Three rows each are of one user, and users are the units. A script of the page moves its
    slider over thresholds and reads, from `data`, the limits of each metric of each system at each
    threshold (`limits`). The table of the page shows the threshold 0.4 of the study at first: the
    interval of precision that it prints there must be that of the script, with the decimals that
    `data` has for precision.
    """
    study = study_of(scored_rows(user=np.arange(600) // 3), unit="user", threshold=0.4)
    data = data_on_the_page(study)
    html = threshold_page.moving_threshold_table(study).html
    i = data["named"].split().index("0.4")  # the threshold that the table shows at first
    precision = threshold_slider.METRICS.index("precision")
    cells = ("tp", "fp", "fn", "tn")  # their decimal places come first
    decimals = data["places"][len(cells) + precision]
    for name, system in zip(study.order, data["systems"], strict=True):
        assert len(system["limits"]) == len(system["spread"]) == len(system["tp"])
        low, high = system["limits"][i][precision]
        row = next(row for row in html.split("<tr>") if row.startswith(f'<th scope="row">{name}<'))
        assert f"[{low:.{decimals}f}, {high:.{decimals}f}]" in row


def test_a_metric_without_predicted_rows_has_no_limits_on_the_page():
    """A script of the page moves its slider over thresholds, the last of which is ∞. There no row
    is predicted positive, so that the precision is undefined. Its limits in the data of the script
    are a number that stands for undefined, UNDEFINED_LIMIT, as JSON has no NaN.
    """
    study = study_of(scored_rows(user=np.arange(600) // 3), unit="user", threshold=0.4)
    data = data_on_the_page(study)
    assert data["named"].split()[-1] == "∞"
    limits_by_metric = data["systems"][0]["limits"][-1]
    low, high = limits_by_metric[threshold_slider.METRICS.index("precision")]
    assert low == high == threshold_slider.UNDEFINED_LIMIT


def test_sums_of_units_have_no_intervals():
    study = study_of(scored_rows(user=np.arange(600) // 3), IN_BLOCKS, unit="user")
    assert data_on_the_page(study)["z"] == "none"
    assert "[" not in threshold_page.moving_threshold_table(study).text
    assert "No intervals: sums over rows" in threshold_page.moving_threshold_table(study).html


def test_a_study_of_one_class_has_no_slider():
    assert threshold_page.moving_threshold_table(study_of(scored_rows().assign(label=1))).html == ""


def test_weights_that_are_no_whole_numbers_stay_exact():
    study = study_of(scored_rows(weight=np.tile([0.5, 1.25], 300)))
    for name, system in zip(study.order, data_on_the_page(study)["systems"], strict=True):
        assert system["tp"][0] == pytest.approx(study.table(name).positives, abs=1e-6)


@pytest.fixture(scope="module", params=[Limits(), IN_BLOCKS], ids=["memory", "blocks"])
def precise(request):
    """A study of thresholds with a precision of 0.99: one of `a` has it, none of `b`."""
    rng = np.random.default_rng(1)
    label = (rng.random(600) < 0.3).astype(int)
    score = rng.random(600) / 2 + 0.5 * label * (rng.random(600) < 0.5)
    table = pd.DataFrame({"label": label, "a": score, "b": rng.random(600)})
    metrics = "precision,recall,f1,accuracy"
    return study_of(table, request.param, threshold="precision>=0.99", metrics=metrics)


def test_metrics_at_a_threshold_that_does_not_exist_are_undefined(precise):
    estimates = precise.estimates.set_index("system").loc["b", ["value", "low", "high"]]
    assert estimates.isna().all(axis=None)


def test_differences_from_a_system_without_a_threshold_are_undefined(precise):
    numbers = precise.comparisons[["difference", "low", "high", "p", "detectable"]]
    assert numbers.isna().all(axis=None)


def test_decisions_of_a_system_without_a_threshold_are_undefined(precise):
    decisions = precise.decisions.set_index("system").loc["b", ["tp", "fp", "fn", "tn", "cost"]]
    assert decisions.isna().all()


def test_a_system_without_a_threshold_has_no_point_on_the_curve(precise):
    points = binary_diagnostics.operating_points(precise, "roc")
    assert points["x"].notna().tolist() == [True, False]


def test_a_perfect_precision_has_wilsons_limits_of_its_rows(precise):
    hits = int(precise.decisions.set_index("system").loc["a", "tp"])
    estimates = precise.estimates.set_index(["system", "metric"])
    found = estimates.loc[("a", "precision"), ["value", "low", "high"]]
    assert found.tolist() == pytest.approx([1, intervals.wilson(hits, hits).low, 1])
