"""The claims of a cross-validation (these models, such a learner), and the best of several."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_repeated_designs import holdouts, repeated

from evalkit.arrays import InputError
from evalkit.limits import Limits
from evalkit.offline import fitting, splits
from evalkit.pages import validation_page
from evalkit.parameters.reports import ValidationParameters
from evalkit.reading.inputs import folds
from evalkit.reading.tables import sources
from evalkit.statistics.nested import NestedDraws, NestedFold
from evalkit.statistics.significance import nadeau_bengio, paired_t
from evalkit.studies import out_of_fold, resplits, split_claims, validation
from evalkit.studies.out_of_fold import HALVED, LEARNER, MODELS

# What mlxtend says of two classifiers, and their differences on its resamples.
MLXTEND = json.loads((Path(__file__).parent / "oracles" / "resamples.json").read_text("utf-8"))
TESTED_SHARE = {"holdouts": 171 / 398, "ten folds": 1 / 9}  # of test to training rows

SYSTEMS = [f"model{number}" for number in range(6)]


def two_systems() -> pd.DataFrame:
    """Five times five folds of two systems, the second with more noise."""
    first = repeated("Fold{fold}.Rep{repeat}")
    noise = np.random.default_rng(7).normal(0, 0.2, len(first))
    second = first.assign(score=np.clip(first["score"] + noise, 0, 1))
    return pd.concat([first.assign(system="a"), second.assign(system="b")])


def no_skill(seed: int, n: int = 100) -> pd.DataFrame:
    """Five folds of systems that guess."""
    rng = np.random.default_rng(seed)
    rows = {"id": np.arange(n), "label": rng.integers(0, 2, n), "fold": np.arange(n) % 5}
    return pd.DataFrame(rows | {f"score_{name}": rng.random(n) for name in SYSTEMS})


@pytest.fixture(scope="module")
def study():
    return validation.read(two_systems(), metrics="accuracy")


# The formulas by hand


def test_repeated_folds_have_the_corrected_t_of_the_papers(study):
    """t = mean / √((1 / (k r) + test / train) s²) on k r − 1 degrees of freedom."""
    rows = split_claims.claims(study).query("claim == @LEARNER and against in ['a', 'b']")
    first, second = rows[["system", "against"]].iloc[0]
    d = study.fold_values(first) - study.fold_values(second)
    assert d.size == 25
    mean = d.mean()
    error = np.sqrt((1 / 25 + 24 / 96) * ((d - mean) ** 2).sum() / 24)
    half = stats.t.ppf(0.975, 24) * error
    row = rows.iloc[0]
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(mean) / error, 24), abs=1e-10)
    assert row["difference_low"] == pytest.approx(mean - half, abs=1e-10)
    assert row["difference_high"] == pytest.approx(mean + half, abs=1e-10)


def test_the_value_of_the_learner_is_that_of_the_folds(study):
    values = study.fold_values(study.subject)
    row = split_claims.claims(study).query("claim == @LEARNER").iloc[0]
    error = np.sqrt((1 / 25 + 24 / 96) * values.var(ddof=1))
    assert row["value"] == pytest.approx(values.mean(), abs=1e-10)
    assert row["high"] - row["value"] == pytest.approx(stats.t.ppf(0.975, 24) * error, abs=1e-10)


@pytest.mark.parametrize("way", TESTED_SHARE)
def test_mlxtend_takes_resamples_for_independent(way):
    plain = paired_t(MLXTEND[way]["differences"])
    assert plain.p_value == pytest.approx(MLXTEND[way]["p"], abs=1e-10)


@pytest.mark.parametrize("way", TESTED_SHARE)
def test_the_same_resamples_are_corrected_for_shared_training_rows(way):
    share = TESTED_SHARE[way]
    corrected = nadeau_bengio(MLXTEND[way]["differences"], train=1, test=share)
    t = MLXTEND[way]["statistic"] / np.sqrt(1 + 10 * share)
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(abs(t), 9), abs=1e-10)


def test_holdouts_that_mlxtend_calls_different_do_not_tell():
    way = MLXTEND["holdouts"]
    corrected = nadeau_bengio(way["differences"], train=398, test=171)
    assert corrected.p_value > 0.05 > way["p"]


def five_times_two_t(differences: np.ndarray) -> float:
    """Dietterich's t: the first difference by the mean variance within the five draws."""
    within = np.square(np.diff(differences.reshape(5, 2))).ravel() / 2
    return float(differences[0] / np.sqrt(within.mean()))


