"""Every figure of every report on a column of a paper, and on axes of the reader's own."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from made_once import ROOT
from matplotlib import pyplot as plt
from matplotlib.text import Text
from page.more_pages import users

import evalkit as ek
from evalkit.drawing import figures, shown

WIDTH_AND_HEIGHT_OF_A_COLUMN = (3.3, 2.6)  # inches
PENGUINS, TRAITS = (f"{ROOT}/data/{name}/predictions.csv" for name in ("penguins", "digit_traits"))
REPORTS = {
    "two classes": ("classification", {}),
    "several classes": ("classification", {"preds": PENGUINS}),
    "labels": ("classification", {"preds": TRAITS}),
    "rating": ("rating", {}),
    "ranking": ("ranking", {}),
    "significance": ("significance", {}),
    "log": ("interleaving", {}),
    "users": ("interleaving", {"metrics": "orders,revenue", "world": "cascade"}),
    "validation": ("validation", {}),
    "diff": ("diff", {}),
}
WITHOUT_LINES_OF_SYSTEMS = (
    "confusion",
    "ranks",
    "actual",
    "other_actual",
)  # cells, a scale of ranks: no lines of systems


def names(report: str) -> list[str]:
    return dir(shown.StudyPieces(SimpleNamespace(report=report), figures.Figure))


PLOTS = [(kind, name) for kind, (report, _) in REPORTS.items() for name in names(report)]


@pytest.fixture(scope="module")
def studies():
    """The studies that tests asked for."""
    return {}


@pytest.fixture(autouse=True)
def closed_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


def study_of(studies, kind):
    report, given = REPORTS[kind]
    if kind == "users":
        given = given | {"users": users()}
    if kind not in studies:
        studies[kind] = getattr(ek, report)(**given)
    return studies[kind]


def plot_or_skip(studies, kind, name):
    """The plot of that name of the study of that kind; skips the test if it has none."""
    study = study_of(studies, kind)
    try:
        return getattr(study.plot, name)
    except ek.InputError:
        pytest.skip(f"{kind}: no {name}")


@pytest.fixture
def drawn_texts(monkeypatch):
    """The texts that matplotlib's renderer drew."""
    texts = []
    draw = Text.draw

    def recorded(text, renderer):
        if text.get_visible() and text.get_text().strip():
            texts.append(text)
        draw(text, renderer)

    monkeypatch.setattr(Text, "draw", recorded)
    return texts


@pytest.mark.parametrize("kind, name", PLOTS)
def test_in_a_column_no_text_is_cut_or_lies_on_another(kind, name, studies, drawn_texts):
    """The plot `name` of a report on sample data (`kind`) is drawn as small as a column of a paper,
    3.3 by 2.6 inches. `drawn_texts` records the texts that matplotlib draws; their boxes must lie
    within the figure, up to a pixel, and must not overlap.
    """
    axes = plot_or_skip(studies, kind, name)(size=WIDTH_AND_HEIGHT_OF_A_COLUMN, title="A title")
    paper = np.ravel(axes)[0].figure
    drawn_texts.clear()  # what was recorded before this drawing
    paper.canvas.draw()
    assert tuple(paper.get_size_inches()) == WIDTH_AND_HEIGHT_OF_A_COLUMN
    # boxes are a pixel smaller on each side, as blank edges of letters may meet
    box_of_text = {text: text.get_window_extent().padded(-1) for text in drawn_texts}
    right, top = paper.bbox.x1, paper.bbox.y1
    cut = [
        text.get_text()
        for text, box in box_of_text.items()
        if min(box.x0, box.y0) < -1 or box.x1 > right + 1 or box.y1 > top + 1
    ]
    overlapping = [
        (text.get_text(), other.get_text())
        for text, other in combinations(box_of_text, 2)
        if box_of_text[text].overlaps(box_of_text[other])
    ]
    assert cut == []
    assert overlapping == []
    assert "A title" in [text.get_text() for text in drawn_texts]
    assert min(text.get_size() for text in drawn_texts) > 4  # points: still legible


@pytest.mark.parametrize(
    "kind, name", [plot for plot in PLOTS if plot[1] not in WITHOUT_LINES_OF_SYSTEMS]
)
def test_on_axes_of_ones_own_lines_have_labels_for_a_legend(kind, name, studies):
    """A user may draw the plot `name` of a report (`kind`) on axes of their own, one or, for a plot
    of several panels, as many as it has. Lines must then have labels, each once, from which
    matplotlib makes a legend.
    """
    draw = plot_or_skip(studies, kind, name)
    rows, columns = draw.panels or (1, 1)
    _, axes = plt.subplots(rows, columns, squeeze=False)
    draw(axes if axes.size > 1 else axes[0, 0])
    for ax in axes.flat:
        legend = ax.legend()
        labels = [text.get_text() for text in legend.get_texts()]
        assert labels
        assert len(labels) == len(set(labels))


