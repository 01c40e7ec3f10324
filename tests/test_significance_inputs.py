"""The significance study on every kind of input, and what it refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from significance_tables import long, rng, told, wide

from evalkit.arrays import InputError, ParameterError
from evalkit.pages import page, significance_page
from evalkit.statistics import methods, proportions
from evalkit.statistics import significance as sig
from evalkit.studies import paired, significance

ROOT = Path(__file__).resolve().parents[1]


def coin() -> pd.DataFrame:
    return pd.DataFrame({"successes": [8], "trials": [10]})


def chances(**columns) -> pd.DataFrame:
    """Two rows of one system."""
    return pd.DataFrame({"id": ["x", "y"], "y_true": [1, 0], "y_score": [0.7, 0.2]} | columns)


def uneven() -> pd.DataFrame:
    """Ten users of two rows who lose by 1, ten of forty rows who win by about 1."""
    size = np.repeat([2, 40], 10)
    user = np.repeat(np.arange(20), size)
    return pd.DataFrame(
        {"user": user, "a": np.where(size[user] > 2, 1.0, -1.0) + rng(6).normal(0, 0.1, user.size), "b": 0.0}
    )


def test_other_tests_are_of_the_same_mean_and_sizes_are_of_units():
    study = significance.read(uneven(), unit="user")
    row, others, d = study.comparisons.iloc[0], paired.other_tests(study).iloc[0], study.differences()
    assert row["difference"] > 0.8 > 0.1 > abs(d.mean())
    assert max(row["p"], others["t"], others["bootstrap"]) < 0.01
    measured = [study.measure(study.primary, name) for name in study.opponents]
    assert others["t"] == pytest.approx(methods.t_test(*measured, study.inference_options(2)).p_value)
    assert "t and bootstrap take whole users, the other" in significance_page.other_tests(study).html
    sizes = paired.effects(study).iloc[0]
    assert (sizes["wins"], sizes["ties"], sizes["losses"]) == (10, 0, 10)
    assert sizes["standardised"] == pytest.approx(d.mean() / d.std())
    assert sizes["difference"] == pytest.approx(row["difference"])
    assert "Mean over rows, whole users as units, with its 95% interval" in significance_page.estimates(study).text


def test_folds_take_the_corrected_t():
    table = pd.DataFrame({"fold": range(10), "a": rng(5).normal(0.82, 0.02, 10), "b": rng(6).normal(0.8, 0.02, 10)})
    row, d = significance.read(table, test_to_train=1 / 9).comparisons.iloc[0], (table["a"] - table["b"]).to_numpy()
    assert row["p"] == pytest.approx(sig.nadeau_bengio(d, train=9, test=1).p_value)
    assert row["p"] > sig.paired_t(d).p_value


def test_less_is_better_where_it_is_said_or_known():
    table = wide()
    assert significance.read(table).comparisons.iloc[0]["first"] == "a"
    less = significance.read(table, metrics="cost", lower_is_better="cost").comparisons.iloc[0]
    assert less[["first", "second", "verdict"]].tolist() == ["b", "a", "better"]
    for known in ("log_loss", "rmse", "mae", "hamming_loss"):
        assert significance.read(table, metrics=known).leader == "b"


def predictions(users=30, each=8) -> pd.DataFrame:
    """Chances of two systems on rows of users, whose rows one of them has right together."""
    rows = np.arange(users * each)
    user, label = rows // each, rng(8).integers(0, 2, rows.size)
    better = rng(9).normal(0, 0.2, users)[user]
    sides = {"a": 0.5 + (2 * label - 1) * np.clip(better, -0.4, 0.4), "b": np.full(rows.size, 0.5)}
    shared = {"id": rows, "user": user, "label": label}
    return pd.concat([pd.DataFrame(shared | {"system": name, "score": p}) for name, p in sides.items()])


def test_chances_of_one_unit_are_flipped_together():
    table = predictions()
    row, user = (significance.read(table, metrics="brier", unit=u).comparisons.iloc[0] for u in (None, "user"))
    assert (row["n"], row["unit"], user["n"], user["unit"]) == (240, "row", 30, "user")
    assert user["difference"] == pytest.approx(row["difference"])
    assert "score = score, unit = user." in told(significance.read(table, unit="user"))
    assert user["high"] - user["low"] > 2 * (row["high"] - row["low"])
    assert significance.read(table, unit="id").unit_name == "row"


def test_rows_that_another_system_lacks_are_told():
    study = significance.read(predictions().iloc[:-7])
    assert study.comparisons["n"].tolist() == [233, 233]
    assert "7 rows left out: another system lacks their id." in told(study)


def test_queries_that_a_run_lacks_are_told(tmp_path):
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(9)))
    (tmp_path / "a.run").write_text("".join(f"q{i} Q0 d{i} 1 1.0 a\n" for i in range(9)))
    (tmp_path / "b.run").write_text("".join(f"q{i} Q0 d{i} 1 1.0 b\n" for i in range(4, 10)))
    study = significance.read(f"{tmp_path}/a.run,{tmp_path}/b.run", str(tmp_path / "qrels.txt"), metrics="mrr")
    assert study.comparisons.iloc[0]["difference"] == pytest.approx(4 / 9)
    assert "Judged queries missing from a run count as 0: b 4." in told(study)
    assert "Queries without judgements are left out: b 1." in told(study)


def test_metrics_of_chances_are_defined_as_the_catalogue_has_them():
    shown = significance_page.definitions(significance.read(predictions())).text
    assert "brier: mean (probability − label)²" in shown
    assert "the mean of the values in the input" not in shown
    assert "the mean of the values in the input" in significance_page.definitions(significance.read(wide())).text


@pytest.mark.parametrize(
    "heads, alternative, p, word",
    [
        (8, "greater", 0.0546875, "cannot tell"),
        (9, "greater", 0.0107421875, "better"),
        (8, "two-sided", 0.109375, "cannot tell"),
        (9, "two-sided", 0.021484375, "better"),
        (1, "less", 0.0107421875, "worse"),
    ],
)
def test_the_coin(heads, alternative, p, word):
    table = pd.DataFrame({"successes": [heads], "trials": [10]})
    row = significance.read(table, null=0.5, alternative=alternative).headline.iloc[0]
    assert row["p"] == pytest.approx(p, abs=1e-12)
    assert (row["verdict"], row["unit"], row["n"]) == (word, "trial", 10)
    assert (row["p"] < 0.05) == (not row["low"] <= 0 <= row["high"])


def test_independent_shares():
    table = pd.DataFrame({"arm": ["A", "B"], "successes": [56, 48], "trials": [70, 80]})
    row = significance.read(table).comparisons.iloc[0]
    assert row["p"] == pytest.approx(0.0080451, abs=5e-8)
    assert (row["low"], row["high"]) == pytest.approx((0.0533, 0.3377), abs=5e-5)
    assert row["p_fisher"] == pytest.approx(proportions.fisher(56, 70, 48, 80).p_value)
    assert page.differences(significance.read(table)).caption.startswith("Differences")


# Errors


OF_UNITS = ({"looks": 2}, {"test_to_train": 0.1}, {"systems": "a"}, {"unit": "user"}, {"metrics": "m"})
NO_B, NO_TRIAL = wide(b=np.nan), pd.DataFrame({"arm": ["A", "B"], "successes": [5, 0], "trials": [9, 0]})
NO_FOLD = pd.DataFrame({"fold": range(5), "a": 0.1, "b": np.nan})


@pytest.mark.parametrize(  # a bad cell of each column is refused by `bad_inputs`
    "table, asked, message",
    [
        (wide()[["query"]], {}, "no column holds numbers"),
        (wide(), {"systems": "a,c"}, "systems or unit: data frame has no column 'c'"),
        (wide(), {"baseline": "c"}, "there is no system 'c'"),
        (wide(), {"null": 0.5}, "null: only for successes and trials; preds holds a wide table of values"),
        (wide(), {"alternative": "less"}, "alternative: only for successes and trials; preds holds a wide table"),
        (wide(), {"qrels": "x.txt"}, "qrels: only for ranked lists; preds holds a wide table of values"),
        (wide(), {"columns": "quary=query"}, "columns: unknown role 'quary', must be one of unit"),
        (long(wide(), "m"), {"columns": "quary=query"}, "columns: unknown role 'quary', must be one of unit, system, "),
        *((coin(), asked, "only for .*; preds holds successes and trials") for asked in OF_UNITS),
        (coin(), {"lower_is_better": "loss"}, "there is no metric 'loss', the input has 'share of suc"),
        (coin(), {"columns": "tries=trials"}, "unknown role 'tries', must be one of system, successes, trials"),
        (chances(), {"test_to_train": 0.1}, "test_to_train: only for .*; preds holds predicted probabilities"),
        (chances(), {"columns": "lable=y_true"}, "columns: unknown role 'lable'"),
        (chances(), {"unit": "person"}, "has no column 'person'"),
        (chances(), {"metrics": "auc"}, "metrics: for single rows there are brier, log_loss, got 'auc'"),
        (chances(user=["u", None]), {"unit": "user"}, "row 2: user must not be empty where it is the unit"),
        (wide(), {"metrics": "x,y"}, "a wide table holds one.*got 2"),
        (wide(), {"lower_is_better": "loss"}, "there is no metric 'loss', the input has value"),
        (long(wide(), "m"), {"metrics": "n"}, "metrics: the input has no column 'n'"),
        (pd.DataFrame({"successes": [3], "trials": [0]}), {"null": 0.5}, r"got 3 of 0 \(row 1\)"),
        (pd.DataFrame({"successes": [1], "trials": [2]}), {"alternative": "less"}, "needs a null share"),
        (NO_B, {"systems": "a,b"}, "no query has a value for both"),
        (NO_FOLD, {"systems": "a,b", "test_to_train": 0.25}, "value: no fold has a value for both 'a' and 'b'"),
        (NO_TRIAL, {}, r"got 0 of 0 \(row 2\)"),
    ],
)
def test_refusals(table, asked, message):
    with pytest.raises((InputError, ParameterError), match=message):
        _ = significance.read(table, **asked).comparisons
