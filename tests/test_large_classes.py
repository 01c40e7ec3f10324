"""Several classes that are read and never kept: the numbers of memory."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from large_classes import CASES, DECIDED, METRICS, NAMES, SHARDS, decided, frame, held, summed

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.drawing.tables import Html
from evalkit.limits import Limits, Reading
from evalkit.pages import classes_page, classification_page, first_screen, page
from evalkit.pages.shared_findings import power

DATA = {"decided": (decided, DECIDED), "scored": (frame, METRICS)}
FRAMES = ("estimates", "comparisons", "by_segment", "by_class", "confused", "covered")
SCORED = ("tops", "calibration", "reliability", "parts", "curve")
KURTOSIS = ("macro_f1", "macro_precision", "macro_recall", "macro_f1_of_means", "balanced_accuracy")
KURTOSIS = (*KURTOSIS, "roc_auc_ovr", "map_classes")  # whose degrees of freedom in memory follow from the kurtosis
LIMITS = ("low", "high", "p", "adjusted", "detectable")


def same(a, b, rel=1e-12, *, but=()):
    """Counts and words to the last bit, other numbers up to rounding; but: metrics whose limits have other methods."""
    assert list(a.columns) == list(b.columns)
    assert len(a) == len(b)
    kept = ~a["metric"].isin(but).to_numpy() if "metric" in a else np.ones(len(a), bool)
    for name in a.columns:
        if a[name].dtype.kind not in "f":
            assert name == "method" or a[name].tolist() == b[name].tolist(), name
            continue
        some = kept if name in LIMITS else np.ones(len(a), bool)
        np.testing.assert_allclose(b[name][some], a[name][some], rtol=rel, atol=1e-12, err_msg=name)


def frames(study, names):
    """Every frame by its name."""
    of = {"parts": lambda: study.isotonic.parts, "curve": lambda: study.curve("roc")}
    return {name: of[name]() if name in of else getattr(study, name) for name in names}


def same_studies(kept, reduced, rel=1e-10):
    assert (kept.blocks, reduced.data) == (None, None)
    for name in kept.systems:
        a, b = (study.measured.confusion(name).table for study in (kept, reduced))
        assert np.array_equal(a, b) if not kept.weighted else np.allclose(a, b, rtol=1e-12)
        assert a.dtype == b.dtype
        assert np.array_equal(kept.measured.said(name), reduced.measured.said(name))
    assert np.array_equal(kept.sizes, reduced.sizes)
    for name in kept.systems if kept.scored else ():
        assert kept.measured.lower(name) == reduced.measured.lower(name)
        assert kept.measured.off(name) == reduced.measured.off(name)
    but = (*(() if kept.plain else KURTOSIS), "top@2")
    first, second = (frames(study, FRAMES) for study in (kept, reduced))
    for name, a in first.items():
        same(a, second[name], rel, but=but)
    for chosen in kept.settings.metrics:
        assert reduced.constant(chosen) == pytest.approx(kept.constant(chosen), rel=1e-10, nan_ok=True)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", DATA)
def test_numbers_are_those_of_memory(kind, case):
    read, metrics = DATA[kind]
    given = {"metrics": metrics, "segments": "country", **CASES[case]}
    same_studies(held(read(), **given), summed(read(), **given))


def test_pictures_are_those_of_memory():
    kept, reduced = held(frame()), summed(frame())
    assert list(kept.one_by_one) == list(reduced.one_by_one)
    for kind in ("roc", "pr"):
        same(kept.curve(kind), reduced.curve(kind))
        same(kept.bands(kind), reduced.bands(kind))
    same(kept.calibration, reduced.calibration)
    same(kept.reliability, reduced.reliability)
    for a, b in ((kept.isotonic, reduced.isotonic), (kept.each_reliability, reduced.each_reliability)):
        same(a.curve, b.curve)
        same(a.bands, b.bands)
    same(kept.tops[["system", "k", "value"]], reduced.tops[["system", "k", "value"]])


@pytest.mark.parametrize("case", ["real weights", "units"])
def test_many_rows_at_any_memory(case):
    data, given = frame(10_000, units=2_400), {"metrics": "accuracy,macro_f1,log_loss,roc_auc_ovr", **CASES[case]}
    kept = held(data, segments="country", **given)
    for memory in ("1GB", "250MB"):
        reading = Reading(rows=1_000, shard=1_800, row=20_000, units=100)
        same_studies(kept, summed(data, Limits(reading=reading), memory=memory, segments="country", **given))


def test_one_system_without_ids_in_two_tables():
    data = frame(systems=("near",)).drop(columns=["id", "system"])
    parts = [data[:600].drop(columns="country"), data[600:].drop(columns="country")]
    same_studies(held(parts), summed(parts))


def test_predicted_classes_beside_scores():
    data = frame().assign(predicted=lambda d: np.where(d.index % 7 == 0, "rail", d["label"]))
    kept, reduced = held(data), summed(data)
    assert sum(map(reduced.measured.lower, reduced.systems)) > 0
    same_studies(kept, reduced)


def test_classes_of_rows_without_a_match_are_none():
    data = decided()
    alone = data[data["system"] == "far"].head(3).assign(id=["x", "y", "z"], label="boat")
    same_studies(held(pd.concat([data, alone])), summed(pd.concat([data, alone])))
    assert summed(pd.concat([data, alone])).names == NAMES


def test_own_metrics_are_those_of_memory():
    @ek.mean(best="low", low=0)
    def far(label, predicted):
        return np.abs(label - predicted)

    @ek.ratio(best="high")
    def of_last(label, predicted):
        return (predicted == 3) & (label == 3), predicted == 3

    @ek.mean(best="high", undefined="the class is rare")
    def some(label, predicted):
        return np.where(label == 3, np.nan, label == predicted)

    given = {"metrics": [far, of_last, "accuracy"], "segments": "country"}
    kept, reduced = held(frame(), **given), summed(frame(), **given)
    same(kept.estimates, reduced.estimates, but=("of_last",))
    same(kept.comparisons, reduced.comparisons, but=("of_last",))
    with pytest.raises(ParameterError, match="some leaves rows out"):
        summed(frame(), metrics=[some])


def test_few_units_and_many_are_the_same():
    few = Limits(reading=replace(SHARDS, units=10**6))
    many = Limits(reading=replace(SHARDS, units=10))
    a, b = (summed(frame(), limits, metrics=METRICS, unit="user_id") for limits in (few, many))
    assert (a.blocks.schema.parted, b.blocks.schema.parted) == (True, False)
    for name in FRAMES:
        same(getattr(a, name), getattr(b, name), 1e-10)


def test_a_class_without_rows_is_undefined_as_in_memory():
    data = frame().assign(p_tram=0.0)
    given = {"metrics": "accuracy,macro_f1,macro_precision,roc_auc_ovr"}
    same_studies(held(data, **given), summed(data, **given))


def test_bins_are_bounded_and_said():
    rng = np.random.default_rng(4)
    data = frame(5000, systems=("near",)).drop(columns="system")
    scores = [f"p_{name}" for name in NAMES]
    data[scores] = np.clip(data[scores] + rng.random((5000, 4)) / 1e3, 0, 1)
    given = {"metrics": "roc_auc_ovr,map_classes,accuracy,log_loss"}
    kept, reduced = held(data, **given), summed(data, Limits(bins=2_000, reading=SHARDS), **given)
    a, b = (study.estimates.set_index("metric")["value"] for study in (kept, reduced))
    areas, text = ["roc_auc_ovr", "map_classes"], classes_page.findings(reduced).text
    for area, bound in zip(areas, reduced.measured.bounds, strict=True):
        assert 0 < bound < 0.02
        assert 0 < abs(a[area] - b[area]) <= bound
        assert power(bound) in text
    np.testing.assert_allclose(b.drop(areas), a.drop(areas), rtol=1e-12)
    assert "counted in bins" in text
    assert "counted in bins" not in classes_page.findings(kept).text


PIECES = ("title", "findings", "estimates", "curve_plot", "curves", "score_plot", "ks_plot", "thresholds")
PIECES = (*PIECES, "calibration_plot", "class_calibration_plot", "calibration", "decision_curve", "confusion_plot")


def words(study):
    pieces = [getattr(classification_page, name)(study) for name in (*PIECES, "confusion")]
    pieces += [of(study) for of in (first_screen.verdict, page.comparisons, page.segments)]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


def test_the_page_says_the_same():
    kept, reduced = held(frame(), segments="country"), summed(frame(), segments="country")
    assert words(reduced) == words(kept)
    assert "Single rows are not listed" in classification_page.explorer(reduced).text
    bundle = classification_page.results(reduced)._repr_mimebundle_()["application/vnd.evalkit+json"]
    assert json.loads(json.dumps(bundle))["population"]["rows"] == 1000


@pytest.mark.parametrize("metric", ["roc_auc_hand_till", "roc_auc_ovr_weighted", "roc_auc_ovo_weighted"])
def test_metrics_that_need_the_rows_are_refused_by_name(metric):
    with pytest.raises(ParameterError, match=f"metrics: {metric} needs all rows in memory, got 1,000 rows"):
        summed(frame(500), metrics=metric)


def test_units_of_too_many_cells_are_refused():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"id": np.arange(500).astype(str), "label": rng.integers(0, 60, 500).astype(str)})
    data = data.assign(predicted=data["label"], user=data["id"].str[0])
    with pytest.raises(ParameterError, match=r"unit: .* 60 classes have 3,600 cells"):
        summed(data, unit="user")


def test_changed_methods_are_named():
    by_unit = summed(frame(), metrics="macro_f1", unit="user_id")
    assert "delta method, on Kish's degrees of freedom" in by_unit.tests_are
