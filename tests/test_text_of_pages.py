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


def found(pattern: re.Pattern, several: list[str]) -> list[str]:
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
    assert found(HYPHEN, lines(report)) == []


@pytest.mark.parametrize("report", REPORTS)
def test_a_counted_noun_has_its_number(report):
    assert found(ONE_OF_SEVERAL, lines(report)) == []
    assert found(SEVERAL_AS_ONE, lines(report)) == []


@pytest.mark.parametrize("report", REPORTS)
def test_the_parts_of_an_interval_have_the_same_digits(report):
    assert len(found(INTERVAL, lines(report))) > 3
    assert uneven(lines(report)) == []


def test_a_slice_has_the_digits_of_its_table_in_its_figure():
    page = lines("classification")
    of_figure = [
        line.partition(": ")[2] for line in page if re.match(r"\w+, (housing|age_band)", line)
    ]
    assert len(of_figure) == 21
    assert set(of_figure) <= {*page}


@pytest.mark.parametrize("report", ["rating", "ranking", "significance"])
def test_the_strip_has_the_differences_of_the_tables(report):
    study = getattr(ek, report)()
    strip = lines_of(first_screen.strip(study).html)
    signed = [
        match[0] for line in strip for match in INTERVAL.finditer(line) if match[1][0] in "+−"
    ]
    table = " ".join(lines_of(pieces.comparisons(study).html))
    assert len(signed) == len(study.headline)
    assert [text for text in signed if text not in table] == []


def test_a_change_has_the_digits_of_its_difference():
    page = lines("diff")
    changes = [line for line in page if INTERVAL.fullmatch(line)]
    assert changes.count("0.000 [−0.009, +0.009]") > 1


def test_planted_faults_are_found():
    page = "<p>-0.3</p><td>1 notes</td><li title='5 row'>0.71 [0.6, 0.80]</li><code>-1</code>"
    several = lines_of(page)
    assert found(HYPHEN, several) == ["-0.3"]
    assert found(ONE_OF_SEVERAL, several) == ["1 notes"]
    assert found(SEVERAL_AS_ONE, several) == ["5 row"]
    assert uneven(several) == ["0.71 [0.6, 0.80]"]
    assert found(SEVERAL_AS_ONE, ["5 row sums", "2 rows", "k 3"]) == []
