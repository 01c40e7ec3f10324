"""README and docs say what is true: their tables, commands and files; each benchmark has claims."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from textwrap import dedent

import docs_pictures as pictures
import nbformat
import numpy as np
import pandas as pd
import pytest
import readme_table as tables
import results as benchmarks
import results_schema
import yaml
from frozen import freeze
from jsonschema import Draft202012Validator
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from readme_table import README

import evalkit as ek
from evalkit.limits import USUAL_LIMITS
from evalkit.machine.bundled_files import bundled_notebooks
from evalkit.parameters import policy
from evalkit.studies import inspection, units

PYTHON = README.parent / "docs" / "python.md"
PAGES = [README, *sorted((README.parent / "docs").glob("*.md"))]
ALL_PAGES = [
    page
    for page in [README, *sorted((README.parent / "docs").rglob("*.md"))]
    if "others" not in page.parts  # written by the site's build
]
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
MADE_BY_THE_SITE = "_pictures/"
MOST_WORDS = 900
SMALL_PICTURE = 25_000  # bytes
COMMAND = r"^    ((?:evalkit|papermill) .*)$"


@pytest.mark.parametrize(
    "name", ["metrics", "parameters", "findings", "glossary", "performance", "results"]
)
def test_the_docs_are_those_of_the_code(name):
    text = getattr(tables, name.upper()).read_text(encoding="utf-8")
    make = getattr(tables, name)
    assert text == (make(text) if name == "performance" else make()), "run make outputs"


def test_the_stored_schema_is_that_of_the_results():
    assert tables.SCHEMA.read_text(encoding="utf-8") == results_schema.text(), "run make outputs"


def test_each_description_of_the_schema_is_of_a_part_of_the_results():
    results_schema.text()  # notes in USED which descriptions the schema takes
    assert set(results_schema.WORDS) - results_schema.USED == set()


def test_the_schema_accepts_the_results_of_each_report_and_refuses_wrong_ones():
    """The schema of the JSON results accepts those of each case whose results are committed for
    other tests; those of a case that is refused hold an error in place of results, and are not
    accepted. It refuses all of them with a finding without a message, or with a text in place of a
    list.
    """
    is_valid = Draft202012Validator(json.loads(results_schema.text())).is_valid
    committed_results = freeze.load(freeze.FOLDERS[False])  # True: of local data
    for frozen_results in committed_results.values():
        # two entries that frozen results are stored without
        results = frozen_results | {"versions": {}, "inputs": []}
        has_no_results = "error" in results  # of a case that is refused
        assert is_valid(results) == (not has_no_results)
        finding_without_message = {"code": "EK101"}
        assert not is_valid(results | {"findings": [finding_without_message]})
        text_in_place_of_a_list = {"report": "ranking", "order": "a"}
        assert not is_valid(results | text_in_place_of_a_list)


def path_from_root(page):
    """The path of a page from the root of the repository, as "docs/python.md"."""
    return page.relative_to(README.parent).as_posix()


def links_of(page):
    """Pairs of the file and the anchor, "" without one, of each link within the repository."""
    for file, anchor in LINK.findall(page.read_text("utf-8")):
        if "://" not in file and not file.startswith(MADE_BY_THE_SITE):
            yield (page.parent / file).resolve() if file else page, anchor


def anchors(page):
    """The anchors of the headings of a page, as forges and the site make them."""
    headings = re.findall(r"(?m)^#+ (.*)$", page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL_PAGES, ids=path_from_root)
def test_every_file_and_heading_that_is_linked_exists(page):
    """A link leads to a file, and may name a heading of it by an anchor. For each link of the page
    within the repository the file exists, and has the heading.
    """
    links = list(links_of(page))
    assert not [str(file) for file, _ in links if not file.exists()]
    assert not [
        f"{file.name}#{anchor}"
        for file, anchor in links
        if anchor and file.suffix == ".md" and anchor not in anchors(file)
    ]


def test_every_picture_of_the_tour_is_made_by_the_site():
    text = (README.parent / "docs" / "tour.md").read_text("utf-8")
    shown = re.findall(r"\(_pictures/(\w+)\.png\)", text)
    assert shown == pictures.TOUR_PICTURES


def test_the_small_pictures_are_small_and_shown():
    text = README.read_text("utf-8")
    for name in pictures.SMALL_PICTURES:
        path = f"docs/pictures/{name}.png"
        assert f"]({path})" in text
        assert (README.parent / path).stat().st_size < SMALL_PICTURE


def test_every_test_that_the_code_names_exists():
    """Comments of the code and CONTRIBUTING.md name test files as "tests/….py"."""
    sources = [README.parent / "CONTRIBUTING.md", *(README.parent / "evalkit").rglob("*.py")]
    named = {
        name
        for path in sources
        for name in re.findall(r"\btests/[\w/]+\.py\b", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 5  # the pattern finds names at all
    assert not [name for name in named if not (README.parent / name).exists()]


def test_links_lead_from_the_readme_to_every_page_of_the_docs():
    """Links are followed from the README, from page to page. Two pages are not reached: the build
    of the site writes the links to them.
    """
    on_the_site_alone = {"docs/index.md", "docs/api.md"}
    reached = set()
    waiting = [README]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [file for file, _ in links_of(page) if file in ALL_PAGES]
    not_reached = {path_from_root(page) for page in set(ALL_PAGES) - reached}
    assert not_reached == on_the_site_alone


def test_readme_is_short_enough_to_read():
    assert len(README.read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_every_make_target_that_is_named_exists():
    """The README names targets as "make TARGET", in backticks or as an indented line. Each has a
    rule in the Makefile.
    """
    targets = set(
        re.findall(r"(?:`|^    )make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE)
    )
    rules = (README.parent / "Makefile").read_text(encoding="utf-8")
    assert {"report", "test"} <= targets  # the pattern finds targets at all
    assert not [target for target in targets if f"\n{target}:" not in rules]


@pytest.mark.parametrize("moved", [True, False], ids=["moved", "in place"])
def test_a_moved_environment_is_made_again(tmp_path, moved):
    """The virtual environment stores the folder that it was made in. If the project has been moved
    since, `make` would make the environment again, which `make -n` prints without doing it.
    """
    for name in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(README.parent / name, tmp_path / name)
    environment = tmp_path / ".venv"
    environment.mkdir()
    place = tmp_path / "before" if moved else tmp_path.resolve()
    (environment / ".place").write_text(str(place))  # where the environment was made
    (environment / ".ok").touch()  # it is complete
    planned = subprocess.run(
        ["make", "-n", ".venv/.ok"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ("-m venv" in planned.stdout) == moved


MILLION = 10**6
STATED = [  # where a page states a limit, and the limit
    ("README.md", "validation takes {} million rows", USUAL_LIMITS.reading.held // MILLION),
    ("README.md", "an A/B test {} million users", USUAL_LIMITS.held // MILLION),
    ("docs/inputs.md", "**Up to {:,} rows** are collected", USUAL_LIMITS.reading.collected),
    ("docs/inputs.md", "of out-of-fold predictions up to {:,}", USUAL_LIMITS.reading.held),
    (
        "docs/pipeline.md",
        "Above {:,} rows it reads the column names and the first 2,000 rows",
        inspection.SMALL,
    ),
    ("docs/python.md", "more than {} million rows (units times systems)", units.MOST // MILLION),
    (
        "docs/performance.md",
        "**Labels and scores** of more than {:,} rows",
        USUAL_LIMITS.reading.rows,
    ),
    ("docs/performance.md", "Up to {:,} distinct scores are counted exactly", USUAL_LIMITS.bins),
    (
        "docs/performance.md",
        "held in memory, whatever `memory` says: {:,} rows",
        USUAL_LIMITS.reading.held,
    ),
]


@pytest.mark.parametrize("page, words, limit", STATED)
def test_a_limit_that_a_page_states_is_that_of_the_code(page, words, limit):
    assert words.format(limit) in " ".join((README.parent / page).read_text("utf-8").split())


def counts_of(page):
    """The sums of the first table of simulated numbers of a page: all, inside, conservative,
    declared, outside.
    """
    rows = page.read_text("utf-8").split("| inside | conservative |")[1].split("\n")[2:]
    cells = [
        re.findall(r"[|] ([0-9,]+)(?= [|])", row)
        for row in takewhile(lambda row: row[:1] == "|", rows)
    ]
    return (
        np.array([[int(cell.replace(",", "")) for cell in row] for row in cells])
        .sum(axis=0)
        .tolist()
    )


def test_the_readme_counts_what_the_page_of_the_simulations_counts():
    assert counts_of(README) == counts_of(README.parent / "docs" / "trust.md")


def crossed(**names):
    """A table with a row for each combination."""
    return pd.MultiIndex.from_product(names.values(), names=[*names]).to_frame(index=False)


def named_tables():
    """Small tables with the names that the examples of the docs read."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(
        {
            "id": range(400),
            "label": rng.integers(0, 2, 400),
            "country": rng.choice(["de", "fr"], 400),
        }
    )
    seen = {
        f"score_{name}": 1 / (1 + np.exp(-1.5 * rows["label"] - rng.normal(size=400)))
        for name in ("old", "new")
    }
    rows = rows.assign(**seen)
    queries = [f"q{i}" for i in range(30)]
    items = [f"i{i}" for i in range(40)]
    lists = crossed(system=["bm25", "dense"], query=queries, item=items).assign(
        score=lambda t: rng.random(len(t))
    )
    users = pd.DataFrame(
        {"user": range(300), "arm": rng.choice(["a", "b"], 300), "orders": rng.poisson(2, 300)}
    )
    said = {f"forecast_{name}": rows["score_old"] + rng.normal(size=400) for name in "ab"}
    return {
        "scores": rows,
        "cases": rows.assign(amount=rng.gamma(2, 20, 400), customer=rng.integers(0, 150, 400)),
        "runs": lists,
        "judged": crossed(query=queries, item=items).assign(
            grade=lambda t: rng.integers(0, 2, len(t))
        ),
        "items": pd.DataFrame(
            {"item": items, "category": np.arange(40) % 4, "popularity": range(1, 41)}
        ),
        "trials": crossed(task_id=queries, trial=range(4), system=["a", "b"]).assign(
            reward=rng.integers(0, 2, 240)
        ),
        "test": users.assign(orders_before=rng.poisson(2, 300), revenue=rng.gamma(2, 9, 300)),
        "forecasts": pd.DataFrame(
            {"user_id": np.arange(400) // 4, "actual": rows["score_old"]} | said
        ),
        "monday": rows,
        "today": rows[20:].assign(score_new=lambda t: t["score_new"] + rng.normal(size=380) / 100),
        "model": rows[["id", "label", "country"]].assign(score=rows["score_old"]),
        "successor": rows[
            ["id", "label", "country"]
        ].assign(  # in one country it has turned to noise
            score=np.where(rows["country"] == "fr", rng.random(400), rows["score_old"])
        ),
        "models": pd.DataFrame(
            {"id": range(50)} | {f"m{i:03}": rng.normal(i / 200, 1, 50) for i in range(200)}
        ),
    }


def write_files_that_the_docs_read():
    """Write the files that commands and examples of the docs read into the working directory: the
    named tables, runs, judgements, settings and notebooks.
    """
    for folder in ("data", "runs", "paper"):
        Path(folder).mkdir()
    tables_of = named_tables()
    for name, table in tables_of.items():
        table.to_csv(f"{name}.csv", index=False)
    for name in ("monday", "today"):
        tables_of[name].to_csv(f"data/{name}.csv", index=False)
    for name, rows in tables_of["runs"].groupby("system"):
        rows.assign(q0="Q0", rank=1)[["query", "q0", "item", "rank", "score", "system"]].to_csv(
            f"runs/{name}.run", sep=" ", header=False, index=False
        )
    judged = tables_of["judged"].assign(zero=0)[["query", "zero", "item", "grade"]]
    judged.to_csv("qrels.txt", sep=" ", header=False, index=False)
    Path("june.toml").write_text('preds = "runs/"\nqrels = "qrels.txt"\n')
    shutil.copytree(bundled_notebooks(), "notebooks")
    section = new_notebook(cells=[new_markdown_cell("## Mine"), new_code_cell("study.estimates")])
    nbformat.write(section, "my_section.ipynb")


PAGES_WITH_COMMANDS = [
    page for page in PAGES if re.search(COMMAND, page.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.name)
def test_every_command_of_the_docs_runs(page, tmp_path, monkeypatch):
    """The files that commands read are written into an empty folder: tables with the names that the
    docs use, and the files that the page shows. All commands of the page are then run one after the
    other, and stop at the first that fails. The page on releases ends with the gate of a model that
    became worse in one country: what is printed must name this regression.
    """
    monkeypatch.chdir(tmp_path)
    write_files_that_the_docs_read()
    text = page.read_text("utf-8")
    # a block of code whose first line is a comment with the name of a file is that file
    for name, code in re.findall(r"```(?:python|toml)\n# (\w+\.\w+)\n(.*?)```", text, re.DOTALL):
        Path(name).write_text(code)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    commands = "\n".join(re.findall(COMMAND, text, re.MULTILINE))
    printed = subprocess.run(
        ["bash", "-ec", commands], check=True, timeout=900, stdout=subprocess.PIPE, text=True
    ).stdout
    if page.stem == "releases":
        workflow = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1]
        assert_a_regression_is_named(printed, workflow)


def assert_a_regression_is_named(printed, workflow):
    """The policy and the gate of the diff fail; both name the country, and so does the workflow's
    summary.
    """
    assert printed.count("exit status 3") == 2
    before, after = printed.split("## ")[1:]
    assert before.startswith("before/classification: policy.toml: 3 rules: kept")
    rules = "roc_auc.low >= 0.65, roc_auc.low >= 0.70 in every country"
    failed = f"after/classification: gate failed: policy.toml: 3 rules: not met by {rules}"
    assert after.startswith(failed)
    results = {
        row["slice"]: row["result"]
        for row in json.loads(Path("reports/diff.json").read_text())["gate"]["rules"][1][
            "statements"
        ]
    }
    assert results == {"de": "pass", "fr": "fail"}
    index = Path("reports/index.html").read_text()
    assert all(
        f'href="{name}.html"' in index
        for name in ("before/classification", "after/classification", "diff")
    )
    steps = [
        step["run"]
        for step in yaml.safe_load(workflow)["jobs"]["evaluate"]["steps"]
        if "run" in step
    ][1:]
    summary = {**os.environ, "GITHUB_STEP_SUMMARY": "summary.md"}
    ended = [
        subprocess.run(["bash", "-ec", step], env=summary, timeout=300).returncode for step in steps
    ]
    assert ended == [0, 3, 0]
    assert "fail" in next(
        row for row in Path("summary.md").read_text().splitlines() if "country fr" in row
    )


def test_the_policy_of_the_docs_is_read(tmp_path):
    """The page shows a policy as an indented block, which begins with its level."""
    text = (README.parent / "docs" / "pipeline.md").read_text("utf-8")
    block = re.search(r"(?m)^    level = .*\n(?:    .*\n|\n)*", text)[0]
    (tmp_path / "policy.toml").write_text(dedent(block))
    rules = policy.read(tmp_path / "policy.toml").rules
    assert len(rules) == text.count("[[rule]]") > 1


@pytest.mark.parametrize(
    "page", [page.stem for page in PAGES[1:] if "```python\n" in page.read_text("utf-8")]
)
def test_every_example_of_the_docs_runs(page, tmp_path, monkeypatch, sample_reports, undrawn):
    """The files that examples read are written into an empty folder. All Python examples of the
    page are then run one after the other, without an error. To save time, figures are left empty
    (the fixture `undrawn`). Those of docs/python.md write four files.
    """
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    monkeypatch.setitem(vars(USUAL_LIMITS), "resamples", 100)  # not 1,000: no number is looked at
    monkeypatch.chdir(tmp_path)
    write_files_that_the_docs_read()
    # the reports, units of two weeks and the notebook that examples read
    shutil.copytree(sample_reports, "reports", dirs_exist_ok=True)
    for week in ("last_week", "this_week"):
        Path(week).mkdir(exist_ok=True)
        shutil.copy(sample_reports / "classification.units.parquet", week)
    shutil.copy(bundled_notebooks() / "classification.ipynb", "mine.ipynb")
    variables = {"ek": ek, "pd": pd, "plt": pyplot}  # an example also uses those of earlier ones
    text = (README.parent / "docs" / f"{page}.md").read_text("utf-8")
    for example in text.split("```python\n")[1:]:
        code = example.split("```")[0]
        without_excel = re.sub("table.to_excel.*", "", code)  # which would need a further package
        exec(without_excel, variables)
    pyplot.close("all")
    if page == "python":
        written_by_examples = {"roc.pdf", "estimates.tex", "calibration-de.pdf", "mine.html"}
        assert written_by_examples <= set(os.listdir())


def test_the_examples_of_the_readme_run(tmp_path, monkeypatch):
    """The commands of the README are run in an empty folder, and write a page into reports/. Its
    Python program is then run there, and writes a page beside.
    """
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    commands = text.split("```bash\n")[1].split("```")[0]
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    subprocess.run(["bash", "-ec", commands], check=True, timeout=120)
    assert Path("reports/classification.html").is_file()
    program = text.split("```python\n")[1].split("```")[0]
    exec(program, {})
    assert Path("classification.html").is_file()


SPEED = re.compile(
    r"\d[\d.,]* ?(?:CPU |wall )?(?:s|ms|µs|seconds|minutes|hours)\b"
    r"|(?:times|%) (?:as )?(?:fast|slow|quick)|peak of \d"
)


@pytest.mark.parametrize(
    "page", [*ALL_PAGES, README.parent / "CONTRIBUTING.md"], ids=path_from_root
)
def test_no_speed_is_stated_but_what_was_measured(page):
    text = page.read_text(encoding="utf-8")
    before, _, made = text.partition(tables.SPEED[0])
    assert not SPEED.findall(before + made.partition(tables.SPEED[1])[2])


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A stored result of a folder with one file of code."""
    (tmp_path / "code.py").write_text("fast = 1\n")
    monkeypatch.setattr(benchmarks, "ROOT", tmp_path)
    covers = ["*.py"]
    claims = [benchmarks.Claim("peer / ours", 2.0, ">= 1")]
    digest = benchmarks.digest(covers)
    return benchmarks.Found(claims, "", "2026-11-28", "", "abc12345", covers, digest)


def test_a_row_names_the_commit_that_was_measured(measured):
    assert measured.rows() == ["| peer / ours | 2.0 | at least 1 | `abc12345` |"]


def test_a_row_is_marked_if_the_code_has_changed_since(measured):
    (benchmarks.ROOT / "code.py").write_text("slow = 1\n")
    assert measured.rows() == [
        "| peer / ours | 2.0 | at least 1 | `abc12345`, older than the code |"
    ]


def test_a_row_is_not_marked_for_comments_and_docstrings(measured):
    text = '"""What is fast."""\n\n# always\nfast = 1\n'
    (benchmarks.ROOT / "code.py").write_text(text)
    assert measured.rows() == ["| peer / ours | 2.0 | at least 1 | `abc12345` |"]


def test_a_row_is_marked_if_a_file_was_added_since(measured):
    (benchmarks.ROOT / "other.py").write_text("")
    assert "older than the code" in measured.state


@pytest.mark.parametrize(
    "pattern", sorted({c for f in benchmarks.stored().values() for c in f.covers})
)
def test_what_a_benchmark_covers_exists(pattern):
    assert [*benchmarks.ROOT.glob(pattern)]


FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
OTHERS = {
    "by_name",
    "contenders",
    "faults",
    "figures",
    "guard",
    "language",
    "reading_trace",
    "results",
    "run",
    "syntax",
    "usage",
}  # what benchmarks use, and counts of code
BENCHMARKS = [path for path in sorted(FOLDER.glob("*.py")) if path.stem not in OTHERS]


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_main_of_a_benchmark_can_be_called_without_arguments(path):
    """`run.py` finds the benchmarks by the return type of `main`, a list of claims, and calls it
    without arguments; so each argument must have a default, also a keyword-only one. A benchmark
    also says which files of the package it covers (COVERS).
    """
    source = path.read_text(encoding="utf-8")
    assert "COVERS = " in source
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    main = next(function for function in functions if function.name == "main")
    assert ast.unparse(main.returns) == "list[Claim]"
    arguments = main.args
    assert len(arguments.args) == len(arguments.defaults)
    assert not arguments.kwonlyargs or all(arguments.kw_defaults)
