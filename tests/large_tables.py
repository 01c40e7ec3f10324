"""Binary tables, good and bad, that the tests of large input share, and what makes them large."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from evalkit.limits import USUAL, Limits, Reading
from evalkit.pages import classification_page, first_screen, page
from evalkit.parameters import Classification
from evalkit.reading.engines.backends import budget, opened
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import scores
from evalkit.statistics.class_cells import Counting
from evalkit.statistics.summed import Terms
from evalkit.statistics.two_classes import ByScore
from evalkit.studies import classification

METRICS = "roc_auc,average_precision,ks,log_loss,brier,calibration_in_the_large,f1,accuracy,precision,recall,mcc"
CASES = {
    "plain": {"columns": "{id: id}"},
    "one system": {"systems": "good", "columns": "{id: id}"},
    "weights": {"columns": "{weight: heavy}"},
    "real weights": {"columns": "{weight: exact}"},
    "units": {"unit": "user_id"},
    "units and weights": {"unit": "user_id", "columns": "{weight: heavy}"},
}


SHARDS = Reading(rows=100, shard=500, row=10**9)  # every table is large, and a shard has few rows
SMALL = Limits(reading=SHARDS)
LESS = Limits(resamples=100, bands=40)  # where two studies draw the same samples, or limits are not looked at


def classified(preds, limits=USUAL, **more):
    """The study of a table, read within other limits."""
    return classification.study_of(Classification.of({"preds": preds, **more}), limits)


def limited(study, limits=LESS):
    """The study within other limits."""
    return replace(study, settings=replace(study.settings, limits=limits))


@cache
def frame(rows=3000, seed=1, ties=3, units=300):
    """Two systems on the same rows, wide, with ties, whole weights, groups and users."""
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < 0.3).astype(int)
    user = rng.integers(0, units, rows)
    shift = rng.normal(0, 0.7, units)[user]
    score = {
        f"score_{name}": np.round(1 / (1 + np.exp(-(label * 1.5 - 1 + shift + rng.normal(0, s, rows)))), ties)
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


def long(wide):
    """The same as one row a system and id, shuffled."""
    parts = [
        wide.drop(columns=["score_good", "score_weak"]).assign(system=name, score=wide[f"score_{name}"])
        for name in ("good", "weak")
    ]
    return pd.concat(parts).sample(frac=1, random_state=3)


def text(study):
    names = ("title", "findings", "estimates", "curves", "base_rate", "thresholds", "calibration", "top", "confusion")
    pieces = [getattr(classification_page, name)(study) for name in (*names, "definitions")]
    pieces += [of(study) for of in (first_screen.verdict, page.comparisons, page.segments)]
    return "\n".join(piece.text for piece in pieces)


def grids(folder, memory, size, most=2**20, **more):
    with opened(budget(memory, threads=2, reading=replace(SHARDS, shard=size))) as engine:
        made = scores.read(engine, Predicted.of(str(folder), attributes=["country"], **more), ["country"])
        return counted(made, most)


def counted(table, most=2**20):
    """The bins by group and system, and the facts, of a table in an engine."""
    counting, cuts = Counting(2, table.scale), [0.5] * len(table.table.systems)
    limits = replace(USUAL, bins=most, slice_bins=most // 4)
    by_score = ByScore(counting=counting, terms=Terms.alone((), 0), limits=limits, cuts=cuts)
    found = table.table.total(pickle.loads(pickle.dumps(by_score)))
    return {key[:2]: tally.whole for key, tally in found.scores.items()}, found.facts.sums


def put(data, column, row, value):
    data = data.copy()
    data[column] = data[column].astype(object)
    data.loc[row, column] = value
    return data
