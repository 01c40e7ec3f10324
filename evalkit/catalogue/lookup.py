"""The table of metrics by name: what each is, when it is undefined, which public tool it equals.

docs/metrics.md, the definitions at the end of each report, the arrows in its tables and the
invariants in the tests are made from this table. Two conventions of a metric are two rows with
different names.
"""

import difflib
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from evalkit.arrays import ParameterError
from evalkit.catalogue.kinds import MeanPerUnit, Resampled
from evalkit.catalogue.metric import TEXTS, UNKNOWN, Metric as Metric, MetricAtK as MetricAtK
from evalkit.catalogue.own import (
    INPUTS,
    FunctionOfRows,
    OwnMetric,
    bootstrap,
    load,
    usual_name,
)
from evalkit.catalogue.tables import (
    CLASSES,
    COUNTS,
    DRAWS,
    FORECASTS,
    INTERLEAVING,
    LABELS,
    RANKINGS,
)
from evalkit.names import usual
from evalkit.parameters.kinds import NO_METRIC, NUMBER, SeveralMeanings, did_you_mean
from evalkit.parameters.reports import SharedParameters

TABLES: dict[str, dict[str, Metric]] = {
    "rankings": RANKINGS,
    "counts": COUNTS,
    "classes": CLASSES,
    "labels": LABELS,
    "forecasts": FORECASTS,
    "draws": DRAWS,
    "interleaving": INTERLEAVING,
}
# also of an A/B test, which has no table of metrics: its metrics are columns
TITLE_OF_STRUCTURE: dict[str, str] = {**TEXTS["heads"], "users": "A/B test"}
# how to have an input read otherwise, by the structure that it is read as; ends an error
READ_AS = {"classes": ": for scores of two classes name their column, columns='score=NAME'"}
# my_metrics.py:gain@10
OF_FILE = re.compile(r"\s*(?P<file>.+\.py):(?P<metric>\w+)(?:@(?P<cut>.*?))?\s*")
# ndcg@10, ndcg@k=10, pass^4, map
NAME_AND_CUT = re.compile(
    r"\s*(?P<base>[^@^]+?)\s*(?:(?P<sign>[@^])\s*(?:k\s*=\s*)?(?P<cut>.*?))?\s*"
)
# P_10, ndcg_cut_10, precision at 5, top5accuracy
NAME_WITH_NUMBER = re.compile(
    r"(?P<before>\D+?)[\W_]*(?:(?<![a-z])(?:at|k)[\W_]*)*(?P<number>\d+(?:\.\d+)?)(?P<after>\D*)"
)
# what stands behind the @ of a metric at a false positive rate: fpr0.01, fpr = 1%, 0.01 FPR
AT_RATE = re.compile(
    r"(?i)(?P<fpr>fpr)?\s*=?\s*((?P<number>\d*\.?\d+)\s*(?P<percent>%)?)?\s*(?(fpr)|fpr)"
)
LONG = 7  # letters of a word in which a wrong one can be told from another metric
CLOSE = 0.8  # how alike two such words must be, for difflib: 1 is equal
TABLE = RANKINGS
BEST = {name: row.best for table in TABLES.values() for name, row in table.items()}
# each other name that is not itself the name of a metric, with the first of its metrics
ALIASES: dict[str, str] = {}
for _metric in chain.from_iterable(table.values() for table in TABLES.values()):
    for _alias in {alias.rstrip("@") for alias in _metric.aliases}.difference(BEST):
        ALIASES.setdefault(_alias, _metric.name)