def test_five_times_two_folds_of_mlxtend_depend_on_which_draw_is_first():
    """Its numerator is one of ten differences."""
    way = MLXTEND["five times two folds"]
    differences = np.array(way["differences"])
    other_first = np.roll(differences, -2)
    assert five_times_two_t(differences) == pytest.approx(way["statistic"], abs=1e-10)
    assert five_times_two_t(other_first) < 2 * way["statistic"]


def test_the_corrected_t_of_five_times_two_folds_takes_all_differences():
    differences = np.array(MLXTEND["five times two folds"]["differences"])
    error = np.sqrt((1 / 10 + 1) * differences.var(ddof=1))
    p = 2 * stats.t.sf(abs(differences.mean()) / error, 9)
    for order in (differences, np.roll(differences, -2)):
        assert nadeau_bengio(order, train=1, test=1).p_value == pytest.approx(p, abs=1e-10)


# The two claims


def test_both_claims_have_a_row_for_each_other_system(study):
    table = split_claims.claims(study)
    others = {*study.systems} - {study.subject}
    assert {*table["claim"]} == {MODELS, LEARNER}
    for _, rows in table.groupby("claim"):
        assert {*rows["against"]} == others


def test_below_a_thousand_rows_the_verdicts_are_about_the_learner(study):
    table = split_claims.claims(study)
    assert {*table.query("decides")["claim"]} == {LEARNER}
    decided = dict(zip(study.paired["second"], study.paired["verdict"], strict=True))
    rows = table.query("decides")
    assert dict(zip(rows["against"], rows["verdict"], strict=True)) == decided


def test_the_claims_are_those_of_the_tables_of_intervals(study):
    intervals = study.intervals.query("honest or claim == @MODELS").iloc[:2]
    claims = split_claims.claims(study).drop_duplicates("claim")
    kept = ["value", "low", "high"]
    assert claims[kept].to_numpy() == pytest.approx(intervals[kept].to_numpy())


def test_a_holdout_claims_nothing_about_the_learner():
    table = no_skill(1).assign(fold=np.where(np.arange(100) < 60, "train", "test"))
    study = validation.read(table, metrics="accuracy")
    assert {*split_claims.claims(study)["claim"]} == {MODELS}
    assert "a single split cannot tell" in validation_page.verdict(study).html


def test_the_first_screen_names_both_claims(study):
    page = validation_page.verdict(study).html
    assert "This model, as it was fitted, on other rows: accuracy" in page
    assert "The verdicts are about such a learner: below 1,000 rows" in page


def test_only_intervals_that_are_of_no_claim_are_crossed_out(study):
    struck = [
        row["what"]
        for row in study.intervals.to_dict("records")
        if f"<s>{row['what']}</s>" in validation_page.intervals(study).html
    ]
    assert struck == [out_of_fold.NAIVE, out_of_fold.BY_REPEAT]


# The best of several


