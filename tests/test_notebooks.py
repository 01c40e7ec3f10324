"""The notebooks are thin, executed and clean; the files of every report on its sample are small and
complete.
"""

import ast
import importlib
import itertools
import json
import re
from pathlib import Path

import jsonschema
import nbformat
import pytest
from made_once import ROOT
from stored_outputs import RESULTS, stored_form

from evalkit.displays import PAGE
from evalkit.pages import classification_page, pieces
from evalkit.parameters.reports import PARAMETERS_BY_NOTEBOOK as PARAMETERS, REPORTS

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
LOOPS = (ast.For, ast.While, ast.If, ast.IfExp)
NODES_OF_LOGIC = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.DictComp, ast.GeneratorExp, *LOOPS)


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def code_cells(path: Path) -> list[dict]:
    return [cell for cell in cells(path) if cell["cell_type"] == "code"]


def tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


@each_notebook
def test_cells_hold_calls_and_no_logic(path):
    """The code of no cell of a notebook has a function, loop, condition or comprehension, whose
    syntax nodes `NODES_OF_LOGIC` lists.
    """
    for cell in code_cells(path):
        source = "".join(cell["source"])
        found = [
            type(node).__name__
            for node in ast.walk(ast.parse(source))
            if isinstance(node, NODES_OF_LOGIC)
        ]
        assert not found, f"{cell['id']} holds {found}"


@each_notebook
def test_one_parameters_cell_with_a_comment_on_every_line(path):
    tagged = [cell for cell in code_cells(path) if "parameters" in tags(cell)]
    assert len(tagged) == 1
    assert not [cell for cell in cells(path) if "injected-parameters" in tags(cell)]
    # papermill reads no line with a second "=", not even in its comment.
    lines = [line for line in "".join(tagged[0]["source"]).splitlines() if not_a_comment(line)]
    assert all(re.fullmatch(r"\w+(: \w+)? = [^=]+  # [^=]+", line) for line in lines)


def not_a_comment(line: str) -> bool:
    return bool(line) and not line.startswith("#")


@each_notebook
def test_papermill_finds_every_parameter(path):
    from papermill.inspection import inspect_notebook

    assert {*inspect_notebook(path)} == {*PARAMETERS[path.stem].options()}


@each_notebook
def test_the_five_parameters_that_matter_stand_first(path):
    (cell,) = [cell for cell in code_cells(path) if "parameters" in tags(cell)]
    first = "".join(cell["source"]).split("\n\n")[0]
    names = re.findall(r"^(\w+).* = ", first, re.MULTILINE)
    assert tuple(names) == PARAMETERS[path.stem].main
    assert len(names) == 5


def prose(path: Path) -> dict[str, str]:
    """The text of each markdown cell by its id."""
    markdown = [cell for cell in cells(path) if cell["cell_type"] == "markdown"]
    return {cell["id"]: "".join(cell["source"]) for cell in markdown}


@each_notebook
def test_the_first_cell_has_a_title_and_asks_a_question(path):
    first = cells(path)[0]
    heading = "".join(first["source"]).splitlines()[0]
    assert first["cell_type"] == "markdown"
    assert re.fullmatch(r"# .*\?", heading)


@each_notebook
def test_the_last_cell_says_what_to_do_with_each_verdict(path):
    last = "".join(cells(path)[-1]["source"])
    words = VALIDITY if path.stem == "validation" else page_verdicts()
    assert all(f"**{word}**" in last for word in words)


VALIDITY = ("pass", "fail", "cannot tell")


def page_verdicts() -> list[str]:
    """The words of a verdict between systems."""
    return ["better", "worse", "higher", "lower", "equivalent", "cannot tell"]


@each_notebook
def test_each_section_asks_something(path):
    """Between a heading and the next a cell says what is asked and what to doubt."""
    texts = prose(path)
    abouts = [text for name, text in texts.items() if name.startswith("about-")]
    headings = [name for name, text in texts.items() if text.startswith("## ")]
    assert len(abouts) >= len(headings) - 1  # the last one is that of the verdicts
    assert all("?" in text and len(re.findall(r"[.?:;] ", text)) >= 1 for text in abouts)


@each_notebook
def test_a_question_stands_directly_below_each_heading(path):
    for cell, following in itertools.pairwise(cells(path)):
        if cell["cell_type"] == "markdown" and "".join(cell["source"]).startswith("## "):
            assert following["id"].startswith("about-"), cell["id"]


