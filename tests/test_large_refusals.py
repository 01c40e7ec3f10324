"""Tables that are read block by block: what cannot be meant is refused in the words of memory.

What one bad cell gives is in `test_bad_inputs.py`, of every reader; here is what several rows or a
parameter give.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import engine_samples as of
import numpy as np
import pandas as pd
import pytest
from engine_samples import (
    SMALL as LIMITS_OF_READING_IN_BLOCKS,
    binary as labels_and_scores,
    classified as study_of_classification,
    put,
)
from own_metric_samples import saved

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits
from evalkit.metrics import grid
from evalkit.reading.reductions import blocks
from evalkit.studies import binary as two_classes


class InputOfReport(NamedTuple):
    """The report that reads a table, the name of its parameter that has the table, a function that
    makes the table, and further parameters of the report.
    """

    report: str
    parameter: str
    make_table: Callable[[], pd.DataFrame]
    options: dict


INPUT_BY_NAME = {
    "binary": InputOfReport("classification", "preds", lambda: labels_and_scores(400), {}),
    "long": InputOfReport(
        "classification",
        "preds",
        lambda: of.long(labels_and_scores(400)).reset_index(drop=True),
        {},
    ),
    "classes": InputOfReport("classification", "preds", lambda: of.classes(500), {}),
    "labels": InputOfReport("classification", "preds", lambda: of.labels(500), {}),
    "rating": InputOfReport(
        "rating",
        "preds",
        lambda: of.long(of.forecasts(500), "forecast").reset_index(drop=True),
        {},
    ),
    "values": InputOfReport("significance", "preds", of.values, {}),
    "draws": InputOfReport("significance", "preds", of.draws, {}),
    "long values": InputOfReport("significance", "preds", of.long_values, {}),
    "losses": InputOfReport("significance", "preds", of.losses, {}),
    "users": InputOfReport("interleaving", "users", of.users, of.OF_USERS),
    "log": InputOfReport("interleaving", "log", of.log, of.OF_LOG),
}


def apart(table):
    """No id in common."""
    return table.assign(id=table["id"] + table["system"])


def with_total(table):
    means = table[["new", "old", "base"]].mean()
    return pd.concat([table, pd.DataFrame([{"question": "All", **means}])], ignore_index=True)


def paired(table):
    """The ids that every system has."""
    return table.groupby("id")["id"].transform("size") == 3


def ninth(table, column, value):
    """Another value in one row of an id that every system has."""
    return table.assign(
        **{column: table[column].mask(table.index == table.index[paired(table)][9], value)}
    )


def twice_where_another_lacks(table):
    at = table.index[~paired(table) & (table["system"] == "new")][0]
    return pd.concat([table, table.loc[[at]].assign(user_id="another")], ignore_index=True)


def without_unit(table):
    some = table[paired(table)]["id"].unique()[[4, 2, 9]]
    return table.assign(user_id=table["user_id"].where(~table["id"].isin(some)))


def again(table, rows):
    """The table with users who have several rows in one arm."""
    first = table[~table["user"].duplicated(keep=False)][:rows]
    return pd.concat([table[:700], first, table[700:], first[:1]], ignore_index=True)


UNIT = {"unit": "user_id"}
FREE = {"shares": "unknown"}


def unchanged(table):
    return table


REFUSED = {
    "binary: which is positive": (
        lambda t: t.assign(label=t["label"].map({0: "good", 1: "bad"})),
        {},
    ),
    "binary: no such positive": (
        lambda t: t.assign(label=t["label"].map({0: "a", 1: "b"})),
        {"positive": "c"},
    ),
    "binary: no such system": (unchanged, {"systems": "good,bad"}),
    "long: labels differ": (lambda t: put(t, "label", 5, 1 - t["label"][5]), {}),
    "long: groups differ": (lambda t: put(t, "country", 5, "xx"), {"segments": "country"}),
    "long: no ids": (lambda t: t.drop(columns="id"), {}),
    "long: nothing shared": (apart, {}),
    "classes: no such system": (unchanged, {"systems": "near,none"}),
    "classes: labels differ": (
        lambda t: put(t, "label", 5, {"car": "rail"}.get(t["label"][5], "car")),
        {},
    ),
    "classes: nothing shared": (apart, {}),
    "classes: one": (lambda t: t[["id", "system"]].assign(label="car", predicted="car"), {}),
    "classes: not predicted": (
        lambda t: t.assign(predicted=t["label"].mask(t.index == 9, "boat")),
        {},
    ),
    "classes: none predicted": (
        lambda t: t[["id", "system", "label"]].assign(predicted=t["label"].str.upper()),
        {},
    ),
    "classes: a positive label": (unchanged, {"positive": "car"}),
    "labels: groups differ": (lambda t: put(t, "country", 5, "xx"), {"segments": "country"}),
    "labels: nothing shared": (apart, {}),
    "labels: a positive label": (unchanged, {"positive": "law"}),
    "labels: costs": (unchanged, {"costs": "{fp: 1, fn: 5}"}),
    "labels: no such baseline": (unchanged, {"baseline": "none"}),
    "labels: no threshold": (lambda t: t.assign(p_law=t["p_law"] * 8 - 4), {}),
    "rating: no such system": (unchanged, {"systems": "near,none"}),
    "rating: nothing shared": (apart, {}),
    "rating: unit differs": (lambda t: put(t, "user_id", 5, "other"), UNIT),
    "rating: a long unit": (lambda t: put(t, "user_id", 8, "u" * 2_000), UNIT),
    "rating: a long system": (lambda t: put(t, "system", 8, "s" * 2_000), {}),
    "values: a summary": (with_total, {}),
    "values: a summary in a cluster": (lambda t: with_total(t).assign(user="u1"), {"unit": "user"}),
    "values: no numbers": (lambda t: t[["question"]].assign(text="x"), {}),
    "values: pairs": (lambda t: t.assign(model_a="x", model_b="y"), {}),
    "values: no such column": (unchanged, {"systems": "newer"}),
    "values: baseline": (unchanged, {"baseline": "z"}),
    "values: not this metric": (unchanged, {"lower_is_better": "speed"}),
    "values: several metrics": (unchanged, {"metrics": "a,b"}),
    "values: several rows a fold": (of.of_users, {"unit": "user", "test_to_train": 0.1}),
    "draws: other units": (
        lambda t: t.assign(subset=t.groupby("question").cumcount().map("part {}".format)),
        {},
    ),
    "long values: no such system": (unchanged, {"systems": "new,newer"}),
    "long values: no such metric": (unchanged, {"metrics": "speed"}),
    "long values: two": (lambda t: t.rename(columns={"value": "speed"}).assign(size=1.5), {}),
    "losses: id twice in two units": (
        lambda t: pd.concat([t, t[5:6].assign(user_id="other")], ignore_index=True),
        UNIT,
    ),
    "losses: id twice and not paired": (twice_where_another_lacks, UNIT),
    "losses: two units": (lambda t: ninth(t, "user_id", "another"), UNIT),
    "losses: no unit": (without_unit, UNIT),
    "losses: no unit of one system": (
        lambda t: without_unit(t)[lambda t: t["system"] == "new"],
        UNIT,
    ),
    "losses: labels differ": (lambda t: ninth(t, "label", 1 - t["label"]), {}),
    "losses: nothing shared": (apart, {}),
    "losses: no shared units": (apart, UNIT),
    "losses: no ids": (lambda t: t.drop(columns="id"), {}),
    "losses: no such column": (unchanged, {"unit": "user"}),
    "losses: metric": (unchanged, {"metrics": "roc_auc"}),
    "losses: metric of a column": (lambda t: t.assign(amount=1.0), {"metrics": [saved]}),
    "losses: folds": (unchanged, {"test_to_train": 0.1}),
    "users: unknown arm": (unchanged, {"arms": "a,b", "shares": "a=1,b=1"}),
    "users: an arm without users": (unchanged, {"arms": "a,b,c,d", **FREE}),
    "users: one arm": (lambda t: t[t["arm"] == "a"], FREE),
    "users: user again": (lambda t: again(t, 1), {}),
    "users: users again": (lambda t: again(t, 5), {}),
    "users: a stratum in one arm": (lambda t: t.assign(alone=t["user"]), {"strata": "alone"}),
    "users: shares of others": (unchanged, {"shares": "a=1,z=1"}),
    "users: no such column": (unchanged, {"metrics": "sales"}),
    "users: baseline": (unchanged, {"baseline": "z"}),
    "users: a metric that leaves some out": (
        unchanged,
        {"metrics": [ek.mean(name="some")(lambda spent: spent / 0)]},
    ),
    "log: unknown teams": (unchanged, {"arms": "a,c"}),
    "log: an arm without a row": (unchanged, {"arms": "a,b,c"}),
    "log: several teams": (unchanged, {"arms": None, "neutral": None}),
    "log: a neutral team": (unchanged, {"neutral": None}),
    "log: a position far away": (lambda t: put(t, "position", 7, 90_000), {}),
    "log: a position below 1": (lambda t: put(t, "position", 7, 0), {}),
    "log: positions that begin at 2": (lambda t: t.assign(position=t["position"] + 1), {}),
    "log: one position twice": (lambda t: t.assign(position=t["position"].clip(upper=2)), {}),
    "log: many users": (lambda t: t.assign(user=np.arange(len(t)).astype(str)), {}),
    "log: a device that changes": (
        lambda t: t.assign(device=t["device"].mask(t["position"] == 2, "phone")),
        {},
    ),
    "log: no credit": (lambda t: t.assign(click=0), {}),
    "log: credit of neutral items alone": (lambda t: t.assign(click=(t["team"] == "both") * 1), {}),
    "log: no such column": (unchanged, {"segments": "country"}),
    "log: baseline": (unchanged, {"baseline": "z"}),
}


@pytest.mark.parametrize(
    ("name_of_input", "make_bad", "further_options"),
    [(case.partition(":")[0], *REFUSED[case]) for case in REFUSED],
    ids=REFUSED,
)
def test_a_table_read_in_blocks_is_refused_in_the_words_of_one_in_memory(
    name_of_input, make_bad, further_options, tmp_path
):
    """A good table is made bad, or read with options that do not fit it. It is written into two
    files, and these are read in memory and, with small limits, in blocks of rows. Both readings
    raise an error of the same type in the same words.
    """
    good = INPUT_BY_NAME[name_of_input]
    table = make_bad(good.make_table())
    third = len(table) // 3
    first_file = tmp_path / "first.csv"
    second_file = tmp_path / "second.csv"
    table[:third].to_csv(first_file, index=False)
    table[third:].to_csv(second_file, index=False)

    def refusal(limits):
        files = [str(first_file), str(second_file)]
        options = good.options | further_options
        with pytest.raises((InputError, ParameterError)) as error:
            of.study_of(good.report, files, limits, good.parameter, **options)
        return type(error.value), str(error.value)

    limits_of_reading_in_memory = Limits()
    assert refusal(LIMITS_OF_READING_IN_BLOCKS) == refusal(limits_of_reading_in_memory)


# What only tables that are read by blocks are refused for -----------------------------------------


@ek.mean(best="high", undefined="the class is rare")
def some(label, predicted):
    return np.where(label == 3, np.nan, label == predicted)


@ek.mean(best="high")
def dear(label, exact):
    return label.sum(axis=1) * exact


def table_of_sixty_classes():
    """Sixty classes."""
    label = np.random.default_rng(5).integers(0, 60, 500).astype(str)
    ids = np.arange(500).astype(str)
    return pd.DataFrame(
        {"id": ids, "label": label, "predicted": label, "user": [i[0] for i in ids]}
    )


def block_limits(**more):
    return Limits(reading=replace(of.SHARDS, **more))


def unlike(table):
    """Forecasts of which one system has some that are negative."""
    far = np.where(table.index < 10, -1.0, table["forecast_far"].abs() + 1)
    return table.assign(forecast_far=far, forecast_near=table["forecast_near"].abs() + 1)


NEEDS, MANY = (
    "needs all rows in memory, got 1,000 rows",
    "units with {} values each are more than the {} values that are",
)
ROWS = "one row of each, and there are more"
REFUSED_IN_BLOCKS = (
    (
        "classes",
        unchanged,
        {"metrics": "roc_auc_hand_till"},
        LIMITS_OF_READING_IN_BLOCKS,
        f"metrics: roc_auc_hand_till {NEEDS}",
    ),
    (
        "classes",
        unchanged,
        {"metrics": "roc_auc_ovr_weighted"},
        LIMITS_OF_READING_IN_BLOCKS,
        (f"metrics: roc_auc_ovr_weighted {NEEDS}"),
    ),
    (
        "classes",
        unchanged,
        {"metrics": "roc_auc_ovo_weighted"},
        LIMITS_OF_READING_IN_BLOCKS,
        (f"metrics: roc_auc_ovo_weighted {NEEDS}"),
    ),
    (
        "classes",
        unchanged,
        {"metrics": [some]},
        LIMITS_OF_READING_IN_BLOCKS,
        "some leaves rows out",
    ),
    (
        "classes",
        lambda t: table_of_sixty_classes(),
        {"unit": "user"},
        LIMITS_OF_READING_IN_BLOCKS,
        "unit: .* 60 classes have 3,600 cells",
    ),
    (
        "labels",
        unchanged,
        {"metrics": [dear]},
        LIMITS_OF_READING_IN_BLOCKS,
        f"metrics: dear {NEEDS}",
    ),
    (
        "rating",
        lambda t: unlike(of.forecasts(500)),
        {"metrics": "poisson_deviance"},
        LIMITS_OF_READING_IN_BLOCKS,
        "poisson_deviance leaves rows out that differ by system",
    ),
    (
        "binary",
        unchanged,
        {"segments": "age"},
        block_limits(values=50),
        "'age' has more than 50 distinct values",
    ),
    ("losses", unchanged, {}, block_limits(max_values=4_000), MANY.format(4, "4,000")),
    ("draws", unchanged, {}, block_limits(max_values=4_499), f"1,500 {MANY.format(3, '4,499')}"),
    (
        "users",
        unchanged,
        {},
        Limits(held=700, reading=of.SHARDS),
        f"up to 700 rows are held, {ROWS}",
    ),
    (
        "log",
        unchanged,
        {},
        Limits(held=300, reading=of.SHARDS),
        f"up to 300 sessions are held, {ROWS}",
    ),
)


@pytest.mark.parametrize(
    ("name_of_input", "change_table", "further_options", "limits", "message"), REFUSED_IN_BLOCKS
)
def test_what_needs_all_rows_or_more_than_is_held_is_refused(
    name_of_input, change_table, further_options, limits, message
):
    """By these limits a table is read in blocks. With further options, such as a metric that needs
    all rows in memory, or after a change of the table, it cannot be read in blocks: it is refused,
    by some reports only when their estimates are computed.
    """
    usual = INPUT_BY_NAME[name_of_input]
    table = change_table(usual.make_table())
    options = usual.options | further_options

    def read_and_estimate():
        study = of.study_of(usual.report, table, limits, usual.parameter, **options)
        return study.estimates

    with pytest.raises((InputError, ParameterError), match=message):
        read_and_estimate()


def test_just_as_many_values_as_are_kept_are_read():
    """A table has three values of each of 1,500 units; at most 4,500 values are kept."""
    limits = block_limits(max_values=4_500)
    study = of.study_of("significance", of.draws(), limits)
    assert len(study.data) == 1_500


def test_too_many_units_to_rank_rows_within_are_refused(monkeypatch):
    """The metric gauc ranks the rows of each user and keeps a value for each. The table has 300
    users, and at most 200 values are kept here.
    """
    monkeypatch.setattr(two_classes, "UNITS", 200)
    with pytest.raises(
        ParameterError, match="gauc needs the value of each user_id, of 200 at most, got 300"
    ):
        study_of_classification(
            labels_and_scores(), LIMITS_OF_READING_IN_BLOCKS, metrics="gauc", unit="user_id"
        )


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_missing_score_in_a_file_of_any_kind_is_refused_by_its_row(tmp_path, kind):
    """A file of the kind csv, parquet or jsonl has 300 rows, of which the tenth has no score of the
    system good. It is read in blocks; the error names the column and row 10.
    """
    table = labels_and_scores(300).copy()  # as other tests use the same table
    table["score_good"] = table["score_good"].astype(float)
    table.loc[9, "score_good"] = np.nan
    path = tmp_path / f"bad.{kind}"
    if kind == "csv":
        table.to_csv(path, index=False)
    if kind == "parquet":
        table.to_parquet(path, index=False)
    if kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    message = re.escape("score_good must be a finite number, got nothing (row 10)")
    with pytest.raises(InputError, match=message):
        study_of_classification(str(path), LIMITS_OF_READING_IN_BLOCKS)


def test_a_truncated_parquet_file_is_refused(tmp_path):
    """The last 300 bytes of the file are cut off, where Parquet says what the file holds."""
    path = tmp_path / "cut.parquet"
    labels_and_scores(2000).to_parquet(path)
    content = path.read_bytes()
    path.write_bytes(content[:-300])
    with pytest.raises(InputError, match="must be a complete Parquet file"):
        study_of_classification(str(path), LIMITS_OF_READING_IN_BLOCKS)


def test_a_spill_that_is_no_folder_is_refused(tmp_path):
    """`spill` is the folder of temporary files, here one that does not exist."""
    with pytest.raises(ParameterError, match="spill must be a folder"):
        study_of_classification(
            labels_and_scores(), LIMITS_OF_READING_IN_BLOCKS, spill=str(tmp_path / "nowhere")
        )


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    """The file is read in blocks. `grid.with_labels` counts the rows of a block; it is replaced by
    a function that first touches the file, which sets its time of change as if another process had
    written to it.
    """
    path = tmp_path / "live.csv"
    labels_and_scores(2000).to_csv(path, index=False)
    count_block = grid.with_labels

    def touch_file_and_count_block(*columns, **options):
        path.touch()
        return count_block(*columns, **options)

    monkeypatch.setattr(grid, "with_labels", touch_file_and_count_block)
    with pytest.raises(InputError, match=r"live\.csv: the file changed while it was read"):
        study_of_classification(str(path), LIMITS_OF_READING_IN_BLOCKS)


@pytest.mark.parametrize(
    "column, message",
    [
        ("score_good", r"score_good must be a finite number, got nothing \(row 1501\)"),
        ("label", r"label must not be empty, got nothing \(row 1501\)"),
    ],
)
def test_an_empty_cell_in_the_middle_of_a_parquet_file_is_refused(tmp_path, column, message):
    """Of 3,000 rows, row 1,501 has no value in one column, that of the label or of a score. What
    columns hold is recognised from rows at both ends of the file, which have values. So the empty
    cell is found only when the blocks of rows are read, and is refused with its column and row.
    """
    table = labels_and_scores(3000).copy()  # as other tests use the same table
    table[column] = table[column].astype("Float64")  # a type that can be empty
    table.loc[1500, column] = pd.NA  # row 1,501, as rows are counted from 1
    path = tmp_path / "ends.parquet"
    table.to_parquet(path)
    with pytest.raises(InputError, match=message):
        study_of_classification(str(path), LIMITS_OF_READING_IN_BLOCKS)


def test_an_input_whose_readings_differ_is_refused(monkeypatch):
    """A table that is read in blocks is read several times. Here the reading of its blocks reports
    2,999 rows in place of 3,000, as if a row had been removed.
    """
    blocks_of = blocks.blocks_of
    monkeypatch.setattr(blocks, "blocks_of", lambda *a, **k: replace(blocks_of(*a, **k), rows=2999))
    with pytest.raises(InputError, match="data frame: the input changed while it was read"):
        study_of_classification(labels_and_scores(3000), LIMITS_OF_READING_IN_BLOCKS)


def test_no_file_is_left_when_reading_ends_badly(tmp_path, monkeypatch):
    """Counting the rows of a block ends with an error. The folder of temporary files, `spill`, is
    then empty.
    """
    monkeypatch.setattr(grid, "with_labels", lambda *columns, **given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        study_of_classification(
            labels_and_scores(), LIMITS_OF_READING_IN_BLOCKS, spill=str(tmp_path)
        )
    assert not list(tmp_path.iterdir())
