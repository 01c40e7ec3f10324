"""Several labels a row that are read and never kept: the numbers of memory."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from large_labels import CASES, METRICS, NAMES, SHARDS, frame, held, summed

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.class_metrics import LABELS
from evalkit.catalogue.kinds import RatioOfRows
from evalkit.catalogue.metric import Combined
from evalkit.drawing.tables import Html
from evalkit.limits import Limits, Reading
from evalkit.pages import classification_page, first_screen, labels_page, page
from evalkit.pages.shared_findings import power
from evalkit.statistics.statistic import OfRows
from evalkit.studies.labels import LabelsStudy

LIMITS = ("low", "high", "p", "adjusted", "detectable", "difference_low", "difference_high")
COUNTS = ("n", "tp", "fp", "fn", "tn")
RATIOS = [metric.name for metric in LABELS.values() if isinstance(metric.kind, RatioOfRows)]  # jackknife in memory
MEANS = [
    metric.name for metric in LABELS.values() if isinstance(metric.kind, Combined)
]  # there tests of units use the kurtosis


def same(a, b, rel=1e-10, *, but=(), column="metric"):
    """Counts and words to the last bit, other numbers up to rounding; but: metrics whose limits have other methods."""
    assert list(a.columns) == list(b.columns)
    assert len(a) == len(b)
    kept = ~a[column].isin(but).to_numpy() if column in a else np.ones(len(a), bool)
    for name in a.columns:
        if a[name].dtype.kind not in "f":
            assert name == "method" or a[name].tolist() == b[name].tolist(), name
            continue
        some = kept if name in LIMITS else np.ones(len(a), bool)
        np.testing.assert_allclose(b[name][some], a[name][some], rtol=rel, atol=1e-12, err_msg=name)


def same_studies(kept, reduced, rel=1e-10):
    assert isinstance(kept, LabelsStudy)
    assert (kept.blocks, reduced.data) == (None, None)
    same(kept.estimates, reduced.estimates, rel, but=RATIOS)
    same(kept.comparisons, reduced.comparisons, rel, but=RATIOS if kept.plain else [*RATIOS, *MEANS])
    a, b = (study.by_segment.assign(metric=kept.primary.label) for study in (kept, reduced))
    differences = [name for name in ("difference_low", "difference_high", "p", "adjusted") if name in a]
    others = kept.primary.label in MEANS and not kept.plain
    same(*(frame.drop(columns=differences) if others else frame for frame in (a, b)), rel, but=RATIOS)
    for name in ("by_label", "tops", "mean_scores"):
        same(getattr(kept, name), getattr(reduced, name), rel)
    same(kept.sweep, reduced.sweep, rel, but=RATIOS, column="system")
    assert kept.by_label[list(COUNTS)].equals(reduced.by_label[list(COUNTS)])
    assert kept.sizes.tolist() == reduced.sizes.tolist()
    assert [*map(kept.measured.ends, kept.systems)] == [*map(reduced.measured.ends, kept.systems)]
    first, second = ((*study.measured.per_row, *study.best) for study in (kept, reduced))
    assert second == pytest.approx(first, rel=1e-12)
    for chosen in kept.settings.metrics:
        assert reduced.constant(chosen) == pytest.approx(kept.constant(chosen), rel=1e-10, nan_ok=True)
        for name in kept.systems:
            first, second = (study.measure(chosen, name) for study in (kept, reduced))
            assert second.value == pytest.approx(first.value, rel=1e-12)
            if chosen.label in RATIOS:
                assert second.error() == pytest.approx(first.error(), rel=rel)


FIRSTS = ("samples_f1", "exact_match", "map_classes", "weighted_precision")


@pytest.mark.parametrize(
    "case, first", [(case, FIRSTS[i % 4]) for i, case in enumerate(CASES)] + [("plain", first) for first in FIRSTS[1:]]
)
def test_numbers_are_those_of_memory(case, first):
    given = {"metrics": f"{first},{METRICS}", "segments": "country", **CASES[case]}
    same_studies(held(frame(), **given), summed(frame(), **given))


@pytest.mark.parametrize("case", ["plain", "weights"])
def test_a_ratio_over_labels_varies_by_row_as_in_memory(case):
    given = {"metrics": "micro_precision,micro_f1", **CASES[case]}
    kept, reduced = held(frame(), **given), summed(frame(), **given)
    for number in (0, 10, 40):
        for name in RATIOS:
            first, second = (study.at_step(lookup.find(name, "labels"), number) for study in (kept, reduced))
            assert isinstance(first, OfRows)
            assert second.value == pytest.approx(first.value, rel=1e-12)
            assert second.error() == pytest.approx(first.error(), rel=1e-10)
    np.testing.assert_allclose(reduced.estimates[["low", "high"]], kept.estimates[["low", "high"]], rtol=1e-3)


def test_rows_that_a_system_leaves_out_are_paired_as_in_memory():
    given = {"metrics": "samples_f1,samples_jaccard,ranking_loss", "threshold": 0.7}
    kept, reduced = held(frame(), **given), summed(frame(), **given)
    assert kept.estimates["n"].nunique() > 2
    same(kept.comparisons, reduced.comparisons)


def test_pictures_are_those_of_memory():
    kept, reduced = held(frame()), summed(frame())
    assert list(kept.one_by_one) == list(reduced.one_by_one)
    for kind in ("roc", "pr"):
        same(kept.curve(kind), reduced.curve(kind))
    same(kept.each_reliability.curve, reduced.each_reliability.curve)
    same(kept.each_reliability.bands, reduced.each_reliability.bands)


@pytest.mark.parametrize("case", ["plain", "real weights", "units and weights"])
def test_many_rows_at_any_memory(case):
    metrics = "samples_f1,micro_f1,macro_f1,exact_match,map_classes,ranking_loss,coverage_error"
    data, given = frame(10_000, units=2_400), {"metrics": metrics, "segments": "country", **CASES[case]}
    kept, several = held(data, **given), []
    for memory in ("1GB", "250MB"):
        reading = Reading(rows=1_000, shard=1_800, row=20_000, units=100)
        several.append(summed(data, Limits(reading=reading), memory=memory, **given))
        same_studies(kept, several[-1])
    assert several[0].by_label[list(COUNTS)].equals(several[1].by_label[list(COUNTS)])


def test_one_system_without_ids_in_two_tables():
    data = frame(systems=("near",)).drop(columns=["id", "system"])
    parts = [data[:600].drop(columns="country"), data[600:].drop(columns="country")]
    same_studies(held(parts), summed(parts))


def test_scores_of_single_precision_round_the_threshold():
    data = frame(systems=("near",)).astype({f"p_{name}": "float32" for name in NAMES})
    kept, reduced = held(data, threshold=0.7), summed(data, threshold=0.7)
    assert reduced.precision == kept.precision
    same_studies(kept, reduced)


def test_scores_that_are_no_probabilities():
    data = frame().assign(**{f"p_{name}": frame()[f"p_{name}"] * 8 - 4 for name in NAMES})
    with pytest.raises(ParameterError, match="scores outside 0 to 1 have no default threshold"):
        summed(data)
    kept, reduced = held(data, threshold=0.5), summed(data, threshold=0.5)
    assert (kept.probabilities, reduced.probabilities) == (False, False)
    same(kept.estimates, reduced.estimates, but=RATIOS)
    findings = labels_page.findings(reduced).text
    assert without_sums(findings) == labels_page.findings(kept).text


def test_a_label_that_no_row_has_is_undefined_as_in_memory():
    data = frame().assign(y_sport=0)
    given = {"metrics": "micro_f1,macro_f1,weighted_f1,map_classes,roc_auc_macro"}
    kept, reduced = held(data, **given), summed(data, **given)
    same(kept.estimates, reduced.estimates, but=RATIOS)
    same(kept.by_label, reduced.by_label)
    assert np.isnan(reduced.estimates.set_index("metric")["value"]["map_classes"]).all()


@pytest.mark.parametrize("given", [{"baseline": "near"}, {"metrics": "map_classes,micro_f1"}])
def test_the_leader_is_that_of_memory(given):
    data = frame() if "baseline" in given else frame().assign(y_sport=0)
    kept, reduced = held(data, **given), summed(data, **given)
    assert reduced.leader == kept.leader == "far"
    same(kept.sweep, reduced.sweep, but=RATIOS, column="system")
    same(kept.mean_scores, reduced.mean_scores)


def test_own_metrics_are_those_of_memory():
    @ek.mean(best="low", low=0)
    def far(label, score):
        return np.abs(label - score).mean(axis=1)

    @ek.ratio(best="high")
    def of_first(label, predicted):
        return label[:, 0] & predicted[:, 0], predicted[:, 0]

    given = {"metrics": [far, of_first, "exact_match"], "segments": "country"}
    kept, reduced = held(frame(), **given), summed(frame(), **given)
    same(kept.estimates, reduced.estimates, but=("of_first",))
    same(kept.comparisons, reduced.comparisons, but=("of_first",))


def test_few_units_and_many_are_the_same():
    few = Limits(reading=replace(SHARDS, units=10**6))
    many = Limits(reading=replace(SHARDS, units=10))
    a, b = (summed(frame(), limits, metrics=METRICS, unit="user_id") for limits in (few, many))
    assert (a.blocks.schema.parted, b.blocks.schema.parted) == (True, False)
    for name in ("estimates", "comparisons", "by_label", "sweep"):
        same(getattr(a, name), getattr(b, name))


def test_bins_are_bounded_and_said():
    rng = np.random.default_rng(4)
    data = frame(5000, systems=("near",)).drop(columns="system")
    scores = [f"p_{name}" for name in NAMES]
    data[scores] = np.clip(data[scores] + rng.random((5000, 4)) / 1e3, 0, 1)
    given = {"metrics": "roc_auc_macro,map_classes,macro_f1,exact_match,ranking_loss"}
    kept, reduced = held(data, **given), summed(data, Limits(bins=2_000, reading=SHARDS), **given)
    a, b = (study.estimates.set_index("metric")["value"] for study in (kept, reduced))
    areas, text = ["roc_auc_macro", "map_classes"], labels_page.findings(reduced).text
    for area, bound in zip(areas, reduced.measured.bounds, strict=True):
        assert 0 < bound < 0.02
        assert 0 < abs(a[area] - b[area]) <= bound
        assert power(bound) in text
    np.testing.assert_allclose(b.drop(areas), a.drop(areas), rtol=1e-12)
    assert "counted in bins" in text
    assert "counted in bins" not in labels_page.findings(kept).text


def test_labels_that_come_together_in_too_many_ways_have_no_reference():
    rng = np.random.default_rng(6)
    score = rng.random((300, 60))
    actual = rng.random((300, 60)) < score
    data = pd.DataFrame({f"p_{j}": score[:, j] for j in range(60)} | {f"y_{j}": actual[:, j] + 0 for j in range(60)})
    assert not summed(data).measured.together
    text = labels_page.estimates(summed(data)).html
    assert "is left out: it needs fewer labels, or all rows in memory" in text
    assert "(labels' shares)" not in text


PIECES = (
    "title",
    "findings",
    "estimates",
    "curve_plot",
    "curves",
    "score_plot",
    "ks_plot",
    "thresholds",
    "threshold_plot",
)
PIECES = (*PIECES, "calibration_plot", "class_calibration_plot", "calibration", "decision_curve", "confusion", "top")


def words(study):
    pieces = [getattr(classification_page, name)(study) for name in PIECES]
    pieces += [of(study) for of in (first_screen.verdict, page.comparisons, page.segments)]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


def test_the_page_says_the_same():
    given = {"metrics": "macro_f1,exact_match,map_classes,ranking_loss", "segments": "country"}
    kept, reduced = held(frame(), **given), summed(frame(), **given)
    assert without_sums(words(reduced)).replace("influence sums, two passes", "delta method").replace(
        "influence sums", "delta method"
    ) == words(kept)
    assert "Single rows are not listed" in classification_page.explorer(reduced).text
    bundle = classification_page.results(reduced)._repr_mimebundle_()["application/vnd.evalkit+json"]
    assert json.loads(json.dumps(bundle))["population"]["rows"] == 1000


def without_sums(text):
    """A page without the finding that single rows are not kept."""
    assert "Above 100 rows, single rows are not kept" in text
    return "\n".join(line for line in text.splitlines() if "single rows are not kept" not in line)


def test_metrics_that_need_the_rows_are_refused_by_name():
    @ek.mean(best="high")
    def dear(label, exact):
        return label.sum(axis=1) * exact

    with pytest.raises(ParameterError, match="metrics: dear needs all rows in memory, got 1,000 rows"):
        summed(frame(500), metrics=[dear])


def test_changed_methods_are_named():
    plain, by_unit = summed(frame(), metrics="micro_f1,macro_f1"), summed(frame(), metrics="macro_f1", unit="user_id")
    assert "micro_f1: delta method" in plain.intervals_are
    assert "delta method, on Kish's degrees of freedom" in by_unit.tests_are
