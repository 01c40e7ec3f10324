"""What cases need beyond the checkout: small tables made from seeds, small limits, Spark, data
beside the checkout.

`read_within` is the only place that knows the package from the inside: where its limits move to
another place, it follows.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import engine_samples
import judged_samples
import made_logs
import numpy as np
import pandas as pd
import pytest

from evalkit.limits import Limits, ReadingLimits
from evalkit.parameters.reports import REPORTS

ROOT = Path(__file__).resolve().parents[2]
LIMITS, SPARK = "small limits", "spark"
# every table is too large to be held, and falls into many shards; every Spark table is too large to
# be collected
SMALL = Limits(reading=replace(engine_samples.SHARDS, lists=0))
SMALL_SPARK = Limits(reading=ReadingLimits(rows=100, collected=100))


def there(need: str) -> bool:
    """True if a need can be met here; a need that is no word is a folder, relative to the project's
    root.
    """
    if need == SPARK:
        return find_spec("pyspark") is not None
    return need == LIMITS or (ROOT / need).is_dir()


def absent(needs: Iterable[str]) -> list[str]:
    """The needs that cannot be met here."""
    return [need for need in needs if not there(need)]


@contextlib.contextmanager
def met(needs: Iterable[str]) -> Iterator[None]:
    """Meets the needs of a case while it runs."""
    with pytest.MonkeyPatch.context() as patch:
        if LIMITS in needs:
            read_within(SMALL, patch)
        if SPARK in needs:
            start_spark()
            read_within(SMALL_SPARK, patch)
        yield


def read_within(limits: Limits, patch: pytest.MonkeyPatch) -> None:
    """The reports that take tables of any size read them within these limits."""
    for name, report in REPORTS.items():
        study = import_module(f"evalkit.studies.{name}")
        patch.setattr(study, "read", partial(_read, study, report, limits))


def _read(study: Any, report: Any, limits: Limits, **values: Any) -> Any:
    return study.study_of(report.from_raw(values), limits)


def start_spark() -> None:
    """A Spark session on two threads, which the reports find as the active one; it lives as long as
    this process.
    """
    sys.path.insert(0, str(ROOT / "tests" / "spark"))
    import local
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        return
    folder = Path(tempfile.mkdtemp())
    os.environ |= local.environment(folder)
    local.started(folder)


# Tables -------------------------------------------------------------------------------------------


def tables(folder: Path) -> None:
    """Write the small tables of the cases into a folder, the same ones on every machine."""
    wide = engine_samples.binary()
    made = {
        "wide": wide,
        "long": engine_samples.long(wide),
        "ranked": ranked(),
        "values": values(),
        "folds": folds(),
    }
    made |= {
        "trials": pd.DataFrame(
            {"page": ["a", "b", "c"], "successes": [61, 48, 30], "trials": [100, 100, 60]}
        ),
        "features": features(),
        "long_values": long_values(),
        "multileaved": multileaved(),
        "plans": plans(),
        "judged": judged_samples.long(np.random.default_rng(76), favour=0.6),
    }
    for name, frame in (made | semi_real()).items():
        (folder / name).mkdir()
        for i, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
            frame.iloc[rows].to_parquet(folder / name / f"part{i}.parquet", index=False)
    made_logs.inspect(folder / "logs", made_logs.answers(epochs=3))
    # what an earlier report published, of two systems
    shutil.copy(Path(__file__).parent / "report.json", folder)


def ranked() -> pd.DataFrame:
    """Three systems on 300 queries of 60 users: ties, unjudged items, a query that a system lacks,
    a segment.
    """
    rng = np.random.default_rng(4)
    n = 12_000
    frame = pd.DataFrame({"query": rng.integers(0, 300, n), "item": rng.integers(0, 60, n)})
    frame = frame.drop_duplicates(["query", "item"]).sort_values(
        ["query", "item"], ignore_index=True
    )
    frame["grade"] = rng.choice([0, 0, 0, 1, 2, np.nan], len(frame))
    frame["user_id"] = "u" + (frame["query"] % 60).astype(str)
    frame["country"] = frame["query"].map(lambda query: ["de", "fr", "it"][query % 3])
    gain = frame["grade"].fillna(0)
    noise = {"a": 1.0, "b": 1.5, "c": 4.0}
    parts = [
        frame.assign(system=name, score=np.round(gain + rng.normal(0, spread, len(frame)), 2))
        for name, spread in noise.items()
    ]
    whole = pd.concat(parts, ignore_index=True)
    return whole[~((whole["system"] == "b") & (whole["query"] == 7))]


def values() -> pd.DataFrame:
    """Three systems' values on 90 queries of 30 users."""
    rng = np.random.default_rng(1)
    base = rng.normal(0.5, 0.2, 90)
    systems = {
        name: np.round(base + gain + rng.normal(0, 0.1, 90), 4)
        for name, gain in (("a", 0.05), ("b", 0.02))
    }
    names = {"query": [f"q{i}" for i in range(90)], "user": [f"u{i % 30}" for i in range(90)]}
    return pd.DataFrame(names | systems | {"c": np.round(base, 4)})


