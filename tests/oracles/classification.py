"""Compares every value of the classification metrics with the public tools' on the data sets, and
counts.

    PYTHONPATH=. python tests/oracles/classification.py

prints for each data set: values that are equal within 1e-9 (R's bootstrap intervals within 0.01),
values explained by a rule below, values that evalkit has no name for, and mismatches; any mismatch
makes the exit status 1. The sets are read beside the project, or from this folder those that may be
committed; one that is in neither place is skipped.
"""

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from tally import Tally

from evalkit.catalogue import lookup
from evalkit.metrics import calibration, counts, curves, labels
from evalkit.metrics.counts import Counts, count
from evalkit.metrics.influence import auc_influence, auc_variance, threshold_index
from evalkit.metrics.rows import Rows
from evalkit.statistics import proportions
from evalkit.statistics.bootstrap import counts_of_resamples

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "shared" / "data"
BINARY = ("german_credit", "breast_cancer", "fivethirtyeight_games")
CLASSES = ("digits", "wine", "penguins")
THRESHOLD = 0.5
UNNAMED = "without a name here"
NAMES = tomllib.loads((HERE.parent / "examples" / "tool_names.toml").read_text(encoding="utf-8"))
TIE = "a tie at the border, which the tool cuts by row order"


def below_linspace(c: Counts) -> Counts:
    """Scores of .3, .6 and .7 just below their borders, where np.linspace(0, 1, 11) puts them in
    the tools.
    """
    on_border = np.isin(c.threshold, [0.3, 0.6, 0.7])
    return replace(c, threshold=np.where(on_border, np.nextafter(c.threshold, 0), c.threshold))


OWN: dict[str, Callable[[Counts], float]] = {  # numbers that are no metrics of the catalogue
    "mean_score": calibration.mean_score,
    "ece10_uniform": lambda c: calibration.ece(calibration.bins_uniform(below_linspace(c))),
    "ece10_quantile": lambda c: calibration.ece(calibration.bins_quantile(c)),
    "mce10_uniform": lambda c: max(calibration.bins_uniform(below_linspace(c)).gap, default=np.nan),
    "mce10_quantile": lambda c: max(calibration.bins_quantile(c).gap, default=np.nan),
    "prevalence": counts.base_rate,
    "n": lambda c: c.total,
    "n_pos": lambda c: c.positives,
}


def load(name: str) -> tuple[pd.DataFrame, dict] | None:
    """A set's rows and expected values by tool, None where it is absent."""
    folder = SHARED / name
    if folder.exists():
        tools = {
            path.stem: json.loads(path.read_text())
            for path in sorted((folder / "expected").glob("*.json"))
        }
        return pd.read_parquet(folder / "predictions.parquet"), tools
    if (HERE / f"{name}.json").exists():
        return pd.read_parquet(HERE / f"{name}.parquet"), json.loads(
            (HERE / f"{name}.json").read_text()
        )
    return None


def parts(frame: pd.DataFrame, tool: dict) -> Iterator[tuple[str, pd.DataFrame, dict]]:
    """The rows of every model overall and in each segment, with what is expected of them."""
    for model, values in tool["overall"].items():
        yield model, frame[frame.model == model], values
    for column, levels in tool["segments"].items():
        for level, models in levels.items():
            rows = frame[frame[column].astype(str) == level]
            for model, values in models.items():
                yield f"{column}={level} {model}", rows[rows.model == model], values


# Binary -------------------------------------------------------------------------------------------


def binary(frame: pd.DataFrame, tools: dict) -> Tally:
    """scikit-learn's metrics and McNemar tests, pROC's areas, variances, intervals and paired
    tests.
    """
    found = Tally()
    for where, rows, values in parts(frame, tools["sklearn"]):
        at = values.get("threshold", THRESHOLD)
        decided = Rows(rows.y_true.to_numpy(), rows.y_score.to_numpy(float), at)
        for name, value in values.items():
            _metric(found, f"{where} {name}", decided, name, value, values)
    for pair, values in tools["sklearn"].get("pairs", {}).items():
        label, scores = _wide(frame)
        a, b = (label == (scores[name] >= THRESHOLD) for name in pair.split(" vs "))
        _mcnemar(found, pair, a, b, values["mcnemar"])
    if "pROC" in tools:
        _proc(found, frame, tools["pROC"])
    return found


