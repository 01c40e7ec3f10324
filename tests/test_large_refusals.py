"""Tables that are read block by block: what cannot be meant is refused in the words of memory.

What one bad cell gives is in `test_bad_inputs.py`, of every reader; here is what several rows or a parameter give.
"""

import re
from dataclasses import replace
from importlib import import_module

import large_classes
import large_forecasts
import large_labels
import large_losses
import large_online
import large_tables
import large_values
import numpy as np
import pandas as pd
import pytest
from large_tables import SMALL, classified, frame, put
from own_metric_samples import saved

from evalkit import parameters
from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits
from evalkit.metrics import grid
from evalkit.reading.reductions import blocks


def apart(table):
    """No id in common."""
    return table.assign(id=table["id"] + table["system"])


def binary(change=lambda table: table):
    return lambda: change(frame(400))


def long(change=lambda table: table):
    return lambda: change(large_tables.long(frame(400)).reset_index(drop=True))


def classes(change=lambda table: table):
    return lambda: change(large_classes.frame(500))


def labels(change=lambda table: table):
    return lambda: change(large_labels.frame(500))


def forecasts(change=lambda table: table):
    return lambda: change(large_forecasts.long(large_forecasts.frame(500)).reset_index(drop=True))


def values(change=lambda table: table):
    return lambda: change(large_values.wide())


def losses(change=lambda table: table):
    return lambda: change(large_losses.frame())


def users(change=lambda table: table):
    return lambda: change(large_online.users())


def sessions(change=lambda table: table):
    return lambda: change(large_online.log())


def in_parts(table):
    """Draws, with a second column that could name them."""
    return large_values.drawn().assign(subset=lambda t: t.groupby("question").cumcount().map("part {}".format))


def with_total(table):
    means = table[["new", "old", "base"]].mean()
    return pd.concat([table, pd.DataFrame([{"question": "All", **means}])], ignore_index=True)


def paired(table):
    """The ids that every system has."""
    return table.groupby("id")["id"].transform("size") == 3


def twice_in_two_units(table):
    return pd.concat([table, table.iloc[5:6].assign(user_id="another")], ignore_index=True)


def twice_where_another_lacks(table):
    at = table.index[~paired(table) & (table["system"] == "new")][0]
    return pd.concat([table, table.loc[[at]].assign(user_id="another")], ignore_index=True)


def without_unit(table):
    some = table[paired(table)]["id"].unique()[[4, 2, 9]]
    return table.assign(user_id=table["user_id"].where(~table["id"].isin(some)))


def of_new(table):
    return table[table["system"] == "new"]


def again(rows):
    """The table with users who have several rows in one arm."""

    def change(table):
        first = table[~table["user"].duplicated(keep=False)][:rows]
        return pd.concat([table[:700], first, table[700:], first[:1]], ignore_index=True)

    return change


