"""Worlds of two classes that no method was chosen by: `FRESH_BINARY`, by round."""

from functools import partial

import numpy as np
import pandas as pd
from world import Generator, Inputs, fresh_world, ids, logistic

SYSTEMS = ("a", "b")


def stars(rng: Generator, n: int) -> Inputs:
    """Scores of five levels, 40% positive."""
    label = (rng.random(n) < 0.4).astype(int)
    levels = {
        f"score_{s}": np.clip(np.round(2 + 1.2 * label + rng.normal(0, 1, n)), 0, 4) / 4
        for s in "ab"
    }
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | levels)}


def blind(rng: Generator, n: int) -> Inputs:
    """Scores that tell nothing, 15% positive."""
    label = (rng.random(n) < 0.15).astype(int)
    return {
        "preds": pd.DataFrame(
            {"id": ids(n), "y_true": label} | {f"score_{s}": rng.beta(2, 5, n) for s in "ab"}
        )
    }


def sharp(rng: Generator, n: int) -> Inputs:
    """Scores that hardly ever err, 20% positive."""
    label = (rng.random(n) < 0.2).astype(int)
    scores = {f"score_{s}": logistic(6 * label - 3 + rng.logistic(0, 0.9, n)) for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def two_groups(rng: Generator, n: int) -> Inputs:
    """Users of two kinds, loud ones with ten times the rows and another base rate; the scores know
    the kind.
    """
    loud = rng.random(n) < 0.2
    user = np.repeat(np.arange(n), np.where(loud, 20, 2))
    kind = loud[user]
    label = (rng.random(len(user)) < np.where(kind, 0.5, 0.2)).astype(int)
    scores = {
        f"score_{s}": logistic(1.2 * label + 0.8 * kind - 1 + rng.normal(0, 1, len(user)))
        for s in "ab"
    }
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(user)), "user": user.astype(str), "y_true": label} | scores
        )
    }


def mostly(rng: Generator, n: int) -> Inputs:
    """Seven in ten positive, scores with long tails."""
    label = (rng.random(n) < 0.7).astype(int)
    return {
        "preds": pd.DataFrame(
            {"id": ids(n), "y_true": label}
            | {f"score_{s}": logistic(label + rng.standard_t(3, n)) for s in "ab"}
        )
    }


def in_part(rng: Generator, n: int) -> Inputs:
    """A quarter positive, of which three in ten rows are plain to see and the others not at all."""
    label = (rng.random(n) < 0.25).astype(int)
    plain = rng.random(n) < 0.3
    scores = {
        f"score_{s}": logistic(6 * plain * (label - 0.5) - 1 + rng.normal(0, 1, n)) for s in "ab"
    }
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def survey(rng: Generator, n: int) -> Inputs:
    """A third positive; one row in five stands for six."""
    label = (rng.random(n) < 1 / 3).astype(int)
    scores = {f"score_{s}": logistic(1.5 * label - 1 + rng.normal(0, 1, n)) for s in "ab"}
    weight = np.where(rng.random(n) < 0.2, 6.0, 1.0)
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label, "weight": weight} | scores)}


def of_one_mind(rng: Generator, n: int) -> Inputs:
    """Ten rows of each user, whose labels are mostly the same."""
    user = np.repeat(np.arange(n), 10)
    label = (rng.random(len(user)) < rng.beta(0.4, 0.8, n)[user]).astype(int)
    scores = {f"score_{s}": logistic(1.5 * label - 1 + rng.normal(0, 1, len(user))) for s in "ab"}
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(user)), "user": user.astype(str), "y_true": label} | scores
        )
    }


