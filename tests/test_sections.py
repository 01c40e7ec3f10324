"""Sections that are chosen, in another order, and of one's own; a report that has not changed."""

import contextlib
import hashlib
import json
import linecache
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from command_runs import evalkit, importable  # noqa: F401 - a fixture
from matplotlib import pyplot
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from undrawn import without_pictures

import evalkit as ek
from evalkit import report
from evalkit.arrays import ParameterError
from evalkit.commands import requests, unchanged
from evalkit.page import arrangement
from evalkit.studies import provenance

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "data" / "visit_forecasts" / "predictions.csv"
HEADING = re.compile(r"<h2[^>]*>(.*?)</h2>")
NO_UNITS = {"units": False}
CONTENTS = re.compile(r'<li><a href="#[^"]*">([^<]*)</a></li>')


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with three notebooks of one's own, each with a heading as its first cell:
    mine.ipynb, second.ipynb, and fails.ipynb, whose third cell divides by 0.
    """
    monkeypatch.chdir(tmp_path)
    write_notebook("mine", "## Mine", "study = None", "study.systems[0]", "print('printed')")
    write_notebook("second", "## Second", "study.estimates.shape")
    write_notebook("fails", "## Failing", "'before'", "1 / 0", "'after'")
    return tmp_path


def write_notebook(name, heading, *sources):
    """Write a notebook with a heading as its first cell and a cell of code for each source."""
    cells = [new_markdown_cell(heading), *map(new_code_cell, sources)]
    nbformat.write(new_notebook(cells=cells), f"{name}.ipynb")


def cells(*names):
    """A notebook of sections with one piece each, and the cell of own sections."""
    every = [new_code_cell("x.title(study)", id="title")]
    for name in names:
        every += [
            new_markdown_cell(f"## {name}", id=f"{name}-head"),
            new_code_cell(f"x.{name}(study)", id=f"{name}-cell"),
        ]
    return every


def asked(*names, own=()):
    """The same notebook after it was asked for sections."""
    outputs = [new_output("display_data", metadata={arrangement.ASKED: [*names]})]
    for name in own:
        data = {"text/markdown": f"## {name}"}
        outputs.append(new_output("display_data", data=data, metadata={arrangement.SECTION: name}))
    shown = new_code_cell("study.own_sections()", id="own", outputs=outputs)
    return [*cells("a", "b", "findings"), shown]


def sources(arranged):
    return [cell.source for cell in arranged if cell.cell_type == "markdown"]


def test_without_a_choice_all_cells_stay():
    every = cells("a", "b")
    assert arrangement.arranged(every) == every


def test_sections_stand_in_the_order_that_is_asked_for():
    made = arrangement.arranged(asked("b", "a", "findings"))
    assert sources(made) == ["## b", "## a", "## findings"]


def test_a_section_that_is_not_named_is_left_out():
    assert "## a" not in sources(arrangement.arranged(asked("b")))


def test_warnings_stay_whatever_is_asked_for():
    assert sources(arrangement.arranged(asked("b"))) == ["## b", "## findings"]


def test_a_piece_can_be_named_alone():
    every = asked("curve")
    every[2].source = "page.curve_plot(study)"  # the code of section a
    made = arrangement.arranged(every)
    assert [cell.id for cell in made] == ["title", "a-cell", "findings-head", "findings-cell"]


def test_a_notebook_stands_where_it_is_named():
    made = arrangement.arranged(asked("b", "my.ipynb", "a", own=["my.ipynb"]))
    assert sources(made) == ["## b", "## my.ipynb", "## a", "## findings"]


def test_an_unknown_section_is_refused_with_the_nearest():
    with pytest.raises(ParameterError, match=r"no section 'alpa' \(did you mean 'alpha'\?\)"):
        arrangement.check(cells("alpha", "b"), ["alpa"])


def test_a_missing_notebook_is_refused_before_the_report_starts():
    with pytest.raises(ParameterError, match=r"^sections: there is no file no\.ipynb$"):
        arrangement.check(cells("alpha"), ["alpha", "no.ipynb"])


def test_own_cells_see_the_study_and_do_not_read_it_again(folder):
    study = ek.rating(sections="mine.ipynb")
    texts = [output.data.get("text/plain") for output in study.own_sections().displays()]
    assert repr(study.systems[0]) in texts
    assert "printed\n" in texts


def test_a_figure_of_pyplot_in_an_own_cell_is_shown(folder):
    write_notebook("drawn", "## Drawn", "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    shown = ek.rating(sections="drawn.ipynb").own_sections().displays()
    assert [output for output in shown if "image/png" in output.data]


@pytest.mark.parametrize("source", ["'quiet';", "study = None\n'quiet';  # no value", "'a';\n"])
def test_a_value_before_a_semicolon_is_not_shown(folder, source):
    write_notebook("quiet", "## Quiet", source)
    shown = ek.rating(sections="quiet.ipynb").own_sections().displays()
    assert [output.data for output in shown[1:]] == [{"text/markdown": "## Quiet"}]


def test_a_section_that_fails_stops_there_and_ends_the_report(folder):
    """A user's notebook is a section of a report on sample data. The cells of fails.ipynb are a
    heading, 'before', 1 / 0 and 'after'. The section must show the value of the second cell, then a
    message on the third, and not run the fourth. `check_gate`, the last call of a report, must fail
    with the same message.
    """
    study = ek.rating(sections="fails.ipynb")
    texts = [output.data.get("text/plain") for output in study.own_sections().displays()]
    message = "fails.ipynb, cell 3: ZeroDivisionError: division by zero"
    *_, last_value, failure = texts
    assert last_value == "'before'"
    assert failure == f"This section failed: {message}"
    with pytest.raises(report.SectionFailed, match=message):
        study.check_gate()


def failure(*names):
    """The message of the first section that failed, as it is shown in its place."""
    study = ek.rating(sections=",".join(names))
    texts = [output.data.get("text/plain", "") for output in study.own_sections().displays()]
    (message, *_) = [text for text in texts if text.startswith("This section failed: ")]
    return message.removeprefix("This section failed: ")


def test_a_figure_that_cannot_be_drawn_is_a_failure_of_its_cell(folder):
    write_notebook("drawn", "## Drawn", "import matplotlib.pyplot as plt\nplt.title(r'$\\frac$');")
    assert failure("drawn.ipynb").startswith("drawn.ipynb, cell 2: ValueError")


def test_an_exit_is_a_failure_of_its_cell(folder):
    write_notebook("exits", "## Exits", "import sys\nsys.exit('enough')")
    assert failure("exits.ipynb") == "exits.ipynb, cell 2: SystemExit: enough"


@pytest.mark.parametrize("content", ["{", "[]", "\xff"])
def test_a_file_that_is_no_notebook_fails_in_its_place(folder, content):
    (folder / "broken.ipynb").write_text(content, encoding="latin-1")
    assert failure("broken.ipynb").startswith("broken.ipynb: ")


def test_open_figures_of_the_reader_are_neither_shown_nor_closed(folder):
    """Only the plot of the notebook is shown, and it is drawn on a figure of its own."""
    write_notebook("drawn", "## Drawn", "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    figure_of_the_reader = pyplot.figure()
    try:
        shown = ek.rating(sections="drawn.ipynb").own_sections().displays()
        pictures = [output for output in shown if "image/png" in output.data]
        assert len(pictures) == 1
        assert pyplot.get_fignums() == [figure_of_the_reader.number]
        assert not figure_of_the_reader.axes
    finally:
        pyplot.close(figure_of_the_reader)


def test_a_section_that_was_mended_fails_no_more(folder):
    study = ek.rating(sections="fails.ipynb")
    study.own_sections()
    write_notebook("fails", "## Mended", "'before'")
    study.own_sections()
    study.check_gate()


def test_a_section_that_fails_twice_is_named_once(folder):
    """The notebook fails.ipynb, a section of a report, has a cell that raises. A reader may run the
    call that shows the sections twice. The error of `check_gate`, the last call of a report, must
    still name the notebook once.
    """
    study = ek.rating(sections="fails.ipynb")
    study.own_sections()
    study.own_sections()  # as if the reader ran the cell again
    with pytest.raises(report.SectionFailed) as raised:
        study.check_gate()
    assert str(raised.value).count("fails.ipynb") == 1


def test_an_annotated_assignment_of_the_study_is_left_out_too(folder):
    write_notebook("typed", "## Typed", "study: object = None", "study.systems[0]")
    study = ek.rating(sections="typed.ipynb")
    texts = [output.data.get("text/plain") for output in study.own_sections().displays()]
    assert repr(study.systems[0]) in texts


def test_a_notebook_in_the_home_folder_is_found(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    shown = ek.rating(sections="~/mine.ipynb").own_sections().displays()
    assert "## Mine" in [output.data.get("text/markdown") for output in shown]


def test_a_cell_of_a_section_leaves_the_source_of_the_pages_cell(folder):
    linecache.cache["<cell 2>"] = 1, None, ["x"], "<cell 2>"
    ek.rating(sections="mine.ipynb").own_sections()
    assert linecache.getline("<cell 2>", 1) == "x"


def test_a_missing_notebook_is_refused(folder):
    with pytest.raises(ParameterError, match=r"there is no file no\.ipynb"):
        ek.rating(sections="no.ipynb").own_sections()


def test_a_page_has_the_chosen_sections_and_those_of_ones_own_in_order(folder):
    """The sections are metrics and errors of the rating report and, after each, a notebook of the
    user: mine.ipynb with the heading "Mine", a cell of which prints "printed", and second.ipynb.
    The page and its contents have their headings in this order, and last the two sections that
    every page has.
    """
    sections = "metrics,mine.ipynb,errors,second.ipynb"
    ended = evalkit("report", "rating", "-p", "sections", sections, folder=folder / "out")
    assert ended.status == 0, ended.err
    page = (folder / "out" / "rating.html").read_text(encoding="utf-8")
    expected = ["Metrics", "Mine", "Errors", "Second", "The data", "About this report"]
    assert HEADING.findall(page) == expected
    contents, _, _ = page.partition("</nav>")
    assert CONTENTS.findall(contents) == expected
    assert "printed" in page


@pytest.mark.usefixtures("undrawn")
def test_a_failing_section_says_so_in_its_place_with_status_1(folder, monkeypatch):
    """The notebook fails.ipynb has the heading "Failing" and divides by 0 in its third cell. It
    stands between the sections metrics and errors: on the page, the message is below its heading
    and above that of errors.

    It runs in this process, which takes a third of the time of a kernel.
    """
    monkeypatch.setattr(requests, "_is_notebook", lambda section: False)
    names = "metrics,fails.ipynb,errors"
    ended = evalkit("report", "rating", "-p", "sections", names, folder=folder / "out")
    page = (folder / "out" / "rating.failed.html").read_text(encoding="utf-8")
    assert ended.status == 1
    assert "SectionFailed: fails.ipynb, cell 3: ZeroDivisionError" in ended.err
    place_of_message = page.rindex("This section failed")
    assert page.rindex(">Failing<") < place_of_message < page.rindex(">Errors<")


def test_the_command_refuses_an_unknown_section(folder):
    ended = evalkit("report", "rating", "-p", "sections", "metrcs", folder=folder / "out")
    assert ended.status == 2
    assert "no section 'metrcs' (did you mean 'metrics'?)" in ended.err


# A report that has not changed --------------------------------------------------------------------


COMMAND = ("report", "rating", "-p", "preds", "p.csv", "-p", "sections", "metrics", "--if-changed")


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A folder with forecasts of 100 persons and, in out, the report of them."""
    folder = tmp_path_factory.mktemp("first")
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    (folder / "p.csv").write_text("\n".join(lines[:101]), encoding="utf-8")
    with contextlib.chdir(folder), without_pictures():
        assert evalkit(*COMMAND, folder="out").status == 0
    return folder


