"""Graded gains: the worked examples, the variants on which the public tools differ, ERR and its top grade."""

from dataclasses import replace

import numpy as np
import pytest
from test_rankings import E, mean

from evalkit.arrays import InputError
from evalkit.metrics import rankings
from evalkit.metrics.rankings import from_grades

LISTS = {"A": [5, 3, 2, 1, 2], "B": [4, 2, 1, 1, 2], "C": [3, 2, 3, 0, 1, 2], "D": [3, 1, 2, 3, 2]}
POOL = {"A": [5, 3, 2, 1, 2, 4, 0], "B": [4, 2, 1, 1, 2, 3, 0], "C": [3, 2, 3, 0, 1, 2, 3, 0], "D": [3, 1, 2, 3, 2]}


@pytest.mark.parametrize(
    "name, metric, expected",
    [
        ("A", "cg@5", 13),
        ("B", "cg@5", 10),
        ("C", "cg@6", 11),
        ("D", "cg@5", 11),
        ("A", "dcg_exp@5", 38.507743),
        ("A", "ndcg_exp@5", 0.829613),
        ("D", "dcg", 6.696665),
        ("D", "ndcg", 0.937778),
        ("D", "dcg_exp", 13.306224),
        ("D", "ndcg_exp", 0.911673),
        ("C", "dcg@6", 6.861127),
        ("C", "ndcg@6", 0.818354),
        ("B", "dcg@5", 6.966242),
        ("B", "ndcg@5", 0.855699),
        ("ideal A", "dcg_exp@5", 46.416534),
        ("ideal D", "dcg@5", 7.140995),
        ("ideal C", "dcg@6", 8.384055),
        ("ideal B", "dcg@5", 8.140995),
    ],
)
def test_worked_examples(name, metric, expected):
    """The ideal takes the whole pool."""
    pool = POOL[name[-1]]
    listed = sorted(pool, reverse=True) if name.startswith("ideal") else LISTS[name]
    assert mean(metric, from_grades([listed], [pool])) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    "example, metric, expected",
    [
        ("E1", "ndcg@3", 0.3975),
        ("E5", "ndcg@3", 0.6075),
        ("E1", "ndcg_exp@3", 0.4702),
        ("E5", "ndcg_exp@3", 0.5767),
        ("E1", "ndcg_binary@3", 0.2961),
        ("E5", "ndcg_binary@3", 0.7654),
        ("E4", "ndcg_binary@5", 1.0),
        ("E7", "ndcg@3", 0.9197),
        ("E5", "err@3", 0.5078),
    ],
)
def test_examples_on_which_the_tools_differ(example, metric, expected):
    assert mean(metric, E[example]) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    "grades, judged, top, expected",
    [
        ([1, 1], None, 1, 0.625),
        ([1, 1], None, 4, 0.0918),
        ([1, 3, 0], [3, 1, 2], 4, 0.2676),
        ([1, 3], [3, 1, 2], 3, 0.5078),
    ],
)
def test_err_with_the_top_grade_of_the_scale(grades, judged, top, expected):
    r = replace(from_grades([grades], None if judged is None else [judged]), top_grade=top)
    assert rankings.err(r)[0] == pytest.approx(expected, abs=5e-5)


def test_err_keeps_queries_apart():
    r = from_grades([[2, 0, 1], [], [0, 1, 2, 2]], [[2, 1], [2], [1, 2, 2]])
    alone = [
        rankings.err(replace(from_grades([g], [[1, 2, 2]]), top_grade=2.0))[0] for g in ([2, 0, 1], [], [0, 1, 2, 2])
    ]
    np.testing.assert_allclose(rankings.err(r), alone, rtol=1e-12)


def test_a_grade_below_the_level_still_gains():
    r = from_grades([[0.5, 0]])
    assert rankings.ndcg(r)[0] == 1
    assert rankings.dcg(r)[0] == 0.5
    assert np.isnan(rankings.ndcg(r, gain=rankings.binary(1))[0])


def test_undefined_where_no_grade_is_above_zero():
    r = from_grades([[0, 0], [1, 0]], [[0, 0], [1, 0]])
    for function in (rankings.cg, rankings.dcg, rankings.ndcg, rankings.err):
        assert np.isnan(function(r)[0])
        assert function(r)[1] > 0


def test_high_grades():
    assert rankings.err(from_grades([[60, 60, 1]]))[0] == pytest.approx(1)
    assert rankings.err(from_grades([[0, 2000]]))[0] == pytest.approx(0.5)
    assert rankings.ndcg(from_grades([[0, 1000]]), gain=rankings.exponential)[0] == pytest.approx(1 / np.log2(3))
    with pytest.raises(InputError, match="grade must be at most 1023 for an exponential gain, got 1024"):
        rankings.ndcg(from_grades([[1024]]), gain=rankings.exponential)
