"""Rankings: the worked examples, the examples E1 to E9 on which the public tools differ, ties,
undefined values.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from samples import examples, printed

from evalkit.catalogue import lookup
from evalkit.metrics import rankings
from evalkit.metrics.rankings import Lists, Rankings, from_grades
from evalkit.reading.inputs import runs

EXAMPLES = examples("rankings")
NAN = float("nan")


def read(qrels: dict[str, dict[str, float]], scores: dict[str, dict[str, float]]) -> Rankings:
    """Rankings through the door: query -> item -> grade, and query -> item -> score."""
    judged = [(q, i, float(g)) for q, items in qrels.items() for i, g in items.items()]
    run = [(q, i, float(s)) for q, items in scores.items() for i, s in items.items()]
    preds = pa.table(
        dict(zip(("query", "item", "score"), map(list, zip(*run, strict=True)), strict=True))
    )
    table = pa.table(
        dict(zip(("query", "item", "grade"), map(list, zip(*judged, strict=True)), strict=True))
    )
    return runs.read(preds, table).rankings["score"]


def lists_of(example: dict) -> Rankings:
    """The lists of an example: by grades in their order, or by judgements and scores, or the order
    of items.
    """
    if "grades" in example:
        r = from_grades(example["grades"], example.get("judged"))
        return replace(r, top_grade=example["top"]) if "top" in example else r
    ordered = {
        q: {item: -rank for rank, item in enumerate(items)}
        for q, items in example.get("lists", {}).items()
    }
    return read(example["qrels"], example.get("scores", ordered))


def mean(name: str, r: Rankings) -> float:
    """The metric's mean over the queries where it is defined, or its pooled ratio."""
    return lookup.find_metric(name, "rankings").sums(r).value


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name):
    """EXAMPLES, by name, are small ranked lists with the expected means of metrics. Those under
    `values` were computed by hand and must agree to rounding, those under `printed` stand as text
    in a publication and must agree to half of its last digit. Some are cases on which public tools
    differ.
    """
    example = EXAMPLES[name]
    r = lists_of(example)
    expected = example.get("values", {})
    values = {metric: mean(metric, r) for metric in expected}
    assert values == pytest.approx(expected, abs=1e-12, nan_ok=True)
    for metric, text in example.get("printed", {}).items():
        assert mean(metric, r) == printed(text)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "ties" in EXAMPLES[name]])
def test_mrr_of_the_worst_and_of_the_best_order_of_ties(name):
    r = lists_of(EXAMPLES[name])
    worst = mean("mrr", rankings.worst_ties(r))
    best = mean("mrr", rankings.best_ties(r))
    assert [worst, best] == pytest.approx(EXAMPLES[name]["ties"])


def test_rbp_by_hand():
    assert rankings.rbp(from_grades([[1, 0, 0, 1]]), persistence=0.5)[0] == pytest.approx(
        0.5 + 0.5 * 0.125
    )
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


def test_items_change_places_within_their_group_of_tied_scores_alone():
    """One list of five items: the first three have one score, the last two another one. The worst
    order has the grades of each three and two rising, the best falling; an item without a
    judgement, NaN, counts as the worst. The array of grades that was given must stay as it is.
    """
    grade = np.array([0.0, 1.0, NAN, 2.0, 0.0])
    is_tied_with_item_before = np.array([False, True, True, False, True])
    bounds_of_list = np.array([0, 5])
    lists = Lists(grade, is_tied_with_item_before, bounds_of_list)
    r = Rankings(np.array(["q"]), retrieved=lists, ideal=lists)
    np.testing.assert_array_equal(rankings.worst_ties(r).retrieved.grade, [NAN, 0, 1, 0, 2])
    np.testing.assert_array_equal(rankings.best_ties(r).retrieved.grade, [1, 0, NAN, 2, 0])
    np.testing.assert_array_equal(grade, [0, 1, NAN, 2, 0])
