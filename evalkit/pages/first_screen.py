"""The first screen: what was asked, the answer, what turns it round, the strip of results, and how
it was tested.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol

import pandas as pd

from evalkit import numbers
from evalkit.arrays import Record
from evalkit.drawing import paragraphs, shown, strips
from evalkit.drawing.cells import (
    Cell,
    Head,
    as_cell,
    escape,
    join,
    link,
    number_cell,
    with_interval,
)
from evalkit.drawing.columns import Column, by_row, words as word_column
from evalkit.drawing.paragraphs import paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings.kinds import VERDICT
from evalkit.numbers import (
    counted,
    listed,
    number,
    p_value,
    percent,
    plural,
    shortened,
    signed,
    signed_percent,
)
from evalkit.pages import page, pieces, texts
from evalkit.parameters.policy import Policy
from evalkit.parameters.reports import Shared
from evalkit.reading.tables.parts import Source
from evalkit.studies import diagnostics, policy
from evalkit.studies.diagnostics import NO_DIFFERENCE, verdict_of
from evalkit.studies.study import Study

pieces.offered(__name__)


EACH = 20  # systems with a row of their own; of more those with one verdict share a row
ENOUGH = 0.9  # share of the rows read: with less the first sentence says it
NAMED = 3  # more systems than a sentence holds
SAMPLE = "(Bundled sample)"


class Direction(NamedTuple):
    """What a one-sided test may show of a first value beside a second one.

    position: where it lies. change: what counts. other_position: where it lies if that does not
    count. limit: that of the interval which is infinite.
    """

    position: str
    change: str
    other_position: str
    limit: str


ONE_SIDED = {
    "greater": Direction("above", "an increase", "below", "upper"),
    "less": Direction("below", "a decrease", "above", "lower"),
}
BETWEEN = {  # a verdict on a first system and the name of the second, in a sentence
    "better": "than",
    "worse": "than",
    "higher": "than",
    "lower": "than",
    "equivalent": "to",
    "cannot tell": "from",
}


class Subject(Protocol):
    """What a page is about: a study, or two reports that are compared."""

    @property
    def p(self) -> Shared: ...
    @property
    def sources(self) -> Sequence[Source]: ...


def title(kind: str, study: Study, rows: str, target: str = "") -> Html:
    """The title, and the question about one system, about systems against a baseline, or about
    systems among themselves.

    kind: the table of questions in definitions.toml. rows: how many there are, in words. target:
    what the systems predict.
    """
    questions = texts.QUESTIONS[kind]
    if len(study.order) == 1:
        form = "alone"
    elif study.settings.baseline:
        form = "against"
    else:
        form = "best"
    question = questions[form].format(study=study, systems=len(study.order), what=target)
    question = f"{question}, by {study.primary.spoken}, on {rows}?"
    return heading(questions["report"], question, study)


def heading(report: str, question: str, subject: Subject) -> Html:
    """The title, the question, and what the parameters say of the data: the slice, the note, the
    date.

    report: the name of the report, before that of its input, unless the parameters have a title.
    """
    parameters = subject.p
    lines = []
    if parameters.segment:
        lines.append(f"Only {parameters.segment}")
    if parameters.note:
        lines.append(parameters.note)
    if parameters.data_date:
        lines.append(f"Data of {parameters.data_date}")
    if parameters.sampled:
        question = f"{question} {SAMPLE}"
    files = input_name([source.name for source in subject.sources])
    default_title = f"{report}: {files}" if files else report
    return paragraphs.heading(parameters.title or default_title, question, *lines)


def input_name(names: Sequence[str]) -> str:
    """A name for the input: a file with its folder; several files by the last folder that all are
    in, or if there is none by the first of them and how many more; "" without files.

    >>> input_name(["data/runs/a.run", "data/qrels.txt"]), input_name(["data/week/scores.csv"])
    ('data', 'week/scores.csv')
    """
    if not names:
        return ""
    paths = [PurePath(name) for name in names]
    first_with_folder = "/".join(_without_root(paths[0]).parts[-2:])
    if len(paths) == 1:
        return first_with_folder
    common_folder = ""
    # the first parts of all paths, then the second ones, …
    for parts in zip(*(_without_root(path).parts for path in paths), strict=False):
        if len(set(parts)) > 1:
            break
        common_folder = parts[0]
    return common_folder or f"{first_with_folder} and {len(paths[1:])} more"


def _without_root(path: PurePath) -> PurePath:
    """An absolute path relative to its root; another one as it is."""
    return path.relative_to(path.anchor) if path.anchor else path


class Opening(NamedTuple):
    """Sentences before the answer, in place of the one on a metric that contradicts it.

    system: the system that they compare by the metric that decides, which the answer leaves out; ""
    if there is none.
    """

    sentences: Sequence[str] = ()
    system: str = ""


NOTHING = Opening()


def answer(study: Study, further: Sequence[str] = (), opening: Opening = NOTHING) -> list[str]:
    """The answer and what turns it round, in sentences, then further ones."""
    sentences = _sentences(study, opening)
    sentences += further
    sentences = [_capitalised(sentence) for sentence in sentences]
    if study.used_share < ENOUGH:
        sentences[0] = f"{sentences[0][:-1]}; {study.used_share:.0%} of the rows could be used."
    return sentences


def verdict(study: Study, further: Sequence[str] = (), opening: Opening = NOTHING) -> Html:
    """The gate where one is set, the answer and what turns it round, then further sentences, the
    strip of results, and how it was tested.
    """
    sentences = answer(study, further, opening)
    explanations = [gloss(study)]
    if len(study.headline):
        how_tested = paragraph(_how_tested(study))
        explanations.append(folded("How this was tested", how_tested))
    below = stack(explanations)
    # on the page the first figure stands between the strip and what explains it
    below = replace(below, html=shown.placed(VERDICT, below.html))
    parts = gate(study)
    parts += [paragraphs.answer(*sentences), strip(study), below]
    return stack(parts)


DIRECTION_IN_WORDS = {
    "high": "higher is better",
    "low": "lower is better",
    "neither": "neither high nor low is better",
    "unknown": "whether higher or lower is better is not known: state it by lower_is_better",
}


def _capitalised(sentence: str) -> str:
    """A sentence whose article has a capital letter; names stay as they are."""
    return f"The {sentence[4:]}" if sentence.startswith("the ") else sentence


def gloss(study: Study) -> Html:
    """What the metric that decides measures, in plain words, and which of its values are better."""
    metric = study.primary.metric
    direction = DIRECTION_IN_WORDS[metric.best]
    name = page.metric_link(study.primary)
    meaning = f"{study.primary.plain} ({direction})."
    return Html(
        f'<p class="gloss muted">{name.html}: {escape(meaning)}</p>',
        f"{name.full_text}: {meaning}",
    )


def _sentences(study: Study, opening: Opening) -> list[str]:
    """The answer, and what turns it round: a constant prediction that is better, another metric
    that contradicts, the weakest class. opening: what stands before the answer in place of these.
    """
    if study.broken_design:
        return [f"No verdict: {study.broken_design}."]
    answer = _answer(study, opening.system)
    if opening.sentences:
        return [*opening.sentences, answer]
    sentences = _with_constant(study, answer)
    sentences += _contrary(study)
    sentences += _weakest(study)
    return sentences


def _with_constant(study: Study, answer: str) -> list[str]:
    """The answer; behind it the systems that a constant prediction beats by the metric that
    decides, as printed, or before it that it beats all of them.
    """
    label = study.primary.label
    beaten = diagnostics.beaten(study)
    if label not in beaten:
        return [answer]
    value_of_constant, values = beaten[label]
    places = page.places(study, label)
    constant = number(value_of_constant, places)
    worse = [name for name, value in values.items() if number(value, places) != constant]
    if not worse:
        return [answer]
    comparison = f"is {constant} if every row gets the same prediction"
    if len(worse) < len(study.order):
        verb = "does" if len(worse) == 1 else "do"
        worse_systems = f"{_in_sentence(study, worse)} {verb} not reach that"
        return [answer, f"{study.primary.title} {comparison}; {worse_systems}."]
    nobody = f"No {study.compares} beats"
    if len(worse) == 1:
        nobody = f"{shortened(worse[0])} does not beat"
    return [f"{nobody} a constant prediction: {study.primary.spoken} {comparison}.", answer]


def _contrary(study: Study) -> Iterator[str]:
    """By which other metric the first system of the answer is worse, and than which systems; only
    the first such metric, if there is one.
    """
    pairs = diagnostics.contrary(study)
    if len(pairs):
        first = pairs["first"].iloc[0]
        label = pairs["metric"].iloc[0]
        is_same = (pairs["first"] == first) & (pairs["metric"] == label)
        better = _in_sentence(study, pairs[is_same]["second"].tolist())
        metric = spoken(study, label)
        yield f"But by {metric} {_name(study, first)} is significantly worse than {better}."


def spoken(study: Study, label: str) -> str:
    """The name of a metric of the study within a sentence."""
    return {chosen.label: chosen.spoken for chosen in study.directed}.get(label, label)


def _weakest(study: Study) -> Iterator[str]:
    """Of which class, or label, the leader finds the smallest share; nothing without classes."""
    weakest = study.weakest
    if weakest is None:
        return
    whose = f" of {shortened(study.leader)}" if len(study.order) > 1 else ""
    recall = f"recall {number(weakest.recall, 2)} over {counted(weakest.n, 'row')}"
    if weakest.instead:
        recall = f"{recall}; {weakest.share:.0%} of them are predicted as {weakest.instead}"
    yield f"The weakest {weakest.noun}{whose} is {shortened(weakest.name)}: {recall}."


def _answer(study: Study, compared_before: str) -> str:
    """The headline in one sentence: who is better, and by how much, or that the data do not show
    it.

    compared_before: a system that a sentence before compares with the baseline, "" for none.
    """
    if len(study.order) > 1 and _is_undefined(study):
        return f"{study.primary.title} has no value for any {study.compares}."
    if not len(study.headline):
        return _alone(study)
    if len(study.headline) == 1:
        return _of_pair(study, study.headline.iloc[0])
    if study.settings.baseline:
        return _against_baseline(study, compared_before)
    return _of_leader(study)


def _is_undefined(study: Study) -> bool:
    """True if no system has a value of the metric that decides."""
    return math.isnan(diagnostics.deciding(study, study.order[0])["value"])


def _alone(study: Study) -> str:
    """The answer where nothing is compared: the value of the only system; of several, that they
    share no units, or that a metric without a better direction does not rank them.
    """
    if len(study.order) > 1 and not study.pairs:
        values = [f"{shortened(name)} has {_value_of(study, name)}" for name in study.order]
        units = plural(study.unit_name, 2)
        metric = study.primary.spoken
        return f"The {plural(study.compares, 2)} share no {units}: {metric} of {listed(values)}."
    if len(study.order) > 1:
        return (
            f"{study.primary.title} has no better direction, so the {plural(study.compares, 2)} "
            f"are not ranked by it."
        )
    row = diagnostics.deciding(study, study.leader)
    places = page.places(study, study.primary.label)
    value = numbers.estimate(row["value"], row["low"], row["high"], places=places)
    answer = f"{study.primary.spoken} is {value} over {counted(row['n'], study.unit_name)}"
    return f"{shortened(study.leader)}: {answer}{_beside_constant(study, row)}."


def _value_of(study: Study, name: str) -> str:
    """A system's value of the metric that decides, with as many decimals as in the table."""
    value = diagnostics.deciding(study, name)["value"]
    return number(value, page.places(study, study.primary.label))


