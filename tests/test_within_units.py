"""AUC within units: three weights, rows with weights, what is refused, and the finding where all
rows say otherwise.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import evalkit as ek
from evalkit.metrics.counts import auc_by_group, weighted_auc_by_group
from evalkit.pages import binary_page
from evalkit.studies import binary_diagnostics

RNG = np.random.default_rng(7)


def rows_of_users(n=600, users=30, effect_of_level=0.0):
    """Rows of users with scores of the systems a and b; effect_of_level: how much a level of the
    user's own raises the probability of the label 1, and the scores.
    """
    user = RNG.integers(0, users, n)
    level = RNG.normal(0, 1, users)[user]
    label = (RNG.random(n) < 1 / (1 + np.exp(-effect_of_level * level))).astype(int)
    scores = {
        name: 0.8 * label + effect_of_level * level + RNG.normal(0, 1, n)
        for name in ("score_a", "score_b")
    }
    return pd.DataFrame({"id": np.arange(n), "user": user.astype(str), "label": label} | scores)


def areas_by_user(frame):
    """By user who has both classes: the AUC of score_a by scikit-learn, rows and positives."""
    return pd.DataFrame(
        [
            {
                "auc": roc_auc_score(of_user["label"], of_user["score_a"]),
                "rows": len(of_user),
                "positives": of_user["label"].sum(),
            }
            for _, of_user in frame.groupby("user")
            if of_user["label"].nunique() == 2
        ]
    )


def estimates_of_a(frame, metrics="gauc,gauc_positives,gauc_uniform"):
    study = ek.classification(frame, metrics=metrics, unit="user", threshold=0.5)
    return study.estimates[study.estimates["system"] == "a"].set_index("metric")


def test_gauc_is_the_mean_of_scikit_learns_areas_of_users_with_each_of_three_weights():
    """Each of 30 users has an area under the ROC curve (AUC) over the rows of that user;
    scikit-learn computes those of system a. GAUC is their mean, weighted by rows, by positive rows
    or equally.
    """
    frame = rows_of_users()
    by_user = areas_by_user(frame)
    expected = {
        "gauc": np.average(by_user["auc"], weights=by_user["rows"]),
        "gauc_positives": np.average(by_user["auc"], weights=by_user["positives"]),
        "gauc_uniform": by_user["auc"].mean(),
    }
    estimates = estimates_of_a(frame)
    assert estimates["value"].to_dict() == pytest.approx(expected, abs=1e-14)
    assert (estimates["low"] < estimates["value"]).all()
    assert (estimates["value"] < estimates["high"]).all()


def test_users_of_one_class_take_no_part():
    frame = rows_of_users()
    of_one_class = frame[:3].assign(id=[10**6, 10**6 + 1, 10**6 + 2], user="new", label=1)
    with_new_user = estimates_of_a(pd.concat([frame, of_one_class]))
    assert with_new_user["value"].tolist() == estimates_of_a(frame)["value"].tolist()
    assert with_new_user["low"].tolist() == estimates_of_a(frame)["low"].tolist()


def test_a_whole_weight_counts_as_the_row_so_many_times():
    """A row of weight 3, say, counts as three equal rows, in the AUC of its user and in the number
    of rows of the user (impressions). 80 scores with nine values make ties within each of six
    users. With weights of 1, the AUC is that without weights.
    """
    label = RNG.integers(0, 2, 80)
    user = RNG.integers(0, 6, 80)
    score = RNG.integers(0, 9, 80) / 9
    times = RNG.integers(1, 4, 80)
    repeated = auc_by_group(
        np.repeat(label, times), np.repeat(score, times), np.repeat(user, times)
    )
    weighted = weighted_auc_by_group(label, score, user, times)
    assert weighted.auc == pytest.approx(repeated.auc, abs=1e-14)
    assert weighted.impressions.tolist() == repeated.impressions.tolist()
    of_weight_1 = weighted_auc_by_group(label, score, user, np.ones(80))
    assert of_weight_1.auc == pytest.approx(auc_by_group(label, score, user).auc, abs=1e-14)


def test_rows_of_weight_are_read():
    frame = rows_of_users().assign(weight=2.0)
    assert estimates_of_a(frame)["value"].tolist() == pytest.approx(
        estimates_of_a(frame.drop(columns="weight"))["value"].tolist(), abs=1e-14
    )


def test_the_page_says_that_the_area_over_all_rows_exceeds_that_within_users():
    """A level of each user raises the scores and the probability of label 1 in all rows of the
    user. So high scores tell which user a row is of, and the AUC over all rows is larger than
    within users, where the level is constant. The page says so in the finding EK341. With 3,000
    rows of 100 users the difference exceeds its error by far.
    """
    rows = rows_of_users(3_000, users=100, effect_of_level=2.0)
    study = ek.classification(rows, unit="user", metrics="roc_auc", threshold=0.5)
    over_all_less_within = binary_diagnostics.within_units(study)
    assert over_all_less_within.p_value < 0.05
    assert over_all_less_within.difference.value > 0.1
    findings = binary_page.every_finding(study)
    (finding,) = (finding for finding in findings if finding.kind.code == "EK341")
    assert f"AUC of {study.leader}: " in finding.message
    assert "within each user (gauc)" in finding.message


def test_without_an_effect_of_the_user_both_areas_are_alike():
    rows = rows_of_users(effect_of_level=0.0)
    study = ek.classification(rows, unit="user", metrics="roc_auc", threshold=0.5)
    assert binary_diagnostics.within_units(study).p_value > 0.01


def test_without_a_unit_there_is_no_area_within_units():
    study = ek.classification(rows_of_users(), metrics="roc_auc", threshold=0.5)
    assert binary_diagnostics.within_units(study) is None
