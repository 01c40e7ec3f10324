"""What is found in data: for each kind of table the sentence that its page says, and what it does not say."""

import re

import numpy as np
import pandas as pd
import pytest
from online_samples import log, more_logs, users
from samples import forecasts, rng, scores
from significance_tables import long, wide
from whole_pages import published, told, whole

import evalkit as ek
from evalkit.findings.kinds import measured

PENGUINS = "data/penguins/predictions.csv"


def ranked(queries=10, systems=("x",), **more) -> pd.DataFrame:
    """Lists of eight items, two of them relevant."""
    names = pd.MultiIndex.from_product([systems, range(queries), range(8)], names=["system", "query", "item"])
    frame = names.to_frame(index=False)
    return frame.assign(score=rng(3).normal(size=len(frame)), grade=(frame["item"] % 4 == 0).astype(int)).assign(**more)


def values(systems: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"unit": np.arange(30).astype(str)} | {name: rng(ord(name)).normal(size=30) for name in systems}
    )


def folds(rows=60, **more) -> pd.DataFrame:
    frame = {"label": rng(4).integers(0, 2, rows), "score": rng(5).random(rows), "fold": np.arange(rows) % 5}
    return pd.DataFrame(frame | more)


def classes(*sizes: int) -> pd.DataFrame:
    """Predictions of classes a, b, … without probabilities."""
    label = np.repeat(list("abc")[: len(sizes)], sizes)
    return pd.DataFrame({"id": np.arange(label.size).astype(str), "label": label, "predicted": np.roll(label, 3)})


def halves() -> pd.DataFrame:
    """Two systems that differ in one half of the queries, there always by as much."""
    names = pd.MultiIndex.from_product([["a", "b"], range(24), [2, 1, 0]], names=["system", "query", "item"])
    run = names.to_frame(index=False)
    first = run["query"] < 12
    score = np.where((run["system"] == "b") & ~first, -run["item"], run["item"])
    return run.assign(score=score, grade=(run["item"] == np.where(first, 2, 1)) * 1, half=np.where(first, "i", "ii"))


def clustered(**more) -> pd.DataFrame:
    """240 rows of 30 persons, whose rows are alike for one system."""
    own = {"a": np.repeat(rng(3).normal(size=30), 8), "b": rng(4).normal(size=240)}
    person = np.repeat([f"u{i}" for i in range(30)], 8)
    return pd.DataFrame({"row": [f"r{i}" for i in range(240)], "person": person} | own).assign(**more)


