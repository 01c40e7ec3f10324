"""What rules are said to catch, against how often they fail: the second part of `make trust`.

Samples of an unchanged model state, by the report's own gate, the smallest regression that fails a
rule with 80% probability, and how often an unchanged model fails it. Other samples have a true
regression of the mean size that was stated. A rule holds if this one fails it in 75 to 85% of them,
and an unchanged model as often as stated ± 1.5 points. `--units` also plans the number of units for
a regression and looks for the number that is needed. Exits 1 if a rule does not hold.
"""

import argparse
import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numbers_of import READ
from of_units import ITEMS
from scipy.special import ndtr, ndtri
from world import Generator, Inputs, World, ids, sizes

from evalkit.reading.tables import duck

SEED = 20261129
RUNS = 2_000
BATCH = 50  # samples of one task
CAUGHT = (0.75, 0.85)
POINTS = 0.015  # an unchanged model fails as often as stated but for this
AGREE = 0.1  # of the units planned and needed
GROWTHS = (0.8, 1.0, 1.25)  # of the units, between which the needed number is interpolated

Regressed = Callable[[Generator, int, float], Inputs]  # (rng, units, true regression) -> inputs


@dataclass(frozen=True)
class GateWorld:
    """Data with a true regression of any size, and the rules that should catch it.

    regressed: draws them. rules: of the policy; the regression is in the first one. head: of the
    policy file.
    """

    name: str
    report: str
    n: int
    regressed: Regressed
    rules: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    head: str = ""

    def world(self, regression: float) -> World:
        """The world with a true regression of one size."""

        def draw(rng: Generator, n: int) -> Inputs:
            return self.regressed(rng, n, regression)

        return World(self.name, self.report, self.n, draw, self.parameters)

    def policy(self, folder: str) -> Path:
        """The file of its policy."""
        path = Path(folder) / "policy.toml"
        text = self.head + "".join(f"[[rule]]\nthat = {json.dumps(rule)}\n" for rule in self.rules)
        path.write_text(text, encoding="utf-8")
        return path


# The data -----------------------------------------------------------------------------------------


def means(rng: Generator, n: int, regression: float) -> Inputs:
    """Paired values whose differences are symmetric."""
    level = rng.normal(5, 1, n)
    values = {
        "new": level + rng.normal(0, 0.5, n) - regression,
        "old": level + rng.normal(0, 0.5, n),
    }
    return {"preds": pd.DataFrame({"unit": ids(n)} | values)}


def several_means(rng: Generator, n: int, regression: float) -> Inputs:
    """Ten independent metrics of both arms, of which the first regresses."""
    values = rng.normal(5, 1, (n, 10))
    arm = np.where(np.arange(n) % 2, "new", "old")
    values[arm == "new", 0] -= regression
    frame = pd.DataFrame(values, columns=[f"m{i}" for i in range(10)])
    return {"users": frame.assign(user=ids(n), arm=arm)}


RIGHT = 0.86


def decisions(rng: Generator, n: int, regression: float) -> Inputs:
    """Predicted classes of two systems, right alike often and on similar rows."""
    label = (rng.random(n) < 0.4).astype(int)
    easy = rng.random(n)
    both = rng.random(n) < 0.6  # rows on which what is easy decides for both

    def predicted(share: float) -> np.ndarray:
        right = np.where(both, easy, rng.random(n)) < share
        return np.where(right, label, 1 - label)

    columns = {"new": predicted(RIGHT - regression), "old": predicted(RIGHT)}
    return {"y_true": label, "y_pred": columns}


AREA = 0.8


def scores(rng: Generator, n: int, regression: float) -> Inputs:
    """Binormal scores of two systems with correlated noise; the AUC is Φ(shift / √2)."""
    label = (rng.random(n) < 0.3).astype(int)
    shared = rng.normal(0, 1, n)

    def scored(area: float) -> np.ndarray:
        noise = 0.6**0.5 * shared + 0.4**0.5 * rng.normal(0, 1, n)
        return label * 2**0.5 * ndtri(area) + noise

    return {"y_true": label, "y_score": {"new": scored(AREA - regression), "old": scored(AREA)}}


