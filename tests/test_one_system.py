"""Small tables: a page of one system and its constants; answers that a user can work out by
hand.
"""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.metrics.counts import count
from evalkit.offline import leakage
from evalkit.offline.splits import by_column
from evalkit.pages import binary_page, classes_page, first_screen, labels_page, rating_page
from evalkit.statistics.consistency import metric_if_calibrated
from evalkit.studies import decision_curves, reliability

RNG = np.random.default_rng(33)
LABEL = RNG.permutation(np.repeat([1, 0], [60, 340]))
SURE = 1 / (1 + np.exp(-(6 * LABEL + 4 + RNG.normal(0, 2, 400))))  # a good order, far too high
CLASS = RNG.permutation(np.repeat(["a", "b", "c"], [240, 100, 60]))
ACTUAL = RNG.gamma(2, 2, 400)


def study_of_two_classes(score):
    return ek.classification(pd.DataFrame({"id": range(400), "label": LABEL, "score": score}))


def study_of_three_classes(score_of_actual):
    """The actual class has this score, and each of the other two half of the rest."""
    score_of_other = (1 - score_of_actual) / 2
    scores = {
        f"p_{name}": np.where(name == CLASS, score_of_actual, score_of_other) for name in "abc"
    }
    return ek.classification(pd.DataFrame({"id": range(400), "label": CLASS} | scores))


def study_of_two_labels(score):
    columns = {"y_a": LABEL, "y_b": LABEL, "p_a": score, "p_b": score}
    return ek.classification(pd.DataFrame({"id": range(400)} | columns))


def study_of_forecasts(values, **options):
    return ek.rating(
        pd.DataFrame({"id": range(400), "actual": ACTUAL, "forecast": values}), **options
    )


def finding_of_better_constants(page, study):
    """The text of the finding EK337, which lists the metrics by which a constant prediction is
    better than the system; empty if there is none.
    """
    return "".join(
        finding.message for finding in page.every_finding(study) if finding.kind.code == "EK337"
    )


FAR = np.where(RNG.random(400) < 0.1, ACTUAL + 30, ACTUAL)
CASES = [
    (
        binary_page,
        lambda: study_of_two_classes(SURE),
        {"log_loss", "brier", "accuracy"},
        {"roc_auc", "specificity", "recall"},
    ),
    (binary_page, lambda: study_of_two_classes(1 - SURE), {"average_precision"}, {"roc_auc"}),
    (
        classes_page,
        lambda: study_of_three_classes(0.1),
        {"log_loss", "accuracy", "roc_auc_ovr"},
        {"mcc"},
    ),
    (
        labels_page,
        lambda: study_of_two_labels(1 - SURE),
        {"exact_match", "map_classes"},
        {"micro_f1"},
    ),
    (rating_page, lambda: study_of_forecasts(FAR), {"rmse", "r2"}, {"mae"}),
]


@pytest.mark.parametrize(
    "page, make_study, named_metrics, metrics_not_named",
    CASES,
    ids=["far too high", "reversed", "classes", "labels", "forecasts"],
)
def test_the_metrics_by_which_a_constant_is_better_are_named(
    page, make_study, named_metrics, metrics_not_named
):
    """A page has a finding that lists the metrics by which a constant prediction is better than the
    system. Metrics by which it is not, or whose own finding says so, are not among them.
    """
    finding = finding_of_better_constants(page, make_study())
    words = set(finding.replace("(", " ").split())
    assert named_metrics <= words
    assert not metrics_not_named & words


GOOD_SCORE = np.clip(0.15 + 0.5 * (LABEL - 0.15) + RNG.normal(0, 0.01, 400), 0, 1)
NEAR = [
    (binary_page, lambda: study_of_two_classes(GOOD_SCORE)),
    (classes_page, lambda: study_of_three_classes(0.9)),
    (labels_page, lambda: study_of_two_labels(GOOD_SCORE)),
    (rating_page, lambda: study_of_forecasts(ACTUAL + 0.1)),
]


@pytest.mark.parametrize(
    "page, make_study", NEAR, ids=["two classes", "three classes", "labels", "forecasts"]
)
def test_a_system_that_is_better_than_any_constant_has_no_such_finding(page, make_study):
    """The systems are good by every metric of their page."""
    assert not finding_of_better_constants(page, make_study())


def test_the_primary_metric_of_forecasts_worse_than_a_constant_is_named_in_one_finding_alone():
    """The forecasts are the mean with noise, so that the mean alone is better. The finding EK332
    says so of the primary metric; the list of metrics in EK337 has the others, such as r2.
    """
    study = study_of_forecasts(ACTUAL.mean() + RNG.normal(0, 3, 400))
    assert "EK332" in rating_page.findings(study).html
    finding = finding_of_better_constants(rating_page, study)
    assert "r2" in finding
    assert study.primary_metric.label not in finding