def find_metric(name: Any, structure: str) -> MetricAtK:
    """The metric that a name stands for, in the spellings that people and tools use: `ndcg@10`,
    `nDCG@10`, `ndcg_cut_10`, `P_10`, `ROC AUC`, or scikit-learn's `neg_log_loss`, which stands for
    log_loss.

    name: the name; for a metric that the user wrote, `my_metrics.py:gain@10`, or the function or
    object. structure: the kind of input, a key of `TABLES` such as "rankings". Raises
    ParameterError for an unknown name and for a cut-off that the metric does not take,
    SeveralMeanings for a name of several metrics.

    >>> find_metric("map", "rankings").label, find_metric("NDCG_cut_10", "rankings").label
    ('average_precision', 'ndcg@10')
    """
    if not is_in_catalogue(name):
        return _own_metric_for(structure, _own_metric_of(name))
    _refuse_file_alone(name)
    metrics = possible_metrics(name, structure) or _negated(name, structure)
    if not metrics:
        raise ParameterError(_unknown_metric(name, structure))
    if len(metrics) == 1:
        return metrics[0]
    definitions = {meaning.label: meaning.metric.formula for meaning in metrics}
    advice = ""
    if structure in READ_AS:  # as another kind of input, the name may have a single meaning
        advice = _how_the_input_is_read(structure)
    raise SeveralMeanings(name, definitions, advice)


# the names by which scripts that use `ek.lookup` know them
find = find_metric
Chosen = MetricAtK


def _refuse_file_alone(name: str) -> None:
    """Raise ParameterError for the name of a file of the user's own metrics, such as
    `my_metrics.py`, without the name of a metric in it: this stands behind a colon.
    """
    file = name.strip(" :")  # "my_metrics.py:" lacks the name too
    if file.endswith(".py"):
        raise ParameterError(
            f"metrics: {name!r} names a file; name one of its metrics, such as '{file}:NAME'"
        )


class Spelling(NamedTuple):
    """A way to read a name: its letters and digits, with @ or ^ at the end if a number must follow,
    and the text of that number or cut-off.
    """

    letters: str
    cut: str | None = None


def _letters(name: str) -> str:
    """The lower-case letters and the digits of a name, and @ or ^ if it ends with one.

    >>> _letters("F0.5-Score"), _letters("precision@")
    ('f05score', 'precision@')
    """
    lower = unicodedata.normalize("NFKC", name).lower()  # full-width letters become plain ones
    return re.sub(r"[^a-z0-9@^]|[@^](?!$)", "", lower)  # @ and ^ are left at the end alone


def _spellings(name: str) -> Iterator[Spelling]:
    """The ways to read the name of a metric, the likeliest first; none if it cannot be read.

    A way is the letters and digits of the metric, in lower case, and the text of its cut-off or
    None. The letters end with @, or ^ as in pass^4, if they are the name of a metric only together
    with a cut-off: an alias such as "p@" stands for precision, and p alone does not. A number
    without an @ is first taken for a part of the name, then for a cut-off.

    >>> [f"{spelled.letters} {spelled.cut}" for spelled in _spellings("P_10")]
    ['p10 None', 'p@ 10', 'p 10']
    >>> [f"{spelled.letters} {spelled.cut}" for spelled in _spellings("Recall@1% FPR")]
    ['recallfpr 0.01']
    """
    match = NAME_AND_CUT.fullmatch(name)
    if match is None:
        return
    base, sign, cut = match.group("base", "sign", "cut")  # ndcg, @, 10; or map, None, None
    at_rate = AT_RATE.fullmatch(cut or "")
    if at_rate:  # recall@1% FPR is the metric recall@fpr at the false positive rate 0.01
        rate = at_rate["number"]
        if at_rate["percent"]:
            rate = f"{float(rate) / 100:g}"
        yield Spelling(_letters(f"{base}fpr"), rate)
        return
    if sign == "@":
        # the name of a metric that always has a cut-off, else of one that may have it
        yield Spelling(_letters(f"{base}@"), cut)
        yield Spelling(_letters(base), cut)
        return
    # the whole name, to which any number in it belongs; a ^ without a number is left out
    yield Spelling(_letters(name).rstrip("^"))
    if sign == "^":
        yield Spelling(_letters(f"{base}^"), cut)
    numbered = NAME_WITH_NUMBER.fullmatch(name)
    if numbered:  # P_10 or precision at 5: the number is the cut-off
        before, number, after = numbered.group("before", "number", "after")
        yield Spelling(_letters(f"{before}{after}@"), number)
        yield Spelling(_letters(f"{before}{after}"), number)


