"""Tables made from seeds, one of every kind that an engine reads, and the studies of them within
limits.
"""

from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np
import pandas as pd

from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.parameters import reports

# every table is large, and a shard has few rows
SHARDS = ReadingLimits(rows=100, shard=500, row=10**9)
SMALL = Limits(reading=SHARDS)
# where two studies draw the same samples, or limits are not looked at
LESS = Limits(resamples=100, bands=40)
OF_USERS = {
    "metrics": "orders,spent,bought,spent/visits",
    "before": "past",
    "strata": "country",
    "segments": "country,age",
    "shares": "a=2,b=1,c=1",
    "world": "none",
}
OF_LOG = {"arms": "a,b", "neutral": "both", "segments": "device,day", "world": "none"}


# Studies ------------------------------------------------------------------------------------------


def study_of(report, data, limits=USUAL_LIMITS, parameter="preds", **given):
    """The study of a table within limits."""
    asked = reports.REPORTS[report].from_raw({parameter: data, **given})
    return import_module(f"evalkit.studies.{report}").study_of(asked, limits)


def classified(preds, limits=USUAL_LIMITS, **given):
    """The study of labels and scores, classes, or labels of a row."""
    return study_of("classification", preds, limits, **given)


def compared(preds, limits=SMALL, **given):
    """The study of values per unit that are read by blocks."""
    return study_of("significance", preds, limits, **given)


def limited(study, limits=LESS):
    """The study within other limits."""
    return replace(study, settings=replace(study.settings, limits=limits))


# Rows ---------------------------------------------------------------------------------------------


def put(data, column, row, value):
    """The table with another value in one cell."""
    data = data.copy()
    data[column] = data[column].astype(object)
    data.loc[row, column] = value
    return data


def long(wide, role="score"):
    """A table of two systems as one row a system and id, shuffled."""
    names = [name for name in wide if name.startswith(f"{role}_")]
    rest = wide.drop(columns=names)
    parts = [
        rest.assign(**{"system": name.removeprefix(f"{role}_"), role: wide[name]}) for name in names
    ]
    return pd.concat(parts).sample(frac=1, random_state=3)


@cache
def binary(rows=3000, seed=1, ties=3, units=300):
    """Two systems on the same rows, wide, with ties, whole weights, groups and users."""
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < 0.3).astype(int)
    user = rng.integers(0, units, rows)
    shift = rng.normal(0, 0.7, units)[user]
    score = {
        f"score_{name}": np.round(
            1 / (1 + np.exp(-(label * 1.5 - 1 + shift + rng.normal(0, s, rows)))), ties
        )
        for name, s in (("good", 0.8), ("weak", 1.5))
    }
    return pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(rows)],
            "label": label,
            "user_id": [f"u{one}" for one in user],
            "country": rng.choice(["de", "fr", "it"], rows),
            "age": rng.integers(18, 80, rows),
            "heavy": rng.integers(0, 4, rows),
            "exact": rng.random(rows) + 0.1,
        }
        | score
    )


def shared(rng, rows, user):
    """What rows of one id each have beside labels and scores."""
    return {
        "id": [f"row {i}" for i in range(rows)],
        "user_id": [f"u{one}" for one in user],
        "country": rng.choice(["de", "fr", "it"], rows),
        "age": rng.integers(18, 80, rows),
        "heavy": rng.integers(0, 4, rows),
        "exact": rng.random(rows) + 0.1,
    }


NOISE = {"near": 0.8, "far": 1.4}  # how far the scores of a system lie from what is
CLASSES = ("bus", "car", "foot", "rail")
LABELS = ("art", "law", "science", "sport")


def of_systems(rows, systems, score):
    """One row a system and id, shuffled. score: of a name the columns of its scores."""
    each = [pd.DataFrame({**rows, "system": name, **score(name)}) for name in systems]
    return pd.concat(each).sample(frac=1, random_state=3).reset_index(drop=True)