def _beside_constant(study: Study, row: Record) -> str:
    """On which side of a constant prediction an interval lies; "" if there is no such value."""
    constant = diagnostics.constant(study, study.primary)
    if not (math.isfinite(constant) and math.isfinite(row["low"])):
        return ""
    value = f"the {number(constant, page.places(study, study.primary.label))} of a constant"
    if row["low"] <= constant <= row["high"]:
        return f"; the interval includes {value} prediction"
    position = "above" if row["low"] > constant else "below"
    return f", {position} {value} prediction"


class PairInWords(NamedTuple):
    """Pieces of the sentence that compares two systems.

    metric: by which they are compared. values: "0.81 and 0.79". metric_and_values: "AUC is 0.81 and
    0.79". first_instead: "AUC is 0.81 (2.5% more) instead of 0.79". equal_values: what stands
    behind the metric if there is no difference.

    Where the systems were measured on different units, values, metric_and_values and first_instead
    are their difference over the units that both have.
    """

    metric: str
    values: str
    metric_and_values: str
    first_instead: str
    equal_values: str


def _pair_in_words(study: Study, row: Record) -> PairInWords:
    """The words of a pair. row: of `study.headline`."""
    metric = study.primary.spoken
    first = _value_of(study, row["first"])
    second = _value_of(study, row["second"])
    covariate = study.adjusted_for(study.primary)
    if covariate:
        metric = f"{metric} adjusted for {covariate}"
        first, second = page.adjusted_means(row, page.difference_places(study))
    if row["n"] and diagnostics.leaves_units_out(study, row):
        over = f"over the {counted(row['n'], study.unit_name)} that both have"
        difference = signed(row["difference"], page.places(study, study.primary.label))
        differs = f"{over}, {metric} differs by {difference}"
        return PairInWords(metric, differs, differs, differs, equal_values=f" {over}")
    return PairInWords(
        metric,
        values=f"{first} and {second}",
        metric_and_values=f"{metric} is {first} and {second}",
        first_instead=f"{metric} is {first}{_relative(study, row)} instead of {second}",
        equal_values=f": both have {first}",
    )


