"""The large cases: tables of 100,000 to 3,000,000 rows made from seeds, and the reports that are
made of them.

A table has what moves numbers: ties, weights of which some are 0, many and few units of very
unequal size, segments with a rare one, rare classes, errors with heavy tails, ids that a system
lacks, and no ids.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frozen import cases

Table = dict[str, Any]


# Tables -------------------------------------------------------------------------------------------


def shared(rng: np.random.Generator, rows: int) -> Table:
    """What every table has beside its numbers: ids, many and few units of unequal size, a segment,
    two weights.
    """
    users = rng.choice(rows // 12, rows, p=_shares(rng.lognormal(0, 1, rows // 12)))
    return {
        "id": np.char.add("r", rng.permutation(rows).astype(str)),
        "user": np.char.add("u", users.astype(str)),
        "store": np.char.add(
            "s", rng.choice(60, rows, p=_shares(1 / np.arange(1, 61))).astype(str)
        ),
        "device": rng.choice(["phone", "tv", "web", "rare"], rows, p=[0.5, 0.3, 0.199, 0.001]),
        "whole": rng.integers(0, 4, rows),
        "exact": rng.gamma(1, 1, rows) * (rng.random(rows) < 0.95),
        "drift": rng.normal(0, 0.5, rows // 12)[users],
    }


def _shares(sizes: np.ndarray) -> np.ndarray:
    return sizes / sizes.sum()


def long(table: Table, role: str, rng: np.random.Generator) -> pd.DataFrame:
    """One row a system and id, in no order; each system lacks one row in a hundred."""
    systems = [name for name in table if name.startswith(f"{role}_")]
    rest = pd.DataFrame({name: column for name, column in table.items() if name not in systems})
    parts = [rest.assign(system=name[len(role) + 1 :], **{role: table[name]}) for name in systems]
    return pd.concat(part[rng.random(len(part)) > 0.01] for part in parts).sample(
        frac=1, random_state=rng
    )


def forecasts(rng: np.random.Generator, rows: int) -> Table:
    """Numbers with ties, and two forecasts whose errors have the tails of t with 2.5 degrees of
    freedom.
    """
    table = shared(rng, rows)
    actual = np.round(rng.gamma(2, 2, rows) + table["drift"], 1)
    far = {"near": 0.5, "far": 2.0}
    said = {
        f"forecast_{name}": np.round(actual + rng.standard_t(2.5, rows) * by, 2)
        for name, by in far.items()
    }
    return table | {"actual": actual} | said


def folds_of_numbers(rng: np.random.Generator, rows: int) -> Table:
    """One system's forecasts in five folds, without ids."""
    table = forecasts(rng, rows)
    return {
        "system": np.full(rows, "near"),
        "label": table["actual"],
        "score": table["forecast_near"],
        "fold": rng.integers(0, 5, rows),
    }


def scores(rng: np.random.Generator, rows: int, *, places: int, positive: float) -> Table:
    """Labels of which few are 1, and two systems' probabilities, of so many decimal places; folds
    by user.
    """
    table = shared(rng, rows)
    label = (rng.random(rows) < positive).astype(int)
    said = {
        f"score_{name}": _rounded(label * 2 - 2 + table["drift"] + rng.normal(0, far, rows), places)
        for name, far in (("good", 0.8), ("weak", 1.5))
    }
    fold = pd.Series(table["user"]).str[1:].astype(int).to_numpy() % 5
    return table | {"label": label, "fold": fold} | said


def _rounded(logit: np.ndarray, places: int) -> np.ndarray:
    return np.round(1 / (1 + np.exp(-logit)), places)