@cache
def classes(rows=1000, seed=1, units=150, systems=("far", "near")):
    """Four classes and their probabilities, long, with ties, weights, groups and users."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, units, rows)
    actual = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])

    def score(name):
        noise = rng.normal(0, NOISE[name], (rows, 4)) + rng.normal(0, 0.5, (units, 4))[user]
        score = np.exp(np.eye(4)[actual] * 1.5 + noise)
        score = np.round(score / score.sum(axis=1, keepdims=True), 3)
        return {f"p_{of}": score[:, i] for i, of in enumerate(CLASSES)}

    return of_systems(
        shared(rng, rows, user) | {"label": np.array(CLASSES)[actual]}, systems, score
    )


def decided(rows=1000, **more):
    """The same with predicted classes and no scores."""
    data = classes(rows, **more)
    scores = [f"p_{of}" for of in CLASSES]
    return data.drop(columns=scores).assign(
        predicted=np.array(CLASSES)[data[scores].to_numpy().argmax(axis=1)]
    )


@cache
def labels(rows=1000, seed=1, units=150, systems=("far", "near")):
    """Four labels a row and their probabilities, long; some rows have no label, some all."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, units, rows)
    drift = rng.normal(0, 0.5, (units, 4))[user]
    actual = rng.normal(0, 1, (rows, 4)) + drift > [0.2, 0.5, 0.8, 1.2]

    def score(name):
        noise = rng.normal(0, NOISE[name], (rows, 4)) + drift
        score = np.round(1 / (1 + np.exp(1.2 - actual * 2.0 - noise)), 2)
        return {f"p_{of}": score[:, i] for i, of in enumerate(LABELS)}

    marks = {f"y_{of}": actual[:, i].astype(int) for i, of in enumerate(LABELS)}
    return of_systems(shared(rng, rows, user) | marks, systems, score)


@cache
def forecasts(rows=1000, seed=1, units=150):
    """Two systems on the same rows, wide, with ties, weights, groups and users."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, units, rows)
    actual = np.round(rng.gamma(2, 2, rows) + rng.normal(0, 0.5, units)[user], 1)
    said = {
        f"forecast_{name}": np.round(actual + rng.normal(0.1 * spread, spread, rows), 1)
        for name, spread in (("near", 0.5), ("far", 2.0))
    }
    more = {"actual": actual, "naive_mae": np.round(rng.random(rows), 1)}
    return pd.DataFrame(shared(rng, rows, user) | more | said)


@cache
def losses(rows=1200, seed=1, units=170):
    """Probabilities of three systems, long, with ties, users, and rows that one of them lacks."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, units, rows)
    label = (rng.random(rows) < 0.3).astype(int)
    shift = rng.normal(0, 0.7, units)[user]
    systems = {"new": 0.8, "old": 1.0, "base": 1.4}

    def score(name):
        return {
            "score": np.round(
                1 / (1 + np.exp(-(label * 1.5 - 1 + shift + rng.normal(0, systems[name], rows)))), 3
            )
        }

    table = of_systems(shared(rng, rows, user) | {"label": label}, systems, score)
    return table[(table["system"] != "old") | (rng.random(len(table)) > 0.01)].reset_index(
        drop=True
    )


