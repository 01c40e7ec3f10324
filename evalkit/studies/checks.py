"""The checks of a validation study: which could be run, and what the others lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from evalkit.reading.inputs.examples import Examples

ID, GROUP, TIME, COPIES = (
    "a row in several folds",
    "a person or session on both sides",
    "training on the future",
    "copied rows",
)
TOO_COARSE = "the columns are too coarse to tell copies from coincidence"
UNSELECTED = "selected is not set"


@dataclass(frozen=True)
class Check:
    """One check of the audit. lacks: why it could not be run, empty if it was."""

    name: str
    lacks: str = ""


def of(e: Examples, *, fitted: bool, holdout: bool, coarse: bool) -> tuple[Check, ...]:
    """Every check that has a meaning for such a label and such folds, run or not.

    coarse: True if equal rows are so common by coincidence that copies do not show.
    """
    two = len(e.classes) == 2
    names = ["rows tested more than once", "folds of unlike size", "too few rows tested"]
    names += [] if holdout else ["folds that differ by more than chance"]
    names += ["shares of the classes"] if e.classes else []
    names += ["scores on other scales in other folds"] if two and not holdout else []
    names += ["a score that is the label"] if two and not fitted else []
    needs = {ID: _lacks("id", e.id), GROUP: _lacks("group", e.group), TIME: _lacks("time", e.time)}
    return (
        *map(Check, names),
        *(Check(name, lacks) for name, lacks in needs.items()),
        *_of_features(e, coarse=coarse),
    )


def _lacks(name: str, column: object) -> str:
    return "" if column is not None else f"no {name}"


def _of_features(e: Examples, *, coarse: bool) -> list[Check]:
    lacks = _lacks("features", e.features)
    names = [
        "nearly copied rows",
        "training rows unlike test rows",
        "values that no training row has",
        "columns of ids",
    ]
    names += ["a target among the features"] + (["equal rows with unlike labels"] if e.classes else [])
    unselected = UNSELECTED if e.candidates is None else ""
    return [
        Check(COPIES, lacks or (TOO_COARSE if coarse else "")),
        *(Check(name, lacks) for name in names),
        Check("columns selected outside the folds", lacks or unselected),
    ]


def missing(checks: Sequence[Check]) -> list[str]:
    """The checks that could not be run, those that lack the same together.

    >>> missing([Check("a", "no id"), Check("b"), Check("c", "no time"), Check("d", "no time")])
    ['a (no id)', 'c, d (no time)']
    """
    skipped = [check for check in checks if check.lacks]
    reasons = groupby(skipped, key=lambda check: check.lacks)
    return [f"{', '.join(check.name for check in some)} ({lacks})" for lacks, some in reasons]


def usual(checks: Sequence[Check]) -> list[str]:
    """The usual leaks that could not be looked for: groups, time, and copies, which ids or features show."""
    lacks = {check.name: check.lacks for check in checks}
    copies = lacks[COPIES] if lacks[ID] or lacks[COPIES] == TOO_COARSE else ""
    return [name for name, reason in ((GROUP, lacks[GROUP]), (TIME, lacks[TIME]), (COPIES, copies)) if reason]
