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
from evalkit.studies import resplits, split_claims, validation
from evalkit.studies.out_of_fold import HALVED, LEARNER_CLAIM, MODELS

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


def folds_of_guessing_systems(seed: int, n: int = 100) -> pd.DataFrame:
    """A table of n rows in five folds, with labels of 0 or 1 and the scores of six systems, which
    do not depend on the labels.
    """
    rng = np.random.default_rng(seed)
    rows = {"id": np.arange(n), "label": rng.integers(0, 2, n), "fold": np.arange(n) % 5}
    return pd.DataFrame(rows | {f"score_{name}": rng.random(n) for name in SYSTEMS})


@pytest.fixture(scope="module")
def study():
    """A study of the accuracy of two systems, a and b, in five times five folds of 120 ids."""
    return validation.read(two_systems(), metrics="accuracy")


# The formulas by hand


def test_repeated_folds_have_the_corrected_t_of_the_papers(study):
    """Systems a and b in 5 times 5 folds, each with 96 rows of training and 24 of test. `claims`
    has a row that compares them as learners, i.e. as methods that are fitted anew in each fold
    (LEARNER_CLAIM), by d, the difference of their accuracy in a fold. Folds share training rows, so
    that the 25 differences are not independent. Nadeau and Bengio therefore correct the standard
    error of their mean, as Bouckaert and Frank do for repeated folds: √((1 / 25 + 24 / 96) s²),
    with 25 − 1 degrees of freedom.
    """
    claims_about_learners = split_claims.claims(study).query("claim == @LEARNER_CLAIM")
    (row,) = claims_about_learners.query("against in ['a', 'b']").to_dict("records")
    d = study.fold_values(row["system"]) - study.fold_values(row["against"])
    assert d.size == 25
    error = np.sqrt((1 / 25 + 24 / 96) * d.var(ddof=1))
    t = d.mean() / error
    half_width = stats.t.ppf(0.975, 25 - 1) * error
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(t), 25 - 1), abs=1e-10)
    assert row["difference_low"] == pytest.approx(d.mean() - half_width, abs=1e-10)
    assert row["difference_high"] == pytest.approx(d.mean() + half_width, abs=1e-10)


def test_the_value_of_the_learner_is_that_of_the_folds(study):
    """`claims` has rows about the value of such a learner, i.e. of the method that is fitted anew
    in each fold (LEARNER_CLAIM), here of the study's best system (`evaluated_system`). The value is
    the mean accuracy of the 25 folds, each with 96 rows of training and 24 of test. Its standard
    error is corrected for the training rows that folds share: 1 / 25 + 24 / 96 in place of 1 / 25
    (Nadeau and Bengio).
    """
    values = study.fold_values(study.evaluated_system)
    row = split_claims.claims(study).query("claim == @LEARNER_CLAIM").iloc[0]
    error = np.sqrt((1 / 25 + 24 / 96) * values.var(ddof=1))
    half_width = stats.t.ppf(0.975, 25 - 1) * error
    assert row["value"] == pytest.approx(values.mean(), abs=1e-10)
    assert row["high"] - row["value"] == pytest.approx(half_width, abs=1e-10)


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
    others = {*study.systems} - {study.evaluated_system}
    assert {*table["claim"]} == {MODELS, LEARNER_CLAIM}
    for _, rows in table.groupby("claim"):
        assert {*rows["against"]} == others


def test_below_a_thousand_rows_the_verdicts_are_about_the_learner(study):
    table = split_claims.claims(study)
    assert {*table.query("decides")["claim"]} == {LEARNER_CLAIM}
    decided = dict(zip(study.paired["second"], study.paired["verdict"], strict=True))
    rows = table.query("decides")
    assert dict(zip(rows["against"], rows["verdict"], strict=True)) == decided


def test_the_claims_are_those_of_the_tables_of_intervals(study):
    intervals = study.intervals.query("honest or claim == @MODELS").iloc[:2]
    claims = split_claims.claims(study).drop_duplicates("claim")
    kept = ["value", "low", "high"]
    assert claims[kept].to_numpy() == pytest.approx(intervals[kept].to_numpy())


