"""The table of metrics: names and cut-offs, AUC by query and GAUC, and the invariants that every
row must keep.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import MetricAtK
from evalkit.catalogue.metric import TEXTS
from evalkit.metrics import rankings
from evalkit.metrics.rankings import Rankings
from evalkit.reading.inputs import runs

NO_RELEVANT, NO_GAIN = "nothing is relevant", "no item has a grade above 0"
METRICS = [metric for metric in lookup.TABLE.values() if metric.structure == "rankings"]
CHOSEN = [
    MetricAtK(metric, k)
    for metric in METRICS
    for k in (None, 1, 3)
    if metric.cut != ("never" if k else "must")
]
NAMES = [one.label for one in CHOSEN]

# ---- names ---------------------------------------------------------------------------------------


def test_every_metric_has_words_and_no_words_are_of_none():
    rows = {(of, name): row for of, table in lookup.TABLES.items() for name, row in table.items()}
    assert set(rows) == {
        (structure, name) for structure in lookup.TABLES for name in TEXTS[structure]
    }
    assert all(row.formula and row.undefined and row.plain for row in rows.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_label_finds_its_metric_again(name):
    chosen = CHOSEN[NAMES.index(name)]
    assert lookup.find_metric(name, "rankings") == chosen


# ---- AUC by query, GAUC --------------------------------------------------------------------------


def users(labels: list[list[int]], scores: list[list[float]]) -> Rankings:
    """Rankings of users u0, u1, … with the labels beside the scores."""
    rows = [
        (f"u{u}", f"i{i}", s, float(y))
        for u, (ys, ss) in enumerate(zip(labels, scores, strict=True))
        for i, (y, s) in enumerate(zip(ys, ss, strict=True))
    ]
    names = ("query", "item", "score", "grade")
    return runs.read(
        pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    ).rankings["score"]


def value(name: str, r: Rankings) -> float:
    """The mean or the pooled ratio."""
    return lookup.find_metric(name, "rankings").sums(r).value


WORKED = users([[1, 0, 1, 0], [1, 0, 0]], [[0.9, 0.8, 0.7, 0.1], [0.6, 0.7, 0.2]])
TABLE_2_9 = ([[1, 0, 1, 0], [1, 0, 0, 0, 0, 0]], [[4.0, 3, 2, 1], [6.0, 5, 4, 3, 2, 1]])


@pytest.mark.parametrize(
    "name, expected", [("gauc", 0.642857), ("gauc_positives", 0.666667), ("gauc_uniform", 0.625)]
)
def test_worked_example_of_gauc(name, expected):
    assert value(name, WORKED) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    "name, expected", [("gauc_uniform", 0.875), ("gauc_positives", 5 / 6), ("gauc", 0.9)]
)
def test_gauc_weights_on_which_the_tools_differ(name, expected):
    labels, scores = TABLE_2_9
    assert value(name, users(labels, scores)) == pytest.approx(expected)
    with_one_class = users([*labels, [1, 1, 1]], [*scores, [3.0, 2, 1]])
    assert value(name, with_one_class) == pytest.approx(expected)
    assert np.isnan(rankings.auc(with_one_class)[2])


def test_a_tied_pair_counts_half_whatever_the_ids():
    assert rankings.auc(users([[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]])).tolist() == [0.5, 0.5]


# ---- invariants ----------------------------------------------------------------------------------

ITEMS = [f"i{n}" for n in range(6)]
GRADE = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 3.0])
SCORE = st.sampled_from([-2.5, -1.0, 0.0, 0.25, 0.5, 3.0, 1e9, 1e-300])


@st.composite
def judged_runs(draw, score=SCORE):
    """qrels and run as rows: some queries missed by the run, some only in it, ties, unjudged
    items.
    """
    qrels = []
    run = []
    for query in ("q1", "q2", "q3", "q4"):
        grades = draw(st.dictionaries(st.sampled_from(ITEMS), GRADE, min_size=1, max_size=6))
        qrels += [(query, item, grade) for item, grade in grades.items()]
    for query in draw(
        st.sets(st.sampled_from(["q1", "q2", "q3", "only"]), min_size=1).filter(
            lambda s: s != {"only"}
        )
    ):
        scores = draw(st.dictionaries(st.sampled_from(ITEMS), score, min_size=1, max_size=6))
        run += [(query, item, one) for item, one in scores.items()]
    return qrels, run


def read(qrels: list[tuple], run: list[tuple]) -> Rankings:
    """The rankings of the rows."""
    preds = pa.table(
        dict(zip(("query", "item", "score"), map(list, zip(*run, strict=True)), strict=True))
    )
    judged = pa.table(
        dict(zip(("query", "item", "grade"), map(list, zip(*qrels, strict=True)), strict=True))
    )
    assume({row[:2] for row in qrels} & {row[:2] for row in run})  # else the run is refused
    return runs.read(preds, judged).rankings["score"]


def every_value(r: Rankings, level: float = 1) -> dict[str, np.ndarray]:
    """All metrics; a pooled one as its ratio by query."""
    return {chosen.label: chosen.sums(r, level).per_unit for chosen in CHOSEN}


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    """Equal to the last bit."""
    for name, values in a.items():
        np.testing.assert_array_equal(values, b[name], err_msg=name)


some_examples = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@some_examples
@given(judged_runs(), st.sampled_from([0.5, 1, 2]))
def test_values_lie_in_the_range_or_are_undefined_as_the_table_says(data, level):
    r = read(*data)
    nothing = {
        NO_RELEVANT: rankings.relevant(r, level) == 0,
        NO_GAIN: r.ideal.total(r.ideal.grade > 0) == 0,
    }
    for one, values in zip(CHOSEN, every_value(r, level).values(), strict=True):
        known = values[~np.isnan(values)]
        assert (known >= one.metric.low).all(), one.label
        assert (known <= one.metric.high + 1e-12).all(), one.label
        if one.metric.undefined in nothing:
            np.testing.assert_array_equal(
                np.isnan(values), nothing[one.metric.undefined], err_msg=one.label
            )


@some_examples
@given(
    judged_runs(),
    st.randoms(use_true_random=False),
    st.dictionaries(st.sampled_from(ITEMS), SCORE, min_size=1),
)
def test_order_another_scale_and_a_query_of_the_run_alone_change_nothing(data, random, scores):
    qrels, run = data
    before = every_value(read(qrels, run))
    doubled = [(query, item, 2 * score) for query, item, score in run]
    doubled += [("nobody judged this", item, score) for item, score in scores.items()]
    random.shuffle(qrels)
    random.shuffle(doubled)
    same(before, every_value(read(qrels, doubled)))


@some_examples
@given(judged_runs())
def test_perfect_order_is_best(data):
    qrels, run = data
    grade = {(query, item): one for query, item, one in qrels}
    perfect = [(query, item, grade.get((query, item), 0.0)) for query, item, _ in run]
    ours = every_value(read(qrels, run))
    best = every_value(read(qrels, perfect))
    for one in CHOSEN:
        # AUC is blind to equal scores' order: grades as scores tie only where the metric sees no
        # difference.
        if one.metric.best == "high":
            worse = ours[one.label] > best[one.label] + 1e-12
            assert not worse.any(), (one.label, ours[one.label], best[one.label])


@some_examples
@given(judged_runs())
def test_ties_lie_between_the_worst_and_the_best_order(data):
    r = read(*data)
    worst = every_value(rankings.worst_ties(r))
    best = every_value(rankings.best_ties(r))
    for one, values in zip(CHOSEN, every_value(r).values(), strict=True):
        # A hit that falls out of the first k can raise the mean precision at the hits that stay:
        # that metric has no worst order of this kind.
        if one.metric.best == "high" and one.metric.name != "average_precision_hits":
            assert not (values < worst[one.label] - 1e-12).any(), one.label
            assert not (values > best[one.label] + 1e-12).any(), one.label


@some_examples
@given(judged_runs())
def test_a_query_missing_from_the_run_has_the_value_that_the_catalogue_states(data):
    qrels, run = data
    r = read(qrels, run)
    missing = ~np.isin(r.query, [query for query, _, _ in run])
    assert missing[3]
    for one, values in zip(CHOSEN, every_value(r).values(), strict=True):
        stated = one.metric.missing
        defined = values[missing & ~np.isnan(values)]
        assert defined.tolist() == ([] if stated is None else [stated] * len(defined)), one.label


@some_examples
@given(judged_runs())
def test_queries_do_not_touch_each_other(data):
    qrels, run = data
    together = every_value(read(qrels, run))
    for i, query in enumerate(("q1", "q2", "q3")):
        if any(row[0] == query for row in run):
            alone = read(
                [row for row in qrels if row[0] == query], [row for row in run if row[0] == query]
            )
            top = max(grade for _, _, grade in qrels)
            for name, values in every_value(replace(alone, top_grade=top)).items():
                np.testing.assert_allclose(
                    values[0], together[name][i], rtol=1e-12, atol=1e-15, err_msg=name
                )


# Names within sentences ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, structure, spoken",
    [
        ("roc_auc", "counts", "ROC AUC"),
        ("average_precision", "counts", "average precision"),
        ("brier", "counts", "Brier score"),
        ("kappa", "counts", "Cohen's kappa"),
        ("youden", "counts", "Youden's J"),
        ("r_precision", "rankings", "R-precision"),
        ("mrr", "rankings", "reciprocal rank"),
        ("ndcg@10", "rankings", "nDCG@10"),
        ("precision@5", "rankings", "precision@5"),
        ("bpref", "rankings", "bpref"),
        ("wis", "forecasts", "weighted interval score"),
    ],
)
def test_a_sentence_names_a_metric_as_people_do(name, structure, spoken):
    assert lookup.find_metric(name, structure).spoken == spoken


@pytest.mark.parametrize(
    "name, structure, label",
    [
        ("macro_f1", "classes", "macro_f1"),
        ("average_precision@10", "rankings", "average_precision@10"),
    ],
)
def test_a_sentence_keeps_the_label_of_a_variant(name, structure, label):
    assert lookup.find_metric(name, structure).spoken == label


def test_a_title_begins_with_a_capital_letter_where_the_spoken_name_does_not():
    assert lookup.find_metric("accuracy", "counts").title == "Accuracy"
