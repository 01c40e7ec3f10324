"""Every number of a page's first screen stands in its JSON: unrounded there, and rounded here in
the same way.
"""

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from answers import PAGES, page, results

NUMBER = re.compile(
    r"(?P<p>(?:p|adjusted) )?(?P<bound><)?(?P<sign>[+−])?"
    r"(?P<digits>\d+(?:,\d{3})*(?:\.(?P<places>\d+))?(?:e[+-]\d+)?)(?P<percent> ?%)?"
)
# from the start of a cell without a class, which no picture fills, to the end of its first decimal
FIRST_DECIMAL_OF_A_CELL = re.compile(r"<td(?! class)[^>]*>(?:(?!</td>|\d\.\d).)*\d\.\d+", re.S)
EACH = 8  # systems with a row of their own
Numbers = list[float]


def plain(markup: str) -> str:
    return html.unescape(re.sub(r"</?[a-z][^>]*>", "", markup))


class Screen:
    """The first screen of a page: what was asked, the sentences, the strips, the box of a
    validation, the findings.
    """

    def __init__(self, page: str) -> None:
        first = re.sub(
            r"<details.*?</details>", "", page[page.index("<main") : page.index("<h2")], flags=re.S
        )
        self.asked = [
            plain(text)
            for text in re.findall(r'<p class="asked">(?!Made on)(.*?)</p>', first, re.S)
        ]
        self.answers = [
            plain(text) for text in re.findall(r'<p class="answer">(.*?)</p>', first, re.S)
        ]
        cards = re.findall(r'<div class="verdict [\w-]+">(.*?)</div>', first, re.S)
        self.cards = [
            [plain(line) for line in re.findall(r"<p>(.*?)</p>", card, re.S)] for card in cards
        ]
        self.turns = [plain(text) for text in re.findall(r'<p class="turn">(.*?)</p>', first, re.S)]
        self.strips = [
            re.findall(r"<tr[^>]*><th scope.*?</tr>", part)
            for part in re.split(r'<div class="scroll strip(?: long)?">', first)[1:]
        ]
        self.notes = [plain(text) for text in re.findall(r"<li[^>]*>(.*?)</li>", first, re.S)]


