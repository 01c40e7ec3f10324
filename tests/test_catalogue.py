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

# each metric of ranked lists without a cut-off and at 1 and 3, if it can and need not have one
RANKING_METRICS = [
    MetricAtK(metric, k)
    for metric in lookup.TABLE.values()
    if metric.structure == "rankings"
    for k in (None, 1, 3)
    if metric.cut != ("never" if k else "must")
]

# ---- names ---------------------------------------------------------------------------------------


def test_every_metric_has_texts_and_all_texts_are_of_metrics():
    """The catalogue has a table of metrics by name for each structure of data, such as "rankings".
    A separate file has the texts of each metric: its formula, when it is undefined, and a plain
    description.
    """
    for structure, metrics_by_name in lookup.TABLES.items():
        assert set(metrics_by_name) == set(TEXTS[structure])
        for metric in metrics_by_name.values():
            assert metric.formula
            assert metric.undefined
            assert metric.plain


@pytest.mark.parametrize("metric", RANKING_METRICS, ids=lambda metric: metric.label)
def test_a_metric_is_found_by_its_label(metric):
    assert lookup.find_metric(metric.label, "rankings") == metric


# ---- AUC by query, GAUC --------------------------------------------------------------------------


def table_of_rows(rows: list[tuple], names: tuple[str, ...]) -> pa.Table:
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def rankings_of_users(labels: list[list[int]], scores: list[list[float]]) -> Rankings:
    """Rankings of the items i0, i1, ... of users u0, u1, ..., each with a list of labels and one of
    scores.
    """
    rows = [
        (f"u{user}", f"i{item}", score, float(label))
        for user, (of_labels, of_scores) in enumerate(zip(labels, scores, strict=True))
        for item, (label, score) in enumerate(zip(of_labels, of_scores, strict=True))
    ]
    table = table_of_rows(rows, ("query", "item", "score", "grade"))
    return runs.read(table).rankings["score"]


def value_over_users(name: str, r: Rankings) -> float:
    """The value of a metric over all users: the mean or the pooled ratio."""
    return lookup.find_metric(name, "rankings").sums(r).value


@pytest.mark.parametrize(
    "name, expected", [("gauc", 0.642857), ("gauc_positives", 0.666667), ("gauc_uniform", 0.625)]
)
def test_gauc_is_the_mean_of_the_auc_of_users_with_weights(name, expected):
    """The first user has an AUC of 3/4 with 4 items, 2 of them positive, the second 1/2 with 3
    items, 1 of them positive: (4 · 3/4 + 3 · 1/2) / 7 by items, (2 · 3/4 + 1/2) / 3 by positives,
    (3/4 + 1/2) / 2 with equal weights.
    """
    labels = [[1, 0, 1, 0], [1, 0, 0]]
    scores = [[0.9, 0.8, 0.7, 0.1], [0.6, 0.7, 0.2]]
    r = rankings_of_users(labels, scores)
    assert value_over_users(name, r) == pytest.approx(expected, abs=5e-7)  # of six decimals


@pytest.mark.parametrize(
    "name, expected", [("gauc_uniform", 0.875), ("gauc_positives", 5 / 6), ("gauc", 0.9)]
)
def test_a_user_with_one_class_does_not_count_for_gauc(name, expected):
    """GAUC is a weighted mean of the AUC of users. The first user has 4 items, 2 of them positive,
    and an AUC of 3/4; the second has 6 items, 1 of them positive, and an AUC of 1. With equal
    weights (gauc_uniform) the mean is (3/4 + 1) / 2 = 0.875, weighted by positives (2 · 3/4 + 1) /
    3 = 5/6, by items (gauc) (4 · 3/4 + 6 · 1) / 10 = 0.9. A third user with positive items alone
    has no AUC.
    """
    labels = [[1, 0, 1, 0], [1, 0, 0, 0, 0, 0]]
    scores = [[4.0, 3, 2, 1], [6.0, 5, 4, 3, 2, 1]]
    two_users = rankings_of_users(labels, scores)
    assert value_over_users(name, two_users) == pytest.approx(expected)
    with_third_user = rankings_of_users([*labels, [1, 1, 1]], [*scores, [3.0, 2, 1]])
    assert value_over_users(name, with_third_user) == pytest.approx(expected)
    _, _, auc_of_third_user = rankings.auc(with_third_user)
    assert np.isnan(auc_of_third_user)