def long_values() -> pd.DataFrame:
    """The same as one row a system, and a second metric of which less is better."""
    gain = (
        values()
        .melt(id_vars=["query", "user"], var_name="system", value_name="value")
        .assign(metric="gain")
    )
    return pd.concat(
        [gain, gain.assign(metric="minutes", value=np.round(10 * (1 - gain["value"]) ** 2, 3))]
    )


def folds() -> pd.DataFrame:
    """Two systems' accuracy in ten folds."""
    rng = np.random.default_rng(5)
    columns = {
        name: np.round(rng.normal(mean, 0.02, 10), 3) for name, mean in (("a", 0.83), ("b", 0.80))
    }
    return pd.DataFrame({"fold": range(10)} | columns)


def features() -> pd.DataFrame:
    """200 rows of 50 groups with two columns that tell the label and one that does not."""
    rng = np.random.default_rng(8)
    n = 200
    label = np.arange(n) % 2
    columns = {
        f"x{i}": np.round(rng.normal(label * shift, 1), 3)
        for i, shift in enumerate((1.0, 0.5, 0.0))
    }
    return pd.DataFrame(
        {"group": [f"g{i % 50}" for i in range(n)], "time": np.arange(n)}
        | columns
        | {"target": label}
    )


def multileaved() -> pd.DataFrame:
    """400 sessions of 80 users with items of three teams."""
    rng = np.random.default_rng(9)
    n = 400
    rows = pd.DataFrame(
        {"session": np.repeat(np.arange(n), 6), "position": np.tile(np.arange(1, 7), n)}
    )
    team = rng.permuted(np.tile(["a", "a", "b", "b", "c", "c"], (n, 1)), axis=1).ravel()
    appeal = pd.Series(team).map({"a": 0.35, "b": 0.25, "c": 0.15}).to_numpy()
    device = (rows["session"] % 2).map({0: "phone", 1: "web"})
    clicks = (rng.random(len(rows)) < appeal).astype(int)
    return rows.assign(
        user="u" + (rows["session"] % 80).astype(str), team=team, click=clicks, device=device
    )


def plans() -> pd.DataFrame:
    """The sample of an experiment with the names of columns that a log has too."""
    frame = pd.read_parquet(ROOT / "data" / "interleaving" / "health_plans.parquet")
    return frame.rename(columns={"block": "user", "plan": "arm"})


def semi_real() -> dict[str, pd.DataFrame]:
    """One experiment of the semi-real sessions, where they are; the ids of sessions repeat in each
    experiment.
    """
    file = ROOT / "../shared/data/interleaving_semi/sessions.parquet"
    if not file.exists():
        return {}
    frame = pd.read_parquet(file)
    return {"semi": frame[frame["experiment"] == frame["experiment"].min()]}
