"""Reliability, KS, decision and mean calibration curves: the SVG draws the exact ones within half a pixel."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_paths import ASIDE, HALF, between, farthest, line_of, many, two_classes

from evalkit.drawing import curve_plots, figures, plots
from evalkit.drawing.curve_plots import Panel
from evalkit.metrics import calibration
from evalkit.metrics.calibration import expit
from evalkit.metrics.counts import count
from evalkit.metrics.curves import net_benefit
from evalkit.metrics.grid import Counted
from evalkit.metrics.rows import Rows
from evalkit.statistics import consistency
from evalkit.studies import reliability, score_curves

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
    return np.column_stack([(values - scales[axis][0]) / scales[axis][1] for axis, values in (("x", x), ("y", y))])


def off(svg, colour, x, y):
    """By how much the drawn line of a colour and the exact line through these points differ at most."""
    exact, drawn = on_page(svg, np.asarray(x), np.asarray(y)), line_of(svg, colour)
    drawn = drawn[drawn[:, 0] <= exact[-1, 0] + ASIDE]
    parts = [farthest(between(drawn, share), exact) for share in (0.0, 0.3, 0.7)]
    return max(*parts, farthest(exact, drawn))


def steps_after(x, y):
    """The corners of a line of steps that holds each value up to the next point."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


@tables
def test_reliability(c):
    drawn = reliability.reliability({"a": c}, lambda: np.random.default_rng(1), draws=20, level=0.9)
    data = (drawn.curve, drawn.bands, drawn.spread)
    options = {"caption": "c", "size": (3.1, 3.4), "panels": (1, 1), "ylabel": "y", "words": {"a": []}}
    svg = figures.picture(curve_plots.reliability, *data, **options).svg
    assert off(svg, plots.COLOURS[0], *calibration.isotonic_curve(c)) < HALF


@tables
def test_distribution_functions(c):
    frame, widest = score_curves.distribution("a", c), score_curves.distances({"a": c})
    options = {"caption": "c", "size": (figures.WIDTH, 3.0), "panels": (1, 1), "xlabel": "x", "ylabel": "y"}
    svg = figures.picture(curve_plots.distributions, frame, widest, **options).svg
    score = c.threshold[::-1]
    for side, rows in (("positive", c.positive), ("negative", c.negative)):
        share = np.cumsum(rows[::-1]) / rows.sum()
        assert off(svg, curve_plots.CLASSES[side], *steps_after(score, share)) < HALF


@tables
def test_decision_curve(c):
    frame = score_curves.decision_curves({"a": c})
    panel = Panel(frame, "t", "net benefit", reference=((0, 1), (0, 0)))
    options = {"caption": "c", "size": (figures.WIDTH, 3.3), "panels": (1, 1)}
    svg = figures.picture(curve_plots.panels, [panel], **options).svg
    low, high = score_curves.CHANCES[[0, -1]]
    inside = c.threshold[(c.threshold > low) & (c.threshold < high)]
    t = np.unique(np.r_[np.linspace(low, high, 20_001), inside, np.nextafter(inside, 1)])
    y = net_benefit(c, t)
    below = np.append(np.flatnonzero(y < score_curves.LOWEST * c.positives / c.total), len(y))[0]
    assert t[below - 1] > 0.9
    assert off(svg, plots.COLOURS[0], t[:below], y[:below]) < HALF


def test_tied_scores_jump():
    scores = pd.DataFrame({"score": [0.1, 0.33, 0.712, 0.9], "p": [1, 40, 60, 40], "n": [300, 40, 20, 4]})
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
    drawn = reliability.drawn_means({"a": reliability.mean_reliability(table, 1.0, band, Counted.of(of_rows.scores))})
    data = (drawn.curve, drawn.bands, drawn.spread)
    options = {"caption": "c", "size": (3.1, 3.4), "panels": (1, 1), "words": {"a": []}}
    svg = figures.picture(curve_plots.means, *data, **options).svg
    x, y = calibration.means_curve(table)
    left, right = drawn.spread["low"].min(), drawn.spread["high"].max()
    inside = np.unique(np.r_[left, x[(x > left) & (x < right)], right])
    inside = inside[inside >= x[0]]
    return off(svg, plots.COLOURS[0], inside, np.interp(inside, x, y))