def _of_pair(study: Study, row: Record) -> str:
    """The answer on two systems, in one sentence."""
    first = _name(study, row["first"])
    second = _name(study, row["second"])
    pair = _pair_in_words(study, row)
    match verdict_of(row):
        case diagnostics.NO_DIFFERENCE:
            return f"{first} and {second} do not differ in {pair.metric}{pair.equal_values}."
        case "equivalent":
            level = percent(diagnostics.equivalence_level(study))
            margin = f"the {level} interval of their difference lies within {_margin(study)}"
            are = f"{first} and {second} are equivalent in {pair.metric}"
            return f"{are}: {pair.values}, and {margin}."
        case "cannot tell":
            direction = ONE_SIDED.get(study.sided)
            if direction:
                claim = f"that {first} is {direction.position} {second}: {pair.metric_and_values}."
                return f"The data do not show {claim}{_only(study)}"
            better = diagnostics.words(study).better
            question = f"whether {first} or {second} is {better}"
            return f"The data do not show {question}: {pair.metric_and_values}."
        case "higher" | "lower":
            lead = f"{first} has {row['verdict']} {pair.metric} than {second}"
            return f"{lead}: {pair.first_instead}."
    return f"{first} is {row['verdict']} than {second}: {pair.first_instead}."


def sided(study: Study) -> str:
    """The kind of question, as an adjective."""
    return "one-sided" if study.sided in ONE_SIDED else study.sided