@cache
def _metrics_by_letters(structure: str) -> Mapping[str, tuple[Metric, ...]]:
    """The metrics of a structure, a key of `TABLES`, by the lower-case letters and digits of their
    names and aliases. A name leads to the one metric that has it, an alias to all metrics that have
    it. A name that is also an alias of another metric leads to the metric of this name alone.
    """
    table = TABLES[structure]
    by_alias: dict[str, tuple[Metric, ...]] = {}
    for metric in table.values():
        for alias in metric.aliases:
            letters = _letters(alias)
            by_alias[letters] = (*by_alias.get(letters, ()), metric)
    by_name = {_letters(name): (metric,) for name, metric in table.items()}
    return by_alias | by_name  # of what both have, the name counts


def possible_metrics(name: str, structure: str) -> tuple[MetricAtK, ...]:
    """The metrics, each with its cut-off, that a name may stand for: several if it is an alias of
    several; none if it is unknown.

    A name can be read in several ways, such as P_10 as p10 or as p at 10: the likeliest one that is
    the name or alias of a metric counts. structure: the kind of input, a key of `TABLES`. Raises
    ParameterError for a cut-off that the metric does not take.

    >>> [metric.label for metric in possible_metrics("HR@10", "rankings")]
    ['hit_rate@10', 'hit_ratio@10']
    """
    metrics_by_letters = _metrics_by_letters(structure)  # the letters of a name or alias
    for spelling in _spellings(name):  # the likeliest first
        if spelling.letters not in metrics_by_letters:
            continue
        metrics = []
        for metric in metrics_by_letters[spelling.letters]:
            k = _number_behind(metric, spelling.cut, name)
            metrics.append(_at_cut_off(metric, k, name))
        return tuple(metrics)
    return ()


def meanings_anywhere(name: str) -> list[MetricAtK]:
    """The metrics of all structures that a name may mean; none for an own metric."""
    metrics: list[MetricAtK] = []
    for structure in TABLES:
        with suppress(ParameterError):  # the metric of this structure has no such cut-off
            metrics += possible_metrics(name, structure)
    return metrics


def title_of(label: str) -> str:
    """The name that people say of a metric; the label of an own one.

    >>> title_of("roc_auc"), title_of("ndcg@10"), title_of("revenue")
    ('ROC AUC', 'nDCG@10', 'revenue')
    """
    titles = (chosen.title for chosen in meanings_anywhere(label) if chosen.label == label)
    return next(titles, label)


def _negated(name: str, structure: str) -> tuple[MetricAtK, ...]:
    """The error metric that the name of a scorer of scikit-learn negates, such as log_loss for
    neg_log_loss; empty for another name.
    """
    error = name.lower().strip().removeprefix("neg_")
    has_no_prefix = error == name
    if has_no_prefix:
        return ()
    return tuple(
        meaning for meaning in possible_metrics(error, structure) if meaning.metric.best == "low"
    )


def _unknown_metric(name: str, structure: str) -> str:
    """The error message for a name that no metric of the structure (kind of input, a key of
    `TABLES`) has, with what may have been meant: a number elsewhere on the page, a metric of
    another structure, or a similar name.
    """
    metrics = TABLES[structure]
    may_have_cut_off = any(metric.cut != "never" for metric in metrics.values())
    with_k = " (with @k)" if may_have_cut_off else ""
    message = f"metrics: unknown metric {name!r}, must be one of {', '.join(metrics)}{with_k}"
    # a number that is no metric but stands elsewhere on the page: letters -> a sentence that says
    # where
    sentences_on_numbers = TEXTS["beside"].get(structure, {})
    base, *_ = name.split("@")
    sentence = sentences_on_numbers.get(_letters(base))
    if sentence:
        return f"{message}; {sentence}"
    letters = {spelling.letters for spelling in _spellings(name)}
    for other_structure in TABLES:
        if not letters.isdisjoint(_metrics_by_letters(other_structure)):
            title = TITLE_OF_STRUCTURE[other_structure].lower()
            return f"{message}; it is a metric of {title}{_how_the_input_is_read(structure)}"
    aliases = chain.from_iterable(metric.aliases for metric in metrics.values())
    similar = misspelled(name, [*metrics, *aliases])
    return f"{message}; did you mean {similar!r}?" if similar else message


