"""The explorer of queries: the most moved ones with both values, and the first items of their lists."""

import re

import numpy as np
import pandas as pd
import pytest

from evalkit.pages import ranking_page
from evalkit.reading.inputs import lists as listed
from evalkit.studies import ranking


def table(queries=30, items=8, seed=1):
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 3, (queries, items))
    frames = []
    for system, noise in (("x", 1.0), ("y", 3.0)):
        score = grade + rng.normal(0, noise, grade.shape)
        query, item = np.indices(grade.shape).reshape(2, -1)
        names = [f"q{i:02d}" for i in query], [f"i{i}" for i in item]
        columns = {"query": names[0], "item": names[1], "score": score.ravel(), "grade": grade.ravel()}
        frames.append(pd.DataFrame({"system": system} | columns | {"kind": [f"k{i % 3}" for i in query]}))
    return pd.concat(frames).sample(frac=1, random_state=seed)


def test_queries_are_listed_by_how_far_they_moved_with_the_values_of_the_study():
    study = ranking.read(table(), segments="kind")
    (shown,) = ranking_page.explorer(study).to_frames()
    assert list(shown)[:5] == ["query", "kind", "ndcg@10 x", "ndcg@10 y", "difference"]
    differences, values = study.differences(), study.values()
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
        own = rows[(rows["query"] == query) & (rows["system"] == "y")].sort_values("score", ascending=False)
        assert study.top("y", number, 5) == list(zip(own["item"][:5], own["grade"][:5].astype(float), strict=True))


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
    assert re.findall("<section>(.)<ol>", opened) == list(study.shown)
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