UNIT = {"unit": "user_id"}
FREE = {"shares": "unknown"}
REFUSED = {
    "which is positive": (binary(lambda t: t.assign(label=t["label"].map({0: "good", 1: "bad"}))), {}),
    "no such positive": (binary(lambda t: t.assign(label=t["label"].map({0: "a", 1: "b"}))), {"positive": "c"}),
    "binary: no such system": (binary(), {"systems": "good,bad"}),
    "binary: labels differ": (long(lambda t: put(t, "label", 5, 1 - t["label"][5])), {}),
    "binary: groups differ": (long(lambda t: put(t, "country", 5, "xx")), {"segments": "country"}),
    "binary: no ids": (long(lambda t: t.drop(columns="id")), {}),
    "binary: nothing shared": (long(apart), {}),
    "classes: no such system": (classes(), {"systems": "near,none"}),
    "classes: labels differ": (classes(lambda t: put(t, "label", 5, {"car": "rail"}.get(t["label"][5], "car"))), {}),
    "classes: nothing shared": (classes(apart), {}),
    "classes: one": (classes(lambda t: t[["id", "system"]].assign(label="car", predicted="car")), {}),
    "classes: not predicted": (classes(lambda t: t.assign(predicted=t["label"].mask(t.index == 9, "boat"))), {}),
    "classes: none predicted": (
        classes(lambda t: t[["id", "system", "label"]].assign(predicted=t["label"].str.upper())),
        {},
    ),
    "classes: a positive label": (classes(), {"positive": "car"}),
    "labels: groups differ": (labels(lambda t: put(t, "country", 5, "xx")), {"segments": "country"}),
    "labels: nothing shared": (labels(apart), {}),
    "labels: a positive label": (labels(), {"positive": "law"}),
    "labels: costs": (labels(), {"costs": "{fp: 1, fn: 5}"}),
    "labels: no such baseline": (labels(), {"baseline": "none"}),
    "rating: no such system": (forecasts(), {"systems": "near,none"}),
    "rating: nothing shared": (forecasts(apart), {}),
    "rating: unit differs": (forecasts(lambda t: put(t, "user_id", 5, "other")), UNIT),
    "rating: a long unit": (forecasts(lambda t: put(t, "user_id", 8, "u" * 2_000)), UNIT),
    "rating: a long system": (forecasts(lambda t: put(t, "system", 8, "s" * 2_000)), {}),
    "values: a summary": (values(with_total), {}),
    "values: a summary in a cluster": (values(lambda t: with_total(t).assign(user="u1")), {"unit": "user"}),
    "values: other units": (values(in_parts), {}),
    "values: no numbers": (values(lambda t: t[["question"]].assign(text="x")), {}),
    "values: pairs": (values(lambda t: t.assign(model_a="x", model_b="y")), {}),
    "values: no such column": (values(), {"systems": "newer"}),
    "values: baseline": (values(), {"baseline": "z"}),
    "values: not this metric": (values(), {"lower_is_better": "speed"}),
    "values: several metrics": (values(), {"metrics": "a,b"}),
    "values: no such system": (large_values.long, {"systems": "new,newer"}),
    "values: no such metric": (large_values.long, {"metrics": "speed"}),
    "values: two": (lambda: large_values.long().rename(columns={"value": "speed"}).assign(size=1.5), {}),
    "losses: id twice in two units": (losses(twice_in_two_units), UNIT),
    "losses: id twice and not paired": (losses(twice_where_another_lacks), UNIT),
    "losses: two units": (
        losses(lambda t: t.assign(user_id=t["user_id"].mask(t.index == t.index[paired(t)][9], "another"))),
        UNIT,
    ),
    "losses: no unit": (losses(without_unit), UNIT),
    "losses: no unit of one system": (losses(lambda t: of_new(without_unit(t))), UNIT),
    "losses: labels differ": (
        losses(lambda t: t.assign(label=t["label"].mask(t.index == t.index[paired(t)][9], 1 - t["label"]))),
        {},
    ),
    "losses: nothing shared": (losses(apart), {}),
    "losses: no shared units": (losses(apart), UNIT),
    "losses: no ids": (losses(lambda t: t.drop(columns="id")), {}),
    "losses: no such column": (losses(), {"unit": "user"}),
    "losses: metric": (losses(), {"metrics": "roc_auc"}),
    "losses: metric of a column": (losses(lambda t: t.assign(amount=1.0)), {"metrics": [saved]}),
    "losses: folds": (losses(), {"test_to_train": 0.1}),
    "users: unknown arm": (users(), {"arms": "a,b", "shares": "a=1,b=1"}),
    "users: an arm without users": (users(), {"arms": "a,b,c,d", **FREE}),
    "users: one arm": (users(lambda t: t[t["arm"] == "a"]), FREE),
    "users: user again": (users(again(1)), {}),
    "users: users again": (users(again(5)), {}),
    "users: a stratum in one arm": (users(lambda t: t.assign(alone=t["user"])), {"strata": "alone"}),
    "users: shares of others": (users(), {"shares": "a=1,z=1"}),
    "users: no such column": (users(), {"metrics": "sales"}),
    "users: baseline": (users(), {"baseline": "z"}),
    "log: unknown teams": (sessions(), {"arms": "a,c"}),
    "log: an arm without a row": (sessions(), {"arms": "a,b,c"}),
    "log: several teams": (sessions(), {"arms": None, "neutral": None}),
    "log: a neutral team": (sessions(), {"neutral": None}),
    "log: a position far away": (sessions(lambda t: put(t, "position", 7, 90_000)), {}),
    "log: a position below 1": (sessions(lambda t: put(t, "position", 7, 0)), {}),
    "log: positions that begin at 2": (sessions(lambda t: t.assign(position=t["position"] + 1)), {}),
    "log: one position twice": (sessions(lambda t: t.assign(position=t["position"].clip(upper=2))), {}),
    "log: many users": (sessions(lambda t: t.assign(user=np.arange(len(t)).astype(str))), {}),
    "log: a device that no session begins with": (
        sessions(lambda t: t.assign(device=t["device"].mask(t["position"] == 2, "phone"))),
        {},
    ),
    "log: no credit": (sessions(lambda t: t.assign(click=0)), {}),
    "log: credit of neutral items alone": (sessions(lambda t: t.assign(click=(t["team"] == "both") * 1)), {}),
    "log: no such column": (sessions(), {"segments": "country"}),
    "log: baseline": (sessions(), {"baseline": "z"}),
}
REPORTS = {"rating": "rating", "values": "significance", "losses": "significance"}
REPORTS |= {"users": "interleaving", "log": "interleaving"}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_those_of_memory(case, tmp_path):
    (make, given), kind = REFUSED[case], case.split(":")[0]
    report = REPORTS.get(kind, "classification")
    online = {kind: None, **large_online.GIVEN[kind]} if kind in large_online.GIVEN else {"preds": None}
    table, files = make(), [str(tmp_path / name) for name in ("first.csv", "second.csv")]
    for path, rows in zip(files, (table[: len(table) // 3], table[len(table) // 3 :]), strict=True):
        rows.to_csv(path, index=False)
    said = []
    for limits in (Limits(), SMALL):
        asked = getattr(parameters, report.capitalize()).of({**online, next(iter(online)): files, **given})
        with pytest.raises((InputError, ParameterError)) as refusal:
            import_module(f"evalkit.studies.{report}").study_of(asked, limits)
        said.append((type(refusal.value).__name__, str(refusal.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_files_of_every_kind_are_refused_by_name_and_row(tmp_path, kind):
    data, path = put(frame(300), "score_good", 9, None), tmp_path / f"bad.{kind}"
    data["score_good"] = data["score_good"].astype(float)
    write = {"csv": data.to_csv, "parquet": data.to_parquet}.get(kind)
    write(path, index=False) if write else data.to_json(path, orient="records", lines=True)
    with pytest.raises(InputError, match=re.escape(r"score_good must be a finite number, got nothing (row 10)")):
        classified(str(path), SMALL)


def test_a_truncated_file_and_an_unwritable_spill(tmp_path):
    path = tmp_path / "cut.parquet"
    frame(2000).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(InputError, match="must be a complete Parquet file"):
        classified(str(path), SMALL)
    with pytest.raises(ParameterError, match="spill must be a folder"):
        classified(frame(), SMALL, spill=str(tmp_path / "nowhere"))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path, reduce = tmp_path / "live.csv", grid.reduce
    frame(2000).to_csv(path, index=False)

    def slow(*columns, **given):
        with path.open("a", encoding="utf-8") as file:
            file.write("")
        path.touch()
        return reduce(*columns, **given)

    monkeypatch.setattr(grid, "reduce", slow)
    with pytest.raises(InputError, match=r"live\.csv: the file changed while it was read"):
        classified(str(path), SMALL)


def test_an_input_whose_readings_differ_is_refused(monkeypatch):
    laid = blocks.laid
    monkeypatch.setattr(blocks, "laid", lambda *a, **k: replace(laid(*a, **k), rows=2999))
    with pytest.raises(InputError, match="data frame: the input changed while it was read"):
        classified(frame(3000), SMALL)


def test_no_file_is_left_when_reading_ends_badly(tmp_path, monkeypatch):
    monkeypatch.setattr(grid, "reduce", lambda *columns, **given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        classified(frame(), SMALL, spill=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_segments_with_too_many_values_are_refused():
    few = Limits(reading=replace(SMALL.reading, values=50))
    with pytest.raises(ParameterError, match="'age' has more than 50 distinct values"):
        classified(frame(), few, segments="age")
