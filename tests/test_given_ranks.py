"""Lists of ranks without scores: the ranks are taken as they are, gaps cost no memory, a parameter
renumbers.
"""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from test_sharded import ASKS, EVERY

from evalkit.arrays import InputError
from evalkit.limits import Reading
from evalkit.metrics import rankings
from evalkit.metrics.rankings import from_grades
from evalkit.pages import ranking_page
from evalkit.reading.engines import backends as engine
from evalkit.reading.inputs import runs
from evalkit.reading.inputs.rows import RankingInput
from evalkit.reading.reductions import sharded
from evalkit.reading.reductions.sharded import PerQuery
from evalkit.studies import ranking, significance

RETURNED = ("judged", "auc", "gauc", "gauc_positives")


def table(*rows: tuple[str, str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["query", "item", "rank"])


def grades(*rows: tuple[str, str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["query", "item", "grade"])


def padded(frame: pd.DataFrame) -> pd.DataFrame:
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


def random_table(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
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
    return frame.sample(frac=1, random_state=seed), grades(*judged)


def test_a_first_item_at_rank_9_is_no_hit_at_rank_1():
    data = runs.read(
        table(("q", "a", 9), ("q", "b", 11)), grades(("q", "a", 1), ("q", "b", 1), ("q", "c", 1))
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
    ideal = 1 + 1 / np.log2(3) + 1 / 2
    assert rankings.ndcg(r) == pytest.approx([(1 / np.log2(10) + 1 / np.log2(12)) / ideal])


@pytest.mark.parametrize("seed", range(5))
def test_ranks_without_an_item_count_as_items_that_nobody_judged(seed):
    """Every metric of the catalogue; those of returned items alone, or of pairs of these, do not
    see the gaps.
    """
    frame, judged = random_table(seed)
    data = runs.read(frame, judged)
    full = runs.read(padded(frame), judged)
    closed = runs.read(frame, judged, ranks="renumber")
    for system in "ab":
        for chosen in EVERY:
            other = closed if chosen.metric.name in RETURNED else full
            a, b = (one.measure(system, PerQuery(chosen, 1.0)) for one in (data, other))
            for x, y in ((a.numerator, b.numerator), (a.size, b.size)):
                np.testing.assert_allclose(x, y, rtol=1e-12, err_msg=chosen.label)


def test_a_rank_of_a_billion_costs_no_memory():
    frame = table(("q", "a", 10**9), ("q", "b", 3))
    judged = grades(("q", "a", 1), ("q", "b", 0))
    runs.read(frame, judged)  # what is loaded once
    tracemalloc.start()
    data = runs.read(frame, judged)
    for ask in ASKS:
        data.measure("rank", ask)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    assert rankings.reciprocal_rank(data.rankings["rank"]) == [1e-9]
    study = ranking.read(frame, judged, metrics="mrr")
    assert "rank: 1 list starts above rank 1" in ranking_page.findings(study).html


def test_the_page_tells_of_gaps_and_of_lists_that_start_above_1():
    frame = table(("1", "a", 9), ("2", "a", 1), ("2", "b", 3), ("3", "a", 1), ("3", "b", 2))
    judged = grades(("1", "a", 1), ("2", "a", 1), ("3", "b", 1))
    notes = ranking_page.findings(ranking.read(frame, judged)).html
    assert "Ranks are used as given. rank: 1 list starts above rank 1, 1 list has gaps" in notes
    assert "ranks=renumber" in notes
    plain = table(("1", "a", 1), ("2", "a", 2), ("2", "b", 1))
    assert "Ranks are used" not in ranking_page.findings(ranking.read(plain, judged)).html


def test_renumbered_ranks_close_the_gaps_and_the_page_says_so():
    frame = table(("q", "a", 9), ("q", "b", 11))
    judged = grades(("q", "b", 1), ("p", "b", 1))
    study = ranking.read(frame, judged, metrics="mrr", ranks="renumber")
    assert study.per_query[study.primary.label, "rank"].numerator.tolist() == [0, 0.5]
    assert "Ranks were renumbered" in ranking_page.findings(study).html


def test_significance_of_ranked_lists_takes_the_ranks_as_they_are():
    rows = [
        (s, f"q{i}", "a", 9 if s == "late" else 1) for s in ("late", "early") for i in range(12)
    ]
    frame = pd.DataFrame(rows, columns=["system", "query", "item", "rank"])
    judged = grades(*((f"q{i}", "a", 1) for i in range(12)))
    study = significance.read(frame, judged, metrics="mrr")
    assert set(study.estimates["value"].round(6)) == {1, round(1 / 9, 6)}
    assert "late: 12 lists start above rank 1" in _notes(study)
    assert set(
        significance.read(frame, judged, metrics="mrr", ranks="renumber").estimates["value"]
    ) == {1.0}


def _notes(study: significance.Significance) -> str:
    from evalkit.pages import significance_page

    return significance_page.findings(study).html


def test_items_that_share_a_rank_take_the_places_after_it():
    """As trec_eval orders equal scores; no list holds two items at a place, so no precision exceeds
    1.
    """
    judged = grades(*(("q", item, 1) for item in "abcd"))
    for ranks in ([2, 2, 4, 5], [2, 2, 3, 4], [2, 2, 2, 5]):
        r = runs.read(table(*zip("qqqq", "abcd", ranks, strict=True)), judged).rankings["rank"]
        assert r.retrieved.rank.tolist() == [2, 3, 4, 5]
        assert rankings.precision(r, 3) == [2 / 3]
    account = runs.read(table(*zip("qqq", "abc", [1, 1, 3], strict=True)), judged).accounts["rank"]
    assert (account.tied, account.late, account.gaps) == (1, 0, 0)


def test_scores_never_have_gaps():
    frame = table(("q", "a", 9), ("q", "b", 11)).rename(columns={"rank": "score"})
    r = runs.read(frame, grades(("q", "a", 1))).rankings["score"]
    assert rankings.reciprocal_rank(r) == [0.5]


def test_a_system_ordered_by_scores_in_one_file_and_ranks_in_another_is_refused(tmp_path):
    table(("1", "a", 1)).assign(system="s").to_csv(tmp_path / "a.csv", index=False)
    table(("1", "b", 3)).assign(system="s").rename(columns={"rank": "score"}).to_csv(
        tmp_path / "b.csv", index=False
    )
    with pytest.raises(
        InputError, match="system 's' must have either scores or ranks in a list, got both"
    ):
        runs.read(tmp_path, grades(("1", "a", 1)))


@pytest.mark.parametrize("ranks", ["as given", "renumber"])
def test_duckdb_out_of_core_gives_the_same_bits(tmp_path, ranks):
    frame, judged = random_table(7)
    frame.loc[frame.index[::17], "rank"] += 10**6
    frame.to_parquet(tmp_path / "run.parquet", index=False)
    judged.to_csv(tmp_path / "qrels.csv", index=False)
    whole = runs.read(frame, judged, ranks=ranks)
    with engine.opened(
        engine.budget(250 * 10**6, threads=2, reading=Reading(shard=20, row=10**7))
    ) as e:
        files = (tmp_path / "run.parquet", tmp_path / "qrels.csv")
        large = sharded.measured(e, RankingInput.from_data(*files, ranks=ranks), ASKS)
    assert whole.accounts == large.accounts
    assert (whole.accounts["a"].late > 0) == (ranks == "as given")
    for system in "ab":
        for ask in ASKS:
            a, b = (one.measure(system, ask) for one in (whole, large))
            for x, y in ((a.numerator, b.numerator), (a.size, b.size)):
                assert np.array_equal(x, y, equal_nan=True), ask


def test_from_grades_has_ranks_without_gaps():
    assert from_grades([[1, 0], [1]]).retrieved.rank.tolist() == [1, 2, 1]


@pytest.mark.parametrize("first, late, gaps", [(1, 0, 0), (2, 1, 0), (3, 1, 0)])
def test_a_list_that_starts_at_rank_2_is_counted_as_starting_late(first, late, gaps):
    ranked = table(("q1", "a", first), ("q1", "b", first + 1), ("q2", "a", 1)).assign(
        grade=[0, 1, 1]
    )
    (account,) = runs.read(ranked).accounts.values()
    assert (account.late, account.gaps) == (late, gaps)


def test_a_grade_of_0_is_a_judgement_and_only_one_below_0_is_not():
    ranked = table(("q1", "a", 1), ("q1", "b", 2), ("q1", "c", 3)).assign(grade=[1, 0, -1])
    assert runs.read(ranked).negative == 1


@pytest.mark.parametrize("rank", [0, -1, 1.5])
def test_ranks_are_whole_numbers_from_one_on(rank):
    listed = table(("q", "a", rank), ("q", "b", 2))
    with pytest.raises(InputError, match="rank must be a whole number of at least 1, got"):
        runs.read(listed.assign(grade=1))