def _only(study: Study) -> str:
    """That only one direction counts, as a sentence; "" of a two-sided question."""
    direction = ONE_SIDED.get(study.sided)
    return f" Only {direction.change} counts." if direction else ""


def _relative(study: Study, row: Record) -> str:
    """By how much per cent the first value is above or below the second, in brackets; empty where
    that is undefined.
    """
    percentage = _per_cent(study, row)
    if not percentage:
        return ""
    return f" ({percentage} more)" if row["difference"] > 0 else f" ({percentage} less)"


def _per_cent(study: Study, row: Record) -> str:
    """The relative difference without its sign: of arms their lift; empty where it is undefined or
    looks like 0.
    """
    share = diagnostics.relative(study, row)
    if math.isnan(share):
        return ""
    places = None
    if "lift_low" in row:
        places = numbers.decimals([share], [row["lift_low"]], [row["lift_high"]])
    text = signed_percent(share, places).lstrip("+−")
    looks_like_0 = not any(digit in text for digit in "123456789")
    return "" if looks_like_0 else text


def _adjusted(study: Study) -> str:
    """That a verdict is about adjusted values, which are not those shown; "" if it is not."""
    covariate = study.adjusted_for(study.primary)
    return f" after adjusting for {covariate}" if covariate else ""


def _margin(study: Study) -> str:
    """The largest difference that does not matter."""
    return f"±{study.settings.margin:g}"


def _of_leader(study: Study) -> str:
    """The answer where no baseline is set: the leader, and how each other system compares."""
    words = diagnostics.words(study)
    verdicts = study.headline["verdict"]
    systems = study.headline["second"]  # the leader is the first of each pair
    beaten = systems[verdicts == words.better].tolist()
    equivalent = systems[verdicts == "equivalent"].tolist()
    ahead = systems[verdicts == words.worse].tolist()
    unclear = systems[~verdicts.isin([words.better, "equivalent", words.worse])].tolist()

    leader = shortened(study.leader)
    has = f"the {_top(study)} {study.primary.spoken}, {_value_of(study, study.leader)}"
    as_good = diagnostics.as_good(study)
    if as_good:
        has = f"{has}, the same as {_in_sentence(study, as_good)}"
    if len(beaten) == len(systems):
        how_many = "both" if len(systems) == 2 else f"all {len(systems)}"
        all_others = f"{how_many} other {plural(study.compares, 2)}"
        return f"{leader} is {words.better} than {all_others}{_adjusted(study)}: it has {has}."

    claims = []
    if beaten:
        claims.append(f"{words.better} than {_in_sentence(study, beaten)}")
    if equivalent:
        claims.append(f"equivalent to {_in_sentence(study, equivalent)} (within {_margin(study)})")
    limits = []
    if ahead:
        units = plural(study.unit_name, 2)
        where = _adjusted(study) or f" over the {units} that both have"
        limits.append(f"it is {words.worse} than {_in_sentence(study, ahead)}{where}")
    if unclear:
        which = _any(study, unclear)
        limits.append(f"the data do not show that it is {words.better} than {which}")

    answer = f"{leader} has {has},"
    if claims:
        answer = f"{answer} and is {' and '.join(claims)}{_adjusted(study)}"
    if limits:
        joint = ";" if claims else " but"
        answer = f"{answer}{joint} {' and '.join(limits)}"
    return f"{answer}."


