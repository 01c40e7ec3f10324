"""What a page answers in Chromium: tables sort and copy, figures speak, the address keeps it.

Each test runs a script on a page (`run_script`) and looks at what the script returns
(`quiet_answer`, which also checks that the page wrote nothing to the console and requested nothing;
`answer_on_page` does both). The pages are reports of bundled samples and of other tables. The
scripts may use the functions of answers.js: `$$(selector, root)`, all elements; `captioned(words)`,
the table whose caption has these words; `lines(table)`, the texts of the cells of each visible row;
`sorts(table, column)`, the order of a column and the lines after each of three presses of its head;
`copied(table)`, the texts that the buttons of a table copy; `key(figure, name)` and `type(input,
text)`, presses of keys; `said(figure)`, what the tip of a figure says; `walk(figure)`, a tour by
keyboard and by pointer.
"""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from answers import (
    PAGES,
    page as html_of_page,
    quiet as quiet_answer,
    results as json_of_page,
    slow_if_further,
    value as leading_number,
)
from browser import ask as run_script, printed
from frozen.compare import records as rows_of_frame
from made_once import ROOT

from evalkit.numbers import number


def answer_on_page(name, script, folder, address="", **options):
    """What a script returns on the page of a report, which writes nothing to the console and
    requests nothing.
    """
    return quiet_answer(run_script(html_of_page(name), script, folder, address, **options))


# Tables -------------------------------------------------------------------------------------------


TABLES = """
const table = captioned("Metrics with"), sorted = sorts(table, 1);
return {sorted, losses: sorts(table, 4)[0], names: sorts(table, 0)[0],
  copied: copied(captioned("Paired differences in roc_auc"))};
"""


@pytest.fixture(scope="module")
def sorted_and_copied(tmp_path_factory):
    return answer_on_page("classification", TABLES, tmp_path_factory.mktemp("tables"))


def test_a_table_sorts_by_its_numbers_and_back(sorted_and_copied):
    """A script pressed the head of the column AUC of the table of metrics three times, and noted
    each time the order that the head declares and the rows: descending, ascending, then the order
    of the page, which has the best system first and so is descending too. The first column has the
    names of the systems. The first press must have sorted as the AUCs of the report's JSON.
    """
    first_press, second_press, third_press = sorted_and_copied["sorted"]
    order, descending = first_press
    assert order == "descending"
    values = [leading_number(auc) for _, auc, *_ in descending]
    assert values == sorted(values, reverse=True)
    order, ascending = second_press
    assert order == "ascending"
    assert ascending == descending[::-1]
    order, as_on_page = third_press
    assert order is None
    assert as_on_page == descending
    aucs = {
        row["system"]: row["value"]
        for row in json_of_page("classification")["estimates"]
        if row["metric"] == "roc_auc"
    }
    named = [name for name, *_ in descending if name in aucs]  # without rows that are no systems
    assert named == sorted(aucs, key=aucs.get, reverse=True)


def test_the_first_press_brings_the_best_to_the_top_and_names_in_their_order(sorted_and_copied):
    """A script pressed the head of the column log loss of the table of metrics once, and then that
    of the names of the systems, and noted the order that the head declares and the rows. Of a loss
    the lowest value is the best and must come first; names must be in the order of the alphabet.
    """
    order, rows_by_loss = sorted_and_copied["losses"]
    assert order == "ascending"
    losses = [leading_number(log_loss) for _, _, _, _, log_loss, *_ in rows_by_loss]
    assert losses == sorted(losses)
    order, rows_by_name = sorted_and_copied["names"]
    assert order == "ascending"
    names = [name for name, *_ in rows_by_name]
    assert names == sorted(names)


