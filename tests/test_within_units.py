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


def table(n=600, users=30, lean=0.0):
    """Rows of users; lean: how much a user's own level tells of the label."""
    user = RNG.integers(0, users, n)
    level = RNG.normal(0, 1, users)[user]
    label = (RNG.random(n) < 1 / (1 + np.exp(-lean * level))).astype(int)
    scores = {
        name: 0.8 * label + lean * level + RNG.normal(0, 1, n) for name in ("score_a", "score_b")
    }
    return pd.DataFrame({"id": np.arange(n), "user": user.astype(str), "label": label} | scores)


def by_user(frame):
    """AUC, rows and positives of every user that has both classes, by scikit-learn."""
    parts = [part for _, part in frame.groupby("user") if part["label"].nunique() == 2]
    areas = [roc_auc_score(part["label"], part["score_a"]) for part in parts]
    return (
        np.array(areas),
        np.array([len(part) for part in parts]),
        np.array([part["label"].sum() for part in parts]),
    )


def values(frame, metrics="gauc,gauc_positives,gauc_uniform"):
    study = ek.classification(frame, metrics=metrics, unit="user", threshold=0.5)
    return study.estimates[study.estimates["system"] == "a"].set_index("metric")


def test_each_weight_is_the_mean_of_scikit_learns_areas():
    frame = table()
    area, rows, positives = by_user(frame)
    expected = [np.average(area, weights=rows), np.average(area, weights=positives), area.mean()]
    estimates = values(frame)
    assert estimates["value"].tolist() == pytest.approx(expected, abs=1e-14)
    assert (estimates["low"] < estimates["value"]).all()
    assert (estimates["value"] < estimates["high"]).all()


def test_users_of_one_class_take_no_part():
    frame = table()
    alone = frame[:3].assign(id=[10**6, 10**6 + 1, 10**6 + 2], user="lone", label=1)
    more = values(pd.concat([frame, alone]))
    assert more["value"].tolist() == values(frame)["value"].tolist()
    assert more["low"].tolist() == values(frame)["low"].tolist()


def test_a_weight_of_two_is_the_row_twice():
    label = RNG.integers(0, 2, 80)
    user = RNG.integers(0, 6, 80)
    score = RNG.integers(0, 9, 80) / 9
    times = RNG.integers(1, 4, 80)
    often = auc_by_group(*(np.repeat(column, times) for column in (label, score, user)))
    weighted = weighted_auc_by_group(label, score, user, times)
    assert weighted.auc == pytest.approx(often.auc, abs=1e-14)
    assert weighted.impressions.tolist() == often.impressions.tolist()
    same = weighted_auc_by_group(label, score, user, np.ones(80))
    assert same.auc == pytest.approx(auc_by_group(label, score, user).auc, abs=1e-14)


def test_rows_of_weight_are_read():
    frame = table().assign(weight=2.0)
    assert values(frame)["value"].tolist() == pytest.approx(
        values(frame.drop(columns="weight"))["value"].tolist(), abs=1e-14
    )


def test_a_page_tells_where_users_carry_the_area():
    lean = ek.classification(
        table(3_000, 100, lean=2.0), unit="user", metrics="roc_auc", threshold=0.5
    )
    c = binary_diagnostics.within_units(lean)
    (finding,) = [one for one in binary_page.every_finding(lean) if one.kind.code == "EK341"]
    assert c.p_value < 0.05
    assert c.difference.value > 0.1
    assert f"AUC of {lean.leader}: " in finding.message
    assert "within each user (gauc)" in finding.message
    assert finding in binary_page.every_finding(lean)
    even = ek.classification(table(), unit="user", metrics="roc_auc", threshold=0.5)
    assert binary_diagnostics.within_units(even).p_value > 0.01
    assert (
        binary_diagnostics.within_units(
            ek.classification(table(), metrics="roc_auc", threshold=0.5)
        )
        is None
    )