def studies(results: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of the results that have a first screen of their own."""
    if results["report"] != "interleaving":
        return [results]
    return [results[part] for part in ("log", "users") if results[part]]


def numbers_of(tree: Any) -> Iterator[float]:
    """Every number in a tree."""
    if isinstance(tree, dict):
        yield from (number for part in tree.values() for number in numbers_of(part))
    elif isinstance(tree, list):
        yield from (number for part in tree for number in numbers_of(part))
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield float(tree)


def strings_of(tree: Any) -> Iterator[str]:
    """Every text in a tree."""
    if isinstance(tree, dict):
        yield from (text for part in tree.values() for text in strings_of(part))
    elif isinstance(tree, list):
        yield from (text for part in tree for text in strings_of(part))
    elif isinstance(tree, str):
        yield tree


def names_of(study: dict[str, Any]) -> list[str]:
    """The names that hold digits of their own, longest first."""
    names = {
        *study["order"],
        *(metric["name"] for metric in study["metrics"]),
        *study.get("columns", {}).values(),
    }
    return sorted(names, key=len, reverse=True)


def without(text: str, names: list[str]) -> str:
    """The text without these names; a sentence says nDCG@10 for ndcg@10."""
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?![\w@])", "·", text, flags=re.IGNORECASE)
    return text


def matches(token: re.Match[str], value: float) -> bool:
    """True if the value prints as the token does."""
    value = 100 * value if token["percent"] else value
    if (
        token["sign"]
        and (value < 0) != (token["sign"] == "−")
        and round(value, len(token["places"] or "")) != 0
    ):
        return False
    size = abs(value)
    printed = float(token["digits"].replace(",", ""))
    if token["bound"]:
        return size < printed
    if token["p"]:
        return token["digits"] == (f"{size:#.2g}" if size < 0.995 else "1")
    return token["digits"] == f"{size:,.{len(token['places'] or '')}f}"


def untraced(
    text: str, names: list[str], known: Numbers, shares: Sequence[float] = ()
) -> list[str]:
    """The numbers of a text that none of the known ones prints as, nor a share as a percentage."""
    tokens = list(NUMBER.finditer(without(text.replace("80% power", ""), names)))
    several = [(token, [*known, *(shares if token["percent"] else [])]) for token in tokens]
    return [
        token[0] for token, values in several if not any(matches(token, value) for value in values)
    ]


def of_systems(study: dict[str, Any], systems: list[str]) -> Numbers:
    """The primary estimates of these systems."""
    rows = [
        row
        for row in study["estimates"]
        if row["metric"] == study["primary"] and row["system"] in systems
    ]
    return [
        *numbers_of([{name: row[name] for name in ("value", "low", "high", "n")} for row in rows])
    ]


def relative(study: dict[str, Any]) -> Numbers:
    """How far the systems of the headline lie above one another by the primary metric,
    relatively.
    """
    return [share for row in study["headline"] for share in relative_of(study, row)]


def relative_of(study: dict[str, Any], row: dict[str, Any]) -> Numbers:
    """How far the first of two systems lies above the second; of arms their lift."""
    lifts = {
        (one["first"], one["second"]): one["lift"] for one in study["headline"] if "lift" in one
    }
    if lifts:
        first = row["first"]
        second = row["second"]
        return [
            lifts[first, second] if (first, second) in lifts else 1 / (1 + lifts[second, first]) - 1
        ]
    value = {e["system"]: e["value"] for e in study["estimates"] if e["metric"] == study["primary"]}
    return [value[row["first"]] / value[row["second"]] - 1] if value[row["second"]] else []


def margin(results: dict[str, Any]) -> Numbers:
    """The margin of equivalence: a parameter, or the default that the units needed begin with."""
    default = [
        row["difference"] for row in results.get("needed", []) if row["which"] == "the margin"
    ]
    return [float(results["parameters"].get("margin") or number) for number in default]


def counts(study: dict[str, Any]) -> Numbers:
    """How many systems there are, and how many comparisons have each verdict."""
    words = [row["verdict"] for row in study["headline"]]
    alone = [
        len(study["order"]),
        len(study["order"]) - 1,
        len(words),
        *(row["n"] for row in study["headline"]),
    ]
    not_shown = len([word for word in words if word not in ("better", "equivalent")])
    return [float(n) for n in (*alone, not_shown, *(words.count(word) for word in set(words)))]


def of_rows(strip: list[str], study: dict[str, Any], names: list[str]) -> list[str]:
    """The numbers of a strip that the results do not have: of a row of several systems the ends of
    all of theirs.
    """
    headline = study["headline"]
    several = len(study["order"]) > EACH
    found = []
    for row in strip:
        name = plain(re.search(r"<th[^>]*>(.*?)</th>", row)[1])
        own = [name] if name in study["order"] and not several else study["order"]
        known = [
            *of_systems(study, own),
            *(2 * one["level"] - 1 for one in headline if "level" in one),
        ]
        known = constants(study) if name == "(a constant)" else known
        pairs = [one for one in headline if several or name in (one["first"], one["second"])]
        known += [*numbers_of(pairs), *(-number for number in numbers_of(pairs))]
        shares = [
            share for one in pairs for share in [*relative_of(study, one), *turned(study, one)]
        ]
        cells = re.findall(r"<td(?! class).*?</td>", row)
        found += [fault for cell in cells for fault in untraced(plain(cell), names, known, shares)]
    return found


def constants(study: dict[str, Any]) -> Numbers:
    """The metric of a constant prediction, where there is one."""
    return [study["constant"]] if "constant" in study else []


def turned(study: dict[str, Any], row: dict[str, Any]) -> Numbers:
    """How far the second of two systems lies above the first, relatively."""
    return relative_of(study, {"first": row["second"], "second": row["first"]})


def numbers_without_source(page: str, results: dict[str, Any]) -> list[str]:
    """Numbers of the first screen that the results do not have, as they are or rounded."""
    screen = Screen(page)
    if results["report"] == "validation":
        return faults_of_validation(screen, results)
    parts = studies(results)
    texts = set(strings_of(results))
    dates = {date for text in texts for date in re.findall(r"\d{4}-\d\d-\d\d", text)}
    names = [*dates, *(name for study in parts for name in names_of(study))]
    population = [*numbers_of([part.get("population", {}) for part in (results, *parts)])]
    shares = [a / b for a in population for b in population if b]
    known = [*population, *shares, *(n for study in parts for n in counts(study))]
    known += [float(len(results[part])) for part in ("classes", "labels") if part in results]
    found = [
        fault
        for text in screen.asked
        for fault in untraced(text, [f"= {results.get('positive')}", *names], known)
    ]
    for study, answer in zip(parts, screen.answers, strict=True):
        numbers = [
            *of_systems(study, study["order"]),
            *counts(study),
            *margin(results),
            *constants(results),
        ]
        found += untraced(answer, names, numbers, relative(study))
    for study, strip in zip(parts, screen.strips, strict=True):
        found += of_rows(strip, study, [*names, f"±{(margin(results) or [0])[0]:g}"])
    for turn in screen.turns:
        weakest = [*numbers_of(results.get("weakest", {}))]
        weakest += [float(name) for name in results.get("classes", []) if name.isdigit()]
        # that changed most
        weakest += numbers_of(results["by_segment"]) if results["report"] == "diff" else []
        numbers = [
            n
            for study in parts
            for n in (*constants(results), *counts(study), *of_systems(study, study["order"]))
        ]
        found += untraced(turn, names, [*weakest, *numbers], [*weakest, *relative(parts[0])])
    return found + [
        note for note in screen.notes if not any(text in note for text in texts if len(text) > 40)
    ]


def faults_of_validation(screen: Screen, results: dict[str, Any]) -> list[str]:
    """The verdict and the findings are texts of the results; the estimate, the gap and the baseline
    are numbers.
    """
    (card,), texts = screen.cards, [*strings_of(results)]
    names = [*results["order"], results["subject"], results["primary"]]
    baseline = [row for row in results["paired"] if f"than {row['second']}," in " ".join(card)]
    estimates = of_systems(results, [row["second"] for row in baseline])
    first = [results["intervals"][0], *baseline, results["training_gap"], results["split"]]
    first += [*results["split_claims"], *results["winner"]]
    known = [*numbers_of(first), *estimates]
    known += [float(len(results["order"]) - 1)]
    lines = [
        line
        for line in card
        if not any(len(text) > 20 and text.rstrip(".") in line for text in texts)
    ]
    checks = results["verdict"]["checks"]
    problems = [finding for finding in results["findings"] if finding["code"].startswith("EK5")]
    of_checks = [float(len(checks[which])) for which in ("run", "all")] + [float(len(problems))]
    answers = [fault for line in screen.answers for fault in untraced(line, names, of_checks)]
    strips = [
        fault
        for strip in screen.strips
        for fault in of_rows(strip, results | {"headline": results["paired"]}, names)
    ]
    return (
        answers
        + strips
        + [fault for line in lines for fault in untraced(line, [*names, "10-fold", ".632"], known)]
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_the_first_screen_is_in_the_json(name):
    assert numbers_without_source(page(name), results(name)) == []


def with_one_wrong_digit(text):
    """The page with another last digit of the first number of its figure on the first screen."""
    number = FIRST_DECIMAL_OF_A_CELL.search(text, text.index('<div class="scroll strip'))
    assert number is not None
    last = number.end() - 1
    other_digit = str((int(text[last]) + 5) % 10)
    return text[:last] + other_digit + text[last + 1 :]


@pytest.mark.parametrize("name", PAGES)
def test_a_number_of_the_first_screen_that_is_not_in_the_json_is_found(name):
    assert numbers_without_source(with_one_wrong_digit(page(name)), results(name)) != []