def test_a_table_is_copied_with_its_intervals(sorted_and_copied):
    """The buttons below a table copy it as CSV, Markdown and LaTeX; here the table of paired
    differences in AUC, one row per pair of systems. The CSV must have the differences and limits of
    the report's JSON, with the three decimals shown, hence the tolerance 0.0005.
    """
    texts = sorted_and_copied["copied"]  # by format
    rows = list(csv.DictReader(io.StringIO(texts["CSV"])))
    pairs = [
        row
        for row in rows_of_frame(json_of_page("classification")["comparisons"])
        if row["metric"] == "roc_auc"
    ]
    assert [row["first − second"] for row in rows] == [
        f"{row['first']} − {row['second']}" for row in pairs
    ]
    for row, pair in zip(rows, pairs, strict=True):
        for column, key in (
            ("difference", "difference"),
            ("difference low", "low"),
            ("difference high", "high"),
        ):
            assert float(row[column]) == pytest.approx(pair[key], abs=5e-4)
    assert texts["Markdown"].splitlines()[1].startswith("| --: |")  # aligned right
    package, begin, rule, _, _, first_row, *_, end = texts["LaTeX"].splitlines()
    assert package == "% \\usepackage{booktabs}"
    assert (begin, end) == ("\\begin{tabular}{lrrrr}", "\\end{tabular}")
    assert rule == "\\toprule"
    assert "forest $-$ logistic & +0.011 {\\footnotesize [$-$0.010, +0.032]} &" in first_row


SHEETS = 6  # of the print of two or three systems
FILTER_QUERIES = """
const table = captioned("All 100 queries"), fold = table.closest("details"), filter = $$("[type=search]", fold)[0];
const seen = {open: fold.open, filterAtFirst: filter.value, number: $$("table.metrics").indexOf(table), linesAtFirst: lines(table)};
fold.open = true;
type(filter, ""); seen.rowsAtFirst = lines(table).length;
fold.querySelector(".scroll + .tools button").click(); seen.rowsInAll = lines(table).length;
const [, [, ascending]] = sorts(table, 4); seen.ascendingDifference = ascending;
type(filter, "digit 4"); seen.typed = lines(table);
return seen;
"""


@pytest.fixture(scope="module")
def list_of_queries(tmp_path_factory):
    """The answer of FILTER_QUERIES on a page without anything in its address."""
    return answer_on_page("ranking", FILTER_QUERIES, tmp_path_factory.mktemp("queries"))


def test_a_list_of_queries_is_folded_and_shows_twelve_of_them_at_first(list_of_queries):
    assert not list_of_queries["open"]
    assert list_of_queries["filterAtFirst"] == ""
    assert list_of_queries["rowsAtFirst"] == 12
    assert list_of_queries["rowsInAll"] == 100


def test_queries_sorted_by_difference_begin_with_the_worst(list_of_queries):
    differences = json_of_page("ranking")["differences"]
    worst = min(zip(differences["values"], differences["queries"], strict=True))
    query, _, _, _, difference, *_ = list_of_queries["ascendingDifference"][0]
    assert (difference, query) == (number(worst[0], 3), worst[1])


def test_queries_are_filtered_and_the_address_opens_the_same_rows(list_of_queries, tmp_path):
    """`list_of_queries` is what a script found on the ranking page, after it typed "digit 4" into
    the filter of the list: all rows left ("typed") are of that segment. The page is then visited by
    an address with this filter and the section that holds the list, "query-by-query". The list must
    be open and filtered at once, with the same rows.

    On this visit the script types into the filter again, and the page writes each change to the
    address: the filter, and as its place the innermost element with an id around it. This is the
    list itself, with the id "_listed", which so replaces the section in the address.
    """
    assert {segment for _, segment, *_ in list_of_queries["typed"]} == {"digit 4"}
    table = f"rows{list_of_queries['number']}"  # the number of the table on the page
    visit = run_script(
        html_of_page("ranking"), FILTER_QUERIES, tmp_path, f"#query-by-query?{table}=digit+4"
    )
    linked = quiet_answer(visit)  # what the script returns, if the page reported and loaded nothing
    assert linked["open"]
    assert linked["filterAtFirst"] == "digit 4"
    assert sorted(linked["linesAtFirst"]) == sorted(list_of_queries["typed"])
    assert visit.address == f"#_listed?{table}=digit+4"


