"""The pages of metrics, the choice between them, the examples of the texts, and the glossary."""

import doctest
import re
import sys
from pathlib import Path

import pytest

from evalkit import page
from evalkit.catalogue import lookup

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.append(str(DOCS))

import metric_pages  # noqa: E402

WRITTEN = sorted(metric_pages.WRITTEN.glob("*.md"))
BESIDE = [DOCS / f"{name}.md" for name in ("choose_a_metric", "texts", "metrics", "glossary")]
PAGES = [*WRITTEN, *BESIDE]
WITH_EXAMPLES = [*WRITTEN, DOCS / "texts.md"]
NOT_IN_CATALOGUE = {"diversity"}  # computed from items, not from grades
EXAMPLES = re.compile(r"```pycon\n(.*?)```", re.DOTALL)
BLOCKS = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_every_example_of_a_page_prints_what_the_page_says(path):
    text = path.read_text(encoding="utf-8")
    code = "\n".join(EXAMPLES.findall(text))
    example = doctest.DocTestParser().get_doctest(code, {}, path.name, str(path), 0)
    report = []
    failed = doctest.DocTestRunner(verbose=False).run(example, out=report.append).failed
    assert not failed, "".join(report)


def anchors(path):
    """The anchors of a page's headings, as forges and the site make them."""
    headings = HEADING.findall(BLOCKS.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_link_leads_to_a_page_and_its_heading(path):
    lost = []
    for file, anchor in LINK.findall(BLOCKS.sub("", path.read_text(encoding="utf-8"))):
        target = path.parent / file if file else path
        if "://" not in file and not (
            target.exists() and (not anchor or anchor in anchors(target))
        ):
            lost.append(f"{file}#{anchor}")
    assert not lost


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_a_page_says_when_to_use_a_metric_and_shows_what_it_cannot_see(path):
    assert path.stem in metric_pages.metrics_by_page() or path.stem in NOT_IN_CATALOGUE
    text = path.read_text(encoding="utf-8")
    assert re.search(r"^###? When to use (it|them)$", text, re.MULTILINE)
    blind = re.split(r"^###? What (?:it|they) cannot see$", text, flags=re.MULTILINE)[1]
    assert EXAMPLES.search(blind)


def test_the_thirty_usual_metrics_have_a_text():
    assert len(WRITTEN) >= 30


def test_every_metric_has_a_page_with_its_facts(tmp_path, monkeypatch):
    monkeypatch.setattr(metric_pages, "OTHERS", tmp_path / "others")
    metric_pages.write_others()
    (tmp_path / "others" / "gone.md").write_text("# A page of an earlier build\n")
    metric_pages.write_others()
    written = {path.stem for path in WRITTEN} - NOT_IN_CATALOGUE
    others = {path.stem: path.read_text("utf-8") for path in (tmp_path / "others").glob("*.md")}
    assert written | {*others} == {*metric_pages.metrics_by_page()}
    assert not written & {*others}
    pages = others | {
        name: metric_pages.with_facts(
            name, (metric_pages.WRITTEN / f"{name}.md").read_text("utf-8")
        )
        for name in written
    }
    for table in lookup.TABLES.values():
        for metric in table.values():
            text = pages[metric_pages.page_name(metric.name)]
            assert metric.formula.replace("|", r"\|") in text
            assert metric.undefined in text
            assert metric.equals in text
            assert all(f"`{alias.replace('@', '@k')}`" in text for alias in metric.aliases)


def test_the_facts_of_a_metric_are_the_last_section_of_its_page():
    text = metric_pages.with_facts("roc_auc", "# ROC AUC\n\nText.\n")
    before, facts = text.split("\n## Definition\n")
    assert before == "# ROC AUC\n\nText.\n"
    assert "- **Range**: 0 to 1; higher is better\n" in facts
    assert "- **Interval** (independent rows without weights): DeLong" in facts
    assert "In Chinese: AUC (ROC 曲线下面积); " in facts


@pytest.mark.parametrize(
    "name, interval",
    [
        ("recall", "(independent rows without weights): Wilson\n"),  # of two classes
        ("gauc", "(independent units): jackknife t\n"),
        ("pass_at_k", "(independent units): Wilson with the effective sample size, "),
        (
            "user_share",
            "(two rankers that share the credit): half the interval of the difference, ",
        ),
    ],
)
def test_the_interval_is_that_of_the_usual_sample_of_a_metric(name, interval):
    facts = metric_pages.facts(metric_pages.metrics_by_page()[name])
    assert f"- **Interval** {interval}" in facts


def test_a_metric_of_several_tables_has_a_definition_for_each():
    text = metric_pages.facts(metric_pages.metrics_by_page()["accuracy"])
    assert re.findall("^### (.*)$", text, re.MULTILINE) == [
        "Binary classification: `accuracy`",
        "Multi-class classification: `accuracy`",
    ]


def test_the_measured_coverage_is_that_of_the_tables():
    text = (DOCS / "trust_tables.md").read_text("utf-8")
    shares = [
        float(cell.strip("* "))
        for row in re.findall(r"^\| value: mase \|(.*)\|$", text, re.MULTILINE)
        for cell in row.split("|")
    ]
    assert shares
    (metric,) = metric_pages.metrics_by_page()["mase"]
    assert f"contained the true value in {shares[0]}% of the samples" in metric_pages.facts(
        [metric]
    )
    several = [figure for figure in metric_pages.figures() if figure.label == "ndcg@10"]
    assert {figure.structure for figure in several} == {"rankings"}
    rows = re.findall(r"^\| \w+: ndcg@10 \|(.*)\|$", text, re.MULTILINE)
    assert len(several) >= sum(row.count("|") + 1 for row in rows[:2]) > 0


@pytest.mark.parametrize(
    "world, structure",
    [
        ("two classes, 2% positive, n = 200", "counts"),
        ("three classes by user, n = 10", "classes"),
        ("large: a rare class, n = 5,000", "classes"),
        ("five labels, one rare, n = 50", "labels"),
        ("highest scores, weights, n = 400", "counts"),
    ],
)
def test_a_simulated_population_belongs_to_one_table_of_the_catalogue(world, structure):
    assert metric_pages._structure("classification", world) == structure


def test_every_row_of_the_table_links_to_the_page_of_its_metric():
    table = metric_pages.link_others((DOCS / "metrics.md").read_text("utf-8"))
    rows = re.findall(r"^\| (\[`.*?) \|", table, re.MULTILINE)
    assert len(rows) == sum(map(len, lookup.TABLES.values()))
    assert "[`pass^k`](metrics/others/pass_hat_k.md)" in rows
    assert "[`precision@k`](metrics/precision.md)" in rows


def test_the_metrics_that_are_recommended_exist():
    text = (DOCS / "choose_a_metric.md").read_text("utf-8")
    situations = text.split("## Twelve situations")[1].split("\n\n")[1].splitlines()[2:]
    assert len(situations) == 12
    named = {
        name
        for row in situations
        for cell in row.split("|")[2:4]
        for name in re.findall(r"`([^`<>=]+)`", cell)
    }
    assert not [
        name for name in named if not any(lookup.meanings(name, table) for table in lookup.TABLES)
    ]


def test_every_term_is_there_in_both_languages():
    terms = metric_pages.terms()
    assert len(terms) >= 120
    assert {term.name for term in page.TERMS} <= {term.name for term in terms}
    assert all(re.search(r"[\u4e00-\u9fff]", term.chinese) for term in terms)
    letters = [re.sub(r"[^a-z0-9]", "", term.name.lower()) for term in terms]
    assert letters == sorted(letters)


def test_the_examples_of_the_module_of_pages_hold():
    result = doctest.testmod(metric_pages)
    assert result.attempted
    assert not result.failed
