"""Binary tables that are read twice and never kept: the same at every limit of memory, with every piece of the page."""

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from large_tables import CASES, LESS, SHARDS, classified, frame, grids, text

from evalkit.limits import USUAL, Reading
from evalkit.pages import classification_page
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.tables.table import groups, slices

SCHEMA = Path(__file__).parents[1] / "evalkit" / "schema.json"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """120,000 rows with ties, text ids, whole weights, groups, in three Parquet files."""
    folder = tmp_path_factory.mktemp("table")
    data = frame(120_000, seed=5, ties=4, units=30_000)
    for i, part in enumerate(np.array_split(np.arange(len(data)), 3)):
        data.iloc[part].to_parquet(folder / f"part{i}.parquet")
    return folder, data


@pytest.mark.parametrize("most", [2**20, 1000], ids=["exact", "binned"])
@pytest.mark.parametrize("weight", ["heavy", "exact"])
def test_counts_are_the_same_at_every_limit(table, most, weight):
    folder, data = table
    weighed = {"columns": {"weight": weight}}
    whole, counted = grids(folder, 10**9, 10**6, most, **weighed)
    small, again = grids(folder, 250 * 10**6, 7_000, most, **weighed)
    assert counted.tolist() == again.tolist() == [len(data), int(data["label"].sum()), 0, 0, 0, 0]
    assert sorted(whole) == sorted(small) == [(group, system) for group in range(4) for system in range(2)]
    for key, one in whole.items():
        assert one.shift == small[key].shift
        assert (one.shift > 0) == (most == 1000)
        for name in ("low", "high", "positive", "negative"):
            assert np.array_equal(getattr(one, name), getattr(small[key], name)), (key, name)


def test_the_page_is_the_same_at_every_limit(table):
    folder, _ = table
    pages = []
    for memory, size in (("1GB", USUAL.reading.shard), ("250MB", 9_000)):
        limits = replace(LESS, bins=2**12, reading=Reading(rows=100_000, shard=size, row=10**9))
        asked = {"segments": "country", "unit": "user_id", "metrics": "roc_auc,average_precision,brier,f1"}
        pages.append(text(classified(str(folder), limits, memory=memory, **asked)))
    assert pages[0] == pages[1]
    assert re.search(r"Binning changes \w+'s roc_auc by less than 1e-", pages[0])


@pytest.mark.parametrize("case", ["plain", "units and weights", "one system"])
def test_every_piece_of_the_page_is_there(case):
    limits = replace(LESS, bins=200 if case == "one system" else 2**20, reading=SHARDS)
    study = classified(frame(), limits, segments="country", **CASES[case])
    assert study.data is None
    pieces = ("curve_plot", "base_rate_plot", "threshold_plot", "cost_plot", "calibration_plot", "top_plot")
    for name in (*pieces, "confusion_plot", "origin"):
        assert getattr(classification_page, name)(study) is not None
    published = classification_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]
    jsonschema.validate(published, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert "NaN" not in json.dumps(published)
    assert ("binning" in published) == (case == "one system")
    shown = text(study)
    assert ("none, nor limits of calibration" in shown) == (case == "units and weights")


def test_few_rows_are_known_without_counting(tmp_path):

    path = tmp_path / "a.csv"
    path.write_text("label,score\n" + "1,0.5\n" * 100)
    assert Predicted.of(str(path)).few(200)
    assert not Predicted.of(str(path)).few(50)


@pytest.mark.parametrize("rows", [4, 100, 1001])
def test_groups_of_counted_values_are_those_of_the_rows(rows):
    rng = np.random.default_rng(rows)
    for values in (rng.integers(0, 200, rows), rng.choice([f"t{i}" for i in range(40)], rows), rng.random(rows)):
        texts = values.astype(str)
        names, code = np.unique(texts, return_inverse=True)
        found = groups(names, np.bincount(code))
        expected = slices("x", texts)
        assert found.labels == [one.label for one in expected]
        assert all(np.array_equal(found.of[code] == i, one.member) for i, one in enumerate(expected))
