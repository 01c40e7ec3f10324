"""Lists of ranks without scores: the ranks are taken as they are, gaps cost no memory, a parameter
renumbers.
"""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from test_sharded import ASKS as EVERY_MEASUREMENT, EVERY as EVERY_RANKING_METRIC

from evalkit.arrays import InputError
from evalkit.limits import ReadingLimits
from evalkit.metrics import rankings
from evalkit.metrics.rankings import from_grades
from evalkit.pages import ranking_page, significance_page
from evalkit.reading.engines import backends as engine
from evalkit.reading.inputs import runs
from evalkit.reading.inputs.rows import RankingInput
from evalkit.reading.reductions import sharded
from evalkit.reading.reductions.sharded import PerQuery
from evalkit.studies import ranking, significance

# these count the returned items or pairs of them, so a rank that holds no item changes nothing
METRICS_OF_RETURNED_ITEMS = ("judged", "auc", "gauc", "gauc_positives")


def ranked_lists(*rows: tuple[str, str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["query", "item", "rank"])


def judgements(*rows: tuple[str, str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["query", "item", "grade"])


def filled_with_unjudged_items(frame: pd.DataFrame) -> pd.DataFrame:
    """The same lists with items that nobody judged at the ranks that hold none."""
    rows = [frame]
    for key, group in frame.groupby(
        [name for name in ("system", "query") if name in frame.columns]
    ):
        missing = sorted(set(range(1, group["rank"].max() + 1)) - set(group["rank"]))
        names = dict(
            zip([name for name in ("system", "query") if name in frame.columns], key, strict=True)
        )
        rows.append(pd.DataFrame([names | {"item": f"none{i}", "rank": i} for i in missing]))
    return pd.concat(rows, ignore_index=True)


def random_lists_and_judgements(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    rows = []
    judged = []
    for query in range(30):
        items = rng.permutation(40)
        judged += [(f"q{query}", f"d{i}", int(rng.integers(0, 4))) for i in items[:25]]
        for system in "ab":
            n = int(rng.integers(0, 12))
            ranks = np.sort(rng.choice(np.arange(1, 40), n, replace=False))
            rows += [
                (system, f"q{query}", f"d{i}", int(r))
                for i, r in zip(rng.permutation(items)[:n], ranks, strict=True)
            ]
    frame = pd.DataFrame(rows, columns=["system", "query", "item", "rank"])
    return frame.sample(frac=1, random_state=seed), judgements(*judged)


def test_a_first_item_at_rank_9_is_no_hit_at_rank_1():
    """Of three relevant items a and b are at the ranks 9 and 11, and c is not in the list. The
    other ranks hold no item and count as not relevant. RBP has the persistence 0.8.
    """
    data = runs.read(
        ranked_lists(("q", "a", 9), ("q", "b", 11)),
        judgements(("q", "a", 1), ("q", "b", 1), ("q", "c", 1)),
    )
    r = data.rankings["rank"]
    assert rankings.precision(r, 5) == [0]
    assert rankings.precision(r, 10) == [0.1]
    assert rankings.reciprocal_rank(r) == [1 / 9]
    assert rankings.hit_rate(r, 8) == [0]
    assert rankings.hit_rate(r, 9) == [1]
    assert rankings.average_precision(r) == pytest.approx([(1 / 9 + 2 / 11) / 3])
    assert rankings.r_precision(r) == [0]
    assert rankings.rbp(r) == pytest.approx([0.2 * (0.8**8 + 0.8**10)])
    assert rankings.precision(r) == [2 / 11]  # the whole list ends at rank 11
    ideal = 1 + 1 / np.log2(3) + 1 / np.log2(4)  # the three relevant items at ranks 1, 2 and 3
    assert rankings.ndcg(r) == pytest.approx([(1 / np.log2(10) + 1 / np.log2(12)) / ideal])


@pytest.mark.parametrize("seed", range(5))
def test_ranks_without_an_item_count_as_items_that_nobody_judged(seed):
    """The random lists of the systems a and b have gaps: most ranks up to 39 hold no item. Most
    metrics of the catalogue depend on ranks, and must be the same if each gap is filled with an
    item that nobody judged. The few METRICS_OF_RETURNED_ITEMS, such as the AUC of a list, count
    returned items or pairs of them, so that filling would change them. They depend only on the
    order of items, and must be the same if the gaps are closed, i.e. items are numbered 1, 2, 3 …
    """
    frame, judged = random_lists_and_judgements(seed)
    with_gaps = runs.read(frame, judged)
    filled = runs.read(filled_with_unjudged_items(frame), judged)
    closed = runs.read(frame, judged, ranks="renumber")
    for system in ("a", "b"):
        for metric in EVERY_RANKING_METRIC:
            measurement = PerQuery(metric, 1.0)  # a grade of 1 or more is relevant
            same = closed if metric.metric.name in METRICS_OF_RETURNED_ITEMS else filled
            found = with_gaps.measure(system, measurement)
            expected = same.measure(system, measurement)
            np.testing.assert_allclose(
                found.numerator, expected.numerator, rtol=1e-12, err_msg=metric.label
            )
            np.testing.assert_allclose(found.size, expected.size, rtol=1e-12, err_msg=metric.label)


def test_a_rank_of_a_billion_costs_no_memory():
    """The list of query q has two items, at the ranks 3 and 1,000,000,000; only the latter is
    relevant. All metrics are computed without an array that has an element for each rank. The list
    is nevertheless taken as given: the reciprocal rank is that of rank 1,000,000,000, and the page
    says that the list, whose first item is at rank 3, starts above rank 1. The table names no
    system, so that the system is called after the column of ranks, "rank".
    """
    frame = ranked_lists(("q", "a", 10**9), ("q", "b", 3))
    judged = judgements(("q", "a", 1), ("q", "b", 0))
    runs.read(frame, judged)  # so that imports and caches are not measured
    tracemalloc.start()
    data = runs.read(frame, judged)
    for measurement in EVERY_MEASUREMENT:
        data.measure("rank", measurement)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 2_000_000  # a byte per rank would be 1,000,000,000
    assert rankings.reciprocal_rank(data.rankings["rank"]) == [1e-9]
    study = ranking.read(frame, judged, metrics="mrr")
    assert "rank: 1 list starts above rank 1" in ranking_page.findings(study).html


def test_the_page_tells_of_gaps_and_of_lists_that_start_above_1():
    """The lists of the queries 1, 2 and 3 start at rank 9, lack rank 2, and are complete. The table
    names no system, so that the page calls it "rank", after the column; it also says how to ask for
    ranks without gaps. Lists that all begin at rank 1 and have no gaps need no such note.
    """
    starts_at_9 = [("1", "a", 9)]
    has_a_gap = [("2", "a", 1), ("2", "b", 3)]
    without_gaps = [("3", "a", 1), ("3", "b", 2)]
    frame = ranked_lists(*starts_at_9, *has_a_gap, *without_gaps)
    judged = judgements(("1", "a", 1), ("2", "a", 1), ("3", "b", 1))
    notes = ranking_page.findings(ranking.read(frame, judged)).html
    assert "Ranks are used as given. rank: 1 list starts above rank 1, 1 list has gaps" in notes
    assert "ranks=renumber" in notes
    plain = ranked_lists(("1", "a", 1), ("2", "a", 2), ("2", "b", 1))
    assert "Ranks are used" not in ranking_page.findings(ranking.read(plain, judged)).html


def test_renumbered_ranks_close_the_gaps_and_the_page_says_so():
    frame = ranked_lists(("q", "a", 9), ("q", "b", 11))
    judged = judgements(("q", "b", 1), ("p", "b", 1))
    study = ranking.read(frame, judged, metrics="mrr", ranks="renumber")
    assert study.per_query[study.primary_metric.label, "rank"].numerator.tolist() == [0, 0.5]
    assert "Ranks were renumbered" in ranking_page.findings(study).html


def test_significance_of_ranked_lists_takes_the_ranks_as_they_are():
    """For each of 12 queries the only item of the list is relevant, at rank 1 by the system early
    and at rank 9 by late, so that their mean reciprocal ranks are 1 and 1/9. If ranks are
    renumbered on request, the item of late is at rank 1 too.
    """
    queries = [f"q{i}" for i in range(12)]
    early = pd.DataFrame({"system": "early", "query": queries, "item": "a", "rank": 1})
    late = pd.DataFrame({"system": "late", "query": queries, "item": "a", "rank": 9})
    frame = pd.concat([early, late])
    judged = pd.DataFrame({"query": queries, "item": "a", "grade": 1})
    study = significance.read(frame, judged, metrics="mrr")
    mrr = study.estimates.set_index("system")["value"]
    assert mrr.to_dict() == pytest.approx({"early": 1, "late": 1 / 9})
    assert "late: 12 lists start above rank 1" in significance_page.findings(study).html
    renumbered = significance.read(frame, judged, metrics="mrr", ranks="renumber")
    assert renumbered.estimates["value"].tolist() == [1, 1]


@pytest.mark.parametrize("ranks", [(2, 2, 4, 5), (2, 2, 3, 4), (2, 2, 2, 5)], ids=str)
def test_items_that_share_a_rank_take_the_ranks_after_it(ranks):
    """A list holds one item per rank, so that no precision can exceed 1. Here it starts at 2."""
    run = pd.DataFrame({"query": "q", "item": list("abcd"), "rank": ranks})
    judged = pd.DataFrame({"query": "q", "item": list("abcd"), "grade": 1})
    r = runs.read(run, judged).rankings["rank"]
    assert r.retrieved.rank.tolist() == [2, 3, 4, 5]
    assert rankings.precision(r, 3) == [2 / 3]  # ranks 2 and 3 of the first three


def test_a_shared_rank_is_counted_as_tied_and_leaves_no_gap():
    run = ranked_lists(("q", "a", 1), ("q", "b", 1), ("q", "c", 3))
    account = runs.read(run, judgements(("q", "a", 1))).list_accounts["rank"]
    assert (account.tied, account.late, account.gaps) == (1, 0, 0)


def test_scores_never_have_gaps():
    frame = ranked_lists(("q", "a", 9), ("q", "b", 11)).rename(columns={"rank": "score"})
    r = runs.read(frame, judgements(("q", "a", 1))).rankings["score"]
    assert rankings.reciprocal_rank(r) == [0.5]


def test_a_system_ordered_by_scores_in_one_file_and_ranks_in_another_is_refused(tmp_path):
    """Two files of one folder hold the list of system s for query 1: one item with a rank, another
    with a score. The order of the two is not known, so that the list is refused.
    """
    (tmp_path / "a.csv").write_text("system,query,item,rank\ns,1,a,1\n")
    (tmp_path / "b.csv").write_text("system,query,item,score\ns,1,b,3\n")
    with pytest.raises(
        InputError, match="system 's' must have either scores or ranks in a list, got both"
    ):
        runs.read(tmp_path, judgements(("1", "a", 1)))


@pytest.mark.parametrize("ranks", ["as given", "renumber"])
def test_duckdb_out_of_core_gives_the_same_bits(tmp_path, ranks):
    """Random lists of the systems a and b have gaps in their ranks, which are taken as given or
    renumbered without gaps (`ranks`). They are read in memory, and by DuckDB from files in shards
    of a few rows. All metrics must be equal to the last bit. The account of a system counts its
    lists that start above rank 1 as `late`: there are none after renumbering.
    """
    frame, judged = random_lists_and_judgements(7)
    frame.loc[frame.index[::17], "rank"] += 10**6  # far beyond any other rank
    frame.to_parquet(tmp_path / "run.parquet", index=False)
    judged.to_csv(tmp_path / "qrels.csv", index=False)
    in_memory = runs.read(frame, judged, ranks=ranks)
    many_shards = ReadingLimits(shard=20, row=10**7)  # a row is taken to need 10 MB of the 250 MB
    files = RankingInput.from_data(tmp_path / "run.parquet", tmp_path / "qrels.csv", ranks=ranks)
    with engine.opened(engine.budget(250 * 10**6, threads=2, reading=many_shards)) as database:
        in_shards = sharded.measured(database, files, EVERY_MEASUREMENT)
    assert in_shards.list_accounts == in_memory.list_accounts
    assert (in_memory.list_accounts["a"].late > 0) == (ranks == "as given")
    for system in ("a", "b"):
        for measurement in EVERY_MEASUREMENT:
            found = in_shards.measure(system, measurement)
            expected = in_memory.measure(system, measurement)
            assert np.array_equal(found.numerator, expected.numerator, equal_nan=True), measurement
            assert np.array_equal(found.size, expected.size, equal_nan=True), measurement


def test_from_grades_has_ranks_without_gaps():
    assert from_grades([[1, 0], [1]]).retrieved.rank.tolist() == [1, 2, 1]


@pytest.mark.parametrize("first, late, gaps", [(1, 0, 0), (2, 1, 0), (3, 1, 0)])
def test_a_list_that_starts_at_rank_2_is_counted_as_starting_late(first, late, gaps):
    ranked = ranked_lists(("q1", "a", first), ("q1", "b", first + 1), ("q2", "a", 1)).assign(
        grade=[0, 1, 1]
    )
    (account,) = runs.read(ranked).list_accounts.values()
    assert (account.late, account.gaps) == (late, gaps)


def test_a_grade_of_0_is_a_judgement_and_only_one_below_0_is_not():
    ranked = ranked_lists(("q1", "a", 1), ("q1", "b", 2), ("q1", "c", 3)).assign(grade=[1, 0, -1])
    assert runs.read(ranked).negative == 1


@pytest.mark.parametrize("rank", [0, -1, 1.5])
def test_ranks_are_whole_numbers_from_one_on(rank):
    listed = ranked_lists(("q", "a", rank), ("q", "b", 2))
    with pytest.raises(InputError, match="rank must be a whole number of at least 1, got"):
        runs.read(listed.assign(grade=1))
