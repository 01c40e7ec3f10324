"""The explorer of rows: those that are missed by most, with what each system says and their other columns."""

import numpy as np
import pandas as pd
import pytest

from evalkit.limits import Limits, Reading
from evalkit.pages import classification_page, explorer
from evalkit.parameters import Classification
from evalkit.studies import classification, rating, row_study


def binary(n=80, seed=2, **more):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    scores = {f"score_{name}": rng.beta(1 + s * label, 1 + s * (1 - label)) for name, s in (("a", 2.0), ("b", 0.5))}
    return pd.DataFrame({"id": [f"r{i:04d}" for i in range(n)], "label": label, **scores, **more})


def rows_of(study):
    (frame,) = explorer.explorer(study).to_frames()
    return frame


def test_rows_are_listed_by_the_leaders_miss_with_the_scores_of_each_system():
    table = binary(part=np.tile(["x", "y"], 40))
    frame = rows_of(classification.read(table, segments="part")).set_index("row")
    assert list(frame) == ["part", "label", "a", "b", "miss a", "miss a − b"]
    assert frame["miss a"].is_monotonic_decreasing
    for row in table.to_dict("records"):
        listed = frame.loc[row["id"]]
        misses = [abs(row["label"] - row[f"score_{name}"]) for name in "ab"]
        assert listed[["a", "miss a", "miss a − b"]].tolist() == pytest.approx(
            [row["score_a"], misses[0], misses[0] - misses[1]], abs=6e-4
        )
        assert (listed["part"], listed["label"]) == (f"part {row['part']}", str(row["label"]))


def test_of_many_rows_the_most_missed_and_those_missed_most_unlike_are_kept():
    study = classification.read(binary(3000))
    m = row_study.missed(study, 40)
    off = {name: np.abs(study.data.label - score) for name, score in study.data.score.items()}
    first, apart = off[study.leader], np.abs(off["a"] - off["b"])
    assert {*np.argsort(-first)[:20], *np.argsort(-apart)[:20]} <= {*m.rows}
    assert len(m.rows) == 40
    piece = explorer.explorer(study)
    listed = len(piece.to_frames()[0])
    assert 60 < listed <= explorer.MOST
    assert len(piece.html) < 1.2 * explorer.ROOM
    assert f"The {listed} rows with the largest or most unlike errors" in piece.html
    assert (
        "Of 3,000 rows, those with the largest errors of a, "
        "and those where the errors of a and b differ most." in piece.html
    )


def test_of_many_rows_those_without_a_miss_are_not_listed():
    actual = np.arange(60.0)
    table = pd.DataFrame({"id": range(60), "actual": actual, "forecast": actual + (np.arange(60) % 10 == 0)})
    m = row_study.missed(rating.read(table, metrics="mae"), 40)
    assert [m.aligned.id[row] for row in m.rows] == ["0", "10", "20", "30", "40", "50"]


def test_each_segment_has_its_most_missed_rows():
    study = classification.read(binary(3000, part=np.where(np.arange(3000) < 2980, "many", "few")), segments="part")
    m = row_study.missed(study, 40)
    few = np.arange(2980, 3000)
    worst = few[np.argsort(-m.misses.off["a"][few])]
    assert {*worst[:6]} <= {*m.rows}
    assert "overall and per segment" in explorer.explorer(study).html


def test_a_row_opens_to_its_other_columns(tmp_path):
    table = binary(city=[f"<b>{i}</b>" for i in range(80)], age=np.where(np.arange(80) % 2, np.arange(80.0), np.nan))
    table.iloc[:50].to_csv(tmp_path / "1.csv", index=False)
    table.iloc[50:].to_csv(tmp_path / "2.csv", index=False)
    m = row_study.missed(classification.read(str(tmp_path / "*.csv")), 80)
    for row, others in zip(m.rows, m.opened(40), strict=False):
        age = {"age": str(row)} if row % 2 else {}
        assert {**others, **({"age": others["age"].removesuffix(".0")} if row % 2 else {})} == (
            {"city": f"<b>{row}</b>"} | age
        )
    html = explorer.explorer(classification.read(table)).html
    assert html.count("<details><summary>r") == explorer.OPENED
    assert "city: &lt;b&gt;" in html


def test_scores_that_are_no_probabilities_are_ranked():
    table = binary()
    table["score_a"] = 10 * table["score_a"]
    m = row_study.misses(classification.read(table).data)
    rank = (table["score_a"].rank() - 0.5) / len(table)
    assert m.off["a"] == pytest.approx(np.abs(table["label"] - rank).to_numpy())
    assert m.by is row_study.By.RANK


def test_a_class_without_probabilities_is_hit_or_missed():
    table = pd.DataFrame({"y_true": list("abcabc"), "y_pred": list("abccba")})
    m = row_study.misses(classification.read(table).data)
    assert next(iter(m.off.values())).tolist() == [0, 0, 0, 1, 0, 1]


def test_a_table_that_is_not_at_hand_says_that_it_lists_none():
    small = Limits(reading=Reading(rows=100, shard=100))
    study = classification.study_of(Classification.of({"preds": binary(600)}), small)
    assert "Single rows are not listed: of more than 100 rows none is kept." in classification_page.explorer(study).html


def test_the_json_has_the_rows_that_the_page_lists_unrounded():
    study = classification.read(binary(3000))
    frame, missed = rows_of(study), classification_page.results(study).results["missed"]
    assert [row["row"] for row in missed] == frame["row"].tolist()
    for row, shown in zip(missed, frame.to_dict("records"), strict=True):
        systems = {system["system"]: system for system in row["systems"]}
        assert shown["miss a"] == pytest.approx(systems["a"]["miss"], abs=6e-4)
        assert shown["miss a − b"] == pytest.approx(systems["a"]["miss"] - systems["b"]["miss"], abs=6e-4)
        assert (shown["a"], shown["b"]) == pytest.approx([systems[name]["says"] for name in "ab"], abs=6e-4)