def _against_baseline(study: Study, compared_before: str) -> str:
    """The answer where a baseline is set: the systems by their verdict, but for one that a sentence
    before compares with it.
    """
    rows = study.headline[study.headline["first"] != compared_before]
    words = diagnostics.words(study)
    verdicts = [verdict_of(row) for row in rows.to_dict("records")]
    systems = rows.groupby(verdicts, sort=False)["first"].agg(list)
    parts = []
    for reached in (words.better, "equivalent", words.worse):
        if reached in systems:
            verb = "is" if len(systems[reached]) == 1 else "are"
            which = _in_sentence(study, systems[reached])
            parts.append(f"{which} {verb} {reached} {BETWEEN[reached]} it")
    if NO_DIFFERENCE in systems:
        verb = "does" if len(systems[NO_DIFFERENCE]) == 1 else "do"
        parts.append(f"{_in_sentence(study, systems[NO_DIFFERENCE])} {verb} not differ from it")
    only = ""
    if "cannot tell" in systems:
        unclear = systems["cannot tell"]
        verb = "are" if len(unclear) > NAMED else "is"
        which = f"{_in_sentence(study, unclear, 'or')} {verb}"
        question = f"whether {which} {words.better} or {words.worse}"
        if direction := ONE_SIDED.get(study.sided):
            question = f"that {which} {direction.position} it"
        parts.append(f"the data do not show {question}")
        only = _only(study)
    baseline = shortened(study.settings.baseline or "")
    metric = f"{study.primary.spoken}{_adjusted(study)}"
    return f"Against {baseline}, by {metric}: {'; '.join(parts)}.{only}{_of_best_two(study)}"


def _of_best_two(study: Study) -> str:
    """How the two best candidates compare; empty if there are no two."""
    best_two = diagnostics.best_two(study)
    if best_two.empty:
        return ""
    row = best_two.iloc[0]
    words = diagnostics.words(study)
    first = shortened(row["first"])
    second = shortened(row["second"])
    match row["verdict"]:
        case "equivalent":
            return f" The two {words.best} others, {first} and {second}, are equivalent."
        case "cannot tell":
            which = f"which of the two {words.best} others, {first} or {second}, is {words.better}"
            return f" The data do not show {which}."
    return f" Of the others, {first} is {row['verdict']} than {second}, the second {words.best}."


def _in_sentence(study: Study, names: Sequence[str], last: str = "and") -> str:
    """Systems in a sentence; of more than three their number. last: the word before the last."""
    if len(names) > NAMED:
        return numbers.counted(len(names), study.compares)
    return numbers.enumerated([_name(study, name) for name in names], last)


def _name(study: Study, system: str) -> str:
    """A system in a sentence."""
    return shortened(study.spoken(system))


def _any(study: Study, names: Sequence[str]) -> str:
    """Some names of which none is meant more than another; of more than three their number."""
    systems = _in_sentence(study, names, "or")
    return f"any of {systems}" if len(names) > NAMED else systems


class Gated(Protocol):
    """What rules may be set for: a study, or the log and the users of an interleaving report."""

    @property
    def gate(self) -> policy.Judged | None: ...


def gate(study: Gated) -> list[Html]:
    """Whether the gate is met, its warnings, and of a policy each statement of its rules, folded;
    none where no gate is set.
    """
    judged = study.gate
    if judged is None:
        return []
    result = "pass" if judged.passed else "fail"
    message = judged.message or f"gate: {judged.words}: met"
    parts = [paragraphs.verdict(result, Cell(message))]
    parts += [paragraph(warning) for warning in judged.warnings]
    if judged.level or judged.sensitive:
        parts.append(folded("Each rule", rules(judged)))
    return parts


