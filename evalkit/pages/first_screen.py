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
    interval_cell,
    join,
    link,
    number_cell,
)
from evalkit.drawing.columns import Column, column_by_row, words as word_column
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings.kinds import VERDICT
from evalkit.numbers import (
    count_with_noun,
    listed,
    number,
    p_value,
    percent,
    plural,
    shortened_name,
    signed_number,
    signed_percent,
)
from evalkit.pages import page, pieces, texts
from evalkit.parameters.policy import Policy
from evalkit.parameters.reports import SharedParameters
from evalkit.reading.tables.parts import Source
from evalkit.studies import diagnostics, policy
from evalkit.studies.diagnostics import NO_DIFFERENCE, verdict_of
from evalkit.studies.study import Study

pieces.offer_pieces(__name__)


MOST_SINGLE_ROWS = 20  # systems with a row of their own; of more those with one verdict share a row
ENOUGH_ROWS = 0.9  # share of the rows read: with less the first sentence says it
NAMES_IN_SENTENCE = 3  # more systems than a sentence holds
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
VERDICT_PREPOSITIONS = {  # a verdict on a first system and the name of the second, in a sentence
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
    def p(self) -> SharedParameters: ...
    @property
    def sources(self) -> Sequence[Source]: ...


def title(kind: str, study: Study, rows: str, target: str = "") -> Html:
    """The title, and the question that the report answers: how good the only system is, how systems
    compare with a baseline, or which system is best.

    kind: the name of the report's table of questions in definitions.toml. rows: the number of rows,
    in words, as "400 rows". target: what the systems predict.
    """
    questions = texts.QUESTIONS[kind]
    if len(study.order) == 1:
        template = questions["alone"]
    elif study.settings.baseline:
        template = questions["against"]
    else:
        template = questions["best"]
    question = template.format(study=study, systems=len(study.order), what=target)
    question = f"{question}, by {study.primary_metric.spoken}, on {rows}?"
    return heading(questions["report"], question, study)


def heading(report: str, question: str, subject: Subject) -> Html:
    """The title of the page, its question, and a line for each parameter that describes the data:
    the slice that was selected, the user's note, the date.

    report: the name of the report, such as "Ranking report". The title is the user's, or else this
    name and that of the input. subject: the study, or the two reports that are compared.
    """
    parameters = subject.p
    lines = []
    if parameters.segment:
        lines.append(f"Only {parameters.segment}")
    if parameters.note:
        lines.append(parameters.note)
    if parameters.data_date:
        lines.append(f"Data of {parameters.data_date}")
    if parameters.reads_sample:
        question = f"{question} {SAMPLE}"  # not the user's own data
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
    """The sentences at the top of the page: the answer with what qualifies it, then the further
    ones. If many rows were rejected, the first sentence says how many were used.

    opening: sentences that stand before the answer, of a report that compares two reports.
    """
    sentences = _answer_with_qualifications(study, opening)
    sentences += further
    sentences = [_capitalised(sentence) for sentence in sentences]
    if study.used_share < ENOUGH_ROWS:
        without_full_stop = sentences[0].removesuffix(".")
        sentences[0] = f"{without_full_stop}; {study.used_share:.0%} of the rows could be used."
    return sentences


def verdict(study: Study, further: Sequence[str] = (), opening: Opening = NOTHING) -> Html:
    """The first screen: the result of the gate if one is set, the sentences of the answer, the
    strip of results, and below it what the metric means and, folded, how the answer was tested.

    further: sentences behind the answer. opening: sentences before it.
    """
    sentences = answer(study, further, opening)
    explanations = [gloss(study)]
    if len(study.headline):
        how_tested = muted_paragraph(_how_tested(study))
        explanations.append(folded("How this was tested", how_tested))
    below = stack(explanations)
    # on the page, findings and the first figure are put between the strip and the explanations: the
    # explanations carry the mark of this place
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
    metric = study.primary_metric.metric
    direction = DIRECTION_IN_WORDS[metric.best]
    name = page.metric_link(study.primary_metric)
    meaning = f"{study.primary_metric.plain} ({direction})."
    return Html(
        f'<p class="gloss muted">{name.html}: {escape(meaning)}</p>',
        f"{name.full_text}: {meaning}",
    )


def _answer_with_qualifications(study: Study, opening: Opening) -> list[str]:
    """The answer, and what a reader must know before acting on it: that a constant prediction is
    better, that another metric contradicts the answer, and which class is the weakest.

    opening: if it has sentences, they stand before the answer, and these qualifications are left
    out.
    """
    if study.broken_design:  # such as arms whose sizes differ from the plan
        return [f"No verdict: {study.broken_design}."]
    answer = _answer(study, opening.system)
    if opening.sentences:
        return [*opening.sentences, answer]
    sentences = _answer_and_constant(study, answer)
    sentences += _contradicting_metric(study)
    sentences += _weakest_class(study)
    return sentences


def _answer_and_constant(study: Study, answer: str) -> list[str]:
    """The answer, and a sentence on the systems that are worse than a constant prediction by the
    metric that decides: before the answer if all systems are, else behind it.

    Values that look the same when printed count as equal, so that no sentence contradicts the
    table. If no system is worse, the answer stands alone.
    """
    label = study.primary_metric.label
    beaten_by_metric = diagnostics.beaten(study)
    if label not in beaten_by_metric:
        return [answer]
    beaten = beaten_by_metric[label]
    places = page.places(study, label)
    constant = number(beaten.constant, places)
    worse = [name for name, value in beaten.systems.items() if number(value, places) != constant]
    if not worse:
        return [answer]
    comparison = f"is {constant} if every row gets the same prediction"
    if len(worse) < len(study.order):
        verb = "does" if len(worse) == 1 else "do"
        worse_systems = f"{_systems_in_words(study, worse)} {verb} not reach that"
        return [answer, f"{study.primary_metric.title} {comparison}; {worse_systems}."]
    claim = f"No {study.compared_noun} beats"
    if len(worse) == 1:  # the report has this system only
        claim = f"{shortened_name(worse[0])} does not beat"
    return [f"{claim} a constant prediction: {study.primary_metric.spoken} {comparison}.", answer]


def _contradicting_metric(study: Study) -> Iterator[str]:
    """A sentence on another metric that contradicts the answer: by it, a system that the answer
    does not call worse is significantly worse than others. Nothing if there is no such metric.

    The sentence is about the first such system and metric; a finding lists all of them.
    """
    # comparisons by other metrics, `first` is worse
    contradictions = diagnostics.contradicting_comparisons(study)
    if contradictions.empty:
        return
    system = contradictions["first"].iloc[0]
    label = contradictions["metric"].iloc[0]
    of_system_and_metric = (contradictions["first"] == system) & (contradictions["metric"] == label)
    better = _systems_in_words(study, contradictions[of_system_and_metric]["second"].tolist())
    metric = spoken(study, label)
    yield f"But by {metric} {_name(study, system)} is significantly worse than {better}."


def spoken(study: Study, label: str) -> str:
    """The name of a metric of the study within a sentence."""
    return {chosen.label: chosen.spoken for chosen in study.metrics_with_direction}.get(
        label, label
    )


def _weakest_class(study: Study) -> Iterator[str]:
    """A sentence on the class, or label, for which the leader's recall is lowest, and on the class
    that is most often predicted in its place, if that is known. Nothing without classes, or if
    every recall is 1.
    """
    weakest = study.weakest
    if weakest is None:
        return
    whose = f" of {shortened_name(study.leader)}" if len(study.order) > 1 else ""
    recall = f"recall {number(weakest.recall, 2)} over {count_with_noun(weakest.n, 'row')}"
    if weakest.instead:
        recall = f"{recall}; {weakest.share:.0%} of them are predicted as {weakest.instead}"
    yield f"The weakest {weakest.noun}{whose} is {shortened_name(weakest.name)}: {recall}."


def _answer(study: Study, already_compared: str) -> str:
    """The answer in one sentence: which system is better, and by how much, or that the data do not
    show it. It follows the headline: the comparisons, by the metric that decides, of the systems
    with the baseline, or else of the leader with the others.

    already_compared: a system whose comparison with the baseline an earlier sentence gives; "" for
    none.
    """
    if len(study.order) > 1 and _is_undefined(study):
        return f"{study.primary_metric.title} has no value for any {study.compared_noun}."
    comparisons = study.headline
    if comparisons.empty:
        return _answer_without_comparison(study)
    if len(comparisons) == 1:
        return _answer_on_pair(study, comparisons.iloc[0])
    if study.settings.baseline:
        return _answer_against_baseline(study, already_compared)
    return _answer_on_leader(study)


def _is_undefined(study: Study) -> bool:
    """True if no system has a value of the metric that decides."""
    return math.isnan(diagnostics.primary_estimate(study, study.order[0])["value"])


def _answer_without_comparison(study: Study) -> str:
    """The answer if there are no comparisons. For the only system of a report it is its value with
    the interval. Several systems are not compared if no two of them were measured on the same
    units, or if neither high nor low values of the metric are better.
    """
    has_several_systems = len(study.order) > 1
    if has_several_systems and not study.pairs:
        values = [f"{shortened_name(name)} has {_value_of(study, name)}" for name in study.order]
        units = plural(study.unit_name, 2)
        metric = study.primary_metric.spoken
        return (
            f"The {plural(study.compared_noun, 2)} share no {units}: {metric} of {listed(values)}."
        )
    if has_several_systems:
        nouns = plural(study.compared_noun, 2)
        return (
            f"{study.primary_metric.title} has no better direction, so the {nouns} "
            f"are not ranked by it."
        )
    row = diagnostics.primary_estimate(study, study.leader)
    places = page.places(study, study.primary_metric.label)
    value = numbers.estimate(row["value"], row["low"], row["high"], places=places)
    units = count_with_noun(row["n"], study.unit_name)
    answer = f"{study.primary_metric.spoken} is {value} over {units}"
    return f"{shortened_name(study.leader)}: {answer}{_beside_constant(study, row)}."


def _value_of(study: Study, name: str) -> str:
    """A system's value of the metric that decides, with as many decimals as in the table."""
    value = diagnostics.primary_estimate(study, name)["value"]
    return number(value, page.places(study, study.primary_metric.label))


def _beside_constant(study: Study, row: Record) -> str:
    """On which side of a constant prediction an interval lies; "" if there is no such value."""
    constant = diagnostics.constant(study, study.primary_metric)
    if not (math.isfinite(constant) and math.isfinite(row["low"])):
        return ""
    value = f"the {number(constant, page.places(study, study.primary_metric.label))} of a constant"
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
    """Pieces of the sentence that compares two systems by the metric that decides.

    row: the comparison, of `study.headline`. Its test uses the units that both systems have: if a
    system has others too, the two means would mislead, and the pieces give the paired difference.
    """
    metric = study.primary_metric.spoken
    first = _value_of(study, row["first"])
    second = _value_of(study, row["second"])
    covariate = study.earlier_measurement(study.primary_metric)
    if covariate:  # the test compares the adjusted means, so the sentence has them
        metric = f"{metric} adjusted for {covariate}"
        first, second = page.adjusted_means(row, page.difference_places(study))
    if row["n"] and diagnostics.leaves_units_out(study, row):
        over_shared_units = f"over the {count_with_noun(row['n'], study.unit_name)} that both have"
        difference = signed_number(
            row["difference"], page.places(study, study.primary_metric.label)
        )
        differs = f"{over_shared_units}, {metric} differs by {difference}"
        return PairInWords(
            metric,
            values=differs,
            metric_and_values=differs,
            first_instead=differs,
            equal_values=f" {over_shared_units}",
        )
    return PairInWords(
        metric,
        values=f"{first} and {second}",
        metric_and_values=f"{metric} is {first} and {second}",
        first_instead=f"{metric} is {first}{_relative_in_brackets(study, row)} instead of {second}",
        equal_values=f": both have {first}",
    )


def _answer_on_pair(study: Study, row: Record) -> str:
    """The answer on two systems in one sentence, which depends on the verdict, as "a is better than
    b: AUC is 0.81 (2.5% more) instead of 0.79."

    row: their comparison, of `study.headline`.
    """
    first = _name(study, row["first"])
    second = _name(study, row["second"])
    pair = _pair_in_words(study, row)
    match verdict_of(row):
        case diagnostics.NO_DIFFERENCE:
            return f"{first} and {second} do not differ in {pair.metric}{pair.equal_values}."
        case "equivalent":
            level = percent(diagnostics.equivalence_level(study))
            margin = _margin_in_words(study)
            reason = f"the {level} interval of their difference lies within {margin}"
            are = f"{first} and {second} are equivalent in {pair.metric}"
            return f"{are}: {pair.values}, and {reason}."
        case "cannot tell":
            direction = ONE_SIDED.get(study.question_of_tests)  # None if both directions count
            if direction:
                claim = f"that {first} is {direction.position} {second}: {pair.metric_and_values}."
                return f"The data do not show {claim}{_only_one_direction(study)}"
            better = diagnostics.words(study).better
            question = f"whether {first} or {second} is {better}"
            return f"The data do not show {question}: {pair.metric_and_values}."
        case "higher" | "lower":
            lead = f"{first} has {row['verdict']} {pair.metric} than {second}"
            return f"{lead}: {pair.first_instead}."
    # "better" or "worse"
    return f"{first} is {row['verdict']} than {second}: {pair.first_instead}."


def sided(study: Study) -> str:
    """The kind of question, as an adjective."""
    return "one-sided" if study.question_of_tests in ONE_SIDED else study.question_of_tests


def _only_one_direction(study: Study) -> str:
    """That only one direction counts, as a sentence; "" of a two-sided question."""
    direction = ONE_SIDED.get(study.question_of_tests)
    return f" Only {direction.change} counts." if direction else ""


def _relative_in_brackets(study: Study, row: Record) -> str:
    """By how much per cent the first value is above or below the second, in brackets; empty where
    that is undefined.
    """
    percentage = _relative_difference(study, row)
    if not percentage:
        return ""
    return f" ({percentage} more)" if row["difference"] > 0 else f" ({percentage} less)"


def _relative_difference(study: Study, row: Record) -> str:
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


def _after_adjustment(study: Study) -> str:
    """That a verdict is about adjusted values, which are not those shown; "" if it is not."""
    covariate = study.earlier_measurement(study.primary_metric)
    return f" after adjusting for {covariate}" if covariate else ""


def _margin_in_words(study: Study) -> str:
    """The largest difference that does not matter."""
    return f"±{study.settings.margin:g}"


def _answer_on_leader(study: Study) -> str:
    """The answer on several systems without a baseline: the value of the leader, and how it
    compares with the others, as "a has the highest AUC, 0.81, and is better than b; the data do not
    show that it is better than c."
    """
    words = diagnostics.words(study)
    verdicts = study.headline["verdict"]
    systems = study.headline["second"]  # the leader is the first of each pair
    beaten = systems[verdicts == words.better].tolist()
    equivalent = systems[verdicts == "equivalent"].tolist()
    ahead = systems[verdicts == words.worse].tolist()
    unclear = systems[~verdicts.isin([words.better, "equivalent", words.worse])].tolist()

    leader = shortened_name(study.leader)
    value = _value_of_leader(study)
    if len(beaten) == len(systems):
        how_many = "both" if len(systems) == 2 else f"all {len(systems)}"
        all_others = f"{how_many} other {plural(study.compared_noun, 2)}"
        claim = f"{words.better} than {all_others}{_after_adjustment(study)}"
        return f"{leader} is {claim}: it has {value}."

    claims = []  # what the data show for the leader
    if beaten:
        claims.append(f"{words.better} than {_systems_in_words(study, beaten)}")
    if equivalent:
        margin = _margin_in_words(study)
        claims.append(f"equivalent to {_systems_in_words(study, equivalent)} (within {margin})")
    reservations = []
    if ahead:
        # the leader has the best mean, but not after adjustment or over the units of the pair
        units = plural(study.unit_name, 2)
        where = _after_adjustment(study) or f" over the {units} that both have"
        reservations.append(f"it is {words.worse} than {_systems_in_words(study, ahead)}{where}")
    if unclear:
        which = _any_of(study, unclear)
        reservations.append(f"the data do not show that it is {words.better} than {which}")

    answer = f"{leader} has {value},"
    if claims:
        answer = f"{answer} and is {' and '.join(claims)}{_after_adjustment(study)}"
    if reservations:
        conjunction = ";" if claims else " but"
        answer = f"{answer}{conjunction} {' and '.join(reservations)}"
    return f"{answer}."


def _value_of_leader(study: Study) -> str:
    """The leader's value of the metric that decides, as "the highest AUC, 0.81", and the systems
    that have the same value, if there are any.
    """
    extreme = _highest_or_lowest(study)
    value = f"the {extreme} {study.primary_metric.spoken}, {_value_of(study, study.leader)}"
    with_same_value = diagnostics.systems_equal_to_leader(study)
    if with_same_value:
        value = f"{value}, the same as {_systems_in_words(study, with_same_value)}"
    return value


def _answer_against_baseline(study: Study, already_compared: str) -> str:
    """The answer on several systems with a baseline: the systems of each verdict, as "Against b, by
    AUC: c is better than it; the data do not show whether d is better or worse." Then how the two
    best of them compare.

    already_compared: a system that is left out, as an earlier sentence has it; "" for none.
    """
    comparisons = study.headline[study.headline["first"] != already_compared]
    words = diagnostics.words(study)
    verdicts = [verdict_of(row) for row in comparisons.to_dict("records")]
    systems_by_verdict = comparisons.groupby(verdicts, sort=False)["first"].agg(list)
    parts = []
    for verdict_shown in (words.better, "equivalent", words.worse):
        if verdict_shown in systems_by_verdict:
            systems = systems_by_verdict[verdict_shown]
            verb = "is" if len(systems) == 1 else "are"
            which = _systems_in_words(study, systems)
            parts.append(f"{which} {verb} {verdict_shown} {VERDICT_PREPOSITIONS[verdict_shown]} it")
    if NO_DIFFERENCE in systems_by_verdict:  # not one unit has a difference
        equal = systems_by_verdict[NO_DIFFERENCE]
        verb = "does" if len(equal) == 1 else "do"
        parts.append(f"{_systems_in_words(study, equal)} {verb} not differ from it")
    only = ""
    if "cannot tell" in systems_by_verdict:
        unclear = systems_by_verdict["cannot tell"]
        # "a, b or c is", but "4 systems are"
        verb = "are" if len(unclear) > NAMES_IN_SENTENCE else "is"
        which = f"{_systems_in_words(study, unclear, 'or')} {verb}"
        question = f"whether {which} {words.better} or {words.worse}"
        if direction := ONE_SIDED.get(study.question_of_tests):
            question = f"that {which} {direction.position} it"
        parts.append(f"the data do not show {question}")
        only = _only_one_direction(study)
    baseline = shortened_name(study.settings.baseline or "")
    metric = f"{study.primary_metric.spoken}{_after_adjustment(study)}"
    return f"Against {baseline}, by {metric}: {'; '.join(parts)}.{only}{_best_two_in_words(study)}"


def _best_two_in_words(study: Study) -> str:
    """A sentence on how the two best candidates, the systems other than the baseline, compare with
    each other; "" if there are fewer than two. It begins with a space, as it follows others.
    """
    best_two = diagnostics.best_two_comparison(study)
    if best_two.empty:
        return ""
    row = best_two.iloc[0]
    words = diagnostics.words(study)
    first = shortened_name(row["first"])
    second = shortened_name(row["second"])
    match row["verdict"]:
        case "equivalent":
            return f" The two {words.best} others, {first} and {second}, are equivalent."
        case "cannot tell":
            which = f"which of the two {words.best} others, {first} or {second}, is {words.better}"
            return f" The data do not show {which}."
    return f" Of the others, {first} is {row['verdict']} than {second}, the second {words.best}."


def _systems_in_words(study: Study, names: Sequence[str], last: str = "and") -> str:
    """Systems in a sentence; of more than three their number. last: the word before the last."""
    if len(names) > NAMES_IN_SENTENCE:
        return numbers.count_with_noun(len(names), study.compared_noun)
    return numbers.enumerated([_name(study, name) for name in names], last)


def _name(study: Study, system: str) -> str:
    """A system in a sentence."""
    return shortened_name(study.spoken(system))


def _any_of(study: Study, names: Sequence[str]) -> str:
    """Some names of which none is meant more than another; of more than three their number."""
    systems = _systems_in_words(study, names, "or")
    return f"any of {systems}" if len(names) > NAMES_IN_SENTENCE else systems


class Gated(Protocol):
    """What rules may be set for: a study, or the log and the users of an interleaving report."""

    @property
    def gate(self) -> policy.JudgedPolicy | None: ...


def gate(study: Gated) -> list[Html]:
    """The result of the gate: pass or fail with the reason, then its warnings, then, folded, a
    table of the rules of a policy. Empty if no gate is set.
    """
    judged = study.gate
    if judged is None:
        return []
    result = "pass" if judged.passed else "fail"
    message = judged.message or f"gate: {judged.words}: met"
    parts = [paragraphs.verdict(result, Cell(message))]
    parts += [muted_paragraph(warning) for warning in judged.warnings]
    # a single rule needs no table, unless it is known which regressions it catches
    if judged.level or judged.has_sensitivity:
        parts.append(folded("Each rule", rules(judged)))
    return parts


def rules(judged: policy.JudgedPolicy) -> Html:
    """The table of a policy's rules: a row for each number that a rule checks, with the interval of
    the report, the interval that decides, and the result.

    The interval that decides is wider if the family-wise level of the policy is shared among
    several tests, or if a rule has an alpha of its own.
    """
    frame = pd.concat(result.statements.assign(that=result.rule.that) for result in judged.rules)
    columns: dict[str, Column] = {"rule": word_column("that"), "of": column_by_row(_subject_cell)}
    columns["value and usual interval"] = _value_with_limits("low", "high")
    note = ""
    if judged.level and judged.policy.level and judged.tested:
        level_of_each = percent(judged.level)
        columns[f"limits at {level_of_each}"] = _value_with_limits("rule_low", "rule_high")
        note = texts.sentence(
            "first_screen.policy",
            count=judged.tested,
            level=percent(judged.policy.level),
            each=level_of_each,
        )
    elif not frame["low"].equals(frame["rule_low"]):  # a single rule has its own alpha
        columns["limits that decide"] = _value_with_limits("rule_low", "rule_high")
    columns["result"] = column_by_row(_rule_result)
    if judged.has_sensitivity:  # the regression that each rule would catch is known
        columns |= CATCH_COLUMNS
        note = f"{note} {texts.sentence('first_screen.catches')}".lstrip()
    return of_rows(f"Rules of {judged.policy.name}", frame, columns, note)


def _rule_result(row: Record) -> Cell:
    """The result of a statement, and below it why, where that is said."""
    reason = (row["why"],) if row["why"] else ()
    return Cell(row["result"], below=reason, kind="text")


def planned(stated: Policy, rows: pd.DataFrame) -> Html:
    """The table of the regressions that the rules of a policy will catch on a new sample.

    rows: one per rule about a number, with the text of the rule (`that`), the smallest regression
    that it catches and its error probabilities (the fields of `catching.Catch`). If they come from
    a report, there is a row for each system or pair that a rule applies to, with its names.
    """
    columns: dict[str, Column] = {"rule": word_column("that")}
    is_from_report = "system" in rows
    if is_from_report:
        columns["of"] = column_by_row(_subject_cell)
    units = f", {stated.plan.units:,} units" if stated.plan else ""
    note = texts.sentence("first_screen.catches")
    return of_rows(f"What {stated.name} catches{units}", rows, columns | CATCH_COLUMNS, note)


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
CATCH_COLUMNS: dict[str, Column] = {
    "regression caught": column_by_row(lambda row: number_cell(row["catches"])),
    "unchanged fails": column_by_row(lambda row: probability(row["unchanged_fails"])),
    "power at margin": column_by_row(_power),
    "units needed": column_by_row(_units),
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


def statement_line(row: Record) -> str:
    """A statement in a line, with the limits that decide."""
    pieces_of_line = [_subject_cell(row).text]
    if row["metric"]:
        pieces_of_line.append(numbers.estimate(row["value"], row["rule_low"], row["rule_high"]))
    pieces_of_line += [row["result"], row["why"]]
    return ": ".join(filter(None, pieces_of_line))


def _subject_cell(row: Record) -> Cell:
    """The system or pair of a statement, and its slice."""
    subject = row["system"]
    if row["against"]:
        subject = f"{subject} − {row['against']}"
    if row["segment"]:
        subject = f"{subject}, {row['segment']} {row['slice']}"
    return Cell(subject, kind="text")


def _value_with_limits(low: str, high: str) -> Column:
    """A column of the numbers of statements with two of their limits; empty for a rule about the
    report as a whole. low, high: the columns of the limits.
    """

    def number_with_limits(row: Record) -> Cell:
        if not row["metric"]:
            return Cell("")
        return interval_cell(row["value"], row[low], row[high])

    return column_by_row(number_with_limits)


def linked(text: str, place: str) -> Cell:
    """Words that lead to a place on the page."""
    return Cell(text, markup=link(text, place))


# The strip of results -----------------------------------------------------------------------------

# by system its comparison with the baseline, or, without a baseline, with the leader; the system is
# always the first of the comparison
ComparisonBySystem = Mapping[str, dict[str, Any]]


def strip(study: Study) -> Html:
    """The strip of results: a row for each system with its estimate by the metric that decides, the
    difference from the baseline or the leader, and the verdict; a last row for a constant
    prediction, if it has a value. Of very many systems, those with the same verdict share a row.
    """
    baseline = study.settings.baseline
    headline = study.headline.to_dict("records")
    if baseline:  # each comparison is system − baseline
        comparisons = {row["first"]: row for row in headline}
        difference = f"difference from {shortened_name(baseline)}"
    else:  # each comparison is leader − system, and is turned to have the system first
        comparisons = {row["second"]: diagnostics.swap_systems(row) for row in headline}
        difference = f"{shortened_name(study.leader)} − {study.compared_noun}"
    heads: list[Head] = [study.compared_noun, page.metric_head(study.primary_metric)]
    if comparisons:
        heads += [difference, "verdict"]
    rows = [_system_row(study, name, comparisons) for name in study.order]
    if len(rows) > MOST_SINGLE_ROWS:
        rows = _joined_by_verdict(study, rows)
    constant = diagnostics.constant(study, study.primary_metric)  # NaN if it has no value
    if math.isfinite(constant):
        rows.append(_constant_row(study, constant, has_comparisons=bool(comparisons)))
    estimates = study.estimates[study.estimates["metric"] == study.primary_metric.label]
    n = numbers.sample_sizes(estimates["n"], study.unit_name)
    caption = f"{study.primary_metric.title} with its {percent(study.settings.level)} interval, {n}"
    strip_of_results = strips.strip(caption, heads, rows, constant)
    return stack([strip_of_results, _below_strip(study, comparisons)])


def _constant_row(study: Study, constant: float, *, has_comparisons: bool) -> strips.Result:
    """The row of a constant prediction: its value, without an interval, difference or verdict."""
    cells = [number(constant, page.places(study, study.primary_metric.label))]
    if has_comparisons:
        cells += ["", ""]
    point = (constant, math.nan, math.nan)
    return strips.Result(
        Cell("(a constant)"), [("a constant", point)], cells, tone=strips.REFERENCE
    )


def _system_row(study: Study, name: str, comparisons: ComparisonBySystem) -> strips.Result:
    """The row of one system: its estimate, and, if there are comparisons, difference and verdict.

    The system that the others are compared with has no comparison: its row says "baseline", or, of
    the leader, "highest" or "lowest".
    """
    estimate = diagnostics.primary_estimate(study, name)
    value = estimate["value"]
    low = estimate["low"]
    high = estimate["high"]
    places = page.places(study, study.primary_metric.label)
    cells: list[Cell | str] = [interval_cell(value, low, high, places=places)]
    verdict_reached = ""
    comparison = comparisons.get(name)
    if comparison is not None:
        verdict_reached = verdict_of(comparison)
        below = _below_comparison(study, comparison)
        difference = replace(_difference_cell(study, comparison), below=below.difference)
        cells += [difference, replace(_verdict_cell(verdict_reached), below=below.verdict)]
    elif study.settings.baseline and comparisons:
        cells += ["", "baseline"]
    elif comparisons:
        cells += ["", _highest_or_lowest(study)]
    points = [(name, (value, low, high))]  # the dot and the line of the interval
    # the verdict gives the row its colour
    return strips.Result(Cell(shortened_name(name)), points, cells, tone=verdict_reached)


def _difference_cell(study: Study, row: Record) -> Cell:
    """The difference with its interval, in the direction that the tables have."""
    if not study.settings.baseline:
        row = diagnostics.swap_systems(row)
    places = page.difference_places(study)
    return interval_cell(row["difference"], row["low"], row["high"], signed_number, places)


class BelowComparison(NamedTuple):
    """The lines below a difference, and below its verdict."""

    difference: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()


def _below_comparison(study: Study, row: Record) -> BelowComparison:
    """The small lines below a difference and its verdict in the strip: the reason of a verdict that
    the interval shown does not explain; of "better" and "worse" the relative difference.

    row: the comparison of a system (first) with the baseline or the leader (second).
    """
    if row["verdict"] == "equivalent":
        # the level of the interval that shows equivalence is not that of the interval shown
        level = percent(diagnostics.equivalence_level(study))
        return BelowComparison(verdict=(f"{level} interval within {_margin_in_words(study)}",))
    if row["verdict"] == "cannot tell":
        # the interval, which is not adjusted for multiple comparisons, excludes 0
        is_significant_alone = row["p"] < diagnostics.alpha(study) and not study.broken_design
        if is_significant_alone:
            adjusted = f"adjusted p {p_value(row['adjusted'])}"
            return BelowComparison(difference=("of this pair alone",), verdict=(adjusted,))
        return BelowComparison()
    subject = ""
    if not study.settings.baseline:  # the column shows leader − system
        subject = f"{shortened_name(study.leader)} "
        row = diagnostics.swap_systems(row)
    percentage = _relative_difference(study, row)
    if not percentage:
        return BelowComparison()
    direction = "higher" if row["difference"] > 0 else "lower"
    return BelowComparison(difference=(f"{subject}{percentage} {direction}",))


def _joined_by_verdict(study: Study, rows: list[strips.Result]) -> list[strips.Result]:
    """The rows of many systems, with those of the same verdict joined into one row, so that the
    strip stays short. Verdicts are in the order in which they first occur.
    """
    rows_by_verdict: dict[str, list[strips.Result]] = {}
    for row in rows:
        rows_by_verdict.setdefault(row.tone, []).append(row)
    joined = []
    for verdict_reached, same_verdict in rows_by_verdict.items():
        # the leader, or the baseline, has no verdict and keeps its row; but if no system has a
        # verdict, as nothing was compared, all are joined
        is_leader_or_baseline = not verdict_reached and len(same_verdict) < len(rows)
        if len(same_verdict) == 1 or is_leader_or_baseline:
            joined += same_verdict
        else:
            joined.append(_joint_row(study, same_verdict))
    return joined


def _joint_row(study: Study, rows: list[strips.Result]) -> strips.Result:
    """One row in place of those of several systems with the same verdict: a dot for each system,
    and "first to last" of their estimates and of their differences, which are ordered best first.

    rows: their cells are the estimate and, if there are comparisons, the difference and verdict.
    """
    first = rows[0]
    last = rows[-1]
    cells: list[Cell | str] = []
    for first_cell, last_cell in zip(first.cells[:2], last.cells[:2], strict=True):
        cells.append(f"{as_cell(first_cell).text} to {as_cell(last_cell).text}")
    has_verdict = len(first.cells) > 2
    if has_verdict:
        cells.append(_verdict_cell(first.tone))
    names = listed((row.name.text for row in rows), NAMES_IN_SENTENCE)
    head = Cell(count_with_noun(len(rows), study.compared_noun), below=(names,))
    points = list(chain.from_iterable(row.points for row in rows))
    return strips.Result(head, points, cells, first.tone)


def _verdict_cell(verdict: str) -> Cell:
    """A verdict, which the row gives its colour."""
    return Cell(verdict, markup=f"<strong>{verdict}</strong>")


def _below_strip(study: Study, comparisons: ComparisonBySystem) -> Html:
    """The line below the strip: the means of arms adjusted for a covariate, the true differences
    that inconclusive comparisons could have detected, and a link to all comparisons. Empty without
    comparisons.
    """
    if not comparisons:
        return Html("")
    places = page.difference_places(study)
    adjustment = ""
    covariate = study.earlier_measurement(study.primary_metric)
    if covariate:
        means_of_pairs = [_adjusted_means(row, places) for row in comparisons.values()]
        means = listed(means_of_pairs, NAMES_IN_SENTENCE, "; ")
        adjustment = f"Differences are adjusted for {covariate} (CUPED). Adjusted means: {means}. "
    detectable = _detectable_differences(study, comparisons, places)
    all_differences = linked("All differences and p-values", page.evidence(study))
    return muted_paragraph(join(adjustment, detectable, all_differences, "."))


def _detectable_differences(study: Study, comparisons: ComparisonBySystem, places: int) -> str:
    """A sentence on the systems with "cannot tell": how large their true difference would have to
    be for the test to detect it with 80% power. "" if no system has that verdict.
    """
    if study.broken_design:  # the tests are not valid, and so have no power
        return ""
    differences = []
    for name, row in comparisons.items():
        is_known = row.get("detectable", math.nan) > 0  # False for NaN
        if row["verdict"] == "cannot tell" and is_known:
            differences.append(f"{shortened_name(name)} {number(row['detectable'], places)}")
    if not differences:
        return ""
    adjusted = f", adjusted over {study.family_size} comparisons" if study.family_size > 1 else ""
    which = listed(differences, NAMES_IN_SENTENCE)
    return f"True differences that these data would show with 80% power{adjusted}: {which}. "


def _adjusted_means(row: Record, places: int) -> str:
    """The adjusted means of two arms, as text; "" if they are undefined."""
    names = (shortened_name(row["first"]), shortened_name(row["second"]))
    pairs = zip(names, page.adjusted_means(row, places), strict=False)
    return " and ".join(f"{name} {mean}" for name, mean in pairs)


def _how_tested(study: Study) -> str:
    """The paragraph on how the answer was tested: the family of tests, the methods, the level,
    which verdicts there are and what they mean. A sentence that does not apply to the study is "".
    """
    words = diagnostics.words(study)
    alpha = f"{diagnostics.alpha(study):.2g}"
    level = percent(study.settings.level)
    leader = ""
    if not study.settings.baseline and not _is_undefined(study):
        leader = texts.sentence(
            "first_screen.leader", study, top=_highest_or_lowest(study), systems=len(study.order)
        )
    verdicts = f"{words.better.capitalize()} or {words.worse}"
    one_direction = ""
    direction = ONE_SIDED.get(study.question_of_tests)  # None if both directions count
    if direction:
        verdicts = " or ".join(_possible_verdicts(study)).capitalize()
        one_direction = texts.sentence(
            "first_screen.one_sided",
            study,
            better=words.better,
            worse=words.worse,
            change=direction.change,
            other=direction.other_position,
            limit=direction.limit,
        )
    own_alpha = ""
    if study.settings.alpha is not None:  # else alpha is 1 − level, as a reader expects
        own_alpha = texts.sentence(
            "first_screen.alpha", verdicts=verdicts.lower(), alpha=alpha, level=level
        )
    best_two = ""
    if len(diagnostics.best_two_comparison(study)):
        best_two = texts.sentence("first_screen.picked", best=words.best)
    equivalent = texts.sentence("first_screen.no_margin")
    if study.settings.margin:
        equivalent = f"Equivalent: within {_margin_in_words(study)}."
    return texts.sentence(
        "first_screen.how",
        study,
        leader=leader,
        sided=sided(study),
        methods=page.test_methods_in_words(study.headline),
        verdicts=verdicts,
        alpha=alpha,
        one_direction=one_direction,
        own_alpha=own_alpha,
        level=level,
        best_two=best_two,
        equivalent=equivalent,
    )


def _possible_verdicts(study: Study) -> list[str]:
    """The verdicts that comparisons of a one-sided study can reach, besides "cannot tell" and
    "equivalent", over all of its metrics.

    A one-sided test shows differences of one sign only. If it looks for an increase, it can show
    "better" by a metric of which higher values are better, and "worse" by one of which lower are.
    """
    verdicts = []
    for chosen in study.metrics_with_direction:  # metrics of which high or low values may be better
        words = diagnostics.words_of(chosen)
        # −1 if lower values are better; 1 if higher ones are, or if that is not known: then the
        # words are "higher" and "lower"
        sign_of_improvement = chosen.metric.sign
        verdict = words.worse
        if study.settings.alternative.counts(sign_of_improvement):
            verdict = words.better
        verdicts.append(verdict)
    return list(dict.fromkeys(verdicts))


def _highest_or_lowest(study: Study) -> str:
    """Whether the leader has the highest or the lowest value; "" if there is none."""
    if _is_undefined(study):
        return ""
    return "highest" if study.primary_metric.metric.sign > 0 else "lowest"