def _how_the_input_is_read(structure: str) -> str:
    """How the input is read, and how to have it read otherwise, as the end of a message."""
    title = TITLE_OF_STRUCTURE[structure].lower()
    return f", the input is read as {title}{READ_AS.get(structure, '')}"


def misspelled(name: str, known_names: Iterable[str]) -> str | None:
    """The known name that a name misspells in one word, with the name's cut-off: the letters of the
    word are in another order, or in a long word some are wrong. None if no known name is so close.

    name: as the user wrote it, such as ndgc@10. known_names: all that it may stand for.

    >>> misspelled("ndgc@10", ["ndcg", "dcg"]), misspelled("msle", ["mse"])
    ('ndcg@10', None)
    """
    base, sign, cut = name.lower().strip().partition("@")
    # without labels such as ndcg@10: the cut-off that the user wrote is put behind the name
    bases = [known_name for known_name in known_names if "@" not in known_name]
    # words that are spelled right, such as roc and auc of roc_auc; names of `KNOWN` are no answer,
    # but their words are no misspellings
    words = set("_".join([*bases, *KNOWN]).split("_"))
    unknown_words = [word for word in base.split("_") if word not in words]
    if len(unknown_words) != 1:
        return None
    (wrong_word,) = unknown_words
    letters = sorted(wrong_word)
    same_letters = [word for word in sorted(words) if sorted(word) == letters]
    few_wrong_letters = []
    if len(wrong_word) >= LONG:
        few_wrong_letters = difflib.get_close_matches(wrong_word, words, n=1, cutoff=CLOSE)
    for word in [*same_letters, *few_wrong_letters]:
        corrected = base.replace(wrong_word, word)
        if corrected in bases:
            return f"{corrected}{sign}{cut}"
    return None


def label_of(parameter: str, name: str, metrics: Iterable[MetricAtK]) -> str:
    """The label, such as ndcg@10, of the one metric of a report that a name stands for: the label
    itself, or another name of the metric.

    metrics: of the report. parameter: the one in which the user wrote the name, for errors. Raises
    ParameterError if the report has no such metric, or several.
    """
    metrics = tuple(metrics)
    labels = [metric_at_k.label for metric_at_k in metrics]
    if name in labels:
        return name
    # the name may be an alias, which only the tables of metrics know
    structures = {metric_at_k.metric.structure for metric_at_k in metrics}
    for structure in structures.intersection(TABLES):  # own metrics are in no table
        labels_of_name = {meaning.label for meaning in possible_metrics(name, structure)}
        in_report = labels_of_name.intersection(labels)
        if len(in_report) == 1:
            return in_report.pop()
    similar = misspelled(name, labels)
    hint = f" (did you mean {similar!r}?)" if similar else ""
    raise ParameterError(f"{parameter} must be one of {', '.join(labels)}, got {name!r}{hint}")


def of_draws(name: Any) -> bool:
    """True for the name of a metric of repeated draws with its number of draws, such as pass@4 and
    pass^4.

    >>> of_draws("pass^4"), of_draws("pass"), of_draws("ndcg@10")
    (True, False, False)
    """
    if not is_in_catalogue(name):
        return False
    with_number = [spelling for spelling in _spellings(name) if spelling.cut is not None]
    return any(spelling.letters in DRAWS for spelling in with_number)


def columns_needed_by(names: Iterable[Any]) -> dict[str, str]:
    """The columns that metrics which the user wrote need beside labels and predictions: column ->
    the parameter and metric that need it, for errors.

    names: entries of the parameter `metrics`: names of metrics of the catalogue, which need no
    further column, and metrics that the user wrote.
    """
    needed_by: dict[str, str] = {}
    for name in names:
        if not is_in_catalogue(name):
            metric = _own_metric_of(name).metric
            needed_by |= dict.fromkeys(metric.columns, f"metrics: {metric.name}")
    return needed_by


def is_in_catalogue(name: Any) -> bool:
    """True for a name that is looked up in the catalogue, False for an own metric: a function, or
    a name such as `my_metrics.py:gain`.
    """
    return isinstance(name, str) and not OF_FILE.fullmatch(name)


