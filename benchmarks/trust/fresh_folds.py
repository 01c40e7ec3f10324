"""Worlds of predictions out of fold that no method was chosen by: `FRESH_FOLDS`, by round."""

from functools import partial

import numpy as np
import pandas as pd
from world import Generator, Inputs, fresh_world, ids, logistic

SYSTEMS = ("a", "b")


def folded(rng: Generator, n: int, folds: int) -> Inputs:
    """Out-of-fold scores; each fold's model has a level of its own."""
    merit = rng.normal(-0.4, 1.2, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    fold = np.arange(n) % folds
    scores = [
        logistic(merit + rng.normal(0, 0.5, folds)[fold] + rng.normal(0, 0.8, n)) for _ in SYSTEMS
    ]
    tables = [
        pd.DataFrame({"id": ids(n), "model": s, "label": label, "score": p, "fold": fold})
        for s, p in zip(SYSTEMS, scores, strict=True)
    ]
    return {"preds": pd.concat(tables, ignore_index=True)}


FOLDS = {"metrics": "roc_auc,brier,accuracy,log_loss"}
fresh = partial(fresh_world, "validation")
FRESH_FOLDS = (
    fresh(6, "five folds of 120", 120, partial(folded, folds=5), FOLDS, many=4000),
    fresh(6, "ten folds of 300", 300, partial(folded, folds=10), FOLDS, many=4000),
    fresh(7, "four folds of 200", 200, partial(folded, folds=4), FOLDS, many=4000),
    fresh(7, "ten folds of 500", 500, partial(folded, folds=10), FOLDS, many=4000),
    fresh(8, "five folds of 250", 250, partial(folded, folds=5), FOLDS, many=4000),
)
