"""What cases that stand as data name: results of calls, tables, and studies of them."""

import inspect
import pkgutil
from pathlib import Path

import numpy as np
import pandas as pd
from online_samples import log, more_logs, users
from samples import forecasts, rng, scores
from significance_tables import long, wide
from validation_tables import FAST, estimators, noise

import evalkit as ek


def call(of: str, args=(), given=None):
    """The result of a function named below evalkit, or in numpy."""
    function = pkgutil.resolve_name(of if of.startswith("numpy.") else f"evalkit.{of}")
    arguments = [
        call(**value) if isinstance(value, dict) and "of" in value else value for value in args
    ]
    drawn = (
        {}
        if of.startswith("numpy.") or "rng" not in inspect.signature(function).parameters
        else {"rng": rng()}
    )
    return function(*arguments, **drawn | (given or {}))


def ranked(queries=10, systems=("x",), **more) -> pd.DataFrame:
    """Lists of eight items, two of them relevant."""
    names = pd.MultiIndex.from_product(
        [systems, range(queries), range(8)], names=["system", "query", "item"]
    )
    frame = names.to_frame(index=False)
    return frame.assign(
        score=rng(3).normal(size=len(frame)), grade=(frame["item"] % 4 == 0).astype(int)
    ).assign(**more)


def values(systems: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"unit": np.arange(30).astype(str)}
        | {name: rng(ord(name)).normal(size=30) for name in systems}
    )


def folds(rows=60, **more) -> pd.DataFrame:
    frame = {
        "label": rng(4).integers(0, 2, rows),
        "score": rng(5).random(rows),
        "fold": np.arange(rows) % 5,
    }
    return pd.DataFrame(frame | more)


def classes(*sizes: int) -> pd.DataFrame:
    """Predictions of classes a, b, … without probabilities."""
    label = np.repeat(list("abc")[: len(sizes)], sizes)
    return pd.DataFrame(
        {"id": np.arange(label.size).astype(str), "label": label, "predicted": np.roll(label, 3)}
    )


def halves() -> pd.DataFrame:
    """Two systems that differ in one half of the queries, there always by as much."""
    names = pd.MultiIndex.from_product(
        [["a", "b"], range(24), [2, 1, 0]], names=["system", "query", "item"]
    )
    run = names.to_frame(index=False)
    first = run["query"] < 12
    score = np.where((run["system"] == "b") & ~first, -run["item"], run["item"])
    return run.assign(
        score=score,
        grade=(run["item"] == np.where(first, 2, 1)) * 1,
        half=np.where(first, "i", "ii"),
    )


def clustered(**more) -> pd.DataFrame:
    """240 rows of 30 persons, whose rows are alike for one system."""
    own = {"a": np.repeat(rng(3).normal(size=30), 8), "b": rng(4).normal(size=240)}
    person = np.repeat([f"u{i}" for i in range(30)], 8)
    return pd.DataFrame({"row": [f"r{i}" for i in range(240)], "person": person} | own).assign(
        **more
    )


LACKING = {"label": list("aabb"), "p_a": [0.8, 0.7, 0.6, 0.5], "p_b": [0.1] * 4, "p_c": [0.1] * 4}
FOLDS = {"fold": range(10), "a": rng(5).normal(0.82, 0.02, 10), "b": rng(6).normal(0.8, 0.02, 10)}

DATA = Path(__file__).resolve().parents[1] / "data"
TABLES = {
    "significance": wide,
    "users": users,
    "interleaving": log,
    "classification": scores,
    "rating": forecasts,
    "ranking": lambda: pd.DataFrame(
        {"query": "q", "item": ["a", "b"], "score": [2.0, 1.0], "grade": [1, 0]}
    ),
    "validation": lambda: pd.DataFrame(
        {"label": [0, 1] * 30, "score": np.arange(60) / 59, "fold": np.arange(60) % 3}
    ),
    "fitted": lambda: noise(60),
    "wide": wide,
    "ranked": ranked,
    "values": values,
    "classes": classes,
    "halves": halves,
    "clustered": clustered,
    "more_logs": more_logs,
    "lacking": lambda: pd.DataFrame(LACKING),
    "fold_values": lambda: pd.DataFrame(FOLDS),
    "long": lambda: long(wide(), "m"),
    "chances": lambda: pd.DataFrame({"id": ["x", "y"], "y_true": [1, 0], "y_score": [0.7, 0.2]}),
    "penguins": lambda: pd.read_csv(DATA / "penguins" / "predictions.csv"),
    "digit_traits": lambda: pd.read_csv(DATA / "digit_traits" / "predictions.csv"),
}


def table_of(case: dict, report: str) -> pd.DataFrame:
    """The table of a case, by name or by columns, with other columns and without some."""
    named = case.get("table", report)
    table = pd.DataFrame(named) if isinstance(named, dict) else TABLES[named](*case.get("rows", ()))
    change = {
        name: call(**one) if isinstance(one, dict) else one
        for name, one in case.get("change", {}).items()
    }
    change = {name: np.resize(values, len(table)) for name, values in change.items()}
    return table.drop(columns=case.get("without", [])).assign(**change)


def study_of(report, table, options):
    if report in ("interleaving", "users"):
        data = {"users": table, "metrics": "orders"} if report == "users" else {"log": table}
        return ek.interleaving(**data | {"world": "none"} | options)
    if report == "fitted":
        estimators()
        return ek.validation(features=table, **{"k": 5} | FAST | options)
    return getattr(ek, report)(table, **options)
