"""Studies show themselves, and their figures and tables leave the page with its numbers."""

import base64
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import nbformat
import numpy as np
import online_samples
import pandas as pd
import pytest
from nbformat import v4
from nbformat.v4 import new_code_cell, new_notebook

import evalkit as ek
from evalkit import displays, report, running
from evalkit.arrays import InputError, ParameterError
from evalkit.drawing import figures, plots, shown, spreadsheets, strips, tables
from evalkit.drawing.cells import Cell, Table, escape, number_cell, p_cell
from evalkit.drawing.paragraphs import paragraph
from evalkit.drawing.pieces import folded, stack
from evalkit.machine import processors

ROOT = Path(__file__).resolve().parents[1]
RNG = np.random.default_rng(3)
Y = RNG.integers(0, 2, 60)
EVIL = "<script>alert(1)</script> a_b & 5% | x"


@pytest.fixture(scope="module")
def study():
    score = {EVIL: np.round(Y + RNG.normal(size=60), 2), "old": np.round(RNG.normal(size=60), 2)}
    return ek.classification(y_true=Y, y_score=score, metrics="roc_auc,accuracy", baseline="old")


@pytest.fixture
def agg(monkeypatch):
    """Figures of pyplot without a window, closed at the end."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")


# Studies ------------------------------------------------------------------------------------------


def test_a_study_shows_its_verdict_and_tables_escaped(study):
    shown = study._repr_html_()
    assert "<script>" not in shown
    assert "<strong>better</strong>" in shown
    assert not re.search("href=|evidence", shown)  # places of the page
    assert "<b>" in shown
    # the strip, estimates, comparisons by each metric
    assert shown.count("<table") == 4
    text = str(study)
    assert f"{EVIL} is better than old" in text
    assert "roc_auc\u00a0↑" in text
    assert "&lt;" not in text


def outputs_of(run):
    return [cell.outputs for cell in run.notebook.cells if cell.cell_type == "code"]


def test_findings_and_units_are_those_of_the_page(study, tmp_path):
    for name in ("page.json", "page.units.parquet"):
        study.save(tmp_path / name)
    written = json.loads((tmp_path / "page.json").read_text("utf-8"))["findings"]
    assert [*study.findings["code"]] == [
        one["code"] for one in sorted(written, key=lambda one: one["severity"] == "note")
    ]
    pd.testing.assert_frame_equal(study.units, pd.read_parquet(tmp_path / "page.units.parquet"))
    warned = study.findings["message"][study.findings["severity"] != "note"]
    assert len(warned)
    assert all(message in str(study) for message in warned)
    with pytest.raises(InputError, match="units: left out by units=False"):
        _ = ek.classification(y_true=Y, y_score=Y * 1.0, units=False).units


def test_a_study_lists_what_is_documented(study):
    assert dir(study) == sorted(
        name for name in shown.DOCUMENTED if name not in ("log", "users", "planning", "differences")
    )
    assert all(
        f"study.{name}`" in (ROOT / "docs/python.md").read_text("utf-8")
        for name in dir(study)
        if name[0] in "efo"
    )


def test_frames_of_an_ab_test_and_a_log_are_one():
    given = {"metrics": "orders", "segments": "device,country"}
    online = ek.interleaving(online_samples.log(), online_samples.users(), **given)
    assert {"estimates", "comparisons", "log", "users"} < {*dir(online)}
    for name in ("estimates", "comparisons", "by_segment"):
        both = getattr(online, name)
        for table in ("log", "users"):
            part = both[both["table"] == table].drop(columns="table").reset_index(drop=True)
            own = getattr(getattr(online, table), name)
            pd.testing.assert_frame_equal(part[own.columns], own, check_dtype=False)


def test_the_page_in_this_process_is_that_of_the_command(monkeypatch):
    """Where both have the same instructions: those that a Zen 4 sorts quickly with round other last
    bits.
    """
    monkeypatch.setenv(processors.SWITCH, os.environ.get(processors.SWITCH, ""))
    notebook = report.read(ROOT / "notebooks" / "validation.ipynb")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells = [
        *code[:4],
        code[7],
        code[-2],
    ]  # parameters, title, verdict, leakage; a figure; the results
    first = running.execute(notebook, {})
    second = running.run(notebook, ek.validation(), {})
    assert first.results == second.results
    assert outputs_of(first) == outputs_of(second)
    assert "<svg" in report.page(second.notebook)
    assert report.page(first.notebook) == report.page(second.notebook)


def test_save_writes_page_notebook_and_results(study, tmp_path):
    sources = ("preds: str = None\nlimit = 3", "study = None", "limit + 1", "pages.results(study)")
    cells = [
        new_code_cell(source, metadata={"tags": ["parameters"]} if ":" in source else {})
        for source in sources
    ]
    cells[1].source = "from evalkit.pages import classification_page as pages\n"
    cells[
        1
    ].source += "from evalkit.studies import classification\nstudy = classification.read(preds)"
    nbformat.write(new_notebook(cells=cells), tmp_path / "mine.ipynb")
    new = tmp_path / "new" / "pages"
    for ending in (".html", ".json", ".ipynb"):
        study.save(new / f"page{ending}", notebook=tmp_path / "mine.ipynb")
    saved = json.loads((new / "page.json").read_text(encoding="utf-8"))
    assert (saved["order"], saved["parameters"]["y_true"]) == (study.order, "<ndarray of 60>")
    assert "<td" not in (new / "page.html").read_text(encoding="utf-8")
    executed = nbformat.read(new / "page.ipynb", as_version=4)
    assert executed.cells[2].outputs[0].data["text/plain"] == "4"
    with pytest.raises(
        ParameterError, match=r"path must end in one of .html, .*, .units.parquet, got 'page.pdf'"
    ):
        study.save(tmp_path / "page.pdf")


def test_offers_are_listed_and_unknown_names_answered(study):
    assert {"roc", "precision_recall", "curve", "calibration", "differences"} <= {*dir(study.plot)}
    assert {"estimates", "comparisons"} <= {*dir(study.tables)}
    assert "roc" not in dir(study.tables)
    assert "estimates" not in dir(study.plot)
    with pytest.raises(AttributeError, match=r"no 'rok' \(did you mean 'roc'\?\); there are .*roc"):
        study.plot.rok  # noqa: B018 - the attribute itself is what is tested
    with pytest.raises(InputError, match="segment: this study has none"):
        study.plot.segment  # noqa: B018
    assert repr(study.tables).startswith("<")


def test_of_two_pieces_with_one_name_the_second_has_that_of_its_module():
    tables = ek.interleaving().tables
    assert {"estimates", "experiment_estimates"} <= {*dir(tables)}


# Figures ------------------------------------------------------------------------------------------


def line(frame, ax, *, label):
    ax.plot(frame["x"], frame["y"])
    ax.set_xlabel(label)


def picture(draw=line, panels=None):
    return figures.picture(
        draw, pd.DataFrame({"x": [0, 1], "y": [0, 1]}), caption="c", panels=panels, label="steps"
    )


def two(frame, axes, *, label):
    for ax in axes.flat:
        line(frame, ax, label=label)


def test_a_figure_is_drawn_on_axes_or_on_new_ones(agg):
    ax = agg.subplots()[1]
    assert picture()(ax) is ax
    assert (ax.get_xlabel(), len(ax.lines)) == ("steps", 1)
    assert picture()().figure in map(agg.figure, agg.get_fignums())
    assert picture(two, (1, 2))(agg.subplots(1, 2)[1]).shape == (1, 2)
    with pytest.raises(
        ParameterError, match=r"ax must be .*, 2, such as plt.subplots\(1, 2\)\[1\], got 1"
    ):
        picture(two, (1, 2))(ax)
    with pytest.raises(
        ParameterError, match=r"ax must be axes of matplotlib, such as plt.gca\(\), got str"
    ):
        picture()("roc")


def test_what_the_first_figure_switches_on_stays_on_for_the_next(agg):
    """In a notebook pyplot turns interactive when it draws first; without it no later figure is
    shown.
    """

    def switched(frame, ax, *, label):
        mpl.interactive(b=True)

    with mpl.rc_context():
        mpl.interactive(b=False)
        picture(switched)()
        assert mpl.is_interactive()


def test_the_reader_restyles_a_figure(agg):
    assert picture()().xaxis.label.get_size() == figures.STYLE["font.size"]
    with mpl.rc_context({"font.size": 17, "figure.figsize": (2, 1)}):
        ax = picture()()
    assert ax.xaxis.label.get_size() == 17
    assert ax.figure.get_size_inches().tolist() == [2, 1]


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_figure_of_the_page_is_the_same_in_any_style_of_the_reader(agg, form):
    usual = getattr(picture(), form)
    with mpl.style.context("dark_background"):
        assert getattr(picture(), form) == usual


def test_the_style_of_the_reader_outlasts_a_figure_of_the_page(agg):
    with mpl.style.context("dark_background"):
        before = dict(mpl.rcParams)
        assert picture().png
        assert dict(mpl.rcParams) == before


def test_the_reader_sets_the_colours_of_the_systems():
    assert plots.style_of(1)["color"] == plots.COLOURS[1]
    with mpl.rc_context({"axes.prop_cycle": mpl.cycler(color=["k", "r"])}):
        assert [plots.style_of(i)["color"] for i in range(3)] == ["k", "r", "k"]


@pytest.mark.parametrize(
    "ending, start", [("pdf", b"%PDF-"), ("svg", b"<?xml"), ("png", b"\x89PNG")]
)
def test_a_figure_is_saved_in_any_size(ending, start, tmp_path):
    path = tmp_path / f"figure.{ending}"
    picture().save(path, size=(3, 2), dpi=100)
    assert path.read_bytes().startswith(start)
    if ending == "png":
        from matplotlib import image

        assert image.imread(path).shape[:2] == (200, 300)


@pytest.mark.parametrize(
    "path, size",
    [(".", None), ("", None), *(("x", size) for size in (3, "3x2", (0, 1), (2, np.nan)))],
)
def test_a_figure_is_not_saved_without_a_name_or_in_no_size(path, size):
    message = (
        "path must name a file"
        if size is None
        else r"size must be width and height in inches, .* got "
    )
    with pytest.raises(ParameterError, match=message):
        picture().save(path, size=size)


# Notebooks ----------------------------------------------------------------------------------------


def pixels(display):
    """The picture of a display, decoded."""
    from matplotlib import image

    return image.imread(io.BytesIO(base64.b64decode(display.data["image/png"])), format="png")


def test_a_figure_is_displayed_as_a_picture_and_its_caption(study):
    figure = study.plot.roc
    picture, caption = figure.displays()
    assert set(picture.data) == {"image/png", "text/plain", displays.PAGE}
    assert picture.metadata["image/png"]["alt"] == figure.alt
    assert caption.data["text/html"] == f"<p>{escape(figure.caption)}</p>"
    assert (picture.data[displays.PAGE], caption.data[displays.PAGE]) == (figure.html, "")


def test_a_picture_has_twice_the_pixels_of_its_place():
    (display, _) = picture().displays()
    height, width, _ = pixels(display).shape
    look = display.metadata["image/png"]
    assert (width, height) == (2 * look["width"], 2 * look["height"])
    assert look["width"] == int(96 * figures.WIDTH)


def test_a_picture_is_the_same_twice():
    first = picture()
    second = picture()
    assert first.displays() == first.displays() == second.displays()


def test_panels_that_are_too_wide_for_a_screen_move_to_a_further_row():
    frame = pd.DataFrame({"x": [0, 1], "y": [0, 1]})
    several = {n: figures.row(two, frame, panels=n, caption="c", label="x") for n in (4, 5)}
    (four, _), (five, _) = (figure.displays() for figure in several.values())
    assert pixels(five).shape[0] > 1.9 * pixels(four).shape[0]
    assert five.metadata["image/png"]["width"] < 1000


def test_a_notebook_shows_what_is_folded_around_a_figure_as_outputs_of_their_own():
    after = paragraph("after")
    piece = folded("Why?", stack([picture(), after]))
    kinds = [next(iter(display.data)) for display in piece.displays()]
    assert kinds == ["text/html", "image/png", "text/html", "text/html"]
    assert piece.displays()[0].data["text/html"] == "<p><b>Why?</b></p>"
    assert piece.displays()[-1].data["text/html"] == after.html
    pages = [display.data[displays.PAGE] for display in piece.displays()]
    assert pages == [piece.html, "", "", ""]


def test_a_strip_is_the_table_of_its_results_in_a_notebook():
    point = (0.5, 0.4, 0.6)
    rows = [strips.Result(Cell(EVIL), [(EVIL, point)], ["0.5 [0.4, 0.6]"], "better")]
    strip = strips.strip("auc", ["system", "auc"], rows)
    (display,) = strip.displays()
    assert display.data["text/html"].count(escape(EVIL)) == 1
    assert "<svg" not in display.data["text/html"]
    assert "<svg" in display.data[displays.PAGE]


def test_controls_of_a_page_are_left_out_of_a_notebook(study):
    (display,) = study.tables.moving_threshold_table.displays()
    assert "<input" not in display.data["text/html"]
    assert "<input" in display.data[displays.PAGE]


def test_a_page_has_the_vector_figure_once(study):
    outputs = [v4.new_output("display_data", **d._asdict()) for d in study.plot.roc.displays()]
    page = report.page(new_notebook(cells=[new_code_cell("", outputs=outputs)]))
    assert page.count("<figure>") == 1
    assert page.count("<figcaption>") == 1
    assert "data:image/png" not in page


def test_ipython_displays_each_output(study, monkeypatch):
    from IPython import display

    shown_there = []
    monkeypatch.setattr(display, "display", lambda data, **_: shown_there.append(data))
    study.plot.roc._ipython_display_()
    assert shown_there == [each.data for each in study.plot.roc.displays()]


# Tables -------------------------------------------------------------------------------------------


def test_tables_have_the_numbers_of_the_page(study):
    piece = study.tables.estimates
    first = piece.to_frames()[0]
    for name, value, low, high in first.iloc[:2, :4].itertuples(index=False):
        row = study.estimates[
            (study.estimates["metric"] == "roc_auc") & (study.estimates["system"] == name)
        ].iloc[0]
        assert [row["value"], row["low"], row["high"]] == pytest.approx(
            [value, low, high], abs=0.005
        )
    cells = [
        cell for cell in re.split(r"[|\s]+", piece.to_markdown()) if re.fullmatch(r"0\.\d+", cell)
    ]
    assert len(cells) > 4
    assert all(f">{cell}" in piece.html for cell in cells)
    assert pd.read_csv(io.StringIO(piece.to_csv().split("\n\n")[0])).shape == first.shape


def test_latex_has_intervals_marks_and_escaped_names(study):
    latex = study.tables.estimates.to_latex()
    assert r"\textless" not in latex
    assert r"$<$script$>$alert(1)$<$/script$>$ a\_b \& 5\% $|$ x$^{a}$" in latex
    assert r"$^{b}$ {\footnotesize [" in latex
    assert (
        "A superscript letter marks a significant win over the system with that letter (adjusted p "
        "below 0.05)." in latex
    )
    assert latex.count("{") == latex.count("}")
    alone = ek.classification(y_true=Y, y_score=Y + 0.1, metrics="accuracy")
    assert "$^{" not in alone.tables.estimates.to_latex()
    # a bracket is no option
    odd = tables.table("", ["system", "auc"], [["[new]", "0.8"], ["a\n<b>|", "–"]])
    assert odd.to_latex().splitlines()[6:8] == [r"{}[new] & 0.8 \\", r"a $<$b$>$$|$ & -- \\"]
    comparisons = study.tables.comparisons.to_latex()
    assert r"$^{*}$ {\footnotesize [$" in comparisons or r"$^{*}$ {\footnotesize [+" in comparisons


def test_cells_that_are_no_numbers_stay_text():
    x = Cell("0.5", "[0.4, 0.6]", below=("n = 7",), numbers=(0.5, 0.4, 0.6))
    rows = [[Cell("7"), p_cell(0.0004), x], [Cell("b"), p_cell(0.2), Cell("–")]]
    frame = spreadsheets.frame(Table("", [*map(Cell, ["system", "p", "x"])], rows))
    assert frame["system"].tolist() == ["7", "b"]  # a name stays a name
    assert frame["p"].tolist() == ["<0.001", 0.2]
    assert frame["x note"].tolist() == ["n = 7", ""]


def test_csv_is_written_and_excel_needs_its_library(study, tmp_path, monkeypatch):
    text = study.tables.comparisons.to_csv(tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text(encoding="utf-8") == text
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match="to_excel needs the package openpyxl"):
        study.tables.comparisons.to_excel(tmp_path / "c.xlsx")


def test_a_missing_folder_is_made_and_one_that_cannot_be_is_named(study, tmp_path):
    new = tmp_path / "new"
    file = tmp_path / "file"
    study.plot.roc.save(new / "figures" / "roc.svg")
    study.tables.estimates.to_csv(new / "tables" / "e.csv")
    assert sum(path.is_file() for path in new.rglob("*")) == 2
    file.touch()
    for write in (study.plot.roc.save, study.tables.estimates.to_markdown, study.save):
        with pytest.raises(
            ParameterError, match=r"path: cannot write to .*file.*: (File exists|Not a directory)"
        ):
            write(file / "more" / "x.html")


# Results ------------------------------------------------------------------------------------------


ODD = {  # a name, and how a CSV file and Markdown hold it
    "=HYPERLINK(1)": ("'=HYPERLINK(1)", "=HYPERLINK(1)"),
    "@SUM(A1)": ("'@SUM(A1)", "@&#8203;SUM(A1)"),
    "+cmd": ("'+cmd", "+cmd"),
    "-1+A1": ("'-1+A1", "-1+A1"),
    "[x](javascript:alert(1))": ("[x](javascript:alert(1))", r"\[x\](javascript:alert(1))"),
    "[1, 2](javascript:y)": ("[1, 2](javascript:y)", r"\[1, 2\](javascript:y)"),
    "<img src=x>": ("<img src=x>", "&lt;img src=x>"),
    "`a|b`": ("`a|b`", r"\`a&#124;b\`"),
    "*bold* _it_ $x$": ("*bold* _it_ $x$", r"\*bold\* \_it\_ \$x\$"),
    "roc_auc": ("roc_auc", "roc_auc"),
    "+3.1% [−1.0%, +7.2%]": ("+3.1% [−1.0%, +7.2%]", "+3.1% [−1.0%, +7.2%]"),
    "−3%": ("−3%", "−3%"),
}


def _lines(texts):
    """What CSV and Markdown hold of a name, without what is around it."""
    rows = list(csv.reader(io.StringIO(texts["CSV"])))
    marks = [
        line.removeprefix("| ").removesuffix(" |")
        for line in texts["Markdown"].splitlines()
        if "|" in line
    ]
    return rows, [marks[0], *marks[2:]]


@pytest.mark.parametrize("name", ODD)
def test_a_name_runs_in_no_spreadsheet_and_no_renderer(name):
    odd = tables.table(name, [name, "auc"], [[name, number_cell(-0.031, 3)]])
    rows, marks = _lines({"CSV": odd.to_csv(), "Markdown": odd.to_markdown()})
    spread, marked = ODD[name]
    if "[−" not in name:  # an interval has columns of its own
        assert rows[0][0] == spread
    assert rows[1][0] == spread
    assert rows[1][-1] == "-0.031"
    assert odd.to_markdown().splitlines()[0] == f"**{marked}**"
    assert marks == [f"{marked} | auc", f"{marked} | −0.031"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("name", ODD)
def test_the_buttons_of_a_page_write_names_as_python_does(name):
    """The page's own formats, without a browser."""
    code = (
        (ROOT / "evalkit" / "page" / "evalkit" / "tables.js")
        .read_text(encoding="utf-8")
        .split("all(")[0]
    )
    rows = json.dumps([["system", name], [name, "−0.031"], ["[b]", "1"]])
    ask = f"{code}; const f = FORMATS; const t = f.LaTeX({rows}, () => false).join('\\n');"
    ask += (
        f"console.log(JSON.stringify({{CSV: f.CSV({rows}).join('\\n'), Markdown: "
        f"f.Markdown({rows}).join('\\n'), t}}))"
    )
    texts = json.loads(
        subprocess.run(["node", "-e", ask], capture_output=True, text=True, check=True).stdout
    )
    (head, *_), (first, number, *_) = _lines(texts)[0][:2]
    assert (head, first, number) == ("system", ODD[name][0], "-0.031")
    assert _lines(texts)[1][:2] == [f"system | {ODD[name][1]}", f"{ODD[name][1]} | −0.031"]
    assert "\n{}[b] & 1 \\\\" in texts["t"]
