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
from evalkit.numbers import number
from evalkit.pages import classification_page, first_screen, rating_page
from evalkit.studies import classification, diagnostics, interleaving, rating, significance

N = 60
CREDIT = Path(__file__).resolve().parents[1] / "data" / "german_credit" / "predictions.csv"


def forecasts(**errors: float) -> pd.DataFrame:
    """Systems that miss by their error, give or take a tenth."""
    rng = np.random.default_rng(3)
    actual = rng.normal(50, 5, N)
    columns = {
        f"forecast_{name}": actual + error * rng.uniform(0.9, 1.1, N)
        for name, error in errors.items()
    }
    return pd.DataFrame({"id": np.arange(N), "actual": actual} | columns)


def answer(study) -> str:
    """The sentence under the gate."""
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
    assert re.fullmatch(
        sentence, answer(rating.read(forecasts(**errors), metrics="mae", **options))
    )


def test_the_answer_names_the_systems_that_are_exactly_as_good():
    table = forecasts(a=1, b=2)
    table["forecast_c"] = table["forecast_a"]
    study = rating.read(table, metrics="mae")
    assert re.match(
        r"a has the lowest MAE, [\d.]+, the same as c, and is better than b; the data do not",
        answer(study),
    )


ROW = re.compile(r"<tr[^>]*><th scope=.row.*?</tr>")


def rows(study) -> list[str]:
    """The rows of the strip of results as HTML."""
    return ROW.findall(first_screen.strip(study).html)


def test_many_systems_are_a_tally_and_a_row_for_each_verdict():
    table = forecasts(best=0.1, **{f"m{i}": 1 + i for i in range(20)})
    study = rating.read(table, metrics="mae")
    assert answer(study).startswith("best is better than all 20 other systems")
    first, others, constant = rows(study)
    circles = [row.count("<circle") for row in (first, others, constant)]
    assert circles == [1, 20, 1]
    assert "20 systems" in others
    assert "m0, m1, m2 and 17 more" in others
    assert others.startswith('<tr class="worse">')
    against = rating.read(table, metrics="mae", baseline="m3")
    assert answer(against) == (
        "Against m3, by MAE: 4 systems are better than it; 16 systems are worse than it. Of the "
        "others, best is better than m0, the second best."
    )
    assert [row.count("<circle") for row in rows(against)] == [4, 1, 16, 1]
    assert "outside the family" in first_screen.verdict(against).text


def test_the_strip_has_the_values_and_the_differences_of_the_tables():
    study = rating.read(forecasts(a=1, b=2, c=3), metrics="mae")
    (table,) = first_screen.strip(study).tables
    assert [row[0].text for row in table.rows] == [*study.order, "(a constant)"]
    values = [row[1].numbers for row in table.rows[:3]]
    assert values == pytest.approx(study.estimates[["value", "low", "high"]].to_numpy(), abs=5e-3)
    lead = study.headline[["difference", "low", "high"]].to_numpy()
    differences = [row[2].numbers for row in table.rows[1:3]]
    # of the leader from the system, as in the table of differences
    assert differences == pytest.approx(lead, abs=5e-3)
    assert [row[3].text for row in table.rows] == ["lowest", "worse", "worse", ""]


def test_what_turns_the_answer_round_stands_beside_it():
    table = forecasts(a=9, b=12)
    study = rating.read(table, metrics="mae")
    constant = np.abs(table["actual"] - table["actual"].median()).mean()
    first, second = (
        line for line in first_screen.verdict(study).text.splitlines() if "MAE is" in line
    )
    assert first.startswith("No system beats a constant prediction: MAE is ")
    assert float(re.search(r"MAE is ([\d.]+)", first)[1]) == pytest.approx(constant, abs=0.01)
    assert second.startswith("a is better than b")
    some = first_screen.verdict(rating.read(forecasts(a=1, b=12), metrics="mae")).text
    assert "; b does not reach that." in some
    assert (
        "constant prediction"
        not in first_screen.verdict(rating.read(forecasts(a=1, b=2), metrics="mae")).text
    )


PENGUINS = Path(__file__).resolve().parents[1] / "data" / "penguins" / "predictions.csv"