def test_every_query_has_both_values_and_opens_to_its_lists(tmp_path):
    """The list has one row per query, with the nDCG@10 of the two systems compared, pixel_cosine
    and lda_cosine, and their difference, which must be that of the report's JSON. Rows are sorted
    by the size of the difference. The script opens the first query: its cell shows the items of
    both ranked lists. Further columns have the values of the second and the third metric.
    """
    script = """
    const table = captioned("All 100 queries"); table.closest("details").open = true;
    table.closest("details").querySelector(".scroll + .tools button").click();
    $$("th details", table)[0].open = true;
    return {rows: $$("tbody tr", table).map(texts), heads: texts(table.tHead.rows[0])};
    """
    seen = answer_on_page("ranking", script, tmp_path)
    expected = json_of_page("ranking")
    queries, values = expected["differences"]["queries"], expected["differences"]["values"]
    difference_by_query = dict(zip(queries, values, strict=True))
    assert len(seen["rows"]) == len(difference_by_query) == 100
    sizes = []
    for query, _, first, second, difference, *_ in seen["rows"]:
        name = query.split()[0]  # without the lists that the cell opens to
        # shown with three decimals: each is rounded by up to 0.0005, and two of them by 0.001
        assert leading_number(difference) == pytest.approx(difference_by_query[name], abs=6e-4)
        assert leading_number(first) - leading_number(second) == pytest.approx(
            leading_number(difference), abs=1.1e-3
        )
        sizes.append(abs(leading_number(difference)))
    assert sizes == sorted(sizes, reverse=True)
    opened_query, *_ = seen["rows"][0]
    # an item has its grade in brackets, 0 or 1, or – without a judgement
    assert re.search(r"pixel_cosine:? img\d+ \([01–]\),? img", opened_query)
    assert re.search(r"lda_cosine:? img", opened_query)
    both = (" pixel_cosine", " lda_cosine")
    metric_of_columns = [head.rsplit(" ", 1)[0] for head in seen["heads"] if head.endswith(both)]
    _, second, third, *_ = [metric["name"] for metric in expected["metrics"]]
    assert metric_of_columns == ["ndcg@10", "ndcg@10", second, second, third, third]


FILTER_ROWS_MISSED_BY_MOST = """
const table = captioned("unlike errors"), fold = table.closest("details"), filter = $$("[type=search]", fold)[0];
const cue = getComputedStyle(fold.querySelector("summary"), "::after").content, opened = fold.open;
fold.open = true;
type(filter, "housing rent"); fold.querySelector(".scroll + .tools button").click();
const kept = lines(table), filtered = getComputedStyle(fold.querySelector("summary"), "::after").content;
type(filter, ""); $$("th details", table)[0].open = true;
const heads = texts(table.tHead.rows[0]);
return {cue, opened, kept, filtered, first: lines(table)[0], heads, copied: copied(table).CSV};
"""


def test_rows_that_are_missed_by_most_are_filtered_by_segment_and_open(tmp_path):
    """The list of the rows with the largest errors is folded at first. The script filters it by
    "housing rent" (`kept` are the rows left), then opens its first row. In a row, cell 0 is its
    name, cells 4 to 6 are the scores of the three systems, and cell 7 is the miss, |label − score|,
    of the first of them, by which rows are sorted; all are computed anew from the CSV. An opened
    row shows all columns of the input, which are not copied with the table.
    """
    seen = answer_on_page("classification", FILTER_ROWS_MISSED_BY_MOST, tmp_path)
    assert not seen["opened"]
    assert seen["cue"] == '" · choose systems, filter, sort, copy"'  # after the words of the fold
    assert seen["filtered"] == '" · filtered"'
    table = pd.read_csv(ROOT / "data/german_credit/predictions.csv", dtype={"id": str})
    scores = table.pivot(index="id", columns="model", values="y_score")
    label = table.groupby("id")["y_true"].first()
    housing = table.groupby("id")["housing"].first()
    assert len(seen["kept"]) > 5  # so that the loop below sees rows
    systems = seen["heads"][4:7]
    misses = []
    for row in seen["kept"]:
        name, miss = row[0], leading_number(row[7])
        assert housing[name] == "rent"
        # shown with three decimals
        expected = scores.loc[name, systems].tolist()
        assert [leading_number(text) for text in row[4:7]] == pytest.approx(expected, abs=6e-4)
        assert miss == pytest.approx(abs(label[name] - scores.loc[name, systems[0]]), abs=6e-4)
        misses.append(miss)
    assert misses == sorted(misses, reverse=True)
    opened_row, *_ = seen["first"]
    assert "credit_amount: " in opened_row
    assert "credit_amount" not in seen["copied"]