def _metric(found: Tally, where: str, rows: Rows, name: str, value: float, values: dict) -> None:
    c, here = rows.counts, NAMES["binary"].get(name, name)
    here = lookup.ALIASES.get(here, here)
    if name in OWN:
        found.check(where, float(OWN[name](c)), value)
    elif here in lookup.TABLES["counts"]:
        found.check(where, lookup.find_metric(here, "counts").value(rows), value)
    elif name in ("tp", "fp", "tn", "fn"):
        found.check(where, float(getattr(rows.decision_counts, name)[0]), value)
    elif name.startswith(("precision_top_", "lift_top_")):
        share = float(name.rsplit("_", 1)[1])
        top = curves.at_depth(c, np.ceil(share * c.total))
        metric = counts.precision if name.startswith("precision") else curves.lift
        tied = values.get(f"top_{share:g}_cut_is_inside_a_tie")
        found.check(where, float(metric(top)), value, TIE if tied else "")
    else:
        found.explained[UNNAMED] += 1


def _mcnemar(found: Tally, pair: str, a: np.ndarray, b: np.ndarray, values: dict) -> None:
    """McNemar's test of the rows that either system has right."""
    only, n = (int((a & ~b).sum()), int((b & ~a).sum())), len(a)
    found.check(f"{pair} McNemar b", only[0], values["b"])
    found.check(f"{pair} McNemar c", only[1], values["c"])
    found.check(f"{pair} McNemar p", proportions.mcnemar_asymptotic(*only, n).p_value, values["p"])


def _wide(frame: pd.DataFrame) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    wide = frame.pivot(index="id", columns="model", values="y_score")
    label = frame.drop_duplicates("id").set_index("id").y_true.loc[wide.index].to_numpy()
    return label, {name: wide[name].to_numpy() for name in wide}


def _proc(found: Tally, frame: pd.DataFrame, tool: dict) -> None:
    label, scores = _wide(frame)
    tables = {name: count(score, label) for name, score in scores.items()}
    for name, values in tool["models"].items():
        c, error = tables[name], float(np.sqrt(auc_variance(tables[name])))
        limits = np.clip(counts.auc(c) + np.array([-1, 1]) * 1.959963984540054 * error, 0, 1)
        drawn = counts_of_resamples(c, rng=np.random.default_rng(1), resamples=2000)
        low, high = np.quantile([counts.auc(table) for table in drawn], [0.025, 0.975])
        found.check(f"{name} auc", counts.auc(c), values["auc"])
        found.check(f"{name} var", error**2, values["var_delong"])
        for i, ours in enumerate(limits):
            found.check(f"{name} ci95_delong {i}", ours, values["ci95_delong"][i])
        for i, ours in enumerate((low, high)):
            found.check(
                f"{name} bootstrap {i}",
                ours,
                values["ci95_bootstrap_stratified_2000_seed1"][i],
                within=0.01,
            )
        found.check(f"{name} pauc", curves.partial_auc(c, 0, 0.1), values["pauc_sp_1_0.9"])
        found.check(
            f"{name} pauc corrected", curves.partial_auc_mcclish(c, 0.1), values["pauc_corrected"]
        )
        best = max(one["sensitivity"] + one["specificity"] - 1 for one in values["youden"])
        found.check(
            f"{name} Youden", float((counts.recall(c) - counts.false_positive_rate(c)).max()), best
        )
    for pair, values in tool["pairs"].items():
        names = pair.split(" vs ")
        moved = [
            auc_influence(tables[name])[
                1 - label, threshold_index(tables[name].threshold, scores[name])
            ]
            for name in names
        ]
        cov = _covariance(label, np.array(moved))
        value = counts.auc(tables[names[0]]) - counts.auc(tables[names[1]])
        error = float(np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]))
        found.check(f"{pair} z", value / error, values["z"])
        found.check(f"{pair} covariance", cov[0, 1], values["cov_delong"])
        for i, sign in enumerate((-1, 1)):
            found.check(
                f"{pair} interval {i}",
                value + sign * 1.959963984540054 * error,
                values["ci95_diff"][i],
            )