FEW = rng(2).normal(0, 1, 90)
VISITS = {"user": np.arange(400).astype(str), "arm": np.tile(["a", "b"], 200)}
HEAVY, EVEN = (VISITS | {"visits": n} for n in (rng(6).zipf(1.8, 400).clip(max=500), rng(6).poisson(5, 400)))
SHIFT = np.repeat(rng(5).normal(0, 2, 5), 48)
TIMES = np.arange(1, 121) % 3 + 1.0
EQUAL = wide(40).assign(c=lambda t: np.where(t.index < 30, t["a"], t["a"] - 1))
MINUTES = pd.concat([long(wide(), "gain"), long(wide(gain=-0.5), "minutes")])
COIN = pd.DataFrame({"successes": [5], "trials": [20]})
HIT = scores()["label"].to_numpy().argmax()
TINY = pd.DataFrame({"label": [0, 1, 0, 1], "score": [0.9, 0.8, 0.7, 0.6]})
LACKING = {"label": list("aabb"), "p_a": [0.8, 0.7, 0.6, 0.5], "p_b": [0.1] * 4, "p_c": [0.1] * 4}
FOLDS = {"fold": range(10), "a": rng(5).normal(0.82, 0.02, 10), "b": rng(6).normal(0.8, 0.02, 10)}
SAID = [  # report, table, options, what is said of it
    ("classification", scores(label=0), {"positive": "1"}, "The rows have only one class"),
    ("classification", scores(label=1), {"positive": "1"}, "The rows have only one class"),
    ("classification", scores(score=lambda f: 1 - f["score"]), {}, "so the score may be reversed: "),
    ("classification", scores(score=lambda f: 10 * f["score"]), {}, "outside 0 to 1 are not probabilities"),
    ("classification", scores(score=lambda f: f["score"].where(f["score"] < 0.6, 1)), {}, "cost 36 nats each"),
    ("classification", scores(score=lambda f: f["score"].mask(f["id"] == HIT, 1e-9)), {}, "below 0.1%: good"),
    ("classification", pd.concat([scores(60), scores(60, id=lambda f: f["id"] + 99)]), {}, "60 rows have the"),
    ("classification", scores(sample_weight=lambda f: 0.5 + f["id"] % 3), {}, "Rows are weighted"),
    ("classification", scores(part=lambda f: f["label"]), {"segments": "part"}, "AUC is undefined: part 0, part"),
    ("classification", TINY, {"threshold": "precision>=0.95"}, "No threshold reaches precision ≥ 0.95 for"),
    ("classification", pd.DataFrame(LACKING), {}, "Classes without a row, whose recall and AUC are undefined: c."),
    ("classification", pd.DataFrame(LACKING), {}, "system never predicts b: their precision is undefined."),
    ("classification", PENGUINS, {"segments": "island"}, "Slices that lack a class: island Biscoe, island"),
    ("classification", scores(fold=lambda f: f["id"] % 5), {}, "[EK115]"),
    ("classification", classes(30, 25, 4), {}, f"c 4.* {re.escape(measured.SMALL_CLASS)}"),
    ("classification", TINY[1:], {}, "Only 1 row of the smaller class"),
    ("rating", forecasts(weight=rng(3).integers(1, 4, 60)), {}, "Rows are weighted"),
    ("rating", forecasts(actual=2.0), {}, "All actual values are equal"),
    ("rating", forecasts(forecast_near=2.0), {}, "The same forecast for every row: near"),
    ("rating", forecasts(actual=np.arange(60) % 9, forecast_far=FEW[:60]), {}, "Forecasting the median"),
    ("rating", forecasts(10), {}, f"Only 10 rows: .* {re.escape(measured.MEDIAN)}"),
    ("rating", forecasts(90, user=np.arange(90) % 9), {"unit": "user"}, "Only 9 users"),
    ("rating", forecasts().round(), {"metrics": "mae,median_absolute_error"}, "nearly every median_abs"),
    ("ranking", ranked(), {}, "Only 10 queries"),
    ("ranking", halves(), {"metrics": "mrr", "segments": "half"}, "no width in half i, half ii, .*EK226"),
    ("significance", values("abcd"), {}, f"best of 4 systems.*{re.escape(measured.LEADER)}"),
    ("significance", values("abcd"), {"baseline": "b"}, f"best of 3 candidates.*{re.escape(measured.BEST)}"),
    ("significance", EQUAL, {}, "a and c on 30 of 40"),
    ("significance", EQUAL.assign(d=EQUAL["a"][:35]), {}, "(a and d|d and a) on 35 of 35"),
    ("significance", MINUTES, {"baseline": "b"}, r"worse than b by minutes \(0.460 lower\), while it is"),
    ("significance", COIN, {"null": 0.1}, r"null 0.1 \(p 0.043, \[−0.01, \+0.39\]\). \[EK412\]"),
    ("significance", wide(), {"looks": 5}, "5 analyses of growing data: at 0.05 each, 14.2% of experiments"),
    ("significance", wide().assign(b=wide()["b"][5:]), {}, "and of its comparisons: b value 5"),
    ("significance", pd.DataFrame(FOLDS), {}, "that share training rows are not independent. .EK410"),
    ("significance", clustered(), {}, r"person repeats \(30 values\): .* as large. .EK203."),
    ("significance", clustered(team=lambda f: f["person"], person=range(240)), {"unit": "person"}, "team repeats"),
    (
        "significance",
        clustered(a=lambda f: f["a"] + SHIFT, country=np.repeat(list("abcde"), 48)),
        {"unit": "person"},
        "country repeats",
    ),
    ("validation", folds(), {}, f"60 rows pooled from 5 folds.*{re.escape(measured.POOLED)}"),
    ("interleaving", log(), {}, "a has 0.570 as the mean of each user's share, 0.442 of all credit"),
    ("interleaving", log().drop(columns="user"), {}, "No user column: each session counts as a unit"),
    ("interleaving", more_logs(2), {}, "A fair coin does not explain how the items were shared out"),
    ("users", pd.DataFrame(HEAVY), {"metrics": "visits"}, f"{re.escape(measured.ZIPF)}.*EK704"),
    ("users", pd.DataFrame(EVEN), {"metrics": "visits"}, "EK704"),
    ("users", pd.concat([users(), users()[:1].assign(arm="b")]), {}, "1 user seen in several arms: left out"),
    ("users", users(), {"looks": 5}, "5 analyses of the running test at 0.05 each"),
    ("users", users(), {"shares": "unknown"}, "Sample ratio: not tested"),
]
UNSAID = [
    ("classification", scores(), {}, "whose class had a probability below"),
    ("classification", scores(fold=lambda f: f["id"] % 5), {"segments": "fold"}, "[EK115]"),
    ("classification", scores(), {}, "[EK115]"),
    ("classification", classes(30, 25, 4), {}, "rows: b 25"),
    ("classification", classes(30, 25), {}, "[EK123]"),
    ("rating", forecasts(), {"systems": "near"}, "[EK332]"),
    ("rating", forecasts(30), {}, "[EK201]"),
    ("rating", forecasts(90, user=np.arange(90) % 9), {}, "[EK201]"),
    ("rating", forecasts().round(), {"metrics": "mae"}, "[EK416]"),
    ("rating", forecasts(), {"metrics": "mae,median_absolute_error"}, "[EK416]"),
    ("significance", values("ab"), {}, "[EK414]"),
    ("significance", COIN, {"null": 0.5}, "disagree"),
    ("significance", pd.DataFrame(FOLDS), {"test_to_train": 1 / 9}, "[EK410]"),
    ("significance", clustered(), {"unit": "person"}, "person repeats"),
    ("significance", clustered(team=lambda f: f["person"]), {"unit": "person"}, "team repeats"),
    ("validation", pd.concat([folds()] * 170, ignore_index=True), {}, "[EK520]"),
    ("users", pd.DataFrame(EVEN), {"metrics": "visits"}, measured.ZIPF),
]