@pytest.fixture
def made(first, tmp_path, monkeypatch, undrawn):
    """A function that makes the report of a copy of this folder if it changed, and says if it
    did.
    """
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def make(*more):
        ended = evalkit(*COMMAND, *more, folder="out")
        return ended.status, "is unchanged" not in ended.err

    return make


def test_an_unchanged_report_is_not_made_again(made):
    assert made() == (0, False)


def test_a_default_that_is_written_out_changes_nothing(made):
    assert made("-p", "level", "0.95") == (0, False)


def test_another_parameter_makes_it_again(made):
    assert made("-p", "level", "0.9") == (0, True)


def test_another_input_makes_it_again(made, tmp_path):
    lines = (tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "p.csv").write_text("\n".join(lines[:-1]), encoding="utf-8")
    assert made() == (0, True)


def test_another_version_makes_it_again(made, tmp_path):
    path = tmp_path / "out" / "rating.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f'"{ek.__version__}"', '"0.0.1"'), encoding="utf-8")
    assert made() == (0, True)


def test_a_page_that_is_gone_is_made_again(made, tmp_path):
    (tmp_path / "out" / "rating.html").unlink()
    assert made() == (0, True)


def test_a_file_of_units_that_is_gone_is_made_again(made, tmp_path):
    (tmp_path / "out" / "rating.units.parquet").unlink()
    assert made() == (0, True)