def rules(rng: Generator, n: int) -> Inputs:
    """Four in a hundred positive; the scores are those of three rules that fire, so that they have
    eight levels.
    """
    label = (rng.random(n) < 0.04).astype(int)
    scores = {}
    for system in "ab":
        fired = rng.random((n, 3)) < np.where(label[:, None] == 1, 0.55, 0.06)
        scores[f"score_{system}"] = logistic(fired @ np.array([1.2, 1.6, 2.1]) - 3.2)
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def half_mislabelled(rng: Generator, n: int) -> Inputs:
    """Half of the rows positive, and one label in five wrong."""
    merit = rng.normal(0, 2, n)
    label = ((rng.random(n) < logistic(2 * merit)) ^ (rng.random(n) < 0.2)).astype(int)
    scores = {f"score_{s}": logistic(1.5 * (merit + rng.normal(0, 0.8, n))) for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def one_to_three_rows(rng: Generator, n: int) -> Inputs:
    """Users of one to three rows, with one label each."""
    user = np.repeat(np.arange(n), rng.integers(1, 4, n))
    label = (rng.random(n) < 0.35).astype(int)[user]
    lean = rng.normal(0, 0.6, n)[user]
    scores = {
        f"score_{s}": logistic(1.6 * label - 1 + lean + rng.normal(0, 0.8, len(user))) for s in "ab"
    }
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(user)), "user": user.astype(str), "y_true": label} | scores
        )
    }


def far_scores(rng: Generator, n: int) -> Inputs:
    """A quarter of the rows positive; both systems see them through noise with Cauchy's tails."""
    merit = rng.normal(-1.4, 1.5, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(0.6 * (merit + 0.5 * rng.standard_cauchy(n))) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def rising(rng: Generator, n: int) -> Inputs:
    """The share of positives rises from 5% to 60% along the rows, which the scores know only in
    part.
    """
    time = np.sort(rng.random(n))
    merit = rng.normal(0, 1.2, n) + np.log((0.05 + 0.55 * time) / (0.95 - 0.55 * time))
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(0.7 * merit - 0.3 + rng.normal(0, 0.6, n)) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def of_one_kind(rng: Generator, n: int) -> Inputs:
    """Users of one to forty rows, nearly all of whose rows have the same label."""
    user = np.repeat(np.arange(n), rng.integers(1, 41, n))
    kind = (rng.random(n) < 0.4)[user]
    label = (kind ^ (rng.random(len(user)) < 0.1)).astype(int)
    merit = 1.2 * label + rng.normal(0, 0.8, n)[user]
    scores = {f"score_{s}": logistic(merit - 0.8 + rng.normal(0, 0.9, len(user))) for s in SYSTEMS}
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(user)), "user": user.astype(str), "y_true": label} | scores
        )
    }


def two_peoples(rng: Generator, n: int) -> Inputs:
    """Half of the rows are easy to tell apart, of the others the scores know nothing."""
    easy = rng.random(n) < 0.5
    label = (rng.random(n) < np.where(easy, 0.5, 0.25)).astype(int)
    merit = np.where(easy, 2.4 * label - 1.2, -1.1)
    scores = {f"score_{s}": logistic(merit + rng.normal(0, 0.8, n)) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def steps_of_a_twentieth(rng: Generator, n: int) -> Inputs:
    """One row in twelve is positive; scores are multiples of 0.05 within 0.05 and 0.95."""
    merit = rng.normal(-3.0, 1.4, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    seen = {s: logistic(merit + rng.normal(0, 0.6, n)) for s in SYSTEMS}
    scores = {f"score_{s}": np.clip(np.round(20 * p) / 20, 0.05, 0.95) for s, p in seen.items()}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def sampled_unevenly(rng: Generator, n: int) -> Inputs:
    """Negatives were sampled one in three and weigh three times as much."""
    label = (rng.random(n) < 0.45).astype(int)
    merit = 1.6 * label + rng.normal(-1.0, 1.0, n)
    scores = {f"score_{s}": logistic(merit + rng.normal(0, 0.7, n)) for s in SYSTEMS}
    return {
        "preds": pd.DataFrame(
            {"id": ids(n), "y_true": label, "weight": np.where(label, 1.0, 3.0)} | scores
        )
    }


def boosted(
    rng: Generator, n: int, rate: float, rounded: int | None = None, twins: float = 0.5
) -> Inputs:
    """Rare positives; scores as boosting has them: most near 0, a few leaves only. twins: how far
    two models differ.
    """
    merit = rng.normal(np.log(rate / (1 - rate)) - 0.6, 1.5, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    leaves = np.round(2 * (merit + rng.normal(0, 0.5, n))) / 2
    scores = {f"score_{s}": logistic(leaves + rng.normal(0, twins, n)) for s in SYSTEMS}
    scores = scores if rounded is None else {name: p.round(rounded) for name, p in scores.items()}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def by_visitor(rng: Generator, n: int, spread: float) -> Inputs:
    """Visitors with 1 + Zipf rows, who have a rate of their own; spread: the exponent."""
    rows = np.minimum(rng.zipf(spread, n), 200)
    who = np.repeat(np.arange(n), rows)
    merit = rng.normal(-0.8, 1.0, n)[who] + rng.normal(0, 0.8, len(who))
    label = (rng.random(len(who)) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(merit + rng.normal(0, 0.7, len(who))) for s in SYSTEMS}
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(who)), "user": who.astype(str), "y_true": label} | scores
        )
    }


