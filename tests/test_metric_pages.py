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

# pages that are written by hand; a build makes the others from the catalogue
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
    """A page of the docs has examples as at the prompt of Python, each command with what it prints.
    All of a page are run as one doctest, in which later ones may use the names of earlier ones.
    """
    text = path.read_text(encoding="utf-8")
    code = "\n".join(EXAMPLES.findall(text))
    example = doctest.DocTestParser().get_doctest(
        code, globs={}, name=path.name, filename=str(path), lineno=0
    )
    report = []
    failed = doctest.DocTestRunner(verbose=False).run(example, out=report.append).failed
    assert not failed, "".join(report)


def anchors(path):
    """The anchors of a page's headings, as forges and the site make them."""
    headings = HEADING.findall(BLOCKS.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_link_leads_to_a_page_and_its_heading(path):
    """A link without a file leads to a heading of the page itself. Links to other sites are not
    followed.
    """
    text_without_code = BLOCKS.sub("", path.read_text(encoding="utf-8"))
    broken = []
    for file, anchor in LINK.findall(text_without_code):
        if "://" in file:
            continue
        target = path.parent / file if file else path
        has_heading = target.exists() and (not anchor or anchor in anchors(target))
        if not has_heading:
            broken.append(f"{file}#{anchor}")
    assert not broken


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_a_page_says_when_to_use_a_metric_and_shows_what_it_cannot_see(path):
    assert path.stem in metric_pages.metrics_by_page() or path.stem in NOT_IN_CATALOGUE
    text = path.read_text(encoding="utf-8")
    assert re.search(r"^#{2,3} When to use (it|them)$", text, re.MULTILINE)
    blind = re.split(r"^#{2,3} What (?:it|they) cannot see$", text, flags=re.MULTILINE)[1]
    assert EXAMPLES.search(blind)


def test_the_thirty_usual_metrics_have_a_text():
    assert len(WRITTEN) >= 30


@pytest.fixture(scope="module")
def made_pages(tmp_path_factory):
    """The text of each page that a build makes, by its name; the folder held a page of an earlier
    build.
    """
    folder = tmp_path_factory.mktemp("pages") / "others"
    folder.mkdir()
    (folder / "gone.md").write_text("# A page of an earlier build\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metric_pages, "OTHERS", folder)
        metric_pages.write_others()
    return {path.stem: path.read_text("utf-8") for path in folder.glob("*.md")}


def test_every_metric_has_one_page_written_by_hand_or_made(made_pages):
    """And no other page is there, as that of an earlier build."""
    written = {path.stem for path in WRITTEN} - NOT_IN_CATALOGUE
    made = {*made_pages}
    assert written | made == {*metric_pages.metrics_by_page()}
    assert not written & made


def test_the_page_of_each_metric_has_the_facts_of_the_catalogue(made_pages):
    """Each metric of the catalogue has a page. A build makes most of them (`made_pages`); others
    are written by hand (WRITTEN), and the build adds facts to them (`with_facts`). Each page must
    have the metric's formula, when it is undefined, what it equals in other tools, and its aliases,
    in which @k stands for @.
    """
    pages = dict(made_pages)
    for path in WRITTEN:
        if path.stem not in NOT_IN_CATALOGUE:
            pages[path.stem] = metric_pages.with_facts(path.stem, path.read_text("utf-8"))
    for table in lookup.TABLES.values():
        for metric in table.values():
            text = pages[metric_pages.page_name(metric.name)]
            assert metric.formula.replace("|", r"\|") in text
            assert metric.undefined in text
            assert metric.equals in text
            assert all(f"`{alias.replace('@', '@k')}`" in text for alias in metric.aliases)


def test_the_facts_of_a_metric_are_the_last_section_of_its_page():
    """`with_facts` appends the section "Definition" with the catalogue's facts of a metric to the
    text of its page, which stays as it is.
    """
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


TRUST_TABLES = (DOCS / "trust_tables.md").read_text("utf-8")


def test_the_measured_coverage_on_a_page_is_that_of_the_simulations():
    """The row "| value: mase | 95.5 |" of the tables of all simulations; bold if out of bounds."""
    (coverage,) = re.findall(r"^\| value: mase \| \**([\d.]+)", TRUST_TABLES, re.MULTILINE)
    (metric,) = metric_pages.metrics_by_page()["mase"]
    sentence = f"contained the true value in {coverage}% of the samples"
    assert sentence in metric_pages.facts([metric])


def test_each_cell_of_the_tables_of_simulations_is_a_figure_of_its_metric():
    """Such as those of nDCG@10; its values and its differences, in several tables."""
    rows = re.findall(r"^\| \w+: ndcg@10 \|(.*)\|$", TRUST_TABLES, re.MULTILINE)
    cells = [cell for row in rows for cell in row.split("|")]
    figures = [figure for figure in metric_pages.figures() if figure.label == "ndcg@10"]
    assert {figure.structure for figure in figures} == {"rankings"}
    assert len(figures) == len(cells) > 0


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


def test_the_metrics_that_are_recommended_for_a_situation_exist():
    """The page on choosing a metric has a table of twelve situations, which recommends metrics in
    its second and third column, in backticks. Each must be a name in the catalogue, in one of its
    tables; texts with <, > or = are conditions and no names.
    """
    text = (DOCS / "choose_a_metric.md").read_text("utf-8")
    table = text.split("## Twelve situations")[1].split("\n\n")[1]
    _, _, *situations = table.splitlines()  # below the head and its line
    assert len(situations) == 12
    recommended = set()
    for row in situations:
        _, _, second, third, *_ = row.split("|")
        for cell in (second, third):
            recommended |= set(re.findall(r"`([^`<>=]+)`", cell))
    for name in recommended:
        assert any(lookup.possible_metrics(name, table) for table in lookup.TABLES), name


def test_every_term_that_pages_explain_is_in_the_glossary():
    terms = metric_pages.terms()
    assert len(terms) >= 120
    assert {term.name for term in page.TERMS} <= {term.name for term in terms}


def test_every_term_of_the_glossary_has_its_chinese():
    assert all(re.search(r"[\u4e00-\u9fff]", term.chinese) for term in metric_pages.terms())


def test_the_glossary_is_in_alphabetical_order():
    """Of letters and digits alone."""
    names = [re.sub(r"[^a-z0-9]", "", term.name.lower()) for term in metric_pages.terms()]
    assert names == sorted(names)


def test_the_examples_of_the_module_of_pages_hold():
    result = doctest.testmod(metric_pages)
    assert result.attempted
    assert not result.failed
