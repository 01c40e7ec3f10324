"""Outputs of systems that a judge scores and a person labels in part, made from a seed."""

import numpy as np
import pandas as pd


def outputs(
    rng: np.random.Generator,
    units: int = 400,
    labels: int = 60,
    favour: float = 0.0,
    *,
    kind: str = "score",
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For systems a and b the judge's scores, what a person would say of every output, and the
    person's labels, NaN for all but `labels` random units, which are the same for both.

    The judge is too kind to both, and by `favour` kinder to a; a is somewhat better. kind: scores
    from 0 to 1, or "binary".
    """
    easy = rng.normal(size=units)
    labelled = np.zeros(units, bool)
    labelled[rng.permutation(units)[:labels]] = True
    made = {}
    for system, skill, kindness in (("a", 0.3, 0.4 + favour), ("b", 0.0, 0.4)):
        quality = skill + easy + 0.8 * rng.normal(size=units)
        seen = quality + kindness + 0.8 * rng.normal(size=units)
        truth, score = (1 / (1 + np.exp(-value)) for value in (quality, seen))
        if kind == "binary":
            truth, score = ((value > 0.5).astype(float) for value in (truth, score))
        made[system] = (np.round(score, 2), truth, np.where(labelled, truth, np.nan))
    return made


def long(rng: np.random.Generator, **options: object) -> pd.DataFrame:
    """A table of item, system, judge and human."""
    parts = []
    for system, (score, _, label) in outputs(rng, **options).items():
        item = [f"q{number:04d}" for number in range(len(score))]
        columns = {"item": item, "system": system, "judge": score, "human": label}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def wide(rng: np.random.Generator, **options: object) -> pd.DataFrame:
    """A table of item, and for each system its scores and its labels."""
    columns = {}
    for system, (score, _, label) in outputs(rng, **options).items():
        columns |= {system: score, f"{system}_human": label}
    table = pd.DataFrame(columns)
    table.insert(0, "item", [f"q{number:04d}" for number in range(len(table))])
    return table
