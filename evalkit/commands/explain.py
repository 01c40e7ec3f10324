"""`evalkit explain METRIC --theirs NUMBER FILE`: which convention gives another tool's number."""

import pkgutil
import tomllib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from importlib import import_module
from itertools import product
from typing import Any

import pandas as pd

from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import lookup
from evalkit.commands import requests
from evalkit.machine import terminal

CONVENTIONS = tomllib.loads((pkgutil.get_data(__package__, "conventions.toml") or b"").decode())
MOST = 5  # lines printed
ENLARGED = 1.0000002  # so that an error of rounding does not hide a value that is equal


def main(options: Namespace) -> int:
    """Print the conventions that give the number, or the nearest ones; return the status.

    The predictions are evaluated again under every convention in which tools differ for this
    metric; a value equals the number if it rounds to it at the number's last digit.
    """
    theirs = options.theirs
    number, last_digit = _number(theirs)
    options.parameters.append(("preds", ",".join(options.files)))
    with requests.input_errors_refused():
        report = requests.closest(options, sorted(_reports(options.metric)))
        settings = requests.settings(options.file)
        values = requests.parameters(options.parameters, settings, requests.parameters_as_texts())
        study = import_module(f"evalkit.studies.{report}").read(**values)
        tables = list(_estimates_by_convention(study, options.metric))
        if not tables:
            study.reread(metrics=options.metric)  # raises the error that says why
        tried = pd.concat(tables).dropna(subset="value")
    # a convention that changes nothing repeats an earlier value and explains no difference
    tried = tried.drop_duplicates(["value", "system", "metric"])
    if abs(number) > 1:  # most metrics end at 1: the number may be in percent
        convention = tried["convention"] + ", in percent"
        in_percent = tried.assign(value=100 * tried["value"], convention=convention)
        tried = pd.concat([tried, in_percent])
    tried["distance"] = (tried["value"] - number).abs()
    equal = tried[tried["distance"] <= last_digit / 2]
    heading = f"{theirs} is the value of:"
    closest = equal.head(MOST)
    if equal.empty:
        heading = f"None of {len(tried)} values is {theirs}. The nearest:"
        closest = tried.nsmallest(MOST, "distance")
    terminal.show(heading)
    for row in closest.itertuples():
        terminal.show_line(f"{row.value:.6g}  {row.system}: {row.metric}{row.convention}")
    if len(equal) > MOST:
        terminal.show(f"and {len(equal) - MOST} more")
    return requests.DONE


def _number(text: str) -> tuple[float, float]:
    """A number as it is written, and a unit of its last digit. The unit is a little too large, so
    that a value exactly half a unit away still counts as equal in floating point.

    >>> _number("0.25")
    (0.25, 0.010000002)
    """
    with suppress(InvalidOperation):
        number = Decimal(text)
        exponent = number.as_tuple().exponent
        if isinstance(exponent, int):  # a text for what is no number, such as infinity
            return float(number), ENLARGED * 10.0**exponent
    raise requests.RequestRefused(f"--theirs must be a number such as 0.81, got {text!r}")


def _reports(name: str) -> set[str]:
    """The reports that have a metric of this name, such as {"ranking"} for ndcg@10; empty for an
    unknown name.
    """
    reports = set[str]()
    # by the kind of input that metrics take, the report that reads it
    for structure, report in CONVENTIONS["structures"].items():
        with suppress(ParameterError):  # this kind has the metric, but not with this cut-off
            if lookup.possible_metrics(name, structure):
                reports.add(report)
    return reports


def _estimates_by_convention(study: Any, name: str) -> Iterator[pd.DataFrame]:
    """The estimates of the metric `name` as one tool or another computes it, a table for each
    convention: every meaning of the name, metrics that people take for it, each with the usual
    cut-offs; then the meanings with one parameter of the study changed.
    """
    structure = study.primary_metric.metric.structure
    # a metric without names in the catalogue, an own one or a negated one, has one meaning
    meanings = lookup.possible_metrics(name, structure) or (lookup.find_metric(name, structure),)
    labels = [chosen.label for chosen in meanings]
    names_of_meanings = {chosen.metric.name for chosen in meanings}
    metric_names = [chosen.metric.name for chosen in meanings]
    for group in CONVENTIONS["groups"]:  # metrics that are taken for one another
        if not names_of_meanings.isdisjoint(group):
            metric_names += group
    cut_offs = [f"@{chosen.k}" for chosen in meanings] + CONVENTIONS["cuts"]
    related_labels = [metric + cut_off for metric, cut_off in product(metric_names, cut_offs)]
    for label in dict.fromkeys(labels + related_labels):  # without duplicates
        yield from _estimates(study, label)
    parameters = list(CONVENTIONS["parameters"])  # pairs of a parameter and another value of it
    parameters.append(("positive", getattr(study, "negative", None)))  # the classes exchanged
    for parameter, value in parameters:
        if parameter in type(study.p).options():
            for label in labels:
                yield from _estimates(study, label, **{parameter: value})


def _estimates(study: Any, label: str, **parameters: object) -> Iterator[pd.DataFrame]:
    """The estimates of the metric `label` with other parameters than the study's, a row for each
    system, whose column `convention` says what was changed; then those of the worst and the best
    order of tied items, if the estimates have them. Nothing if the input does not allow the metric
    or the parameters.
    """
    convention = "".join(f", {name}={value}" for name, value in parameters.items())
    with suppress(InputError, ParameterError):
        estimates = study.reread(metrics=label, **parameters).estimates
        yield estimates.assign(convention=convention)
        for order in ("worst", "best"):
            column = f"{order}_ties"
            if column in estimates:
                values = estimates[column]
                yield estimates.assign(value=values, convention=f", {order} order of ties")