def classes(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Five classes, of which one is rare, and their probabilities, two systems long."""
    table = shared(rng, rows)
    names = np.array([*"abcde"])
    label = rng.choice(5, rows, p=[0.4, 0.3, 0.2, 0.097, 0.003])
    parts = []
    for system, far in (("near", 0.8), ("far", 1.4)):
        score = np.exp(
            np.eye(5)[label] * 1.5
            + rng.normal(0, far, (rows, 5))
            + table["drift"][:, None] * np.arange(5)
        )
        share = np.round(score / score.sum(axis=1, keepdims=True), 4)
        columns = {f"p_{name}": share[:, i] for i, name in enumerate(names)}
        parts.append(pd.DataFrame(table | {"label": names[label], "system": system} | columns))
    return pd.concat(parts).sample(frac=1, random_state=rng)


def labels(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Four labels, of which one is rare, and their probabilities, two systems long."""
    table = shared(rng, rows)
    names = ("art", "law", "science", "sport")
    actual = rng.random((rows, 4)) < np.array([0.4, 0.2, 0.1, 0.003])
    columns = {f"y_{name}": actual[:, i].astype(int) for i, name in enumerate(names)}
    parts = []
    for system, far in (("near", 0.8), ("far", 1.4)):
        score = _rounded(
            actual * 2.5 - 2 + rng.normal(0, far, (rows, 4)) + table["drift"][:, None], 3
        )
        said = {f"p_{name}": score[:, i] for i, name in enumerate(names)}
        parts.append(pd.DataFrame(table | columns | {"system": system} | said))
    return pd.concat(parts).sample(frac=1, random_state=rng)


def values(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A value of each of three systems a question, with ties, heavy tails and gaps; one has 0 and 1
    alone.
    """
    table = shared(rng, rows)
    level = rng.normal(0.5, 0.2, rows) + table["drift"]
    frame = pd.DataFrame({"question": table["id"], "user": table["user"], "store": table["store"]})
    for name, gain in (("new", 0.003), ("old", 0.0)):
        frame[name] = np.round(level + gain + 0.1 * rng.standard_t(2.5, rows), 2)
    frame.loc[rng.random(rows) < 0.02, "old"] = np.nan
    return frame.assign(base=(level + rng.normal(0, 0.1, rows) > 0.4).astype(float))


def values_long(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """The same as one row a question, system and metric, and a second metric that is not there for
    all.
    """
    wide = values(rng, rows).drop(columns=["user", "store"])
    first = wide.melt("question", var_name="system", value_name="value").dropna(ignore_index=True)
    second = first.assign(metric="minutes", value=np.round(3 - first["value"] ** 2, 3))[: 2 * rows]
    return pd.concat([first.assign(metric="quality"), second]).sample(frac=1, random_state=rng)


def users(rng: np.random.Generator, rows: int) -> Table:
    """Users of three arms: amounts with heavy tails, few buyers, numbers from before, strata with
    gaps.
    """
    arm = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.25, 0.25])
    past = rng.poisson(2, rows)
    orders = rng.poisson((0.02 + past / 40) * (1 + 0.05 * (arm == "b")))
    return {
        "user": np.char.add("u", rng.permutation(rows).astype(str)),
        "arm": arm,
        "orders": orders,
        "spent": np.round(orders * 10 * (1 + rng.pareto(2.5, rows)), 1),
        "visits": 1 + rng.poisson(2 + orders),
        "bought": (orders > 0).astype(int),
        "past": past,
        "country": rng.choice(
            np.array(["de", "fr", "it", None], object), rows, p=[0.5, 0.3, 0.15, 0.05]
        ),
    }


def sessions(rng: np.random.Generator, rows: int) -> Table:
    """Sessions of eight items of two teams and a neutral one, of users who return unequally often;
    shares of clicks.
    """
    n = rows // 8
    user = rng.choice(n // 4, n, p=_shares(rng.lognormal(0, 1, n // 4)))
    of = np.repeat(np.arange(n), 8)
    position = np.tile(np.arange(1, 9), n)
    team = np.array(["a", "b"])[(position + np.repeat(rng.integers(2, size=n), 8)) % 2]
    clicked = rng.random(rows) < np.where(team == "a", 0.2, 0.22) / np.sqrt(position)
    return {
        "session": np.char.add("s", rng.permutation(n).astype(str))[of],
        "user": np.char.add("u", user.astype(str))[of],
        "position": position,
        "team": np.where(rng.random(rows) < 0.1, "both", team),
        "click": clicked * rng.choice([1.0, 0.1, 0.7], rows),
        "item": rng.integers(500, size=rows).astype(str),
        "device": rng.choice(np.array(["tv", "web", None], object), n, p=[0.5, 0.45, 0.05])[of],
    }


def lists(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Ranked lists of thirty items of two systems: grades, ties, gaps in the grades, queries of
    users.
    """
    n = rows // 60
    query = np.repeat(np.arange(n), 30)
    grade = rng.choice([0, 0, 0, 0, 1, 2, np.nan], query.size)
    user = rng.choice(n // 4, n, p=_shares(rng.lognormal(0, 1, n // 4)))
    frame = pd.DataFrame(
        {"query": np.char.add("q", query.astype(str)), "item": np.tile(np.arange(30), n)}
    )
    frame = frame.assign(
        grade=grade, user=user[query], device=rng.choice(["phone", "web"], n)[query]
    )
    parts = [
        frame.assign(
            system=name, score=np.round(np.nan_to_num(grade) + rng.normal(0, far, query.size), 1)
        )
        for name, far in (("near", 1.0), ("far", 1.5))
    ]
    return (
        pd.concat(parts)
        .loc[lambda t: (t["system"] == "near") | (t["query"] != "q7")]
        .sample(frac=1, random_state=rng)
    )


def without(table: Table, *names: str) -> Table:
    return {name: column for name, column in table.items() if name not in names}


TABLES: Mapping[str, Callable[[np.random.Generator], Any]] = {
    "forecasts": lambda rng: without(forecasts(rng, 1_200_000), "id", "user", "store"),
    "forecasts_with_ids": lambda rng: forecasts(rng, 300_000),
    "forecasts_long": lambda rng: long(forecasts(rng, 150_000), "forecast", rng),
    "scores": lambda rng: without(
        scores(rng, 1_100_000, places=12, positive=0.3), "id", "user", "store", "fold"
    ),
    "scores_with_ids": lambda rng: scores(rng, 200_000, places=3, positive=0.02),
    "scores_long": lambda rng: long(scores(rng, 150_000, places=4, positive=0.005), "score", rng),
    "classes": lambda rng: classes(rng, 100_000),
    "labels": lambda rng: labels(rng, 100_000),
    "values": lambda rng: values(rng, 1_100_000).drop(columns=["user", "store"]),
    "values_by_user": lambda rng: values(rng, 300_000),
    "values_long": lambda rng: values_long(rng, 150_000),
    "users": lambda rng: users(rng, 300_000),
    "sessions": lambda rng: sessions(rng, 800_000),
    "lists": lambda rng: lists(rng, 600_000),
    "folds": lambda rng: long(scores(rng, 150_000, places=2, positive=0.2), "score", rng),
    "folds_of_numbers": lambda rng: folds_of_numbers(rng, 150_000),
}


def made(folder: Path, name: str) -> None:
    """Write a table into a folder as three Parquet files, unless it is there and no older than this
    module.
    """
    if (folder / name).is_dir() and (folder / name).stat().st_mtime >= Path(
        __file__
    ).stat().st_mtime:
        return
    shutil.rmtree(folder / name, ignore_errors=True)
    frame = pd.DataFrame(TABLES[name](np.random.default_rng([1, *name.encode()])))
    unfinished = folder / f"{name}.unfinished"
    unfinished.mkdir(parents=True, exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(unfinished / f"part{i}.parquet", index=False)
    unfinished.rename(folder / name)


LARGE = cases.load(Path(__file__).with_suffix(".toml"))
ONE_FORM = ("validation",)  # reports that hold all rows, and refuse more than they hold
