"""Figures by what they draw: the data of their artists, labels, the SVG of the page, its marks."""

import html
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from evalkit.drawing import curve_plots, figures, plots
from evalkit.drawing.curve_plots import Panel


@pytest.fixture
def ax():
    """Empty axes of matplotlib."""
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_intervals_draw_value_and_limits_from_top_to_bottom(ax):
    """An interval is drawn as a line from low to high and a point at the value; b has a value but
    no limits, so that its line is a point. a stands above b, for which the y axis is turned round.
    """
    frame = pd.DataFrame(
        {"name": ["a", "b"], "value": [0.1, 0.3], "low": [0.0, np.nan], "high": [0.2, np.nan]}
    )
    plots.intervals(frame, ax, label="difference (n = 5)", zero=True)
    limits_of_a, point_of_a, limits_of_b, *_ = [line.get_xdata() for line in ax.lines]
    assert list(limits_of_a) == [0.0, 0.2]
    assert list(point_of_a) == [0.1]
    assert list(limits_of_b) == [0.3, 0.3]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    bottom, top = ax.get_ylim()
    assert bottom > top
    assert ax.get_xlabel() == "difference (n = 5)"


def test_curves_draw_each_system_with_its_band(ax):
    """Systems a and b have values at k = 1 and 10 with limits 0.05 below and above: two lines, two
    bands between the limits (collections of matplotlib), a logarithmic axis of k, and a legend.
    """
    frame = pd.DataFrame(
        {"system": ["a", "a", "b", "b"], "k": [1, 10, 1, 10], "value": [0.1, 0.2, 0.3, 0.4]}
    )
    frame["low"], frame["high"] = frame["value"] - 0.05, frame["value"] + 0.05
    plots.curves(frame, ax, x="k", y="value", xlabel="k", ylabel="ndcg", log=True)
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.1, 0.2], [0.3, 0.4]]
    bands = ax.collections
    assert len(bands) == 2
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_bars_are_sorted_and_split_by_sign(ax):
    plots.bars([0.5, -0.25, 0.0], ax, xlabel="queries", ylabel="difference")
    above, below = ax.patches  # the bars above 0 and those below
    assert list(above.get_data().values) == [0.0, 0.0, 0.5]
    assert list(below.get_data().values) == [-0.25, 0.0, 0.0]
    assert ax.texts[0].get_text() == "mean +0.0833"


def test_multiples_share_axes_and_print_n():
    """`draw_small_multiples` draws a panel for each slice, here x, y and z in 2 × 2 panels, of
    which the fourth is not used. A title has the slice and its number of units n. As the panels
    share their x axis, its numbers and label stand only below the lowest used panel of each column.
    """
    from matplotlib.figure import Figure

    axes = Figure().subplots(2, 2, sharex=True, sharey=True, squeeze=False)
    first, second, third, unused = axes.flat
    frame = pd.DataFrame(
        {"slice": list("xyz"), "system": "a", "value": 0.5, "low": 0.1, "high": 0.9, "n": [7, 3, 3]}
    )
    plots.draw_small_multiples(frame, axes, label="ndcg@10")
    titles = [ax.get_title(loc="left") or ax.get_title() for ax in (first, second)]
    assert titles == ["x\nn = 7", "y\nn = 3"]
    assert not unused.axison
    # the lowest are the third panel on the left and the second on the right, above the unused one
    has_numbers = [ax.xaxis.get_tick_params()["labelbottom"] for ax in (first, second, third)]
    assert has_numbers == [False, True, True]
    assert [ax.get_xlabel() for ax in axes.flat] == ["", "ndcg@10", "ndcg@10", ""]


def figure_with_names_like_code() -> figures.Figure:
    """Intervals of two systems whose names, also in the caption and the label, would be a script in
    HTML and an invalid formula in matplotlib.
    """
    names = ['<script>"x"', "$\\badcmd$ 0.12345"]
    frame = pd.DataFrame(
        {"name": names, "value": [0.12345, 0.2], "low": [0.0, 0.1], "high": [0.3, 0.4]}
    )
    return figures.figure_drawn_by(
        plots.intervals, frame, says=names[0], caption=names[1], label=names[1], zero=False
    )