def mislabelled(rng: Generator, n: int, wrong: float) -> Inputs:
    """A share of the labels is wrong, whatever the score."""
    merit = rng.normal(-1.2, 1.6, n)
    label = (rng.random(n) < logistic(merit)) ^ (rng.random(n) < wrong)
    scores = {f"score_{s}": logistic(1.3 * merit + rng.normal(0, 0.6, n)) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label.astype(int)} | scores)}


def weighted(rng: Generator, n: int, spread: float) -> Inputs:
    """Rows that weigh by a lognormal, the heavier ones harder to tell."""
    heavy = rng.normal(0, 1, n)
    merit = rng.normal(-0.7, 1.3, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {
        f"score_{s}": logistic(merit + rng.normal(0, 0.5 + 0.3 * (heavy > 0), n)) for s in SYSTEMS
    }
    table = {"id": ids(n), "y_true": label, "weight": np.exp(spread * heavy)} | scores
    return {"preds": pd.DataFrame(table)}


def customers(rng: Generator, n: int, spread: float) -> Inputs:
    """Customers with lognormal numbers of rows, whose rows are nearly alike."""
    who = np.repeat(np.arange(n), 1 + rng.poisson(rng.lognormal(0.8, spread, n)))
    merit = rng.normal(-1.0, 1.4, n)[who] + rng.normal(0, 0.3, len(who))
    label = (rng.random(len(who)) < logistic(merit)).astype(int)
    own = {s: rng.normal(0, 0.6, n)[who] for s in SYSTEMS}
    scores = {
        f"score_{s}": logistic(merit + own[s] + rng.normal(0, 0.3, len(who))) for s in SYSTEMS
    }
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(who)), "user": who.astype(str), "y_true": label} | scores
        )
    }


def sure(rng: Generator, n: int, sharp: float) -> Inputs:
    """Classifiers that are surer than they are right; sharp: how much."""
    merit = rng.normal(-0.9, 1.5, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(sharp * (merit + rng.normal(0, 0.9, n))) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def patients(rng: Generator, n: int, visits: int) -> Inputs:
    """Patients with 1 to `visits` visits; who is ill stays so at most of them."""
    who = np.repeat(np.arange(n), rng.integers(1, visits + 1, n))
    ill = (rng.random(n) < 0.25)[who]
    label = np.where(rng.random(len(who)) < 0.8, ill, rng.random(len(who)) < 0.25).astype(int)
    seen = 1.4 * label + rng.normal(0, 0.6, n)[who] - 1.2
    scores = {f"score_{s}": logistic(seen + rng.normal(0, 0.8, len(who))) for s in SYSTEMS}
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(who)), "user": who.astype(str), "y_true": label} | scores
        )
    }


WITH_ACCURACY = {
    "metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,accuracy,mcc,"
    "balanced_accuracy"
}
WITH_LIFT = {
    "metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,mcc,lift,kappa"
}
WITH_KAPPA = {
    "metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,mcc,kappa,"
    "balanced_accuracy"
}
BY_USER = {"metrics": "roc_auc,average_precision,brier,f1,accuracy", "unit": "user"}
DECISIONS_AND_ORDER = {
    "metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,mcc"
}
BY_VISITOR = {"metrics": "roc_auc,log_loss,brier,f1,recall,accuracy", "unit": "user"}


def chosen(threshold: str) -> dict[str, str]:
    """Metrics at a threshold that is chosen on the data."""
    return {"metrics": "f1,precision,recall,predicted_rate,mcc", "threshold": threshold}