def study_of(report, table, options):
    if report in ("interleaving", "users"):
        data = {"users": table, "metrics": "orders"} if report == "users" else {"log": table}
        return ek.interleaving(**data | {"world": "none"} | options)
    return getattr(ek, report)(table, **options)


@pytest.mark.parametrize(("report", "table", "options", "said"), SAID)
def test_what_the_findings_say_of_a_table(report, table, options, said):
    assert re.search(said, told(study_of(report, table, options)))


@pytest.mark.parametrize(("report", "table", "options", "unsaid"), UNSAID)
def test_what_the_findings_do_not_say_of_a_table(report, table, options, unsaid):
    assert unsaid not in told(study_of(report, table, options))


BAD = '<img src=x onerror="alert(1)">$\\frac$'
ARMS = users(arm=[BAD, "b"] * 4, country=[BAD, "y"] * 4)
LABELS = {f"{side}_{name}": scores()["label"] if side == "y" else scores()["score"] for side in "yp" for name in "ab"}
NAMED = scores(seg=BAD, weight=2.0, user=lambda f: f["id"] // 4).replace({"system": {"good": BAD}})
ODD = {  # report, table, options: every piece of the page is there, nothing is NaN, names stay text
    "one class": ("classification", scores(label=0), {"positive": "1"}),
    "one system of equal scores": ("classification", scores(score=0.5)[:200].drop(columns=["id", "system"]), {}),
    "weights and users": ("classification", NAMED, {"unit": "user", "segments": "seg"}),
    "predicted classes": ("classification", classes(20, 20, 20), {}),
    "a class without a row": ("classification", pd.DataFrame(LACKING), {}),
    "labels": ("classification", pd.DataFrame(LABELS), {"threshold": 0.4}),
    "one forecast of equal values": ("rating", forecasts(actual=2.0), {"systems": "near"}),
    "perfect and equal forecasts": ("rating", forecasts(forecast_near=lambda f: f["actual"], forecast_far=2.0), {}),
    "one ranker": ("ranking", ranked(3), {"metrics": "mrr"}),
    "names of rankers": ("ranking", ranked(systems=[BAD, "b"], user=BAD), {"segments": "user", "metrics": "mrr"}),
    "one column of values": ("significance", wide()[["query", "a"]], {}),
    "folds of values": ("significance", pd.DataFrame(FOLDS), {"test_to_train": 0.2}),
    "a share": ("significance", COIN, {"null": 0.5}),
    "a share against nothing": ("significance", COIN, {}),
    "names of values": ("significance", wide().rename(columns={"a": BAD}).assign(c=0.5), {"margin": 0.1}),
    "a fold of one class": ("validation", folds(label=np.repeat([0, 1], 30), fold=np.arange(60) // 20), {}),
    "names of arms": ("interleaving", log(team=[BAD, "b"] * 10, device=BAD), {"segments": "device"}),
    "names of users": ("users", ARMS, {"segments": "country"}),
}


@pytest.mark.parametrize("name", ODD)
def test_every_piece_of_the_page_stands_whatever_the_data(name):
    study = study_of(*ODD[name])
    assert published(study)
    words, markup = whole(study)
    assert not re.search(r"\bnan\b", words)
    assert "<img" not in markup