def test_a_figure_has_the_same_html_twice():
    assert figure_with_names_like_code().html == figure_with_names_like_code().html


def test_the_html_of_a_figure_loads_and_runs_nothing():
    html_of_figure = figure_with_names_like_code().html
    assert "http" not in html_of_figure
    assert "<script" not in html_of_figure
    assert 'role="img" aria-label=' in html_of_figure


def test_a_name_that_is_an_invalid_formula_is_shown_as_text():
    assert "$\\badcmd$" in figure_with_names_like_code().html


def test_coordinates_are_rounded_to_two_decimals_and_texts_are_not():
    html_of_figure = figure_with_names_like_code().html
    assert "0.12345" in html_of_figure  # in a name
    path_with_three_decimals = r'd="[^"]*\d\.\d{3}'
    assert not re.search(path_with_three_decimals, html_of_figure)


# names that matplotlib would hide in a legend or typeset as formulas, and one that it would not
NAMES_LIKE_FORMULAS = ["_hidden", "$x^2$ and $", "a_b^{c}", "plain"]


def missing_names(svg):
    """The NAMES_LIKE_FORMULAS that are not, as they are, a text of the SVG."""
    return [
        name
        for name in NAMES_LIKE_FORMULAS
        if f">{name}</text>" not in svg and f">{name}</tspan>" not in svg
    ]


@pytest.fixture
def lines_by_system():
    """A line of two points for each of NAMES_LIKE_FORMULAS, with a band around it."""
    frame = pd.DataFrame(
        {
            "system": np.repeat(NAMES_LIKE_FORMULAS, 2),
            "x": [1, 2] * 4,
            "fold": [1, 2] * 4,
            "y": np.arange(8.0),
        }
    )
    return frame.assign(low=frame["y"] - 1, high=frame["y"] + 1)


@pytest.fixture
def interval_by_name():
    """An interval for each of NAMES_LIKE_FORMULAS, which are also the slices."""
    names = NAMES_LIKE_FORMULAS
    return pd.DataFrame(
        {
            "name": names,
            "system": names,
            "slice": names,
            "value": 0.1,
            "low": 0.0,
            "high": 0.2,
            "n": 3,
        }
    )


def test_curves_show_names_and_labels_as_they_are(lines_by_system):
    labels = {"xlabel": "$k_1$", "ylabel": "y"}
    svg = figures.figure_drawn_by(
        plots.curves, lines_by_system, caption="", x="x", y="y", **labels
    ).svg
    assert missing_names(svg) == []
    assert "$k_1$</text>" in svg


def test_panels_of_curves_show_names_and_titles_as_they_are(lines_by_system):
    panel = curve_plots.Panel(lines_by_system, "x", "y", "$title_1$", bands=lines_by_system)
    svg = figures.figure_drawn_by(curve_plots.panels, [panel, panel], caption="", panels=(1, 2)).svg
    assert missing_names(svg) == []
    assert "$title_1$</text>" in svg


def test_curves_over_folds_show_names_as_they_are(lines_by_system):
    labels = {"label": "y", "subject": "plain", "xlabel": "fold"}
    svg = figures.figure_drawn_by(curve_plots.draw_folds, lines_by_system, caption="", **labels).svg
    assert missing_names(svg) == []


def test_intervals_show_names_as_they_are(interval_by_name):
    svg = figures.figure_drawn_by(
        plots.intervals, interval_by_name, caption="", label="x", zero=True
    ).svg
    assert missing_names(svg) == []


def test_panels_of_slices_show_names_as_they_are(interval_by_name):
    size = {"panels": (1, 4), "width": 12}
    svg = figures.figure_drawn_by(
        plots.draw_small_multiples, interval_by_name, caption="", label="x", **size
    ).svg
    assert missing_names(svg) == []


def test_reliability_diagrams_show_names_as_they_are():
    """Systems have names that matplotlib would typeset as formulas ("$x^2$ and $") or leave out of
    a legend ("_hidden"). A reliability diagram must show each name as it is. As only names matter
    here, one table serves as the curves, as the bands around the diagonal and as the bins of the
    histogram.
    """
    points = pd.DataFrame(
        {
            "system": NAMES_LIKE_FORMULAS,
            "x": 0.5,
            "y": 0.5,
            "low": 0.4,
            "high": 0.6,
            "rows": 1,
        }
    )
    svg = figures.figure_drawn_by(
        curve_plots.reliability,
        points,  # curves
        points,  # bands
        points,  # bins
        caption="",
        ylabel="y",
        words={name: ["MCB 0"] for name in NAMES_LIKE_FORMULAS},  # a line in the corner of a panel
        panels=(1, 4),
        width=12,
    ).svg
    assert missing_names(svg) == []


