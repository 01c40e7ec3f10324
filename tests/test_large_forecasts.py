"""Forecasts that are read once, block by block: the numbers of memory."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from large_forecasts import CASES, METRICS, SHARDS, frame, held, long, summed

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.drawing.tables import Html
from evalkit.limits import Limits, Reading
from evalkit.pages import explorer, first_screen, page, rating_page
from evalkit.statistics.statistic import HeldRows
from evalkit.studies import rating, reliability

LAYOUTS = {"wide": frame, "long": lambda: long(frame())}
OTHER = ("wape",)  # with another method of few rows


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
    assert isinstance(kept.sample, HeldRows)
    assert not isinstance(reduced.sample, HeldRows)
    for name in ("estimates", "comparisons", "by_segment", "tenths", "parts", "spread"):
        same(getattr(kept, name), getattr(reduced, name), rel)
    same(kept.extremes(), reduced.extremes())
    for name in ("cells", "histogram"):
        same(getattr(kept, name)(kept.order), getattr(reduced, name)(reduced.order))
    same(kept.error_cells, reduced.error_cells)
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
def test_many_rows_at_any_memory(case):
    data, given = frame(20_000, units=5_000), MANY[case]
    kept, reading = held(data, **given), Reading(rows=1_000, shard=2_400, row=20_000, units=100)
    for memory in ("1GB", "250MB"):
        reduced = summed(data, Limits(flipped=1, reading=reading), memory=memory, threads=2, **given)
        for name in ("estimates", "comparisons", "by_segment"):
            same(getattr(kept, name), getattr(reduced, name))
        for name in kept.order:
            counted = reduced.errors[name]
            assert np.array_equal(counted.values, kept.errors[name].values)
            assert np.array_equal(counted.rows, kept.errors[name].rows)


@pytest.mark.parametrize("case", CASES)
def test_few_units_have_the_methods_of_memory(case):
    given = {"metrics": METRICS, "segments": "country", **CASES[case]}
    kept, reduced = rating.read(frame(), **given), summed(frame(), Limits(reading=SHARDS), **given)
    for name in ("estimates", "by_segment"):
        a, b = (getattr(study, name) for study in (kept, reduced))
        for side in ("value", "low", "high"):
            rel = 1e-9 if side == "value" else 2e-5  # rows of weight 0 that take no part are units all the same
            np.testing.assert_allclose(b[side], a[side], rtol=rel, err_msg=f"{name} {side}")
    a, b = kept.comparisons, reduced.comparisons  # signs are drawn for units in another order
    np.testing.assert_allclose(b["difference"], a["difference"], rtol=1e-9)
    np.testing.assert_allclose(b["high"] - b["low"], a["high"] - a["low"], rtol=0.02)


def test_heavy_tails_have_the_limits_of_memory():
    rng = np.random.default_rng(5)
    actual = rng.gamma(2, 2, 30_000)
    data = pd.DataFrame({"actual": actual} | {f"forecast_{n}": actual + rng.standard_t(2.5, 30_000) for n in "ab"})
    kept, reduced = (read(data, metrics="r2,r2_correlation,wape,rmse,mae") for read in (held, summed))
    for name in ("estimates", "comparisons"):
        a, b = (getattr(study, name) for study in (kept, reduced))
        np.testing.assert_allclose(b["high"] - b["low"], a["high"] - a["low"], rtol=1e-3)


@pytest.mark.parametrize("case", ["plain", "units"])
def test_rows_drawn_say_how_sure_they_are(case):
    given = {"metrics": "median_absolute_error,mae", **CASES[case]}
    reading, data = Reading(rows=100, shard=2_000, row=10**9, units=100), frame(20_000, units=3_000)
    few = Limits(flipped=1, reading=reading, drawn=4_000)
    kept, reduced = held(data, **given), summed(data, few, **given)
    assert 0.001 < reduced.unsure < 0.08
    for name in ("estimates", "comparisons", "tenths"):
        a, b = (getattr(study, name) for study in (kept, reduced))
        numbers = [column for column in a if column in ("value", "difference", "bias", "forecast", "actual")]
        np.testing.assert_allclose(b[numbers], a[numbers], rtol=1e-10)
        np.testing.assert_allclose(b["high"] - b["low"], a["high"] - a["low"], rtol=3.5 * reduced.unsure)
    shuffled = summed(data.sample(frac=1, random_state=2), few, threads=2, **given)
    assert np.array_equal(np.sort(shuffled.kept.sample.rows.key), np.sort(reduced.kept.sample.rows.key))
    same(reduced.estimates, shuffled.estimates)
    assert "drawn by a hash" in rating_page.findings(reduced).text
    assert "drawn by a hash" not in rating_page.findings(kept).text
    cells = reduced.cells(["near"])
    assert 0.95 * 20_000 < cells["rows"].sum() < 1.001 * 20_000


def test_equal_rows_without_ids_are_drawn_as_one():
    rng = np.random.default_rng(8)
    actual, forecast = rng.integers(1, 6, (2, 3_000)).astype(float)
    data = pd.DataFrame({"actual": actual, "forecast": forecast})
    study = summed(data, Limits(reading=SHARDS, drawn=30))
    assert len(study.kept.sample.rows) == 25
    assert study.kept.sample.drawn.times[0].sum() == 3_000
    assert study.unsure == 0


def test_bands_are_those_of_memory():
    kept, reduced = held(frame()), summed(frame())
    a, b = (reliability.drawn_means(study.means) for study in (kept, reduced))
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
        data, Limits(bins=400, flipped=1, reading=SHARDS), metrics=METRICS.replace("mase,", "")
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
    pieces += [rating_page.error_histogram_plot(study), rating_page.decomposition(study)]
    pieces += [of(study) for of in (first_screen.verdict, page.comparisons, page.segments)]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


def test_the_page_says_the_same():
    given = {"metrics": "mae,bias,median_absolute_error,rmse", "segments": "country"}
    kept, reduced = held(frame(), **given), summed(frame(), **given)
    assert words(reduced) == words(kept)
    assert explorer.recorded(reduced) == {}
    by_unit = summed(frame(), Limits(reading=SHARDS, drawn=300), unit="user_id")
    assert "Bands of the reliability diagrams: none" in rating_page.findings(by_unit).text
    assert "Grey" not in rating_page.reliability_plot(by_unit).alt
    bundle = rating_page.results(reduced)._repr_mimebundle_()["application/vnd.evalkit+json"]
    assert json.loads(json.dumps(bundle))["population"]["rows"] == 1000


def test_a_loss_that_leaves_out_other_rows_needs_the_rows():
    data = frame(500).assign(forecast_far=lambda d: np.where(d.index < 10, -1.0, d["forecast_far"].abs() + 1))
    with pytest.raises(ParameterError, match="poisson_deviance leaves rows out that differ by system"):
        summed(data.assign(forecast_near=data["forecast_near"].abs() + 1), metrics="poisson_deviance")


def test_changed_methods_are_named():
    assert "delta method" in replace(summed(frame(), metrics="wape")).intervals_are


def test_a_segment_that_an_own_metric_computes_with_keeps_its_texts(tmp_path):
    path = tmp_path / "rows.csv"
    frame().assign(country=lambda rows: rows["age"] % 3 + 1).to_csv(path, index=False)
    scaled = ek.mean(name="scaled")(lambda actual, forecast, country: np.abs(actual - forecast) / country)
    studies = [make(path, metrics=[scaled], segments="country") for make in (held, summed)]
    same(studies[0].by_segment, studies[1].by_segment)
    assert [part.label for part in studies[1].slices] == ["1", "2", "3"]
    path.write_text(path.read_text().replace(",2,", ",two,"), encoding="utf-8")
    for make in (held, summed):
        with pytest.raises(InputError, match=r"country must be a number, got 'two' \(row \d+\)"):
            make(path, metrics=[scaled], segments="country")
