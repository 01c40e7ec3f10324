"""The explorers of rows and of queries: the most missed and the most moved, with what each system
says.
"""

import re

import numpy as np
import pandas as pd
import pytest

from evalkit.limits import Limits, Reading
from evalkit.metrics.rows import ErrorKind
from evalkit.pages import classification_page, explorer, ranking_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.reading.inputs import lists as listed
from evalkit.studies import classification, ranking, rating, row_study


def binary(n=80, seed=2, **more):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    scores = {
        f"score_{name}": rng.beta(1 + s * label, 1 + s * (1 - label))
        for name, s in (("a", 2.0), ("b", 0.5))
    }
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
    off = {name: np.abs(study.data.actual - score) for name, score in study.data.score.items()}
    first = off[study.leader]
    apart = np.abs(off["a"] - off["b"])
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
    table = pd.DataFrame(
        {"id": range(60), "actual": actual, "forecast": actual + (np.arange(60) % 10 == 0)}
    )
    m = row_study.missed(rating.read(table, metrics="mae"), 40)
    assert [m.aligned.id[row] for row in m.rows] == ["0", "10", "20", "30", "40", "50"]


def test_each_segment_has_its_most_missed_rows():
    study = classification.read(
        binary(3000, part=np.where(np.arange(3000) < 2980, "many", "few")), segments="part"
    )
    m = row_study.missed(study, 40)
    few = np.arange(2980, 3000)
    worst = few[np.argsort(-m.misses.errors["a"][few])]
    assert {*worst[:6]} <= {*m.rows}
    assert "overall and per segment" in explorer.explorer(study).html


def test_a_row_opens_to_its_other_columns(tmp_path):
    table = binary(
        city=[f"<b>{i}</b>" for i in range(80)],
        age=np.where(np.arange(80) % 2, np.arange(80.0), np.nan),
    )
    table.iloc[:50].to_csv(tmp_path / "1.csv", index=False)
    table.iloc[50:].to_csv(tmp_path / "2.csv", index=False)
    m = row_study.missed(classification.read(str(tmp_path / "*.csv")), 80)
    for row, others in zip(m.rows, m.unused_values(40), strict=False):
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
    m = classification.read(table).data.misses
    rank = (table["score_a"].rank() - 0.5) / len(table)
    assert m.errors["a"] == pytest.approx(np.abs(table["label"] - rank).to_numpy())
    assert m.error_kind is ErrorKind.RANK


def test_a_class_without_probabilities_is_hit_or_missed():
    table = pd.DataFrame({"y_true": list("abcabc"), "y_pred": list("abccba")})
    m = classification.read(table).data.misses
    assert next(iter(m.errors.values())).tolist() == [0, 0, 0, 1, 0, 1]


def test_a_table_that_is_not_at_hand_says_that_it_lists_none():
    small = Limits(reading=Reading(rows=100, shard=100))
    study = classification.study_of(
        ClassificationParameters.from_raw({"preds": binary(600)}), small
    )
    assert (
        "Single rows are not listed: of more than 100 rows none is kept."
        in classification_page.explorer(study).html
    )


def test_the_json_has_the_rows_that_the_page_lists_unrounded():
    study = classification.read(binary(3000))
    frame = rows_of(study)
    missed = classification_page.results(study).results["missed"]
    assert [row["row"] for row in missed] == frame["row"].tolist()
    for row, shown in zip(missed, frame.to_dict("records"), strict=True):
        systems = {system["system"]: system for system in row["systems"]}
        assert shown["miss a"] == pytest.approx(systems["a"]["miss"], abs=6e-4)
        assert shown["miss a − b"] == pytest.approx(
            systems["a"]["miss"] - systems["b"]["miss"], abs=6e-4
        )
        assert (shown["a"], shown["b"]) == pytest.approx(
            [systems[name]["says"] for name in "ab"], abs=6e-4
        )