def test_a_holdout_claims_nothing_about_the_learner():
    table = folds_of_guessing_systems(1).assign(fold=np.where(np.arange(100) < 60, "train", "test"))
    study = validation.read(table, metrics="accuracy")
    assert {*split_claims.claims(study)["claim"]} == {MODELS}
    assert "a single split cannot tell" in validation_page.verdict(study).html


def test_the_first_screen_names_both_claims(study):
    page = validation_page.verdict(study).html
    assert "This model, as it was fitted, on other rows: accuracy" in page
    assert "The verdicts are about such a learner: below 1,000 rows" in page


def test_only_intervals_that_take_shared_rows_for_independent_are_crossed_out(study):
    """The study is of two systems in five times five folds, and its page lists several intervals of
    the value. One of them takes folds for a sample, though folds share training rows, and one the
    repeats of an id for different rows. The names of these two, and of no other, stand within <s>,
    the HTML element for text that is crossed out.
    """
    page = validation_page.intervals(study).html
    crossed_out = [name for name in study.intervals["what"] if f"<s>{name}</s>" in page]
    assert crossed_out == [
        "mean of folds, t as if folds were a sample",
        "pooled, as if each repeat of an id were another row",
    ]


# The best of several


def test_the_best_of_two_is_chosen_again_in_each_fold_by_hand():
    """Systems a and b on three folds of two rows. How many of the two rows they predict correctly:

        fold       0    1    2
        system a   1    2    2     5 of 6 in all: the winner
        system b   2    2    0     4 of 6

    The winner's 5/6 is too good, as it was chosen on the same rows. For each fold the best system
    is therefore chosen again on the other two, and measured on the fold:

        without fold   a        b        chosen   accuracy on the fold
        0              4 of 4   2 of 4   a        1/2
        1              3 of 4   2 of 4   a        2/2
        2              3 of 4   4 of 4   b        0/2

    Their mean is 1/2. The winner's mean over the folds is 5/6. The gain of selection is 1/3.
    """
    is_correct = {"a": [0, 1, 1, 1, 1, 1], "b": [1, 1, 1, 1, 0, 0]}
    label = np.array([0, 1, 0, 1, 0, 1])
    table = pd.DataFrame({"id": range(6), "label": label, "fold": [0, 0, 1, 1, 2, 2]})
    for system, correct in is_correct.items():
        predicted = np.where(np.array(correct) == 1, label, 1 - label)
        table[f"score_{system}"] = np.where(predicted == 1, 0.9, 0.1)
    study = validation.read(table, metrics="accuracy")
    row = split_claims.winner(study).iloc[0]
    assert row["system"] == "a"
    assert row["of"] == 2  # systems
    assert row["changed"] == 1  # the folds in which not the winner is chosen
    assert row["chosen"] == pytest.approx((1 / 2 + 2 / 2 + 0 / 2) / 3)
    assert row["selection"] == pytest.approx(5 / 6 - 1 / 2)
    assert row["value"] == pytest.approx(row["apparent"] - 1 / 3)


def test_the_best_of_guesses_is_not_better_than_a_guess():
    """On each of 25 data sets of 100 rows, six systems guess labels of 0 or 1. The accuracy of the
    best of the six, `apparent`, is above 0.5, because it was chosen on the same rows. Less the gain
    of selection, it is `value`, which is 0.5 on average, within 3 standard errors of the mean of
    25.
    """
    winners = pd.DataFrame(
        [
            split_claims.winner(
                validation.read(folds_of_guessing_systems(seed), metrics="accuracy")
            ).iloc[0]
            for seed in range(25)
        ]
    )
    assert winners["apparent"].mean() > 0.54
    standard_error = winners["value"].std() / np.sqrt(25)
    assert abs(winners["value"].mean() - 0.5) < 3 * standard_error
    assert 3 * standard_error < 0.05  # so that the line above can fail


def test_of_a_holdout_parts_of_the_test_rows_choose():
    table = folds_of_guessing_systems(2, 200).assign(
        fold=np.where(np.arange(200) < 100, "train", "test")
    )
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
def study_of_fits():
    """Logistic regressions of 60 rows with three features, fitted in 4 folds that are drawn twice,
    in nested folds, and on holdouts of both halves of the rows, for two splits into halves.
    """
    p = ValidationParameters.from_raw(
        {"features": made_features(), "k": 4, "metrics": "accuracy", "seconds": 600}
    )
    return validation.study_of(p, SMALL)