@cache
def folds(rows=1000):
    """Scores of two systems in five folds, long; each group lies in one fold."""
    rng = np.random.default_rng(1)
    label = (rng.random(rows) < 0.3).astype(int)
    group = rng.integers(0, rows // 10, rows)
    rest = {
        "id": [f"row {i}" for i in range(rows)],
        "label": label,
        "fold": group % 5,
        "group": group.astype(str),
    }
    return of_systems(
        rest, NOISE, lambda name: {"score": np.round(label + rng.normal(0, NOISE[name], rows), 2)}
    )


# Values per unit ----------------------------------------------------------------------------------


@cache
def values(rows=1500, seed=1):
    """Three systems with ties and, in places, no value; the third has zeros and ones alone."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0.5, 0.2, rows)
    table = pd.DataFrame({"question": [f"q{i}" for i in rng.permutation(rows)]})
    for name, gain in (("new", 0.04), ("old", 0.03), ("base", 0.0)):
        table[name] = np.round(level + gain + rng.normal(0, 0.1, rows), 2)
    table.loc[rng.random(rows) < 0.02, "old"] = np.nan
    return table.assign(base=(table["base"] > 0.4).astype(float))


@cache
def draws(rows=1500):
    """The same with two or three draws of some units, of which one may lack a value."""
    table = values(rows)
    again = table[: rows // 3].assign(new=lambda t: t["new"] + 0.1, old=np.nan)
    third = table[: rows // 5].assign(new=lambda t: t["new"] * 0.7, old=0.25)
    return pd.concat([table, again, third], ignore_index=True).sample(
        frac=1, random_state=1, ignore_index=True
    )


@cache
def long_values(rows=1500):
    """One row a unit, system and metric; units that a system lacks, one metric of which less is
    better.
    """
    first = (
        values(rows)
        .melt("question", var_name="system", value_name="value")
        .dropna(ignore_index=True)
    )
    second = first.assign(metric="minutes", value=np.round(3 - first["value"] ** 2, 3))[::-1][
        : 2 * rows
    ]
    return pd.concat([first.assign(metric="quality"), second]).sample(
        frac=1, random_state=2, ignore_index=True
    )


def of_users(table, users=397):
    """The same units in clusters of unlike sizes."""
    number = table["question"].str[1:].astype(int)
    return table.assign(user="u" + (number * number % users).astype(str))


# Online -------------------------------------------------------------------------------------------


@cache
def users(rows=1000, seed=1, crossed=20):
    """Users in three arms with ties, strata and segments; of some users rows in several arms
    follow.
    """
    rng = np.random.default_rng(seed)
    arm = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.25, 0.25])
    past = rng.poisson(2, rows)
    orders = rng.poisson(1 + past / 2 + 0.1 * (arm == "b"))
    table = pd.DataFrame(
        {
            "user": [f"u{i}" for i in rng.permutation(rows)],
            "arm": arm,
            "orders": orders,
            "spent": np.round(orders * rng.gamma(2, 5, rows), 1),
            "visits": 1 + rng.poisson(2 + orders),
            "bought": (orders > 0).astype(int),
            "past": past,
            "country": rng.choice(["de", "fr", "it", None], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "age": rng.integers(18, 80, rows),
        }
    )
    again = table[:crossed].assign(arm=lambda some: some["arm"].map({"a": "b", "b": "c", "c": "a"}))
    return pd.concat([table, again, again[: crossed // 2]], ignore_index=True).sample(
        frac=1, random_state=seed
    )


@cache
def log(users=150, seed=1, arms=2):
    """Sessions of two to six items, a neutral one among them, of users who return; shares of
    clicks, ties, silence.
    """
    rng = np.random.default_rng(seed)
    sessions = rng.integers(1, 6, users)
    user = np.repeat(rng.permutation(users), sessions)
    length = rng.integers(2, 7, user.size)
    of = np.repeat(np.arange(user.size), length)
    position = np.arange(of.size) - np.repeat(np.cumsum(length) - length, length) + 1
    team = np.array([*"abcdefg"[:arms]])[
        (position + np.repeat(rng.integers(arms, size=user.size), length)) % arms
    ]
    likes = rng.random(users)[user[of]]
    clicked = rng.random(of.size) < np.where(team == "a", 0.1 + 0.3 * likes, 0.35) / position
    table = pd.DataFrame(
        {
            "session": np.char.add("s", rng.permutation(user.size).astype(str))[of],
            "user": np.char.add("u", user.astype(str))[of],
            "position": position,
            "team": np.where(rng.random(of.size) < 0.1, "both", team),
            "click": clicked * rng.choice([1.0, 0.1, 0.7], of.size),
            "item": rng.integers(30, size=of.size).astype(str),
            "device": rng.choice(
                np.array(["tv", "web", None], object), user.size, p=[0.5, 0.45, 0.05]
            )[of],
            "day": rng.integers(1, 60, user.size)[of],
        }
    )
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)
