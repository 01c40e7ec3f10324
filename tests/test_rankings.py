"""Rankings: the worked examples, the examples E1 to E9 on which the public tools differ, ties, undefined values."""

import numpy as np
import pyarrow as pa
import pytest

from evalkit.catalogue import lookup
from evalkit.metrics import rankings
from evalkit.metrics.rankings import Lists, Rankings, from_grades
from evalkit.reading.inputs import runs

NAN = float("nan")


def read(qrels: dict[str, dict[str, float]], scores: dict[str, dict[str, float]]) -> Rankings:
    """Rankings through the door: query -> item -> grade, and query -> item -> score."""
    judged = [(q, i, float(g)) for q, items in qrels.items() for i, g in items.items()]
    run = [(q, i, float(s)) for q, items in scores.items() for i, s in items.items()]
    preds = pa.table(dict(zip(("query", "item", "score"), map(list, zip(*run, strict=True)), strict=True)))
    table = pa.table(dict(zip(("query", "item", "grade"), map(list, zip(*judged, strict=True)), strict=True)))
    return runs.read(preds, table).rankings["system"]


def best_first(*items: str) -> dict[str, float]:
    """Scores that put the items in this order."""
    return {item: -rank for rank, item in enumerate(items)}


E = {
    "E1": read({"q": {"a": 3, "b": 1, "c": 2, "d": 1, "e": 1, "x": 0}}, {"q": best_first("x", "a", "y", "b", "z")}),
    "E2": read({"q": {"d1": 0, "d2": 1}}, {"q": {"d2": 0.5, "d1": 0.5, "d3": 0.5}}),
    "E2b": read({"q": {"d1": 1, "d2": 0}}, {"q": {"d1": 0.5, "d2": 0.5, "d3": 0.5}}),
    "E3": read(
        {"u1": {"a": 1}, "u2": {"a": 0}, "u3": {"a": 1}},
        {"u1": best_first("a", "b"), "u2": best_first("a", "b"), "u4": best_first("a", "b")},
    ),
    "E4": read({"q": {"a": 1, "b": 1}}, {"q": best_first("a", "b")}),
    "E5": read({"q": {"a": 3, "b": 1, "c": 2}}, {"q": best_first("b", "a", "x")}),
    "E6": read(
        {"u1": {"a": 1, "b": 1, "c": 1}, "u2": {"a": 1}},
        {"u1": best_first("a", "x", "b"), "u2": best_first("x", "y", "z")},
    ),
    "E7": read({"q": {"a": 1, "b": 1}}, {"q": {"a": -1.0, "x": -2.0, "b": -3.0}}),
    "E9": read(
        {"u1": {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, "u2": {"a": 1}, "u3": {"a": 1}},
        {"u1": best_first("a", "b", "x"), "u2": best_first("x", "a", "y"), "u3": best_first("x", "y", "z")},
    ),
}


def mean(name: str, r: Rankings) -> float:
    """The metric's mean over the queries where it is defined, or its pooled ratio."""
    return lookup.find(name, "rankings").sums(r).value


@pytest.mark.parametrize(
    "example, metric, expected",
    [
        ("E1", "average_precision@3", 0.1),
        ("E1", "average_precision@5", 0.2),
        ("E5", "average_precision@2", 2 / 3),
        ("E1", "average_precision_min@3", 1 / 6),
        ("E1", "average_precision_min@5", 0.2),
        ("E5", "average_precision_min@2", 1.0),
        ("E1", "average_precision_hits@3", 0.5),
        ("E1", "average_precision_hits@5", 0.5),
        ("E5", "average_precision_hits@2", 1.0),
        ("E4", "average_precision@5", 1.0),
        ("E1", "recall@3", 0.2),
        ("E1", "precision@3", 1 / 3),
        ("E4", "precision@5", 0.4),
        ("E4", "precision", 1.0),
        ("E6", "precision@3", 1 / 3),
        ("E6", "r_precision", 1 / 3),
        ("E9", "hit_rate@3", 2 / 3),
        ("E9", "hit_ratio@3", 3 / 7),
        ("E9", "recall@3", 7 / 15),
        ("E9", "hit_ratio_k@3", 3 / 9),
        ("E2", "reciprocal_rank", 0.5),
        ("E2b", "reciprocal_rank", 1 / 3),
        ("E2b", "reciprocal_rank@10", 1 / 3),
        ("E4", "reciprocal_rank", 1.0),
        ("E3", "precision@2", 0.25),
        ("E4", "bpref", 1.0),
        ("E5", "bpref", 2 / 3),
        ("E6", "bpref", 1 / 3),
        ("E7", "bpref", 1.0),
        ("E7", "average_precision", 5 / 6),
        ("E7", "reciprocal_rank", 1.0),
        ("E7", "precision@2", 0.5),
        ("E7", "recall@3", 1.0),
        ("E7", "hit_rate@1", 1.0),
        ("E7", "r_precision", 0.5),
    ],
)
def test_examples_on_which_the_tools_differ(example, metric, expected):
    assert mean(metric, E[example]) == pytest.approx(expected, abs=1e-12)


def test_e3_population_is_the_judged_queries():
    r = E["E3"]
    assert list(r.query) == ["u1", "u2", "u3"]
    for name in ("precision@2", "average_precision", "ndcg", "hit_rate@1"):
        found, nothing_relevant, missing = lookup.find(name, "rankings").sums(r).per_unit
        assert found > 0
        assert np.isnan(nothing_relevant)
        assert missing == 0


@pytest.mark.parametrize(
    "example, worst, best",
    [("E2", 1 / 3, 1.0), ("E2b", 1 / 3, 1.0), ("E1", 0.5, 0.5)],
)
def test_range_over_the_orders_of_ties(example, worst, best):
    r = E[example]
    assert mean("mrr", rankings.worst_ties(r)) == pytest.approx(worst)
    assert mean("mrr", rankings.best_ties(r)) == pytest.approx(best)


HITS = [[1, 0, 0, 1, 1, 1]]
NAMES = ("precision", "recall")
SHARES = ((1, 1 / 2, 1 / 3, 1 / 2, 3 / 5, 2 / 3), (0.25, 0.25, 0.25, 0.5, 0.75, 1))


@pytest.mark.parametrize(
    "metric, grades, judged, expected",
    [(f"{name}@{k}", HITS, None, p) for name, row in zip(NAMES, SHARES, strict=True) for k, p in enumerate(row, 1)]
    + [
        ("average_precision@6", HITS, None, 0.691667),
        ("average_precision_interpolated@6", HITS, None, 0.75),
        ("map", [[1, 1, 0, 1, 0, 0, 1]], None, 0.830357),
        ("map", [[1, 0, 1, 0, 1]], None, 0.755556),
        ("map", [[1, 1, 0, 1, 0, 0, 1], [1, 0, 1, 0, 1]], None, 0.792956),
        ("hit_ratio@10", [[1] * 6, [1] * 5, [1] * 4], [[1] * 10, [1] * 12, [1] * 8], 0.5),
        ("hit_ratio_k@100", [[1] * 70 + [0] * 30, [1] * 10 + [0] * 90, [1] * 40 + [0] * 60], None, 0.4),
        ("hit_rate@2", [[0, 1], [0, 0, 1], [1, 1]], None, 2 / 3),
        ("mrr", [[0, 0, 1], [0, 1], [1]], None, 0.611111),
        # Three relevant, two judged non-relevant, unjudged ones between them do not count: 1 − 1/2, 1 − 1/2, 1 − 2/2.
        ("bpref", [[0, NAN, 1, 1, NAN, 0, 1]], [[0, 1, 1, 0, 1]], (0.5 + 0.5 + 0) / 3),
    ],
)
def test_worked_examples(metric, grades, judged, expected):
    assert mean(metric, from_grades(grades, judged)) == pytest.approx(expected, abs=1e-6)


def test_rbp_does_not_multiply_by_the_grade():
    assert rankings.rbp(from_grades([[3]]))[0] == pytest.approx(0.2)
    assert rankings.rbp(from_grades([[1, 0, 0, 1]]), persistence=0.5)[0] == pytest.approx(0.5 + 0.5 * 0.125)
    assert rankings.rbp(from_grades([[1] * 500]))[0] == pytest.approx(1)


def test_relevance_level_decides_what_is_relevant():
    r = from_grades([[1, 2, 0]], [[1, 2, 0, 2]])
    assert rankings.recall(r, 2, level=2)[0] == 0.5
    assert rankings.recall(r, 2, level=1)[0] == pytest.approx(2 / 3)
    assert rankings.relevant(r, 0.5)[0] == 3
    assert np.isnan(rankings.precision(r, 2, level=3)[0])


def test_levels_between_the_same_grades_share_their_hits():
    some = from_grades([[2, 0, 1], [float("nan"), 1]]).retrieved
    assert some.hits(0.5) is some.hits(1)
    assert [some.hits(level).row.tolist() for level in (1, 1.5, 3)] == [[0, 2, 4], [0], []]
    assert some.hits(1).nth.tolist() == [1, 2, 1]
    assert some.hits(1).owner.tolist() == [0, 0, 1]


def test_interpolated_precision_at_the_eleven_points():
    r = from_grades([[1, 0, 1, 0, 0]], [[1, 1, 1, 1]])
    at = [rankings.interpolated_precision(r, x)[0] for x in (0, 0.25, 0.5, 0.75, 1)]
    np.testing.assert_allclose(at, [1, 1, 2 / 3, 0, 0])


def test_judged_counts_the_returned_items_only():
    r = from_grades([[1, NAN, 0], [], [NAN]], [[1, 0], [1], [1]])
    np.testing.assert_allclose(rankings.judged(r, 2), [0.5, NAN, 0])
    np.testing.assert_allclose(rankings.judged(r), [2 / 3, NAN, 0])


@pytest.mark.parametrize("name", [m.name for m in lookup.TABLE.values() if m.structure == "rankings"])
def test_undefined_is_nan_where_nothing_is_relevant(name):
    metric = lookup.TABLE[name]
    r = from_grades([[0, 0, 0]], [[0, 0, 0]])
    sums = lookup.Chosen(metric, None if metric.cut == "never" else 3).sums(r)
    if name == "judged":
        assert sums.value == 1
    else:
        assert np.isnan(sums.numerator[0])
        assert np.isnan(sums.value)


def test_interpolation_stays_inside_its_list():
    alone = [
        rankings.average_precision_interpolated(from_grades([one]))[0] for one in ([0, 1, 0, 1], [1, 0, 0], [0, 1])
    ]
    together = rankings.average_precision_interpolated(from_grades([[0, 1, 0, 1], [1, 0, 0], [0, 1]]))
    np.testing.assert_array_equal(together, alone)


def test_empty_lists_in_every_place():
    r = from_grades([[], [1, 0], [], [0, 1], []], [[1]] * 5)
    np.testing.assert_allclose(rankings.average_precision(r), [0, 1, 0, 0.5, 0])
    np.testing.assert_allclose(rankings.reciprocal_rank(r, 1), [0, 1, 0, 0, 0])
    np.testing.assert_allclose(rankings.bpref(r), [0, 1, 0, 1, 0])
    assert list(r.retrieved.length) == [0, 2, 0, 2, 0]


def test_no_query_at_all():
    r = from_grades([])
    assert len(r) == 0
    assert rankings.average_precision(r).shape == (0,)
    assert np.isnan(rankings.hit_ratio(r).value)


def test_tie_orders_keep_the_groups():
    grade, tied = np.array([0.0, 1.0, NAN, 2.0, 0.0]), np.array([False, True, True, False, True])
    some = Lists(grade, tied, np.array([0, 5]))
    r = Rankings(np.array(["q"]), some, some)
    np.testing.assert_array_equal(rankings.worst_ties(r).retrieved.grade, [NAN, 0, 1, 0, 2])
    np.testing.assert_array_equal(rankings.best_ties(r).retrieved.grade, [1, 0, NAN, 2, 0])
    np.testing.assert_array_equal(grade, [0, 1, NAN, 2, 0])