def test_a_slice_opens_its_rows(tmp_path):
    """In the table by segment the name of a slice, here housing = rent, links to the list of single
    rows. A click opens the list, filtered to the rows of the slice and scrolled to the top of the
    window; the address names the list, the number of its table and the filter.
    """
    script = """
    const link = $$("a.slice").find(each => each.text === "housing rent "), table = captioned("unlike errors");
    link.click(); await wait();
    const fold = table.closest("details");
    return {isOpen: fold.open, filter: $$("[type=search]", fold)[0].value, rows: lines(table),
      top: fold.getBoundingClientRect().top};
    """
    visit = run_script(html_of_page("classification"), script, tmp_path)
    seen = quiet_answer(visit)
    assert seen["isOpen"]
    assert seen["filter"] == "housing rent "
    assert 0 <= seen["top"] < 20  # pixels below the upper edge of the window
    assert {segment for _, _, segment, *_ in seen["rows"]} == {"housing rent"}
    assert re.fullmatch(r"#_listed\?rows\d+=housing\+rent\+", visit.address)


CHOOSE_TWO_SYSTEMS = """
const fold = document.getElementById("_listed"), table = $$("table", fold)[0], opened = fold.open;
const boxes = $$("[data-pair] select", fold), names = boxes.map(box => box.value);
boxes[0].value = "%s"; boxes[1].value = "%s"; boxes[0].dispatchEvent(new Event("change", {bubbles: true}));
fold.open = true; fold.querySelector(".scroll + .tools button").click();
$$("th details", table)[0].open = true;
const shown = [...table.tHead.rows[0].cells].filter(cell => !cell.hidden).map(cell => cell.innerText.trim());
const lists = $$("tbody th section", table).filter(list => list.checkVisibility({contentVisibilityAuto: true}));
return {opened, names, shown, rows: lines(table), lists: lists.length};
"""


def test_a_reader_chooses_the_two_systems_that_a_list_of_rows_compares(tmp_path):
    """The systems are forest, logistic and gbm, numbered from 0; the page compares the first two
    until the reader chooses. The script chooses logistic and gbm: the columns show |label − score|
    of logistic ("miss"), and its difference from gbm, as computed from the CSV; the address keeps
    the choice. A second visit at that address finds the list open, with logistic and gbm chosen
    (`names` are the systems before the script chooses).
    """
    visit = run_script(
        html_of_page("classification"), CHOOSE_TWO_SYSTEMS % ("logistic", "gbm"), tmp_path
    )
    seen = quiet_answer(visit)
    assert not seen["opened"]
    assert seen["names"] == ["forest", "logistic"]
    assert visit.address == "#_listed?pair=1%2C2"  # %2C is a comma
    assert seen["shown"][-2:] == ["miss logistic", "miss logistic − gbm"]
    table = pd.read_csv(ROOT / "data/german_credit/predictions.csv", dtype={"id": str})
    table["miss"] = abs(table["y_true"] - table["y_score"])
    misses = table.pivot(index="id", columns="model", values="miss")
    assert len(seen["rows"]) > 50  # the whole list, not only the rows shown at first
    for name, *_, miss, difference in seen["rows"]:  # shown with three decimals
        logistic, gbm = misses.loc[name.split()[0], ["logistic", "gbm"]]
        assert leading_number(miss) == pytest.approx(logistic, abs=5.1e-4)
        assert leading_number(difference) == pytest.approx(logistic - gbm, abs=5.1e-4)
    choose_others = CHOOSE_TWO_SYSTEMS % ("forest", "logistic")
    again = answer_on_page("classification", choose_others, tmp_path, visit.address)
    assert again["opened"]
    assert again["names"] == ["logistic", "gbm"]  # by the address
    assert again["shown"][-2:] == ["miss forest", "miss forest − logistic"]


