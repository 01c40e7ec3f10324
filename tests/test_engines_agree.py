"""Every report of a table in memory and of the same table by blocks: all that it publishes and the
file of its units.

Numbers agree to 1e-9, words exactly, but for what `APART` lists by its place: other methods, what
needs all rows.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import engine_samples as of
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import units_again
import whole_pages
from frozen import compare
from own_metric_samples import (
    own_alarms,
    own_brier,
    own_errors,
    own_gap,
    own_mcc,
    own_precision,
    own_recall,
)
from samples import examples

import evalkit as ek
from evalkit.catalogue.tables import LABELS
from evalkit.limits import Limits, ReadingLimits

FILE = examples("blocks")  # of cases, and which of them are tried at night or from files
LISTS = FILE["lists"]
ALL_LABELS = ",".join(metric.name for metric in LABELS.values())
HEAVY = {"columns": "{weight: heavy}"}
EXACT = {"columns": "{weight: exact}"}
USER = {"unit": "user_id"}
BY = {
    "plain": {},
    "weights": HEAVY,
    "real weights": EXACT,
    "users": USER,
    "users and weights": HEAVY | USER,
}
OF_USERS = {"unit": "user"}


@dataclass(frozen=True)
class Case:
    """A report of a table, or of several."""

    report: str
    table: Callable[[], Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    parameter: str = "preds"


# Tables -------------------------------------------------------------------------------------------


# a kind of table: its report, how it is made, the usual parameters, the parameter that it is
OF = {
    "binary": ("classification", lambda: of.binary(1500), {"segments": "country,age"}),
    "long": ("classification", lambda: of.long(of.binary(1200)), {"metrics": LISTS["scores"]}),
    "classes": (
        "classification",
        lambda: of.classes(600),
        {"metrics": LISTS["classes"], "segments": "country"},
    ),
    "decided": (
        "classification",
        lambda: of.decided(600),
        {"metrics": LISTS["decided"], "segments": "country"},
    ),
    "labels": ("classification", lambda: of.labels(650), {"segments": "country"}),
    "forecasts": ("rating", of.forecasts, {"metrics": LISTS["errors"], "segments": "country,age"}),
    **{
        name: ("significance", partial(getattr(of, name), 600), {})
        for name in ("values", "draws", "long_values", "losses")
    },
    "users": ("interleaving", of.users, of.OF_USERS, "users"),
    "sessions": ("interleaving", of.log, of.OF_LOG, "log"),
    "folds": ("validation", of.folds, {}),
}


def case(kind, change=lambda t: t, /, **given):
    report, table, usual, *parameter = OF[kind]
    return Case(report, lambda: change(table()), usual | given, *parameter)


def said(of, by=(), without=(), change=(), none=(), **given):
    """A case of the file."""

    def changed(table):
        for name in by:
            table = globals()[name](table)
        return (
            table.drop(columns=list(without)).assign(**dict(change)) if without or change else table
        )

    lists = {name: LISTS[value[1:]] for name, value in given.items() if str(value).startswith("@")}
    return case(of, changed, **given | lists | dict.fromkeys(none))


def lengthened(table):
    return of.long(table, "forecast")


def of_users(table):
    return of.of_users(table)


def equal_folds(_):
    return pd.DataFrame({"fold": range(200), "a": 0.2, "b": 0.1, "c": 0.1})


def chosen(table):
    """One system of several, without ids and without a name."""
    first = table["system"].iloc[0]
    return table[table["system"] == first].drop(columns=["id", "system"]).reset_index(drop=True)


def in_two(table):
    """Two tables, without groups."""
    at = len(table) // 3
    return [part.drop(columns="country") for part in (table[:at], table[at:])]


def complete(table):
    """Without rows that a system lacks."""
    return table[
        table.groupby("id")["id"].transform("size") == table["system"].nunique()
    ].reset_index(drop=True)


def lacking(table):
    """Rows that one system lacks have no unit, or one that other rows have, or one of their own."""
    visits = ("of " + table["id"]).where(table.groupby("id")["id"].transform("size") == 3, None)
    return table.assign(user_id=visits.mask(visits.isna() & (table.index % 3 > 0), visits.iloc[0]))


def by_questions(table, **columns):
    """Draws of one question by several users: of each another unit."""
    number = table.groupby("question").cumcount() * 150 + table.index % 131
    return table.assign(user="u" + number.astype(str), **columns)


def two_arms(table):
    several = table.groupby("user")["arm"].nunique() > 1
    alone = table[~table["user"].map(several) & (table["arm"] != "c")]
    return alone.assign(age_group=(alone["age"] // 40).astype(str)).drop(columns="user")


def skewed(_):
    rng = np.random.default_rng(2)
    spent = np.where(rng.random(600) < 0.1, rng.lognormal(3, 1.5, 600), 0)
    return pd.DataFrame({"arm": ["a"] * 500 + ["b"] * 100, "spent": spent})


def once(table):
    """Without neutral items, each item shown once."""
    team = table["team"].where(table["team"] != "both", "a")
    return table.assign(team=team, item=np.arange(len(table)).astype(str))


def heavy_tails(_):
    rng = np.random.default_rng(5)
    actual = rng.gamma(2, 2, 3000)
    return pd.DataFrame(
        {"actual": actual} | {f"forecast_{n}": actual + rng.standard_t(2.5, 3000) for n in "ab"}
    )


@ek.mean(best="low", low=0)
def far(label, predicted):
    return np.abs(label - predicted)


@ek.ratio(best="high")
def of_last(label, predicted):
    return (predicted == 3) & (label == 3), predicted == 3


@ek.mean(best="low", low=0)
def far_scores(label, score):
    return np.abs(label - score).mean(axis=1)


@ek.ratio(best="high")
def of_first(label, predicted):
    return label[:, 0] & predicted[:, 0], predicted[:, 0]


@ek.mean(best="low", undefined="the label is 0 and the score is low")
def of_some(label, score):
    return np.where((label == 0) & (score < 0.1), np.nan, np.abs(label - score))


@ek.ratio(best="high")
def per_visit(orders, visits):
    """Orders per visit."""
    return 2 * orders, visits


OWN = [own_brier, own_errors, own_recall, own_precision, own_mcc, own_alarms, own_gap]
CASES = {
    **{name: said(**row) for name, row in FILE["cases"].items()},
    **{
        f"two classes, {by}": case("binary", metrics=LISTS["scores"], threshold=0.4, **more)
        for by, more in BY.items()
    },
    **{
        f"two classes, own metrics, {by}": case("binary", metrics=OWN, threshold=0.4, **BY[by])
        for by in ("plain", "users")
    },
    "two classes, rows that a system lacks": case("long", lambda t: t.iloc[:-40]),
    # of decisions blocks do not know that the scores are equal, and allow for one more that differs
    "two classes, equal systems": case(
        "binary",
        lambda t: t.assign(score_weak=t["score_good"]),
        metrics="roc_auc,average_precision,ks,log_loss,brier",
    ),
    "two classes, booleans": case("binary", lambda t: t.assign(label=t["label"].astype(bool))),
    "two classes, texts": case(
        "binary", lambda t: t.assign(label=t["label"].map({0: "it's", 1: "not"})), positive="it's"
    ),
    "two classes, logits": case(
        "binary", lambda t: t.assign(score_good=np.log(t["score_good"] + 0.01))
    ),
    **{f"several classes, {by}": case("classes", **more) for by, more in BY.items()},
    "several classes, said": case(
        "classes", lambda t: t.assign(predicted=t["label"].mask(t.index % 7 == 0, "rail"))
    ),
    "several classes, own metrics": case("classes", metrics=[far, of_last, "accuracy"]),
    **{f"decided classes, {by}": case("decided", **more) for by, more in BY.items()},
    "decided classes, one more without a match": case(
        "decided",
        lambda t: pd.concat(
            [t, chosen(t)[:3].assign(id=["x", "y", "z"], system="far", label="boat")]
        ),
    ),
    **{
        f"several labels, {by}": case("labels", metrics=f"samples_f1,{ALL_LABELS}", **more)
        for by, more in BY.items()
    },
    "several labels, no probabilities": case(
        "labels",
        lambda t: t.assign(**{f"p_{name}": t[f"p_{name}"] * 8 - 4 for name in of.LABELS}),
        threshold=0.5,
    ),
    "several labels, single precision": case(
        "labels",
        lambda t: t.astype({f"p_{name}": "float32" for name in of.LABELS}),
        threshold=0.7,
        systems="near",
    ),
    "several labels, own metrics": case("labels", metrics=[far_scores, of_first, "exact_match"]),
    **{f"forecasts, {by}": case("forecasts", **more) for by, more in BY.items()},
    "values, complete": case("values", lambda t: t.dropna(ignore_index=True)),
    "values, fold and repeat": case(
        "values",
        lambda t: t.drop(columns="question").assign(fold=t.index % 60, repeat=t.index // 60),
    ),
    "clusters without a value": case(
        "values",
        lambda t: of.of_users(t).assign(new=lambda t: t["new"].where(t["user"].str[-1] != "7")),
        **OF_USERS,
    ),
    "clusters of one unit": case(
        "values", lambda t: t.assign(user="of " + t["question"]), **OF_USERS
    ),
    "clusters that only draws share": case(
        "long_values",
        lambda t: of_users(t).drop(columns="question").assign(run=t.index),
        metrics="quality",
        **OF_USERS,
    ),
    "values of equal folds": case("values", equal_folds, test_to_train=0.1, margin=0.01),
    "losses of one row a unit": case("losses", lambda t: t.assign(user_id="of " + t["id"]), **USER),
    "losses, own metrics": case("losses", metrics=[of_some, own_errors, "brier"], **USER),
    "users, own metrics": case("users", metrics=[per_visit]),
    "log, three arms": case("sessions", lambda t: of.log(arms=3), arms="a,b,c"),
    "log, clicks": case(
        "sessions",
        lambda t: t.assign(click=(t["click"] > 0).astype(int)),
        preference="session_wins,credit_share",
    ),
    "folds of one system": case("folds", lambda t: t[t["system"] == "far"].drop(columns="id")),
}
# What may differ ----------------------------------------------------------------------------------

UNDEFINED = "undefined"  # by blocks, for want of all rows
LIMITS = r"(low|high|p|adjusted|detectable|difference_low|difference_high)"
# rows are put into parts by other random numbers, and forty samples tell an error to a tenth
CHOSEN = r"two classes, (best F1|least cost|a recall|no threshold|logits)"
APART: tuple[
    tuple[str, str, Any], ...
] = (  # the cases, the place, and how far: None if it is not compared
    (
        CHOSEN,
        r"(estimates|comparisons|base_rates)\[(?!(.*, )?(roc_auc|average_precision)\b).*\]\."
        + LIMITS,
        0.15,
    ),
    (CHOSEN, r"comparisons\[.*\]\.verdict", None),  # where p is near 5%
    (CHOSEN, r"findings\[EK337\]\.message", None),  # as many digits as the interval deserves
    (
        "two classes",
        r"(base_rates|calibration|gains|net_benefit\.differences)\[.*\]\.(low|high)",
        UNDEFINED,
    ),
    ("two classes, one user", rf"comparisons\[.*\]\.({LIMITS}|method)", None),
    ("two classes, own", rf"(comparisons|estimates|headline|segments)\[.*\]\.{LIMITS}", 2e-3),
    ("two classes, own", r"(comparisons|estimates)\[own_(alarms|gap|errors).*\]\.method", None),
    ("several classes, own", rf"(comparisons|estimates)\[of_last.*\]\.{LIMITS}", 3e-3),
    (
        "(several|decided) classes(?!, users$)",
        rf"(comparisons|headline|tops)\[.*\]\.{LIMITS}",
        2e-3,
    ),
    (
        "several labels(?!, users$)",
        rf"(comparisons|headline|estimates|segments)\[.*\]\.{LIMITS}",
        2e-3,
    ),
    (
        "several labels(?!, users$)",
        r"(slices_against_rest|picked_slices)\[.*\]\.(low|high|corrected)",
        2e-3,
    ),
    ("several labels(?!, users$)", r"slices_against_rest\[.*\]\.adjusted", 1e-2),
    (
        "several labels, users$",
        rf"(comparisons\[(ranking_loss|samples_.*)\]|headline\[.*\])\.{LIMITS}",
        2e-4,
    ),  # rounding orders units
    ("several labels(?!, users$)", r"sweep\[micro_\w+( #\d+)?\]\.(low|high)", None),
    ("forecasts", rf"(comparisons|estimates)\[wape.*\]\.{LIMITS}", 1e-3),
    (
        "forecasts",
        r"forecasts\.isotonic\.(curve|bands).*",
        None,
    ),  # thinned for the page, see test_large_tables.py
    ("two classes", r"findings\[EK(206|341|413)\]", None),
    ("several labels", r"findings\[EK336\]", None),
    ("forecasts", r"findings\[EK402.*\]", None),
    ("(users|log)", r"findings\[EK712\]", None),
)
ELSEWHERE = {"inputs", "parameters", "versions", "missed"}  # missed: of single rows


def is_accepted(name, difference):
    """True if a difference of a case is one that APART lists, is the name of a method of many rows,
    or is at most 1e-9.
    """
    if difference.place.endswith(".method") and difference.new.startswith("influence sums"):
        return True
    for cases, place, largest in APART:
        if re.match(cases, name) and re.fullmatch(place, difference.path):
            if largest is None:
                return True
            if largest == UNDEFINED:
                return difference.new is None
            return difference.size <= largest
    return difference.size <= 1e-9


def unaccepted(name, differences):
    return [str(difference) for difference in differences if not is_accepted(name, difference)]


# Both forms ---------------------------------------------------------------------------------------


def read(case, data, reading=ReadingLimits(), **more):  # noqa: B008 - frozen
    """The study of a case; those of rows and forecasts have methods of many units, but not of users
    without weights.
    """
    few = case.report == "classification" and "unit" in case.given and "columns" not in case.given
    flipped = Limits.flipped if few or case.report not in ("classification", "rating") else 1
    limits = Limits(flipped=flipped, resamples=100, bands=40, reading=reading)
    return of.study_of(case.report, data, limits, case.parameter, **case.given | more)


def published(study, results=whole_pages.results):
    """All that a report publishes but where its numbers come from."""
    return {name: part for name, part in results(study).items() if name not in ELSEWHERE}


def by_day(names, night):
    """The names as parameters, of which those of `night` are marked as slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in night)) for name in names]


