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
from typing import NamedTuple

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
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import folded, stack
from evalkit.machine import processors

ROOT = Path(__file__).resolve().parents[1]
RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 2, 60)
NAME_WITH_MARKUP = "<script>alert(1)</script> a_b & 5% | x"  # of HTML, Markdown and LaTeX


@pytest.fixture(scope="module")
def study():
    """The classification study of 60 rows: a good system with the name NAME_WITH_MARKUP, and the
    baseline "old", whose scores are random.
    """
    good = np.round(LABELS + RNG.normal(size=60), 2)
    random = np.round(RNG.normal(size=60), 2)
    scores = {NAME_WITH_MARKUP: good, "old": random}
    return ek.classification(
        y_true=LABELS, y_score=scores, metrics="roc_auc,accuracy", baseline="old"
    )


@pytest.fixture
def pyplot_without_windows():
    """pyplot with the backend agg; its figures are closed at the end."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")


def outputs_of(run):
    """The outputs of each code cell of a notebook that was run."""
    return [cell.outputs for cell in run.notebook.cells if cell.cell_type == "code"]


# Studies ------------------------------------------------------------------------------------------


def test_a_notebook_shows_the_verdict_and_the_tables_of_a_study(study):
    """A study of two systems, one of which has HTML markup as its name, by two metrics. IPython
    shows the HTML of `_repr_html_`.
    """
    html = study._repr_html_()
    assert "<strong>better</strong>" in html
    # the strip of results, the estimates, and the comparisons by each of the two metrics
    assert html.count("<table") == 4
    assert "<b>" in html  # the best value of a column is bold
    assert "<script>" not in html  # the name is escaped
    assert not re.search("href=|evidence", html)  # links and classes that only the page has


def test_the_text_of_a_study_has_its_verdict_and_names_as_they_are(study):
    text = str(study)
    assert f"{NAME_WITH_MARKUP} is better than old" in text
    assert "roc_auc\u00a0↑" in text  # a no-break space
    assert "&lt;" not in text


def test_findings_of_a_study_are_those_of_the_saved_results_notes_last(study, tmp_path):
    study.save(tmp_path / "page.json")
    saved = json.loads((tmp_path / "page.json").read_text("utf-8"))["findings"]
    notes_last = sorted(saved, key=lambda finding: finding["severity"] == "note")
    assert study.findings["code"].tolist() == [finding["code"] for finding in notes_last]


def test_the_text_of_a_study_has_its_warnings(study):
    warnings = study.findings["message"][study.findings["severity"] != "note"]
    assert len(warnings)
    assert all(message in str(study) for message in warnings)


def test_units_of_a_study_are_those_that_are_saved(study, tmp_path):
    study.save(tmp_path / "page.units.parquet")
    pd.testing.assert_frame_equal(study.units, pd.read_parquet(tmp_path / "page.units.parquet"))


def test_a_study_without_units_says_by_which_parameter_they_were_left_out():
    study = ek.classification(y_true=LABELS, y_score=LABELS * 1.0, units=False)
    with pytest.raises(InputError, match="units: left out by units=False"):
        _ = study.units


def test_dir_of_a_study_lists_the_documented_attributes_that_it_has(study):
    """A classification study has none of an online experiment, and not the frame `differences`."""
    of_other_reports = {"log", "users", "planning", "differences"}
    assert dir(study) == sorted(set(shown.DOCUMENTED) - of_other_reports)


def test_the_attributes_of_a_study_are_described_in_the_documentation(study):
    """For speed only attributes that begin with e, f or o are looked for in docs/python.md, such as
    estimates, findings and order.
    """
    documentation = (ROOT / "docs/python.md").read_text("utf-8")
    names = [name for name in dir(study) if name[0] in "efo"]
    assert {"estimates", "findings", "order"} <= set(names)
    assert all(f"study.{name}`" in documentation for name in names)


def test_the_frames_of_a_log_and_of_users_are_stacked():
    """An online experiment has two tables, a log of interleaving and a table of users; each has a
    study of its own. A frame of both has the rows of the two studies, told apart by its column
    `table`.
    """
    options = {"metrics": "orders", "segments": "device,country"}
    online = ek.interleaving(online_samples.log(), online_samples.users(), **options)
    assert {"estimates", "comparisons", "log", "users"} < {*dir(online)}
    for name in ("estimates", "comparisons", "by_segment"):
        stacked = getattr(online, name)
        for table in ("log", "users"):
            frame = getattr(getattr(online, table), name)
            rows = stacked[stacked["table"] == table].reset_index(drop=True)
            pd.testing.assert_frame_equal(rows[frame.columns], frame, check_dtype=False)


def test_a_page_made_in_this_process_equals_the_one_of_the_command(monkeypatch):
    """The page of a report is made from a notebook. The command `evalkit report` runs it in a
    kernel (`running.execute`), `study.save` in this process (`running.run`): outputs, results and
    page must be equal. Six of its cells are enough, for speed. A kernel may be started with some
    instructions of the processor switched off (by the variable
    processors.DISABLED_FEATURES_VARIABLE), which rounds sums otherwise in the last bits. The
    variable is set here to what it is or, if it is not set, to nothing, so that both compute alike.
    """
    monkeypatch.setenv(
        processors.DISABLED_FEATURES_VARIABLE,
        os.environ.get(processors.DISABLED_FEATURES_VARIABLE, ""),
    )
    notebook = report.read(ROOT / "notebooks" / "validation.ipynb")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    parameters_title_verdict_leakage = code[:4]
    figure = code[7]
    results = code[-2]
    notebook.cells = [*parameters_title_verdict_leakage, figure, results]
    of_kernel = running.execute(notebook, {})
    of_process = running.run(notebook, ek.validation(), {})
    assert of_process.results == of_kernel.results
    assert outputs_of(of_process) == outputs_of(of_kernel)
    page = report.page(of_process.notebook)
    assert "<svg" in page
    assert page == report.page(of_kernel.notebook)


@pytest.fixture(scope="module")
def saved_folder(study, tmp_path_factory):
    """A new folder into which the study is saved as page.html, page.json and page.ipynb, by a
    notebook of one's own that prints `limit + 1`, which is 4, and the results.
    """
    folder = tmp_path_factory.mktemp("saved")
    reading = (
        "from evalkit.pages import classification_page as pages\n"
        "from evalkit.studies import classification\n"
        "study = classification.read(preds)"
    )
    cells = [
        new_code_cell("preds: str = None\nlimit = 3", metadata={"tags": ["parameters"]}),
        new_code_cell(reading),
        new_code_cell("limit + 1"),
        new_code_cell("pages.results(study)"),
    ]
    nbformat.write(new_notebook(cells=cells), folder / "mine.ipynb")
    new_folder = folder / "new" / "pages"
    for ending in (".html", ".json", ".ipynb"):
        study.save(new_folder / f"page{ending}", notebook=folder / "mine.ipynb")
    return new_folder


def test_saved_results_have_the_order_of_systems_and_the_parameters(study, saved_folder):
    saved = json.loads((saved_folder / "page.json").read_text(encoding="utf-8"))
    assert saved["order"] == study.order
    assert saved["parameters"]["y_true"] == "<ndarray of 60>"


def test_a_page_saved_by_a_notebook_of_ones_own_has_its_cells_alone(saved_folder):
    """The notebook that made the page computes `limit + 1` and shows no table; a study's own page
    has tables, with cells <td>.
    """
    assert "<td" not in (saved_folder / "page.html").read_text(encoding="utf-8")


def test_a_saved_notebook_has_the_outputs_of_its_cells(saved_folder):
    executed = nbformat.read(saved_folder / "page.ipynb", as_version=4)
    third_cell = executed.cells[2]
    assert third_cell.source == "limit + 1"
    assert third_cell.outputs[0].data["text/plain"] == "4"


def test_a_study_is_not_saved_as_pdf(study, tmp_path):
    with pytest.raises(
        ParameterError, match=r"path must end in one of .html, .*, .units.parquet, got 'page.pdf'"
    ):
        study.save(tmp_path / "page.pdf")


def test_dir_lists_figures_under_plot_and_tables_under_tables(study):
    assert {"roc", "precision_recall", "curve", "calibration", "differences"} <= {*dir(study.plot)}
    assert {"estimates", "comparisons"} <= {*dir(study.tables)}
    assert "roc" not in dir(study.tables)
    assert "estimates" not in dir(study.plot)


def test_an_unknown_figure_is_an_error_with_the_nearest_name(study):
    with pytest.raises(AttributeError, match=r"no 'rok' \(did you mean 'roc'\?\); there are .*roc"):
        study.plot.rok  # noqa: B018 - the attribute itself is what is tested


def test_a_figure_that_other_data_have_is_an_error_that_says_so(study):
    """The study was read without segments."""
    with pytest.raises(InputError, match="segment: this study has none"):
        study.plot.segment  # noqa: B018


def test_the_tables_of_a_study_have_a_short_repr(study):
    assert repr(study.tables).startswith("<")


def test_of_two_tables_with_one_name_the_second_has_that_of_its_module_before_it():
    tables = ek.interleaving().tables
    assert {"estimates", "experiment_estimates"} <= {*dir(tables)}


# Figures ------------------------------------------------------------------------------------------


def draw_line(frame, ax, *, label):
    ax.plot(frame["x"], frame["y"])
    ax.set_xlabel(label)


def draw_line_in_each_panel(frame, axes, *, label):
    for ax in axes.flat:
        draw_line(frame, ax, label=label)


def line_figure(draw=draw_line, panels=None):
    """A figure of a study: a line from (0, 0) to (1, 1) with the x label "steps"."""
    return figures.figure_drawn_by(
        draw, pd.DataFrame({"x": [0, 1], "y": [0, 1]}), caption="c", panels=panels, label="steps"
    )


def two_line_figure():
    """Two panels side by side, each with the line of `line_figure`."""
    return line_figure(draw_line_in_each_panel, panels=(1, 2))


def test_a_figure_is_drawn_on_axes(pyplot_without_windows):
    ax = pyplot_without_windows.subplots()[1]
    assert line_figure()(ax) is ax
    assert ax.get_xlabel() == "steps"
    assert len(ax.lines) == 1


def test_without_axes_a_figure_is_drawn_on_a_new_one_of_pyplot(pyplot_without_windows):
    plt = pyplot_without_windows
    ax = line_figure()()
    assert ax.figure in [plt.figure(number) for number in plt.get_fignums()]


def test_a_figure_of_two_panels_is_drawn_on_two_axes(pyplot_without_windows):
    axes = pyplot_without_windows.subplots(1, 2)[1]
    assert two_line_figure()(axes).shape == (1, 2)


def test_a_figure_of_two_panels_is_not_drawn_on_one(pyplot_without_windows):
    ax = pyplot_without_windows.subplots()[1]
    with pytest.raises(
        ParameterError, match=r"ax must be .*, 2, such as plt.subplots\(1, 2\)\[1\], got 1"
    ):
        two_line_figure()(ax)


def test_a_figure_is_not_drawn_on_what_is_not_axes():
    with pytest.raises(
        ParameterError, match=r"ax must be axes of matplotlib, such as plt.gca\(\), got str"
    ):
        line_figure()("roc")


def test_the_interactive_mode_that_drawing_switches_on_stays_on(pyplot_without_windows):
    """In a notebook pyplot turns interactive when it first draws, as the drawing function of this
    figure does. Drawing ends with the former style restored; if the interactive mode were restored
    too, no later figure would be shown.
    """

    def draw_and_turn_interactive(frame, ax, *, label):
        mpl.interactive(b=True)

    with mpl.rc_context():
        mpl.interactive(b=False)
        figure = line_figure(draw_and_turn_interactive)
        figure()  # draws it on new axes
        assert mpl.is_interactive()


def test_the_reader_restyles_a_figure(pyplot_without_windows):
    assert line_figure()().xaxis.label.get_size() == figures.STYLE["font.size"]
    with mpl.rc_context({"font.size": 17, "figure.figsize": (2, 1)}):
        ax = line_figure()()
    assert ax.xaxis.label.get_size() == 17
    assert ax.figure.get_size_inches().tolist() == [2, 1]


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_figure_of_the_page_is_the_same_in_any_style_of_the_reader(
    pyplot_without_windows, form
):
    usual = getattr(line_figure(), form)
    with mpl.style.context("dark_background"):
        assert getattr(line_figure(), form) == usual


def test_the_style_of_the_reader_outlasts_a_figure_of_the_page(pyplot_without_windows):
    with mpl.style.context("dark_background"):
        before = dict(mpl.rcParams)
        assert line_figure().png
        assert dict(mpl.rcParams) == before


def test_the_reader_sets_the_colours_of_the_systems():
    assert plots.marker_style(1)["color"] == plots.COLOURS[1]
    with mpl.rc_context({"axes.prop_cycle": mpl.cycler(color=["k", "r"])}):
        assert [plots.marker_style(i)["color"] for i in range(3)] == ["k", "r", "k"]


@pytest.mark.parametrize(
    "ending, start", [("pdf", b"%PDF-"), ("svg", b"<?xml"), ("png", b"\x89PNG")]
)
def test_a_figure_is_saved_in_any_size(ending, start, tmp_path):
    """The format follows from the ending of the path; a file of the format begins with the bytes
    `start`. 3 × 2 inches at 100 dots per inch are 300 × 200 pixels.
    """
    path = tmp_path / f"figure.{ending}"
    line_figure().save(path, size=(3, 2), dpi=100)
    assert path.read_bytes().startswith(start)
    if ending == "png":
        from matplotlib import image

        assert image.imread(path).shape[:2] == (200, 300)


@pytest.mark.parametrize("path", [".", ""])
def test_a_figure_is_not_saved_without_the_name_of_a_file(path):
    with pytest.raises(ParameterError, match="path must name a file"):
        line_figure().save(path)


@pytest.mark.parametrize("size", [3, "3x2", (0, 1), (2, np.nan)])
def test_a_figure_is_not_saved_in_a_size_that_is_not_two_positive_numbers(size):
    with pytest.raises(ParameterError, match=r"size must be width and height in inches, .* got "):
        line_figure().save("x", size=size)


# Notebooks ----------------------------------------------------------------------------------------


def pixels(display):
    """The PNG of a display as an array (rows, columns, channels)."""
    from matplotlib import image

    return image.imread(io.BytesIO(base64.b64decode(display.data["image/png"])), format="png")


def test_a_figure_is_displayed_as_a_picture_and_its_caption(study):
    """A notebook shows two outputs: a PNG whose alternative text is that of the figure, and the
    caption. A page made from the notebook takes what an output has under `displays.PAGE` in place
    of the output: the first has the HTML of the whole figure, the second nothing.
    """
    figure = study.plot.roc
    picture, caption = figure.displays()
    assert set(picture.data) == {"image/png", "text/plain", displays.PAGE}
    assert picture.metadata["image/png"]["alt"] == figure.alt
    assert caption.data["text/html"] == f"<p>{escape(figure.caption)}</p>"
    assert (picture.data[displays.PAGE], caption.data[displays.PAGE]) == (figure.html, "")


def test_a_picture_has_twice_the_pixels_of_its_place():
    (display, _) = line_figure().displays()
    height, width, _ = pixels(display).shape
    look = display.metadata["image/png"]
    assert (width, height) == (2 * look["width"], 2 * look["height"])
    assert look["width"] == int(96 * figures.WIDTH)


def test_a_picture_is_the_same_twice():
    first = line_figure()
    second = line_figure()
    assert first.displays() == first.displays() == second.displays()


def test_panels_that_are_too_wide_for_a_screen_move_to_a_further_row():
    """Four panels fit side by side; a fifth moves to a second row. The picture of five is therefore
    about twice as high as that of four, and still narrower than 1,000 pixels, a usual screen.
    """
    frame = pd.DataFrame({"x": [0, 1], "y": [0, 1]})
    options = {"caption": "c", "label": "x"}
    figure_of_four = figures.row(draw_line_in_each_panel, frame, panels=4, **options)
    figure_of_five = figures.row(draw_line_in_each_panel, frame, panels=5, **options)
    four, _caption = figure_of_four.displays()
    five, _caption = figure_of_five.displays()
    height_of_four = pixels(four).shape[0]
    height_of_five = pixels(five).shape[0]
    assert height_of_five > 1.9 * height_of_four
    assert five.metadata["image/png"]["width"] < 1000


def test_a_notebook_shows_the_parts_of_a_folded_paragraph_as_outputs_of_their_own():
    """A paragraph that a page folds away under "Why?" has a figure and a text. A notebook, which
    cannot fold, shows a heading, the figure, its caption and the text. A page made from the
    notebook takes what an output has under `displays.PAGE` in place of the output: the first has
    the whole folded paragraph, the others nothing.
    """
    after = muted_paragraph("after")
    piece = folded("Why?", stack([line_figure(), after]))
    heading, figure, caption, last = piece.displays()
    first_type = [next(iter(display.data)) for display in (heading, figure, caption, last)]
    assert first_type == ["text/html", "image/png", "text/html", "text/html"]
    assert heading.data["text/html"] == "<p><b>Why?</b></p>"
    assert last.data["text/html"] == after.html
    on_page = [display.data[displays.PAGE] for display in (heading, figure, caption, last)]
    assert on_page == [piece.html, "", "", ""]


def test_a_strip_of_results_is_a_table_in_a_notebook_and_a_drawing_on_the_page():
    """A strip has a row per system: its name, a dot with an interval drawn on an axis, and numbers.
    A notebook shows it without the drawing, with the name once and escaped; the page, whose HTML is
    under `displays.PAGE`, has the drawing.
    """
    name = NAME_WITH_MARKUP
    value_low_high = (0.5, 0.4, 0.6)
    result = strips.Result(
        Cell(name), points=[(name, value_low_high)], cells=["0.5 [0.4, 0.6]"], tone="better"
    )
    strip = strips.strip("auc", ["system", "auc"], [result])
    (display,) = strip.displays()
    assert display.data["text/html"].count(escape(name)) == 1
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


def test_a_frame_of_estimates_has_value_and_limits_as_rounded_on_the_page(study):
    """The first two rows of the frame are those of the two systems by roc_auc, and the first four
    columns are name, value and limits. The page rounds to two decimals, so that they differ from
    the exact numbers of the study by up to 0.005.
    """
    first_frame = study.tables.estimates.to_frames()[0]
    exact = study.estimates.query("metric == 'roc_auc'").set_index("system")
    name_value_low_high = first_frame.iloc[:2, :4]
    for name, *shown_numbers in name_value_low_high.itertuples(index=False):
        exact_numbers = exact.loc[name, ["value", "low", "high"]].tolist()
        assert exact_numbers == pytest.approx(shown_numbers, abs=0.005)


def test_markdown_has_the_numbers_of_the_page(study):
    table = study.tables.estimates
    words = re.split(r"[|\s]+", table.to_markdown())
    numbers = [word for word in words if re.fullmatch(r"0\.\d+", word)]
    assert len(numbers) > 4
    assert all(f">{number}" in table.html for number in numbers)


def test_the_first_table_of_a_csv_has_as_many_rows_and_columns_as_the_frame(study):
    table = study.tables.estimates
    first_csv = table.to_csv().split("\n\n")[0]  # an empty line separates tables
    assert pd.read_csv(io.StringIO(first_csv)).shape == table.to_frames()[0].shape


def test_latex_has_escaped_names_with_letters_and_marks_wins_by_the_letter_of_the_loser(study):
    """The table has two systems, which get the letters a and b; a wins over b. The name of a is
    "<script>alert(1)</script> a_b & 5% | x", which must be escaped so that LaTeX prints it.
    """
    latex = study.tables.estimates.to_latex()
    assert r"$<$script$>$alert(1)$<$/script$>$ a\_b \& 5\% $|$ x$^{a}$" in latex
    assert r"\textless" not in latex
    assert r"$^{b}$ {\footnotesize [" in latex  # the mark of the win, before the interval
    assert (
        "A superscript letter marks a significant win over the system with that letter (adjusted p "
        "below 0.05)." in latex
    )
    assert latex.count("{") == latex.count("}")


def test_latex_of_one_system_has_no_letters():
    study = ek.classification(y_true=LABELS, y_score=LABELS + 0.1, metrics="accuracy")
    assert "$^{" not in study.tables.estimates.to_latex()


def test_latex_of_a_name_in_brackets_is_not_an_option_of_the_line_break_before_it():
    r"""LaTeX reads \\ [new] as a break with a distance; {} stands between."""
    table = tables.table("", ["system", "auc"], [["[new]", "0.8"], ["a\n<b>|", "–"]])
    lines = table.to_latex().splitlines()
    assert lines[6:8] == [r"{}[new] & 0.8 \\", r"a $<$b$>$$|$ & -- \\"]


def test_latex_of_comparisons_marks_a_significant_difference_by_an_asterisk(study):
    latex = study.tables.comparisons.to_latex()
    star_before_interval = r"$^{*}$ {\footnotesize ["
    assert star_before_interval + "$" in latex or star_before_interval + "+" in latex


def test_a_spreadsheet_has_numbers_and_keeps_as_text_what_is_not_a_number():
    """A table of the columns system, p and x has two rows. The system "7" stays a name; a p of
    0.0004, shown as <0.001, stays text beside the number 0.2; the note "n = 7" below a value of x
    gets a column of its own.
    """
    value_with_note = Cell("0.5", "[0.4, 0.6]", below=("n = 7",), numbers=(0.5, 0.4, 0.6))
    heads = [Cell("system"), Cell("p"), Cell("x")]
    rows = [
        [Cell("7"), p_cell(0.0004), value_with_note],
        [Cell("b"), p_cell(0.2), Cell("–")],
    ]
    frame = spreadsheets.frame(Table("", heads, rows))
    assert frame["system"].tolist() == ["7", "b"]
    assert frame["p"].tolist() == ["<0.001", 0.2]
    assert frame["x note"].tolist() == ["n = 7", ""]


def test_a_csv_file_has_the_text_that_is_returned(study, tmp_path):
    text = study.tables.comparisons.to_csv(tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text(encoding="utf-8") == text


def test_excel_needs_its_library(study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match="to_excel needs the package openpyxl"):
        study.tables.comparisons.to_excel(tmp_path / "c.xlsx")


def test_missing_folders_are_made(study, tmp_path):
    """A figure and a table are saved into folders that do not exist yet."""
    figure = tmp_path / "new" / "figures" / "roc.svg"
    table = tmp_path / "new" / "tables" / "e.csv"
    study.plot.roc.save(figure)
    study.tables.estimates.to_csv(table)
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {figure, table}


def test_a_folder_that_cannot_be_made_is_named(study, tmp_path):
    """Figures, tables and studies make the folder of the path that they are saved to. Here it would
    be a folder within a file, which cannot be.
    """
    file = tmp_path / "file"
    file.touch()
    for write in (study.plot.roc.save, study.tables.estimates.to_markdown, study.save):
        with pytest.raises(
            ParameterError, match=r"path: cannot write to .*file.*: (File exists|Not a directory)"
        ):
            write(file / "more" / "x.html")


# Results ------------------------------------------------------------------------------------------


class Escaped(NamedTuple):
    """A name that a spreadsheet or a Markdown renderer could take for a formula, a link or markup,
    and how it is written so that it is shown as it is.
    """

    name: str
    csv: str
    markdown: str


ESCAPED_NAMES = [
    Escaped("=HYPERLINK(1)", csv="'=HYPERLINK(1)", markdown="=HYPERLINK(1)"),
    Escaped("@SUM(A1)", csv="'@SUM(A1)", markdown="@&#8203;SUM(A1)"),
    Escaped("+cmd", csv="'+cmd", markdown="+cmd"),
    Escaped("-1+A1", csv="'-1+A1", markdown="-1+A1"),
    Escaped(
        "[x](javascript:alert(1))",
        csv="[x](javascript:alert(1))",
        markdown=r"\[x\](javascript:alert(1))",
    ),
    Escaped("[1, 2](javascript:y)", csv="[1, 2](javascript:y)", markdown=r"\[1, 2\](javascript:y)"),
    Escaped("<img src=x>", csv="<img src=x>", markdown="&lt;img src=x>"),
    Escaped("`a|b`", csv="`a|b`", markdown=r"\`a&#124;b\`"),
    Escaped("*bold* _it_ $x$", csv="*bold* _it_ $x$", markdown=r"\*bold\* \_it\_ \$x\$"),
    Escaped("roc_auc", csv="roc_auc", markdown="roc_auc"),
    Escaped("+3.1% [−1.0%, +7.2%]", csv="+3.1% [−1.0%, +7.2%]", markdown="+3.1% [−1.0%, +7.2%]"),
    Escaped("−3%", csv="−3%", markdown="−3%"),
]
EACH_NAME = pytest.mark.parametrize(
    "escaped", ESCAPED_NAMES, ids=[escaped.name for escaped in ESCAPED_NAMES]
)


def rows_of_csv(text):
    return list(csv.reader(io.StringIO(text)))


def rows_of_markdown(text):
    """The head and the rows of a Markdown table, each without its outer bars."""
    head, _rule, *rows = (
        line.removeprefix("| ").removesuffix(" |") for line in text.splitlines() if "|" in line
    )
    return [head, *rows]


@EACH_NAME
def test_a_csv_file_shows_each_name_as_it_is(escaped):
    """A spreadsheet would take some names for a formula, such as "=HYPERLINK(1)"; `escaped.csv` is
    the name as it must be written so that it does not. The table has two columns, the name and
    "auc", and a row of the name and the number −0.031, which stays a number.
    """
    name = escaped.name
    table = tables.table(name, [name, "auc"], [[name, number_cell(-0.031, 3)]])
    head, row = rows_of_csv(table.to_csv())
    assert head == [escaped.csv, "auc"]
    assert row == [escaped.csv, "-0.031"]


@EACH_NAME
def test_markdown_shows_each_name_as_it_is(escaped):
    """A renderer would take some names for markup, such as "*bold*"; `escaped.markdown` is the name
    as it must be written so that it does not. The table has the name as its title, in its head and
    in a row.
    """
    name = escaped.name
    table = tables.table(name, [name, "auc"], [[name, number_cell(-0.031, 3)]])
    markdown = table.to_markdown()
    title, table_in_markdown = markdown.split("\n", 1)
    assert title == f"**{escaped.markdown}**"
    assert rows_of_markdown(table_in_markdown) == [
        f"{escaped.markdown} | auc",
        f"{escaped.markdown} | −0.031",
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@EACH_NAME
def test_the_buttons_of_a_page_write_names_as_python_does(escaped):
    """The script of a page writes its tables as CSV, Markdown and LaTeX; node runs it here without
    a browser. The table has a name, such as "=HYPERLINK(1)", in its head and in a row.
    `escaped.csv` and `escaped.markdown` are the names as Python writes them. In LaTeX the row
    "[b]" must begin with {}, or the brackets would be an option of the line break before it.
    """
    script = (ROOT / "evalkit" / "page" / "evalkit" / "tables.js").read_text(encoding="utf-8")
    formats = script.split("all(")[0]  # what follows adds the buttons to the page
    rows = json.dumps([["system", escaped.name], [escaped.name, "−0.031"], ["[b]", "1"]])
    code = (
        f"{formats};\n"
        f"const CSV = FORMATS.CSV({rows}).join('\\n');\n"
        f"const Markdown = FORMATS.Markdown({rows}).join('\\n');\n"
        f"const LaTeX = FORMATS.LaTeX({rows}, () => false).join('\\n');\n"
        "console.log(JSON.stringify({CSV, Markdown, LaTeX}))"
    )
    ended = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True)
    texts = json.loads(ended.stdout)
    head, row, _ = rows_of_csv(texts["CSV"])
    assert head[0] == "system"
    assert row[:2] == [escaped.csv, "-0.031"]
    head, row, _ = rows_of_markdown(texts["Markdown"])
    assert head == f"system | {escaped.markdown}"
    assert row == f"{escaped.markdown} | −0.031"
    assert "\n{}[b] & 1 \\\\" in texts["LaTeX"]