def _lists(rng: Generator, n: int, random_share: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Grades of the candidates of each query, and the scores of both systems; of so many queries
    the new one has no skill.
    """
    chance = rng.beta(0.6, 1.4, (n, 1))
    grade = (rng.random((n, ITEMS)) < chance).astype(int)
    grade[:, 0] = 1
    skill = np.where(rng.random((n, 1)) < random_share, 0.0, 2.0)
    shared = rng.normal(0, 0.7, grade.shape)
    noise = {name: shared + rng.normal(0, 0.7, grade.shape) for name in ("new", "old")}
    return grade, {"new": skill * grade + noise["new"], "old": 2.0 * grade + noise["old"]}


def _ndcg(grade: np.ndarray, score: np.ndarray) -> float:
    """Mean nDCG@10 of grades 0 and 1."""
    discount = 1 / np.log2(np.arange(2, 12))
    listed = np.take_along_axis(grade, np.argsort(-score, axis=1), axis=1)[:, :10]
    ideal = -np.sort(-grade, axis=1)[:, :10]
    return float((listed @ discount / (ideal @ discount)).mean())


@cache
def _ndcg_lost() -> float:
    """How much nDCG@10 a query without skill loses."""
    grade, score = _lists(np.random.default_rng([SEED, 1]), 200_000, 1.0)
    return _ndcg(grade, score["old"]) - _ndcg(grade, score["new"])


def lists(rng: Generator, n: int, regression: float) -> Inputs:
    """Ranked lists; the regression is linear in the share of queries without skill."""
    grade, score = _lists(rng, n, regression / _ndcg_lost())
    query = np.repeat(np.char.add("q", ids(n)), ITEMS)
    item = np.tile(np.char.add("i", ids(ITEMS)), n)
    frames = [
        pd.DataFrame({"system": name, "query": query, "item": item, "score": scored.ravel()})
        for name, scored in score.items()
    ]
    grades = np.tile(grade.ravel(), len(frames))
    return {"preds": pd.concat(frames, ignore_index=True).assign(grade=grades)}


ERROR = 0.2  # of a forecast, relative
WAPE = ERROR * (2 / np.pi) ** 0.5


def forecasts(rng: Generator, n: int, regression: float) -> Inputs:
    """Forecasts of users with different numbers of rows; WAPE goes with the size of the errors."""
    user = np.repeat(np.arange(n), sizes(rng, n, 0.5))
    actual = rng.lognormal(3, 0.3, len(user)) * rng.lognormal(0, 0.3, n)[user]
    shared = rng.normal(0, 1, len(user))

    def forecast(size: float) -> np.ndarray:
        noise = 0.7**0.5 * shared + 0.3**0.5 * rng.normal(0, 1, len(user))
        return actual * (1 + size * noise)

    worse = ERROR * (1 + regression / WAPE)
    return {
        "y_true": actual,
        "y_pred": {"new": forecast(worse), "old": forecast(ERROR)},
        "unit": user.astype(str),
    }


GUARDRAIL = 'on_cannot_tell = "pass"\n'
DIRECTED = {"lower_is_better": "none"}
NEW = "{} not worse than old{} of new"
WORLDS = [
    GateWorld(
        "a mean", "significance", 120, means, (NEW.format("value", ""),), DIRECTED, GUARDRAIL
    ),
    GateWorld(
        "a share",
        "classification",
        400,
        decisions,
        ("accuracy.low >= 0.81 of new",),
        {"metrics": "accuracy"},
    ),
    GateWorld(
        "a share of two systems",
        "classification",
        400,
        decisions,
        (NEW.format("accuracy", ""),),
        {"metrics": "accuracy"},
        GUARDRAIL,
    ),
    GateWorld(
        "a share within a margin",
        "classification",
        400,
        decisions,
        (NEW.format("accuracy", " within 0.05"),),
        {"metrics": "accuracy"},
    ),
    GateWorld(
        "an AUC",
        "classification",
        500,
        scores,
        (NEW.format("roc_auc", ""),),
        {"metrics": "roc_auc"},
        GUARDRAIL,
    ),
    GateWorld(
        "an nDCG",
        "ranking",
        150,
        lists,
        (NEW.format("ndcg@10", " within 0.05"),),
        {"metrics": "ndcg@10"},
    ),
    GateWorld(
        "a ratio with clusters",
        "rating",
        80,
        forecasts,
        (NEW.format("wape", ""),),
        {"metrics": "wape"},
        GUARDRAIL,
    ),
    GateWorld(
        "ten rules",
        "interleaving",
        400,
        several_means,
        tuple(NEW.format(f"m{i}", "") for i in range(10)),
        {"metrics": ",".join(f"m{i}" for i in range(10)), "world": "none"} | DIRECTED,
        GUARDRAIL,
    ),
]
BY_NAME = {world.name: world for world in WORLDS}
PLANNED = {"a mean": 0.1, "a share of two systems": 0.04, "an AUC": 0.03}  # regression to catch


# The runs -----------------------------------------------------------------------------------------


class Stated(NamedTuple):
    """What the gate of one sample says of its first rule, and whether rules failed."""

    catches: float
    unchanged_fails: float
    units_needed: float
    failed: bool
    any_failed: bool


def batch(name: str, regression: float, n: int, place: int, key: int, catch: float) -> list[Stated]:
    """What the gates of some samples say. catch: the regression to plan for; 0 for none."""
    gate = BY_NAME[name]
    world = gate.world(regression)
    rows = []
    with TemporaryDirectory() as folder:
        path = gate.policy(folder)
        if catch:
            path.write_text(f"{path.read_text()}catch = {catch}\n", encoding="utf-8")
        for sample in range(place * BATCH, (place + 1) * BATCH):
            inputs = world.draw(np.random.default_rng([SEED, key, sample]), n)
            asked, study_of = READ[world.report]
            given = {**inputs, **world.parameters, "gate": str(path)}
            judged = study_of(asked.from_raw(given), world.limits).gate
            first = judged.statements.iloc[0]
            failed = [rule.fails(result) for rule, result, _ in judged.rules]
            rows.append(
                Stated(
                    first["catches"],
                    first["unchanged_fails"],
                    first["units_needed"],
                    failed[0],
                    any(failed),
                )
            )
    return rows


def runs(
    pool: ProcessPoolExecutor,
    name: str,
    regression: float,
    n: int,
    count: int,
    key: int,
    catch: float = 0.0,
) -> pd.DataFrame:
    """One row a sample."""
    tasks = [
        pool.submit(batch, name, regression, n, place, key, catch)
        for place in range(count // BATCH)
    ]
    return pd.DataFrame([row for task in tasks for row in task.result()])


def checked(pool: ProcessPoolExecutor, world: GateWorld, count: int) -> dict[str, Any]:
    """What was stated, and what became of it."""
    unchanged = runs(pool, world.name, 0.0, world.n, count, key=2)
    size = float(unchanged["catches"].mean())
    planted = runs(pool, world.name, size, world.n, count, key=3)
    row: dict[str, Any] = {
        "world": world.name,
        "units": world.n,
        "stated": size,
        "sd of stated": float(unchanged["catches"].std()),
        "caught": float(planted["failed"].mean()),
        "stated fails": float(unchanged["unchanged_fails"].mean()),
        "unchanged fails": float(unchanged["failed"].mean()),
        "any of its rules": float(unchanged["any_failed"].mean()),
        "undefined": int(unchanged["catches"].isna().sum()),
    }
    caught_as_stated = CAUGHT[0] <= row["caught"] <= CAUGHT[1]
    fails_as_stated = abs(row["unchanged fails"] - row["stated fails"]) <= POINTS
    return row | {"holds": caught_as_stated and fails_as_stated}


def planned(pool: ProcessPoolExecutor, name: str, regression: float, count: int) -> dict[str, Any]:
    """The units that samples plan for a regression, and those that catch it in 80% of samples."""
    world = BY_NAME[name]
    stated = runs(pool, name, 0.0, world.n, count, key=4, catch=regression)["units_needed"]
    plan = int(stated.median())
    roots = []
    probits = []
    for growth in GROWTHS:
        n = round(plan * growth)
        caught = runs(pool, name, regression, n, count, key=5)["failed"].mean()
        roots.append(n**0.5)
        probits.append(ndtri(caught))
    slope, start = np.polyfit(roots, probits, 1)
    needed = ((ndtri(0.8) - start) / slope) ** 2
    shares = [round(float(share), 3) for share in ndtr(probits)]
    row = {"world": name, "regression": regression, "planned": plan, "caught": shares}
    return row | {"needed": float(needed), "holds": bool(abs(plan / needed - 1) <= AGREE)}


def _prepare() -> None:
    """One thread a process, and no search of what is loaded for garbage."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    pa.set_cpu_count(1)
    duck.sql("SET threads = 1", "DuckDB")


def main() -> int:
    """Run the worlds that are asked for and print a line for each; 1 if one does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", default="", help="only worlds whose name holds this text")
    parser.add_argument("--runs", type=int, default=RUNS, help="samples of each kind")
    parser.add_argument("--units", action="store_true", help="the numbers of units instead")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    holds = True
    with ProcessPoolExecutor(options.j, initializer=_prepare) as pool:
        for world in WORLDS:
            if options.world not in world.name or (options.units and world.name not in PLANNED):
                continue
            if options.units:
                row = planned(pool, world.name, PLANNED[world.name], options.runs)
            else:
                row = checked(pool, world, options.runs)
            print(json.dumps(row), flush=True)
            holds = holds and row["holds"]
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
