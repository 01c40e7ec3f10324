"""Labels and probabilities of a significance report that an engine reads block by block: the numbers of memory, and the
same refusals."""

import numpy as np
import pandas as pd
import pytest
from large_losses import CASES, alone, frame, whole
from large_values import held, summed
from own_metric_samples import own_errors
from test_large_values import same_studies

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.studies import paired


def same(kept, read):
    """All numbers, and the rows that were left out."""
    same_studies(kept, read)
    assert sum(source.rows for source in kept.sources) == sum(source.rows for source in read.sources)


@pytest.mark.parametrize("make", [frame, whole])
@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_memory(case, make):
    same(held(make(), **CASES[case]), summed(make(), **CASES[case]))


def by_system(folder):
    """One file a system, which names it."""
    table = frame()
    paths = [folder / f"{name}.parquet" for name in ("new", "old", "base")]
    for path in paths:
        table[table["system"] == path.stem].drop(columns="system").to_parquet(path, index=False)
    return [str(path) for path in paths]


@pytest.mark.parametrize("case", CASES)
def test_systems_in_files_of_their_own(case, tmp_path):
    files = by_system(tmp_path)
    kept, read = held(files, **CASES[case]), summed(files, **CASES[case])
    assert kept.systems == ("base", "new", "old")
    same(kept, read)


@pytest.mark.parametrize("given", [{}, {"unit": "user_id"}, {"unit": "country"}])
def test_one_system_without_ids(given):
    kept, read = held(alone(), **given), summed(alone(), **given)
    for name in ("systems", "units", "unit_name", "alone"):
        assert getattr(kept, name) == getattr(read, name), name
    assert kept.data.columns == read.data.columns
    pd.testing.assert_frame_equal(kept.estimates, read.estimates, check_exact=False, rtol=1e-12)


def test_units_of_one_row_each_are_rows():
    table = whole().assign(visit=lambda t: "of " + t["id"])
    same(held(table, unit="visit"), summed(table, unit="visit"))


def test_a_unit_whose_other_rows_a_system_lacks_is_a_row():
    table = frame().assign(visit=lambda t: "of " + t["id"])
    lacking = table[table.groupby("id")["id"].transform("size") == 2]["id"].unique()
    table.loc[table["id"].isin(lacking), "visit"] = table["visit"].iloc[0]
    same(held(table, unit="visit"), summed(table, unit="visit"))


@pytest.mark.parametrize("given", [{}, {"unit": "user_id"}], ids=["rows", "clusters"])
def test_many_rows_at_any_memory(given, tmp_path):
    table = frame(20_000, units=1_800)
    kept = held(table, **given)
    files = [tmp_path / name for name in ("one.parquet", "two.csv")]
    table[:26_000].to_parquet(files[0], index=False)
    table[26_000:].to_csv(files[1], index=False)
    for memory, data in (("1GB", table), ("250MB", [str(path) for path in files])):
        limits = Limits(reading=Reading(rows=1_000, shard=2_400, row=20_000))
        same(kept, summed(data, limits, memory=memory, threads=2, **given))


@ek.mean(best="low", undefined="the label is 0 and the score is low")
def of_some(label, score):
    return np.where((label == 0) & (score < 0.1), np.nan, np.abs(label - score))


@pytest.mark.parametrize("given", [{}, {"unit": "user_id"}], ids=["rows", "clusters"])
def test_own_metrics_have_the_numbers_of_memory(given):
    kept, read = (read(frame(), metrics=[of_some, own_errors, "brier"], **given) for read in (held, summed))
    assert paired.undefined(kept)
    same(kept, read)


def test_more_losses_than_are_kept_are_refused_with_their_number():
    limits = Limits(reading=Reading(rows=100, shard=500, row=10**9, kept=4_000))
    with pytest.raises(InputError, match="units with 6 values each are more than the 4,000 values that are kept"):
        summed(frame(), limits)


UNIT = {"unit": "user_id"}


@pytest.mark.parametrize("given", [{}, UNIT], ids=["rows", "clusters"])
def test_rows_alone_may_differ(given):
    """A row that another system lacks is left out, whatever its unit."""
    table = frame()
    lacking = table.index[table.groupby("id")["id"].transform("size") == 2]
    table = table.assign(user_id=table["user_id"].where(~table.index.isin(lacking[::3])))
    same(held(table, **given), summed(table, **given))
