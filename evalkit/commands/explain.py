"""`evalkit explain METRIC --theirs NUMBER FILE`: which convention gives another tool's number."""

import pkgutil
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Any

import pandas as pd

from evalkit import system
from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import lookup
from evalkit.commands import requests

CONVENTIONS = tomllib.loads((pkgutil.get_data(__package__, "conventions.toml") or b"").decode())
NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")
MOST = 5  # lines


def main(options: Any) -> int:
    """Print the conventions that give the number, or the nearest ones; return the status."""
    theirs = options.theirs
    written = NUMBER.fullmatch(theirs)
    if written is None:
        raise requests.Refused(f"--theirs must be a number such as 0.81, got {theirs!r}")
    half = 0.5000001 * 10.0 ** -len(written[1] or "")  # a unit of the last digit, and rounding
    options.parameters += [("preds", file) for file in options.files]
    structures = CONVENTIONS["structures"].items()
    with requests.one_line():
        reports = {name for table, name in structures if lookup.meanings(options.metric, table)}
        report = requests.closest(options, sorted(reports))
        settings = requests.settings(options.file)
        values = requests.parameters(options.parameters, settings, requests.written_options())
        study = import_module(f"evalkit.studies.{report}").read(**values)
        tried = pd.concat(_conventions(study, options.metric)).dropna(subset="value")
    tried = tried.drop_duplicates(["value", "system", "metric"])
    tried["distance"] = (tried["value"] - float(theirs)).abs()
    equal = tried[tried["distance"] <= half]
    none = f"None of {len(tried)} values is {theirs}. The nearest:"
    system.show(none if equal.empty else f"{theirs} is the value of:")
    for row in (tried if equal.empty else equal).nsmallest(MOST, "distance").itertuples():
        system.show(f"{row.value:.6f}  {row.system}: {row.metric}{row.change}")
    return requests.DONE


def _conventions(study: Any, name: str) -> Iterator[pd.DataFrame]:
    """The estimates of the metric under each convention, one change at a time."""
    structure = study.primary.metric.structure
    meanings = lookup.meanings(name, structure) or (lookup.find(name, structure),)
    names = [chosen.metric.name for chosen in meanings]
    labels = [chosen.label for chosen in meanings]
    groups = [group for group in CONVENTIONS["groups"] if {*group} & {*names}]
    cuts = ["", *(f"@{chosen.k}" for chosen in meanings), *CONVENTIONS["cuts"]]
    related = [related + cut for related in chain(names, *groups) for cut in cuts]
    for label in dict.fromkeys(labels + related):
        yield from _estimates(study, label)
    for parameter, value in CONVENTIONS["parameters"]:
        if parameter in type(study.p).options():
            for label in labels:
                yield from _estimates(study, label, **{parameter: value})


def _estimates(study: Any, label: str, **change: Any) -> Iterator[pd.DataFrame]:
    """The estimates of a metric, and those of other orders of tied items; none if the input does
    not allow it.
    """
    words = "".join(f", {name}={value}" for name, value in change.items())
    with suppress(InputError, ParameterError):
        rows = study.reread(metrics=label, **change).estimates.assign(change=words)
        yield rows
        for column in rows.columns.intersection(["worst_ties", "best_ties"]):
            yield rows.assign(value=rows[column], change=f", {column.replace('_', ' order of ')}")
