"""Forecasts that are read twice and never kept: the numbers of memory."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from large_forecasts import CASES, METRICS, SHARDS, frame, held, long, summed

from evalkit.arrays import InputError, ParameterError
from evalkit.drawing.tables import Html
from evalkit.limits import Limits, Reading
from evalkit.pages import explorers, first_screen, forecasts_page, page, rating_page
from evalkit.studies import forecast_spread, mean_reliability, rating
from evalkit.studies.rating_rows import RowsStudy
from evalkit.studies.rating_sums import SumsStudy

LAYOUTS = {"wide": frame, "long": lambda: long(frame())}
OTHER = ("r2", "r2_correlation", "wape")  # with other methods of few rows


def same(a, b, rel=1e-10):
    """Counts and words to the last bit, other numbers up to rounding; of methods that change the values alone."""
    assert list(a.columns) == list(b.columns)
    assert len(a) == len(b)
    for name in a.columns:
        if a[name].dtype.kind not in "f":
            assert name == "method" or a[name].tolist() == b[name].tolist(), name
            continue
        kept = np.ones(len(a), bool)
        if name in ("low", "high", "p", "adjusted", "detectable") and "metric" in a:
            kept = ~a["metric"].isin(OTHER).to_numpy()
        np.testing.assert_allclose(b[name][kept], a[name][kept], rtol=rel, atol=1e-11, err_msg=name)


def same_studies(kept, reduced, rel=1e-10):
    assert isinstance(kept, RowsStudy)
    assert isinstance(reduced, SumsStudy)
    for name in ("estimates", "comparisons", "by_segment", "tenths", "parts", "spread"):
        same(getattr(kept, name), getattr(reduced, name), rel)
    same(kept.extremes(), reduced.extremes())
    for of in (forecast_spread.cells, forecast_spread.errors):
        same(of(kept, kept.order), of(reduced, reduced.order))
    same(forecast_spread.error_cells(kept), forecast_spread.error_cells(reduced))
    assert vars(reduced.actual) == pytest.approx(vars(kept.actual), rel=1e-12)
    assert reduced.heavy == pytest.approx(kept.heavy, rel=1e-12)
    assert reduced.units == kept.units
    for chosen in kept.settings.metrics:
        for of in ("constant", "constant_median"):
            assert getattr(reduced, of)(chosen) == pytest.approx(
                getattr(kept, of)(chosen), rel=1e-10, abs=1e-12, nan_ok=True
            )


TWICE = [("wide", case) for case in CASES] + [("long", "plain"), ("long", "units and weights")]


@pytest.mark.parametrize(("layout", "case"), TWICE)
def test_numbers_are_those_of_memory(layout, case):
    given = {"metrics": METRICS, "segments": "country,age", **CASES[case]}
    data = LAYOUTS[layout]()
    same_studies(held(data, **given), summed(data, **given))


MANY = {
    "weights": {"metrics": METRICS, "columns": "{weight: exact}", "segments": "country"},
    "units": {"metrics": "mae,median_absolute_error", "unit": "user_id"},
}


@pytest.mark.parametrize("case", MANY)
def test_a_hundred_thousand_rows_at_any_memory(case):
    data, given = frame(100_000, units=25_000), MANY[case]
    kept, reading = held(data, **given), Reading(rows=1_000, shard=12_000, row=20_000, units=100)
    for memory in ("1GB", "250MB"):
        reduced = summed(data, Limits(reading=reading), memory=memory, threads=2, **given)
        for name in ("estimates", "comparisons", "by_segment"):
            same(getattr(kept, name), getattr(reduced, name))
        for name in kept.order:
            counted = reduced.errors[name]
            values, rows = np.unique(kept.errors[name].values, return_counts=True)
            assert np.array_equal(counted.values, values)
            assert np.array_equal(counted.rows, rows)


def test_bands_are_those_of_memory():
    kept, reduced = held(frame()), summed(frame())
    a, b = (mean_reliability.drawn(study.means) for study in (kept, reduced))
    same(a.curve, b.curve)
    same(a.bands, b.bands)
    same(a.spread, b.spread)


def test_one_system_without_ids():
    data = frame()[["actual", "forecast_far"]].rename(columns={"forecast_far": "forecast"})
    parts = [data[:600], data[600:]]
    same_studies(held(parts), summed(parts))


def test_bins_are_bounded_and_said():
    rng = np.random.default_rng(4)
    actual = rng.gamma(2, 2, 5000)
    data = pd.DataFrame({"actual": actual, "forecast": actual + rng.normal(0, 1, 5000)})
    kept, reduced = held(data, metrics=METRICS.replace("mase,", "")), summed(
        data, Limits(bins=400, reading=SHARDS), metrics=METRICS.replace("mase,", "")
    )  # fmt: skip
    a, b = (study.estimates.set_index("metric")["value"] for study in (kept, reduced))
    assert 0 < reduced.bound < 0.1
    assert abs(a["median_absolute_error"] - b["median_absolute_error"]) <= reduced.bound
    np.testing.assert_allclose(b.drop("median_absolute_error"), a.drop("median_absolute_error"), rtol=1e-10)
    quantiles = (study.spread.drop(columns="system").to_numpy() for study in (kept, reduced))
    assert np.abs(np.subtract(*quantiles)).max() <= reduced.bound
    assert "counted in bins" in rating_page.findings(reduced).text
    assert "counted in bins" not in rating_page.findings(kept).text


def words(study):
    names = ("title", "findings", "tenths", "spread", "extremes")
    pieces = [getattr(rating_page, name)(study) for name in names]
    pieces += [forecasts_page.error_histogram_plot(study), forecasts_page.decomposition(study)]
    pieces += [of(study) for of in (first_screen.verdict, page.comparisons, page.segments)]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


def test_the_page_says_the_same():
    given = {"metrics": "mae,bias,median_absolute_error,rmse", "segments": "country"}
    kept, reduced = held(frame(), **given), summed(frame(), **given)
    assert words(reduced) == words(kept)
    assert explorers.recorded(reduced) == {}
    by_unit = summed(frame(), unit="user_id")
    assert "Bands of the reliability diagrams: none" in rating_page.findings(by_unit).text
    assert "Grey" not in forecasts_page.reliability_plot(by_unit).alt
    bundle = rating_page.results(reduced)._repr_mimebundle_()["application/vnd.evalkit+json"]
    assert json.loads(json.dumps(bundle))["population"]["rows"] == 1000


def put(data, column, row, value):
    data = data.reset_index(drop=True)
    data[column] = data[column].astype(object)
    data.loc[row, column] = value
    return data


BAD = {
    "weights all 0": (lambda d: d.assign(heavy=0), {"columns": "{weight: heavy}"}),
    "id twice": (lambda d: d.assign(id=d["id"].replace("row 200", "row 20")), {}),
    "no such system": (lambda d: d, {"systems": "near,none"}),
    "long: actual values differ": (lambda d: put(long(d), "actual", 5, 99.5).astype({"actual": float}), {}),
    "long: nothing shared": (lambda d: long(d).pipe(lambda x: x.assign(id=x["id"] + x["system"])), {}),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_inputs_are_refused_as_in_memory(case):
    spoilt, given = BAD[case]
    data = spoilt(frame(500))
    messages = []
    for read in (rating.read, summed):
        with pytest.raises((InputError, ParameterError)) as caught:
            read(data, **given)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_loss_that_leaves_out_other_rows_needs_the_rows():
    data = frame(500).assign(forecast_far=lambda d: np.where(d.index < 10, -1.0, d["forecast_far"].abs() + 1))
    with pytest.raises(ParameterError, match="poisson_deviance leaves rows out that differ by system"):
        summed(data.assign(forecast_near=data["forecast_near"].abs() + 1), metrics="poisson_deviance")


def test_changed_methods_are_named():
    assert "delta method" in replace(summed(frame(), metrics="wape")).intervals_are
