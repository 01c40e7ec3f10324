"""Every report of a table in memory and of the same table by blocks: all that it publishes and the file of its units.

Numbers agree to 1e-9, words exactly, but for what `APART` lists by its place: other methods, what needs all rows.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import engine_samples as of
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import units_again
import whole_pages
from frozen import compare
from own_metric_samples import own_alarms, own_brier, own_errors, own_gap, own_mcc, own_precision, own_recall

import evalkit as ek
from evalkit.catalogue.class_metrics import LABELS
from evalkit.limits import Limits, Reading
from evalkit.studies import units

SCORES = "roc_auc,average_precision,ks,log_loss,brier,calibration_in_the_large,f1,accuracy,precision,recall,mcc"
CLOSED = "average_precision,ks,f1,fbeta@2,mcc,balanced_accuracy,lift,partial_auc_mcclish_10,brier_skill"
DECIDED = (
    "accuracy,macro_f1,macro_precision,macro_recall,macro_f1_of_means,weighted_f1,weighted_precision,"
    "balanced_accuracy,mcc,kappa,kappa_quadratic"
)
CLASSES = f"{DECIDED},log_loss,brier,top@2,roc_auc_ovr,map_classes"
ALL_LABELS = ",".join(metric.name for metric in LABELS.values())
ERRORS = "mae,rmse,mse,bias,median_absolute_error,r2,r2_correlation,wape,smape,mape,mase,pinball@90"
HEAVY, EXACT, USER = {"columns": "{weight: heavy}"}, {"columns": "{weight: exact}"}, {"unit": "user_id"}
BY = {"plain": {}, "weights": HEAVY, "real weights": EXACT, "users": USER, "users and weights": HEAVY | USER}
OF_USERS = {"unit": "user"}
TWO_METRICS = {"metrics": "quality,minutes", "lower_is_better": "minutes"}
FOLDS = {"test_to_train": 0.1, "margin": 0.01}
ALONE = {"before": None, "strata": None, "segments": None, "shares": "unknown"}


@dataclass(frozen=True)
class Case:
    """A report of a table, or of several."""

    report: str
    table: Callable[[], Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    parameter: str = "preds"


# Tables -------------------------------------------------------------------------------------------------------


def binary(change=lambda t: t, /, **given):
    return Case("classification", lambda: change(of.binary(1500)), {"segments": "country,age"} | given)


def long(change=lambda t: t, /, **given):
    return Case("classification", lambda: change(of.long(of.binary(1200))), {"metrics": SCORES} | given)


def classes(change=lambda t: t, /, table=of.classes, metrics=CLASSES, **given):
    return Case("classification", lambda: change(table(600)), {"metrics": metrics, "segments": "country"} | given)


def labels(change=lambda t: t, /, **given):
    return Case("classification", lambda: change(of.labels(650)), {"segments": "country"} | given)


def forecasts(change=lambda t: t, /, **given):
    return Case("rating", lambda: change(of.forecasts()), {"metrics": ERRORS, "segments": "country,age"} | given)


def values(table, /, **given):
    return Case("significance", lambda: table(600), given)


def users(change=lambda t: t, /, **given):
    return Case("interleaving", lambda: change(of.users()), of.OF_USERS | given, "users")


def sessions(change=lambda t: t, /, **given):
    return Case("interleaving", lambda: change(of.log()), of.OF_LOG | given, "log")


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
    return table[table.groupby("id")["id"].transform("size") == table["system"].nunique()].reset_index(drop=True)


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
    return pd.DataFrame({"actual": actual} | {f"forecast_{n}": actual + rng.standard_t(2.5, 3000) for n in "ab"})


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
    **{f"two classes, {by}": binary(metrics=SCORES, threshold=0.4, **more) for by, more in BY.items()},
    **{f"two classes, own metrics, {by}": binary(metrics=OWN, threshold=0.4, **BY[by]) for by in ("plain", "users")},
    "two classes, one system": binary(metrics=CLOSED, systems="good"),
    "two classes, best F1": binary(threshold="best_f1"),
    "two classes, least cost": binary(threshold="cost:fp=1,fn=5"),
    "two classes, a recall": binary(threshold="recall>=0.9"),
    "two classes, no threshold": binary(threshold="precision>=0.99999"),
    "two classes, within users": binary(metrics="gauc,gauc_positives,roc_auc", **USER),
    "two classes, long": long(columns="{id: id}", threshold="0.3333"),
    "two classes, long by user": long(threshold=0.4, **HEAVY, **USER),
    "two classes, long within users": long(metrics="gauc,gauc_positives,roc_auc", **EXACT, **USER),
    "two classes, rows that a system lacks": long(lambda t: t.iloc[:-40]),
    "two classes, long, one system": long(lambda t: t.drop(columns="id"), systems="weak"),
    "two classes, without ids": long(chosen),
    "two classes, one label": binary(lambda t: t.assign(label=1), metrics=SCORES),
    "two classes, one label by user": binary(lambda t: t.assign(label=0), metrics=SCORES, **USER),
    "two classes, one score": binary(lambda t: t.assign(score_good=0.5), metrics=SCORES, **USER),
    "two classes, equal systems": binary(lambda t: t.assign(score_weak=t["score_good"])),
    "two classes, one user": binary(lambda t: t.assign(user_id="u"), **USER),
    "two classes, booleans": binary(lambda t: t.assign(label=t["label"].astype(bool))),
    "two classes, texts": binary(lambda t: t.assign(label=t["label"].map({0: "it's", 1: "not"})), positive="it's"),
    "two classes, logits": binary(lambda t: t.assign(score_good=np.log(t["score_good"] + 0.01))),
    **{f"several classes, {by}": classes(**more) for by, more in BY.items()},
    "several classes, defaults": Case("classification", of.classes, {"segments": "country"}),
    "several classes, without ids": classes(lambda t: in_two(chosen(t)), segments=None),
    "several classes, one system": classes(lambda t: t.drop(columns="id"), systems="near"),
    "several classes, said": classes(lambda t: t.assign(predicted=t["label"].mask(t.index % 7 == 0, "rail"))),
    "several classes, without rows": classes(lambda t: t.assign(p_tram=0.0), metrics="accuracy,macro_f1,roc_auc_ovr"),
    "several classes, own metrics": classes(metrics=[far, of_last, "accuracy"]),
    **{f"decided classes, {by}": classes(table=of.decided, metrics=DECIDED, **more) for by, more in BY.items()},
    "decided classes, one more without a match": classes(
        lambda t: pd.concat([t, chosen(t)[:3].assign(id=["x", "y", "z"], system="far", label="boat")]),
        table=of.decided,
        metrics=DECIDED,
    ),
    **{f"several labels, {by}": labels(metrics=f"samples_f1,{ALL_LABELS}", **more) for by, more in BY.items()},
    "several labels, means": labels(metrics="macro_f1,exact_match,map_classes,ranking_loss"),
    "several labels, without ids": labels(lambda t: in_two(chosen(t)), segments=None),
    "several labels, one system": labels(lambda t: t.drop(columns="id"), systems="near"),
    "several labels, left out": labels(metrics="samples_f1,samples_jaccard,ranking_loss", threshold=0.7),
    "several labels, no probabilities": labels(
        lambda t: t.assign(**{f"p_{name}": t[f"p_{name}"] * 8 - 4 for name in of.LABELS}), threshold=0.5
    ),
    "several labels, single precision": labels(
        lambda t: t.astype({f"p_{name}": "float32" for name in of.LABELS}), threshold=0.7, systems="near"
    ),
    "several labels, one that no row has": labels(
        lambda t: t.assign(y_sport=0), metrics="map_classes,micro_f1,macro_f1,weighted_f1,roc_auc_macro"
    ),
    "several labels, against one": labels(baseline="near"),
    "several labels, own metrics": labels(metrics=[far_scores, of_first, "exact_match"]),
    **{f"forecasts, {by}": forecasts(**more) for by, more in BY.items()},
    "forecasts, defaults": Case("rating", of.forecasts, {"metrics": "mae,bias,median_absolute_error,rmse"}),
    "forecasts, long": forecasts(lambda t: of.long(t, "forecast")),
    "forecasts, long by user": forecasts(lambda t: of.long(t, "forecast"), **HEAVY, **USER),
    "forecasts, one system": forecasts(lambda t: of.long(t, "forecast").drop(columns="id"), systems="near"),
    "forecasts, without ids": forecasts(lambda t: in_two(chosen(of.long(t, "forecast"))), segments=None),
    "forecasts, heavy tails": forecasts(heavy_tails, metrics="r2,r2_correlation,wape,rmse,mae", segments=None),
    "values": values(of.values),
    "values, rows": values(lambda n: of.values(n).drop(columns="question"), systems="old,new"),
    "values, draws": values(of.draws),
    "values, a baseline": values(of.values, baseline="old", margin=0.01),
    "values, low": values(of.values, metrics="minutes", lower_is_better="minutes"),
    "values, looks": values(of.values, looks=3, level=0.9),
    "values, long": values(of.long_values, metrics="quality"),
    "values, two metrics": values(of.long_values, **TWO_METRICS),
    "values, some systems": values(of.long_values, systems="old,new"),
    "values, complete": values(lambda n: of.values(n).dropna(ignore_index=True)),
    "values, fold and repeat": values(
        lambda n: of.values(n).drop(columns="question").assign(fold=np.arange(n) % 60, repeat=np.arange(n) // 60)
    ),
    "clusters": values(lambda n: of.of_users(of.values(n)), **OF_USERS),
    "clusters of rows": values(lambda n: of.of_users(of.values(n)).drop(columns="question"), **OF_USERS),
    "clusters of draws": values(lambda n: of.of_users(of.draws(n)), **OF_USERS),
    "clusters, a unit in several": values(lambda n: by_questions(of.draws(n)), **OF_USERS),
    "clusters without a value": values(
        lambda n: of.of_users(of.values(n)).assign(new=lambda t: t["new"].where(t["user"].str[-1] != "7")), **OF_USERS
    ),
    "clusters, a baseline": values(lambda n: of.of_users(of.values(n)), baseline="old", margin=0.01, **OF_USERS),
    "clusters, looks": values(lambda n: of.of_users(of.values(n)), looks=3, level=0.9, **OF_USERS),
    "clusters, two metrics": values(lambda n: of.of_users(of.long_values(n)), **TWO_METRICS, **OF_USERS),
    "clusters of one unit": values(lambda n: of.values(n).assign(user=lambda t: "of " + t["question"]), **OF_USERS),
    "clusters that only draws share": values(
        lambda n: of.of_users(of.long_values(n)).drop(columns="question").assign(run=lambda t: np.arange(len(t))),
        metrics="quality",
        **OF_USERS,
    ),
    "values of folds": values(of.values, **FOLDS),
    "values of folds, two metrics": values(of.long_values, **TWO_METRICS, **FOLDS),
    "values of folds, draws": values(of.draws, looks=3, **FOLDS),
    "values of equal folds": values(
        lambda n: pd.DataFrame({"fold": range(200), "a": 0.2, "b": 0.1, "c": 0.1}), **FOLDS
    ),
    "losses": values(of.losses),
    "losses by user": values(of.losses, **USER),
    "losses, complete": values(lambda n: complete(of.losses(n)), metrics="log_loss,brier", baseline="old", margin=0.01),
    "losses, complete by user": values(lambda n: complete(of.losses(n)), **USER),
    "losses, looks": values(of.losses, looks=3, level=0.9, **USER),
    "losses, low": values(of.losses, metrics="brier", columns="{id: id}"),
    "losses, without ids": values(lambda n: chosen(of.losses(n))),
    "losses, without ids by user": values(lambda n: chosen(of.losses(n)), **USER),
    "losses of one row a unit": values(lambda n: of.losses(n).assign(user_id=lambda t: "of " + t["id"]), **USER),
    "losses, units of what a system lacks": values(lambda n: lacking(of.losses(n)), **USER),
    "losses, own metrics": values(of.losses, metrics=[of_some, own_errors, "brier"], **USER),
    "users": users(),
    "users, a baseline": users(baseline="b", best="low"),
    "users, two arms": users(two_arms, metrics="spent", strata="age_group", shares="unknown"),
    "users, a share first": users(metrics="bought,orders", cap=0.8),
    "users, a ratio alone": users(metrics="spent/visits"),
    "users, skewed": users(skewed, metrics="spent", **ALONE),
    "users, without ids": users(lambda t: t.drop(columns="user")),
    "users, own metrics": users(metrics=[per_visit]),
    "log": sessions(),
    "log, a baseline": sessions(preference="session_wins", baseline="b", margin=0.05),
    "log, another level": sessions(preference="user_preference,credit_share", level=0.9),
    "log, no segments": sessions(once, segments=None, neutral=None, arms=None),
    "log, three arms": sessions(lambda t: of.log(arms=3), arms="a,b,c"),
    "log, sessions alone": sessions(lambda t: t.drop(columns=["user", "item"])),
    "log, clicks": sessions(
        lambda t: t.assign(click=(t["click"] > 0).astype(int)), preference="session_wins,credit_share"
    ),
    "folds": Case("validation", of.folds),
    "folds of one system": Case("validation", lambda: of.folds()[lambda t: t["system"] == "far"].drop(columns="id")),
}
# What may differ ----------------------------------------------------------------------------------------------

UNDEFINED = "undefined"  # by blocks, for want of all rows
LIMITS = r"(low|high|p|adjusted|detectable|difference_low|difference_high)"
CHOSEN = r"two classes, (best F1|least cost|a recall|no threshold|logits)"  # allowed for in memory alone
APART: tuple[tuple[str, str, Any], ...] = (  # the cases, the place, and how far: None if it is not compared
    (CHOSEN, r"(estimates|comparisons|base_rates)\[(?!(.*, )?(roc_auc|average_precision)\b).*\]\.[a-z]+", None),
    (CHOSEN, r"findings\[EK322\]\.message", None),
    ("two classes", r"(base_rates|calibration|gains|net_benefit\.differences)\[.*\]\.(low|high)", UNDEFINED),
    ("two classes, one user", rf"comparisons\[.*\]\.({LIMITS}|method)", None),
    ("two classes, own", rf"(comparisons|estimates|headline|segments)\[.*\]\.{LIMITS}", 2e-3),
    ("two classes, own", r"(comparisons|estimates)\[own_(alarms|gap|errors).*\]\.method", None),
    ("several classes, own", rf"(comparisons|estimates)\[of_last.*\]\.{LIMITS}", 3e-3),
    ("(several|decided) classes", rf"(comparisons|headline|tops)\[.*\]\.{LIMITS}", 2e-3),
    ("several labels", rf"(comparisons|headline|estimates|segments)\[.*\]\.{LIMITS}", 2e-3),
    ("several labels", r"sweep\[micro_\w+( #\d+)?\]\.(low|high)", None),
    ("forecasts", rf"(comparisons|estimates)\[wape.*\]\.{LIMITS}", 1e-3),
    ("forecasts", r"forecasts\.isotonic\.(curve|bands).*", None),  # thinned for the page, see test_large_tables.py
    ("two classes", r"findings\[EK(206|341|413)\]", None),
    ("several labels", r"findings\[EK336\]", None),
    ("forecasts", r"findings\[EK402\]", None),
    ("(users|log)", r"findings\[EK712\]", None),
)
ELSEWHERE = {"inputs", "parameters", "versions", "missed"}  # missed: of single rows


def apart(name, one):
    """Whether the difference is one that the table has, or the name of a method of many rows."""
    if one.place.endswith(".method") and one.new.startswith("influence sums"):
        return True
    for cases, place, far in APART:
        if re.match(cases, name) and re.fullmatch(place, one.path):
            return far is None or (one.new is None if far == UNDEFINED else one.size <= far)
    return one.size <= 1e-9


# Both forms ---------------------------------------------------------------------------------------------------


def read(case, data, reading=Reading(), **more):  # noqa: B008 - frozen
    """The study of a case; that of classes and forecasts has the methods of many units, as those by blocks have."""
    flipped = 1 if case.report in ("classification", "rating") else Limits.flipped
    limits = Limits(flipped=flipped, resamples=100, bands=40, reading=reading)
    return of.study_of(case.report, data, limits, case.parameter, **case.given | more)


def published(study):
    """All that a report publishes but where its numbers come from; it keeps to the schema."""
    return {name: part for name, part in whole_pages.published(study).items() if name not in ELSEWHERE}


@cache
def in_memory(name):
    """The study of a case in memory and what it publishes."""
    study = read(CASES[name], CASES[name].table())
    return study, published(study)


def same_rows(first, second):
    """Two files have the same rows, whatever their order, and the same schema."""
    assert pq.read_schema(first).equals(pq.read_schema(second), check_metadata=True)
    sides = [pq.read_table(path).to_pandas() for path in (first, second)]
    texts = [name for name in sides[0] if sides[0][name].dtype == "category"]
    key = ["system", "metric", "unit", "class"]
    sides = [
        side.astype(dict.fromkeys(texts, object)).sort_values(key, kind="stable", ignore_index=True) for side in sides
    ]
    pd.testing.assert_frame_equal(*sides, rtol=0, atol=0)
    return sides[0]


@pytest.mark.parametrize("name", CASES)
def test_blocks_give_what_memory_gives(name, tmp_path):
    case = CASES[name]
    (held, expected), study = in_memory(name), read(case, case.table(), of.SHARDS)
    differences = compare.differences(expected, published(study))
    assert [str(one) for one in differences if not apart(name, one)] == []
    for path, some in (("memory", held), ("blocks", study)):
        units.write(tmp_path / path, "made", {"": getattr(some, case.parameter, some)})
    assert len(same_rows(tmp_path / "memory", tmp_path / "blocks")) > 0
    units_again.follows(tmp_path / "memory", expected.get(case.parameter) or expected)


# The forms of input differ in nothing but how many rows there are at once.
IN_FILES = [
    name for name in CASES if re.search("[^,]*(, plain|, real weights|users.*|by user|draws)?", name)[0] == name
]


@pytest.mark.parametrize("name", IN_FILES)
def test_files_within_little_memory_give_what_memory_gives(name, tmp_path):
    """Two files, a third of the rows and the rest, tiny shards, and more units than are kept side by side."""
    table, paths = CASES[name].table(), [tmp_path / "one.parquet", tmp_path / "two.csv"]
    table[: len(table) // 3].to_parquet(paths[0], index=False)
    table[len(table) // 3 :].to_csv(paths[1], index=False)
    reading = Reading(rows=100, shard=300, row=20_000, units=10)
    study = read(CASES[name], [str(path) for path in paths], reading, memory="250MB", threads=2)
    differences = compare.differences(in_memory(name)[1], published(study))
    assert [str(one) for one in differences if not apart(name, one)] == []
