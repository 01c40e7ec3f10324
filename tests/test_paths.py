"""Paths of the SVG, and the curves that they draw: the exact ones within half a pixel."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from evalkit.drawing import curve_plots, figures, plots
from evalkit.drawing.curve_plots import STEPS, Panel
from evalkit.metrics import calibration
from evalkit.metrics.calibration import expit
from evalkit.metrics.counts import Counts, count
from evalkit.metrics.curves import net_benefit
from evalkit.metrics.distributions import Distribution
from evalkit.metrics.rows import Rows
from evalkit.statistics import consistency
from evalkit.studies import decision_curves, reliability, score_curves

STEP = re.compile(r"([MmLlHhVvz])([^MmLlHhVvz]*)")
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
COORDINATE = st.floats(-2000, 2000).map(lambda x: round(x, 6))
HALF, ASIDE = 0.5, 0.1  # of a pixel


def vertices(path):
    """The points of a path of straight lines, absolute; an independent reading of the SVG
    standard.
    """
    at = np.zeros(2)
    start = np.zeros(2)
    points = []
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
    # the first row is negative
    return count(np.append(rng.normal(size=rows) + label, 9.0), np.append(label, False))


def many(rows, bins=2**14):
    """A table of so many rows in bins, as the first pass over a large file leaves it."""
    rng = np.random.default_rng(5)
    x = np.linspace(4, -4, bins)
    parts = [
        np.cumsum(rng.poisson(rows * share * np.exp(-((x - at) ** 2) / 2)))
        for share, at in ((1e-6, 1), (4e-6, 0))
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
    """By how many pixels a point lies above or below a line at most; the line may be a tenth to the
    side.
    """
    x, y = line.T
    left = points[:, 0] - ASIDE
    right = points[:, 0] + ASIDE
    off = []
    ends = np.interp(left, x, y), np.interp(right, x, y)
    inside = np.searchsorted(x, left), np.searchsorted(x, right, side="right")
    for height, low, high, first, last in zip(points[:, 1], *ends, *inside, strict=True):
        near = np.concatenate([y[first:last], [low, high]])
        off.append(max(near.min() - height, height - near.max(), 0.0))
    return max(off)


@pytest.mark.parametrize(
    "table", [two_classes(600), two_classes(10_000), many(10**7)], ids=["600", "10,000", "10M"]
)
@pytest.mark.parametrize(
    ("kind", "steps"), [("roc", "default"), ("pr", STEPS), ("gain", "default")]
)
def test_the_drawn_curve_is_the_exact_one_within_half_a_pixel(table, kind, steps):
    exact = score_curves.CURVES[kind](table)
    panel = Panel(
        score_curves.points("a", exact), "x", "y", reference=((0, 1), (0, 1)), steps=steps
    )
    svg = figures.picture(
        curve_plots.panels, [panel], caption="c", width=4.5, height=3.9, panels=(1, 1)
    ).svg
    corners = line_of(svg, curve_plots.REFERENCE["color"])[[0, -1]]  # where (0, 0) and (1, 1) lie
    points = np.column_stack([exact.x, exact.y])
    if steps == STEPS:
        back = np.column_stack([exact.x[:-1], exact.y[1:]])
        points = np.concatenate([points[:1], np.stack([back, points[1:]], axis=1).reshape(-1, 2)])
    points = corners[0] + points * (corners[1] - corners[0])
    drawn = line_of(svg, plots.COLOURS[0])
    assert max(farthest(between(drawn, share), points) for share in (0.0, 0.3, 0.7)) < HALF
    assert max(farthest(between(points, share), drawn) for share in (0.0, 0.5)) < HALF


SCALE = re.compile(r'data-([xy])="(\S+) (\S+) \S+"')


def chances(c):
    """The table with its scores made probabilities, without scores that no row has."""
    has = c.positive + c.negative > 0
    return replace(c, threshold=expit(c.threshold[has] - 1.5), tp=c.tp[has], fp=c.fp[has])


TABLES = {"600": two_classes(600), "10,000": two_classes(10_000), "10M": many(4 * 10**8)}
tables = pytest.mark.parametrize("c", [chances(c) for c in TABLES.values()], ids=TABLES)


def on_page(svg, x, y):
    """Points of the data as the SVG's coordinates."""
    scales = {axis: (float(low), float(step)) for axis, low, step in SCALE.findall(svg)}
    return np.column_stack(
        [(values - scales[axis][0]) / scales[axis][1] for axis, values in (("x", x), ("y", y))]
    )