def _number_behind(metric: Metric, text: str | None, name: str) -> float | None:
    """The number behind the @ in the name of a metric: a whole cut-off, as in ndcg@10, or for some
    metrics any number, as in fbeta@0.5; NaN if such a metric has text that is no number.

    text: what stands behind the @; None without one, as is the result. name: the whole name, for
    the error that a cut-off is no whole number.
    """
    if not text or not metric.takes_any_number:
        return _cut_off(text, name)
    if not NUMBER.fullmatch(text):
        return math.nan
    number = float(text)
    return int(number) if number.is_integer() else number  # fbeta@1.0 is labelled fbeta@1


def _cut_off(text: str | None, name: str) -> int | None:
    """The cut-off that stands behind the @, such as 10 of `ndcg@10`; None if nothing stands there.
    Raises ParameterError for text that is not a whole number. name: the whole name, for errors.

    >>> _cut_off("10", "ndcg@10"), _cut_off(None, "ndcg")
    (10, None)
    """
    if text is not None and not text.isdecimal():
        raise ParameterError(
            f"metrics: a cut-off must be a whole number of at least 1, got {name!r}"
        )
    return int(text) if text else None


def _own_metric_of(name: Any) -> MetricAtK:
    """The own metric that an entry of the parameter `metrics` stands for: a name such as
    `my_metrics.py:gain@10`, a plain function, or a declared metric. Raises ParameterError for
    anything else.
    """
    match = OF_FILE.fullmatch(name) if isinstance(name, str) else None
    if match:  # my_metrics.py:gain@10
        file, metric_name, cut = match.group("file", "metric", "cut")
        return MetricAtK(load(file, metric_name, _metric_of_function), _cut_off(cut, name))
    is_plain_function = callable(name) and not isinstance(name, MetricAtK | OwnMetric)
    if is_plain_function:  # which no decorator has declared
        metric = _metric_of_function(name, usual_name(name))
        return MetricAtK(metric)
    # a declared metric may have its cut-off, as gain.at(10)
    metric_at_k = name if isinstance(name, MetricAtK) else MetricAtK(name)
    if not isinstance(metric_at_k.metric, OwnMetric):
        rule = "must be names or functions, such as those declared by ek.mean"
        raise ParameterError(f"metrics: {rule}, got {getattr(name, '__name__', name)!r}")
    return metric_at_k


def _metric_of_function(call: Callable[..., Any], name: str) -> OwnMetric:
    """The own metric of a plain function, by bootstrap. Its name tells which values are better; a
    name that the catalogue has gets the prefix own_.
    """
    metric = bootstrap(name=name)(call)
    is_taken = any(metric.name in table for table in TABLES.values())
    name = f"own_{metric.name}" if is_taken else metric.name
    return replace(metric, name=name, best=direction(metric.name) or UNKNOWN)


def _own_metric_for(structure: str, metric_at_k: MetricAtK) -> MetricAtK:
    """A user's own metric, checked for a report on this structure (kind of input, a key of
    `TABLES`). Raises ParameterError if it takes arguments that the structure does not have, or has
    the name of a metric of the catalogue.
    """
    metric = metric_at_k.metric
    assert isinstance(metric, OwnMetric)  # see `_own_metric_of`
    if structure not in metric.structures:
        raise _wrong_arguments(metric, structure)
    if any(metric.name in table for table in TABLES.values()):
        raise ParameterError(
            f"metrics: {metric.name} is a metric of the catalogue; give yours another name"
        )
    if structure == "forecasts" and isinstance(metric.kind, Resampled):
        # a function of y_true and y_pred may be of classes or of forecasts: only the structure of
        # the report tells
        function = metric.kind.function
        assert isinstance(function, FunctionOfRows)
        kind = Resampled(replace(function, of_forecasts=True))
        metric = replace(metric, kind=kind)
    return _at_cut_off(metric, metric_at_k.k, metric_at_k.label)


