"""`evalkit explain METRIC --theirs NUMBER FILE`: which convention gives another tool's number."""

import pkgutil
import tomllib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from importlib import import_module
from itertools import chain, product
from typing import Any

import pandas as pd

from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import lookup
from evalkit.commands import requests
from evalkit.machine import terminal

CONVENTIONS = tomllib.loads((pkgutil.get_data(__package__, "conventions.toml") or b"").decode())
MOST = 5  # lines


def main(options: Namespace) -> int:
    """Print the conventions that give the number, or the nearest ones; return the status."""
    theirs = options.theirs
    number, unit = _number(theirs)
    options.parameters.append(("preds", ",".join(options.files)))
    with requests.one_line():
        report = requests.closest(options, sorted(_reports(options.metric)))
        settings = requests.settings(options.file)
        values = requests.parameters(options.parameters, settings, requests.written_options())
        study = import_module(f"evalkit.studies.{report}").read(**values)
        tables = list(_conventions(study, options.metric))
        if not tables:
            study.reread(metrics=options.metric)  # raises the error that says why
        tried = pd.concat(tables).dropna(subset="value")
    tried = tried.drop_duplicates(["value", "system", "metric"])
    if abs(number) > 1:
        change = tried["change"] + ", in percent"
        tried = pd.concat([tried, tried.assign(value=100 * tried["value"], change=change)])
    tried["distance"] = (tried["value"] - number).abs()
    equal = tried[tried["distance"] <= unit / 2]
    heading = f"{theirs} is the value of:"
    closest = equal.head(MOST)
    if equal.empty:
        heading = f"None of {len(tried)} values is {theirs}. The nearest:"
        closest = tried.nsmallest(MOST, "distance")
    terminal.show(heading)
    for row in closest.itertuples():
        terminal.show_line(f"{row.value:.6g}  {row.system}: {row.metric}{row.change}")
    if len(equal) > MOST:
        terminal.show(f"and {len(equal) - MOST} more")
    return requests.DONE


def _number(text: str) -> tuple[float, float]:
    """A number as it is written, and a unit of its last digit, somewhat enlarged for rounding.

    >>> _number("0.25")
    (0.25, 0.010000002)
    """
    with suppress(InvalidOperation):
        number = Decimal(text)
        exponent = number.as_tuple().exponent
        if isinstance(exponent, int):  # a text for what is no number, such as infinity
            return float(number), 1.0000002 * 10.0**exponent
    raise requests.Refused(f"--theirs must be a number such as 0.81, got {text!r}")


def _reports(name: str) -> set[str]:
    """The reports that have a metric of this name."""
    reports = set[str]()
    for structure, report in CONVENTIONS["structures"].items():
        with suppress(ParameterError):  # a wrong cut-off here
            if lookup.meanings(name, structure):
                reports.add(report)
    return reports


def _conventions(study: Any, name: str) -> Iterator[pd.DataFrame]:
    """The estimates of the metric under each convention, one change at a time."""
    structure = study.primary.metric.structure
    meanings = lookup.meanings(name, structure) or (lookup.find_metric(name, structure),)
    labels = [chosen.label for chosen in meanings]
    cuts = [f"@{chosen.k}" for chosen in meanings] + CONVENTIONS["cuts"]
    names = [chosen.metric.name for chosen in meanings]
    related_groups = [group for group in CONVENTIONS["groups"] if not set(group).isdisjoint(names)]
    related = product(chain(names, *related_groups), cuts)
    related_labels = [name + cut for name, cut in related]
    for label in dict.fromkeys(labels + related_labels):
        yield from _estimates(study, label)
    other_label = ("positive", getattr(study, "negative", None))  # None changes nothing
    for parameter, value in [*CONVENTIONS["parameters"], other_label]:
        if parameter in type(study.p).options():
            for label in labels:
                yield from _estimates(study, label, **{parameter: value})


def _estimates(study: Any, label: str, **change: object) -> Iterator[pd.DataFrame]:
    """The estimates of a metric, and those of other orders of tied items; none if the input does
    not allow it.
    """
    words = "".join(f", {name}={value}" for name, value in change.items())
    with suppress(InputError, ParameterError):
        rows = study.reread(metrics=label, **change).estimates.assign(change=words)
        yield rows
        for column in rows.filter(["worst_ties", "best_ties"]):
            yield rows.assign(value=rows[column], change=f", {column.replace('_', ' order of ')}")
