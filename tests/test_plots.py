"""Figures by what they draw: the data of their artists, labels, the SVG of the page, its marks."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from evalkit.drawing import curve_plots, figures, plots
from evalkit.drawing.curve_plots import Panel


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_intervals_draw_value_and_limits_from_top_to_bottom(ax):
    frame = pd.DataFrame(
        {"name": ["a", "b"], "value": [0.1, 0.3], "low": [0.0, np.nan], "high": [0.2, np.nan]}
    )
    plots.intervals(frame, ax, label="difference (n = 5)", zero=True)
    drawn = [line.get_xdata() for line in ax.lines]
    assert list(drawn[0]) == [0.0, 0.2]
    assert list(drawn[1]) == [0.1]
    assert list(drawn[2]) == [0.3, 0.3]  # no limits: the point alone
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert ax.get_xlabel() == "difference (n = 5)"


def test_curves_draw_each_system_with_its_band(ax):
    frame = pd.DataFrame(
        {"system": ["a", "a", "b", "b"], "k": [1, 10, 1, 10], "value": [0.1, 0.2, 0.3, 0.4]}
    )
    frame["low"], frame["high"] = frame["value"] - 0.05, frame["value"] + 0.05
    plots.curves(frame, ax, x="k", y="value", xlabel="k", ylabel="ndcg", log=True)
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.1, 0.2], [0.3, 0.4]]
    assert len(ax.collections) == 2
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_bars_are_sorted_and_split_by_sign(ax):
    plots.bars([0.5, -0.25, 0.0], ax, xlabel="queries", ylabel="difference")
    above, below = ax.patches
    assert list(above.get_data().values) == [0.0, 0.0, 0.5]
    assert list(below.get_data().values) == [-0.25, 0.0, 0.0]
    assert ax.texts[0].get_text() == "mean +0.0833"


def test_multiples_share_axes_and_print_n():
    from matplotlib.figure import Figure

    axes = Figure().subplots(2, 2, sharex=True, sharey=True, squeeze=False)
    frame = pd.DataFrame(
        {"slice": list("xyz"), "system": "a", "value": 0.5, "low": 0.1, "high": 0.9, "n": [7, 3, 3]}
    )
    plots.multiples(frame, axes, label="ndcg@10")
    assert [ax.get_title(loc="left") or ax.get_title() for ax in axes.flat[:2]] == [
        "x\nn = 7",
        "y\nn = 3",
    ]
    assert not axes.flat[3].axison
    numbered = [ax.xaxis.get_tick_params()["labelbottom"] for ax in axes.flat[:3]]
    assert numbered == [False, True, True]  # the lowest panel of each column
    assert [ax.get_xlabel() for ax in axes.flat] == ["", "ndcg@10", "ndcg@10", ""]


def hostile() -> figures.Figure:
    names = ['<script>"x"', "$\\badcmd$ 0.12345"]
    frame = pd.DataFrame(
        {"name": names, "value": [0.12345, 0.2], "low": [0.0, 0.1], "high": [0.3, 0.4]}
    )
    return figures.picture(
        plots.intervals, frame, says=names[0], caption=names[1], label=names[1], zero=False
    )


def test_a_picture_is_the_same_twice_and_loads_nothing():
    shown = hostile().html
    assert shown == hostile().html
    assert "http" not in shown
    assert "<script" not in shown
    assert "$\\badcmd$" in shown
    assert "0.12345" in shown  # in a text; coordinates are rounded
    assert not re.search(r'd="[^"]*\d\.\d{3}', shown)
    assert 'role="img" aria-label=' in shown


ODD = ["_hidden", "$x^2$ and $", "a_b^{c}", "plain"]


def test_names_with_underscores_and_dollars_stand_as_they_are():
    frame = pd.DataFrame(
        {"system": np.repeat(ODD, 2), "x": [1, 2] * 4, "y": np.arange(8.0), "fold": [1, 2] * 4}
    )
    frame = frame.assign(low=frame["y"] - 1, high=frame["y"] + 1)
    named = pd.DataFrame(
        {"name": ODD, "value": 0.1, "low": 0.0, "high": 0.2, "slice": ODD, "system": ODD, "n": 3}
    )
    points = pd.DataFrame({"system": ODD, "x": 0.5, "y": 0.5, "low": 0.4, "high": 0.6, "rows": 1})
    panel = curve_plots.Panel(frame, "x", "y", "$title_1$", bands=frame)
    axes = {"xlabel": "$k_1$", "ylabel": "y"}
    wide = {"panels": (1, 4), "width": 12}
    words = {name: ["MCB 0"] for name in ODD}
    drawn = [
        figures.picture(plots.curves, frame, caption="", x="x", y="y", **axes),
        figures.picture(curve_plots.panels, [panel, panel], caption="", panels=(1, 2)),
        figures.picture(
            curve_plots.draw_folds, frame, caption="", label="y", subject="plain", xlabel="fold"
        ),
        figures.picture(plots.intervals, named, caption="", label="x", zero=True),
        figures.picture(plots.multiples, named, caption="", label="x", **wide),
        figures.picture(
            curve_plots.reliability,
            points,
            points,
            points,
            caption="",
            ylabel="y",
            words=words,
            **wide,
        ),
        figures.picture(curve_plots.matrix, np.eye(4), caption="", classes=ODD, **axes),
    ]
    for one in drawn:
        assert [
            name
            for name in ODD
            if f">{name}</text>" not in one.svg and f">{name}</tspan>" not in one.svg
        ] == []
    assert "$title_1$</text>" in drawn[1].svg
    assert "$k_1$</text>" in drawn[0].svg


@pytest.mark.parametrize("across", [2, 3, 4])
@pytest.mark.parametrize("name", ["logistic", "a system with a very long name indeed"])
def test_titles_of_segments_do_not_overlap(across, name):
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    slices = [f"employment_status WWWWW self-employed without staff {i}" for i in range(across)]
    frame = pd.DataFrame(
        {"slice": slices, "system": name, "value": 0.5, "low": 0.4, "high": 0.6, "n": 1_234_567}
    )
    with rc_context(figures.STYLE):
        figure = Figure(figsize=(7.6, 0.5 + 1.02), layout="constrained")
        canvas = FigureCanvasAgg(figure)
        axes = figure.subplots(1, across, sharex=True, sharey=True, squeeze=False)
        plots.multiples(frame, axes, label="roc_auc")
        figures._make_room(axes)
        canvas.draw()
        titles = [
            ax.findobj(
                lambda one, ax=ax: isinstance(one, Text) and one.get_text() == ax.get_title("left")
            )
            for ax in axes.flat
        ]
        boxes = [title.get_window_extent() for (title,) in titles]
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
    assert "n = 1,234,567" in axes[0, 0].get_title("left")
    assert axes[0, 0].get_position().height > 0.1


def luminance(colour):
    part = np.asarray(colour)
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4) @ [
        0.2126,
        0.7152,
        0.0722,
    ]


def in_the_dark(colour):
    """As `invert(.88) hue-rotate(180deg)` shows a colour."""
    turned = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
    return np.clip(turned @ (0.88 - 0.76 * np.asarray(colour)), 0, 1)


@pytest.mark.parametrize("seen", [np.asarray, in_the_dark])
def test_counts_of_a_confusion_matrix_can_be_read_on_every_shade(ax, seen):
    import matplotlib as mpl

    curve_plots.matrix([[0, 9], [4, 5]], ax, classes="ab", xlabel="", ylabel="")
    (mesh,) = ax.collections
    for text, shade in zip(ax.texts, mesh.to_rgba(mesh.get_array().ravel())[:, :3], strict=True):
        ink = mpl.colors.to_rgb(text.get_color())
        dark, light = sorted(luminance(seen(colour)) for colour in (ink, shade))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


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
    svg = figures.picture(
        curve_plots.panels, [Panel(frame, "rate (n = 50)", "y")], caption="c", panels=(1, 1)
    ).svg
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
    figures.picture(plots.intervals, frame, caption="x", label="l", zero=True).save(
        tmp_path / "f.svg"
    )
    assert "mark-" not in (tmp_path / "f.svg").read_text("utf-8")


def test_a_point_without_a_value_is_neither_marked_nor_counted():
    frame = pd.DataFrame(
        {"name": ["a", "b"], "value": [np.nan, 0.1], "low": [np.nan, 0.0], "high": [np.nan, 0.2]}
    )
    svg = figures.picture(plots.intervals, frame, caption="x", label="l", zero=False).svg
    assert attributes(svg, "series") == ["b"]
    line = pd.DataFrame(
        {"system": "s", "k": [1, 2, 3], "value": [0.1, np.nan, 0.3], "low": 0.0, "high": 0.5}
    )
    svg = figures.picture(
        plots.curves, line, caption="x", x="k", y="value", xlabel="k", ylabel="y"
    ).svg
    assert attributes(svg, "says") == ["s, k 1: 0.10 [0.00, 0.50]\ns, k 3: 0.30 [0.00, 0.50]"]
