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
HALF_A_PIXEL = 0.5
TENTH_OF_A_PIXEL = 0.1


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


def counts_of_random_scores(rows):
    rng = np.random.default_rng(rows)
    label = rng.random(rows) < 0.2
    # the first row is negative
    return count(np.append(rng.normal(size=rows) + label, 9.0), np.append(label, False))


def counts_in_bins(rows, bins=2**14):
    """A table of so many rows in bins, as the first pass over a large file leaves it."""
    rng = np.random.default_rng(5)
    x = np.linspace(4, -4, bins)
    parts = [
        np.cumsum(rng.poisson(rows * share * np.exp(-((x - at) ** 2) / 2)))
        for share, at in ((1e-6, 1), (4e-6, 0))
    ]
    return Counts(x, parts[0], parts[1], parts[0][-1], parts[1][-1])


def curve_of_colour(svg, colour):
    """The longest path of a colour: the curve itself."""
    drawn = re.findall(rf'<path [^>]*?d="([^"]+)"[^>]*?style="[^"]*stroke: {colour}', svg)
    return vertices(max(drawn, key=len))


def points_between_vertices(line, share):
    """A point on each stretch of a line, at a share of the way from its first end."""
    return line[:-1] + share * np.diff(line, axis=0)


def largest_vertical_distance(points, line):
    """By how many pixels a point lies above or below a line at most; the line may be a tenth to the
    side.
    """
    x, y = line.T
    left = points[:, 0] - TENTH_OF_A_PIXEL
    right = points[:, 0] + TENTH_OF_A_PIXEL
    distances = []
    ends = np.interp(left, x, y), np.interp(right, x, y)
    inside = np.searchsorted(x, left), np.searchsorted(x, right, side="right")
    for height, low, high, first, last in zip(points[:, 1], *ends, *inside, strict=True):
        near = np.concatenate([y[first:last], [low, high]])
        distances.append(max(near.min() - height, height - near.max(), 0.0))
    return max(distances)


@pytest.mark.parametrize(
    "table",
    [counts_of_random_scores(600), counts_of_random_scores(10_000), counts_in_bins(10**7)],
    ids=["600", "10,000", "10M"],
)
@pytest.mark.parametrize(
    ("kind", "steps"), [("roc", "default"), ("pr", STEPS), ("gain", "default")]
)
def test_the_drawn_curve_is_the_exact_one_within_half_a_pixel(table, kind, steps):
    """The table has the numbers of positives and negatives at each score, for 600, 10,000 or ten
    million rows. The ROC and the gain curve are drawn from point to point, the curve of precision
    and recall (`pr`) in steps. Long curves are drawn through fewer points than they have. The
    points of the exact curve are converted to pixels of the SVG; each line must then be near the
    other, at its vertices and at a share of the way from one to the next.
    """
    curve = score_curves.CURVES[kind](table)
    diagonal = ((0, 1), (0, 1))  # x, y: it shows where (0, 0) and (1, 1) lie in the SVG
    panel = Panel(score_curves.points("a", curve), "x", "y", reference=diagonal, steps=steps)
    svg = figures.figure_drawn_by(
        curve_plots.panels, [panel], caption="c", width=4.5, height=3.9, panels=(1, 1)
    ).svg
    origin, opposite = curve_of_colour(svg, curve_plots.REFERENCE["color"])[[0, -1]]
    points = np.column_stack([curve.x, curve.y])
    if steps == STEPS:
        # first up or down at the x of the point before, then along to the point
        corners = np.column_stack([curve.x[:-1], curve.y[1:]])
        corner_and_point = np.stack([corners, points[1:]], axis=1)
        points = np.concatenate([points[:1], corner_and_point.reshape(-1, 2)])
    exact = origin + points * (opposite - origin)
    drawn = curve_of_colour(svg, plots.COLOURS[0])
    for share in (0.0, 0.3, 0.7):  # vertices of the drawn line, and points between them
        points_of_drawn = points_between_vertices(drawn, share)
        assert largest_vertical_distance(points_of_drawn, exact) < HALF_A_PIXEL
    for share in (0.0, 0.5):  # no part of the exact line is left out
        points_of_exact = points_between_vertices(exact, share)
        assert largest_vertical_distance(points_of_exact, drawn) < HALF_A_PIXEL


SCALE = re.compile(r'data-([xy])="(\S+) (\S+) \S+"')


def with_probabilities_as_scores(counts_at_scores):
    """The table with its scores made probabilities, without the scores that no row has."""
    has = counts_at_scores.positive + counts_at_scores.negative > 0
    return replace(
        counts_at_scores,
        threshold=expit(counts_at_scores.threshold[has] - 1.5),
        tp=counts_at_scores.tp[has],
        fp=counts_at_scores.fp[has],
    )


TABLES = {
    "600": counts_of_random_scores(600),
    "10,000": counts_of_random_scores(10_000),
    "10M": counts_in_bins(4 * 10**8),
}
each_table_of_counts = pytest.mark.parametrize(
    "counts_at_scores",
    [with_probabilities_as_scores(table) for table in TABLES.values()],
    ids=TABLES,
)


def svg_coordinates(svg, x, y):
    """Points of the data as the SVG's coordinates."""
    scales = {axis: (float(low), float(step)) for axis, low, step in SCALE.findall(svg)}
    return np.column_stack(
        [(values - scales[axis][0]) / scales[axis][1] for axis, values in (("x", x), ("y", y))]
    )