def _wrong_arguments(metric: OwnMetric, structure: str) -> ParameterError:
    """The error for a user's own metric that takes arguments which a metric of this structure (kind
    of input) cannot have; with a hint for each that looks misspelt.
    """
    # the arguments that a function may have in a report on this structure
    possible = next(source.reads for source in INPUTS if structure in source.structures)
    unknown = [name for name in metric.arguments if name not in possible]
    hints = "".join(did_you_mean(name, possible) for name in unknown)
    expected = ", ".join(possible)
    if not possible:  # an A/B test: any column of numbers may be an argument
        expected = "columns of numbers"
    return ParameterError(
        f"metrics: {metric.name} takes {', '.join(metric.arguments)}, which are not the arguments "
        f"of a metric of {TITLE_OF_STRUCTURE[structure]}: {expected}{hints}"
    )


def _at_cut_off(metric: Metric, k: float | None, name: str) -> MetricAtK:
    """The metric at a cut-off k, such as ndcg@10, or at a number k that may be a fraction, such as
    the β of fbeta@0.5. Raises ParameterError if the metric does not take this k.

    k: None if the user wrote none; NaN if it cannot be read as a number. name: as the user wrote
    it, for errors.
    """
    # not 0 < k is true of NaN too
    if metric.takes_any_number and (k is None or not 0 < k <= metric.most):
        example = 0.5
        is_percentage = 1 < metric.most < 100  # the greatest one is 99.99
        if is_percentage:
            example = 90
        raise ParameterError(
            f"metrics: {metric.name} needs a number above 0 and at most {metric.most:,}, "
            f"such as {metric.before_cut}{example}, got {name!r}"
        )
    if k == 0:
        raise ParameterError(f"metrics: a cut-off must be at least 1, got {name!r}")
    if k is not None and k > metric.most:
        raise ParameterError(
            f"metrics: the number after {metric.name}@ must be 1 to {metric.most:,}, got {name!r}"
        )
    if metric.cut == "never" and k is not None:
        raise ParameterError(f"metrics: {metric.name} has no cut-off, got {name!r}")
    if metric.cut == "must" and k is None:
        raise ParameterError(
            f"metrics: {metric.name} needs a cut-off, such as {metric.before_cut}10, got {name!r}"
        )
    return MetricAtK(metric, k)


def find_metrics(
    names: Iterable[Any], structure: str, usual: Iterable[str]
) -> tuple[MetricAtK, ...]:
    """The metrics that the entries of the parameter `metrics` stand for, without duplicates; those
    of the `usual` names if it is empty.

    structure: the kind of input, a key of `TABLES`.

    Raises ParameterError for an unknown metric, or if two metrics have the same name.
    """
    wanted = tuple(names) or usual
    metrics = dict.fromkeys(find_metric(name, structure) for name in wanted)  # without duplicates
    return with_distinct_labels(tuple(metrics))


def with_distinct_labels(metrics: tuple[MetricAtK, ...]) -> tuple[MetricAtK, ...]:
    """Return the metrics as they are. Raises ParameterError if two have the same label, by which
    results are found, such as two functions of the user with the same name.
    """
    labels = [metric.label for metric in metrics]
    repeated = [label for label in labels if labels.count(label) > 1]
    if repeated:
        raise ParameterError(
            f"metrics: two metrics are called {repeated[0]}; give one another name, "
            "as ek.bootstrap(name='...')(f) does"
        )
    return metrics


def find_computable(
    names: Iterable[Any], structure: str, usual: Iterable[str], lacks: Mapping[str, str]
) -> tuple[MetricAtK, ...]:
    """The metrics with these names, such as the value of the parameter `metrics`. If there are no
    names, the metrics of `usual` that can be computed from the input.

    structure: the kind of input, a key of `TABLES`. usual: names of metrics of the catalogue.
    lacks: what the input does not have -> the words for it in an error. Its keys are values of
    `Metric.needs`, such as "scores", and "columns" for further columns, which no usual metric
    needs. Raises ParameterError for a named metric that needs what the input lacks.
    """
    computable = [name for name in usual if find_metric(name, structure).metric.needs not in lacks]
    metrics = find_metrics(names, structure, computable)
    for metric_at_k in metrics:
        metric = metric_at_k.metric
        need = metric.needs
        if metric.columns and not need:
            need = "columns"
        if need in lacks:
            needed = lacks[need].format(*metric.columns)
            raise ParameterError(f"metrics: {metric_at_k.label} needs {needed}")
    return metrics


