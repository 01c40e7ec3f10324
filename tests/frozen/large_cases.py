"""The large cases: tables of 100,000 to 3,000,000 rows made from seeds, and the reports that are made of them.

A table has what moves numbers: ties, weights of which some are 0, many and few units of very unequal size, segments
with a rare one, rare classes, errors with heavy tails, ids that a system lacks, and no ids.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frozen import cases
from frozen.cases import Case

Table = dict[str, Any]
ALL_FORECASTS = "mae,rmse,mse,bias,median_absolute_error,r2,r2_correlation,wape,smape,mape,pinball@90"


# Tables -------------------------------------------------------------------------------------------------------


def shared(rng: np.random.Generator, rows: int) -> Table:
    """What every table has beside its numbers: ids, many and few units of unequal size, a segment, two weights."""
    users = rng.choice(rows // 12, rows, p=_shares(rng.lognormal(0, 1, rows // 12)))
    return {
        "id": np.char.add("r", rng.permutation(rows).astype(str)),
        "user": np.char.add("u", users.astype(str)),
        "store": np.char.add("s", rng.choice(60, rows, p=_shares(1 / np.arange(1, 61))).astype(str)),
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
    return pd.concat(part[rng.random(len(part)) > 0.01] for part in parts).sample(frac=1, random_state=rng)


def forecasts(rng: np.random.Generator, rows: int) -> Table:
    """Numbers with ties, and two forecasts whose errors have the tails of t with 2.5 degrees of freedom."""
    table = shared(rng, rows)
    actual = np.round(rng.gamma(2, 2, rows) + table["drift"], 1)
    far = {"near": 0.5, "far": 2.0}
    said = {f"forecast_{name}": np.round(actual + rng.standard_t(2.5, rows) * by, 2) for name, by in far.items()}
    return table | {"actual": actual} | said


def without(table: Table, *names: str) -> Table:
    return {name: column for name, column in table.items() if name not in names}


TABLES: Mapping[str, Callable[[np.random.Generator], Any]] = {
    "forecasts": lambda rng: without(forecasts(rng, 1_200_000), "id", "user", "store"),
    "forecasts_with_ids": lambda rng: forecasts(rng, 300_000),
    "forecasts_long": lambda rng: long(forecasts(rng, 150_000), "forecast", rng),
}


def made(folder: Path, name: str) -> None:
    """Write a table into a folder as three Parquet files, unless it is there and no older than this module."""
    if (folder / name).is_dir() and (folder / name).stat().st_mtime >= Path(__file__).stat().st_mtime:
        return
    shutil.rmtree(folder / name, ignore_errors=True)
    frame = pd.DataFrame(TABLES[name](np.random.default_rng([1, *name.encode()])))
    unfinished = folder / f"{name}.unfinished"
    unfinished.mkdir(parents=True, exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(unfinished / f"part{i}.parquet", index=False)
    unfinished.rename(folder / name)


# Cases --------------------------------------------------------------------------------------------------------


def case(report: str, table: str, name: str, **parameters: Any) -> Case:
    """A report of a made table, which `preds` or another parameter names."""
    given = parameters if any("{made}" in str(value) for value in parameters.values()) else {"preds": "{made}"}
    given = {key: value.replace("{made}", f"{{made}}/{table}") for key, value in given.items()}
    return getattr(cases, report)(f"{table}: {name}", table, **{**parameters, **given})


LARGE = (
    case("rating", "forecasts", "rows", metrics=ALL_FORECASTS, segments="device"),
    case("rating", "forecasts_with_ids", "weights", metrics=ALL_FORECASTS, columns="{weight: exact}"),
    case("rating", "forecasts_with_ids", "users", metrics=ALL_FORECASTS, unit="user", segments="device"),
    case(
        "rating", "forecasts_with_ids", "stores, weights", metrics=ALL_FORECASTS, unit="store",
        columns="{weight: whole}", segments="device",
    ),
    case("rating", "forecasts_long", "users", metrics="rmse,mae,r2", unit="user", baseline="far", margin=0.02),
)  # fmt: skip