@pytest.mark.parametrize(
    "metric, names_percent",
    [
        ("roc_auc", False),  # 0.5 without skill
        ("average_precision", False),  # the base rate without skill
        ("log_loss", True),
    ],
)
def test_a_gain_is_given_in_percent_only_if_no_skill_has_no_fixed_value(metric, names_percent):
    """System a has scores close to the labels, b the same with noise. The page begins with an
    answer such as "a is better than b: log loss is 0.150 (55.5% less) instead of 0.337". A
    percentage of an AUC would mislead: 0.55 is 10 % more than 0.5, but 0.5 is the AUC of a constant
    score, without skill. The scores are clipped to keep the log loss finite.
    """
    score = np.clip(GOOD_SCORE, 0.01, 0.99)
    noisy_score = np.clip(GOOD_SCORE + RNG.normal(0, 0.3, 400), 0.01, 0.99)
    table = pd.DataFrame(
        {"id": range(400), "label": LABEL, "score_a": score, "score_b": noisy_score}
    )
    study = ek.classification(table, metrics=metric)
    answer, *_ = first_screen.verdict(study).html.split("instead of")
    assert "a is better than b" in answer
    assert ("%" in answer) is names_percent


# Words of one system

ROOT = Path(__file__).resolve().parents[1]
RUNS = [("q1", "a", 0.9, 1), ("q1", "b", 0.5, 0), ("q2", "a", 0.3, 0), ("q2", "b", 0.2, 1)]
ALONE = {
    "binary": lambda: study_of_two_classes(GOOD_SCORE),
    "classes": lambda: study_of_three_classes(0.5),
    "labels": lambda: study_of_two_labels(GOOD_SCORE),
    "forecasts": lambda: study_of_forecasts(ACTUAL + 0.1),
    "ranked": lambda: ek.ranking(pd.DataFrame(RUNS, columns=["query", "item", "score", "grade"])),
}


@pytest.mark.parametrize("kind", ALONE)
def test_a_reader_of_one_system_meets_no_comparison(kind):
    made = ALONE[kind]().tables
    assert not re.search(
        "Bold|[Pp]aired|Holm|McNemar|won / tied|Ties:", made.definitions.html + made.estimates.html
    )


def test_two_systems_have_their_tests_and_the_best_value_explained():
    study = ek.rating(
        pd.DataFrame({"actual": ACTUAL, "forecast_a": ACTUAL + 0.1, "forecast_b": ACTUAL + 0.2})
    )
    assert "Bold: the best value" in rating_page.estimates(study).html
    assert "Holm" in rating_page.definitions(study).html


def test_only_the_section_of_differences_speaks_of_two_systems():
    """The texts of the notebooks become pages, also of one system. The section "Paired differences"
    is left out of such a page; no other text may speak of two systems. A cell with the tag
    "notebook-only" is in no page.
    """
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            tags = cell["metadata"].get("tags", [])
            text = "".join(cell["source"])
            is_on_page = cell["cell_type"] == "markdown" and "notebook-only" not in tags
            if is_on_page and "two systems" in text:
                assert text.startswith("## Paired differences"), path.name


@pytest.mark.parametrize(
    "word", [".better", ".worse", ".equivalent", ".verdict.pass", ".verdict.fail"]
)
def test_each_verdict_has_a_tone_that_is_not_that_of_cannot_tell(word):
    style = (ROOT / "evalkit" / "page" / "evalkit" / "page.css").read_text(encoding="utf-8")
    usual = re.search(r"\.strip \.cannot-tell \{ --tone: var\((.*?)\)", style)[1]
    own = re.search(rf"{re.escape(word)} ?[,{{][^{{}}]*\{{? ?--tone: var\((.*?)\)", style)[1]
    assert own != usual


DRAW = np.random.default_rng(60)
N = 200
TRUTH = (DRAW.random(N) < 0.4).astype(int)
SCORE = np.clip(0.3 + 0.3 * TRUTH + DRAW.normal(0, 0.15, N), 0.01, 0.99)


def forecasts(**errors):
    actual = DRAW.normal(50, 5, N)
    return pd.DataFrame(
        {"id": range(N), "actual": actual}
        | {f"forecast_{k}": actual + e for k, e in errors.items()}
    )


def test_scores_that_are_far_off_have_a_small_p_but_never_0():
    c = count(np.full(50, 0.01), np.ones(50, int))
    assert (
        metric_if_calibrated(
            c, lambda c: float(c.positives), rng=np.random.default_rng(1), draws=99
        ).p
        == 0.01
    )