def markdown() -> str:
    """The tables of metrics as docs/metrics.md prints them, one for each structure."""
    sections = []
    for structure, metrics in TABLES.items():
        table = _table([*metrics.values()])
        sections.append(f"**{TITLE_OF_STRUCTURE[structure]}**\n\n{table}")
    return "\n\n".join(sections)


def _table(metrics: list[Metric]) -> str:
    """The metrics as a table in Markdown, one line each, for the documentation."""
    head = "| name | title | what it is | undefined where | equals | other names |"
    lines = [head, "|---|---|---|---|---|---|"]
    for metric in metrics:
        aliases = ", ".join(f"`{alias.replace('@', '@k')}`" for alias in metric.aliases)
        formula = metric.formula.replace("|", "\\|")  # a | would end the cell
        name = f"`{_name_with_cut(metric)}`"
        cells = [name, metric.title, formula, metric.undefined, metric.equals, aliases]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _name_with_cut(metric: Metric) -> str:
    """The name of a metric and where its cut-off stands: ndcg[@k] if it may have one, hit_rate@k if
    it must, map if it has none.
    """
    match metric.cut:
        case "may":
            return f"{metric.name}[@k]"
        case "must":
            return f"{metric.before_cut}k"  # `before_cut` ends with the sign, as in hit_rate@
        case _:
            return metric.name


# names that say nothing of the direction: `err` is an error or the expected reciprocal rank
UNCLEAR = {"err", "top", "coverage", "hr", "nd", "l1", "l2", "sens", "spec"}
CATALOGUE = BEST | {alias: BEST[name] for alias, name in ALIASES.items()}
KNOWN = {
    name: best
    for name, best in CATALOGUE.items()
    if best != "neither" and len(name) > 1 and name not in UNCLEAR
}
for _best, _names in usual("directions").items():
    KNOWN |= dict.fromkeys(_names, _best)
# an expression that tries the longest name first, so that `log_loss` is not read as `loss`
LONGEST_FIRST = "|".join(sorted(KNOWN, key=len, reverse=True))
PHRASE = re.compile(rf"(?:^|(?<=_))({LONGEST_FIRST})(?=_|$)")
REVERSED = re.compile(rf"(neg|negative|negated|minus|inverse|inv)_|1_(?=({LONGEST_FIRST})$)")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
OPPOSITE = {"low": "high", "high": "low"}


def direction(name: str) -> str | None:
    """Which values are better according to the name of a metric, "high" or "low"; None if the name
    does not tell, or tells both.

    If the catalogue has a metric of this name, its direction is returned; None if the name is
    unclear, such as `err`. Otherwise the words in the name decide whose direction is known, such as
    loss or latency. Without any such word, the word score says "high". A minus in front reverses
    the direction, and so does a word such as neg.

    >>> [
    ...     direction(name)
    ...     for name in ("log_loss", "val WER", "latency_ms", "neg_log_loss", "ndcg@10", "score")
    ... ]
    ['low', 'low', 'low', 'high', 'high', 'high']
    >>> [
    ...     direction(name)
    ...     for name in ("closeness", "terrain", "value", "minutes", "cost_reduction", "err")
    ... ]
    [None, None, None, None, None, None]
    """
    base = name.split("@")[0].strip()
    words = "_".join(WORD.findall(base)).lower()  # "val WER" becomes val_wer
    has_minus = base.startswith(("-", "−"))
    spellings = () if has_minus else (base.lower(), words)  # a minus makes it another metric
    for spelling in spellings:
        if spelling in CATALOGUE:
            best = CATALOGUE[spelling]
            is_clear = best != "neither" and spelling not in UNCLEAR
            return best if is_clear else None
    directions = {KNOWN[phrase] for phrase in PHRASE.findall(words)}
    if not directions and "score" in words.split("_"):
        directions = {"high"}
    if len(directions) != 1:  # no word tells, or they contradict each other
        return None
    (best,) = directions
    # a name that is known as a whole has the direction that is known of it, whatever its words
    is_reversed = has_minus or (words not in KNOWN and REVERSED.match(words))
    return OPPOSITE[best] if is_reversed else best


