"""The file of the units of tables that are added up: read once more, shard by shard, it is that of tables in memory."""

import large_classes
import large_forecasts
import large_labels
import large_losses
import large_online
import large_tables
import large_values
import pandas as pd
import pyarrow.parquet as pq
import pytest
from units_again import check, written

from evalkit.arrays import InputError
from evalkit.reading.reductions.blocks import Blocks
from evalkit.studies import classification, rating, significance, units

KEY = ["system", "metric", "unit", "class"]
TWO = {"metrics": "roc_auc,brier,f1,accuracy", "segments": "country,age"}
OF_TWO = (large_tables.classified, large_tables.SMALL), classification.read
CASES = {
    **{
        f"two classes, {name}": (*OF_TWO, large_tables.frame, TWO | given) for name, given in large_tables.CASES.items()
    },
    "two classes, long": (*OF_TWO, lambda n: large_tables.long(large_tables.frame(n)), TWO | {"unit": "user_id"}),
}
for _kind, _of, _read in (
    ("several classes", large_classes, classification.read),
    ("several labels", large_labels, classification.read),
    ("forecasts", large_forecasts, rating.read),
):
    CASES |= {
        f"{_kind}, {name}": ((_of.summed,), _read, _of.frame, given | {"segments": "country"})
        for name, given in _of.CASES.items()
    }
CASES |= {
    "classes without scores": (
        (large_classes.summed,),
        classification.read,
        large_classes.decided,
        {"metrics": large_classes.DECIDED, "segments": "country", "columns": "{weight: heavy}"},
    ),
    "forecasts, long": (
        (large_forecasts.summed,),
        rating.read,
        lambda n: large_forecasts.long(large_forecasts.frame(n)),
        {"columns": "{weight: exact}"},
    ),
}
CHOSEN = {  # long tables of several systems without ids, of which one system is chosen
    "two classes": (OF_TWO, lambda n: large_tables.long(large_tables.frame(n)), {"systems": "weak"}),
    "several classes": (((large_classes.summed,), classification.read), large_classes.frame, {"systems": "near"}),
    "several labels": (((large_labels.summed,), classification.read), large_labels.frame, {"systems": "near"}),
    "forecasts": (
        ((large_forecasts.summed,), rating.read),
        lambda n: large_forecasts.long(large_forecasts.frame(n)),
        {"systems": "near"},
    ),
}
CASES |= {
    f"{_name}, one system without ids": (*_of, lambda n, of=_table: of(n).drop(columns="id"), _given)
    for _name, (_of, _table, _given) in CHOSEN.items()
}
for _name, _table, _given in (
    ("wide", large_values.wide, {}),
    ("without ids", lambda n: large_values.wide(n).drop(columns="question"), {"systems": "old,new"}),
    ("drawn", large_values.drawn, {}),
    ("long", large_values.long, {}),
    ("one metric", large_values.long, {"systems": "old,new", "metrics": "minutes"}),
    ("wide, in clusters", lambda n: large_values.of_users(large_values.wide(n)), {"unit": "user"}),
    ("drawn, in clusters", lambda n: large_values.of_users(large_values.drawn(n)), {"unit": "user"}),
    ("long, in clusters", lambda n: large_values.of_users(large_values.long(n)), {"unit": "user"}),
    (
        "clusters without ids",
        lambda n: large_values.of_users(large_values.wide(n)).drop(columns="question"),
        {"unit": "user"},
    ),
    ("clusters of one", lambda n: large_values.wide(n).assign(user=lambda t: "of " + t["question"]), {"unit": "user"}),
):
    CASES[f"values per unit, {_name}"] = ((large_values.summed,), significance.read, _table, _given)
for _name, _given in (("rows", {}), ("clusters", {"unit": "user_id"}), ("one row a unit", {"unit": "visit"})):
    CASES[f"losses, {_name}"] = (
        (large_values.summed,),
        significance.read,
        lambda n: large_losses.frame(n).assign(visit=lambda t: "of " + t["id"]),
        _given,
    )
CASES["losses of one system without ids"] = ((large_values.summed,), significance.read, large_losses.alone, {})
for _name, _table in (
    ("in several arms", large_online.users),
    ("without ids", lambda n: large_online.users(n).drop(columns="user")),
):
    CASES[f"users, {_name}"] = ((large_online.users_by_blocks,), large_online.users_held, _table, {})
