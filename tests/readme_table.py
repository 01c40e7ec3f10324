"""Write what is generated: the pages of docs, evalkit/__init__.pyi, parameters cells: `python
tests/readme_table.py`.

docs/metrics.md comes from the catalogue, docs/parameters.md from the parameters of each report,
docs/findings.md from the kinds of findings, evalkit/schema.json from the frozen results
(results_schema.py), docs/glossary.md from the terms that pages explain, the ratios in
docs/performance.md and benchmarks/RESULTS.md from the stored results of the benchmarks.
"""

import inspect
import json
import sys
from pathlib import Path
from textwrap import indent
from typing import Any, get_type_hints

# this checkout's, whichever is installed
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "docs"))

import metric_pages
import nbformat
import results as benchmarks
import results_schema

import evalkit as ek
from evalkit.catalogue import lookup
from evalkit.findings import kinds
from evalkit.parameters import cells
from evalkit.parameters.reports import PARAMETERS_BY_NOTEBOOK

TOP = Path(__file__).resolve().parents[1]
PARAMETERS = TOP / "docs" / "parameters.md"
FINDINGS = TOP / "docs" / "findings.md"
GLOSSARY = TOP / "docs" / "glossary.md"
METRICS = TOP / "docs" / "metrics.md"
PERFORMANCE = TOP / "docs" / "performance.md"
README = TOP / "README.md"
RESULTS = TOP / "benchmarks" / "RESULTS.md"
SCHEMA = TOP / "evalkit" / "schema.json"
CATALOGUE = """# Metrics

<!-- made by make outputs from the catalogue -->

A name takes a cut-off where `@k` is shown: `ndcg@10`. Case, spaces, dashes and underscores are free, and a cut-off may
stand as tools write it: `nDCG@10`, `NDCG_at_10`, `P_10`, `ROC AUC`; `neg_log_loss` is `log_loss`. Different conventions
have different names: `ndcg` and `ndcg_exp` are two metrics. A name that several metrics of a table have, such as `HR@10`,
`PR AUC` or `F1` of several classes, is refused with the definitions and the value of each on the data. The column
*equals* names the public tool whose result is equal. [Choose a metric](choose_a_metric.md) says which to take; a name with a
link leads to a page that says what the metric cannot see. What lists are beside their relevance is on the page of
[diversity](metrics/diversity.md).

"""
SPEED = "<!-- speed: made by make outputs from benchmarks/found -->\n", "<!-- end of speed -->"
INTRODUCTION = """# Parameters

<!-- made by make outputs from evalkit/parameters/reports.py -->

Set a parameter with `evalkit report NAME -p PARAMETER VALUE`, with an argument of `read` in Python, or in the
notebook's parameters cell. A list is written `a,b` or `[a, b]`, in Python and in the notebook also as a list; pairs are
written `name=value,name=value` or `{name: value}`, in Python also as a mapping. This holds for files too:
`preds=a.csv,b.csv` is two files, unless there is a file of that name. In Python a data frame may stand for a path.
A parameter without a default is not set. `evalkit parameters NAME --json` prints the same as a JSON schema.
"""
FOUND = """# Findings

<!-- made by make outputs from evalkit/findings -->

What a report says about its data and its methods: on the page with code, message and, if it could change the result,
what to do; in the JSON as `findings`. A finding is **severe** (the numbers are wrong), a **warning** (they may mislead)
or a **note** (good to know). The message says which systems, columns or rows it is about. Codes are stable.

"""
TERMS = """# Glossary

<!-- made by make outputs from docs/terms.toml and evalkit/page/glossary.toml -->

Terms of evaluation, with the Chinese beside the English. A term that a page of a report mentions is explained there too.

"""
STUBS = TOP / "evalkit" / "__init__.pyi"
STUB = """# Made by make outputs from evalkit/__init__.py and the parameters of reports, for type checkers and editors.
from evalkit.parameters.kinds import Columns, ColumnsOfEach, Metrics, Named, Names, Tables, Wholes
{}

__version__: str
__all__ = [
{}]

{}
"""


def metrics() -> str:
    """The text of docs/metrics.md."""
    return CATALOGUE + metric_pages.link_written(lookup.markdown()) + "\n"


def performance(text: str) -> str:
    """The text of docs/performance.md with the ratios as they are now."""
    before, rest = text.split(SPEED[0])
    table = benchmarks.table(benchmarks.stored())
    return f"{before}{SPEED[0]}{table}{SPEED[1]}{rest.split(SPEED[1])[1]}"


def results() -> str:
    """The text of benchmarks/RESULTS.md."""
    return benchmarks.text()


def parameters() -> str:
    """The text of docs/parameters.md."""
    tables = [
        f"## {name}\n\n{cells.Listing(name, report.options().values()).markdown()}"
        for name, report in PARAMETERS_BY_NOTEBOOK.items()
    ]
    return "\n".join([INTRODUCTION, *tables])


def findings() -> str:
    """The text of docs/findings.md."""
    return FOUND + kinds.markdown()


def glossary() -> str:
    """The text of docs/glossary.md."""
    return TERMS + "\n".join(f"{entry}\n" for entry in metric_pages.glossary_entries())


def stub() -> str:
    """The text of evalkit/__init__.pyi: the public names, and the reports with the signature and
    help of `read`.
    """
    imports = []
    reports = []
    for name, place in ek.PUBLIC.items():
        module, _, attribute = place.partition(":")
        parent, _, leaf = module.rpartition(".")
        if name in PARAMETERS_BY_NOTEBOOK:
            reports.append(typed(name, getattr(ek, name)))
            imports.append(f"import evalkit.{module}")
        else:
            where = f"{module} import {attribute}" if attribute else f"{parent} import {leaf}"
            imports.append(f"from evalkit.{where} as {name}")
    names = "".join(f'    "{name}",\n' for name in ek.__all__)
    return STUB.format("\n".join(sorted(imports)), names, "\n".join(reports))


def typed(name: str, report: Any) -> str:
    """A report as the stub has it: an argument on each line, and its docstring."""
    made = inspect.formatannotation(get_type_hints(report.__wrapped__)["return"])
    lines = [f"def {name}("]
    named = False
    for key, argument in inspect.signature(report).parameters.items():
        if argument.kind is argument.KEYWORD_ONLY and not named:
            lines = [*lines, "    *,"]
            named = True
        default = json.dumps(argument.default).replace("null", "None")
        lines.append(f"    {key}: {argument.annotation} = {default},")
    text = indent(f'"""{report.__doc__}\n"""', "    ")
    return "\n".join([*lines, f") -> {made}:", text, ""])


def parameters_cells() -> None:
    """Write the parameters cells of the notebooks."""
    for name, report in PARAMETERS_BY_NOTEBOOK.items():
        notebook = nbformat.read(TOP / "notebooks" / f"{name}.ipynb", as_version=4)
        (cell,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
        cell.source = cells.source(report)
        nbformat.write(notebook, TOP / "notebooks" / f"{name}.ipynb")


if __name__ == "__main__":
    STUBS.write_text(stub(), encoding="utf-8")
    parameters_cells()
    METRICS.write_text(metrics(), encoding="utf-8")
    PARAMETERS.write_text(parameters(), encoding="utf-8")
    FINDINGS.write_text(findings(), encoding="utf-8")
    GLOSSARY.write_text(glossary(), encoding="utf-8")
    SCHEMA.write_text(results_schema.text(), encoding="utf-8")
    RESULTS.write_text(results(), encoding="utf-8")
    PERFORMANCE.write_text(performance(PERFORMANCE.read_text(encoding="utf-8")), encoding="utf-8")