def test_a_reader_chooses_the_two_systems_that_a_list_of_queries_compares(tmp_path):
    """The script chooses two systems, shows all 100 queries and opens the first of them. The list
    then has the nDCG@10 of both systems and their difference; the means over the queries must be
    the systems' values in the report's JSON. The opened query shows two ranked lists, one per
    system.
    """
    seen = answer_on_page(
        "ranking", CHOOSE_TWO_SYSTEMS % ("pca8_euclid", "binary_overlap_ties"), tmp_path
    )
    assert seen["shown"][2:] == ["ndcg@10 pca8_euclid", "ndcg@10 binary_overlap_ties", "difference"]
    means = {
        row["system"]: row["value"]
        for row in json_of_page("ranking")["estimates"]
        if row["metric"] == "ndcg@10"
    }
    assert len(seen["rows"]) == 100
    assert seen["lists"] == 2
    # the columns after the query and its segment are the three asserted above
    numbers = pd.DataFrame(seen["rows"])[[2, 3, 4]].map(leading_number)
    first, second, difference = numbers.mean()
    assert first == pytest.approx(means["pca8_euclid"], abs=5e-4)
    assert second == pytest.approx(means["binary_overlap_ties"], abs=5e-4)
    assert difference == pytest.approx(first - second, abs=5e-4)


def test_slices_stand_below_their_column_until_they_are_sorted(tmp_path):
    """The table by segment has the slices of two columns of the German credit data, age_band and
    housing. At first the rows are grouped: a row above each group names the column, which is hidden
    in the names of the slices. Sorted by their size, rows have no groups and show the full name.
    The CSV has full names as well; 398 of the 1,000 rows have an age of 26 to 35.
    """
    script = """
    const table = captioned("by segment"), heads = () => $$(".group", table).map(row => row.innerText.trim());
    // the column's name in a row: out of sight (absolute) where a row above has it
    const position = () => getComputedStyle($$(".of", table)[0]).position;
    const names = () => lines(table).map(row => row[0]);
    const grouped = {heads: heads(), position: position(), names: names()};
    $$("thead .sort", table)[1].click();  // by the number of rows, the largest first
    const sorted = {heads: heads(), position: position(), names: names()};
    return {grouped, sorted, csv: copied(table).CSV};
    """
    seen = answer_on_page("classification", script, tmp_path)
    bands = ["age_band <=25", "age_band 26-35", "age_band 36-50", "age_band >50"]
    housing = ["housing for free", "housing own", "housing rent"]
    grouped, by_rows = seen["grouped"], seen["sorted"]
    assert grouped["heads"] == ["age_band", "housing"]
    assert grouped["position"] == "absolute"
    assert grouped["names"] == ["age_band", *bands, "housing", *housing]
    assert by_rows["heads"] == []
    assert by_rows["position"] == "static"
    assert by_rows["names"][0] == "housing own"  # which most rows have
    assert '"age_band 26-35",398' in seen["csv"]


# Figures ------------------------------------------------------------------------------------------

WALK_OVER_EACH_FIGURE = """
$$("details").forEach(fold => { fold.open = true; });
return $$("figure").filter(figure => figure.tabIndex === 0).map(walk);
"""