def test_a_tied_pair_counts_half_whatever_the_ids():
    """The positive item of the first user is i0, that of the second i1."""
    r = rankings_of_users(labels=[[1, 0], [0, 1]], scores=[[0.5, 0.5], [0.5, 0.5]])
    assert rankings.auc(r).tolist() == [0.5, 0.5]


# ---- invariants ----------------------------------------------------------------------------------

ITEMS = [f"i{n}" for n in range(6)]
GRADE = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 3.0])
SCORE = st.sampled_from([-2.5, -1.0, 0.0, 0.25, 0.5, 3.0, 1e9, 1e-300])


@st.composite
def judged_runs(draw, score=SCORE):
    """Judgements (query, item, grade) of the queries q1 to q4, and a run (query, item, score) with
    some of q1 to q3 and perhaps the query "only": no run has q4, some items are not judged, some
    judged ones not retrieved, and scores may be tied.
    """
    qrels = []
    run = []
    for query in ("q1", "q2", "q3", "q4"):
        grades = draw(st.dictionaries(st.sampled_from(ITEMS), GRADE, min_size=1, max_size=6))
        qrels += [(query, item, grade) for item, grade in grades.items()]
    queries_of_run = draw(
        st.sets(st.sampled_from(["q1", "q2", "q3", "only"]), min_size=1).filter(
            lambda queries: queries != {"only"}
        )
    )
    for query in queries_of_run:
        scores = draw(st.dictionaries(st.sampled_from(ITEMS), score, min_size=1, max_size=6))
        run += [(query, item, value) for item, value in scores.items()]
    return qrels, run


def rankings_of(qrels: list[tuple], run: list[tuple]) -> Rankings:
    """The rankings of the judged queries by a run. An example without a judged item in the run,
    which would be refused, is skipped.
    """
    assume({row[:2] for row in qrels} & {row[:2] for row in run})
    preds = table_of_rows(run, ("query", "item", "score"))
    judged = table_of_rows(qrels, ("query", "item", "grade"))
    return runs.read(preds, judged).rankings["score"]


def values_by_query(r: Rankings, level: float = 1) -> dict[str, np.ndarray]:
    """Of each of RANKING_METRICS, by label, the value of each judged query; of a pooled metric its
    ratio. level: the lowest relevant grade.
    """
    return {metric.label: metric.sums(r, level).per_unit for metric in RANKING_METRICS}


def assert_identical(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    """Assert that values of all metrics are equal to the last bit."""
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)


some_examples = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@some_examples
@given(judged_runs(), st.sampled_from([0.5, 1, 2]))
def test_values_of_each_metric_lie_in_the_range_that_the_catalogue_states(qrels_and_run, level):
    """`level` is the lowest relevant grade. Values that are undefined, NaN, are left out, and 1e-12
    allows for rounding.
    """
    values = values_by_query(rankings_of(*qrels_and_run), level)
    for chosen in RANKING_METRICS:
        defined = values[chosen.label][~np.isnan(values[chosen.label])]
        assert (defined >= chosen.metric.low).all(), chosen.label
        assert (defined <= chosen.metric.high + 1e-12).all(), chosen.label


@some_examples
@given(judged_runs(), st.sampled_from([0.5, 1, 2]))
def test_each_metric_is_undefined_exactly_if_the_catalogue_states_it(qrels_and_run, level):
    """The catalogue says in words when a metric has no value for a query. Each metric with one of
    two such statements must have the value NaN for the queries of which the statement is true, and
    no other; `level` is the lowest relevant grade.
    """
    r = rankings_of(*qrels_and_run)
    items_above_0 = r.ideal.total(r.ideal.grade > 0)  # of each query, among its judged items
    is_true_of_query = {
        "nothing is relevant": rankings.relevant(r, level) == 0,
        "no item has a grade above 0": items_above_0 == 0,
    }
    values = values_by_query(r, level)
    for chosen in RANKING_METRICS:
        if chosen.metric.undefined in is_true_of_query:
            np.testing.assert_array_equal(
                np.isnan(values[chosen.label]),
                is_true_of_query[chosen.metric.undefined],
                err_msg=chosen.label,
            )


