"""Marks of figures: each system's artists carry its name and values in the SVG, escaped, and the axes their scale."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from evalkit.drawing import curve_plots, figures, plots
from evalkit.drawing.curve_plots import Panel


def forest():
    frame = pd.DataFrame({"name": ['a"<b>'], "value": [0.12345], "low": [0.0], "high": [0.3]})
    return figures.picture(plots.intervals, frame, caption="x", label="difference", zero=True).svg


def attributes(svg, name):
    return [html.unescape(text) for text in re.findall(rf'data-{name}="([^"]*)"', svg)]


def test_a_mark_says_its_system_and_its_interval_and_is_escaped():
    svg = forest()
    assert "<b>" not in svg
    assert attributes(svg, "series") == ['a"<b>']
    assert attributes(svg, "says") == ['a"<b>: +0.12 [0.00, +0.30]']
    assert attributes(svg, "limits") == ['a"<b>']


def test_the_scale_of_axes_tells_numbers_from_places():
    x = np.linspace(0, 1, 50)
    frame = pd.DataFrame({"system": "s", "x": x, "y": 3 * x + 1})
    svg = figures.picture(curve_plots.panels, [Panel(frame, "rate (n = 50)", "y")], caption="c", panels=(1, 1)).svg
    assert attributes(svg, "x-is") == ["rate"]
    path = re.search(r'data-series="s"[^>]*>\s*<path d="M([\d.]+) ([\d.]+)', svg)
    for axis, place, first in (("x", path[1], 0.0), ("y", path[2], 1.0)):
        start, step, places = map(float, attributes(svg, axis)[0].split())
        assert start + float(place) * step == pytest.approx(first, abs=10**-places)


def test_the_path_of_a_system_has_two_numbers_for_each_step():
    frame = pd.DataFrame({"system": "s", "x": [0.0, 0.2, 0.7, 1.0], "y": [0.0, 0.5, 0.5, 1.0]})
    panel = Panel(frame, "x", "y", steps=curve_plots.STEPS)
    svg = figures.picture(curve_plots.panels, [panel], caption="c", panels=(1, 1)).svg
    path = re.search(r'data-series="s"[^>]*>\s*<path d="([^"]*)"', svg)[1]
    assert not re.search(r"[hv]", path)


def test_a_figure_of_ones_own_has_no_marks_in_its_ids(tmp_path):
    frame = pd.DataFrame({"name": ["a"], "value": [0.1], "low": [0.0], "high": [0.3]})
    figures.picture(plots.intervals, frame, caption="x", label="l", zero=True).save(tmp_path / "f.svg")
    assert "mark-" not in (tmp_path / "f.svg").read_text("utf-8")


def test_a_point_without_a_value_is_neither_marked_nor_counted():
    frame = pd.DataFrame({"name": ["a", "b"], "value": [np.nan, 0.1], "low": [np.nan, 0.0], "high": [np.nan, 0.2]})
    svg = figures.picture(plots.intervals, frame, caption="x", label="l", zero=False).svg
    assert attributes(svg, "series") == ["b"]
    line = pd.DataFrame({"system": "s", "k": [1, 2, 3], "value": [0.1, np.nan, 0.3], "low": 0.0, "high": 0.5})
    svg = figures.picture(plots.curves, line, caption="x", x="k", y="value", xlabel="k", ylabel="y").svg
    assert attributes(svg, "says") == ["s, k 1: 0.10 [0.00, 0.50]\ns, k 3: 0.30 [0.00, 0.50]"]