fresh = partial(fresh_world, "classification")
FRESH_BINARY = (
    fresh(1, "scores of five levels", 120, stars, WITH_ACCURACY),
    fresh(1, "scores that tell nothing", 150, blind, WITH_ACCURACY),
    fresh(1, "scores that hardly err", 300, sharp, WITH_ACCURACY),
    fresh(
        1,
        "loud and quiet users",
        40,
        two_groups,
        {"metrics": "roc_auc,gauc,recall,log_loss,f1", "unit": "user"},
        many=4000,
    ),
    fresh(2, "mostly positive", 80, mostly, WITH_ACCURACY),
    fresh(2, "plain in part", 250, in_part, WITH_ACCURACY),
    fresh(2, "survey weights", 200, survey, WITH_ACCURACY),
    fresh(
        2,
        "users of one mind",
        40,
        of_one_mind,
        {"metrics": "roc_auc,gauc_positives,brier,precision", "unit": "user"},
        many=4000,
    ),
    fresh(3, "rules that fire", 700, rules, WITH_LIFT),
    fresh(3, "wrong labels", 90, half_mislabelled, WITH_LIFT),
    fresh(
        3,
        "one to three rows a user",
        60,
        one_to_three_rows,
        {"metrics": "roc_auc,f1,log_loss,accuracy", "unit": "user"},
        many=4000,
    ),
    fresh(4, "far scores", 160, far_scores, WITH_KAPPA),
    fresh(4, "a rising share", 250, rising, WITH_KAPPA),
    fresh(4, "users of one kind", 40, of_one_kind, BY_USER, many=4000),
    fresh(5, "two peoples", 140, two_peoples, WITH_KAPPA),
    fresh(5, "steps of a twentieth", 400, steps_of_a_twentieth, WITH_KAPPA),
    fresh(5, "sampled unevenly", 240, sampled_unevenly, WITH_KAPPA),
    fresh(6, "boosting, 3% positive", 900, partial(boosted, rate=0.03), DECISIONS_AND_ORDER),
    fresh(6, "boosting, 12% positive", 300, partial(boosted, rate=0.12), DECISIONS_AND_ORDER),
    fresh(6, "boosting, 35% positive", 90, partial(boosted, rate=0.35), DECISIONS_AND_ORDER),
    fresh(6, "near twins", 400, partial(boosted, rate=0.2, twins=0.08), DECISIONS_AND_ORDER),
    fresh(
        6, "scores of one decimal", 350, partial(boosted, rate=0.25, rounded=1), DECISIONS_AND_ORDER
    ),
    fresh(
        6,
        "scores of two decimals",
        250,
        partial(boosted, rate=0.15, rounded=2),
        DECISIONS_AND_ORDER,
    ),
    fresh(6, "best F1", 260, partial(boosted, rate=0.25), chosen("best_f1"), many=200000),
    fresh(
        6,
        "best F1 of rare positives",
        700,
        partial(boosted, rate=0.06),
        chosen("best_f1"),
        many=200000,
    ),
    fresh(6, "least cost", 400, partial(boosted, rate=0.2), chosen("cost:fp=1,fn=4"), many=200000),
    fresh(6, "recall of 0.8", 320, partial(boosted, rate=0.3), chosen("recall>=0.8"), many=200000),
    fresh(6, "Zipf visitors", 150, partial(by_visitor, spread=2.4), BY_VISITOR, many=4000),
    fresh(6, "heavier Zipf visitors", 300, partial(by_visitor, spread=2.0), BY_VISITOR, many=4000),
    fresh(7, "boosting, 5% positive", 600, partial(boosted, rate=0.05), DECISIONS_AND_ORDER),
    fresh(7, "boosting, 20% positive", 150, partial(boosted, rate=0.2), DECISIONS_AND_ORDER),
    fresh(7, "boosting, half positive", 60, partial(boosted, rate=0.5), DECISIONS_AND_ORDER),
    fresh(7, "nearer twins", 250, partial(boosted, rate=0.3, twins=0.04), DECISIONS_AND_ORDER),
    fresh(
        7,
        "one decimal, 8% positive",
        500,
        partial(boosted, rate=0.08, rounded=1),
        DECISIONS_AND_ORDER,
    ),
    fresh(
        7,
        "labels of which 5% are wrong",
        220,
        partial(mislabelled, wrong=0.05),
        DECISIONS_AND_ORDER,
    ),
    fresh(
        7,
        "labels of which 15% are wrong",
        500,
        partial(mislabelled, wrong=0.15),
        DECISIONS_AND_ORDER,
    ),
    fresh(
        7,
        "rows that weigh by half a lognormal",
        300,
        partial(weighted, spread=0.5),
        DECISIONS_AND_ORDER,
    ),
    fresh(
        7, "rows that weigh by a lognormal", 400, partial(weighted, spread=1.0), DECISIONS_AND_ORDER
    ),
    fresh(
        7, "best F1, 15% positive", 450, partial(boosted, rate=0.15), chosen("best_f1"), many=200000
    ),
    fresh(
        7,
        "a miss costs two",
        300,
        partial(boosted, rate=0.3),
        chosen("cost:fp=1,fn=2"),
        many=200000,
    ),
    fresh(7, "recall of 0.9", 500, partial(boosted, rate=0.2), chosen("recall>=0.9"), many=200000),
    fresh(7, "200 Zipf visitors", 200, partial(by_visitor, spread=2.2), BY_VISITOR, many=4000),
    fresh(
        7, "500 heavy Zipf visitors", 500, partial(by_visitor, spread=2.0), BY_VISITOR, many=4000
    ),
    fresh(7, "60 customers", 60, partial(customers, spread=0.7), BY_VISITOR, many=4000),
    fresh(
        7, "150 very unlike customers", 150, partial(customers, spread=1.3), BY_VISITOR, many=4000
    ),
    fresh(8, "boosting, 4% positive", 1200, partial(boosted, rate=0.04), DECISIONS_AND_ORDER),
    fresh(8, "boosting, 10% positive", 400, partial(boosted, rate=0.1), DECISIONS_AND_ORDER),
    fresh(8, "boosting, 40% positive", 120, partial(boosted, rate=0.4), DECISIONS_AND_ORDER),
    fresh(
        8, "twins, 12% positive", 500, partial(boosted, rate=0.12, twins=0.06), DECISIONS_AND_ORDER
    ),
    fresh(
        8,
        "one decimal, 30% positive",
        180,
        partial(boosted, rate=0.3, rounded=1),
        DECISIONS_AND_ORDER,
    ),
    fresh(
        8,
        "two decimals, 7% positive",
        800,
        partial(boosted, rate=0.07, rounded=2),
        DECISIONS_AND_ORDER,
    ),
    fresh(8, "sure of themselves", 300, partial(sure, sharp=2.0), DECISIONS_AND_ORDER),
    fresh(8, "very sure of themselves", 700, partial(sure, sharp=4.0), DECISIONS_AND_ORDER),
    fresh(
        8,
        "labels of which 10% are wrong",
        350,
        partial(mislabelled, wrong=0.1),
        DECISIONS_AND_ORDER,
    ),
    fresh(8, "rows of unequal weight", 350, partial(weighted, spread=0.7), DECISIONS_AND_ORDER),
    fresh(
        8, "best F1, 30% positive", 350, partial(boosted, rate=0.3), chosen("best_f1"), many=200000
    ),
    fresh(
        8,
        "a miss costs three",
        500,
        partial(boosted, rate=0.25),
        chosen("cost:fp=1,fn=3"),
        many=200000,
    ),
    fresh(
        8, "recall of 0.75", 400, partial(boosted, rate=0.25), chosen("recall>=0.75"), many=200000
    ),
    fresh(8, "250 Zipf visitors", 250, partial(by_visitor, spread=2.3), BY_VISITOR, many=4000),
    fresh(8, "90 patients", 90, partial(patients, visits=4), BY_VISITOR, many=4000),
    fresh(8, "200 patients", 200, partial(patients, visits=9), BY_VISITOR, many=4000),
    fresh(8, "100 unlike customers", 100, partial(customers, spread=1.0), BY_VISITOR, many=4000),
)
