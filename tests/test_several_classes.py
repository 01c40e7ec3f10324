"""Several classes and labels: weights, units, many classes, and each class against the rest."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from whole_pages import told

from evalkit.drawing.pieces import Html
from evalkit.limits import USUAL, Limits, Reading
from evalkit.metrics.counts import average_precision
from evalkit.metrics.curves import net_benefit
from evalkit.pages import classes_page, classification_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.studies import classes, classification

ROOT = Path(__file__).resolve().parents[1]
PENGUINS, TRAITS = "data/penguins/predictions.csv", "data/digit_traits/predictions.csv"
GERMAN = "data/german_credit/predictions.csv"


def several(rows=240, systems=2, k=3) -> pd.DataFrame:
    """Rows of classes c0, c1, … of 80 users, each with a taste of their own, by several systems'
    probabilities.
    """
    rng = np.random.default_rng(7)
    parts = []
    user = np.arange(rows) % 80
    actual = rng.integers(0, k, rows)
    taste = rng.normal(0, 2, (80, k))[user]
    for i in range(systems):
        z = rng.normal(0, 1, (rows, k)) + taste + 1.5 * np.eye(k)[actual]
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        shared = {
            "id": np.arange(rows),
            "user": user,
            "label": [f"c{j}" for j in actual],
            "system": f"m{i}",
        }
        parts.append(pd.DataFrame(shared | {f"p_c{j}": p[:, j] for j in range(k)}))
    return pd.concat(parts, ignore_index=True)


def traits() -> pd.DataFrame:
    return pd.read_csv(ROOT / TRAITS)


def shown(study, name) -> str:
    piece = getattr(classification_page, name)(study)
    return piece.text if isinstance(piece, Html) else piece.caption


def weighted_and_repeated(data: pd.DataFrame):
    """The study of rows with weights 1, 2, 3, and of the same rows as often."""
    times = data["id"].rank(method="dense").astype(int) % 3 + 1
    again = data.loc[data.index.repeat(times)]
    number = again.groupby(again.index).cumcount()
    again = again.assign(id=again["id"].astype(str) + "/" + number.astype(str))
    return classification.read(data.assign(weight=times)), classification.read(again)


# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [several, traits])
def test_weighted_rows_are_told_as_repeated_rows(data):
    weighted, repeated = weighted_and_repeated(data())
    assert weighted.shares == pytest.approx(repeated.shares)
    for kind in ("roc", "pr"):
        pd.testing.assert_frame_equal(
            weighted.curve(kind, weighted.leader), repeated.curve(kind, repeated.leader)
        )
    for chosen in weighted.settings.metrics:
        assert weighted.constant(chosen) == pytest.approx(repeated.constant(chosen), nan_ok=True)
    assert "Rows are weighted" in shown(weighted, "findings")
    assert "Rows are weighted" not in shown(repeated, "findings")


def test_calibration_of_weighted_classes_is_that_of_repeated_rows():
    weighted, repeated = weighted_and_repeated(several())
    a, b = (one.calibration.set_index("system") for one in (weighted, repeated))
    for column in ("confidence", "right", "ece_10"):
        assert a[column].to_numpy() == pytest.approx(b[column].to_numpy())
    share = f"Always predicting the largest is right for {repeated.shares.max():.1%}"
    assert share in shown(weighted, "findings")
    assert "weight of the rows by actual and predicted class (n = 240)" in shown(
        weighted, "confusion_plot"
    )


# ---- units ---------------------------------------------------------------------------------------


def test_perfect_calibration_is_told_only_of_rows_that_vary_alone():
    """Each row four times: as rows of their own they would refute what they cannot."""
    data = several(80)
    four = pd.concat([data.assign(id=data["id"] + 1000 * i) for i in range(4)])
    once, user, row = (
        classification.read(d, unit=u).calibration
        for d, u in ((data, None), (four, "user"), (four, None))
    )
    assert user[["ece_10_expected", "ece_10_p"]].isna().all(axis=None)
    assert row["ece_10"].to_numpy() == pytest.approx(once["ece_10"].to_numpy())
    assert (row["ece_10_expected"] < 0.7 * once["ece_10_expected"]).all()
    assert (row["ece_10_p"] <= once["ece_10_p"]).all()


@pytest.mark.parametrize("given", [{"unit": "user"}, {"columns": "weight=user"}])
def test_bins_have_limits_only_where_rows_vary_alone_and_count_alike(given):
    binary = pd.read_csv(ROOT / "data/german_credit/predictions.csv").assign(
        user=lambda d: d["id"].factorize()[0] // 4 + 1
    )
    for data in (several(), binary):
        plain = classification.read(data)
        study = classification.read(data, **given)
        assert plain.reliability[["low", "high"]].notna().all(axis=None)
        assert study.reliability[["low", "high"]].isna().all(axis=None)
        assert "95% of such curves if the probabilities are right" in shown(
            plain, "calibration_plot"
        )
        assert "No bands, as rows are clustered or weighted" in shown(study, "calibration_plot")
        assert (plain.isotonic.bands is None, study.isotonic.bands is None) == (False, True)


@pytest.mark.parametrize(
    "data, right, mean", [(several, "accuracy", "brier"), (traits, "exact_match", "ranking_loss")]
)
def test_definitions_say_the_intervals_and_tests_that_were_made(data, right, mean):
    table = data().assign(user=lambda d: d["id"].factorize()[0] // 2, weight=1.5)
    plain, unit, weight = (
        shown(classification.read(d, unit=u), "definitions")
        for d, u in (
            (table.drop(columns="weight"), None),
            (table.drop(columns="weight"), "user"),
            (table, None),
        )
    )
    assert f"{right}: McNemar's test with Tango's interval; " in plain
    assert f"{mean}: sign flips, paired t above 20,000 rows;" in plain
    assert f"{right}: Wilson; " in plain
    assert f"{mean}: sign flips of whole units, delta method above 20,000 units;" in unit
    assert "; over users; Holm" in unit
    assert "delta method" in weight
    assert "; over rows; Holm" in weight
    assert "Wilson" not in unit + weight


# ---- what tables can be like ---------------------------------------------------------------------


def test_confidence_is_that_of_the_predicted_class():
    """Four rows, one of which a column decides against the highest score."""
    p = np.array([0.9, 0.8, 0.6, 0.7])
    data = pd.DataFrame({"label": list("aaba"), "predicted": list("aaba"), "p_a": p, "p_b": 1 - p})
    study = classification.read(data)
    row = study.calibration.iloc[0]
    assert (row["confidence"], row["right"]) == (pytest.approx((0.9 + 0.8 + 0.4 + 0.7) / 4), 1.0)
    assert row["ece_10"] == pytest.approx((0.1 + 0.2 + 0.6 + 0.3) / 4)
    assert "Rows whose predicted class does not have the highest score: predicted 1." in shown(
        study, "findings"
    )
    assert "does not have the highest score" not in shown(
        classification.read(data.drop(columns="predicted")), "findings"
    )


def test_without_two_classes_or_a_true_label_there_are_no_curves():
    every = classification.read(several().assign(label="c1"))
    none = classification.read(
        traits().assign(**{name: 0 for name in traits() if name.startswith("y_")})
    )
    for study in (every, none):
        assert shown(study, "curve_plot") == ""
        for name in (
            "findings",
            "estimates",
            "curves",
            "threshold_plot",
            "calibration",
            "top",
            "confusion",
        ):
            assert getattr(classification_page, name)(study)


def test_of_many_classes_the_worst_have_colours_and_names():
    few = classification.read(several())
    many = classification.read(several(k=10))
    assert few.coloured == list(few.names)
    worst = sorted(many.names, key=lambda name: average_precision(many.curve_tables[name]))
    assert set(many.coloured) == set(worst[:4])
    figure = classification_page.curve_plot(many)
    assert "the 4 of 10 classes with the lowest average precision" in figure.caption
    for panel in figure.data[0]:
        assert list(panel.keys) == many.coloured == list(panel.bands["system"].unique())
        assert set(panel.lines["system"]) == {*many.coloured, *panel.faint} == set(many.names)
    assert "grey" not in shown(few, "curve_plot")


def test_the_next_systems_have_the_curves_of_the_same_classes_below():
    study = classification.read(PENGUINS)
    folded = classification_page.other_curves(study)
    assert f"The same curves of {study.order[1]}, {study.order[2]}" in folded.html
    assert folded.html.count("<figure>") == 2
    assert classification_page.other_curves(classification.read(GERMAN)).html == ""


def test_scores_of_labels_that_are_no_probabilities_are_not_taken_for_some():
    study = classification.read(traits().assign(p_even=lambda d: 9 * d["p_even"] - 4), threshold=0)
    assert "not probabilities: calibration is left out" in shown(study, "findings")
    assert shown(study, "calibration") == ""
    assert "labels' shares" not in shown(study, "estimates")
    assert "labels' shares" in shown(classification.read(TRAITS), "estimates")


def test_what_a_slice_that_lacks_a_class_means_for_averages():
    study = classification.read(PENGUINS, segments="island", metrics="roc_auc_ovr")
    assert study.by_segment["value"].isna().all()
    assert "averages over classes cover fewer classes or are undefined there." in shown(
        study, "findings"
    )


def test_the_best_of_a_sweep_is_of_all_thresholds_and_drawn():
    rng = np.random.default_rng(5)
    true = rng.integers(0, 2, (400, 3))
    score = np.clip(0.3 * true + 0.7 * rng.random((400, 3)), 0, 1)
    columns = {f"y_{i}": true[:, i] for i in range(3)} | {f"p_{i}": score[:, i] for i in range(3)}
    for more in ({}, {"weight": rng.integers(1, 5, 400)}):
        study = classification.read(pd.DataFrame(columns | more))
        w = np.repeat(more.get("weight", np.ones(400)), 3)
        hits = w * true.ravel()
        size = w
        f1 = {
            t: 2
            * (hits * (score.ravel() >= t)).sum()
            / (hits.sum() + (size * (score.ravel() >= t)).sum())
            for t in score.ravel()
        }
        best = max(f1, key=f1.get)
        assert f"Best micro F1 over all thresholds: {f1[best]:.3f} at {best:.3f}." in shown(
            study, "threshold_plot"
        )
        drawn = study.sweep[study.sweep["system"] == "micro_f1"]
        assert drawn["y"].max() == pytest.approx(f1[best], abs=1e-12)
        assert drawn.loc[drawn["y"].idxmax(), "x"] == best


AVERAGES = "roc_auc_ovr,roc_auc_hand_till,map_classes,macro_f1"


def test_users_as_units_and_a_slice_without_a_class_leave_its_averages_undefined():
    data = several().assign(place=lambda d: np.where(d["label"] == "c2", "only c2", "other"))
    study = classification.read(data, unit="user", segments="place", metrics=AVERAGES)
    assert study.by_segment["value"].isna().all()
    assert study.by_segment[["low", "high"]].isna().all().all()
    rows = study.estimates[study.estimates["metric"] == "roc_auc_ovr"]
    assert np.isfinite(rows[["value", "low", "high"]].to_numpy()).all()


@pytest.mark.parametrize("metric", ["map_classes", "roc_auc_macro"])
def test_users_as_units_and_a_label_that_is_never_true_leave_its_average_undefined(metric):
    data = traits().assign(y_prime=0, user=lambda d: d["id"].astype(str).str[-2:])
    study = classification.read(data, unit="user", metrics=f"{metric},micro_f1")
    found = study.estimates.set_index("metric")
    assert found.loc[[metric], ["value", "low", "high"]].isna().all().all()
    assert (found.loc[[metric], "method"] == "undefined").all()
    assert found.loc[["micro_f1"], "low"].notna().all()
    tested = study.comparisons[study.comparisons["metric"] == metric]
    assert tested["p"].isna().all()
    assert "better" not in set(tested["verdict"])
    assert shown(study, "estimates")


def test_a_class_that_only_one_system_predicts():
    label = np.array(["a", "b"] * 20)
    predicted = {"one": np.where(np.arange(40) < 3, "c", label), "other": np.roll(label, 1)}
    rows = [
        pd.DataFrame({"id": range(40), "model": m, "label": label, "predicted": p})
        for m, p in predicted.items()
    ]
    comparisons = classification.read(
        pd.concat(rows), metrics="macro_f1,macro_precision"
    ).comparisons
    assert np.isfinite(comparisons[["difference", "low", "high", "p"]].to_numpy()[0]).all()
    assert np.isnan(comparisons["p"][1])  # nobody knows how precise a class is that has no rows


def guesses(classes, n=4000):
    rng = np.random.default_rng(classes)
    actual = np.minimum(rng.geometric(6 / classes, size=n), classes) - 1
    actual[:classes] = np.arange(classes)
    predicted = np.where(rng.random(n) < 0.7, actual, rng.integers(0, classes, n))
    return pd.DataFrame(
        {
            "label": np.char.add("c", actual.astype(str)),
            "predicted": np.char.add("c", predicted.astype(str)),
        }
    )


def test_the_confusion_picture_of_four_hundred_classes_is_bounded_and_says_so():
    picture = classes_page.confusion_plot(classification.read(guesses(400)))
    assert len(picture.svg) < 1e6
    assert (
        "Drawn: the 39 most frequent of 400 classes, and the others together; the JSON holds all "
        "classes." in picture.caption
    )
    assert "(361 others)" in picture.svg


def test_forty_classes_are_all_drawn():
    picture = classes_page.confusion_plot(classification.read(guesses(40)))
    assert "most frequent of" not in picture.caption
    assert "others)" not in picture.svg


def test_classes_drawn_together_keep_every_row():
    table = np.arange(50 * 50).reshape(50, 50)
    together, names = classes.drawn_together(table, tuple(f"c{i}" for i in range(50)))
    assert together.shape == (40, 40)
    assert together.sum() == table.sum()
    assert names == (*(f"c{i}" for i in range(11, 50)), "(11 others)")
    assert together[-1, -1] == table[:11, :11].sum()
    assert (together[:-1, :-1] == table[11:, 11:]).all()


RNG = np.random.default_rng(9)
CLASSES, ROWS = 9, 400
ACTUAL = RNG.integers(0, CLASSES, ROWS)
LOGIT = RNG.normal(size=(ROWS, CLASSES)) + 2.0 * (np.arange(CLASSES) == ACTUAL[:, None])
LOGIT[:, 4] += 1.5  # its probabilities are too high
CHANCE = np.exp(LOGIT) / np.exp(LOGIT).sum(axis=1, keepdims=True)
NAMES = [f"kind {i}" for i in range(CLASSES)]
PICTURES = ("score_plot", "ks_plot", "class_calibration_plot", "decision_curve")


@pytest.fixture(scope="module")
def study():
    columns = {f"p_{name}": CHANCE[:, i] for i, name in enumerate(NAMES)}
    return classification.read(
        pd.DataFrame({"label": np.array(NAMES)[ACTUAL]} | columns), metrics="accuracy"
    )


@pytest.fixture(scope="module")
def labels():
    even = CHANCE[:, ::2].sum(axis=1)
    low = CHANCE[:, :3].sum(axis=1)
    frame = (
        pd.DataFrame({"y_even": ACTUAL % 2 == 0, "y_low": ACTUAL < 3})
        .astype(int)
        .assign(p_even=even, p_low=low)
    )
    return classification.read(frame, metrics="micro_f1")


def test_the_worst_calibrated_are_drawn_and_the_others_named(study):
    drawn = list(study.class_tables)
    assert len(drawn) == classes.MAX_SQUARES
    assert drawn == sorted(drawn)
    assert "kind 4" in drawn
    picture = classification_page.score_plot(study)
    left = ", ".join(name for name in NAMES if name not in drawn)
    assert (
        f"the 6 of 9 classes with the largest miscalibration (not drawn: {left})" in picture.caption
    )
    assert picture.summary
    assert len(picture.svg) < 30_000


def test_their_numbers_are_those_of_the_rows(study):
    recorded = classes_page.recorded(study)["one_by_one"]
    benefit = pd.DataFrame(recorded["net_benefit"])
    for row in recorded["scores"]["distances"]:
        i = NAMES.index(row["system"])
        own = i == ACTUAL
        assert row["value"] == pytest.approx(
            ks_2samp(CHANCE[own, i], CHANCE[~own, i]).statistic, abs=1e-12
        )
        points = benefit[benefit["system"] == row["system"]]
        expected = net_benefit(study.class_tables[row["system"]], points["x"].to_numpy())
        np.testing.assert_allclose(points["y"], expected, atol=1e-12)
        at = points[np.isclose(points["x"], 0.5)].iloc[0]
        chosen = CHANCE[:, i] >= 0.5
        assert at["y"] == pytest.approx(
            (np.sum(chosen & own) - np.sum(chosen & ~own)) / ROWS, abs=1e-12
        )


def test_confused_pairs_are_the_largest_mistakes(study):
    predicted = CHANCE.argmax(axis=1)
    table = pd.crosstab(ACTUAL, predicted).to_numpy(copy=True)
    first = study.confused.iloc[0]
    i = NAMES.index(first["actual"])
    j = NAMES.index(first["predicted"])
    np.fill_diagonal(table, 0)
    assert first["n"] == table.max() == table[i, j]
    assert first["share"] == pytest.approx(table[i, j] / np.sum(i == ACTUAL))
    assert first["of_errors"] == pytest.approx(table[i, j] / table.sum())
    assert "Most confused pairs of classes" in classes_page.confusion(study).text


def test_labels_have_the_same_pictures(labels):
    assert list(labels.class_tables) == ["even", "low"]
    for name in PICTURES:
        picture = getattr(classification_page, name)(labels)
        assert "each label" in picture.caption
    assert labels.plot.score.summary == ""


def test_classes_alone_have_no_such_pictures():
    study = classification.read(
        pd.DataFrame({"label": ["a", "b", "c"] * 4, "predicted": ["a", "b", "a"] * 4})
    )
    assert classes_page.recorded(study) == {}
    assert all(getattr(classification_page, name)(study).html == "" for name in PICTURES)
    assert study.confused[["actual", "predicted", "n"]].to_numpy().tolist() == [["c", "a", 4]]


# ---- probabilities that do not sum to 1 ----------------------------------------------------------

BLOCKS = Limits(reading=Reading(rows=50, shard=50, largest=50))


def unnormalised(scale: float | np.ndarray, limits: Limits = USUAL) -> str:
    """The findings of a table whose probabilities are multiplied."""
    frame = several(systems=1)
    columns = [name for name in frame if name.startswith("p_")]
    frame[columns] = frame[columns].mul(scale, axis=0)
    return told(
        classification.study_of(ClassificationParameters.from_raw({"preds": frame}), limits)
    )


@pytest.mark.parametrize("limits", [USUAL, BLOCKS], ids=["memory", "blocks"])
def test_rows_that_do_not_sum_to_1_are_counted_with_their_range(limits):
    scale = np.where(np.arange(240) < 12, 0.6, 1.0)
    text = unnormalised(scale, limits)
    assert "the sum of a row is m0 0.6 to 1 (12 rows not 1)" in text


@pytest.mark.parametrize("limits", [USUAL, BLOCKS], ids=["memory", "blocks"])
def test_the_share_by_which_scaling_moves_log_loss_is_said(limits):
    frame = several(systems=1)
    p = frame.to_numpy()[np.arange(240), [list(frame).index(f"p_{c}") for c in frame["label"]]]
    scaled = -np.log(p.astype(float)).mean()
    moved = -np.log(0.5) / (scaled - np.log(0.5))
    assert f"which changes it: m0 −{100 * moved:.1f}%" in unnormalised(0.5, limits)


def test_probabilities_that_are_rounded_raise_no_finding():
    assert "EK316" not in unnormalised(1.0005)


def test_rows_of_only_0_have_a_message_of_their_own():
    text = unnormalised(np.where(np.arange(240) < 7, 0.0, 1.0))
    assert "Rows whose probabilities are all 0, which log loss leaves out: m0 7." in text
    assert "the sum of a row" not in text


def test_rows_of_only_0_do_not_hide_by_how_much_the_others_move_log_loss():
    scale = np.where(np.arange(240) < 7, 0.0, 1.0)
    scale[200:] = 0.5
    text = unnormalised(scale)
    assert "the sum of a row is m0 0.5 to 1 (40 rows not 1)" in text
    assert "changes it: m0 −" in text