def table(queries=30, items=8, seed=1):
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 3, (queries, items))
    frames = []
    for system, noise in (("x", 1.0), ("y", 3.0)):
        score = grade + rng.normal(0, noise, grade.shape)
        query, item = np.indices(grade.shape).reshape(2, -1)
        names = [f"q{i:02d}" for i in query], [f"i{i}" for i in item]
        columns = {
            "query": names[0],
            "item": names[1],
            "score": score.ravel(),
            "grade": grade.ravel(),
        }
        frames.append(
            pd.DataFrame({"system": system} | columns | {"kind": [f"k{i % 3}" for i in query]})
        )
    return pd.concat(frames).sample(frac=1, random_state=seed)


def test_queries_are_listed_by_how_far_they_moved_with_the_values_of_the_study():
    study = ranking.read(table(), segments="kind")
    (shown,) = ranking_page.explorer(study).to_frames()
    assert list(shown)[:5] == ["query", "kind", "ndcg@10 x", "ndcg@10 y", "difference"]
    differences = study.differences()
    values = study.values()
    assert shown["difference"].abs().is_monotonic_decreasing
    for row in shown.to_dict("records"):
        query = row["query"]
        assert row["kind"] == f"kind k{int(query[1:]) % 3}"
        assert row["ndcg@10 x"] == pytest.approx(values["x"][query], abs=5.1e-4)
        assert row["difference"] == pytest.approx(differences[query], abs=5.1e-4)


def test_a_list_has_its_items_in_the_order_of_its_scores():
    rows = table()
    study = ranking.read(rows)
    for number, query in enumerate(study.runs.query[:10]):
        own = rows[(rows["query"] == query) & (rows["system"] == "y")].sort_values(
            "score", ascending=False
        )
        assert study.top("y", number, 5) == list(
            zip(own["item"][:5], own["grade"][:5].astype(float), strict=True)
        )


def test_of_many_queries_the_most_moved_are_shown_and_fewer_metrics():
    piece = ranking_page.explorer(ranking.read(table(queries=510)))
    (shown,) = piece.to_frames()
    assert (len(shown), piece.html.count("<details><summary>q")) == (500, 50)
    assert list(shown)[1:] == ["ndcg@10 x", "ndcg@10 y", "difference", "overlap@10", "RBO"]
    assert "The 500 queries that differ most" in piece.html


def test_each_query_has_the_overlap_of_its_two_lists_and_those_side_by_side():
    study = ranking.read(table())
    piece = ranking_page.explorer(study)
    (shown,) = piece.to_frames()
    by_query = study.likeness.set_index("query")
    for row in shown.to_dict("records"):
        number = list(study.runs.query).index(row["query"])
        lists = [[item for item, _ in study.top(name, number, 10)] for name in ("x", "y")]
        common = len({*lists[0]} & {*lists[1]})
        assert row["overlap@10"] == pytest.approx(common / max(map(len, lists)), abs=5.1e-3)
        assert row["RBO"] == pytest.approx(by_query["rbo"][row["query"]], abs=5.1e-3)
    opened = piece.html.split("<details><summary>q", 2)[1].split("</details>")[0]
    assert re.findall("<section>(.)<ol>", opened) == list(study.compared_systems)
    assert opened.count("<li>") == 16


def test_without_items_at_hand_there_are_values_and_no_lists(monkeypatch):
    monkeypatch.setattr(listed, "KEPT", 30 * 2 * listed.SHALLOWEST - 1)
    study = ranking.read(table())
    piece = ranking_page.explorer(study)
    assert piece.html.count("<details") == 1
    (shown,) = piece.to_frames()
    assert len(shown) == 30
    assert "RBO" not in shown
    assert not len(study.likeness)


def test_no_more_rows_of_a_list_are_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(listed, "SHALLOWEST", 2)
    monkeypatch.setattr(listed, "KEPT", 30 * 2 * 3)
    first = ranking.read(table()).top("x", 4, 10)
    monkeypatch.undo()
    assert first == ranking.read(table()).top("x", 4, 3)
