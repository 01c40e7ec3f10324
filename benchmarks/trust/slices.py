"""Weak slices and gaps between groups, the fourth part of `make trust`: how often a search finds a
slice where there is none, whether the stated effect of a planted slice is biased, and how often
limits of gaps hold the true gap.

Each sample is a table of rows that is read by the classification report. Batches that are done are
appended to a file, so that a run which was stopped goes on where it was. Exits 1 if a bound of
`ALARMS`, `FOUND`, `BIAS` or `COVERAGE` is missed.
"""

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from gates import _prepare
from scipy.special import ndtr
from world import Generator

import evalkit as ek
from evalkit.studies import weak_slices

SEED = 20261201
BATCH = 25  # samples of one task
ALARMS = 0.05  # pages with a find where there is none
FOUND = 0.8  # of the planted slices that are said to be found
BIAS = 0.1  # of the mean error of a stated effect, in its standard errors
COVERAGE = (0.93, 0.97)
CASES = 10  # expected in each cell of a group's table: with fewer, limits may be wider
ERROR = 0.2  # the share of wrong decisions
Z = 1.959964

Result = dict[str, Any]


@dataclass(frozen=True)
class SimulatedCell:
    """One kind of sample: `run` gives what a sample shows, as JSON. group: of its bounds."""

    name: str
    group: str
    runs: int
    run: Callable[[Generator], Result]


# Weak slices --------------------------------------------------------------------------------------

RARE = (0.05, 0.2, 0.5, 0.1, 0.3)  # of attributes with two values
LETTERS = np.array([*"abcdefgh"])
FALLING = np.array([30, 20, 15, 10, 10, 8, 5, 2]) / 100
PLANTED = ("a1", "a", "a5", "a")  # an attribute and its value, twice: 0.25 · 0.12 of the rows


def attributes(rng: Generator, n: int) -> pd.DataFrame:
    """Twenty attributes of n rows or units: of two, four and eight values, and numbers."""
    columns: dict[str, np.ndarray] = {}
    for i in range(5):
        columns[f"a{4 * i}"] = np.where(rng.random(n) < RARE[i], "y", "n")
        even = (0.25, 0.25, 0.25, 0.25) if i != 1 else (0.12, 0.3, 0.28, 0.3)
        columns[f"a{4 * i + 1}"] = rng.choice(LETTERS[:4], n, p=even)
        columns[f"a{4 * i + 2}"] = rng.choice(LETTERS, n, p=FALLING)
        columns[f"a{4 * i + 3}"] = rng.normal(0, 1, n).round(4)
    return pd.DataFrame(columns)


