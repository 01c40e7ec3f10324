"""The first screen: what was asked, the answer in a sentence, the comparisons behind it, and how they were tested."""

import math
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Protocol

from evalkit import numbers
from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, joined
from evalkit.numbers import estimate, listed, number, p_value, percent, plural, shortened, signed, signed_percent
from evalkit.pages import page
from evalkit.reading.tables.parts import Source
from evalkit.studies import diagnostics
from evalkit.studies.study import Study

page.offered(__name__)


SHOWN = 5  # more comparisons than a first screen holds
BESIDE_TWO_BEST = 4
NAMED = 3  # more systems than a sentence holds
BETWEEN = {"better": "than", "worse": "than", "equivalent": "to", "cannot tell": "from"}


class Origin(Protocol):
    """What has parameters and inputs."""

    @property
    def p(self) -> Any: ...
    @property
    def sources(self) -> Sequence[Source]: ...


def title(kind: str, study: Study, rows: str, what: str = "") -> Html:
    """The title, and what was asked of one system, of systems against a baseline, or of systems among themselves.

    what: that which they predict.
    """
    words = page.QUESTIONS[kind]
    form = "alone" if len(study.order) == 1 else "against" if study.settings.baseline else "best"
    asked = words[form].format(study=study, systems=len(study.order), what=what)
    return heading(words["report"], f"{asked}, by {study.primary.label}, on {rows}?", study)


def heading(report: str, asked: str, of: Origin) -> Html:
    """The title, what was asked, and what the parameters say of the data; a file is named with its folder."""
    first = "/".join(PurePath(of.sources[0].name).parts[-2:]) if of.sources else ""
    others = len(of.sources[1:])
    usual = f"{report}: {first}{f' and {others} more' if others > 0 else ''}" if first else report
    more = [of.p.note, f"Data of {of.p.data_date}" if of.p.data_date else None]
    return tables.heading(of.p.title or usual, asked, *filter(None, more))


def verdict(study: Study) -> Html:
    """The gate where one is set, the answer in a sentence, the comparisons behind it, and how they were tested."""
    pieces = gate(study)
    if not len(study.headline):
        return tables.stack([*pieces, _alone(study), gloss(study)])
    pieces += [tables.answer(_answer(study)), gloss(study)]
    best_two = diagnostics.best_two(study).to_dict("records")
    most = BESIDE_TWO_BEST if best_two else SHOWN
    of_family = study.headline.head(most).to_dict("records")
    pieces += [_comparison(study, row, page.evidence(study)) for row in of_family]
    pieces += [_comparison(study, row, page.evidence_of_best_two(study)) for row in best_two]
    more = f"{most} of {len(study.headline)} comparisons are listed here; the evidence table has all of them. "
    how = tables.paragraph(f"{more if len(study.headline) > most else ''}{_how(study)}")
    return tables.stack([*pieces, tables.folded("How this was tested", how)])


def gloss(study: Study) -> Html:
    """What the metric that decides measures, in plain words, and which of its values are better."""
    metric = study.primary.metric
    side = {"high": "higher is better", "low": "lower is better"}.get(metric.best, "neither high nor low is better")
    side += ", which is assumed: the name does not say it" if metric.assumed else ""
    return tables.gloss(page.metric_link(study.primary), f"{study.primary.plain} ({side}).")


def _answer(study: Study) -> str:
    """The headline in one sentence: who is better, and by how much, or that the data do not show it."""
    if len(study.headline) == 1:
        return _of_pair(study, study.headline.iloc[0])
    return _against_baseline(study) if study.settings.baseline else _of_leader(study)


def _of_pair(study: Study, row: Mapping[str, Any]) -> str:
    metric, names = row["metric"], (row["first"], row["second"])
    same = page.places(study, metric)
    a, b = (number(diagnostics.deciding(study, name)["value"], same) for name in names)
    first, second = map(shortened, names)
    match row["verdict"]:
        case "equivalent":
            inside = percent(diagnostics.equivalence_level(study))
            margin = f"the {inside} interval of their difference lies within {_margin(study)}"
            return f"{first} and {second} are equivalent in {metric}: {a} and {b}, and {margin}."
        case "cannot tell":
            return f"The data do not show whether {first} or {second} is better: {metric} is {a} and {b}."
    return f"{first} is {row['verdict']} than {second}: {metric} is {a}{_relative(study, row)} instead of {b}."