def is_unchanged(tmp_path, stored, asked, stored_report="ranking", rows=100):
    """Whether a job for one report with the parameters `asked` finds the one that is stored."""
    shutil.copy(SAMPLE, tmp_path / "p.csv")
    preds = {"preds": str(tmp_path / "p.csv")}
    sha256 = hashlib.sha256(SAMPLE.read_bytes()).hexdigest()
    content = {
        "report": stored_report,
        "versions": provenance.versions(),
        "parameters": provenance.printable(preds | stored),
        "inputs": [{"name": preds["preds"], "rows": rows, "sha256": sha256}],
        "estimates": [{"system": "mean"}],
    }
    for ending in (".html", ".ipynb"):
        (tmp_path / f"nightly{ending}").touch()
    (tmp_path / "nightly.json").write_text(json.dumps(content), encoding="utf-8")
    job = requests.ReportJob(None, preds | asked, tmp_path, "nightly", "", "ranking")
    return unchanged.results(job) is not None


def test_the_files_of_a_report_without_units_are_enough(tmp_path):
    assert is_unchanged(tmp_path, NO_UNITS, NO_UNITS)


def test_a_report_of_another_kind_is_made_again(tmp_path):
    assert not is_unchanged(tmp_path, NO_UNITS, NO_UNITS, "rating")


def test_a_report_with_so_many_units_that_none_are_written_is_not_made_again(tmp_path):
    assert is_unchanged(tmp_path, {}, {}, rows=10**8)


def test_units_that_were_asked_for_and_are_gone_are_made_again(tmp_path):
    asked = {"units": True}
    assert not is_unchanged(tmp_path, asked, asked, rows=10**8)


def test_another_list_of_which_the_json_has_the_length_makes_it_again(tmp_path):
    stored = NO_UNITS | {"ks": [*range(1, 26)]}
    asked = NO_UNITS | {"ks": [*range(2, 27)]}
    assert not is_unchanged(tmp_path, stored, asked)