def decisions(rng: Generator, label: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Decisions that are wrong with a probability for each row."""
    return np.where(rng.random(len(label)) < wrong, 1 - label, label)


def one_system(rng: Generator, n: int) -> pd.DataFrame:
    """Rows on which all errors are equally likely."""
    label = rng.integers(0, 2, n)
    score = decisions(rng, label, np.full(n, ERROR))
    return attributes(rng, n).assign(y_true=label, score_new=score)


def two_systems(rng: Generator, n: int) -> pd.DataFrame:
    """The same of two systems that are wrong on similar rows."""
    label = rng.integers(0, 2, n)
    hard = rng.random(n) < 0.4
    wrong = np.where(hard, 0.35, 0.1)
    scores = {f"score_{name}": decisions(rng, label, wrong) for name in ("new", "old")}
    return attributes(rng, n).assign(y_true=label, **scores)


def clusters(rng: Generator, n: int) -> pd.DataFrame:
    """Rows of users with five each, some of whom are hard; half of the attributes are theirs."""
    users = n // 5
    user = np.repeat(np.arange(users), 5)
    label = rng.integers(0, 2, n)
    wrong = rng.beta(0.8, 3.2, users)[user]
    table = attributes(rng, n)
    of_users = attributes(rng, users).iloc[user].reset_index(drop=True)
    names = [f"a{i}" for i in range(20) if i // 4 % 2]
    table[names] = of_users[names]
    return table.assign(y_true=label, score_new=decisions(rng, label, wrong), user=user.astype(str))


Table = Callable[[Generator, int], pd.DataFrame]


def alarms(draw: Table, n: int) -> Callable[[Generator], Result]:
    """Whether the page of a sample without weak slices has a find."""

    def run(rng: Generator) -> Result:
        """The number of finds."""
        table = draw(rng, n)
        unit = "user" if "user" in table else None
        study = ek.classification(table, metrics="accuracy", slices="auto", unit=unit)
        return {"finds": len(study.weak_slices())}

    return run


def planted(n: int, effect: float) -> Callable[[Generator], Result]:
    """Whether a slice with more errors is found, and the errors of the stated effects."""

    def run(rng: Generator) -> Result:
        """found: 1 if a find shares most rows with the planted slice. errors: of each find, stated
        less true effect, in standard errors.
        """
        table = attributes(rng, n)
        first, value, second, other = PLANTED
        inside = ((table[first] == value) & (table[second] == other)).to_numpy()
        wrong = ERROR + effect * inside
        label = rng.integers(0, 2, n)
        table = table.assign(y_true=label, score_new=decisions(rng, label, wrong))
        study = ek.classification(table, metrics="accuracy", slices="auto")
        searched = weak_slices.of_study(study)
        found = 0
        errors = []
        for row in study.weak_slices().to_dict("records"):
            mask = _mask(row["slice"], searched)
            found = max(found, int(2 * np.sum(mask & inside) > np.sum(mask | inside)))
            estimating = ~searched.is_for_finding
            true = wrong[~mask & estimating].mean() - wrong[mask & estimating].mean()
            error = (row["high"] - row["low"]) / (2 * Z)
            errors.append((row["difference"] - true) / error)
        return {"found": found, "errors": errors}

    return run


def _mask(text: str, searched: weak_slices.WeakSlices) -> np.ndarray:
    """The rows of a find, from the text of its conditions."""
    conditions = text.split(" and ")
    mask = np.ones(len(searched.is_for_finding), dtype=bool)
    for attribute in searched.attributes:
        for number, label in enumerate(attribute.labels):
            if f"{attribute.name}={label}" in conditions:
                mask &= attribute.code == number
    return mask


# Gaps ---------------------------------------------------------------------------------------------

SHIFTS = {
    "equal": (0.9, 0.9, 0.9, 0.9),
    "one apart": (0.9, 0.9, 0.9, 0.4),
    "all apart": (0.4, 0.6, 0.8, 1.0),
}
METRICS = "accuracy,recall,specificity,precision,roc_auc,brier"


def truth(rate: float, shift: float) -> Mapping[str, float]:
    """The metrics of a group with this base rate, whose scores are Φ(x) with x normal around ±shift
    by class.
    """
    x = np.linspace(-8, 8, 4001)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    positive = ndtr(x + shift)
    negative = ndtr(x - shift)
    recall = ndtr(shift)
    false_alarms = 1 - recall
    predicted = rate * recall + (1 - rate) * false_alarms
    mean = rate * np.sum(density * positive) + (1 - rate) * np.sum(density * negative)
    squares = rate * np.sum(density * (1 - positive) ** 2)
    squares += (1 - rate) * np.sum(density * negative**2)
    return {
        "base_rate": rate,
        "predicted_rate": predicted,
        "recall": recall,
        "false_positive_rate": false_alarms,
        "specificity": recall,
        "precision": rate * recall / predicted,
        "calibration_in_the_large": float(mean) - rate,
        "roc_auc": ndtr(2**0.5 * shift),
        "accuracy": recall,
        "brier": float(squares),
    }


def rarest_cell(rate: float, shift: float, rows: int) -> Mapping[str, float]:
    """The rows of a group that are expected in the rarest cell of the table behind a metric: the
    hits and misses of a share, else the positive and the negative rows.
    """
    value = truth(rate, shift)
    positives = rate * rows
    negatives = rows - positives
    predicted = value["predicted_rate"] * rows
    rows_of_share = {
        "base_rate": rows,
        "predicted_rate": rows,
        "recall": positives,
        "false_positive_rate": negatives,
        "specificity": negatives,
        "precision": predicted,
        "accuracy": rows,
    }
    expected = dict.fromkeys(value, min(positives, negatives))
    for name, n in rows_of_share.items():
        expected[name] = n * min(value[name], 1 - value[name])
    return expected


def gaps(rows: int, rate: float, shifts: tuple[float, ...]) -> Callable[[Generator], Result]:
    """What became of the limits of each gap and of the largest one, for each metric."""
    values = [truth(rate, shift) for shift in shifts]
    names = LETTERS[: len(shifts)]
    true = {name: dict(zip(names, column, strict=True)) for name, column in _columns(values)}
    cells = [rarest_cell(rate, shift, rows) for shift in shifts]
    cases = {name: min(column) for name, column in _columns(cells)}

    def run(rng: Generator) -> Result:
        """For each metric: the expected cases, of any group and cell; for each gap and the largest
        one, -1 if the limits lie above the truth, 1 if below, 0 if they hold it.
        """
        group = np.repeat(names, rows)
        label = (rng.random(len(group)) < rate).astype(int)
        x = rng.normal(0, 1, len(group)) + np.where(label, 1, -1) * np.repeat(shifts, rows)
        table = pd.DataFrame({"group": group, "y_true": label, "y_score": ndtr(x)})
        study = ek.classification(table, metrics=METRICS, groups="group", reference="group=a")
        found: Result = {}
        for metric, frame in study.gaps("group").groupby("metric"):
            column = true[str(metric)]
            others = frame[frame["group"] != frame["reference"]]
            sides = {
                row["group"]: _side(
                    row["gap_low"], row["gap_high"], column[row["group"]] - column["a"]
                )
                for row in others.to_dict("records")
            }
            found[str(metric)] = {"cases": cases[str(metric)], "gaps": sides}
        for row in study.largest_gaps("group").to_dict("records"):
            column = true[row["metric"]]
            largest = max(column.values()) - min(column.values())
            if row["groups"] == len(shifts):
                found[row["metric"]]["largest"] = _side(row["low"], row["high"], largest)
        return found

    return run


def _columns(values: list[Mapping[str, float]]) -> Iterator[tuple[str, list[float]]]:
    """Each metric with its value in each group."""
    for name in values[0]:
        yield name, [group[name] for group in values]


def _side(low: float, high: float, true: float) -> int | None:
    """Where the limits lie; None if they are undefined."""
    if np.isnan(low) or np.isnan(high):
        return None
    return int(high < true - 1e-9) - int(low > true + 1e-9)


# Cells --------------------------------------------------------------------------------------------


def _cells() -> Iterator[SimulatedCell]:
    """All cells."""
    for n, runs in ((500, 1000), (20_000, 400)):
        for draw in (one_system, two_systems, clusters):
            name = f"{draw.__name__} {n}"
            yield SimulatedCell(name, f"alarms {n}", runs, alarms(draw, n))
    for effect in (0.15, 0.08):
        group, runs = ("found", 400) if effect == 0.15 else ("biased", 800)
        yield SimulatedCell(f"planted {effect}", group, runs, planted(20_000, effect))
    for rate in (0.5, 0.05):
        for rows in (30, 100, 1000):
            for name, shifts in SHIFTS.items():
                run = gaps(rows, rate, shifts)
                yield SimulatedCell(f"gaps {name} {rate} {rows}", "gaps", 400, run)


CELLS = {cell.name: cell for cell in _cells()}


def batch(name: str, number: int) -> list[Result]:
    """What some samples of a cell show."""
    cell = CELLS[name]
    samples = range(number * BATCH, (number + 1) * BATCH)
    key = [*CELLS].index(name)
    return [cell.run(np.random.default_rng([SEED, key, sample])) for sample in samples]


# Bounds -------------------------------------------------------------------------------------------


def summary(cell: SimulatedCell, results: list[Result]) -> Iterator[Result]:
    """A row for each number of a cell, with `holds`."""
    if cell.group.startswith("alarms"):
        share = float(np.mean([result["finds"] > 0 for result in results]))
        error = (ALARMS * (1 - ALARMS) / len(results)) ** 0.5
        yield {"cell": cell.name, "alarms": share, "holds": share <= ALARMS + 3 * error}
    elif cell.group in ("found", "biased"):
        share = float(np.mean([result["found"] for result in results]))
        means = [np.mean(result["errors"]) for result in results if result["errors"]]
        bias = float(np.mean(means))
        row: Result = {"cell": cell.name, "found": share, "bias": bias}
        row |= {"of bias": float(np.std(means) / len(means) ** 0.5)}
        is_found = share >= FOUND or cell.group == "biased"
        yield row | {"holds": is_found and abs(bias) < BIAS}
    else:
        yield from _coverage(cell, results)


def _coverage(cell: SimulatedCell, results: list[Result]) -> Iterator[Result]:
    """The coverage of the gaps of each metric: of each one, of all together, of the largest."""
    for metric in results[0]:
        parts = [result[metric] for result in results]
        sides: dict[str, list[int]] = defaultdict(list)
        for part in parts:
            known = {name: side for name, side in part["gaps"].items() if side is not None}
            for name, side in known.items():
                sides[f"gap to {name}"].append(side)
            if len(known) == len(part["gaps"]):
                sides["all gaps"].append(max(known.values(), key=abs))
            if part.get("largest") is not None:
                sides["largest"].append(part["largest"])
        cases = float(np.mean([part["cases"] for part in parts]))
        for name, found in sides.items():
            covered = float(np.mean(np.array(found) == 0))
            row = {"cell": cell.name, "metric": metric, "of": name, "cases": cases}
            row |= {"samples": len(found), "covered": covered}
            row |= {"low": float(np.mean(np.array(found) > 0))}
            # the limits of a single gap hold together with the others, and so are wider
            most = 1.0 if cases < CASES or name.startswith("gap to") else COVERAGE[1]
            error = 2 * (0.05 * 0.95 / len(found)) ** 0.5
            holds = COVERAGE[0] - error <= covered <= most + error
            yield row | {"holds": holds}


def rows_of(results: Mapping[str, list[Result]]) -> Iterator[Result]:
    """The rows of all cells, then those of the cells of a size together."""
    shares: dict[str, list[bool]] = defaultdict(list)
    for name, found in results.items():
        yield from summary(CELLS[name], found)
        if CELLS[name].group.startswith("alarms"):
            shares[CELLS[name].group] += [result["finds"] > 0 for result in found]
    for group, pages in shares.items():
        error = (ALARMS * (1 - ALARMS) / len(pages)) ** 0.5
        share = float(np.mean(pages))
        yield {"cell": group, "alarms": share, "holds": share <= ALARMS + 2 * error}


def stored(path: Path) -> dict[tuple[str, int], list[Result]]:
    """The batches of a file, by cell and number."""
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(line["cell"], line["batch"]): line["results"] for line in lines}


def main() -> int:
    """Run the cells that are asked for and print a row for each number; 1 if one does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--group", nargs="*", default=[], help="only cells of these groups")
    parser.add_argument("--runs", type=int, default=10**9, help="at most so many samples each")
    parser.add_argument("--only-stored", action="store_true", help="run nothing")
    parser.add_argument("--store", type=Path, default=Path(".trust/slices.jsonl"))
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    done = stored(options.store)
    options.store.parent.mkdir(parents=True, exist_ok=True)
    chosen = [cell for cell in CELLS.values() if not options.group or cell.group in options.group]
    wanted = [
        (cell.name, number)
        for cell in chosen
        for number in range(min(cell.runs, options.runs) // BATCH)
    ]
    wanted.sort(key=lambda place: place[1])  # so that all cells have some samples early
    if not options.only_stored:
        with ProcessPoolExecutor(options.j, initializer=_prepare) as pool:
            tasks = {place: pool.submit(batch, *place) for place in wanted if place not in done}
            for (name, number), task in tasks.items():
                done[name, number] = task.result()
                line = {"cell": name, "batch": number, "results": done[name, number]}
                with options.store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    results: dict[str, list[Result]] = defaultdict(list)
    for name, number in wanted:
        results[name] += done.get((name, number), [])
    rows = [*rows_of({name: found for name, found in results.items() if found})]
    for row in rows:
        print(json.dumps(row), flush=True)
    return int(not all(row["holds"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