def test_the_best_of_two_is_chosen_again_in_each_fold_by_hand():
    """a is right in 1 of 2, 2 of 2 and 2 of 2 rows of the folds, b in 2, 2 and 0."""
    right = {"a": [0, 1, 1, 1, 1, 1], "b": [1, 1, 1, 1, 0, 0]}
    label = np.array([0, 1, 0, 1, 0, 1])
    scores = {
        f"score_{name}": np.where(np.array(hit) == 1, label, 1 - label) * 0.8 + 0.1
        for name, hit in right.items()
    }
    rows = {"id": range(6), "label": label, "fold": [0, 0, 1, 1, 2, 2]}
    study = validation.read(pd.DataFrame(rows | scores), metrics="accuracy")
    row = split_claims.winner(study).iloc[0]
    # without the first fold a has 4 of 4, b 2; without the second a 3, b 2; without the third a has
    # 3 of 4 and b 4: it is chosen, and has 0 of 2 where a has 2
    assert (row["system"], row["of"], row["changed"]) == ("a", 2, 1)
    assert row["chosen"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert row["selection"] == pytest.approx(1 / 3)
    assert row["value"] == pytest.approx(row["apparent"] - 1 / 3)


def test_the_best_of_guesses_is_not_better_than_a_guess():
    rows = [
        split_claims.winner(validation.read(no_skill(seed), metrics="accuracy")).iloc[0]
        for seed in range(25)
    ]
    table = pd.DataFrame(rows)
    error = table["value"].std() / 5
    assert table["apparent"].mean() > 0.54
    assert abs(table["value"].mean() - 0.5) < 3 * error < 0.05


def test_of_a_holdout_parts_of_the_test_rows_choose():
    table = no_skill(2, 200).assign(fold=np.where(np.arange(200) < 100, "train", "test"))
    row = split_claims.winner(validation.read(table, metrics="accuracy")).iloc[0]
    assert (row["of"], row["folds"]) == (6, split_claims.PARTS)


def test_ids_that_a_fold_tests_choose_no_system_for_it(study):
    fold = next(split_claims._selection_folds(study))
    ids = study.examples.id.code[study.rows]
    assert not {*ids[fold.tested]} & {*ids[fold.remaining]}
    assert {*ids[fold.tested]} | {*ids[fold.remaining]} == {*ids}


def test_one_system_was_not_selected():
    assert not len(split_claims.winner(validation.read(holdouts(), metrics="accuracy")))


# Nested cross-validation --------------------------------------------------------------------------


def made_features(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(n, 3))
    label = (x[:, 0] + rng.normal(size=n) > 0).astype(int)
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(target=label)


def table_parts(table: pd.DataFrame):
    p = ValidationParameters.from_raw({"features": table})
    return sources.parts(table), p


SMALL = Limits(holdouts=2, repeats=2, averaged=1, samples=2)


@pytest.fixture(scope="module")
def fits():
    p = ValidationParameters.from_raw(
        {"features": made_features(), "k": 4, "metrics": "accuracy", "seconds": 600}
    )
    return validation.study_of(p, SMALL)


def test_nested_cross_validation_has_the_formula_of_the_paper(fits):
    """Bates, Hastie and Tibshirani, algorithm 1, on the stored values of rows."""
    nested = fits.other_splits.nested
    squares = []
    within = []
    inner = []
    for fold in nested.folds:
        squares.append((np.mean(fold.inner) - np.mean(fold.outer)) ** 2)
        within.append(np.var(fold.outer, ddof=1) / len(fold.outer))
        inner.extend(fold.inner)
    cv = np.mean(np.concatenate([fold.outer for fold in nested.folds]))
    bias = (1 + (4 - 2) / 4) * (np.mean(inner) - cv)
    rows = np.std(inner, ddof=1) / np.sqrt(60)
    error = np.sqrt((4 - 1) / 4 * max(np.mean(squares) - np.mean(within), 0))
    error = min(max(error, rows), np.sqrt(4) * rows)
    row = fits.intervals.set_index("what").loc[resplits.NESTED]
    assert row["value"] == pytest.approx(np.mean(inner) - bias, abs=1e-10)
    half = stats.norm.ppf(0.975) * error
    assert row["high"] == pytest.approx(min(row["value"] + half, 1), abs=1e-10)
    assert (row["claim"], row["honest"]) == (LEARNER, True)


def test_nested_folds_hold_the_rows_of_each_draw(fits):
    nested = fits.other_splits.nested
    assert (nested.k, nested.n, len(nested.folds)) == (4, 60, 2 * 4)
    for fold in nested.folds:
        assert fold.outer.size + fold.inner.size == 60


def test_inner_values_are_of_models_without_both_folds(fits):
    """The first inner value of the first fold, by a model that is fitted here."""
    draw = splits.k_fold(60, seed=0, k=4, repeats=2, label=fits.examples.names).pairs
    table = made_features()
    x = table[["a", "b", "c"]]
    y = table["target"].to_numpy()
    train = np.intersect1d(draw[0][0], draw[1][0])
    model = fitting.prepared(fitting.usual("classes"), x, 0).fit(x.iloc[train], y[train])
    test = draw[1][1]
    hits = model.predict(x.iloc[test]) == y[test]
    assert (
        fits.other_splits.nested.folds[0].inner[: test.size].tolist() == hits.astype(float).tolist()
    )


def test_a_metric_that_is_no_mean_over_rows_has_no_nested_interval():
    p = ValidationParameters.from_raw({"features": made_features(), "k": 4, "metrics": "roc_auc"})
    assert resplits.NESTED not in set(validation.study_of(p, SMALL).intervals["what"])


def test_the_width_lies_between_that_of_rows_and_of_one_fold():
    fold = NestedFold(outer=np.array([0.0, 1.0]), inner=np.array([1.0, 1.0, 0.0, 0.0]))
    far = NestedFold(outer=np.array([9.0, 9.0]), inner=np.array([1.0, 1.0, 0.0, 0.0]))
    z = stats.norm.ppf(0.975)
    widths = [
        np.ptp([e.low, e.high]) / 2 / z
        for e in (NestedDraws([each] * 3, 3, 6).estimate() for each in (fold, far))
    ]
    inner_sd = np.std([1.0, 1, 0, 0] * 3, ddof=1)
    assert widths[1] == pytest.approx(np.sqrt(3) * inner_sd / np.sqrt(6))
    assert widths[0] == pytest.approx(inner_sd / np.sqrt(6))


def test_a_fold_of_one_row_is_refused():
    with pytest.raises(InputError, match="2 or more rows each, got 1"):
        NestedDraws([NestedFold(np.array([1.0]), np.array([1.0, 0.0]))], 3, 3)


# The conservative z ------------------------------------------------------------------------------


def test_the_conservative_z_has_the_formula_of_the_paper(fits):
    """√(Σ (first − second)² / 2 M) of M splits into halves, around the mean of the holdouts."""
    first, second = fits.other_splits.halves
    assert first.size == SMALL.repeats
    error = np.sqrt(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / (2 * 2))
    row = fits.intervals.set_index("what").loc[HALVED]
    assert row["value"] == pytest.approx(np.mean(fits.other_splits.holdouts), abs=1e-10)
    low = row["value"] - stats.norm.ppf(0.975) * error
    assert row["low"] == pytest.approx(max(low, 0), abs=1e-10)
    assert row["claim"] == LEARNER


def test_halves_share_no_row_and_test_as_many_rows_as_holdouts_do():
    examples = folds.table(*table_parts(made_features()))
    jobs = resplits.half_jobs(splits.Setting(examples, 4, 0.0, 0, SMALL), "model")
    rows = [np.concatenate([job.train, job.test]) for job in jobs]
    count = resplits.IN_HALF
    assert len(jobs) == 2 * count * SMALL.repeats
    assert not set(np.concatenate(rows[:count])) & set(np.concatenate(rows[count : 2 * count]))
    assert {job.test.size for job in jobs} == {18}


def test_too_few_rows_have_no_halves():
    examples = folds.table(*table_parts(made_features(6).assign(target=[0, 1, 0, 1, 0, 0])))
    assert not resplits.half_jobs(splits.Setting(examples, 2, 0.0, 0, SMALL), "model")


# Odd repeats --------------------------------------------------------------------------------------


def without_two_folds() -> pd.DataFrame:
    table = two_systems()
    return table[~table["fold"].isin(["Fold1.Rep0", "Fold3.Rep0"])]


def test_folds_of_the_first_repeat_alone_are_tested_for_being_alike():
    study = validation.read(without_two_folds(), metrics="accuracy")
    assert study.heterogeneity["freedom"] == 3 - 1
    assert [fold.label[:4] for fold in study.folds_of_first_repeat] == ["Rep0"] * 3


def test_repeats_of_different_numbers_of_folds_are_counted_in_whole_folds():
    study = validation.read(without_two_folds(), metrics="accuracy")
    assert "120 ids, 23 folds in 5 repeats" in validation_page.title(study).text


def test_the_value_without_the_gain_is_possible():
    rows = [
        split_claims.winner(validation.read(no_skill(seed, 10), metrics="accuracy")).iloc[0]
        for seed in range(12)
    ]
    table = pd.DataFrame(rows)
    assert (table["selection"] > 0).any()
    assert table["low"].min() == 0