def _relative(study: Study, row: Mapping[str, Any]) -> str:
    """By how much per cent the first value is above or below the second, in brackets; empty where that is undefined."""
    by = _per_cent(study, row)
    return f" ({by} {'more' if row['difference'] > 0 else 'less'})" if by else ""


def _per_cent(study: Study, row: Mapping[str, Any]) -> str:
    """The relative difference without its sign: of arms their lift; empty where it is undefined or looks like 0."""
    by = diagnostics.relative(study, row)
    places = numbers.decimals([by], [row["lift_low"]], [row["lift_high"]]) if "lift_low" in row else None
    text = signed_percent(by, places).lstrip("+−") if by == by else ""
    return text if any(digit in text for digit in "123456789") else ""


def _margin(study: Study) -> str:
    """The largest difference that does not matter."""
    return f"±{study.settings.margin:g}"


def _of_leader(study: Study) -> str:
    best, rows = shortened(study.leader), study.headline
    behind, alike = (rows[rows["verdict"] == word]["second"].tolist() for word in ("better", "equivalent"))
    others = rows[~rows["verdict"].isin(["better", "equivalent"])]["second"].tolist()
    metric = study.primary.label
    value = number(diagnostics.deciding(study, study.leader)["value"], page.places(study, metric))
    same = diagnostics.as_good(study)
    value += f", the same as {_several(study, same)}" if same else ""
    top = _top(study)
    if len(behind) == len(rows):
        every = "both" if len(rows) == 2 else f"all {len(rows)}"
        all_others = f"{every} other {plural(study.compares, 2)}"
        return f"{best} is better than {all_others}: it has the {top} {metric}, {value}."
    claims = [f"better than {_several(study, behind)}"] if behind else []
    claims += [f"equivalent to {_several(study, alike)} (within {_margin(study)})"] if alike else []
    claim = f" and is {' and '.join(claims)}" if claims else ""
    joined = "; " if claims else " but "
    unlike = f"{joined}the data do not show that it is better than {_any(study, others)}" if others else ""
    return f"{best} has the {top} {metric}, {value},{claim}{unlike}."


def _against_baseline(study: Study) -> str:
    by_word = study.headline.groupby("verdict", sort=False)["first"].agg(list)
    parts = [
        f"{_several(study, by_word[word])} {'is' if len(by_word[word]) == 1 else 'are'} {word} {BETWEEN[word]} it"
        for word in ("better", "equivalent", "worse")
        if word in by_word
    ]
    if "cannot tell" in by_word:
        rest = by_word["cannot tell"]
        verb = "are" if len(rest) > NAMED else "is"
        parts.append(f"the data do not show whether {_several(study, rest, 'or')} {verb} better or worse")
    baseline = shortened(study.settings.baseline or "")
    return f"Against {baseline}, by {study.primary.label}: {'; '.join(parts)}.{_of_best_two(study)}"


def _of_best_two(study: Study) -> str:
    """How the two best candidates compare; empty if there are no two."""
    if not len(best_two := diagnostics.best_two(study)):
        return ""
    row = best_two.iloc[0]
    first, second = shortened(row["first"]), shortened(row["second"])
    match row["verdict"]:
        case "equivalent":
            return f" The two best, {first} and {second}, are equivalent."
        case "cannot tell":
            return f" The data do not show which of the two best, {first} or {second}, is better."
    return f" {first} is {row['verdict']} than {second}, the second best."


def _several(study: Study, names: Sequence[str], last: str = "and") -> str:
    """Some names in a sentence; of more than three their number."""
    if len(names) > NAMED:
        return numbers.counted(len(names), study.compares)
    return numbers.enumerated(map(shortened, names), last)


def _any(study: Study, names: Sequence[str]) -> str:
    """Some names of which none is meant more than another; of more than three their number."""
    return f"{'any of ' if len(names) > NAMED else ''}{_several(study, names, 'or')}"