def test_a_p_value_equal_to_one_minus_the_level_is_not_below_it():
    """Of the eight sign vectors of three gains two are as extreme as the data."""
    study = ek.significance(
        pd.DataFrame({"query": range(3), "a": [1.0, 2.0, 3.0], "b": 0.0}), level=0.75
    )
    assert study.comparisons.loc[0, ["p", "verdict"]].tolist() == [0.25, "cannot tell"]


def test_of_three_labels_the_one_of_fewest_rows_is_called_wrong():
    label = np.array(["yes", "no"] * 10 + ["maybe"])
    with pytest.raises(InputError, match=r"maybe.*row 21|row 21.*maybe"):
        ek.classification(pd.DataFrame({"id": range(21), "label": label, "score": 0.5}))


def test_the_third_system_must_have_the_labels_of_the_first():
    """Systems a, b and c score the same nine ids. In the rows of c one label is swapped."""
    rows = [
        pd.DataFrame({"id": range(9), "system": name, "label": TRUTH[:9], "score": SCORE[:9]})
        for name in "abc"
    ]
    rows_of_c = rows[2]
    rows_of_c.loc[4, "label"] = 1 - TRUTH[4]
    with pytest.raises(InputError, match="label"):
        ek.classification(pd.concat(rows))


def test_only_a_list_that_lacks_a_rank_is_counted_as_one_with_a_gap():
    """The list of query q1 has the ranks 1, 2 and 3, that of q2 the ranks 1 and 3. The account of
    what was read of the system counts lists that lack a rank after their first (`gaps`): that of
    q2. It also counts lists whose first rank is above 1 (`late`): none.
    """
    ranked_lists = pd.DataFrame(
        {
            "query": ["q1", "q1", "q1", "q2", "q2"],
            "item": ["d1", "d2", "d3", "d1", "d3"],
            "rank": [1, 2, 3, 1, 3],
        }
    )
    qrels = pd.DataFrame({"query": ["q1", "q2"], "item": ["d1", "d3"], "grade": [1, 1]})
    [account] = ek.ranking(ranked_lists, qrels).runs.list_accounts.values()
    assert account.gaps == 1
    assert account.late == 0


def test_a_test_row_as_old_as_the_newest_training_row_is_no_forecast():
    found = leakage.time_travel(by_column([0, 0, 1, 1]), [5.0, 5.0, 5.0, 5.0])
    assert found is not None
    assert found.count == 4


def test_a_fold_with_far_more_positives_than_the_others_is_told():
    label = np.concatenate([np.repeat([1, 0], [80, 20]), np.repeat([1, 0], [20, 80])])
    assert leakage.base_rate(by_column(np.repeat([0, 1], 100)), label) is not None


