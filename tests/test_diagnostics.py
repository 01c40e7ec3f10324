"""What findings are measured by: small slices, thresholds beyond all scores, thresholds that a precision rounds."""

import numpy as np
from samples import forecasts

from evalkit.pages import shared_findings
from evalkit.reading.tables.rules import DOUBLE, SINGLE
from evalkit.studies import diagnostics, rating

COUNTRY = np.where(np.arange(60) < 5, "few", "many")


def test_slices_below_twenty_units_are_small():
    study = rating.read(forecasts(country=COUNTRY), segments="country")
    assert diagnostics.small_slices(study) == ["country few"]
    assert diagnostics.most_units(study) == 60


def test_slices_that_cannot_show_a_difference_are_named():
    """Five units have 32 sign vectors: no p below 0.05 is possible."""
    study = rating.read(forecasts(country=COUNTRY), segments="country")
    assert diagnostics.untestable_slices(study) == ["country few"]
    assert diagnostics.untestable_slices(rating.read(forecasts(country=COUNTRY))) == []


def test_thresholds_at_the_ends_of_the_scores():
    ends = diagnostics.ends({"a": np.array([0.1, 0.9]), "b": np.array([0.4, 0.5])})
    assert ends == {"a": (0.1, 0.9), "b": (0.4, 0.5)}
    at = {"a": 0.9, "b": 0.4}
    (below,) = shared_findings.idle(at, ends)
    assert "at or below every score of b" in below.message
    (above,) = shared_findings.idle({"a": 0.91, "b": 0.5}, ends)
    assert "above every score of a" in above.message


def test_a_threshold_is_rounded_where_scores_are_single():
    (changed,) = diagnostics.rounded(0.7, {"a": SINGLE, "b": DOUBLE})
    assert (changed.systems, changed.everywhere) == (("a",), False)
    assert changed.value == np.float32(0.7)
    assert diagnostics.rounded(0.5, {"a": SINGLE}) == []


def test_ties_move_an_estimate_that_has_a_range():
    assert diagnostics.moved_by_ties({"worst_ties": 0.5, "best_ties": 0.6})
    assert not diagnostics.moved_by_ties({"worst_ties": 0.5, "best_ties": 0.5 + 4e-4})
    assert not diagnostics.moved_by_ties({})


def test_the_best_value_follows_the_direction_of_the_metric():
    study = rating.read(forecasts(country=COUNTRY), metrics="mae,r2,bias")
    values = study.estimates.set_index(["metric", "system"])["value"]
    assert diagnostics.best_value(study, "mae") == values["mae"].min()
    assert diagnostics.best_value(study, "r2") == values["r2"].max()
    assert np.isnan(diagnostics.best_value(study, "bias"))
