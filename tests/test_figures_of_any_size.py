"""Every figure of every report on a column of a paper, and on axes of the reader's own."""

from types import SimpleNamespace

import numpy as np
import pytest
from made_once import ROOT
from matplotlib import pyplot as plt
from matplotlib.text import Text
from page.more_pages import users

import evalkit as ek
from evalkit.drawing import figures, shown

COLUMN = (3.3, 2.6)  # inches
PENGUINS, TRAITS = (f"{ROOT}/data/{name}/predictions.csv" for name in ("penguins", "digit_traits"))
READ = {
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
UNNAMED = (
    "confusion",
    "ranks",
    "actual",
    "other_actual",
)  # cells, a scale of ranks: no lines of systems


def names(report: str) -> list[str]:
    return dir(shown.Offer(SimpleNamespace(report=report), figures.Figure))


PLOTS = [(kind, name) for kind, (report, _) in READ.items() for name in names(report)]


@pytest.fixture(scope="module")
def studies():
    """The studies that tests asked for."""
    return {}


@pytest.fixture(autouse=True)
def closed():
    plt.switch_backend("agg")
    yield
    plt.close("all")


def study_of(studies, kind):
    report, given = READ[kind]
    if kind == "users":
        given = given | {"users": users()}
    if kind not in studies:
        studies[kind] = getattr(ek, report)(**given)
    return studies[kind]


def plot_of(studies, kind, name):
    study = study_of(studies, kind)
    try:
        return getattr(study.plot, name)
    except ek.InputError:
        pytest.skip(f"{kind}: no {name}")


@pytest.fixture
def drawn(monkeypatch):
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
def test_in_a_column_no_text_is_cut_or_lies_on_another(kind, name, studies, drawn):
    axes = plot_of(studies, kind, name)(size=COLUMN, title="A title")
    paper = np.ravel(axes)[0].figure
    drawn.clear()
    paper.canvas.draw()
    assert tuple(paper.get_size_inches()) == COLUMN
    boxes = {text: text.get_window_extent().padded(-1) for text in drawn}
    cut = [
        text.get_text()
        for text, box in boxes.items()
        if min(box.x0, box.y0) < -1 or box.x1 > paper.bbox.x1 + 1 or box.y1 > paper.bbox.y1 + 1
    ]
    places = list(boxes.items())
    together = [
        (text.get_text(), other.get_text())
        for i, (text, box) in enumerate(places)
        for other, place in places[:i]
        if box.overlaps(place)
    ]
    assert (cut, together) == ([], [])
    assert "A title" in [text.get_text() for text in drawn]
    assert min(text.get_size() for text in drawn) > 4


@pytest.mark.parametrize("kind, name", [plot for plot in PLOTS if plot[1] not in UNNAMED])
def test_on_axes_of_ones_own_lines_have_labels(kind, name, studies):
    figure = plot_of(studies, kind, name)
    rows, columns = figure.panels or (1, 1)
    _, axes = plt.subplots(rows, columns, squeeze=False)
    figure(axes if axes.size > 1 else axes[0, 0])
    for ax in axes.flat:
        legend = ax.legend()
        words = [text.get_text() for text in legend.get_texts()]
        assert words
        assert len(words) == len({*words})


LEFT_OUT = {
    "two classes": ("roc", "forest,logistic", "gbm"),
    "several classes": ("calibration", "forest", "logistic"),
    "rating": ("actual", "boosting", "poisson"),
    "ranking": ("segment", "pca8_euclid,row_column_sums", "pixel_cosine"),
    "significance": ("differences", "pca8_euclid,lda_cosine", "pixel_cosine"),
    "log": ("by_position", "current", "candidate"),
    "validation": ("folds", "forest,majority", "gbm"),
}


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_some_systems_alone(kind, studies, drawn):
    name, systems, other = LEFT_OUT[kind]
    axes = plot_of(studies, kind, name)(systems=systems, size=(7, 5))
    drawn.clear()
    np.ravel(axes)[0].figure.canvas.draw()
    words = " ".join(text.get_text().replace("\n", " ") for text in drawn)
    assert other not in words
    assert all(system in words for system in systems.split(","))


def test_the_leader_of_some_systems_is_drawn_where_a_figure_has_one(studies, drawn):
    plot_of(studies, "two classes", "ks")(systems="gbm").figure.canvas.draw()
    assert "gbm" in [text.get_text() for text in drawn]


def test_an_unknown_system_is_refused_with_the_known_ones(studies):
    plot = plot_of(studies, "two classes", "roc")
    with pytest.raises(ek.ParameterError, match=r"no system 'fores' .*'forest'.*there are .*gbm"):
        plot(systems="fores")


def test_of_two_reports_one_system_is_drawn_alone(studies):
    diff = study_of(studies, "diff")
    (name,) = diff.system_names
    assert diff.part(systems=name).pairs == diff.pairs


def test_a_plot_that_is_asked_for_twice_is_drawn_once(studies, monkeypatch):
    study = ek.classification(metrics="roc_auc")
    calls = []
    once = figures._render
    monkeypatch.setattr(figures, "_render", lambda *given: calls.append(given) or once(*given))
    assert study.plot.curve.svg == study.plot.curve.svg
    assert len(calls) == 1
    assert study.plot.roc is study.plot.roc
    assert study.part(systems="gbm") is study.part(systems=["gbm"])


def test_the_caption_of_one_curve_is_of_that_curve(studies):
    plot = study_of(studies, "two classes").plot
    assert plot.roc.caption.startswith("ROC curves, 300 positives")
    assert "recision" not in plot.roc.alt
    assert plot.precision_recall.caption.startswith("Precision-recall curves, 300 positives")
    assert "Open circles" in plot.precision_recall.caption
    assert "ROC" not in plot.precision_recall.alt
    several = study_of(studies, "several classes").plot
    assert several.roc.caption.startswith("ROC curves of logistic: one class per curve")


def test_letters_that_the_reader_set_stay():
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 12}):
        ax = ek.classification(metrics="roc_auc").plot.roc(size=COLUMN)
    assert ax.xaxis.label.get_size() == 12