@cache
def in_memory(name):
    """The study of a case in memory and what it publishes, which keeps to the schema."""
    study = read(CASES[name], CASES[name].table())
    return study, published(study, whole_pages.published)


def same_rows(first, second):
    """Two files have the same schema and the same rows, but for the items of lists, whatever their
    order.
    """
    schemas = [pq.read_schema(path) for path in (first, second)]
    assert schemas[0].remove_metadata().equals(schemas[1].remove_metadata())
    assert [field.metadata for field in schemas[0]] == [field.metadata for field in schemas[1]]
    about, other = (json.loads(schema.metadata[b"evalkit"]) for schema in schemas)
    assert {key for key in about if about[key] != other[key]} <= {
        "inputs",
        "parameters",
        "versions",
    }  # where the rows come from
    assert about.keys() == other.keys()
    sides = [pq.read_table(path).to_pandas() for path in (first, second)]
    sides = [side[side["items"].isna()] for side in sides]  # only lists in memory have their items
    texts = [name for name in sides[0] if sides[0][name].dtype == "category"]
    key = ["system", "metric", "unit", "class"]
    sides = [
        side.astype(dict.fromkeys(texts, object)).sort_values(key, kind="stable", ignore_index=True)
        for side in sides
    ]
    pd.testing.assert_frame_equal(*sides, rtol=0, atol=0)
    return sides[0]