for _name, _table, _given in (
    ("two arms", large_online.log, {}),
    ("three arms", lambda n: large_online.log(n, arms=3), {"arms": "a,b,c"}),
    ("without users", lambda n: large_online.log(n).drop(columns="user"), {}),
):
    CASES[f"sessions, {_name}"] = (
        (large_online.log_by_blocks,),
        large_online.log_held,
        lambda n, of=_table: of(n // 4),
        _given,
    )


def large_of(summed, data, **given):
    """The study of a table that is added up."""
    function, *limits = summed
    return function(data, *limits, **given)


def same_rows(first, second):
    """Two files have the same rows, whatever their order, and the same schema."""
    assert pq.read_schema(first).equals(pq.read_schema(second), check_metadata=True)
    sides = [pq.read_table(path).to_pandas() for path in (first, second)]
    texts = [name for name in sides[0] if sides[0][name].dtype == "category"]
    sides = [side.astype(dict.fromkeys(texts, object)) for side in sides]
    a, b = (side.sort_values(KEY, kind="stable", ignore_index=True) for side in sides)
    pd.testing.assert_frame_equal(a, b, rtol=0, atol=0)
    return a


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_that_of_a_table_in_memory(name, tmp_path):
    summed, read, frame, given = CASES[name]
    data = frame(1100)
    held, study = read(data, **given), large_of(summed, data, **given)
    for path, one in (("memory", held), ("shards", study)):
        units.write(tmp_path / path, "made", {"": one})
    same_rows(tmp_path / "memory", tmp_path / "shards")


@pytest.mark.parametrize("name", ["two classes, real weights", "several labels, plain", "forecasts, long"])
def test_every_value_follows_from_the_file_alone(name, tmp_path):
    summed, _, frame, given = CASES[name]
    study = large_of(summed, frame(1100), **given)
    again = written(tmp_path / "file", **{"": study})
    for chosen in study.settings.metrics:
        for system in study.systems:
            assert again.value(chosen.label, system) == pytest.approx(study.estimate(chosen, system).value, rel=1e-10)


def small(data, **given):
    """The study of two classes that is added up."""
    return large_tables.classified(data, large_tables.SMALL, metrics="brier", **given)


def test_rows_have_the_order_of_the_files_and_their_numbers_where_there_are_no_ids(tmp_path):
    data = large_tables.frame(1300).drop(columns="id")
    paths = [str(tmp_path / f"{i}.csv") for i in range(2)]
    for path, rows in zip(paths, (data[:700], data[700:]), strict=True):
        rows.to_csv(path, index=False)
    table = written(tmp_path / "file", **{"": small(paths, systems="good")}).rows
    assert table["unit"].tolist() == [str(i) for i in range(1, 1301)]
    assert table["numerator"].tolist() == ((data["score_good"] - data["label"]) ** 2).tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_rows_of_one_system_keep_their_numbers_in_the_files(suffix, tmp_path):
    data = large_tables.long(large_tables.frame(900)).drop(columns="id").reset_index(drop=True)
    paths = [str(tmp_path / f"{i}.{suffix}") for i in range(2)]
    for path, rows in zip(paths, (data[:1000], data[1000:]), strict=True):
        rows.to_csv(path, index=False) if suffix == "csv" else rows.to_parquet(path, index=False)
    table = written(tmp_path / "file", **{"": small(paths, systems="weak")}).rows
    own = data.loc[table["unit"].astype(int) - 1]
    assert len(own) == 900
    assert set(own["system"]) == {"weak"}
    assert table["numerator"].tolist() == ((own["score"] - own["label"]) ** 2).tolist()


def test_a_file_of_many_shards_is_written_a_shard_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(units.gathered, "__defaults__", (100,))
    seen = []
    again = Blocks.again

    def counted(self, rows):
        for block in again(self, rows):
            seen.append(len(block))
            yield block

    monkeypatch.setattr(Blocks, "again", counted)
    written(tmp_path / "file", **{"": small(large_tables.frame(3000))})
    assert seen == [500] * 6
    assert pq.ParquetFile(tmp_path / "file").metadata.num_row_groups >= 6


def test_an_input_that_has_changed_is_refused_and_leaves_no_file(tmp_path):
    large_tables.frame(900).to_csv(tmp_path / "live.csv", index=False)
    study = small(str(tmp_path / "live.csv"))
    large_tables.frame(900, seed=2).to_csv(tmp_path / "live.csv", index=False)
    with pytest.raises(InputError, match=r"live\.csv: the file changed"):
        units.write(tmp_path / "file", "made", {"": study})
    assert not (tmp_path / "file").exists()


def test_of_very_many_rows_only_where_asked_for(monkeypatch):
    monkeypatch.setattr(units, "MOST", 1799)
    monkeypatch.setattr(Blocks, "again", lambda self, rows: pytest.fail("the table was read"))
    assert small(large_tables.frame(900)).units_wanted() is None
    assert small(large_tables.frame(900), units="yes").units_wanted().size == 900
    assert small(large_tables.frame(900), systems="good").units_wanted().size == 900
    assert small(large_tables.frame(900), systems="good", units="no").units_wanted() is None


@pytest.mark.parametrize("memory", ["250MB", "1GB"])
def test_a_large_table_within_little_memory(memory, tmp_path):
    data = large_tables.long(large_tables.frame(20_000, units=1000))
    given = {"metrics": "roc_auc,log_loss", "segments": "country", "unit": "user_id", "columns": "{weight: exact}"}
    limits = large_tables.Limits(reading=large_tables.Reading(rows=100))
    study = large_tables.classified(data, limits, memory=memory, **given)
    again = written(tmp_path / "shards", **{"": study})
    held = classification.read(data, **given)
    check(held, again)
    units.write(tmp_path / "memory", "made", {"": held})
    assert len(same_rows(tmp_path / "memory", tmp_path / "shards")) == 80_000