@pytest.mark.parametrize("name", slow_if_further(PAGES))
def test_every_figure_speaks_to_the_keyboard_and_to_the_pointer(name, tmp_path):
    """On each page (`name`) the script walks over each figure with systems, by keyboard and by
    pointer, and returns what the figure's tip says after each step: the numbers of a point, or
    nothing. Enter, or a click in the legend, makes the systems other than that of the point faint
    (class "away"); the same again ends it.
    """
    figures = answer_on_page(name, WALK_OVER_EACH_FIGURE, tmp_path)
    html = html_of_page(name)
    with_systems = re.findall(r"<figure>(?:(?!</figure>).)*data-series", html, re.S)
    assert len(figures) == len(with_systems) > 0
    for seen in figures:
        several = seen["systems"] > 1
        assert re.search(r"\d", seen["first"])  # after the right arrow
        assert re.search(r"\d", seen["other"])  # after the down arrow
        assert re.search(r"\d", seen["over"])  # under the pointer
        assert seen["left"] == ""  # without the focus
        assert (seen["away"] > 0) == several  # the number of faint parts after Enter
        assert seen["back"] == 0  # after Enter again
        if seen["legend"]:
            assert seen["clicked"] == ""  # a click in the legend ends what the pointer said
        # the number of faint parts after the click in the legend
        assert (seen["alone"] > 0) == (seen["legend"] and several)


def test_a_figure_says_the_numbers_of_the_json(tmp_path):
    """The tip of a figure says the numbers of the point that arrow keys have reached. Those of
    three pairs of systems, and of 40 points of the ROC curve of forest, must be the numbers of the
    report's JSON, within the rounding to three decimals.
    """
    script = """
    const drawn = $$("figure").filter(each => each.tabIndex === 0);
    const about = words => drawn.find(each => each.textContent.includes(words));
    const differences = about("Paired differences"), roc = about("ROC"), pairs = [], points = [];
    differences.focus();  // an arrow down goes to the next pair of systems
    for (let i = 0; i < 3; i++) { key(differences, "ArrowDown"); pairs.push(said(differences)); }
    roc.focus();  // an arrow to the right goes to the next point of the first system, forest
    for (let i = 0; i < 40; i++) { key(roc, "ArrowRight"); points.push(said(roc)); }
    return {pairs, points};
    """
    seen = answer_on_page("classification", script, tmp_path)
    expected = json_of_page("classification")
    pairs = [row for row in rows_of_frame(expected["comparisons"]) if row["metric"] == "roc_auc"]
    for text, row in zip(seen["pairs"], pairs, strict=True):
        assert text.startswith(f"{row['first']} − {row['second']}: ")
        low, high = re.search(r"\[(.*), (.*)\]", text).groups()
        assert [leading_number(low), leading_number(high)] == pytest.approx(
            [row["low"], row["high"]], abs=5e-4
        )
    curves = pd.DataFrame(expected["curves"]["roc"])
    curve = curves[curves["system"] == "forest"]
    for text in seen["points"]:
        name, x_text, y_text, *_ = text.split("\n")
        assert name == "forest"
        false_positive_rate = leading_number(x_text.removeprefix("false positive rate "))
        recall = leading_number(y_text.removeprefix("recall "))
        low, high = (
            leading_number(limit) for limit in re.search(r"\[(.*), (.*)\]", y_text).groups()
        )
        assert 0 <= low < high <= 1.001  # rounded
        # the JSON has fewer points than the curve, so that a point of the figure may lie between
        # two of them: up to 0.02 away in x and 0.03 in y
        left, right = false_positive_rate - 0.02, false_positive_rate + 0.02
        lowest, highest = np.interp([left, right], curve["x"], curve["y"])
        assert lowest - 0.03 <= recall <= highest + 0.03


SHOW_ONE_SYSTEM_ALONE = """
const figure = $$("figure").find(each => each.querySelector("[data-key]")), legend = $$("[data-key]", figure);
legend[1].dispatchEvent(new MouseEvent("click", {bubbles: true}));
const every = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules]);
const rules = every.filter(rule => rule.media?.mediaText === "print");
const faint = () => $$("[data-series]", figure).map(part => [part.dataset.series, getComputedStyle(part).opacity]);
const screen = faint();
rules.forEach(rule => { rule.media.mediaText = "all"; });
return {alone: legend[1].dataset.key, screen, print: faint(), dark: matchMedia("(prefers-color-scheme: dark)").matches,
  card: getComputedStyle($$(".scroll", figure)[0]).backgroundColor, rules: rules.length};
"""