def distance_of_drawn_line(svg, colour, x, y):
    """By how many pixels the drawn line of a colour and the exact line through these points, in
    units of the axes, differ at most.
    """
    exact = svg_coordinates(svg, np.asarray(x), np.asarray(y))
    drawn = curve_of_colour(svg, colour)
    drawn = drawn[drawn[:, 0] <= exact[-1, 0] + TENTH_OF_A_PIXEL]
    parts = [
        largest_vertical_distance(points_between_vertices(drawn, share), exact)
        for share in (0.0, 0.3, 0.7)
    ]
    return max(*parts, largest_vertical_distance(exact, drawn))


def corners_of_steps(x, y):
    """The corners of a line of steps that holds each value up to the next point."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


@each_table_of_counts
def test_reliability(counts_at_scores):
    """The drawn curve of a reliability diagram is the isotonic regression of the labels on the
    scores, to half a pixel. Its input is a table of the numbers of positives and negatives at each
    score. The random numbers, draws and level are for a band around the curve, which is not
    compared; captions and sizes are any.
    """
    detail = reliability.FigureDetail()
    data = reliability.reliability(
        {"a": counts_at_scores},
        lambda: np.random.default_rng(1),
        draws=20,
        level=0.9,
        detail=detail,
    )
    options = {
        "caption": "c",
        "width": 3.1,
        "height": 3.4,
        "panels": (1, 1),
        "ylabel": "y",
        "words": {"a": []},
    }
    arguments_of_plot = vars(data).values()  # the fields of the data, in the order of arguments
    svg = figures.figure_drawn_by(curve_plots.reliability, *arguments_of_plot, **options).svg
    x, y = calibration.isotonic_curve(counts_at_scores)
    assert distance_of_drawn_line(svg, plots.COLOURS[0], x, y) < HALF_A_PIXEL


@each_table_of_counts
def test_distribution_functions(counts_at_scores):
    """The drawn curves are the cumulative shares of the positives, and of the negatives, with at
    most each score, to half a pixel. The input is a table of the numbers of positives and negatives
    at each score, from the highest score to the lowest.
    """
    frame = score_curves.distribution("a", counts_at_scores)
    widest = score_curves.ks_distances({"a": counts_at_scores})
    options = {"caption": "c", "height": 3.0, "panels": (1, 1), "xlabel": "x", "ylabel": "y"}
    svg = figures.figure_drawn_by(curve_plots.distributions, frame, widest, **options).svg
    ascending_score = counts_at_scores.threshold[::-1]
    for name, rows_at_score in (
        ("positive", counts_at_scores.positive),
        ("negative", counts_at_scores.negative),
    ):
        share = np.cumsum(rows_at_score[::-1]) / rows_at_score.sum()
        x, y = corners_of_steps(ascending_score, share)
        assert distance_of_drawn_line(svg, curve_plots.CLASS_COLOURS[name], x, y) < HALF_A_PIXEL


@each_table_of_counts
def test_decision_curve(counts_at_scores):
    """The drawn curve is the net benefit at each threshold, to half a pixel, up to the threshold
    where it falls below the lowest value that is drawn. The input is a table of the numbers of
    positives and negatives at each score; the net benefit jumps at the scores.
    """
    frame = decision_curves.decision_curves({"a": counts_at_scores})
    panel = Panel(frame, "t", "net benefit", reference=((0, 1), (0, 0)))
    options = {"caption": "c", "height": 3.3, "panels": (1, 1)}
    svg = figures.figure_drawn_by(curve_plots.panels, [panel], **options).svg
    low, high = decision_curves.FINE_PROBABILITIES[[0, -1]]
    all_scores = counts_at_scores.threshold
    scores = all_scores[(all_scores > low) & (all_scores < high)]
    just_above_scores = np.nextafter(scores, 1)  # where the net benefit jumps
    threshold = np.unique(np.r_[np.linspace(low, high, 20_001), scores, just_above_scores])
    benefit = net_benefit(counts_at_scores, threshold)
    base_rate = counts_at_scores.positives / counts_at_scores.total
    lowest_drawn = decision_curves.LOWEST * base_rate
    not_drawn = np.flatnonzero(benefit < lowest_drawn)
    end = not_drawn[0] if len(not_drawn) else len(benefit)
    assert threshold[end - 1] > 0.9  # so that most of the curve is compared
    drawn_part = threshold[:end], benefit[:end]
    assert distance_of_drawn_line(svg, plots.COLOURS[0], *drawn_part) < HALF_A_PIXEL


def test_tied_scores_jump():
    scores = pd.DataFrame(
        {"score": [0.1, 0.33, 0.712, 0.9], "p": [1, 40, 60, 40], "n": [300, 40, 20, 4]}
    )
    test_decision_curve(count(scores["score"], scores["p"], scores["n"]))


@pytest.mark.parametrize("rows", [600, 10_000])
def test_mean_along_the_forecast(rows):
    assert distance_of_drawn_mean(rows) < HALF_A_PIXEL


def distance_of_drawn_mean(rows):
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
    svg = figures.figure_drawn_by(curve_plots.means, *data, **options).svg
    x, y = calibration.means_curve(table)
    left = drawn.spread["low"].min()
    right = drawn.spread["high"].max()
    inside = np.unique(np.r_[left, x[(x > left) & (x < right)], right])
    inside = inside[inside >= x[0]]
    return distance_of_drawn_line(svg, plots.COLOURS[0], inside, np.interp(inside, x, y))