def rules(judged: policy.Judged) -> Html:
    """The statements of rules: each number with the limits of the report and those that decide, and
    the result.
    """
    frame = pd.concat(rows.assign(that=rule.that) for rule, _, rows in judged.rules)
    columns: dict[str, Column] = {"rule": word_column("that"), "of": by_row(_subject)}
    columns["value and usual interval"] = _limits("low", "high")
    note = ""
    if judged.level and judged.policy.level and judged.tested:
        level_of_each = percent(judged.level)
        columns[f"limits at {level_of_each}"] = _limits("rule_low", "rule_high")
        note = texts.sentence(
            "first_screen.policy",
            count=judged.tested,
            level=percent(judged.policy.level),
            each=level_of_each,
        )
    elif not frame["low"].equals(frame["rule_low"]):  # of a single rule at an alpha of its own
        columns["limits that decide"] = _limits("rule_low", "rule_high")
    columns["result"] = by_row(_rule_result)
    if judged.sensitive:
        columns |= CATCH
        note = f"{note} {texts.sentence('first_screen.catches')}".lstrip()
    return of_rows(f"Rules of {judged.policy.name}", frame, columns, note)


def _rule_result(row: Record) -> Cell:
    """The result of a statement, and below it why, where that is said."""
    reason = (row["why"],) if row["why"] else ()
    return Cell(row["result"], below=reason, kind="text")


def planned(stated: Policy, rows: pd.DataFrame) -> Html:
    """What the rules of a policy will catch. rows: the text of a rule (`that`) and the fields of
    `catching.Catch`, in a row for each rule about a number; from a report, in a row for each
    statement (`policy.Judged.statements`), which names its system.
    """
    columns: dict[str, Column] = {"rule": word_column("that")}
    if "system" in rows:
        columns["of"] = by_row(_subject)
    units = f", {stated.plan.units:,} units" if stated.plan else ""
    note = texts.sentence("first_screen.catches")
    return of_rows(f"What {stated.name} catches{units}", rows, columns | CATCH, note)


def _power(row: Record) -> Cell:
    """The probability that a rule fails at its margin, with the margin."""
    if math.isnan(row["power"]):
        return Cell("–")
    return replace(probability(row["power"]), below=(f"at {number(row['margin'])}",))


def _units(row: Record) -> Cell:
    """The number of units that a rule needs for its margin."""
    needed = row["units_needed"]
    return Cell("–") if math.isnan(needed) else Cell(f"{needed:,.0f}", numbers=(needed,))


SMALLEST, LARGEST = 0.001, 0.999  # probabilities beyond are not told apart
# the columns of a table of rules, from the fields of `catching.Catch`, by their heads
CATCH: dict[str, Column] = {
    "regression caught": by_row(lambda row: number_cell(row["catches"])),
    "unchanged fails": by_row(lambda row: probability(row["unchanged_fails"])),
    "power at margin": by_row(_power),
    "units needed": by_row(_units),
}


def probability(probability: float) -> Cell:
    """A probability; – for a rule about the report as a whole."""
    if math.isnan(probability):
        return Cell("–")
    if probability < SMALLEST:
        return Cell("<0.1%")
    if probability > LARGEST:
        return Cell(">99.9%")
    return Cell(numbers.share(probability))


def statement(row: Record) -> str:
    """A statement in a line, with the limits that decide."""
    pieces_of_line = [_subject(row).text]
    if row["metric"]:
        pieces_of_line.append(numbers.estimate(row["value"], row["rule_low"], row["rule_high"]))
    pieces_of_line += [row["result"], row["why"]]
    return ": ".join(filter(None, pieces_of_line))


def _subject(row: Record) -> Cell:
    """The system or pair of a statement, and its slice."""
    subject = row["system"]
    if row["against"]:
        subject = f"{subject} − {row['against']}"
    if row["segment"]:
        subject = f"{subject}, {row['segment']} {row['slice']}"
    return Cell(subject, kind="text")


def _limits(low: str, high: str) -> Column:
    """A column of the numbers of statements with two of their limits; empty for a rule about the
    report as a whole. low, high: the columns of the limits.
    """

    def number_with_limits(row: Record) -> Cell:
        if not row["metric"]:
            return Cell("")
        return with_interval(row["value"], row[low], row[high])

    return by_row(number_with_limits)


def linked(text: str, place: str) -> Cell:
    """Words that lead to a place on the page."""
    return Cell(text, markup=link(text, place))


# The strip of results -----------------------------------------------------------------------------

# by system its comparison with the baseline; without a baseline, with the leader. The system is
# the first of the comparison
Against = Mapping[str, dict[str, Any]]