def named(name: str, best: str | None = None) -> Metric:
    """A metric whose values per unit the input has, and of which only the name is known. best: its
    direction, "high" or "low"; if it is not stated, what the name says, else "unknown".

    >>> named("log_loss").best, named("ndcg@10").best, named("minutes").best
    ('low', 'high', 'unknown')
    """
    if best in (None, UNKNOWN):
        best = direction(name) or UNKNOWN
    return Metric(
        name,
        "units",
        MeanPerUnit(not_computed),
        formula="the mean of the values in the input",
        undefined="the input holds no value",
        equals="the input",
        low=-np.inf,
        high=np.inf,
        best=best,
        unit="",
    )


BY_NAME = ("units", "users")  # structures whose metrics are known by name alone


def with_directions(
    metrics: Iterable[MetricAtK], parameters: SharedParameters
) -> tuple[MetricAtK, ...]:
    """The metrics with the directions that the parameter `lower_is_better` states.

    Lower values are better of each metric that the parameter names. If the user sets the parameter,
    higher values are better of every other metric whose direction is unknown; its value "none"
    names no metric. If the user does not set it, an unknown direction stays unknown.

    parameters: of the report. Raises ParameterError for a name that none of the metrics has, and
    for a metric whose definition says that higher is better.

    >>> metrics = MetricAtK(named("minutes")), MetricAtK(named("steps"))
    >>> p = SharedParameters.from_raw({"lower_is_better": "minutes"})
    >>> [metric_at_k.metric.best for metric_at_k in with_directions(metrics, p)]
    ['low', 'high']
    """
    metrics = tuple(metrics)
    lower_is_better = {
        label_of("lower_is_better", name, metrics)
        for name in parameters.lower_is_better
        if name != NO_METRIC
    }
    # a user who names the metrics of which lower is better means that of all others higher is
    default_direction = "high" if "lower_is_better" in parameters.given_values else UNKNOWN
    return tuple(
        _with_direction(metric_at_k, lower_is_better, default_direction) for metric_at_k in metrics
    )


def _with_direction(
    metric_at_k: MetricAtK, lower_is_better: Collection[str], default_direction: str
) -> MetricAtK:
    """The metric with the direction that a user stated: "low" if its label is in `lower_is_better`,
    else `default_direction` if its direction is unknown; any other metric as it is.

    lower_is_better: labels of metrics. default_direction: "high", or "unknown" if the user states
    nothing. Raises ParameterError for a metric of `lower_is_better` whose definition states another
    direction.
    """
    metric = metric_at_k.metric
    # The definition of a metric of the catalogue says its direction. That of a function of the
    # user, or of a column of values that another tool computed, only the user knows.
    is_only_a_name = metric.structure in BY_NAME
    is_defined_here = not is_only_a_name and not isinstance(metric, OwnMetric)
    if metric_at_k.label in lower_is_better and metric.best != "low":
        if is_defined_here:
            raise ParameterError(
                f"lower_is_better: {metric_at_k.label} has its direction by definition, "
                f"{metric.best} values are better"
            )
        return MetricAtK(replace(metric, best="low"), metric_at_k.k)
    if metric.best == UNKNOWN:
        return MetricAtK(replace(metric, best=default_direction), metric_at_k.k)
    return metric_at_k


def recorded(row: Mapping[str, Any], name: str, parameters: Mapping[str, Any]) -> str:
    """Which values of a metric are better, from the results file of a report: "high", "low",
    "neither" or "unknown".

    Earlier versions recorded "high" for a metric whose direction nothing stated. A "high" of theirs
    that no parameter stated is read as what the name tells, else as unknown. row: the metric in the
    file; later versions have `stated` in it. parameters: those of the report.
    """
    best = str(row["best"])
    is_stated = "stated" in row or bool({"best", "lower_is_better"} & {*parameters})
    if best != "high" or is_stated:
        return best
    return direction(name) or UNKNOWN


def not_computed(*_: Any) -> Any:
    """The function of a metric that is known by its values alone: always raises, as these are read
    from the input and never computed.
    """
    raise AssertionError("none, the values come from the input")
