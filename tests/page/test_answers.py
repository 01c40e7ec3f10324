"""What a page answers in Chromium: tables sort and copy, figures speak, the address keeps it."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from answers import PAGES, page, quiet, results, value
from browser import ask, printed
from frozen.compare import records
from made_once import ROOT

from evalkit.numbers import number

# Tables -------------------------------------------------------------------------------------------


TABLES = """
const table = captioned("Metrics with"), sorted = sorts(table, 1);
return {sorted, losses: sorts(table, 4)[0], names: sorts(table, 0)[0],
  copied: copied(captioned("Paired differences in roc_auc"))};
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return quiet(ask(page("classification"), TABLES, tmp_path_factory.mktemp("tables")))


def test_a_table_sorts_by_its_numbers_and_back(tables):
    (first, down), (second, up), (third, back) = tables["sorted"]
    assert (first, second, third) == ("descending", "ascending", None)
    sizes = [value(row[1]) for row in down]
    assert sizes == sorted(sizes, reverse=True)
    assert [row[0] for row in up] == [row[0] for row in back[::-1]] or up == down[::-1]
    aucs = {
        row["system"]: row["value"]
        for row in results("classification")["estimates"]
        if row["metric"] == "roc_auc"
    }
    named = [row[0] for row in down if row[0] in aucs]
    assert named == sorted(aucs, key=aucs.get, reverse=True)


def test_the_first_press_brings_the_best_to_the_top_and_names_in_their_order(tables):
    (lowest, losses), (rising, names) = tables["losses"], tables["names"]
    assert lowest == rising == "ascending"
    assert [value(row[4]) for row in losses] == sorted(value(row[4]) for row in losses)
    assert [row[0] for row in names] == sorted(row[0] for row in names)