def gate(study: Study) -> list[Html]:
    """Whether the gate is met, where one is set."""
    if not (gate := study.gate):
        return []
    kept = "met" if gate["passed"] else f"not met by {listed(gate.get('failed', []))}".removesuffix(" by ")
    return [tables.verdict("pass" if gate["passed"] else "fail", Cell(f"gate: {gate['rule']}: {kept}"))]


def _value(study: Study, system: str) -> str:
    row = diagnostics.deciding(study, system)
    return estimate(row["value"], row["low"], row["high"], places=page.places(study, study.primary.label))


def _alone(study: Study) -> Html:
    rows = study.estimates[study.estimates["metric"] == study.primary.label]
    names = rows["system"].tolist()
    lines = [(f"{shortened(name)}: ", page.metric_link(study.primary), f" {_value(study, name)}") for name in names]
    more = f" and {len(names[SHOWN:]):,} more" if names[SHOWN:] else ""
    main = [part for i, line in enumerate(lines[:SHOWN]) for part in ("; " if i else "", *line)]
    over = numbers.sample_sizes(rows["n"], study.unit_name).removeprefix("n = ")
    how = f"{percent(study.settings.level)} interval ({rows.iloc[0]['method']}) over {over}; "
    alone, aimless = f"one {study.compares}, nothing to compare", f"{study.primary.label} has no better direction"
    reason = alone if len(study.order) == 1 else aimless
    return tables.verdict("result", joined(*main, more), Cell(f"{how}{reason}."))


def _comparison(study: Study, row: dict[str, Any], evidence: str) -> Html:
    """The card of a comparison, with a link to the table that is its evidence."""
    first, second = (shortened(row[side]) for side in ("first", "second"))
    same = numbers.of_frame(study.headline, "difference")
    difference = estimate(row["difference"], row["low"], row["high"], signed, same) + _side(study, row)
    main = joined(f"{first} {BETWEEN[row['verdict']]} {second}: ", page.metric_link(study.primary), f" {difference}")
    p, adjusted = (p_value(row[name]) for name in ("p", "adjusted"))
    small = f"{first} {_value(study, row['first'])}, {second} {_value(study, row['second'])}; p {p}, adjusted "
    small += f"{adjusted}; {row['n']:,} {plural(row['unit'], row['n'])}"
    if "lift_low" in row:
        small += f"; lift {estimate(row['lift'], row['lift_low'], row['lift_high'], signed_percent)}"
    if row["verdict"] == "cannot tell" and row["p"] < diagnostics.alpha(study):
        small += page.said("first_screen.not_adjusted")
    if row["verdict"] == "cannot tell" and row.get("detectable", math.nan) > 0:
        small += f"; a true difference of {number(row['detectable'], same)} would be detected with 80% power"
    return tables.verdict(row["verdict"], main, joined(small, "; ", link("evidence", evidence)))


def link(text: str, place: str) -> Cell:
    """Words that lead to a place on the page."""
    return Cell(text, markup=numbers.link(text, place))


def _side(study: Study, row: Mapping[str, Any]) -> str:
    """By how many per cent the first is higher or lower, or the margin it lies within; may be empty."""
    if row["verdict"] == "equivalent":
        return f" (its {percent(diagnostics.equivalence_level(study))} interval lies within {_margin(study)})"
    if row["verdict"] == "cannot tell":
        return ""
    per_cent = _per_cent(study, row)
    return f", {per_cent} {'higher' if row['difference'] > 0 else 'lower'}" if per_cent else ""


def _how(study: Study) -> str:
    best = page.said("first_screen.leader", study, top=_top(study), systems=len(study.order))
    facts = {"best": "" if study.settings.baseline else best, "how": page.methods(study.headline)}
    facts |= {"alpha": f"{diagnostics.alpha(study):.2g}", "level": percent(study.settings.level)}
    facts |= {"picked": page.said("first_screen.picked") if len(diagnostics.best_two(study)) else ""}
    margin = study.settings.margin
    equivalent = f"Equivalent: within {_margin(study)}." if margin else page.said("first_screen.no_margin")
    return page.said("first_screen.how", study, equivalent=equivalent, **facts)


def _top(study: Study) -> str:
    return "highest" if study.primary.metric.best == "high" else "lowest"