@some_examples
@given(
    judged_runs(),
    st.randoms(use_true_random=False),
    st.dictionaries(st.sampled_from(ITEMS), SCORE, min_size=1),
)
def test_order_of_rows_scale_of_scores_and_an_unjudged_query_change_no_value(
    qrels_and_run, random, scores_of_unjudged_query
):
    """The rows of judgements and run are shuffled, all scores doubled, which keeps their order, and
    items of a query without judgements are added to the run.
    """
    qrels, run = qrels_and_run
    before = values_by_query(rankings_of(qrels, run))
    changed_run = [(query, item, 2 * score) for query, item, score in run]
    changed_run += [
        ("nobody judged this", item, score) for item, score in scores_of_unjudged_query.items()
    ]
    random.shuffle(qrels)
    random.shuffle(changed_run)
    assert_identical(before, values_by_query(rankings_of(qrels, changed_run)))


@some_examples
@given(judged_runs())
def test_no_order_of_the_retrieved_items_is_better_than_by_their_grades(qrels_and_run):
    """The best order of a list is by falling grade, so the second run has the grades as its scores;
    an unjudged item counts as of grade 0. Items tied in it have equal grades, so that their order
    does not matter. No metric for which higher is better may have a larger value in the first run.
    """
    qrels, run = qrels_and_run
    grades = {(query, item): grade for query, item, grade in qrels}
    run_by_grade = [(query, item, grades.get((query, item), 0.0)) for query, item, _ in run]
    values = values_by_query(rankings_of(qrels, run))
    best_values = values_by_query(rankings_of(qrels, run_by_grade))
    for chosen in RANKING_METRICS:
        if chosen.metric.best == "high":
            is_better = values[chosen.label] > best_values[chosen.label] + 1e-12
            assert not is_better.any(), chosen.label


@some_examples
@given(judged_runs())
def test_values_with_tied_scores_lie_between_those_of_the_worst_and_the_best_order(qrels_and_run):
    """`worst_ties` and `best_ties` put the items with the same score in order of rising and of
    falling grade. The metric average_precision_hits@k is exempt: it is the mean precision at the
    hits among the first k and can rise if a hit falls out, so that the order with the hits last is
    not its worst. 1e-12 allows for rounding.
    """
    r = rankings_of(*qrels_and_run)
    worst = values_by_query(rankings.worst_ties(r))
    best = values_by_query(rankings.best_ties(r))
    values = values_by_query(r)
    for chosen in RANKING_METRICS:
        if chosen.metric.best == "high" and chosen.metric.name != "average_precision_hits":
            label = chosen.label
            assert not (values[label] < worst[label] - 1e-12).any(), label
            assert not (values[label] > best[label] + 1e-12).any(), label


@some_examples
@given(judged_runs())
def test_a_query_missing_from_the_run_has_the_value_that_the_catalogue_states(qrels_and_run):
    """A query that is judged, but missing from the run, has a value that the catalogue states as
    `missing`; None stands for an undefined value. A value may also be undefined because of the
    judgements. Each generated run lacks query q4.
    """
    qrels, run = qrels_and_run
    r = rankings_of(qrels, run)
    is_missing = ~np.isin(r.query, [query for query, _, _ in run])
    assert is_missing[list(r.query).index("q4")]
    values = values_by_query(r)
    for chosen in RANKING_METRICS:
        of_missing = values[chosen.label][is_missing]
        defined = of_missing[~np.isnan(of_missing)]
        if chosen.metric.missing is None:
            assert not len(defined), chosen.label
        else:
            assert (defined == chosen.metric.missing).all(), chosen.label


@some_examples
@given(judged_runs())
def test_a_query_alone_has_the_value_that_it_has_among_others(qrels_and_run):
    """Each of the queries q1 to q3 that the run has is read without the other queries, and must
    keep its value in every metric. Some metrics scale by the largest grade of all queries,
    `top_grade`, which is therefore kept.
    """
    qrels, run = qrels_and_run
    among_others = values_by_query(rankings_of(qrels, run))
    top_grade = max(grade for _, _, grade in qrels)
    for place, query in enumerate(("q1", "q2", "q3")):
        run_of_query = [row for row in run if row[0] == query]
        if run_of_query:
            r = rankings_of([row for row in qrels if row[0] == query], run_of_query)
            for name, (value_alone,) in values_by_query(replace(r, top_grade=top_grade)).items():
                np.testing.assert_allclose(
                    value_alone, among_others[name][place], rtol=1e-12, atol=1e-15, err_msg=name
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