@pytest.mark.parametrize(
    ("kind", "name", "systems", "left_out"),
    [
        ("two classes", "roc", ["forest", "logistic"], "gbm"),
        ("several classes", "calibration", ["forest"], "logistic"),
        ("rating", "actual", ["boosting"], "poisson"),
        ("ranking", "segment", ["pca8_euclid", "row_column_sums"], "pixel_cosine"),
        ("significance", "differences", ["pca8_euclid", "lda_cosine"], "pixel_cosine"),
        ("log", "by_position", ["current"], "candidate"),
        ("validation", "folds", ["forest", "majority"], "gbm"),
    ],
)
def test_a_figure_of_some_systems_names_these_and_no_other(
    kind, name, systems, left_out, studies, drawn_texts
):
    """The plot `name` of a report on sample data (`kind`) is drawn of some `systems` alone.
    `drawn_texts` records what matplotlib writes: the names of these systems, and not that of
    another system of the report, `left_out`.
    """
    axes = plot_or_skip(studies, kind, name)(systems=",".join(systems), size=(7, 5))
    drawn_texts.clear()
    np.ravel(axes)[0].figure.canvas.draw()
    words = " ".join(text.get_text().replace("\n", " ") for text in drawn_texts)
    assert left_out not in words
    for system in systems:
        assert system in words


def test_the_leader_of_some_systems_is_drawn_where_a_figure_has_one(studies, drawn_texts):
    plot_or_skip(studies, "two classes", "ks")(systems="gbm").figure.canvas.draw()
    assert "gbm" in [text.get_text() for text in drawn_texts]


def test_an_unknown_system_is_refused_with_the_known_ones(studies):
    plot = plot_or_skip(studies, "two classes", "roc")
    with pytest.raises(ek.ParameterError, match=r"no system 'fores' .*'forest'.*there are .*gbm"):
        plot(systems="fores")


def test_of_two_reports_one_system_is_drawn_alone(studies):
    diff = study_of(studies, "diff")
    (name,) = diff.system_names
    assert diff.part(systems=name).pairs == diff.pairs


def test_a_plot_that_is_asked_for_twice_is_drawn_once(monkeypatch):
    """`figures._render` draws a plot as SVG; here it also counts its calls. The attribute `svg` of
    the plot `curve` is read twice and drawn once. Likewise, `roc` is the same object each time.
    """
    study = ek.classification(metrics="roc_auc")
    calls = []
    render = figures._render

    def render_and_count(*args):
        calls.append(args)
        return render(*args)

    monkeypatch.setattr(figures, "_render", render_and_count)
    first_svg = study.plot.curve.svg
    second_svg = study.plot.curve.svg
    assert first_svg == second_svg
    assert len(calls) == 1
    assert study.plot.roc is study.plot.roc


def test_the_part_of_a_study_with_some_systems_is_made_once(studies):
    study = study_of(studies, "two classes")
    assert study.part(systems="gbm") is study.part(systems=["gbm"])


def test_the_caption_of_one_curve_is_of_that_curve(studies):
    """A study of two classes has two plots of curves, ROC and precision-recall. The bundled sample
    has 300 positives. The caption and the text alternative (`alt`) of each plot are of that curve
    alone, although a page may draw both side by side.
    """
    plot = study_of(studies, "two classes").plot
    assert plot.roc.caption.startswith("ROC curves, 300 positives")
    assert "precision" not in plot.roc.alt.lower()
    assert plot.precision_recall.caption.startswith("Precision-recall curves, 300 positives")
    # these mark the points where precision equals recall, which ROC curves have not
    assert "Open circles" in plot.precision_recall.caption
    assert "ROC" not in plot.precision_recall.alt


def test_the_caption_of_curves_of_several_classes_names_their_system(studies):
    several = study_of(studies, "several classes").plot
    assert several.roc.caption.startswith("ROC curves of logistic: one class per curve")


def test_letters_that_the_reader_set_stay():
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 12}):
        ax = ek.classification(metrics="roc_auc").plot.roc(size=WIDTH_AND_HEIGHT_OF_A_COLUMN)
    assert ax.xaxis.label.get_size() == 12
