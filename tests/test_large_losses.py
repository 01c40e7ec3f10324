"""Labels and probabilities of a significance report that an engine reads block by block: the numbers of memory, and the
same refusals."""

import numpy as np
import pandas as pd
import pytest
from large_losses import CASES, alone, frame, whole
from large_same import same_refusals
from large_values import held, summed
from own_metric_samples import own_errors, saved
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
def test_a_hundred_thousand_rows_at_any_memory(given, tmp_path):
    table = frame(100_000, units=9_000)
    kept = held(table, **given)
    files = [tmp_path / name for name in ("one.parquet", "two.csv")]
    table[:130_000].to_parquet(files[0], index=False)
    table[130_000:].to_csv(files[1], index=False)
    for memory, data in (("1GB", table), ("250MB", [str(path) for path in files])):
        limits = Limits(reading=Reading(rows=1_000, shard=12_000, row=20_000))
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


def put(column, value, row=7):
    return lambda t: t.astype({column: object}).assign(**{column: lambda d: d[column].where(d.index != row, value)})


def twice(t):
    return pd.concat([t, t.iloc[5:6]], ignore_index=True)


def twice_in_two_units(t):
    return pd.concat([t, t.iloc[5:6].assign(user_id="another")], ignore_index=True)


def twice_where_another_lacks(t):
    lacking = t.groupby("id")["id"].transform("size") == 2
    at = t.index[lacking & (t["system"] == "new")][0]
    return pd.concat([t, t.loc[[at]].assign(user_id="another")], ignore_index=True)


def in_two_units(t):
    full = t.groupby("id")["id"].transform("size") == 3
    return t.assign(user_id=t["user_id"].where(t.index != t.index[full][9], "another"))


def nothing_shared(t):
    return t.assign(id=t["id"] + t["system"])


def other_label(t):
    full = t.groupby("id")["id"].transform("size") == 3
    return t.assign(label=t["label"].where(t.index != t.index[full][9], 1 - t["label"]))


def no_unit(t):
    some = t[t.groupby("id")["id"].transform("size") == 3]["id"].unique()[[4, 2, 9]]
    return t.assign(user_id=t["user_id"].where(~t["id"].isin(some)))


UNIT = {"unit": "user_id"}
REFUSED = {
    "label missing": (put("label", None), {}),
    "third label": (put("label", 2), {}),
    "label is text": (put("label", "good"), {}),
    "score missing": (put("score", None), {}),
    "no probability": (put("score", 1.5), {}),
    "score infinite": (put("score", np.inf), {}),
    "score is text": (put("score", "high"), {}),
    "id missing": (put("id", None), {}),
    "no system": (put("system", None), {}),
    "id twice": (twice, {}),
    "id twice in a unit": (twice, UNIT),
    "id twice in two units": (twice_in_two_units, UNIT),
    "id twice and not paired": (twice_where_another_lacks, UNIT),
    "two units": (in_two_units, UNIT),
    "no unit": (no_unit, UNIT),
    "labels differ": (other_label, {}),
    "labels of a unit differ": (other_label, UNIT),
    "nothing shared": (nothing_shared, {}),
    "no shared units": (nothing_shared, UNIT),
    "a long unit": (put("user_id", "u" * 2_000), UNIT),
    "a long system": (put("system", "s" * 2_000), {}),
    "no ids": (lambda t: t.drop(columns="id"), {}),
    "no such column": (lambda t: t, {"unit": "user"}),
    "metric": (lambda t: t, {"metrics": "roc_auc"}),
    "metric of a column": (lambda t: t.assign(amount=1.0), {"metrics": [saved]}),
    "direction": (lambda t: t, {"lower_is_better": "speed"}),
    "baseline": (lambda t: t, {"baseline": "z"}),
    "folds": (lambda t: t, {"test_to_train": 0.1}),
    "no unit of one system": (lambda t: no_unit(t)[lambda d: d["system"] == "new"], UNIT),
    "no unit and no id": (lambda t: no_unit(t)[lambda d: d["system"] == "new"].drop(columns=["id", "system"]), UNIT),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_those_of_memory(case, tmp_path):
    change, given = REFUSED[case]
    readings = [lambda files, read=read: read(files, **given) for read in (held, summed)]
    same_refusals(change(frame()), 300, tmp_path, *readings)


@pytest.mark.parametrize("given", [{}, UNIT], ids=["rows", "clusters"])
def test_rows_alone_may_differ(given):
    """A row that another system lacks is left out, whatever its unit."""
    table = frame()
    lacking = table.index[table.groupby("id")["id"].transform("size") == 2]
    table = table.assign(user_id=table["user_id"].where(~table.index.isin(lacking[::3])))
    same(held(table, **given), summed(table, **given))