def test_nested_cross_validation_has_the_formula_of_the_paper(study_of_fits):
    """`study_of_fits` has fitted models to n = 60 rows in k = 4 folds; its interval by nested
    cross-validation is that of algorithm 1 of Bates, Hastie and Tibshirani (2024). Values of rows
    are 1 if the label is predicted correctly and 0 if not. The `outer` values of a fold are those
    of its rows, by the model that is fitted on the other folds. Its `inner` values are those of the
    rows of the other folds, by models that are fitted without this fold and the row's own.

    The interval is about such a learner, i.e. any model that is fitted in this way (LEARNER_CLAIM),
    and allows for the training rows that folds share, so that the page does not cross it out
    (`honest`).
    """
    n = 60
    k = 4
    folds = study_of_fits.other_splits.nested.folds
    inner = np.concatenate([fold.inner for fold in folds])
    outer = np.concatenate([fold.outer for fold in folds])
    bias = (1 + (k - 2) / k) * (inner.mean() - outer.mean())  # inner models have fewer rows
    value = inner.mean() - bias

    square_of_fold = [(fold.inner.mean() - fold.outer.mean()) ** 2 for fold in folds]
    variance_of_fold = [fold.outer.var(ddof=1) / fold.outer.size for fold in folds]
    mean_squared_error = np.mean(square_of_fold) - np.mean(variance_of_fold)
    error = np.sqrt((k - 1) / k * max(mean_squared_error, 0))
    # at least as if rows were independent, at most as if the rows of a fold were one
    error_of_independent_rows = inner.std(ddof=1) / np.sqrt(n)
    error = np.clip(error, error_of_independent_rows, np.sqrt(k) * error_of_independent_rows)
    half_width = stats.norm.ppf(0.975) * error

    row = study_of_fits.intervals.set_index("what").loc[resplits.NESTED]
    assert row["value"] == pytest.approx(value, abs=1e-10)
    assert row["high"] == pytest.approx(min(value + half_width, 1), abs=1e-10)
    assert row["claim"] == LEARNER_CLAIM
    assert row["honest"]


def test_nested_folds_hold_the_rows_of_each_draw(study_of_fits):
    nested = study_of_fits.other_splits.nested
    assert (nested.k, nested.n, len(nested.folds)) == (4, 60, 2 * 4)
    for fold in nested.folds:
        assert fold.outer.size + fold.inner.size == 60


def test_inner_values_are_of_models_without_both_folds(study_of_fits):
    """`study_of_fits` has fitted models to 60 rows in four folds, drawn twice by the seed 0 with
    equal shares of the labels, as `k_fold` draws them here. The inner values of a fold tell, for
    each row of the other folds, whether a model that was fitted without this fold and the row's own
    predicts its label: 1 if it does. Those of the first fold begin with the rows of the second
    fold. Their model is fitted here once more, on the rows of neither fold, and must be right on
    the same rows.
    """
    folds = splits.k_fold(60, seed=0, k=4, repeats=2, label=study_of_fits.examples.names).pairs
    first_fold, second_fold = folds[:2]
    rows_without_first, _ = first_fold
    rows_without_second, rows_of_second = second_fold
    rows_without_both = np.intersect1d(rows_without_first, rows_without_second)

    table = made_features()
    x = table[["a", "b", "c"]]
    y = table["target"].to_numpy()
    model = fitting.prepared(fitting.usual("classes"), x, seed=0)
    model.fit(x.iloc[rows_without_both], y[rows_without_both])
    is_correct = model.predict(x.iloc[rows_of_second]) == y[rows_of_second]

    inner = study_of_fits.other_splits.nested.folds[0].inner
    found = inner[: rows_of_second.size]
    assert found.tolist() == is_correct.astype(float).tolist()


def test_a_metric_that_is_no_mean_over_rows_has_no_nested_interval():
    p = ValidationParameters.from_raw({"features": made_features(), "k": 4, "metrics": "roc_auc"})
    assert resplits.NESTED not in set(validation.study_of(p, SMALL).intervals["what"])


