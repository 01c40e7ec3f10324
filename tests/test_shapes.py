"""Every report on the shapes of tables that people have: systems, unit, n and value are right, or one line refuses."""

import math
import re
from typing import Any

import pytest
from shapes import (
    classification_shapes,
    interleaving_shapes,
    ranking_shapes,
    rating_shapes,
    significance_shapes,
    validation_shapes,
)
from shapes.shape import Refused, Right, Shape, write

from evalkit.arrays import InputError, ParameterError
from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

REPORTS = {
    "ranking": (ranking, ranking_shapes),
    "classification": (classification, classification_shapes),
    "rating": (rating, rating_shapes),
    "significance": (significance, significance_shapes),
    "validation": (validation, validation_shapes),
    "interleaving": (interleaving, interleaving_shapes),
}
CASES = [(name, shape) for name, (_, shapes) in REPORTS.items() for shape in shapes.SHAPES]


def read(report: str, shape: Shape, folder) -> Any:
    """The study of a shape; of the interleaving report the one that it holds."""
    study = REPORTS[report][0].read(**write(shape, folder))
    return (study.log or study.users) if report == "interleaving" else study


@pytest.mark.parametrize("report, shape", CASES, ids=[f"{report}: {shape.name}" for report, shape in CASES])
def test_a_table_is_understood_or_refused_in_one_line(report, shape, tmp_path):
    if isinstance(shape.expected, Refused):
        with pytest.raises((InputError, ParameterError)) as refusal:
            _ = read(report, shape, tmp_path).estimates
        assert re.search(shape.expected.pattern, str(refusal.value))
        assert "\n" not in str(refusal.value)
    else:
        check(read(report, shape, tmp_path), shape.expected)


def check(study: Any, expected: Right) -> None:
    """Fails where systems, unit, n or a value of the metric that decides is another."""
    primary = study.estimates[study.estimates["metric"] == study.primary.label].set_index("system")
    assert set(study.systems) == expected.systems
    assert study.unit_name == expected.unit
    assert primary["n"].max() == expected.n
    for system, value in expected.value.items():
        assert math.isclose(primary["value"][system], value, abs_tol=2e-12)