def off(svg, colour, x, y):
    """By how much the drawn line of a colour and the exact line through these points differ at
    most.
    """
    exact = on_page(svg, np.asarray(x), np.asarray(y))
    drawn = line_of(svg, colour)
    drawn = drawn[drawn[:, 0] <= exact[-1, 0] + ASIDE]
    parts = [farthest(between(drawn, share), exact) for share in (0.0, 0.3, 0.7)]
    return max(*parts, farthest(exact, drawn))


def steps_after(x, y):
    """The corners of a line of steps that holds each value up to the next point."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


@tables
def test_reliability(c):
    detail = reliability.FigureDetail()
    drawn = reliability.reliability(
        {"a": c}, lambda: np.random.default_rng(1), draws=20, level=0.9, detail=detail
    )
    options = {
        "caption": "c",
        "width": 3.1,
        "height": 3.4,
        "panels": (1, 1),
        "ylabel": "y",
        "words": {"a": []},
    }
    svg = figures.picture(curve_plots.reliability, *vars(drawn).values(), **options).svg
    assert off(svg, plots.COLOURS[0], *calibration.isotonic_curve(c)) < HALF


@tables
def test_distribution_functions(c):
    frame = score_curves.distribution("a", c)
    widest = score_curves.distances({"a": c})
    options = {"caption": "c", "height": 3.0, "panels": (1, 1), "xlabel": "x", "ylabel": "y"}
    svg = figures.picture(curve_plots.distributions, frame, widest, **options).svg
    score = c.threshold[::-1]
    for side, rows in (("positive", c.positive), ("negative", c.negative)):
        share = np.cumsum(rows[::-1]) / rows.sum()
        assert off(svg, curve_plots.CLASSES[side], *steps_after(score, share)) < HALF


@tables
def test_decision_curve(c):
    frame = decision_curves.decision_curves({"a": c})
    panel = Panel(frame, "t", "net benefit", reference=((0, 1), (0, 0)))
    options = {"caption": "c", "height": 3.3, "panels": (1, 1)}
    svg = figures.picture(curve_plots.panels, [panel], **options).svg
    low, high = decision_curves.FINE_PROBABILITIES[[0, -1]]
    inside = c.threshold[(c.threshold > low) & (c.threshold < high)]
    t = np.unique(np.r_[np.linspace(low, high, 20_001), inside, np.nextafter(inside, 1)])
    y = net_benefit(c, t)
    below = np.append(np.flatnonzero(y < decision_curves.LOWEST * c.positives / c.total), len(y))[0]
    assert t[below - 1] > 0.9
    assert off(svg, plots.COLOURS[0], t[:below], y[:below]) < HALF


def test_tied_scores_jump():
    scores = pd.DataFrame(
        {"score": [0.1, 0.33, 0.712, 0.9], "p": [1, 40, 60, 40], "n": [300, 40, 20, 4]}
    )
    test_decision_curve(count(scores["score"], scores["p"], scores["n"]))


@pytest.mark.parametrize("rows", [600, 10_000])
def test_mean_along_the_forecast(rows):
    assert off_mean(rows) < HALF


def off_mean(rows):
    """The same of the mean of some forecasts, of which the highest is far away."""
    rng = np.random.default_rng(rows)
    forecast = rng.gamma(2, 2, rows)
    of_rows = Rows(rng.gamma(0.8, forecast), np.append(forecast[:-1], 300.0))
    table = calibration.means(of_rows)
    band = consistency.band_of_means(of_rows, table, rng=rng, draws=20, level=0.9)
    drawn = reliability.drawn_means(
        {
            "a": reliability.mean_reliability(
                table, 1.0, band, Distribution.from_values(of_rows.scores)
            )
        }
    )
    data = (drawn.curve, drawn.bands, drawn.spread)
    options = {"caption": "c", "width": 3.1, "height": 3.4, "panels": (1, 1), "words": {"a": []}}
    svg = figures.picture(curve_plots.means, *data, **options).svg
    x, y = calibration.means_curve(table)
    left = drawn.spread["low"].min()
    right = drawn.spread["high"].max()
    inside = np.unique(np.r_[left, x[(x > left) & (x < right)], right])
    inside = inside[inside >= x[0]]
    return off(svg, plots.COLOURS[0], inside, np.interp(inside, x, y))
