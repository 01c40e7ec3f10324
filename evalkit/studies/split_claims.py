"""What a split allows to claim: of the fitted models, of the learner, and of the best of several
systems.
"""

from collections.abc import Iterator

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.statistics.significance import Comparison, adjust, holm, verdict
from evalkit.studies.out_of_fold import CORRECTED, LEARNER, MODELS, Validation
from evalkit.studies.study import Row, framed, limits
from evalkit.system import cached

PARTS = 5  # of the test rows of a holdout, on each of which the system is chosen by the others


@cached
@framed
def claims(study: Validation) -> Iterator[Row]:
    """The subject's primary metric and its difference from each other system, by what is claimed.

    this model: the fitted models are fixed, and rows (units) vary. such a learner: a model fitted
    to other rows, by Nadeau and Bengio's corrected t over folds; not for a holdout, whose one model
    says nothing about others. p is adjusted by Holm within each claim. decides: True for the claim
    of the verdict.
    """
    yield from _claim(study, MODELS)
    if not study.holdout:
        yield from _claim(study, LEARNER)


def _claim(study: Validation, covers: str) -> Iterator[Row]:
    """The rows of one claim."""
    of_learner = covers == LEARNER
    estimate = study.of_rows
    if of_learner:
        by_fold = study.intervals[study.intervals["what"] == CORRECTED]
        if not len(by_fold):
            return
        estimate = by_fold.iloc[0].to_dict()
    others = [name for name in study.order if name != study.subject]
    tests = [_test(study, name, covers) for name in others]
    row: Row = {"claim": covers, "decides": covers == deciding(study)}
    row |= {"system": study.subject}
    row |= {name: estimate[name] for name in ("value", "low", "high", "n", "unit", "method")}
    for name, test in zip(others, adjust(tests, holm), strict=True):
        difference = limits(test.difference, "difference")
        word = verdict(test, margin=study.settings.margin, direction=study.primary.metric.sign)
        yield row | {
            "against": name,
            "difference": difference["difference"],
            "difference_low": difference["low"],
            "difference_high": difference["high"],
            "p": test.p_value,
            "adjusted": test.adjusted,
            "verdict": word,
            "test": test.method,
        }


def _test(study: Validation, name: str, covers: str) -> Comparison:
    """The subject against another system; one-sided only against the baseline, as its value chose
    the subject among the others.
    """
    asked = study if name == study.baseline else study.two_sided
    pair = (study.subject, name)
    if covers == LEARNER:
        return asked.compare_folds(study.primary, pair)
    return asked.compare_pooled(study.primary, pair)


def otherwise(study: Validation) -> dict[str, dict[str, str]]:
    """The systems whose verdict depends on the claim: system -> claim -> verdict."""
    if study.holdout:
        return {}
    words = {
        name: dict(zip(rows["claim"], rows["verdict"], strict=True))
        for name, rows in claims(study).groupby("against", sort=False)
    }
    return {
        str(name): by_claim for name, by_claim in words.items() if len({*by_claim.values()}) > 1
    }


def deciding(study: Validation) -> str:
    """The claim that the verdicts are about."""
    return LEARNER if study.few_pooled else MODELS


# The best of several ------------------------------------------------------------------------------


@cached
@framed
def winner(study: Validation) -> Iterator[Row]:
    """The best of several systems, and its primary metric less the gain of being chosen on the same
    rows, as far as the folds show it.

    In each fold the system that is best on the other units is chosen, and measured on the fold:
    chosen is the mean of these values. selection: by how much the mean of the winner's own values
    differs from it. value, low, high: the winner's answer less the selection, if that is a gain.
    The models of the other folds were trained on the fold, so that a part of the gain remains: of
    six equal learners half of it with 100 rows, a quarter with 500, in simulations.
    of: the number of systems. changed: in how many folds another system is chosen. Empty unless two
    or more were evaluated, or where fewer than two folds define the metric. Of a holdout, five
    parts of its test units are the folds.
    """
    names = [name for name in study.order if name != study.baseline]
    if study.fitted or len(names) < 2:
        return
    sign = study.primary.metric.sign
    best = []
    own = []
    chosen = []
    for inside, outside in _parts(study):
        rest = {name: study.measure(study.primary, name, outside).value for name in names}
        known = [name for name in names if np.isfinite(rest[name])]
        pick = max(known, key=lambda name: sign * rest[name], default=study.subject)
        best.append(pick)
        own.append(study.measure(study.primary, study.subject, inside).value)
        chosen.append(study.measure(study.primary, pick, inside).value)
    apart: Floats = np.array(own) - np.array(chosen)
    defined = np.isfinite(apart)
    if defined.sum() < 2:
        return
    selection = float(apart[defined].mean())
    gain = sign * max(sign * selection, 0.0)
    answer = study.answer
    lowest, highest = study.primary.metric.low, study.primary.metric.high
    without_gain = {
        end: float(np.clip(answer[end] - gain, lowest, highest)) for end in ("value", "low", "high")
    }
    yield {
        "system": study.subject,
        "of": len(names),
        "apparent": answer["value"],
        "selection": selection,
        "chosen": float(np.array(chosen)[defined].mean()),
        **without_gain,
        "folds": int(defined.sum()),
        "changed": sum(name != study.subject for name in best),
    }


def _parts(study: Validation) -> Iterator[tuple[Ints, Ints]]:
    """The rows of each fold, and the rows of the units that it does not test; as numbers among the
    tested rows.
    """
    rows = study.rows
    unit = np.arange(len(rows)) if study.unit is None else study.unit
    if study.holdout:
        of_unit = study.rng(11).permutation(int(unit.max()) + 1) % PARTS
        tests = [np.flatnonzero(of_unit[unit] == part) for part in range(PARTS)]
    else:
        tests = [fold.member for fold in study.tests]
    for inside in tests:
        outside = np.flatnonzero(~np.isin(unit, unit[inside]))
        if len(inside) and len(outside):
            yield inside, outside