def test_the_weakest_class_is_named_with_what_it_is_taken_for():
    study = classification.read(PENGUINS)
    table = pd.DataFrame(study.measured.confusion(study.leader).table, study.names, study.names)
    recall = pd.Series(np.diag(table), table.index) / table.sum(axis=1)
    name = recall.idxmin()
    instead = table.loc[name].drop(name).idxmax()
    share = table.loc[name, instead] / table.loc[name].sum()
    said = (
        f"is {name}: recall {number(recall[name], 2)} over {table.loc[name].sum():.0f} rows; "
        f"{share:.0%} of them are "
    )
    assert f"{said}predicted as {instead}." in first_screen.verdict(study).text
    of_page = classification_page.results(study).results
    weakest = {"noun": "class", "name": name, "n": table.loc[name].sum(), "instead": instead}
    assert of_page["weakest"] == weakest | {"recall": recall[name], "share": share}
    assert of_page["constant"] == pytest.approx(table.sum(axis=1).max() / table.to_numpy().sum())


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_tiny_and_huge_metrics_print_digits_that_differ(size):
    table = forecasts(a=1, b=1.2)
    table[["actual", "forecast_a", "forecast_b"]] *= size
    study = rating.read(table, metrics="mae")
    (_, high), (low, _) = study.estimates[["low", "high"]].to_numpy()
    assert high < low  # the intervals do not overlap
    numbers = re.findall(r"\d[\d,.]*\d", answer(study))
    assert len({text for text in numbers if "%" not in text}) == len(numbers) == 3
    cells = re.findall(r"<td[^>]*>(?:<b>)?([^ ]+) <wbr>", rating_page.estimates(study).html)
    assert cells[0] != cells[1]


def test_every_metric_of_the_catalogue_has_plain_words():
    metrics = [metric for table in lookup.TABLES.values() for metric in table.values()]
    assert [metric.name for metric in metrics if not metric.plain] == []
    assert [
        metric.name
        for metric in metrics
        if re.search(r"[Σ√²|/{}]", MetricAtK(metric, 5).plain.replace("1 / ", ""))
    ] == []
    assert MetricAtK(lookup.TABLES["rankings"]["ndcg"], 10).plain.startswith(
        "how close the first 10 items are to"
    )
    assert MetricAtK(lookup.TABLES["rankings"]["ndcg"]).plain.startswith(
        "how close all items are to"
    )


def test_a_row_says_what_equivalent_and_cannot_tell_rest_on():
    (_, alike, _) = rows(rating.read(forecasts(a=1, b=1), metrics="mae", margin=0.5))
    assert re.search(
        r"<strong>equivalent</strong><br><span class=.muted.>90% interval within ±0\.5<", alike
    )
    study = classification.read(CREDIT, metrics="roc_auc")
    above_0 = (study.headline["low"] > 0).tolist()
    assert above_0 == [False, True]
    assert set(study.headline["verdict"]) == {"cannot tell"}
    assert ["of this pair alone" in row for row in rows(study)[1:3]] == above_0
    assert ["adjusted p" in row for row in rows(study)[1:3]] == above_0


def test_the_two_best_candidates_are_compared_and_p_pays_for_picking_them():
    study = rating.read(forecasts(a=1, b=1.02, c=1.5, base=3), metrics="mae", baseline="base")
    (pair,) = diagnostics.best_two(study).to_dict("records")
    assert {pair["first"], pair["second"]} == {"a", "b"}
    plain = study.compare(study.primary, (pair["first"], pair["second"]))
    assert pair["p"] == plain.p_value
    assert pair["adjusted"] == pytest.approx(min(1.0, 3 * plain.p_value))
    assert rating_page.results(study).results["best_two"] == [pair]
    assert not len(
        diagnostics.best_two(rating.read(forecasts(a=1, base=3), metrics="mae", baseline="base"))
    )


ORDERS = pd.DataFrame(
    {"user": range(400), "arm": np.tile(["a", "b"], 200), "orders": np.arange(400) % 5 + 5}
)
ORDERS["orders"] += 3 * (ORDERS["arm"] == "b")
WIDE = pd.DataFrame({"unit": range(40), "a": np.linspace(1, 3, 40), "b": np.linspace(-4, -3, 40)})
SESSIONS = {"log": "data/interleaving/sessions.parquet", "neutral": "both", "world": "none"}


@pytest.mark.parametrize(
    "study, words",
    [
        (
            lambda: interleaving.read(users=ORDERS, metrics="orders", world="none").users,
            r".* \(42\.9% more\) .*",
        ),
        (lambda: significance.read(WIDE), "[^%]*"),  # values can be negative
        (lambda: rating.read(forecasts(a=1, b=20), metrics="r2"), "[^%]*"),
        (
            lambda: interleaving.read(**SESSIONS).log,
            "[^%]*better than[^%]*",
        ),  # what one of two gains the other loses
    ],
)
def test_a_per_cent_is_of_a_value_that_is_above_0_and_no_share_of_a_whole(study, words):
    assert re.fullmatch(words, answer(study()))


