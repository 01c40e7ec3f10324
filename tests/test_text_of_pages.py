"""The text of the sample pages: minus signs, plurals, and as many digits wherever an interval
stands.
"""

import re
from functools import cache
from html.parser import HTMLParser

import pytest
from made_once import REPORTS, reports

import evalkit as ek
from evalkit.pages import first_screen, page as pieces

BLOCKS = {"p", "div", "tr", "li", "td", "th", "text", "caption", "summary", "figcaption", "br"}
NOT_TEXT = {"script", "style", "code", "pre"}
SAID = ("aria-label", "title", "data-says")
NUMBER = r"[+−]?\d[\d,]*(?:\.\d+)?"
INTERVAL = re.compile(rf"({NUMBER})%? \[({NUMBER})%?, ({NUMBER})%?\]")
HYPHEN = re.compile(r"(?<![\w./:)\]-])-\.?\d")
COUNTED = (
    "row|query|note|finding|warning|system|pair|user|fold|unit|metric|positive|negative|item|check|"
    "session|fit|time|label"
)
SEVERAL = "queries|" + "|".join(f"{word}s" for word in COUNTED.split("|"))
# not "fold 1 tests", not "1 of 5 rows"
ONE_OF_SEVERAL = re.compile(rf"(?<![\w.,–−-] )(?<![\w.,–−-])1 ({SEVERAL})\b")
SEVERAL_AS_ONE = re.compile(
    rf"(?<![\w.,–−-])(?:[02-9]|\d[\d,]*\d) ({COUNTED})\b(?![ -]?(?:{SEVERAL}|[a-z]+s)\b)"
)


class Lines(HTMLParser):
    """The lines of a page: the text of its elements, and what pointers and screen readers say."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines = [""]
        self.hidden: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag in NOT_TEXT:
            self.hidden.append(tag)
        if tag in BLOCKS:
            self.lines.append("")
        said = [value for name, value in attrs if name in SAID and value]
        self.lines += [*said, ""] if said else []

    def handle_endtag(self, tag):
        if self.hidden and self.hidden[-1] == tag:
            self.hidden.pop()
        if tag in BLOCKS:
            self.lines.append("")

    def handle_data(self, data):
        if not self.hidden:
            self.lines[-1] += data


def lines_of(page: str) -> list[str]:
    every = (line for text in Lines(page).lines for line in text.splitlines())
    return [line.strip() for line in every if line.strip()]


@cache
def lines(report: str) -> list[str]:
    return lines_of((reports() / f"{report}.html").read_text("utf-8"))


def lines_with(pattern: re.Pattern, several: list[str]) -> list[str]:
    return [line for line in several if pattern.search(line)]


def decimals(number: str) -> int:
    return len(number.partition(".")[2])


def uneven(several: list[str]) -> list[str]:
    """Intervals of which the value and the limits have other digits."""
    return [
        match[0]
        for line in several
        for match in INTERVAL.finditer(line)
        if len({decimals(number) for number in match.groups()}) > 1
    ]


@pytest.mark.parametrize("report", REPORTS)
def test_a_negative_number_has_a_minus_sign(report):
    assert lines_with(HYPHEN, lines(report)) == []


@pytest.mark.parametrize("report", REPORTS)
def test_a_counted_noun_has_its_number(report):
    assert lines_with(ONE_OF_SEVERAL, lines(report)) == []
    assert lines_with(SEVERAL_AS_ONE, lines(report)) == []


@pytest.mark.parametrize("report", REPORTS)
def test_the_parts_of_an_interval_have_the_same_digits(report):
    assert len(lines_with(INTERVAL, lines(report))) > 3
    assert uneven(lines(report)) == []


def test_an_interval_of_a_slice_has_the_same_digits_in_the_figure_and_in_the_table():
    """`lines` has the texts on the page of the bundled classification sample, one line for each
    tooltip or cell. Tooltips of the figure say "forest, housing rent: 0.796 [0.722, 0.854]", one
    for each of three systems in each of four age bands and three kinds of housing; the table has
    cells such as "0.796 [0.722, 0.854]".
    """
    page = lines("classification")
    intervals_of_figure = [
        line.partition(": ")[2] for line in page if re.match(r"\w+, (housing|age_band)", line)
    ]
    assert len(intervals_of_figure) == 3 * (4 + 3)
    assert set(intervals_of_figure) <= {*page}  # a cell of the table is a line of its own


@pytest.mark.parametrize("report", ["rating", "ranking", "significance"])
def test_the_strip_has_the_differences_as_the_table_prints_them(report):
    """The strip is a figure at the top of the page. It has estimates, "0.71 [0.62, 0.80]", and one
    difference per comparison, "−0.05 [−0.12, +0.02]", which begins with a sign. Each difference
    must stand with the same digits in the table of comparisons.
    """
    study = getattr(ek, report)()
    strip = lines_of(first_screen.strip(study).html)
    intervals = [match[0] for line in strip for match in INTERVAL.finditer(line)]
    differences = [interval for interval in intervals if interval[0] in "+−"]
    table = " ".join(lines_of(pieces.comparisons(study).html))
    assert len(differences) == len(study.headline)
    assert [difference for difference in differences if difference not in table] == []


def test_a_change_has_the_digits_of_its_difference():
    page = lines("diff")
    changes = [line for line in page if INTERVAL.fullmatch(line)]
    assert changes.count("0.000 [−0.009, +0.009]") > 1


def test_the_patterns_find_faults():
    """Other tests look for faults of language in pages by these patterns. Here a page has one of
    each: a hyphen as a minus sign, a plural after 1, a singular after 5, an interval with unequal
    digits. Code is not read, so that its hyphen is no fault.
    """
    page = lines_of(
        "<p>-0.3</p><td>1 notes</td><li title='5 row'>0.71 [0.6, 0.80]</li><code>-1</code>"
    )
    assert lines_with(HYPHEN, page) == ["-0.3"]
    assert lines_with(ONE_OF_SEVERAL, page) == ["1 notes"]
    assert lines_with(SEVERAL_AS_ONE, page) == ["5 row"]
    assert uneven(page) == ["0.71 [0.6, 0.80]"]


def test_the_pattern_of_a_singular_after_a_number_takes_no_right_text_for_a_fault():
    """A singular before another noun, a plural, a number after its noun."""
    assert lines_with(SEVERAL_AS_ONE, ["5 row sums", "2 rows", "k 3"]) == []
