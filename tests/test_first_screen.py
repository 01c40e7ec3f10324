"""The first screen: who is better and by how much, what turns it round, the strip of results, the
method folded.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalkit.catalogue import lookup
from evalkit.catalogue.metric import MetricAtK
from evalkit.findings import kinds
from evalkit.numbers import number
from evalkit.pages import classification_page, first_screen, rating_page
from evalkit.studies import classification, diagnostics, interleaving, rating, significance

N = 60
CREDIT_PREDICTIONS = (
    Path(__file__).resolve().parents[1] / "data" / "german_credit" / "predictions.csv"
)


def forecasts_with_maes(**errors: float) -> pd.DataFrame:
    """60 rows with an actual value around 50 and the forecast of each system, which exceeds it by
    the system's error, give or take up to a tenth: forecasts_with_maes(a=1, b=2) has an MAE of
    about 1 for a and 2 for b.
    """
    rng = np.random.default_rng(3)
    actual = rng.normal(50, 5, N)
    columns = {
        f"forecast_{name}": actual + error * rng.uniform(0.9, 1.1, N)
        for name, error in errors.items()
    }
    return pd.DataFrame({"id": np.arange(N), "actual": actual} | columns)


def answer(study) -> str:
    """The first sentence of the first screen, below the gate if there is one."""
    return next(
        line
        for line in first_screen.verdict(study).text.splitlines()
        if not line.startswith("gate")
    )


MARGIN = {"margin": 0.5}
LOWEST, NOT_SHOWN = (
    r"[abc] has the lowest MAE, [\d.]+",
    "the data do not show that it is better than",
)
AGAINST = (
    r"Against b, by MAE: a is better than it; c is worse than it; the data do not show whether d "
    r"is better or "
    r"worse\. Of the others, a is better than d, the second best\."
)


@pytest.mark.parametrize(
    "errors, options, sentence",
    [
        (
            {"a": 1, "b": 2},
            {},
            r"a is better than b: MAE is 1\.\d+ \(\d\d\.\d% less\) instead of \d\.\d+\.",
        ),
        (
            {"a": 2, "b": 1},
            {"baseline": "b"},
            r"a is worse than b: MAE is .* \(\d+\.\d% more\) instead of .*",
        ),
        (
            {"a": 1, "b": 1},
            {},
            r"The data do not show whether [ab] or [ab] is better: MAE is [\d.]+ and [\d.]+\.",
        ),
        (
            {"a": 1, "b": 1},
            MARGIN,
            r"[ab] and [ab] are equivalent in MAE: .*, and the 90% interval .* within ±0\.5\.",
        ),
        (
            {"a": 1, "b": 2, "c": 3},
            {},
            r"a is better than both other systems: it has the lowest MAE, [\d.]+\.",
        ),
        ({"a": 1, "b": 1, "c": 3}, {}, rf"{LOWEST}, and is better than c; {NOT_SHOWN} [ab]\."),
        (
            {"a": 1, "b": 1, "c": 3},
            MARGIN,
            rf"{LOWEST}, and is better than c and equivalent to [ab] \(within ±.*",
        ),
        ({"a": 1, "b": 1, "c": 1}, {}, rf"{LOWEST}, but {NOT_SHOWN} [abc] or [abc]\."),
        ({"a": 1, "b": 2, "c": 3, "d": 2}, {"baseline": "b"}, AGAINST),
    ],
)
def test_the_answer_says_who_is_better_and_by_how_much(errors, options, sentence):
    """The MAE of a system is about its error. Systems of one error are too alike to say which is
    better, and so equivalent within a margin of 0.5; which of them is named first is chance.
    """
    study = rating.read(forecasts_with_maes(**errors), metrics="mae", **options)
    assert re.fullmatch(sentence, answer(study))


def test_the_answer_names_a_system_that_is_exactly_as_good_as_the_best():
    """The system a has an MAE of about 1, b one of about 2, and c the forecasts of a. The sentence
    goes on: "the data do not show that it is better than c".
    """
    table = forecasts_with_maes(a=1, b=2)
    table["forecast_c"] = table["forecast_a"]
    study = rating.read(table, metrics="mae")
    assert re.match(
        r"a has the lowest MAE, [\d.]+, the same as c, and is better than b; the data do not",
        answer(study),
    )


ROW = re.compile(r"<tr[^>]*><th scope=.row.*?</tr>")


def rows_of_strip(study) -> list[str]:
    """The rows of the strip of results as HTML: systems, or groups of many systems with one
    verdict, in order of their values, and last the constant prediction.
    """
    return ROW.findall(first_screen.strip(study).html)


@pytest.fixture(scope="module")
def forecasts_of_21_systems():
    """best, with an error of 0.1, and m0, m1, ..., m19, with errors of 1, 2, ..., 20."""
    return forecasts_with_maes(best=0.1, **{f"m{i}": 1 + i for i in range(20)})


def test_many_systems_with_one_verdict_are_counted_and_share_a_row(forecasts_of_21_systems):
    """The system best has the lowest MAE, and m0 to m19 have a higher one each: 20 systems of one
    verdict, worse. The answer counts them, and they share a row of the strip of results, with a
    circle for the MAE of each. The last row of a strip is that of a constant prediction, to which
    all systems can be compared.
    """
    study = rating.read(forecasts_of_21_systems, metrics="mae")
    assert answer(study).startswith("best is better than all 20 other systems")
    best, others, constant = rows_of_strip(study)
    assert [row.count("<circle") for row in (best, others, constant)] == [1, 20, 1]
    assert "20 systems" in others
    assert "m0, m1, m2 and 17 more" in others
    assert others.startswith('<tr class="worse">')


def test_many_systems_are_counted_by_their_verdicts_against_a_baseline(forecasts_of_21_systems):
    """The MAE rises from best over m0, m1, ... to m19. Against the baseline m3, the four systems
    best, m0, m1 and m2 are better and the sixteen m4 to m19 worse. The strip of results has a row
    for the better systems, the baseline, the worse ones and, last, a constant prediction. The
    comparison of the two best systems is none of the 20 with the baseline, for which p is adjusted
    together: the page says that it is outside this family of tests.
    """
    study = rating.read(forecasts_of_21_systems, metrics="mae", baseline="m3")
    assert answer(study) == (
        "Against m3, by MAE: 4 systems are better than it; 16 systems are worse than it. Of the "
        "others, best is better than m0, the second best."
    )
    better, baseline, worse, constant = rows_of_strip(study)
    circles = [row.count("<circle") for row in (better, baseline, worse, constant)]
    assert circles == [4, 1, 16, 1]  # one for each system
    assert "outside the family" in first_screen.verdict(study).text


def test_the_strip_has_the_values_and_the_differences_of_the_tables():
    """The systems a, b and c have MAEs of about 1, 2 and 3. The strip has a row for each of them
    and a last one for a constant prediction. Its columns are the system, its value, its difference
    and its verdict; a cell has a number with its limits. A difference is the value of the leader,
    a, less that of the system, as in the study's table `headline`. Numbers of the strip are
    rounded, which is what the tolerance of 0.005 is for.
    """
    study = rating.read(forecasts_with_maes(a=1, b=2, c=3), metrics="mae")
    (table,) = first_screen.strip(study).tables
    names, values, differences, verdicts = zip(*table.rows, strict=True)
    assert [cell.text for cell in names] == ["a", "b", "c", "(a constant)"]
    assert [cell.text for cell in verdicts] == ["lowest", "worse", "worse", ""]
    shown_values = [cell.numbers for cell in values[:3]]
    expected_values = study.estimates[["value", "low", "high"]].to_numpy()
    assert shown_values == pytest.approx(expected_values, abs=5e-3)
    shown_differences = [cell.numbers for cell in differences[1:3]]
    expected_differences = study.headline[["difference", "low", "high"]].to_numpy()
    assert shown_differences == pytest.approx(expected_differences, abs=5e-3)


def lines_with_mae(study):
    """The lines of the first screen with a value of the MAE."""
    return [line for line in first_screen.verdict(study).text.splitlines() if "MAE is" in line]


def test_that_no_system_beats_a_constant_stands_before_the_answer():
    """The constant prediction is the median of the actual values. Their standard deviation is 5, so
    that its MAE is below 5; the systems have MAEs of 9 and 12.
    """
    table = forecasts_with_maes(a=9, b=12)
    mae_of_median = np.abs(table["actual"] - table["actual"].median()).mean()
    about_constant, about_systems = lines_with_mae(rating.read(table, metrics="mae"))
    assert about_constant.startswith("No system beats a constant prediction: MAE is ")
    shown = float(re.search(r"MAE is ([\d.]+)", about_constant)[1])
    assert shown == pytest.approx(mae_of_median, abs=0.01)
    assert about_systems.startswith("a is better than b")


def test_a_system_that_does_not_beat_a_constant_is_named():
    study = rating.read(forecasts_with_maes(a=1, b=12), metrics="mae")
    assert "; b does not reach that." in first_screen.verdict(study).text


def test_a_constant_that_all_systems_beat_is_not_mentioned():
    study = rating.read(forecasts_with_maes(a=1, b=2), metrics="mae")
    assert "constant prediction" not in first_screen.verdict(study).text


PENGUIN_PREDICTIONS = Path(__file__).resolve().parents[1] / "data" / "penguins" / "predictions.csv"


def confusion_of_leader(study):
    """The rows of each actual class (index) by predicted class (columns)."""
    return pd.DataFrame(study.measured.confusion(study.leader).table, study.names, study.names)


def test_the_weakest_class_is_named_with_the_class_that_is_most_often_predicted_instead():
    """The weakest class of the best classifier of penguins is the one with the lowest recall. It,
    its recall and the class that is most often predicted in its place, all computed here from the
    confusion matrix, are in a sentence of the first screen and in the results of the page.
    """
    study = classification.read(PENGUIN_PREDICTIONS)
    confusion = confusion_of_leader(study)
    n_rows = confusion.sum(axis=1)
    recall = pd.Series(np.diag(confusion), confusion.index) / n_rows
    weakest = recall.idxmin()
    instead = confusion.loc[weakest].drop(weakest).idxmax()
    share = confusion.loc[weakest, instead] / n_rows[weakest]
    assert (
        f"is {weakest}: recall {number(recall[weakest], 2)} over {n_rows[weakest]:.0f} rows; "
        f"{share:.0%} of them are predicted as {instead}."
    ) in first_screen.verdict(study).text
    assert classification_page.results(study).results["weakest"] == {
        "noun": "class",
        "name": weakest,
        "n": n_rows[weakest],
        "recall": recall[weakest],
        "instead": instead,
        "share": share,
    }


def test_the_constant_of_classes_is_the_share_of_the_most_frequent_one():
    study = classification.read(PENGUIN_PREDICTIONS)
    n_rows = confusion_of_leader(study).sum(axis=1)
    constant = classification_page.results(study).results["constant"]
    assert constant == pytest.approx(n_rows.max() / n_rows.sum())


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_tiny_and_huge_metrics_print_digits_that_differ(size):
    """The MAE is about `size` for a and 1.2 times as much for b; their intervals do not overlap.
    Numbers that differ significantly must also differ as they are printed, however small or large
    they are: in the answer and in the table of estimates.
    """
    table = forecasts_with_maes(a=1, b=1.2)
    table[["actual", "forecast_a", "forecast_b"]] *= size
    study = rating.read(table, metrics="mae")
    limits = study.estimates.set_index("system")[["low", "high"]]
    assert limits.loc["a", "high"] < limits.loc["b", "low"]
    # the answer has three numbers: "MAE is ... (...% less) instead of ..."
    numbers_of_answer = re.findall(r"\d[\d,.]*\d", answer(study))
    assert len(numbers_of_answer) == 3
    assert len(set(numbers_of_answer)) == 3
    value_in_cell = r"<td[^>]*>(?:<b>)?([^ ]+) <wbr>"
    of_a, of_b, *_ = re.findall(value_in_cell, rating_page.estimates(study).html)
    assert of_a != of_b


METRICS = [metric for table in lookup.TABLES.values() for metric in table.values()]


def test_every_metric_of_the_catalogue_has_plain_words():
    assert [metric.name for metric in METRICS if not metric.plain] == []


def test_plain_words_have_no_formula_but_1_over_something():
    words = {metric.name: MetricAtK(metric, 5).plain.replace("1 / ", "") for metric in METRICS}
    assert [name for name, text in words.items() if re.search(r"[Σ√²|/{}]", text)] == []


@pytest.mark.parametrize(
    "k, beginning",
    [(10, "how close the first 10 items are to"), (None, "how close all items are to")],
)
def test_plain_words_name_the_cut_off(k, beginning):
    ndcg = lookup.TABLES["rankings"]["ndcg"]
    assert MetricAtK(ndcg, k).plain.startswith(beginning)


def test_a_row_says_within_which_margin_systems_are_equivalent():
    study = rating.read(forecasts_with_maes(a=1, b=1), metrics="mae", margin=0.5)
    _best, second, _constant = rows_of_strip(study)
    assert re.search(
        r"<strong>equivalent</strong><br><span class=.muted.>90% interval within ±0\.5<", second
    )


def test_a_row_explains_why_an_interval_without_0_does_not_tell_which_system_is_better():
    """Of three models of credit, forest has the highest AUC. Its difference from logistic has an
    interval with 0; that from gbm has one without 0, but it is of this pair alone, and the p-value
    adjusted for both pairs is above 0.05. Both verdicts are "cannot tell"; only the row of gbm
    needs an explanation.
    """
    study = classification.read(CREDIT_PREDICTIONS, metrics="roc_auc")
    assert study.headline["verdict"].tolist() == ["cannot tell", "cannot tell"]
    assert study.headline["second"].tolist() == ["logistic", "gbm"]
    assert (study.headline["low"] > 0).tolist() == [False, True]
    _forest, with_0, without_0, *_ = rows_of_strip(study)
    assert "of this pair alone" not in with_0
    assert "adjusted p" not in with_0
    assert "of this pair alone" in without_0
    assert "adjusted p" in without_0


def test_the_two_best_systems_other_than_the_baseline_are_compared():
    """The baseline is compared with each of a, b and c. The two best of these, a and b, are also
    compared with each other. They were chosen out of the three pairs of a, b and c, so that p is
    multiplied by 3 (Bonferroni).
    """
    study = rating.read(
        forecasts_with_maes(a=1, b=1.02, c=1.5, base=3), metrics="mae", baseline="base"
    )
    (pair,) = diagnostics.best_two_comparison(study).to_dict("records")
    assert {pair["first"], pair["second"]} == {"a", "b"}
    comparison = study.compare(study.primary_metric, (pair["first"], pair["second"]))
    assert pair["p"] == comparison.p_value
    assert pair["adjusted"] == pytest.approx(min(1.0, 3 * comparison.p_value))
    assert rating_page.results(study).results["best_two"] == [pair]


def test_one_system_beside_the_baseline_is_compared_with_no_other():
    study = rating.read(forecasts_with_maes(a=1, base=3), metrics="mae", baseline="base")
    assert not len(diagnostics.best_two_comparison(study))


def test_the_answer_has_a_percentage_of_a_positive_amount():
    """Mean orders are 7 in a and 10 in b, 3/7 more."""
    arm = np.tile(["a", "b"], 200)
    orders = np.arange(400) % 5 + 5 + 3 * (arm == "b")
    table = pd.DataFrame({"user": range(400), "arm": arm, "orders": orders})
    study = interleaving.read(users=table, metrics="orders", world="none").users
    assert re.fullmatch(r".* \(42\.9% more\) .*", answer(study))


def test_the_answer_has_no_percentage_of_values_that_can_be_negative():
    table = pd.DataFrame(
        {"unit": range(40), "a": np.linspace(1, 3, 40), "b": np.linspace(-4, -3, 40)}
    )
    assert "%" not in answer(significance.read(table))
    assert "%" not in answer(rating.read(forecasts_with_maes(a=1, b=20), metrics="r2"))


def test_the_answer_has_no_percentage_of_shares_that_add_up_to_a_whole():
    """What one of two rankers gains the other loses."""
    log = "data/interleaving/sessions.parquet"
    study = interleaving.read(log=log, neutral="both", world="none").log
    assert "better than" in answer(study)
    assert "%" not in answer(study)


@pytest.mark.parametrize("options", [{}, {"baseline": "b"}], ids=["no baseline", "a baseline"])
def test_long_names_are_shortened_in_the_answer_and_in_the_strip(options):
    """Two names of 151 characters differ in the last one alone. They are cut to their first 40 and
    last 19 characters, joined by "…", so that they can still be told apart. Only the titles of
    marks, which are shown on hover, have the whole names. `options` may name the
    baseline b; the answer then has four names, which would be 604 characters if they were whole.
    """
    table = forecasts_with_maes(**{"a" * 150 + "1": 1, "a" * 150 + "2": 2, "b": 3})
    study = rating.read(table, metrics="mae", **options)
    not_folded = first_screen.verdict(study).html.split("<details>")[0]
    visible = re.sub("<title>.*?</title>", "", not_folded)
    assert "a" * 41 not in visible
    assert "a…" + "a" * 18 + "1" in visible
    assert "a…" + "a" * 18 + "2" in visible
    assert len(answer(study)) < 350


@pytest.fixture
def june(tmp_path):
    """The path of a CSV file of forecasts, whose name has characters of HTML."""
    path = tmp_path / "june <1>.csv"
    forecasts_with_maes(a=1, b=2).to_csv(path, index=False)
    return path


def test_the_heading_names_the_input(june):
    assert rating_page.title(rating.read(june)).html.startswith(
        f"<h1>Rating report: {june.parent.name}/<wbr>june &lt;1&gt;.csv</h1>"
    )


def test_the_heading_names_the_folder_of_several_files(june):
    july = june.with_name("july.csv")
    forecasts_with_maes(a=1, b=2).assign(id=range(N, 2 * N)).to_csv(july, index=False)
    heading = rating_page.title(rating.read([june, july])).text
    assert heading.startswith(f"Rating report: {june.parent.name}\n")


def test_a_title_a_note_and_a_date_can_be_given(june):
    """The title replaces the name of the input; note and date are the lines after the second."""
    options = {"title": "Tide <b>", "note": "Gauge 7 only.", "data_date": "June 2026"}
    heading = rating_page.title(rating.read(june, **options))
    assert heading.html.startswith("<h1>Tide &lt;b&gt;</h1>")
    assert heading.text.splitlines()[2:] == ["Gauge 7 only.", "Data of June 2026"]


@pytest.fixture
def rare_and_frequent_errors():
    """Forecasts of 300 rows: `seldom` errs by 3 on every tenth row and by 0.01 on the others, an
    MAE of 0.31 and an RMSE of 0.95; `often` errs by 0.5 on each row.
    """
    rng = np.random.default_rng(6)
    actual = rng.normal(0, 1, 300)
    seldom = actual + np.where(np.arange(300) % 10, 0.01, 3.0)
    often = actual + rng.choice([-0.5, 0.5], 300)
    return pd.DataFrame({"actual": actual, "forecast_seldom": seldom, "forecast_often": often})


def test_a_finding_says_that_the_better_system_is_worse_by_another_metric(rare_and_frequent_errors):
    """The forecasts `seldom` have a few large errors, `often` has many small ones: `seldom` has the
    lower MAE, 0.31 instead of 0.5, and the higher RMSE, 0.95 instead of 0.5.
    """
    study = rating.read(rare_and_frequent_errors, metrics="mae,rmse")
    findings = rating_page.every_finding(study)
    (finding,) = [
        finding for finding in findings if finding.kind.code == kinds.METRICS_DISAGREE.code
    ]
    (row,) = study.comparisons.query("metric == 'rmse'").to_dict("records")
    assert (row["first"], row["second"], row["verdict"]) == ("seldom", "often", "worse")
    assert finding.message == (
        "The answer depends on the metric: seldom is significantly worse than often by rmse "
        f"({number(row['difference'], 2)} higher), while it is better by mae."
    )


def test_no_comparison_contradicts_that_of_a_single_metric(rare_and_frequent_errors):
    study = rating.read(rare_and_frequent_errors, metrics="mae")
    assert not len(diagnostics.contradicting_comparisons(study))


def values_of_partly_shared_rows(**further_systems: float) -> pd.DataFrame:
    """Values of 60 rows. b has all of them: 30 from 0 to 0.2 and 30 from 0.6 to 0.8. a has the last
    40 alone, with values that are lower by about 0.05, but a higher mean, as it lacks 20 of the
    small ones. Further systems have all rows and differ from b by so much.
    """
    rng = np.random.default_rng(5)
    b = np.r_[rng.random(30) * 0.2, 0.6 + rng.random(30) * 0.2]
    a = np.where(np.arange(60) < 20, np.nan, b - 0.05 + rng.normal(0, 0.02, 60))
    further_columns = {
        name: b + difference + rng.normal(0, 0.05, 60)
        for name, difference in further_systems.items()
    }
    return pd.DataFrame({"a": a, "b": b} | further_columns)


def test_two_systems_on_different_rows_are_compared_on_those_that_both_have():
    assert answer(significance.read(values_of_partly_shared_rows())) == (
        "a has lower value than b: over the 40 rows that both have, value differs by −0.05."
    )


def test_the_system_with_the_highest_mean_may_be_lower_than_another_on_shared_rows():
    assert answer(significance.read(values_of_partly_shared_rows(c=-0.2))) == (
        "a has the highest value, 0.50, and is higher than c; it is lower than b over the rows "
        "that both have."
    )


@pytest.mark.parametrize(
    ("alternative", "of_one_system", "of_three_systems"),
    [
        ("greater", "that a is above null 0.5", "that c, a or b is above it"),
        ("less", "that a is below null 0.5", "that c, a or b is below it"),
        ("two-sided", "whether a or null 0.5 is better", "whether c, a or b is better or worse"),
    ],
)
def test_a_one_sided_test_says_which_side_the_data_do_not_show(
    alternative, of_one_system, of_three_systems
):
    """The systems a, b and c succeeded in 45 of 100, 40 of 90 and 38 of 80 trials; no share differs
    significantly from the null of 0.5. A test with the alternative "greater" asks whether a share
    is above 0.5, "less" whether it is below, "two-sided" whether it differs; the answer says that
    the data do not show this, of a alone and of all three.
    """
    table = pd.DataFrame(
        {"system": ["a", "b", "c"], "successes": [45, 40, 38], "trials": [100, 90, 80]}
    )
    options = {"null": 0.5, "alternative": alternative}
    answer_of_one = answer(significance.read(table[:1], **options))
    assert answer_of_one.startswith(f"The data do not show {of_one_system}: ")
    answer_of_three = answer(significance.read(table, **options))
    assert f"the data do not show {of_three_systems}." in answer_of_three


def test_a_strip_with_one_place_alone_has_an_axis():
    """No threshold reaches the precision: the constant's 1 is all that is there."""
    table = pd.DataFrame({"label": [0, 1, 1, 1, 0, 1], "score": np.linspace(0.9, 0.1, 6)})
    study = classification.read(table, threshold="precision>=0.99", metrics="precision,recall")
    assert "precision is –" in str(study)


def predicted_by(share):
    """Forecasts of two systems in rows of their own; the second predicts a share of the rows."""
    rng = np.random.default_rng(0)
    actual = rng.normal(size=100)
    columns = {"id": range(100), "system": "a", "actual": actual, "forecast": actual + 1}
    first = pd.DataFrame(columns)
    second = first.assign(system="b", forecast=actual + 2).head(round(share * 100))
    return pd.concat([first, second])


def test_the_first_sentence_says_that_few_rows_could_be_used():
    study = rating.read(predicted_by(0.8), metrics="mae")
    assert "of the rows could be used" in first_screen.verdict(study).text.split("\n")[0]


def test_the_first_sentence_says_nothing_of_a_few_rows_that_are_not_used():
    study = rating.read(predicted_by(0.98), metrics="mae")
    assert "could be used" not in first_screen.verdict(study).text
