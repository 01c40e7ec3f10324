"""Small tables whose answers a user can work out, each where a slip in the code would change the page unseen."""

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.metrics.counts import count
from evalkit.offline import leakage
from evalkit.offline.splits import by_column
from evalkit.statistics.consistency import perfect
from evalkit.studies import reliability, score_curves

RNG = np.random.default_rng(60)
N = 200
LABEL = (RNG.random(N) < 0.4).astype(int)
SCORE = np.clip(0.3 + 0.3 * LABEL + RNG.normal(0, 0.15, N), 0.01, 0.99)


def forecasts(**errors):
    actual = RNG.normal(50, 5, N)
    return pd.DataFrame({"id": range(N), "actual": actual} | {f"forecast_{k}": actual + e for k, e in errors.items()})


def test_scores_that_are_far_off_have_a_small_p_but_never_0():
    c = count(np.full(50, 0.01), np.ones(50, int))
    assert perfect(c, lambda c: float(c.positives), rng=np.random.default_rng(1), draws=99).p == 0.01


def test_a_p_value_equal_to_one_minus_the_level_is_not_below_it():
    """Of the eight sign vectors of three gains two are as extreme as the data."""
    study = ek.significance(pd.DataFrame({"query": range(3), "a": [1.0, 2.0, 3.0], "b": 0.0}), level=0.75)
    assert study.comparisons.loc[0, ["p", "verdict"]].tolist() == [0.25, "cannot tell"]


def test_of_three_labels_the_one_of_fewest_rows_is_called_wrong():
    label = np.array(["yes", "no"] * 10 + ["maybe"])
    with pytest.raises(InputError, match=r"maybe.*row 21|row 21.*maybe"):
        ek.classification(pd.DataFrame({"id": range(21), "label": label, "score": 0.5}))


def test_the_third_system_must_have_the_labels_of_the_first():
    rows = [pd.DataFrame({"id": range(9), "system": name, "label": LABEL[:9], "score": SCORE[:9]}) for name in "abc"]
    rows[2].loc[4, "label"] = 1 - LABEL[4]
    with pytest.raises(InputError, match="label"):
        ek.classification(pd.concat(rows))


def test_lists_without_a_missing_rank_are_not_told_to_lack_one():
    lists = [
        (query, item, rank)
        for query, ranks in (("q1", (1, 2, 3)), ("q2", (1, 3)))
        for rank in ranks
        for item in [f"d{rank}"]
    ]
    qrels = pd.DataFrame([("q1", "d1", 1), ("q2", "d3", 1)], columns=["query", "item", "grade"])
    account = ek.ranking(pd.DataFrame(lists, columns=["query", "item", "rank"]), qrels).runs.accounts
    assert [(a.late, a.gaps) for a in account.values()] == [(0, 1)]


def test_a_test_row_as_old_as_the_newest_training_row_is_no_forecast():
    found = leakage.time_travel(by_column([0, 0, 1, 1]), [5.0, 5.0, 5.0, 5.0])
    assert found is not None
    assert found.count == 4


def test_a_fold_with_far_more_positives_than_the_others_is_told():
    label = np.concatenate([np.repeat([1, 0], [80, 20]), np.repeat([1, 0], [20, 80])])
    assert leakage.base_rate(by_column(np.repeat([0, 1], 100)), label) is not None


def test_each_slice_has_its_own_difference_and_p():
    noise = np.where(np.arange(N) < N // 2, 0.2, 2.0)
    frame = forecasts(x=RNG.normal(size=N) * noise, y=RNG.normal(size=N)).assign(where=np.repeat(["a", "b"], N // 2))
    whole = ek.rating(frame, segments="where").by_segment.drop_duplicates("slice")
    for name, part in frame.groupby("where"):
        alone = ek.rating(part.drop(columns="where"), baseline="y").comparisons
        alone = alone[alone["metric"] == "mae"].iloc[0]
        row = whole[whole["slice"] == name].iloc[0]
        assert abs(row["difference"]) == pytest.approx(abs(alone["difference"]), rel=1e-12)
        assert row["p"] == pytest.approx(alone["p"], rel=0.2)


def test_more_systems_need_a_larger_difference_for_the_same_power():
    errors = {name: RNG.normal(0, 1, N) for name in "abcd"}
    two, four = ek.rating(forecasts(**{k: errors[k] for k in "ab"})), ek.rating(forecasts(**errors))
    assert four.family_level == pytest.approx(1 - 0.05 / 6)
    assert four.would_show(four.primary, ("a", "b")) > 1.2 * two.would_show(two.primary, ("a", "b"))


def test_a_gate_of_better_or_equivalent_fails_where_nothing_can_be_told():
    frame = forecasts(new=RNG.normal(0, 1.0, N), old=RNG.normal(0, 1.0, N))
    study = ek.rating(frame, baseline="old", gate="better or equivalent", margin=1e-6)
    assert study.headline["verdict"].tolist() == ["cannot tell"]
    assert not study.gate["passed"]


def test_queries_without_a_relevant_item_are_counted_as_undefined():
    runs = pd.DataFrame({"query": ["q1", "q2", "q3"], "item": "d", "score": 1.0, "grade": [1, 0, 0]})
    estimates = ek.ranking(runs, metrics="ndcg@10").estimates
    assert estimates["undefined"].tolist() == [2]


def test_a_costly_false_positive_raises_the_threshold_of_the_decision_curve():
    study = ek.classification(pd.DataFrame({"id": range(N), "label": LABEL, "score": SCORE}), costs="fp=3,fn=1")
    assert score_curves.at_costs(study)["threshold"].unique().tolist() == [0.75]


def test_a_score_on_the_border_of_two_bars_of_the_histogram_stands_in_the_upper():
    c = count(np.array([0.0, 0.2, 0.2, 1.0]), np.array([0, 0, 1, 1]))
    frame = reliability._spread("a", c)
    assert frame.loc[frame["rows"] > 0, ["low", "rows"]].to_numpy().tolist() == [[0.0, 1], [0.2, 2], [0.96, 1]]