def test_one_system_alone_stays_alone_in_the_dark_and_in_print(tmp_path):
    seen = answer_on_page("classification", SHOW_ONE_SYSTEM_ALONE, tmp_path, theme="dark")
    assert (seen["dark"], seen["rules"] > 1) == (True, True)
    for drawn in (seen["screen"], seen["print"]):
        assert {opacity for system, opacity in drawn if system == seen["alone"]} == {"1"}
        assert {opacity for system, opacity in drawn if system != seen["alone"]} == {"0.15"}


def test_one_system_alone_is_printed_alone(tmp_path):
    """A click in the legend of a figure leaves one system; the others become faint, with an opacity
    of 0.15. So it is in print: the PDF then has the entry /ca .15 (PDF's opacity of fills), which
    it does not have without the click. The page is reduced to its first figure with a legend, so
    that no other figure can have this entry.
    """
    html = html_of_page("classification")
    figures = re.findall(r"<figure>.*?</figure>", html, re.S)
    with_legend = next(figure for figure in figures if "data-key" in figure)
    short_page = re.sub(
        r"<main.*</main>", lambda _: f"<main>{with_legend}</main>", html, flags=re.S
    )
    click_in_legend = """
    const figure = $$("figure").find(each => each.querySelector("[data-key]"));
    $$("[data-key]", figure)[1].dispatchEvent(new MouseEvent("click", {bubbles: true}));
    """
    opacity = rb"/ca 0?\.15\b"
    pdf_without_click = printed(short_page, "", tmp_path)
    assert not re.search(opacity, pdf_without_click)
    pdf_after_click = printed(short_page, click_in_legend, tmp_path)
    assert re.search(opacity, pdf_after_click)


# The whole page -----------------------------------------------------------------------------------


def test_the_strip_leads_to_all_differences(tmp_path):
    """A small figure of the differences, the strip, stands at the top of the page; the link below
    it leads to the section with all differences. The script puts this section into a closed fold.
    The link must open the fold, scroll to the section and put it into the address.
    """
    script = """
    // the link below the strip of differences at the top of the page
    const link = $$(".strip + .muted a").find(each => each.textContent.startsWith("All differences"));
    const target = document.getElementById(link.hash.slice(1));
    const fold = document.createElement("details"); target.replaceWith(fold); fold.append(target);
    link.click(); await wait();
    const isInWindow = Math.abs(target.getBoundingClientRect().top) < innerHeight;
    return {isOpen: fold.open, isInWindow, isInAddress: location.hash === link.hash};
    """
    seen = answer_on_page("ranking", script, tmp_path)
    assert seen == {"isOpen": True, "isInWindow": True, "isInAddress": True}


POINT_AT_A_TERM_AND_SORT = """
const link = $$("a.term")[0], card = $$(".card")[0], place = scrollY;
const move = where => where.dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
const hidden = {atFirst: card.hidden};
move(link); hidden.underThePointer = card.hidden; const shown = card.textContent;
link.click(); await wait(); const pageStays = scrollY === place && location.hash === "";
move(document.body); hidden.awayFromThePointer = card.hidden;
link.focus(); hidden.withFocus = card.hidden;
key(link, "Escape"); hidden.afterEscape = card.hidden;
const meaning = document.getElementById(link.hash.slice(1)).nextElementSibling.textContent;
const metric = $$("table.metrics thead a")[0], head = metric.closest("th"); metric.click();
return {hidden, showsMeaning: shown === meaning, pageStays, sorted: head.ariaSort};
"""


def test_a_term_says_what_it_means_in_place_and_a_head_sorts(tmp_path):
    """A card with the definition of a term is shown while the pointer is on the term or the term
    has the focus, until Escape (`hidden` says in which of these states the card is hidden). A click
    on the term does not leave for the glossary. A click on a metric, also a term, in the head of a
    table sorts the table.
    """
    seen = answer_on_page("ranking", POINT_AT_A_TERM_AND_SORT, tmp_path)
    assert seen["hidden"] == {
        "atFirst": True,
        "underThePointer": False,
        "awayFromThePointer": True,
        "withFocus": False,
        "afterEscape": True,
    }
    assert seen["showsMeaning"]
    assert seen["pageStays"]
    assert seen["sorted"] == "descending"