LONGEST = 136  # characters of a line of code that JupyterLab shows at 1280 pixels


@each_notebook
def test_no_line_of_code_is_cut(path):
    lines = [line for cell in code_cells(path) for line in "".join(cell["source"]).splitlines()]
    assert not [line for line in lines if len(line) > LONGEST]


@each_notebook
def test_a_cell_that_explains_stands_before_its_code(path):
    every = cells(path)
    for cell, following in itertools.pairwise(every):
        if cell["id"].startswith("about-"):
            assert following["id"] == cell["id"].removeprefix("about-")


@each_notebook
def test_what_only_explains_the_notebook_is_not_on_the_page(path, sample_reports):
    page = (sample_reports / f"{path.stem}.html").read_text(encoding="utf-8")
    texts = [text for name, text in prose(path).items() if name.startswith(("about-", "verdicts"))]
    assert not [text for text in texts if text.split("?")[0] in page]


@each_notebook
def test_cells_have_no_metadata_but_tags_and_folded_code(path):
    notebook = nbformat.read(path, as_version=4)
    before = nbformat.writes(notebook)
    assert nbformat.writes(stored_form(notebook)) == before, "run make outputs"


@each_notebook
def test_every_cell_was_run_in_order_without_error_or_warning(path):
    """A stored notebook, run once from top to bottom, has code cells with the execution counts 1,
    2, 3 and so on. No output is an error or was written to stderr, where warnings go.
    """
    counts = [cell["execution_count"] for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    outputs = [output for cell in code_cells(path) for output in cell["outputs"]]
    assert not [
        output
        for output in outputs
        if output["output_type"] == "error" or output.get("name") == "stderr"
    ]


@each_notebook
def test_ids_are_words_and_the_kernel_is_python3(path):
    """Ids of cells are distinct words such as read-data, not the random ones of an editor, and the
    notebook asks for the usual Python kernel.
    """
    ids = [cell["id"] for cell in cells(path)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9-]+", cell_id) for cell_id in ids)
    assert (
        json.loads(path.read_text(encoding="utf-8"))["metadata"]["kernelspec"]["name"] == "python3"
    )


@each_notebook
def test_small_and_without_this_machine(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    assert not re.search(r"/(home|root|tmp|Users|work)/", text)


def test_all_notebooks_together_are_small():
    assert sum(path.stat().st_size for path in NOTEBOOKS) < 3_000_000


def bundles(cell: dict) -> list[dict]:
    """What each output of a cell holds, by MIME type, as text."""
    outputs = [output.get("data", {}) for output in cell["outputs"]]
    return [{kind: "".join(text) for kind, text in data.items()} for data in outputs]


@each_notebook
def test_no_html_of_an_output_holds_what_viewers_strip(path):
    html = [data.get("text/html", "") for cell in code_cells(path) for data in bundles(cell)]
    assert any(html)
    assert not [text for text in html if re.search("<svg|<input|<select|<script", text)]


@each_notebook
def test_each_figure_of_the_page_has_a_picture_without_html_beside_it(path):
    for cell in code_cells(path):
        figures = "".join(data.get(PAGE, "") for data in bundles(cell)).count("<figure>")
        pictures = [data for data in bundles(cell) if "image/png" in data]
        assert len(pictures) == figures, cell["id"]
        assert not [data for data in pictures if "text/html" in data], cell["id"]


def pieces_named_in(path: Path) -> set[tuple[str, str]]:
    """The pieces of a page that the cells of a notebook name, as (module, piece):
    ("ranking_page", "verdict") of `ranking_page.verdict(study)`.
    """
    tree = ast.parse("\n".join("".join(cell["source"]) for cell in code_cells(path)))
    imports = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "evalkit.pages"
    ]
    modules = {alias.name for node in imports for alias in node.names}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return {
        (ast.unparse(node.value), node.attr) for node in nodes if ast.unparse(node.value) in modules
    }


@each_notebook
def test_every_piece_that_a_cell_names_exists(path):
    named = pieces_named_in(path)
    assert named
    for module, piece in named:
        existing = pieces.names(importlib.import_module(f"evalkit.pages.{module}"))
        assert piece in existing, (module, piece)


@pytest.mark.parametrize(
    "module", sorted({module for path in NOTEBOOKS for module, _ in pieces_named_in(path)})
)
def test_an_unknown_piece_is_answered_with_the_list(module):
    own = importlib.import_module(f"evalkit.pages.{module}")
    with pytest.raises(
        AttributeError, match=f"no attribute 'estimtes'; its pieces are .*{pieces.names(own)[0]}"
    ):
        own.estimtes  # noqa: B018 - the attribute itself is what is tested


OF_TWO_CLASSES = {
    "base_rate_plot",
    "base_rate",
    "cost_plot",
    "top_plot",
    "moving_threshold_table",
    "decision_difference",
}
PIECES_OF_OTHERS = {  # pieces of the classification page that a kind of study does not have
    "BinaryStudy": {"class_calibration_plot", "other_curves"},
    "ClassesStudy": OF_TWO_CLASSES | {"threshold_plot"},
    "LabelsStudy": OF_TWO_CLASSES | {"thresholds", "calibration_plot", "confusion_plot"},
}


@pytest.mark.parametrize("kind", classification_page.PAGES, ids=lambda kind: kind.__name__)
def test_each_kind_of_classification_has_every_piece_but_those_of_other_kinds(kind):
    """A piece is a function that makes a part of the page, such as a figure. Studies of two
    classes, of several classes and of several labels per row (`kind`) have modules of their own
    with their pieces; the pieces in `classification_page` call the one of the same name.
    `PIECES_OF_OTHERS` lists those that each kind lacks. `roc` and `precision_recall` are in no
    module, because they are panels of `curve_plot` in every kind.
    """
    names = {
        piece.__name__
        for piece in classification_page.PIECES
        if piece.__module__ == classification_page.__name__
    }
    modules_of_kind = classification_page.PAGES[kind]
    of_kind = {name for name in names if any(hasattr(module, name) for module in modules_of_kind)}
    assert names - of_kind == PIECES_OF_OTHERS[kind.__name__] | {"roc", "precision_recall"}


VARIES = re.compile(
    r"Made on \d{4}-\d\d-\d\d|<dt>versions</dt><dd>.*?</dd>|<svg.*?</svg>", re.DOTALL
)


def test_the_sample_page_is_that_of_today(sample_reports):
    """But for the day, the versions, and figures, whose last digits a processor may round
    otherwise.
    """
    pages = (ROOT / "docs" / "sample.html", sample_reports / "classification.html")
    stored, made = (VARIES.sub("", page.read_text(encoding="utf-8")) for page in pages)
    assert stored == made, "run make outputs"


MOST_BYTES_OF_PAGE = 300_000
REMOTE_ADDRESS = re.compile(r"""(src|href|url)\s*[=(]\s*["']?\s*(https?:)?//""")
each_report = pytest.mark.parametrize("name", sorted(REPORTS))


@each_report
def test_the_page_is_small_and_loads_nothing(name, sample_reports):
    """The HTML page of a report of its sample data has at most 300 KB, loads nothing from another
    address, and shows no path of this machine. It has folded parts, at least three in every report,
    and the style of all its figures once.
    """
    text = (sample_reports / f"{name}.html").read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES_OF_PAGE
    assert not REMOTE_ADDRESS.search(text)
    assert str(ROOT) not in text
    assert text.count("<details>") >= 3
    assert text.count('<style type="text/css">') == 1


@each_report
def test_the_json_follows_the_schema_which_demands_estimates(name, sample_reports):
    """The JSON of a report of its sample data is valid by `schema.json`, and no longer so without
    its estimates, so that the schema does check something. The interleaving report has its
    estimates within "log", other reports at the top. The file has no NaN, which is not JSON, and no
    path of this machine.
    """
    text = (sample_reports / f"{name}.json").read_text(encoding="utf-8")
    results = json.loads(text)
    assert "NaN" not in text
    assert str(ROOT) not in text
    schema = jsonschema.Draft202012Validator(
        json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
    )
    schema.validate(results)
    results_with_estimates = results if "estimates" in results else results["log"]
    del results_with_estimates["estimates"]
    assert not schema.is_valid(results)


@each_notebook
def test_the_stored_outputs_are_those_of_the_report(path, sample_reports):
    """Each output of each cell, figures too; at night the notebooks also run in a kernel without
    evalkit's engine.
    """
    made = {cell["id"]: cell["outputs"] for cell in code_cells(sample_reports / path.name)}
    for cell in code_cells(path):
        for output in made[cell["id"]]:
            output.get("data", {}).pop(RESULTS, None)
        assert cell["outputs"] == made[cell["id"]], f"{cell['id']}: run make outputs"