def strip(study: Study) -> Html:
    """A row for each system with the metric that decides and the verdict; of many a row for each
    verdict.
    """
    label = study.primary.label
    baseline = study.settings.baseline
    headline = study.headline.to_dict("records")
    if baseline:
        against = {row["first"]: row for row in headline}
        difference = f"difference from {shortened(baseline)}"
    else:
        against = {row["second"]: diagnostics.turned(row) for row in headline}
        difference = f"{shortened(study.leader)} − {study.compares}"
    heads: list[Head] = [study.compares, page.metric_head(study.primary)]
    if against:
        heads += [difference, "verdict"]
    rows = [_result(study, name, against) for name in study.order]
    if len(rows) > EACH:
        rows = _together(study, rows)
    constant = diagnostics.constant(study, study.primary)
    if math.isfinite(constant):
        point = (constant, math.nan, math.nan)
        cells = [number(constant, page.places(study, label))]
        cells += ["" for _ in heads[2:]]
        name = Cell("(a constant)")
        rows.append(strips.Result(name, [("a constant", point)], cells, strips.REFERENCE))
    estimates = study.estimates[study.estimates["metric"] == label]
    n = numbers.sample_sizes(estimates["n"], study.unit_name)
    caption = f"{study.primary.title} with its {percent(study.settings.level)} interval, {n}"
    strip_of_results = strips.strip(caption, heads, rows, constant)
    return stack([strip_of_results, _below_strip(study, against)])


def _result(study: Study, name: str, against: Against) -> strips.Result:
    """The row of one system: its estimate, and, if there are comparisons, difference and verdict.

    The leader, or the baseline, has no comparison: its row says which of them it is.
    """
    estimate = diagnostics.deciding(study, name)
    value = estimate["value"]
    low = estimate["low"]
    high = estimate["high"]
    places = page.places(study, study.primary.label)
    cells: list[Cell | str] = [with_interval(value, low, high, places=places)]
    tone = ""
    row = against.get(name)
    if row is not None:
        tone = verdict_of(row)
        below = _below_comparison(study, row)
        difference = replace(_difference_cell(study, row), below=below.difference)
        cells += [difference, replace(_word(tone), below=below.verdict)]
    elif study.settings.baseline and against:
        cells += ["", "baseline"]
    elif against:
        cells += ["", _top(study)]
    return strips.Result(Cell(shortened(name)), [(name, (value, low, high))], cells, tone)


def _difference_cell(study: Study, row: Record) -> Cell:
    """The difference with its interval, in the direction that the tables have."""
    if not study.settings.baseline:
        row = diagnostics.turned(row)
    places = page.difference_places(study)
    return with_interval(row["difference"], row["low"], row["high"], signed, places)


class BelowComparison(NamedTuple):
    """The lines below a difference, and below its verdict."""

    difference: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()


def _below_comparison(study: Study, row: Record) -> BelowComparison:
    """What stands below a difference and its verdict in the strip. row: of an `Against`."""
    if row["verdict"] == "equivalent":
        level = percent(diagnostics.equivalence_level(study))
        return BelowComparison(verdict=(f"{level} interval within {_margin(study)}",))
    if row["verdict"] == "cannot tell":
        is_significant_alone = row["p"] < diagnostics.alpha(study) and not study.broken_design
        if is_significant_alone:
            adjusted = f"adjusted p {p_value(row['adjusted'])}"
            return BelowComparison(("of this pair alone",), (adjusted,))
        return BelowComparison()
    subject = ""
    if not study.settings.baseline:  # the row is of the other system, the sentence of the leader
        subject = f"{shortened(study.leader)} "
        row = diagnostics.turned(row)
    percentage = _per_cent(study, row)
    if not percentage:
        return BelowComparison()
    direction = "higher" if row["difference"] > 0 else "lower"
    return BelowComparison((f"{subject}{percentage} {direction}",))


def _together(study: Study, rows: list[strips.Result]) -> list[strips.Result]:
    """Many systems, those of one verdict in one row."""
    rows_by_tone: dict[str, list[strips.Result]] = {}
    for row in rows:
        rows_by_tone.setdefault(row.tone, []).append(row)
    together = []
    for tone, rows_of_tone in rows_by_tone.items():
        # a row without a verdict is the leader or the baseline, unless no row has one
        stays_single = len(rows_of_tone) == 1 or (not tone and len(rows_of_tone) < len(rows))
        if stays_single:
            together += rows_of_tone
        else:
            together.append(_joint_result(study, rows_of_tone))
    return together


def _joint_result(study: Study, rows: list[strips.Result]) -> strips.Result:
    """One row in place of those of several systems of one verdict: a dot for each system, and the
    first and the last of their estimates and differences.
    """
    first = rows[0]
    last = rows[-1]
    cells: list[Cell | str] = []
    for first_cell, last_cell in zip(first.cells[:2], last.cells[:2], strict=True):
        cells.append(f"{as_cell(first_cell).text} to {as_cell(last_cell).text}")
    if len(first.cells) > 2:
        cells.append(_word(first.tone))
    names = listed((row.name.text for row in rows), NAMED)
    head = Cell(counted(len(rows), study.compares), below=(names,))
    points = list(chain.from_iterable(row.points for row in rows))
    return strips.Result(head, points, cells, first.tone)