def _covariance(label: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """DeLong's covariance matrix of AUC from how much each row moves it, one row of numbers a
    model.
    """
    sides = [moved[:, label == side] for side in (0, 1)]
    return sum(side @ side.T * side.shape[1] / (side.shape[1] - 1) for side in sides)


# Several classes ----------------------------------------------------------------------------------


def multi(frame: pd.DataFrame, tools: dict) -> Tally:
    """scikit-learn's metrics of several classes, class by class and averaged, and McNemar tests."""
    found, tool = Tally(), tools["sklearn"]
    classes = [str(one) for one in next(iter(tool["overall"].values()))["classes"]]
    for where, rows, values in parts(frame, tool):
        s = _classified(rows, classes)
        for name, value in values.items():
            if name in NAMES["classes"]:
                chosen = lookup.find_metric(NAMES["classes"][name], "classes")
                found.check(f"{where} {name}", chosen.value(s), value, _rule(name, s, value))
            elif name == "confusion_matrix":
                found.check(
                    f"{where} {name}", float(np.abs(s.confusion.table - np.array(value)).sum()), 0.0
                )
            elif name == "per_class":
                _per_class(found, where, s, classes, value)
            elif name == "roc_auc_ovr_per_class":
                for one, area in value.items():
                    i = classes.index(str(one))
                    found.check(
                        f"{where} AUC {one}", counts.auc(count(s.score[:, i], s.actual == i)), area
                    )
            else:
                found.explained[UNNAMED] += 1
    for pair, values in tool.get("pairs", {}).items():
        right = frame.assign(right=frame.y_true.astype(str) == frame.y_pred.astype(str))
        wide = right.pivot(index="id", columns="model", values="right")
        a, b = (wide[name].to_numpy(bool) for name in pair.split(" vs "))
        _mcnemar(found, pair, a, b, values["mcnemar_correctness"])
    return found


def _classified(rows: pd.DataFrame, classes: list[str]) -> Rows:
    actual, predicted = (
        rows[column].astype(str).map(classes.index).to_numpy(np.int64)
        for column in ("y_true", "y_pred")
    )
    scores = rows[[f"p_{one}" for one in classes]].to_numpy(float)
    return Rows(actual, scores, decision=predicted, classes=len(classes))


def _rule(name: str, s: Rows, value: float) -> str:
    """Why the tool may differ: a class without a row, ties at the border, ties that the last bit
    splits.
    """
    if name.startswith("roc_auc") and any(
        len(np.unique(p)) > len(np.unique(p.round(12))) for p in s.score.T
    ):
        ours = lookup.find_metric(NAMES["classes"][name], "classes").value(s)
        if abs(ours - (value or 0)) <= 2e-5:
            return "votes that tied before they were written, and differ in the last bit since"
    if name.startswith("top_") and np.any(labels.in_top(s.actual, s.score, int(name[4])) % 1):
        return "tied scores at the border, of which the tool takes the later class"
    present = np.bincount(s.actual, minlength=s.classes) > 0
    if not present.all() and ("macro" in name or name.startswith("roc_auc")):
        return "a class has no row: undefined or left out here, 0 or left out there"
    return ""


def _per_class(found: Tally, where: str, s: Rows, classes: list[str], value: dict) -> None:
    c = labels.one_vs_rest(s.confusion)
    ours = {
        "precision": counts.precision(c),
        "recall": counts.recall(c),
        "f1": counts.f_score(c),
        "support": c.positives,
    }
    for one, metrics in value.items():
        for name, theirs in metrics.items():
            found.check(f"{where} {one} {name}", float(ours[name][classes.index(str(one))]), theirs)


def main() -> int:
    """Prints the table; the exit status."""
    total = Tally()
    for name in (*BINARY, *CLASSES):
        loaded = load(name)
        if loaded is None:
            print(f"{name}: skipped, not here")
            continue
        found = (binary if name in BINARY else multi)(*loaded)
        total += found
        print(f"{name}: {found}")
        for line in found.wrong[:20]:
            print("   ", line)
    print(f"all: {total}")
    return int(bool(total.wrong))


if __name__ == "__main__":
    sys.exit(main())