@pytest.mark.parametrize(
    "outer, ratio_to_error_of_independent_rows",
    [
        ([0.0, 1.0], 1),  # as inner values have the same mean, the error would be 0: raised
        ([9.0, 9.0], np.sqrt(3)),  # inner values have another mean, the error is large: lowered
    ],
    ids=["lowest", "highest"],
)
def test_the_error_of_nested_folds_lies_between_that_of_rows_and_of_folds(
    outer, ratio_to_error_of_independent_rows
):
    """Six rows in three equal folds, each with outer values of its own two rows and inner values of
    the four other rows. The standard error grows with the distance of the mean of outer values from
    that of inner values, 1/2, but only within bounds. With the outer mean 1/2 it would be 0, and is
    raised to that of six independent rows. With the outer mean 9 it would be large, and is lowered
    to √3 times as much.
    """
    inner = [1.0, 1.0, 0.0, 0.0]
    fold = NestedFold(outer=np.array(outer), inner=np.array(inner))
    estimate = NestedDraws([fold] * 3, k=3, n=6).estimate()
    standard_error = (estimate.high - estimate.low) / 2 / stats.norm.ppf(0.975)
    error_of_independent_rows = np.std(inner * 3, ddof=1) / np.sqrt(6)
    expected = ratio_to_error_of_independent_rows * error_of_independent_rows
    assert standard_error == pytest.approx(expected)


def test_a_fold_of_one_row_is_refused():
    with pytest.raises(InputError, match="2 or more rows each, got 1"):
        NestedDraws([NestedFold(np.array([1.0]), np.array([1.0, 0.0]))], 3, 3)


# The conservative z ------------------------------------------------------------------------------


def test_the_conservative_z_has_the_formula_of_the_paper(study_of_fits):
    """Nadeau and Bengio's conservative z. The value is the mean accuracy over holdouts of all rows.
    For its standard error the rows are split into halves M = 2 times. Holdouts are drawn in either
    half, and `halves` has their mean accuracy in the first and in the second half, an element for
    each split. The standard error is √(Σ (first − second)² / (2 M)). The interval is about such a
    learner, i.e. any model that is fitted in this way (LEARNER_CLAIM).
    """
    first_half, second_half = study_of_fits.other_splits.halves
    assert first_half.size == second_half.size == 2
    error = np.sqrt(np.sum((first_half - second_half) ** 2) / (2 * 2))
    row = study_of_fits.intervals.set_index("what").loc[HALVED]
    assert row["value"] == pytest.approx(np.mean(study_of_fits.other_splits.holdouts), abs=1e-10)
    low = row["value"] - stats.norm.ppf(0.975) * error
    assert row["low"] == pytest.approx(max(low, 0), abs=1e-10)
    assert row["claim"] == LEARNER_CLAIM


def test_halves_share_no_row_and_test_as_many_rows_as_holdouts_do():
    """A job is a model to fit, with its rows to train on and to test. 60 rows are split into halves
    twice (`SMALL.repeats`). In each half `IN_HALF` holdouts are drawn: first those of one half,
    then those of the other. A holdout of all 60 rows tests 30 % of them, 18. So does each holdout
    of a half, which trains on the other 12 of its 30 rows; the halves of a split have no row in
    common.
    """
    examples = folds.table(*table_parts(made_features()))
    setting = splits.Setting(examples, k=4, gap=0.0, seed=0, limits=SMALL)
    jobs = resplits.half_jobs(setting, "model")
    in_half = resplits.IN_HALF
    assert len(jobs) == 2 * 2 * in_half  # splits · halves · holdouts

    def rows_of(jobs):
        return {row for job in jobs for row in [*job.train, *job.test]}

    rows_of_first_half = rows_of(jobs[:in_half])
    rows_of_second_half = rows_of(jobs[in_half : 2 * in_half])
    assert not rows_of_first_half & rows_of_second_half
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


def test_the_value_without_the_gain_of_selection_is_at_least_0():
    """12 data sets of ten rows, on each of which six systems guess labels of 0 or 1. The winner's
    accuracy and its limits are lowered by the gain of selection. With so few rows, a limit would
    then be below 0; it is 0 instead, the lowest accuracy there is.
    """
    winners = pd.DataFrame(
        [
            split_claims.winner(
                validation.read(folds_of_guessing_systems(seed, 10), metrics="accuracy")
            ).iloc[0]
            for seed in range(12)
        ]
    )
    assert (winners["selection"] > 0).any()
    assert winners["low"].min() == 0
