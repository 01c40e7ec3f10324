"""SVG paths in few bytes draw what they drew, and curves drawn from few points are the curves."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.drawing import curve_plots, figures, plots
from evalkit.drawing.curve_plots import STEPS, Panel
from evalkit.metrics.counts import Counts, count
from evalkit.studies import score_curves

STEP = re.compile(r"([MmLlHhVvz])([^MmLlHhVvz]*)")
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
COORDINATE = st.floats(-2000, 2000).map(lambda x: round(x, 6))
HALF, ASIDE = 0.5, 0.1  # of a pixel


def vertices(path):
    """The points of a path of straight lines, absolute; an independent reading of the SVG standard."""
    at, start, points = np.zeros(2), np.zeros(2), []
    for name, text in STEP.findall(path):
        numbers = [float(number) for number in NUMBER.findall(text)]
        if name == "z":
            at = start
            continue
        width = 1 if name in "HhVv" else 2
        for i in range(0, len(numbers), width):
            base = at if name.islower() else np.zeros(2)
            if width == 1:
                at = at.copy()
                axis = int(name in "Vv")
                at[axis] = base[axis] + numbers[i]
            else:
                at = base + numbers[i : i + 2]
            points.append(at)
            start = at if name in "Mm" else start
    return np.array(points)


@given(st.lists(st.tuples(COORDINATE, COORDINATE), min_size=2, max_size=30))
def test_every_point_stays_within_half_a_tenth(points):
    text = "M {} {} ".format(*points[0]) + " ".join(f"\nL {x} {y}" for x, y in points[1:])
    left = vertices(figures.compact(text))
    tenths = np.round(np.array(points) * figures.PLACES) / figures.PLACES
    moved = np.append([True, True], (np.diff(tenths[1:], axis=0) != 0).any(axis=1))
    np.testing.assert_allclose(left, tenths[moved], atol=1e-6)


@pytest.mark.parametrize("path", ["M 0 0 A 1 1 0 0 0 2 2", "", "M 1 2 S 3 4 5 6"])
def test_other_commands_stay(path):
    assert figures.compact(path) == path


def test_a_closed_line_goes_on_from_where_it_began():
    assert vertices(figures.compact("M 0 0 L 5 0 L 5 5 z L 1 1"))[-1].tolist() == [1, 1]


def two_classes(rows):
    rng = np.random.default_rng(rows)
    label = rng.random(rows) < 0.2
    return count(np.append(rng.normal(size=rows) + label, 9.0), np.append(label, False))  # the first row is negative


def many(rows, bins=2**14):
    """A table of so many rows in bins, as the first pass over a large file leaves it."""
    rng = np.random.default_rng(5)
    x = np.linspace(4, -4, bins)
    parts = [
        np.cumsum(rng.poisson(rows * share * np.exp(-((x - at) ** 2) / 2))) for share, at in ((1e-6, 1), (4e-6, 0))
    ]
    return Counts(x, parts[0], parts[1], parts[0][-1], parts[1][-1])


def line_of(svg, colour):
    """The longest path of a colour: the curve itself."""
    drawn = re.findall(rf'<path [^>]*?d="([^"]+)"[^>]*?style="[^"]*stroke: {colour}', svg)
    return vertices(max(drawn, key=len))


def between(line, share):
    """A point on each stretch of a line."""
    return line[:-1] + share * np.diff(line, axis=0)


def farthest(points, line):
    """By how many pixels a point lies above or below a line at most; the line may be a tenth to the side."""
    x, y = line.T
    left, right = points[:, 0] - ASIDE, points[:, 0] + ASIDE
    off = []
    ends = np.interp(left, x, y), np.interp(right, x, y)
    inside = np.searchsorted(x, left), np.searchsorted(x, right, side="right")
    for height, low, high, first, last in zip(points[:, 1], *ends, *inside, strict=True):
        near = np.concatenate([y[first:last], [low, high]])
        off.append(max(near.min() - height, height - near.max(), 0.0))
    return max(off)


@pytest.mark.parametrize("table", [two_classes(600), two_classes(10_000), many(10**7)], ids=["600", "10,000", "10M"])
@pytest.mark.parametrize(("kind", "steps"), [("roc", "default"), ("pr", STEPS), ("gain", "default")])
def test_the_drawn_curve_is_the_exact_one_within_half_a_pixel(table, kind, steps):
    exact = score_curves.CURVES[kind](table)
    panel = Panel(score_curves.points("a", exact), "x", "y", reference=((0, 1), (0, 1)), steps=steps)
    svg = figures.picture(curve_plots.panels, [panel], caption="c", size=(4.5, 3.9), panels=(1, 1)).svg
    corners = line_of(svg, curve_plots.REFERENCE["color"])[[0, -1]]  # where (0, 0) and (1, 1) lie
    points = np.column_stack([exact.x, exact.y])
    if steps == STEPS:
        back = np.column_stack([exact.x[:-1], exact.y[1:]])
        points = np.concatenate([points[:1], np.stack([back, points[1:]], axis=1).reshape(-1, 2)])
    points = corners[0] + points * (corners[1] - corners[0])
    drawn = line_of(svg, plots.COLOURS[0])
    assert max(farthest(between(drawn, share), points) for share in (0.0, 0.3, 0.7)) < HALF
    assert max(farthest(between(points, share), drawn) for share in (0.0, 0.5)) < HALF