def test_long_names_are_shortened_in_the_answer_and_in_the_strip():
    table = forecasts(**{"a" * 150 + "1": 1, "a" * 150 + "2": 2, "b": 3})
    for options in ({}, {"baseline": "b"}):
        study = rating.read(table, metrics="mae", **options)
        shown = re.sub(
            "<title>.*?</title>", "", first_screen.verdict(study).html.split("<details>")[0]
        )
        assert "a" * 41 not in shown
        assert {"a…" + "a" * 18 + end in shown for end in "12"} == {True}
        assert len(answer(study)) < 350


def test_the_heading_names_the_input_or_is_what_the_parameter_says(tmp_path):
    forecasts(a=1, b=2).to_csv(tmp_path / "june <1>.csv", index=False)
    path = tmp_path / "june <1>.csv"
    assert rating_page.title(rating.read(path)).html.startswith(
        f"<h1>Rating report: {tmp_path.name}/<wbr>june &lt;1&gt;.csv</h1>"
    )
    options = {"title": "Tide <b>", "note": "Gauge 7 only.", "data_date": "June 2026"}
    named = rating_page.title(rating.read(path, **options))
    forecasts(a=1, b=2).assign(id=range(N, 2 * N)).to_csv(tmp_path / "july.csv", index=False)
    assert rating_page.title(rating.read([path, tmp_path / "july.csv"])).text.startswith(
        f"Rating report: {tmp_path.name}\n"
    )
    assert named.html.startswith("<h1>Tide &lt;b&gt;</h1>")
    assert named.text.splitlines()[2:] == ["Gauge 7 only.", "Data of June 2026"]


def test_a_system_that_is_worse_by_another_metric_is_told():
    rng = np.random.default_rng(6)
    actual = rng.normal(0, 1, 300)
    seldom = actual + np.where(np.arange(300) % 10, 0.01, 3.0)
    often = actual + rng.choice([-0.5, 0.5], 300)
    frame = pd.DataFrame({"actual": actual, "forecast_seldom": seldom, "forecast_often": often})
    study = rating.read(frame, metrics="mae,rmse")
    (finding,) = [
        finding for finding in rating_page.every_finding(study) if finding.kind.code == "EK407"
    ]
    row = study.comparisons[study.comparisons["metric"] == "rmse"].iloc[0]
    assert (row["first"], row["second"], row["verdict"]) == ("seldom", "often", "worse")
    assert finding.message == (
        "The answer depends on the metric: seldom is significantly worse than often by rmse "
        f"({number(row['difference'], 2)} higher), while it is better by mae."
    )
    assert not len(diagnostics.contrary(rating.read(frame, metrics="mae")))


def partly_shared(**more: float) -> pd.DataFrame:
    """Values of b of all units, and of a, each a little lower, of the forty with the larger
    ones.
    """
    rng = np.random.default_rng(5)
    b = np.r_[rng.random(30) * 0.2, 0.6 + rng.random(30) * 0.2]
    a = np.where(np.arange(60) < 20, np.nan, b - 0.05 + rng.normal(0, 0.02, 60))
    return pd.DataFrame(
        {"a": a, "b": b} | {name: b + by + rng.normal(0, 0.05, 60) for name, by in more.items()}
    )


def test_systems_on_different_units_are_compared_on_those_that_both_have():
    assert answer(significance.read(partly_shared())) == (
        "a has lower value than b: over the 40 rows that both have, value differs by −0.05."
    )
    assert answer(significance.read(partly_shared(c=-0.2))) == (
        "a has the highest value, 0.50, and is higher than c; it is lower than b over the rows "
        "that both have."
    )


@pytest.mark.parametrize(
    ("side", "alone", "of_each"),
    [
        ("greater", "that a is above null 0.5", "that c, a or b is above it"),
        ("less", "that a is below null 0.5", "that c, a or b is below it"),
        ("two-sided", "whether a or null 0.5 is better", "whether c, a or b is better or worse"),
    ],
)
def test_a_one_sided_test_shows_one_side_alone(side, alone, of_each):
    several = pd.DataFrame(
        {"system": ["a", "b", "c"], "successes": [45, 40, 38], "trials": [100, 90, 80]}
    )
    options = {"null": 0.5, "alternative": side}
    assert answer(significance.read(several[:1], **options)).startswith(
        f"The data do not show {alone}: "
    )
    assert f"the data do not show {of_each}." in answer(significance.read(several, **options))


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