@pytest.mark.parametrize("name", by_day(CASES, FILE["night"]))
def test_blocks_give_what_memory_gives(name, tmp_path):
    """A case is a report on a table, such as a classification by users. Its rows are held in memory
    (`in_memory`), or read by blocks. Both studies must publish the same results: numbers within
    1e-9, but for those places that APART lists, with the largest difference of each. Both must
    write the same file of values per unit. From the file of some cases, the estimates are computed
    once more and must be those of the study.
    """
    case = CASES[name]
    study_in_memory, results_in_memory = in_memory(name)
    in_blocks_of_500_rows = of.SHARDS
    study_by_blocks = read(case, case.table(), in_blocks_of_500_rows)
    differences = compare.differences(results_in_memory, published(study_by_blocks))
    assert unaccepted(name, differences) == []
    for path, study in (("memory", study_in_memory), ("blocks", study_by_blocks)):
        # the interleaving report has a study of users or of a log; others are the study
        study_of_table = getattr(study, case.parameter, study)
        units_again.write_units(study_of_table, tmp_path / path)
    assert len(same_rows(tmp_path / "memory", tmp_path / "blocks")) > 0
    # classes without scores, and the slow cases; test_frozen.py does so with the other kinds
    if name.startswith("decided") or name in FILE["night"]:
        results_of_table = results_in_memory.get(case.parameter) or results_in_memory
        units_again.assert_results_follow_from_units(tmp_path / "memory", results_of_table)