def test_a_table_is_copied_with_its_intervals(tables):
    texts = tables["copied"]
    rows = list(csv.DictReader(io.StringIO(texts["CSV"])))
    pairs = [
        row
        for row in records(results("classification")["comparisons"])
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
    assert texts["Markdown"].splitlines()[1].startswith("| --: |")
    lines = texts["LaTeX"].splitlines()
    assert lines[:3] == ["% \\usepackage{booktabs}", "\\begin{tabular}{lrrrr}", "\\toprule"]
    assert lines[-1] == "\\end{tabular}"
    assert "forest $-$ logistic & +0.011 {\\footnotesize [$-$0.010, +0.032]} &" in lines[5]


SHEETS = 6  # of the print of two or three systems
ROWS = """
const table = captioned("All 100 queries"), fold = table.closest("details"), filter = $$("[type=search]", fold)[0];
const seen = {open: fold.open, kept: filter.value, number: $$("table.metrics").indexOf(table), fours: lines(table)};
fold.open = true;
type(filter, ""); seen.first = lines(table).length;
fold.querySelector(".scroll + .tools button").click(); seen.whole = lines(table).length;
seen.losses = sorts(table, 4)[1][1];
type(filter, "digit 4"); seen.typed = lines(table);
return seen;
"""


def test_rows_are_filtered_and_folded_and_the_address_opens_the_same_rows(tmp_path):
    fresh = quiet(ask(page("ranking"), ROWS, tmp_path))
    assert (fresh["open"], fresh["kept"], fresh["first"], fresh["whole"]) == (False, "", 12, 100)
    differences = results("ranking")["differences"]
    worst = min(zip(differences["values"], differences["queries"], strict=True))
    assert (fresh["losses"][0][0], fresh["losses"][0][4]) == (worst[1], number(worst[0], 3))
    assert {row[1] for row in fresh["typed"]} == {"digit 4"}
    told = ask(page("ranking"), ROWS, tmp_path, f"#query-by-query?rows{fresh['number']}=digit+4")
    linked = quiet(told)
    assert (linked["open"], linked["kept"]) == (True, "digit 4")
    assert sorted(linked["fours"]) == sorted(fresh["typed"])
    assert told.address == f"#_listed?rows{fresh['number']}=digit+4"


def test_every_query_has_both_values_and_opens_to_its_lists(tmp_path):
    script = """
    const table = captioned("All 100 queries"); table.closest("details").open = true;
    table.closest("details").querySelector(".scroll + .tools button").click();
    $$("th details", table)[0].open = true;
    return {rows: $$("tbody tr", table).map(texts), heads: texts(table.tHead.rows[0])};
    """
    seen = quiet(ask(page("ranking"), script, tmp_path))
    found = results("ranking")
    differences = dict(
        zip(found["differences"]["queries"], found["differences"]["values"], strict=True)
    )
    assert len(seen["rows"]) == len(differences) == 100
    for query, _, first, second, difference, *_ in seen["rows"]:
        assert value(difference) == pytest.approx(differences[query.split()[0]], abs=6e-4)
        assert value(first) - value(second) == pytest.approx(value(difference), abs=1.1e-3)
    moved = [abs(value(row[4])) for row in seen["rows"]]
    assert moved == sorted(moved, reverse=True)
    assert re.search(r"pixel_cosine:? img\d+ \([01–]\),? img", seen["rows"][0][0])
    assert re.search(r"lda_cosine:? img", seen["rows"][0][0])
    of_system = [
        head.rsplit(" ", 1)
        for head in seen["heads"]
        if head.endswith((" pixel_cosine", " lda_cosine"))
    ]
    metrics = [metric["name"] for metric in found["metrics"][1:3] for _ in range(2)]
    assert [label for label, _ in of_system] == ["ndcg@10", "ndcg@10", *metrics]


CUE = '" · choose systems, filter, sort, copy"'
MISSED = """
const table = captioned("unlike errors"), fold = table.closest("details"), filter = $$("[type=search]", fold)[0];
const cue = getComputedStyle(fold.querySelector("summary"), "::after").content, closed = fold.open;
fold.open = true;
type(filter, "housing rent"); fold.querySelector(".scroll + .tools button").click();
const kept = lines(table), filtered = getComputedStyle(fold.querySelector("summary"), "::after").content;
type(filter, ""); $$("th details", table)[0].open = true;
const heads = texts(table.tHead.rows[0]);
return {cue, closed, kept, filtered, first: lines(table)[0], heads, copied: copied(table).CSV};
"""


def test_rows_that_are_missed_by_most_are_filtered_by_segment_and_open(tmp_path):
    seen = quiet(ask(page("classification"), MISSED, tmp_path))
    assert (seen["closed"], seen["cue"], seen["filtered"]) == (False, CUE, '" · filtered"')
    table = pd.read_csv(ROOT / "data/german_credit/predictions.csv", dtype={"id": str})
    scores = table.pivot(index="id", columns="model", values="y_score")
    label, rent = (table.groupby("id")[name].first() for name in ("y_true", "housing"))
    assert len(seen["kept"]) > 5
    systems = [re.sub("Sort by ", "", head) for head in seen["heads"][4:7]]
    for row in seen["kept"]:
        assert rent[row[0]] == "rent"
        assert [value(text) for text in row[4:7]] == pytest.approx(
            scores.loc[row[0], systems].tolist(), abs=6e-4
        )
        assert value(row[7]) == pytest.approx(
            abs(label[row[0]] - scores.loc[row[0], systems[0]]), abs=6e-4
        )
    misses = [value(row[7]) for row in seen["kept"]]
    assert misses == sorted(misses, reverse=True)
    assert "credit_amount: " in seen["first"][0]
    assert "credit_amount" not in seen["copied"]


def test_a_slice_opens_its_rows(tmp_path):
    script = """
    const link = $$("a.slice").find(each => each.text === "housing rent "), table = captioned("unlike errors");
    link.click(); await wait();
    const fold = table.closest("details");
    return [fold.open, $$("[type=search]", fold)[0].value, lines(table), fold.getBoundingClientRect().top];
    """
    told = ask(page("classification"), script, tmp_path)
    opened, typed, rows, top = quiet(told)
    assert (opened, typed) == (True, "housing rent ")
    assert 0 <= top < 20
    assert {row[2] for row in rows} == {"housing rent"}
    assert re.fullmatch(r"#_listed\?rows\d+=housing\+rent\+", told.address)


PAIR = """
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
    told = ask(page("classification"), PAIR % ("logistic", "gbm"), tmp_path)
    seen = quiet(told)
    assert (seen["opened"], seen["names"], told.address) == (
        False,
        ["forest", "logistic"],
        "#_listed?pair=1%2C2",
    )
    assert seen["shown"][-2:] == ["miss logistic", "miss logistic − gbm"]
    table = pd.read_csv(ROOT / "data/german_credit/predictions.csv", dtype={"id": str})
    table["miss"] = abs(table["y_true"] - table["y_score"])
    misses = table.pivot(index="id", columns="model", values="miss")
    assert len(seen["rows"]) > 50
    for name, *_, miss, apart in seen["rows"]:
        logistic, gbm = misses.loc[name.split()[0], ["logistic", "gbm"]]
        assert value(miss) == pytest.approx(logistic, abs=5.1e-4)
        assert value(apart) == pytest.approx(logistic - gbm, abs=5.1e-4)
    again = quiet(
        ask(page("classification"), PAIR % ("forest", "logistic"), tmp_path, told.address)
    )
    assert (again["opened"], again["names"]) == (True, ["logistic", "gbm"])
    assert again["shown"][-2:] == ["miss forest", "miss forest − logistic"]


def test_a_reader_chooses_the_two_systems_that_a_list_of_queries_compares(tmp_path):
    seen = quiet(ask(page("ranking"), PAIR % ("pca8_euclid", "binary_overlap_ties"), tmp_path))
    assert seen["shown"][2:] == ["ndcg@10 pca8_euclid", "ndcg@10 binary_overlap_ties", "difference"]
    means = {
        row["system"]: row["value"]
        for row in results("ranking")["estimates"]
        if row["metric"] == "ndcg@10"
    }
    first, second, apart = (np.mean([value(row[i]) for row in seen["rows"]]) for i in (2, 3, 4))
    assert (len(seen["rows"]), seen["lists"]) == (100, 2)
    assert (first, second) == pytest.approx(
        (means["pca8_euclid"], means["binary_overlap_ties"]), abs=5e-4
    )
    assert apart == pytest.approx(first - second, abs=5e-4)


def test_slices_stand_below_their_column_until_they_are_sorted(tmp_path):
    script = """
    const table = captioned("by segment"), heads = () => $$(".group", table).map(row => row.innerText.trim());
    const of = () => getComputedStyle($$(".of", table)[0]).position;
    const first = [heads(), of(), lines(table).map(row => row[0])];
    $$("thead .sort", table)[1].click();
    const sorted = [heads(), of(), lines(table)[0][0]];
    return {first, sorted, csv: copied(table).CSV};
    """
    seen = quiet(ask(page("classification"), script, tmp_path))
    heads = ["age_band", "housing"]
    bands = ["age_band <=25", "age_band 26-35", "age_band 36-50", "age_band >50"]
    rents = ["housing for free", "housing own", "housing rent"]
    assert seen["first"] == [heads, "absolute", [heads[0], *bands, heads[1], *rents]]
    assert seen["sorted"] == [[], "static", "housing own"]
    assert '"age_band 26-35",398' in seen["csv"]


# Figures ------------------------------------------------------------------------------------------

WALK = """
$$("details").forEach(fold => { fold.open = true; });
return $$("figure").filter(figure => figure.tabIndex === 0).map(walk);
"""


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_speaks_to_the_keyboard_and_to_the_pointer(name, tmp_path):
    figures = quiet(ask(page(name), WALK, tmp_path))
    assert (
        len(figures)
        == len(re.findall(r"<figure>(?:(?!</figure>).)*data-series", page(name), re.S))
        > 0
    )
    for seen in figures:
        assert re.search(r"\d", seen["first"])
        assert re.search(r"\d", seen["other"])
        assert re.search(r"\d", seen["over"])
        assert seen["left"] == ""
        assert seen["back"] == 0
        assert (seen["away"] > 0) == (seen["systems"] > 1)
        assert not (seen["legend"] and seen["clicked"])
        assert (seen["alone"] > 0) == (seen["legend"] and seen["systems"] > 1)


def test_a_figure_says_the_numbers_of_the_json(tmp_path):
    script = """
    const drawn = $$("figure").filter(each => each.tabIndex === 0), told = [];
    const about = words => drawn.find(each => each.textContent.includes(words));
    const [forest, roc] = ["Paired differences", "ROC"].map(about);
    forest.focus(); for (let i = 0; i < 3; i++) { key(forest, "ArrowDown"); told.push(said(forest)); }
    roc.focus(); const curve = []; for (let i = 0; i < 40; i++) { key(roc, "ArrowRight"); curve.push(said(roc)); }
    return {told, curve};
    """
    seen = quiet(ask(page("classification"), script, tmp_path))
    found = results("classification")
    pairs = [row for row in records(found["comparisons"]) if row["metric"] == "roc_auc"]
    for text, row in zip(seen["told"], pairs, strict=True):
        assert text.startswith(f"{row['first']} − {row['second']}: ")
        low, high = re.search(r"\[(.*), (.*)\]", text).groups()
        assert [value(low), value(high)] == pytest.approx([row["low"], row["high"]], abs=5e-4)
    x, y = (np.array(found["curves"]["roc"][side]) for side in ("x", "y"))
    own = np.array(found["curves"]["roc"]["system"]) == "forest"
    for text in seen["curve"]:
        name, across, up, *_ = text.split("\n")
        at = np.array(
            [value(across.removeprefix("false positive rate ")), value(up.removeprefix("recall "))]
        )
        assert name == "forest"
        low, high = (value(end) for end in re.search(r"\[(.*), (.*)\]", up).groups())
        assert 0 <= low < high <= 1.001
        assert (
            np.interp(at[0] - 0.02, x[own], y[own]) - 0.03
            <= at[1]
            <= np.interp(at[0] + 0.02, x[own], y[own]) + 0.03
        )


ALONE = """
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
    seen = quiet(ask(page("classification"), ALONE, tmp_path, theme="dark"))
    assert (seen["dark"], seen["rules"] > 1) == (True, True)
    for drawn in (seen["screen"], seen["print"]):
        assert {opacity for system, opacity in drawn if system == seen["alone"]} == {"1"}
        assert {opacity for system, opacity in drawn if system != seen["alone"]} == {"0.15"}


def test_one_system_alone_is_printed_alone(tmp_path):
    click = ALONE.split("const every")[0]
    whole = page("classification")
    figure = next(
        part for part in re.findall(r"<figure>.*?</figure>", whole, re.S) if "data-key" in part
    )
    short = re.sub(r"<main.*</main>", lambda _: f"<main>{figure}</main>", whole, flags=re.S)
    faint = [printed(short, script, tmp_path) for script in ("", click)]
    assert [re.search(rb"/ca 0?\.15\b", pdf) is not None for pdf in faint] == [False, True]


# The whole page -----------------------------------------------------------------------------------


def test_the_strip_leads_to_all_differences(tmp_path):
    script = """
    const link = $$(".strip + .muted a").find(each => each.textContent.startsWith("All differences"));
    const target = document.getElementById(link.hash.slice(1));
    const fold = document.createElement("details"); target.replaceWith(fold); fold.append(target);
    link.click(); await wait();
    return [fold.open, Math.abs(target.getBoundingClientRect().top) < innerHeight, location.hash === link.hash];
    """
    assert quiet(ask(page("ranking"), script, tmp_path)) == [True, True, True]


TERMS = """
const link = $$("a.term")[0], card = $$(".card")[0], place = scrollY;
const move = where => where.dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
const before = card.hidden; move(link); const shown = card.textContent, after = card.hidden;
link.click(); await wait(); const stays = scrollY === place && location.hash === "";
move(document.body); const gone = card.hidden;
link.focus(); const focused = card.hidden; key(link, "Escape"); const closed = card.hidden;
const meaning = document.getElementById(link.hash.slice(1)).nextElementSibling.textContent;
const metric = $$("table.metrics thead a")[0], head = metric.closest("th"); metric.click();
return {before, same: shown === meaning, after, stays, gone, focused, closed, sorted: head.ariaSort};
"""


def test_a_term_says_what_it_means_in_place_and_a_head_sorts(tmp_path):
    seen = quiet(ask(page("ranking"), TERMS, tmp_path))
    assert seen == {
        "before": True,
        "same": True,
        "after": False,
        "stays": True,
        "gone": True,
        "focused": False,
        "closed": True,
        "sorted": "descending",
    }


def test_the_contents_mark_the_section_that_is_read(tmp_path):
    script = """
    const marked = () => $$("nav [aria-current]").map(link => link.hash), top = marked();
    $$("h2")[2].scrollIntoView(); onscroll();
    return [top, marked(), "#" + $$("h2")[2].id];
    """
    top, now, expected = quiet(ask(page("ranking"), script, tmp_path))
    assert (top, now) == ([], [expected])


@pytest.mark.parametrize("name", ["classification", "pair", "lists", "rating", "significance"])
def test_a_print_is_a_document_of_few_sheets(name, tmp_path):
    pdf = printed(page(name), "", tmp_path)
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


@pytest.mark.parametrize("name", [name for name in PAGES if name != "diff"])
def test_on_paper_each_section_has_its_figures_and_no_heading_stands_alone(name, tmp_path):
    sections = quiet(ask(page(name), ON_PAPER, tmp_path))
    assert sum(figures for _, figures, _, _ in sections) > 0
    for headed, figures, seen, words in sections:
        assert seen == figures
        assert words > 3 or not headed


def test_without_its_script_a_page_shows_every_row_and_no_control(tmp_path):
    script = """
    $$("details").forEach(fold => { fold.open = true; });
    const controls = $$(".tools, .sort, button, input, select, textarea");
    return [$$("tr").filter(row => !row.offsetParent).length, controls.filter(each => each.offsetParent).length,
      lines($$("table")[0]).length];
    """
    for name in ("classification", "ranking"):
        bare = re.sub(r"<script>.*?</script>", "", page(name), flags=re.S)
        hidden, controls, rows = quiet(ask(bare, script, tmp_path))
        assert (hidden, controls) == (0, 0)
        assert rows >= 3


def test_a_page_works_under_a_policy_that_lets_nothing_in(tmp_path):
    policy = (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    script = """
    const drawn = $$("figure").find(each => each.tabIndex === 0);
    return [sorts(captioned("Metrics with"), 1).length, walk(drawn).first];
    """
    length, first = quiet(ask(page("classification"), script, tmp_path, head=head))
    assert length == 3
    assert "[" in first
