"""Values per unit in clusters that are read twice and never kept: the numbers of memory, and the same refusals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from large_values import drawn, held, long, of_users, summed, wide
from test_large_values import close, same_studies, told, words

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.pages import significance_page
from evalkit.studies import diagnostics, units
from evalkit.studies.significance_sums import ClustersStudy, SumsStudy

LABELS = ["new", "old", "base"]


def rows_alone():
    """Each row is a unit, of values whose sums have no rounding: the rows of a cluster come in any order."""
    table = of_users(wide()).drop(columns="question")
    return table.assign(**{name: np.round(table[name] * 64) / 64 for name in LABELS})


def in_several():
    """Draws of one question by several users: of each another unit."""
    table = drawn()
    return table.assign(user="u" + (table.groupby("question").cumcount() * 150 + table.index % 131).astype(str))


def few_values():
    """Users without any value of a system."""
    table = of_users(wide())
    return table.assign(new=table["new"].where(table["user"].str[-1] != "7"))


CASES = {
    "wide": (lambda: of_users(wide()), {}),
    "rows are units": (rows_alone, {}),
    "draws": (lambda: of_users(drawn()), {}),
    "a unit in several clusters": (in_several, {}),
    "clusters without a value": (few_values, {}),
    "two systems": (lambda: of_users(wide()), {"systems": "base,new"}),
    "baseline": (lambda: of_users(wide()), {"baseline": "old", "margin": 0.01}),
    "looks": (lambda: of_users(wide()), {"looks": 3, "level": 0.9}),
    "long": (lambda: of_users(long()), {"metrics": "quality"}),
    "two metrics": (lambda: of_users(long()), {"metrics": "quality,minutes", "lower_is_better": "minutes"}),
    "whole table": (lambda: of_users(wide().dropna()), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_memory(case):
    make, given = CASES[case]
    kept, reduced = held(make(), unit="user", **given), summed(make(), unit="user", **given)
    assert isinstance(reduced, ClustersStudy)
    same_studies(kept, reduced)
    of_clusters(kept, reduced)


def of_clusters(kept, reduced):
    """Degrees of freedom by Kish's number, and the mean difference over rows."""
    for chosen in kept.directed:
        for pair in kept.pairs:
            close(kept.paired(chosen, pair).freedom, reduced.paired(chosen, pair).freedom)
            close(kept.effect(chosen, pair)[1], reduced.effect(chosen, pair)[1], 1e-10)


@pytest.mark.parametrize("given", [{"unit": "user"}, {}], ids=["users", "units"])
@pytest.mark.parametrize("baseline", LABELS)
def test_beside_a_baseline_the_two_best_others_are_compared_as_in_memory(baseline, given):
    table = of_users(wide()) if given else wide()
    kept, reduced = (diagnostics.best_two(read(table, baseline=baseline, **given)) for read in (held, summed))
    assert kept[["first", "second", "n"]].equals(reduced[["first", "second", "n"]])
    close(kept["difference"], reduced["difference"], 1e-10)


@pytest.mark.parametrize("make", [wide, drawn, long], ids=["wide", "draws", "long"])
def test_a_hundred_thousand_units_at_any_memory(make, tmp_path):
    table = of_users(make(100_000), 39_989)
    kept = held(table, unit="user")
    files = [tmp_path / name for name in ("one.parquet", "two.csv")]
    table[:40_000].to_parquet(files[0], index=False)
    table[40_000:].to_csv(files[1], index=False)
    for memory, data in (("1GB", table), ("250MB", [str(path) for path in files])):
        limits = Limits(reading=Reading(rows=1_000, shard=12_000, row=20_000))
        reduced = summed(data, limits, unit="user", memory=memory, threads=2)
        same_studies(kept, reduced)
        of_clusters(kept, reduced)


def test_max_t_draws_as_joint_sign_flips_of_clusters_do():
    whole = of_users(wide().dropna(ignore_index=True))
    kept, reduced = held(whole, unit="user"), summed(whole, unit="user")
    np.testing.assert_allclose(reduced.comparisons["max_t"], kept.comparisons["max_t"], atol=0.01)
    assert reduced.null_draws().std() == pytest.approx(kept.null_draws().std(), rel=0.03)
    reach = np.linspace(-0.01, 0.01, 5) + kept.headline.iloc[0]["difference"]
    np.testing.assert_allclose(reduced.p_of(reach), kept.p_of(reach), atol=0.02)


def test_clusters_of_one_unit_each_are_the_units():
    table = wide().assign(user=lambda t: "of " + t["question"])
    reduced = summed(table, unit="user")
    assert type(reduced) is SumsStudy
    same_studies(held(table, unit="user"), reduced)


def test_a_cluster_that_only_draws_share_is_the_unit():
    table = of_users(long()).drop(columns="question")
    table = table.assign(run=np.arange(len(table)))
    kept, reduced = (read(table, unit="user", metrics="quality") for read in (held, summed))
    assert type(reduced) is SumsStudy
    same_studies(kept, reduced)


def test_the_page_names_the_test_of_clusters():
    kept, reduced = (read(of_users(wide()), unit="user", margin=0.01) for read in (held, summed))
    assert "differences are tested by the jackknife t-test of whole users, not by sign flips" in told(reduced)
    in_shards = words(reduced)
    assert "the jackknife, which leaves out whole users, and its degrees of freedom" in in_shards
    assert "by the jackknife t-test of whole users" in in_shards
    of_tests = [significance_page.other_tests(study).html for study in (kept, reduced)]
    assert "t and bootstrap take whole users, the other tests the mean of each user" in of_tests[0]
    assert "t takes whole users, the other tests the mean of each user" in of_tests[1]
    assert "paired t-test of the differences of units" not in in_shards


def all_of_users():
    means = wide()[LABELS].mean()
    return of_users(wide()).pipe(lambda t: pd.concat([t, pd.DataFrame([{"question": "All", "user": "u1", **means}])]))


def without_a_user():
    return of_users(wide()).assign(user=lambda t: t["user"].where(t.index != 7))


@pytest.mark.parametrize("make", [all_of_users, without_a_user])
def test_refusals_are_those_of_memory(make, tmp_path):
    path = tmp_path / "table.csv"
    make().to_csv(path, index=False)
    said = []
    for read in (held, summed):
        with pytest.raises(InputError) as refusal:
            read(str(path), unit="user")
        said.append(str(refusal.value))
    assert said[0] == said[1]


def test_the_file_of_units_counts_units_not_clusters(monkeypatch):
    study = summed(of_users(wide()), unit="user")
    assert study.units < study.rows == study.units_held().size
    monkeypatch.setattr(units, "MOST", study.units * len(study.systems))
    assert study.units_wanted() is None


def test_units_of_an_input_that_has_changed_are_refused():
    data = summed(of_users(wide()), unit="user").data
    with pytest.raises(InputError, match="the input changed while it was read"):
        list(replace(data, counts=[sum(data.counts) + 1]).shards())