def test_the_contents_mark_the_section_that_is_read(tmp_path):
    """The table of contents marks the link to the section at the top of the window with
    aria-current. At the top of the page, above the first section, none is marked; scrolled to the
    third heading, its link alone is.
    """
    script = """
    const marked = () => $$("nav [aria-current]").map(link => link.hash);
    const thirdHeading = $$("h2")[2], atTheTop = marked();
    thirdHeading.scrollIntoView(); onscroll();
    return {atTheTop, atThirdHeading: marked(), hash: "#" + thirdHeading.id};
    """
    seen = answer_on_page("ranking", script, tmp_path)
    assert seen["atTheTop"] == []
    assert seen["atThirdHeading"] == [seen["hash"]]


@pytest.mark.parametrize("name", ["classification", "pair", "lists", "rating", "significance"])
def test_a_print_is_a_document_of_few_sheets(name, tmp_path):
    pdf = printed(html_of_page(name), "", tmp_path)
    assert int(re.search(rb"/Count (\d+)", pdf)[1]) <= SHEETS


ON_PAPER = """
const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).filter(rule => rule.media);
rules.forEach(rule => { rule.media.mediaText = rule.media.mediaText === "print" ? "all" : "not all"; });
const seen = each => each.offsetParent !== null;
return $$("section").map(section => {
  const figures = $$(".output > figure", section), heading = $$("h2", section)[0];
  const words = section.innerText.length - (heading ? heading.innerText.length : 0);
  return [$$("h2", section).some(seen), figures.length, figures.filter(seen).length, words];
});
"""


@pytest.mark.parametrize("name", slow_if_further(name for name in PAGES if name != "diff"))
def test_on_paper_each_section_has_its_figures_and_no_heading_stands_alone(name, tmp_path):
    sections = answer_on_page(name, ON_PAPER, tmp_path)
    assert sum(figures for _, figures, _, _ in sections) > 0
    for headed, figures, seen, words in sections:
        assert seen == figures
        assert words > 3 or not headed


def test_without_its_script_a_page_shows_every_row_and_no_control(tmp_path):
    """Where scripts are off, a page must not show buttons or fields that do nothing, and must not
    hide rows. `script` belongs to the test: it opens all folds and counts hidden rows and visible
    controls.
    """
    script = """
    $$("details").forEach(fold => { fold.open = true; });
    const controls = $$(".tools, .sort, button, input, select, textarea");
    const isShown = each => each.offsetParent !== null;
    return {hiddenRows: $$("tr").filter(row => !isShown(row)).length,
      shownControls: controls.filter(isShown).length, rowsOfFirstTable: lines($$("table")[0]).length};
    """
    for name in ("classification", "ranking"):
        without_script = re.sub(r"<script>.*?</script>", "", html_of_page(name), flags=re.S)
        seen = quiet_answer(run_script(without_script, script, tmp_path))
        assert seen["hiddenRows"] == 0
        assert seen["shownControls"] == 0
        assert seen["rowsOfFirstTable"] >= 3  # three systems: the page is not empty


def test_a_page_works_under_a_policy_that_lets_nothing_in(tmp_path):
    """A server may forbid a page, by a content security policy, all but the scripts, styles and
    images that the page itself holds. Under this policy a table still sorts (three presses of a
    head) and a figure still says a value with its interval.
    """
    policy = (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    script = """
    const drawn = $$("figure").find(each => each.tabIndex === 0);
    return {presses: sorts(captioned("Metrics with"), 1).length, firstPoint: walk(drawn).first};
    """
    seen = answer_on_page("classification", script, tmp_path, head=head)
    assert seen["presses"] == 3
    assert "[" in seen["firstPoint"]  # an interval, such as [0.1, 0.2]
