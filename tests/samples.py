"""Real predictions with the values that public tools computed from them."""

import gzip
import json
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import settings

ANY_TIME = settings(deadline=None)  # a loaded machine is no error

ORACLES = Path(__file__).parent / "oracles"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"  # sets that must not be committed


@cache
def predictions(name: str) -> pd.DataFrame:
    return pd.read_parquet(ORACLES / f"{name}.parquet")


@cache
def expected(name: str) -> dict:
    return json.loads((ORACLES / f"{name}.json").read_text())


COMPARED = ("digits_retrieval", "trec_covid_demo", "lgb_lambdarank")


def compared(name: str) -> tuple[dict, dict]:
    """The values of each system, by query and measure, and the comparisons that public tools computed from them.

    Those of digits_retrieval are committed; sets that may not be are skipped where they are not beside the checkout.
    """
    committed = ORACLES / f"{name}.json.gz"
    if committed.exists():
        content = json.loads(gzip.decompress(committed.read_bytes()))
        return content["values"], content
    folder = SHARED / name / "expected"
    if not folder.exists():
        pytest.skip(f"{name} must not be committed, and is not beside the checkout")
    runs = {p.name.removesuffix(".l1.json.gz"): p for p in sorted(folder.glob("*.l1.json.gz"))}
    values = {r: json.loads(gzip.decompress(p.read_bytes()))["reference"]["per_query"] for r, p in runs.items()}
    return values, json.loads((folder / "compare.json").read_text())
