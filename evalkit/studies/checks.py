"""The checks of a validation study: which could be run, and what the others lack."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from evalkit.findings import kinds
from evalkit.findings.kinds import Kind

TOO_COARSE = "features too coarse"
UNSELECTED = "selected not set"


@dataclass(frozen=True)
class Check:
    """One check of the audit: the kind of its findings. lacks: why it could not be run, empty if it was."""

    kind: Kind
    lacks: str = ""

    @property
    def name(self) -> str:
        """The name of its findings."""
        return self.kind.name


def of(
    known: Collection[str], classes: Sequence[str], *, fitted: bool, holdout: bool, coarse: bool
) -> tuple[Check, ...]:
    """Every check that has a meaning for such a label and such folds, run or not.

    known: which of id, group, time, features and candidates there are. classes: of the label, none of a number.
    coarse: True if equal rows are so common by coincidence that copies do not show.
    """
    two = len(classes) == 2
    run = [kinds.TESTED_AGAIN, kinds.FOLD_SIZES, kinds.FEW_TESTED]
    run += [] if holdout else [kinds.UNLIKE_FOLDS]
    run += [kinds.BASE_RATE] if classes else []
    run += [kinds.SCORE_SCALE] if two and not holdout else []
    run += [kinds.SCORE_IS_LABEL] if two and not fitted else []
    return (
        *map(Check, run),
        Check(kinds.ID_BOTH, _lacks("id", known)),
        Check(kinds.GROUP_BOTH, _lacks("group", known)),
        Check(kinds.TIME_TRAVEL, _lacks("time", known)),
        *_of_features(known, classes, coarse=coarse),
    )


def _lacks(name: str, known: Collection[str]) -> str:
    return "" if name in known else f"no {name}"


def _of_features(known: Collection[str], classes: Sequence[str], *, coarse: bool) -> list[Check]:
    lacks = _lacks("features", known)
    run = [kinds.NEAR_DUPLICATES, kinds.DRIFT, kinds.UNSEEN_CATEGORY, kinds.ID_LIKE, kinds.SINGLE_FEATURE]
    run += [kinds.CONFLICTING_LABELS] if classes else []
    return [
        Check(kinds.DUPLICATES, lacks or (TOO_COARSE if coarse else "")),
        *(Check(kind, lacks) for kind in run),
        Check(kinds.SELECTED_OUTSIDE, lacks or ("" if "candidates" in known else UNSELECTED)),
    ]


def missing(checks: Sequence[Check]) -> list[str]:
    """The checks that could not be run, those that lack the same together.

    >>> missing([Check(kinds.ID_BOTH, "no id"), Check(kinds.DRIFT), Check(kinds.TIME_TRAVEL, "no time")])
    ['id on both sides (no id)', 'time travel (no time)']
    """
    skipped = [check for check in checks if check.lacks]
    reasons = groupby(skipped, key=lambda check: check.lacks)
    return [f"{', '.join(check.name for check in some)} ({lacks})" for lacks, some in reasons]


def usual(checks: Sequence[Check]) -> list[str]:
    """The usual leaks that could not be looked for: groups, time, and copies, which ids or features show."""
    lacks = {check.kind: check.lacks for check in checks}
    copies = lacks[kinds.DUPLICATES]
    unseen = {kinds.GROUP_BOTH: lacks[kinds.GROUP_BOTH], kinds.TIME_TRAVEL: lacks[kinds.TIME_TRAVEL]}
    unseen[kinds.DUPLICATES] = copies if lacks[kinds.ID_BOTH] or copies == TOO_COARSE else ""
    return [kind.name for kind, reason in unseen.items() if reason]