def _word(verdict: str) -> Cell:
    """A verdict, which the row gives its colour."""
    return Cell(verdict, markup=f"<strong>{verdict}</strong>")


def _below_strip(study: Study, against: Against) -> Html:
    """The line below the strip: adjusted means of arms, what true difference would have been shown
    where none was, and where all differences stand; empty without comparisons.
    """
    if not against:
        return Html("")
    places = page.difference_places(study)
    adjustment = ""
    covariate = study.adjusted_for(study.primary)
    if covariate:
        means = listed((_adjusted_means(row, places) for row in against.values()), NAMED, "; ")
        adjustment = f"Differences are adjusted for {covariate} (CUPED). Adjusted means: {means}. "
    detectable = _detectable(study, against, places)
    all_differences = linked("All differences and p-values", page.evidence(study))
    return paragraph(join(adjustment, detectable, all_differences, "."))


def _detectable(study: Study, against: Against, places: int) -> str:
    """The true differences that would have been shown, of the systems with "cannot tell"."""
    if study.broken_design:
        return ""
    differences = []
    for name, row in against.items():
        is_known = row.get("detectable", math.nan) > 0
        if row["verdict"] == "cannot tell" and is_known:
            differences.append(f"{shortened(name)} {number(row['detectable'], places)}")
    if not differences:
        return ""
    adjusted = f", adjusted over {study.family_size} comparisons" if study.family_size > 1 else ""
    which = listed(differences, NAMED)
    return f"True differences that these data would show with 80% power{adjusted}: {which}. "


def _adjusted_means(row: Record, places: int) -> str:
    """The adjusted means of two arms, as text; "" if they are undefined."""
    names = (shortened(row["first"]), shortened(row["second"]))
    pairs = zip(names, page.adjusted_means(row, places), strict=False)
    return " and ".join(f"{name} {mean}" for name, mean in pairs)


def _how_tested(study: Study) -> str:
    """How the answer was tested, in a paragraph."""
    best = ""
    if not study.settings.baseline and not _is_undefined(study):
        best = texts.sentence(
            "first_screen.leader", study, top=_top(study), systems=len(study.order)
        )
    facts = {
        "best": best,
        "how": page.methods(study.headline),
        "alpha": f"{diagnostics.alpha(study):.2g}",
        "level": percent(study.settings.level),
    }
    words = diagnostics.words(study)
    facts |= {
        "sided": sided(study),
        "verdicts": f"{words.better.capitalize()} or {words.worse}",
        "one_sided": "",
        "picked": "",
        "apart": "",
    }
    if direction := ONE_SIDED.get(study.sided):
        facts["verdicts"] = " or ".join(_possible_verdicts(study)).capitalize()
        facts["one_sided"] = texts.sentence(
            "first_screen.one_sided",
            study,
            better=words.better,
            worse=words.worse,
            change=direction.change,
            other=direction.other_position,
            limit=direction.limit,
        )
    if study.settings.alpha is not None:
        facts["apart"] = texts.sentence(
            "first_screen.alpha",
            verdicts=facts["verdicts"].lower(),
            alpha=facts["alpha"],
            level=facts["level"],
        )
    if len(diagnostics.best_two(study)):
        facts["picked"] = texts.sentence("first_screen.picked", best=words.best)
    equivalent = texts.sentence("first_screen.no_margin")
    if study.settings.margin:
        equivalent = f"Equivalent: within {_margin(study)}."
    return texts.sentence("first_screen.how", study, equivalent=equivalent, **facts)


def _possible_verdicts(study: Study) -> list[str]:
    """The verdicts of a one-sided question that claim a difference, on any metric. Each metric has
    one: a first system that is better, if the question asks for a difference of the sign that is
    better on it, else one that is worse.
    """
    verdicts = []
    for chosen in study.directed:  # not those of which no value is better
        words = diagnostics.words_of(chosen)
        # the question counts differences of one sign; `metric.sign` is that of an improvement, or
        # of a rise if the better direction is not known
        verdict = words.worse
        if study.settings.alternative.counts(chosen.metric.sign):
            verdict = words.better
        verdicts.append(verdict)
    return list(dict.fromkeys(verdicts))


def _top(study: Study) -> str:
    """Whether the leader has the highest or the lowest value; "" if there is none."""
    if _is_undefined(study):
        return ""
    return "highest" if study.primary.metric.sign > 0 else "lowest"