def test_each_slice_has_its_own_difference_and_p():
    """200 forecasts by the systems x and y, half in the slice "a" and half in "b". The errors of x
    are small in a and large in b. A slice's difference of the mean absolute error and its p must be
    those of a study of the rows of this slice alone; p is drawn anew, and may be 20 % off.
    """
    spread_of_x = np.repeat([0.2, 2.0], N // 2)
    table = forecasts(x=DRAW.normal(size=N) * spread_of_x, y=DRAW.normal(size=N))
    table["where"] = np.repeat(["a", "b"], N // 2)
    by_slice_and_system = ek.rating(table, segments="where").by_segment
    # the rows of both systems have the same difference and p
    by_slice = by_slice_and_system.drop_duplicates("slice")
    for name, rows in table.groupby("where"):
        alone = ek.rating(rows.drop(columns="where"), baseline="y").comparisons
        expected = alone[alone["metric"] == "mae"].iloc[0]
        found = by_slice[by_slice["slice"] == name].iloc[0]
        # which system is first, and so the sign of the difference, may differ
        difference = abs(found["difference"])
        assert difference == pytest.approx(abs(expected["difference"]), rel=1e-12)
        assert found["p"] == pytest.approx(expected["p"], rel=0.2)


def test_more_systems_need_a_larger_difference_for_the_same_power():
    errors = {name: DRAW.normal(0, 1, N) for name in "abcd"}
    two = ek.rating(forecasts(**{k: errors[k] for k in "ab"}))
    four = ek.rating(forecasts(**errors))
    assert four.family_level == pytest.approx(1 - 0.05 / 6)
    assert four.would_show(four.primary_metric, ("a", "b")) > 1.2 * two.would_show(
        two.primary_metric, ("a", "b")
    )


def test_a_bound_is_a_gate_of_one_system():
    """A gate such as "mae.low >= 1.0" bounds the value of a metric or an end of its interval. Of
    four forecasts the errors are 1, 0, 2 and 1: the mean absolute error is 1 exactly. The gate
    names the systems that break its bound; the only one is called forecast, after its column.
    """
    table = pd.DataFrame({"actual": [3.0, 5, 4, 8], "forecast": [2.0, 5, 6, 7]})
    estimate = ek.rating(table, metrics="mae").estimates.iloc[0]
    low = float(estimate["low"])
    below_high = float(estimate["high"] - 1e-9)
    kept_bounds = ["mae.value >= 1.0", "mae.value <= 1.0", f"mae.low >= {low!r}"]
    for bound in kept_bounds:
        gate = ek.rating(table, metrics="mae", gate=bound).gate
        assert (gate.passed, gate.failed) == (True, []), bound
    broken_bounds = ["mae.value >= 1.0001", f"mae.high <= {below_high!r}"]
    for bound in broken_bounds:
        gate = ek.rating(table, metrics="mae", gate=bound).gate
        assert (gate.passed, gate.failed) == (False, ["forecast"]), bound


def test_blanks_around_a_bound_are_ignored():
    table = pd.DataFrame({"actual": [3.0, 5, 4, 8], "forecast": [2.0, 5, 6, 7]})
    assert ek.rating(table, metrics="mae", gate=" mae.value <= 1.0").gate.passed


def test_a_bound_of_several_systems_names_those_that_break_it():
    """Of the bundled systems, `gbm` alone has a lower limit of the AUC below 0.75."""
    gate = ek.classification(gate="roc_auc.low>=0.75").gate
    assert gate.words == "roc_auc.low>=0.75"
    assert gate.failed == ["gbm"]


def test_a_bound_of_0_is_kept_by_a_lower_limit_of_at_least_0():
    table = pd.DataFrame({"actual": [3.0, 5, 4, 8], "forecast": [2.0, 5, 6, 7]})
    study = ek.rating(table, metrics="mae", gate="mae.low >= 0")
    assert study.gate.passed == (study.estimates.iloc[0]["low"] >= 0)


@pytest.mark.parametrize(
    "gate, error",
    [
        ("rmse.low >= 1", "gate: the metric must be one of mae, got .rmse."),
        *(
            (bad, "gate must be a rule such as .* column [0-9]+: ")
            for bad in (
                "mae >= 1",
                "mae.low > 1",
                "mae.low >= x",
                "mae.low >= 1; rm",
                "mae.mid >= 1",
            )
        ),
    ],
)
def test_a_gate_that_is_none_is_refused(gate, error):
    with pytest.raises(ParameterError, match=error):
        ek.rating({"actual": [3.0, 5], "forecast": [2.0, 5]}, metrics="mae", gate=gate)


def test_a_gate_of_better_or_equivalent_fails_where_nothing_can_be_told():
    frame = forecasts(new=DRAW.normal(0, 1.0, N), old=DRAW.normal(0, 1.0, N))
    study = ek.rating(frame, baseline="old", gate="better or equivalent", margin=1e-6)
    assert study.headline["verdict"].tolist() == ["cannot tell"]
    assert not study.gate.passed


def test_queries_without_a_relevant_item_are_counted_as_undefined():
    runs = pd.DataFrame(
        {"query": ["q1", "q2", "q3"], "item": "d", "score": 1.0, "grade": [1, 0, 0]}
    )
    estimates = ek.ranking(runs, metrics="ndcg@10").estimates
    assert estimates["undefined"].tolist() == [2]


def test_a_costly_false_positive_raises_the_threshold_of_the_decision_curve():
    study = ek.classification(
        pd.DataFrame({"id": range(N), "label": TRUTH, "score": SCORE}), costs="fp=3,fn=1"
    )
    assert decision_curves.at_costs(study)["threshold"].unique().tolist() == [0.75]


def test_a_score_on_the_border_of_two_bars_of_the_histogram_stands_in_the_upper():
    """The histogram of scores has 25 bars of the width 0.04. Of four rows the two with the score
    0.2 stand on the border of the bars 0.16 to 0.20 and 0.20 to 0.24. The score 1 is in the last
    bar, which begins at 0.96.
    """
    counts = count(np.array([0.0, 0.2, 0.2, 1.0]), np.array([0, 0, 1, 1]))
    bars = reliability._spread("a", counts)
    rows_by_start_of_bar = {bar.low: bar.rows for bar in bars.itertuples() if bar.rows > 0}
    assert rows_by_start_of_bar == {0.0: 1, 0.2: 2, 0.96: 1}