def test_a_confusion_matrix_shows_names_of_classes_as_they_are():
    labels = {"classes": NAMES_LIKE_FORMULAS, "xlabel": "$k_1$", "ylabel": "y"}
    svg = figures.figure_drawn_by(
        curve_plots.draw_confusion_matrix, np.eye(4), caption="", **labels
    ).svg
    assert missing_names(svg) == []


@pytest.mark.parametrize("n_panels", [2, 3, 4])
@pytest.mark.parametrize("name", ["logistic", "a system with a very long name indeed"])
def test_long_titles_of_panels_do_not_overlap_and_leave_room_for_the_panels(n_panels, name):
    """Up to four panels with long titles stand side by side in a figure as wide as the page, 7.6
    inches, and as high as one row of panels. The titles must neither overlap nor leave the figure,
    and the panels must keep a tenth of its height.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    slices = [f"employment_status WWWWW self-employed without staff {i}" for i in range(n_panels)]
    frame = pd.DataFrame(
        {"slice": slices, "system": name, "value": 0.5, "low": 0.4, "high": 0.6, "n": 1_234_567}
    )
    with rc_context(figures.STYLE):
        width_of_page, height_of_one_row = 7.6, 0.5 + 1.02  # inches
        figure = Figure(figsize=(width_of_page, height_of_one_row), layout="constrained")
        canvas = FigureCanvasAgg(figure)
        axes = figure.subplots(1, n_panels, sharex=True, sharey=True, squeeze=False)
        plots.draw_small_multiples(frame, axes, label="roc_auc")
        figures._make_room(axes)
        canvas.draw()
        boxes = []
        for ax in axes.flat:
            texts = ax.findobj(Text)
            (title,) = [text for text in texts if text.get_text() == ax.get_title("left")]
            boxes.append(title.get_window_extent())  # the place of the title in the figure
    assert not any(first.overlaps(second) for first, second in combinations(boxes, 2))
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
    first_panel = axes[0, 0]
    assert "n = 1,234,567" in first_panel.get_title("left")
    assert first_panel.get_position().height > 0.1


def relative_luminance(colour):
    """That of WCAG 2 of an sRGB colour of three numbers from 0 to 1."""
    part = np.asarray(colour)
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def on_a_light_page(colour):
    return np.asarray(colour)


def on_a_dark_page(colour):
    """The colour after the CSS filter `invert(.88) hue-rotate(180deg)`."""
    turned = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
    return np.clip(turned @ (0.88 - 0.76 * np.asarray(colour)), 0, 1)


@pytest.mark.parametrize("shown_colour", [on_a_light_page, on_a_dark_page])
def test_counts_of_a_confusion_matrix_have_contrast_on_every_shade(ax, shown_colour):
    """Each count of a confusion matrix is written on a shade, as it appears on a light or a dark
    page (`shown_colour`). Ink and shade must have the contrast that WCAG 2 asks of text at level
    AA: (lighter + 0.05) / (darker + 0.05) of their luminances is at least 4.5.
    """
    import matplotlib as mpl

    curve_plots.draw_confusion_matrix([[0, 9], [4, 5]], ax, classes="ab", xlabel="", ylabel="")
    (mesh,) = ax.collections
    shades = mesh.to_rgba(mesh.get_array().ravel())[:, :3]
    for text, shade in zip(ax.texts, shades, strict=True):
        ink = mpl.colors.to_rgb(text.get_color())
        luminances = [relative_luminance(shown_colour(colour)) for colour in (ink, shade)]
        contrast = (max(luminances) + 0.05) / (min(luminances) + 0.05)
        assert contrast >= 4.5


def attributes(svg, name):
    """The values of the attribute `data-NAME` of all marks of a figure."""
    return [html.unescape(text) for text in re.findall(rf'data-{name}="([^"]*)"', svg)]


def test_a_mark_has_its_system_and_its_interval_as_escaped_attributes():
    """In the SVG of a figure the point and the interval of a system are marks, which a reader of
    the page can point at. The attributes of the point hold the system (`data-series`) and the text
    to show (`data-says`), that of the interval the system (`data-limits`). The name a"<b> must be
    escaped in them: `attributes` reads it back, and no tag <b> is in the SVG.
    """
    frame = pd.DataFrame({"name": ['a"<b>'], "value": [0.12345], "low": [0.0], "high": [0.3]})
    svg = figures.figure_drawn_by(
        plots.intervals, frame, caption="x", label="difference", zero=True
    ).svg
    assert "<b>" not in svg
    assert attributes(svg, "series") == ['a"<b>']
    assert attributes(svg, "says") == ['a"<b>: +0.12 [0.00, +0.30]']
    assert attributes(svg, "limits") == ['a"<b>']


def test_numbers_can_be_computed_from_coordinates_by_the_scale_of_each_axis():
    """`data-x` and `data-y` hold the number at coordinate 0, the step of the number per unit of the
    coordinate, and the decimals. The line begins at x = 0 and y = 1.
    """
    x = np.linspace(0, 1, 50)
    frame = pd.DataFrame({"system": "s", "x": x, "y": 3 * x + 1})
    panel = Panel(frame, "rate (n = 50)", "y")
    svg = figures.figure_drawn_by(curve_plots.panels, [panel], caption="c", panels=(1, 1)).svg
    assert attributes(svg, "x-is") == ["rate"]  # the label without what stands in brackets
    begin = re.search(r'data-series="s"[^>]*>\s*<path d="M([\d.]+) ([\d.]+)', svg)
    coordinates = {"x": float(begin[1]), "y": float(begin[2])}
    for axis, number in (("x", 0.0), ("y", 1.0)):
        at_0, step, decimals = map(float, attributes(svg, axis)[0].split())
        assert at_0 + coordinates[axis] * step == pytest.approx(number, abs=10**-decimals)


def test_the_path_of_a_system_has_two_numbers_for_each_step():
    frame = pd.DataFrame({"system": "s", "x": [0.0, 0.2, 0.7, 1.0], "y": [0.0, 0.5, 0.5, 1.0]})
    panel = Panel(frame, "x", "y", steps=curve_plots.STEPS)
    svg = figures.figure_drawn_by(curve_plots.panels, [panel], caption="c", panels=(1, 1)).svg
    path = re.search(r'data-series="s"[^>]*>\s*<path d="([^"]*)"', svg)[1]
    assert not re.search(r"[hv]", path)


def test_a_figure_of_ones_own_has_no_marks_in_its_ids(tmp_path):
    frame = pd.DataFrame({"name": ["a"], "value": [0.1], "low": [0.0], "high": [0.3]})
    figures.figure_drawn_by(plots.intervals, frame, caption="x", label="l", zero=True).save(
        tmp_path / "f.svg"
    )
    assert "mark-" not in (tmp_path / "f.svg").read_text("utf-8")


def test_a_point_without_a_value_is_neither_marked_nor_counted():
    """Marks are what a reader of the page can point at; their attributes `data-series` and
    `data-says` hold the system and the text. In a plot of intervals, a has no value and so no
    mark; in a curve, the point at k = 2 has none and is missing from the text.
    """
    frame = pd.DataFrame(
        {"name": ["a", "b"], "value": [np.nan, 0.1], "low": [np.nan, 0.0], "high": [np.nan, 0.2]}
    )
    intervals = figures.figure_drawn_by(plots.intervals, frame, caption="x", label="l", zero=False)
    assert attributes(intervals.svg, "series") == ["b"]
    line = pd.DataFrame(
        {"system": "s", "k": [1, 2, 3], "value": [0.1, np.nan, 0.3], "low": 0.0, "high": 0.5}
    )
    curve = figures.figure_drawn_by(
        plots.curves, line, caption="x", x="k", y="value", xlabel="k", ylabel="y"
    )
    assert attributes(curve.svg, "says") == ["s, k 1: 0.10 [0.00, 0.50]\ns, k 3: 0.30 [0.00, 0.50]"]
