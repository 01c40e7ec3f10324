"""What is found in data: for each kind of table the sentence that its page says, and what it does
not say.
"""

import re

import numpy as np
import pandas as pd
import pytest
from online_samples import log, users
from samples import examples, forecasts, rng, scores
from significance_tables import long, wide
from stated import FOLDS, LACKING, classes, clustered, folds, ranked, study_of, table_of
from whole_pages import published, told, whole

from evalkit.findings.kinds import measured

FEW = rng(2).normal(0, 1, 90)
VISITS = {"user": np.arange(400).astype(str), "arm": np.tile(["a", "b"], 200)}
HEAVY, EVEN = (
    VISITS | {"visits": n} for n in (rng(6).zipf(1.8, 400).clip(max=500), rng(6).poisson(5, 400))
)
SHIFT = np.repeat(rng(5).normal(0, 2, 5), 48)
BY_COUNTRY = clustered(a=lambda f: f["a"] + SHIFT, country=np.repeat(list("abcde"), 48))
EQUAL = wide(40).assign(c=lambda t: np.where(t.index < 30, t["a"], t["a"] - 1))
MINUTES = pd.concat([long(wide(), "gain"), long(wide(gain=-0.5), "minutes")])
COIN = pd.DataFrame({"successes": [5], "trials": [20]})
HIT = scores()["label"].to_numpy().argmax()
SAID = [  # report, table, options, what is said of it
    (
        "classification",
        scores(score=lambda f: 1 - f["score"]),
        {},
        "so the score may be reversed: ",
    ),
    (
        "classification",
        scores(score=lambda f: 10 * f["score"]),
        {},
        "outside 0 to 1 are not probabilities",
    ),
    (
        "classification",
        scores(score=lambda f: f["score"].where(f["score"] < 0.6, 1)),
        {},
        "cost 36 nats each",
    ),
    (
        "classification",
        scores(score=lambda f: f["score"].mask(f["id"] == HIT, 1e-9)),
        {},
        "below 0.1%: good",
    ),
    (
        "classification",
        pd.concat([scores(60), scores(60, id=lambda f: f["id"] + 99)]),
        {},
        "60 rows have the",
    ),
    (
        "classification",
        scores(part=lambda f: f["label"]),
        {"segments": "part"},
        "AUC is undefined: part 0, part",
    ),
    (
        "rating",
        forecasts(actual=np.arange(60) % 9, forecast_far=FEW[:60]),
        {},
        "Forecasting the median",
    ),
    (
        "rating",
        forecasts().round(),
        {"metrics": "mae,median_absolute_error"},
        "nearly every median_abs",
    ),
    ("significance", EQUAL, {}, "a and c on 30 of 40"),
    ("significance", EQUAL.assign(d=EQUAL["a"][:35]), {}, "(a and d|d and a) on 35 of 35"),
    (
        "significance",
        MINUTES,
        {"baseline": "b", "lower_is_better": "none"},
        r"worse than b by minutes \(0.46 lower\), while it is",
    ),
    ("significance", wide().assign(b=wide()["b"][5:]), {}, "and of its comparisons: b value 5"),
    (
        "significance",
        clustered(team=lambda f: f["person"], person=range(240)),
        {"unit": "person"},
        "team repeats",
    ),
    ("significance", BY_COUNTRY, {"unit": "person"}, "country repeats"),
    ("users", pd.DataFrame(HEAVY), {"metrics": "visits"}, f"{re.escape(measured.ZIPF)}.*EK704"),
    ("users", pd.DataFrame(EVEN), {"metrics": "visits"}, "EK704"),
    (
        "users",
        pd.concat([users(), users()[:1].assign(arm="b")]),
        {},
        "1 user seen in several arms: left out",
    ),
]
UNSAID = [
    ("rating", forecasts().round(), {"metrics": "mae"}, "[EK416]"),
    ("significance", clustered(team=lambda f: f["person"]), {"unit": "person"}, "team repeats"),
    ("validation", pd.concat([folds()] * 170, ignore_index=True), {}, "[EK520]"),
    ("users", pd.DataFrame(EVEN), {"metrics": "visits"}, measured.ZIPF),
]


def of_file(name):
    """The cases of `examples/sentences.toml`, like those above."""
    for case in examples("sentences")[name]:
        says = re.sub(
            r"\{([A-Z_]+)\}", lambda match: re.escape(getattr(measured, match[1])), case["says"]
        )
        yield case["report"], table_of(case, case["report"]), case.get("asked", {}), says


@pytest.mark.parametrize(("report", "table", "options", "said"), [*SAID, *of_file("said")])
def test_what_the_findings_say_of_a_table(report, table, options, said):
    assert re.search(said, told(study_of(report, table, options)))


@pytest.mark.parametrize(("report", "table", "options", "unsaid"), [*UNSAID, *of_file("unsaid")])
def test_what_the_findings_do_not_say_of_a_table(report, table, options, unsaid):
    assert unsaid not in told(study_of(report, table, options))


BAD = '<img src=x onerror="alert(1)">$\\frac$'
ARMS = users(arm=[BAD, "b"] * 4, country=[BAD, "y"] * 4)
LABELS = {
    f"{side}_{name}": scores()["label"] if side == "y" else scores()["score"]
    for side in "yp"
    for name in "ab"
}
NAMED = scores(seg=BAD, weight=2.0, user=lambda f: f["id"] // 4).replace({"system": {"good": BAD}})
ODD = {  # report, table, options: every piece of the page is there, nothing is NaN, names stay text
    "one class": ("classification", scores(label=0), {"positive": "1"}),
    "one system of equal scores": (
        "classification",
        scores(score=0.5)[:200].drop(columns=["id", "system"]),
        {},
    ),
    "weights and users": ("classification", NAMED, {"unit": "user", "segments": "seg"}),
    "predicted classes": ("classification", classes(20, 20, 20), {}),
    "a class without a row": ("classification", pd.DataFrame(LACKING), {}),
    "labels": ("classification", pd.DataFrame(LABELS), {"threshold": 0.4}),
    "one forecast of equal values": ("rating", forecasts(actual=2.0), {"systems": "near"}),
    "perfect and equal forecasts": (
        "rating",
        forecasts(forecast_near=lambda f: f["actual"], forecast_far=2.0),
        {},
    ),
    "one ranker": ("ranking", ranked(3), {"metrics": "mrr"}),
    "names of rankers": (
        "ranking",
        ranked(systems=[BAD, "b"], user=BAD),
        {"segments": "user", "metrics": "mrr"},
    ),
    "one column of values": ("significance", wide()[["query", "a"]], {}),
    "folds of values": ("significance", pd.DataFrame(FOLDS), {"test_to_train": 0.2}),
    "a share": ("significance", COIN, {"null": 0.5}),
    "a share against nothing": ("significance", COIN, {}),
    "names of values": (
        "significance",
        wide().rename(columns={"a": BAD}).assign(c=0.5),
        {"margin": 0.1},
    ),
    "a fold of one class": (
        "validation",
        folds(label=np.repeat([0, 1], 30), fold=np.arange(60) // 20),
        {},
    ),
    "names of arms": (
        "interleaving",
        log(team=[BAD, "b"] * 10, device=BAD),
        {"segments": "device"},
    ),
    "names of users": ("users", ARMS, {"segments": "country"}),
}


@pytest.mark.parametrize("name", ODD)
def test_every_piece_of_the_page_stands_whatever_the_data(name):
    study = study_of(*ODD[name])
    assert published(study)
    words, markup = whole(study)
    assert not re.search(r"\bnan\b", words)
    assert "<img" not in markup