# Some cases are enough: files differ from frames in nothing but how many rows come at once.
IN_FILES = [
    name
    for name in CASES
    if re.search("[^,]*(, plain|, real weights|users.*|by user|draws)?", name)[0] == name
]


@pytest.mark.parametrize("name", by_day(IN_FILES, set(IN_FILES) - set(FILE["files"])))
def test_files_within_little_memory_give_what_memory_gives(name, tmp_path):
    """A case is a report on a table, such as a classification by users. A Parquet file has a third
    of its rows, a CSV file the rest. They are read within little memory: in shards of 300 rows, at
    20 kB per row, and with more units than the 10 whose sums are all kept. The results must be
    those of the table in memory (`in_memory`): numbers within 1e-9, but for those places that APART
    lists, with the largest difference of each.
    """
    table = CASES[name].table()
    third = len(table) // 3
    parquet, csv = tmp_path / "one.parquet", tmp_path / "two.csv"
    table[:third].to_parquet(parquet, index=False)
    table[third:].to_csv(csv, index=False)
    little_memory = ReadingLimits(rows=100, shard=300, row=20_000, units=10)
    files = [str(parquet), str(csv)]
    study_of_files = read(CASES[name], files, little_memory, memory="250MB", threads=2)
    _, results_in_memory = in_memory(name)
    differences = compare.differences(results_in_memory, published(study_of_files))
    assert unaccepted(name, differences) == []
