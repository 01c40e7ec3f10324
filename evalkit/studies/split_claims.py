"""What a split allows to claim: of the fitted models, of the learner, and of the best of several
systems.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.caching import cached
from evalkit.statistics.significance import Comparison, adjust, holm, verdict
from evalkit.studies.out_of_fold import CORRECTED_FOLD_MEAN, LEARNER_CLAIM, MODELS, Validation
from evalkit.studies.study import Row, as_data_frame, with_limits

PARTS = 5  # of the test rows of a holdout, on each of which the system is chosen by the others
PART_DRAWS = 11  # the number of their sequence of random numbers, see `Study.rng`


@cached
@as_data_frame
def claims(study: Validation) -> Iterator[Row]:
    """The subject's primary metric and its difference from each other system, a row for each claim
    and system.

    Columns: claim, decides (True for the claim of the verdict), system (the subject), value, low,
    high, n, unit, method; against (the other system), difference with _low and _high, p, adjusted
    (by Holm within the claim), verdict, test.

    this model: the fitted models are fixed, and rows (units) vary. such a learner: a model fitted
    to other rows, by Nadeau and Bengio's corrected t over folds; not for a holdout, whose one model
    says nothing about others.
    """
    yield from _claim(study, MODELS)
    if not study.holdout:
        yield from _claim(study, LEARNER_CLAIM)


def _claim(study: Validation, claim: str) -> Iterator[Row]:
    """The rows of one claim with the columns of `claims`: a row for each system that the subject is
    compared with. claim: `MODELS`, about the fitted models, or `LEARNER_CLAIM`, about what fits
    them; of the latter there are no rows if fewer than two folds define the metric.
    """
    estimate = study.interval_over_rows  # the models are fixed, their test rows are a sample
    if claim == LEARNER_CLAIM:
        # The models of the folds are a sample of what the learner learns. Their variance needs two
        # folds with a value: with fewer, `intervals` has no corrected t.
        by_fold = study.intervals[study.intervals["what"] == CORRECTED_FOLD_MEAN]
        if not len(by_fold):
            return
        estimate = by_fold.iloc[0].to_dict()
    # the page's verdicts rest on one of the two claims
    is_deciding = claim == deciding(study)
    of_subject: Row = {"claim": claim, "decides": is_deciding, "system": study.evaluated_system}
    of_subject |= {name: estimate[name] for name in ("value", "low", "high", "n", "unit", "method")}
    compared = [name for name in study.order if name != study.evaluated_system]
    tests = [_test(study, name, claim) for name in compared]
    for name, test in zip(compared, adjust(tests, holm), strict=True):
        word = verdict(
            test, margin=study.settings.margin, direction=study.primary_metric.metric.sign
        )
        of_pair: Row = {"against": name} | with_limits({"difference": test.difference})
        of_pair |= {"p": test.p_value, "adjusted": test.adjusted, "verdict": word}
        of_pair["test"] = test.method
        yield of_subject | of_pair


def _test(study: Validation, system: str, claim: str) -> Comparison:
    """The subject against another system. Against the baseline the test has the study's question,
    which may be one-sided. Against the others it is two-sided: the subject was chosen because its
    value was better than theirs, so that a one-sided test would reject too often.
    """
    if system != study.baseline:
        study = study.two_sided
    pair = (study.evaluated_system, system)
    if claim == LEARNER_CLAIM:
        return study.compare_folds(study.primary_metric, pair)
    return study.compare_pooled(study.primary_metric, pair)


def differing_verdicts(study: Validation) -> dict[str, dict[str, str]]:
    """The systems against which the subject has one verdict if the fitted models are meant and
    another one if the learner is meant: system -> claim -> verdict, see `claims`. Empty for a
    holdout, which allows a claim about its model alone.
    """
    verdicts: dict[str, dict[str, str]] = {}
    if study.holdout:
        return verdicts
    for name, rows in claims(study).groupby("against", sort=False):
        if rows["verdict"].nunique() > 1:
            verdicts[str(name)] = dict(zip(rows["claim"], rows["verdict"], strict=True))
    return verdicts


def deciding(study: Validation) -> str:
    """The claim that the verdicts are about."""
    return LEARNER_CLAIM if study.pools_few_rows else MODELS


# The best of several ------------------------------------------------------------------------------


@cached
@as_data_frame
def winner(study: Validation) -> Iterator[Row]:
    """The best of several systems, and its primary metric less the gain of being chosen on the same
    rows. One row; none for a single system, for estimators that are fitted here, and if fewer than
    two folds define the metric.

    The folds show the gain: without each fold the best system on the other units is chosen, and
    measured on the fold. A holdout has no such folds: five parts of its test units take their
    place. The models of the other folds were trained on the fold, so that a part of the gain
    remains: with six equal learners half of it for 100 rows, a quarter for 500, in simulations.

    Columns: system (the winner); of, the number of systems without the baseline; apparent, the
    value of the winner's answer; chosen, the mean over folds of the value of the system chosen
    without the fold; selection, the mean of the winner's values in the folds minus chosen; value,
    low, high, the answer minus the selection, if the selection is a gain; folds, how many define
    the metric; changed, in how many another system is chosen.
    """
    names = [name for name in study.order if name != study.baseline]
    if study.fits_estimators or len(names) < 2:
        return
    metric = study.primary_metric.metric
    choices = [_choice(study, fold, names) for fold in _selection_folds(study)]
    # in each fold the value of the system chosen without the fold, and that of the winner
    chosen = np.array([choice.value for choice in choices])
    of_winner = np.array([choice.winner_value for choice in choices])
    differences: Floats = of_winner - chosen
    defined = np.isfinite(differences)
    if defined.sum() < 2:
        return
    selection = float(differences[defined].mean())
    # 0 if being chosen was no advantage; `sign` is −1 for a metric whose low values are better
    gain = metric.sign * max(metric.sign * selection, 0.0)
    answer = study.answer  # the winner's value and its limits on all rows
    row: Row = {"system": study.evaluated_system, "of": len(names), "apparent": answer["value"]}
    row |= {"selection": selection, "chosen": float(chosen[defined].mean())}
    for end in ("value", "low", "high"):
        row[end] = float(np.clip(answer[end] - gain, metric.low, metric.high))
    changed = sum(choice.system != study.evaluated_system for choice in choices)
    yield row | {"folds": int(defined.sum()), "changed": changed}


class SelectionFold(NamedTuple):
    """The rows of a fold, and those of the units that it does not test; as numbers among the tested
    rows of the study.
    """

    tested: Ints
    remaining: Ints


class FoldChoice(NamedTuple):
    """The system that is best without the rows of a fold, its value on them, and that of the
    winner on all rows.
    """

    system: str
    value: float
    winner_value: float


def _choice(study: Validation, fold: SelectionFold, systems: Sequence[str]) -> FoldChoice:
    """The best of `systems` on the rows outside a fold, and how it does in the fold, beside the
    winner, which is the best on all rows (`study.evaluated_system`). If no system has a value
    outside the fold, the choice is the winner.
    """
    primary = study.primary_metric
    winner_name = study.evaluated_system
    values = {name: study.measure(primary, name, fold.remaining).value for name in systems}
    defined = [name for name in systems if np.isfinite(values[name])]
    best = max(defined, key=lambda name: primary.metric.sign * values[name], default=winner_name)
    return FoldChoice(
        system=best,
        value=study.measure(primary, best, fold.tested).value,
        winner_value=study.measure(primary, winner_name, fold.tested).value,
    )


def _selection_folds(study: Validation) -> Iterator[SelectionFold]:
    """Yield the folds that test a choice of the best system: it is chosen on the rows `remaining`
    and measured on the rows `tested`. A holdout has no folds; five random parts of its units take
    their place.
    """
    # the number of each row's unit; without units each row is one
    unit = np.arange(len(study.rows)) if study.unit is None else study.unit
    if study.holdout:
        units = int(unit.max()) + 1
        # whole units are divided at random into parts of about equal size
        part_of_unit = study.rng(PART_DRAWS).permutation(units) % PARTS
        part_of_row = part_of_unit[unit]
        tests = [np.flatnonzero(part_of_row == number) for number in range(PARTS)]
    else:
        tests = [fold.member for fold in study.tests]
    for tested in tests:
        # a unit with a tested row has no part in the choice, as its rows are alike
        remaining = np.flatnonzero(~np.isin(unit, unit[tested]))
        if len(tested) and len(remaining):  # else nothing to measure on, or to choose by
            yield SelectionFold(tested, remaining)
