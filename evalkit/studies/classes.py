"""The study of several classes: one actual class per row, and predicted classes or scores by every
system.

A table that fits into memory is held row by row. A larger one is read twice in blocks: first to
count confusion cells and the scores of each class, then to add up the influence of the rows on
metrics such as AUC.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from itertools import compress
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import TermsKind
from evalkit.catalogue.metric import MetricAtK
from evalkit.catalogue.tables import AVERAGE_PRECISION, F1, ROC_AUC, against_rest
from evalkit.limits import USUAL, Limits
from evalkit.measured.classes import SHARE, ClassesInMemory, SummedClasses
from evalkit.measured.readings import (
    ClassFirstReading,
    GroupMetric,
    MeanInfluence,
    RowSums,
    ScoreInfluence,
    SecondReading,
    class_rows,
)
from evalkit.measured.rows import TermAdder
from evalkit.metrics import calibration, counts, influence, labels
from evalkit.metrics.blocks import Block
from evalkit.metrics.rows import Rows
from evalkit.parameters.reports import ClassificationParameters
from evalkit.reading.inputs.outcomes import Outcomes, is_number
from evalkit.reading.reductions.scores import Predictions
from evalkit.statistics import bootstrap, class_cells, inference, intervals
from evalkit.statistics.statistic import Statistic, layout_of
from evalkit.studies import row_study, score_curves, study
from evalkit.studies.reliability import Fine, Reliability
from evalkit.studies.study import Row, Settings, Weakest, frame, limits, with_limits

MOST = 6  # classes that have a square each, or a curve with a colour and a name
NAMED = 4  # curves with colours of more classes
LINES = 30  # curves that one picture can hold
SMALL = Fine(curve=300, band=60, pooled=512)  # in such a square
BARS = 20


@dataclass(frozen=True)
class Choice:
    """The rule by which classes are chosen for a figure: its name, and a function of a table; the
    largest are drawn.
    """

    words: str
    of: Callable[[counts.Counts], float]


CALIBRATION = Choice("largest miscalibration", calibration.miscalibration)
SIZE = Choice("most rows", lambda c: float(c.positives))
WORST = Choice("lowest average precision", lambda c: -counts.average_precision(c))


def kept(
    names: Sequence[str], every: Iterable[counts.Counts], by: Choice, most: int = MOST
) -> dict[str, counts.Counts]:
    """The tables of at most so many classes, in their order, without classes that all rows or none
    have.
    """
    ranked = ((by.of(c), -i, c) for i, c in enumerate(every) if 0 < c.positives < c.total)
    largest = nlargest(most, ranked, key=lambda row: row[:2])
    return {names[-i]: c for _, i, c in sorted(largest, key=lambda row: -row[1])}


def parts(
    tables: Mapping[str, counts.Counts],
) -> dict[str, tuple[calibration.Decomposition, float]]:
    """The decomposition of each table's Brier score, and its calibration slope."""
    return {name: (calibration.decompose(c), calibration.slope(c)) for name, c in tables.items()}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EachStudy(row_study.RowStudy):
    """A study of several classes or labels, each of which may have scores of its own.

    noun: class or label. sides: the names of its rows and of the others. probabilities: True if all
    scores of every system lie in 0..1.
    """

    report: ClassVar[str] = "classification"
    listed_under: ClassVar[str] = "Row by row"
    noun: ClassVar[str]
    sides: ClassVar[tuple[str, str]]

    probabilities: bool

    @cached_property
    def sizes(self) -> Ints:
        """The number of rows of each class, or on which each label is true."""
        sizes: Ints = self.measured.sizes()
        return sizes

    @property
    def rows_by_name(self) -> dict[str, int]:
        """The number of rows by the name of the class or label."""
        return dict(zip(self.names, self.sizes.tolist(), strict=True))

    # Tables of scores

    def each(self, system: str) -> Iterator[counts.Counts]:
        """The table of a system for each class or label against the rest."""
        return (self.measured.table(system, c) for c in range(len(self.names)))

    @cached_property
    def drawn(self) -> dict[str, counts.Counts]:
        """The leader's table of each class or label whose curve is drawn, in their order."""
        return kept(self.names, self.each(self.leader), WORST, LINES)

    @cached_property
    def coloured(self) -> Sequence[str]:
        """The classes or labels whose curves have a colour and a name: all, or of many those that
        the leader separates worst.
        """
        most = MOST if len(self.drawn) <= MOST else NAMED
        return list(kept(list(self.drawn), self.drawn.values(), WORST, most))

    @property
    def uncoloured(self) -> int:
        """The number of classes or labels whose curves are drawn without a colour."""
        return len(self.drawn) - len(self.coloured)

    @cached_property
    def one_by_one(self) -> dict[str, counts.Counts]:
        """The leader's table of each class against the rest, for at most half a dozen classes."""
        return kept(self.names, self.each(self.leader), self.chosen_by)

    def curve(self, kind: str, system: str) -> pd.DataFrame:
        """A system's curve of each class against the rest, those with colours first: x, y and the
        class or label as `system`.
        """
        every = dict(zip(self.names, self.each(system), strict=True))
        order = dict.fromkeys([*self.coloured, *self.drawn])
        return score_curves.curve({name: every[name] for name in order}, kind, SMALL.curve)

    @property
    def chosen_by(self) -> Choice:
        """The rule by which classes are chosen for figures."""
        return CALIBRATION if self.probabilities else SIZE

    @cached_property
    def each_reliability(self) -> Reliability:
        """The reliability of each class by isotonic regression, without bins."""
        return self.isotonic_of(self.one_by_one, 7, SMALL)

    def estimated(self, of: Any) -> intervals.Estimate:
        """A number of the page that is not in the table of metrics, with its limits."""
        return inference.estimate(of, self.inference_options(1))


Of = Callable[[Rows], Bools]  # which of the rows


def among(member: Of, hit: Of) -> Callable[[Rows], Rows]:
    """A metric: the share of hits among the rows `member`."""
    return lambda rows: Rows(member(rows), decision=hit(rows), weight=rows.weight, unit=rows.unit)


METRICS = ("accuracy", "macro_f1", "mcc", "roc_auc_ovr", "log_loss", "brier")
TARGET = 0.9
TOPS = (1, 2, 3, 5)
CELLS = 2**11  # cells of all systems up to which the products of every two are summed over units
OF_CLASS = (MetricAtK(ROC_AUC), MetricAtK(AVERAGE_PRECISION))
BESIDE = 2**22  # numbers of units that stand side by side
PAIRS = 10  # mistakes of a table
CONFUSED = ["actual", "predicted", "n", "share", "low", "high", "of_errors"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClassesStudy(EachStudy):
    """The study of a multi-class table; the units are rows, or those that the parameter `unit`
    names.

    scored: True if there are scores for the classes.
    """

    noun: ClassVar[str] = "class"
    sides: ClassVar[tuple[str, str]] = ("rows of the class", "other rows")

    target: float
    scored: bool

    def rows_in(self, block: Block, system: int) -> Rows:
        """The rows of a block with the predictions of a system."""
        first = self.measured.first
        return replace(
            class_rows(first.with_predictions(first.as_problems(block)), system),
            weight=block.weight,
        )

    # Tables of scores

    @cached_property
    def one_by_one(self) -> dict[str, counts.Counts]:
        """The leader's table of each class against the rest, for at most half a dozen classes;
        empty without scores.
        """
        return super().one_by_one if self.scored else {}

    @cached_property
    def top_label(self) -> dict[str, counts.Counts]:
        """For each system, best first, the table of right and wrong predictions by the score of the
        predicted class.
        """
        return {name: self.measured.top_scores(name) for name in self.order}

    def constant(self, chosen: MetricAtK) -> float:
        """The metric of predicting the largest class for every row, with the shares of the classes
        as probabilities.
        """
        return chosen.value(self.measured.constant_rows(self.shares))

    # Numbers of classes

    @property
    def shares(self) -> Floats:
        """The share of each class in the rows, by weight."""
        weight = self.measured.weights
        return weight / weight.sum()

    def share_of(self, name: str, member: Of, hit: Of) -> intervals.Estimate:
        """The share of hits among some rows of a system, with limits."""
        return self.estimated(self.measured.derived(SHARE, name, among(member, hit)))

    @frame
    def by_class(self) -> Iterator[Row]:
        """Rows, predictions, precision, recall, F1 by class and system; with scores also AUC and
        average precision.
        """
        for name in self.order:
            said = self.measured.predicted_sizes(name).tolist()
            for c, (label, n) in enumerate(self.rows_by_name.items()):
                yield {"system": name, "class": label, "n": n, "predicted": said[c]} | self._class(
                    name, c
                )

    def _class(self, system: str, c: int) -> dict[str, float]:
        """The metrics of class number c against the rest, with their limits."""
        is_actual = _are(c)
        is_predicted = _called(c)
        statistics: dict[str, Statistic] = {
            "f1": self.measured.derived(F1, system, lambda rows: against_rest(rows, c))
        }
        if self.scored:
            statistics |= {
                "auc": self.measured.problem_metric(ROC_AUC, system, c),
                "average_precision": self.measured.problem_metric(AVERAGE_PRECISION, system, c),
            }
        estimates = {
            "precision": self.share_of(system, is_predicted, is_actual),
            "recall": self.share_of(system, is_actual, is_predicted),
        }
        estimates |= {metric: self.estimated(one) for metric, one in statistics.items()}
        return with_limits(estimates)

    @property
    def weakest(self) -> Weakest | None:
        """The leader's class with the lowest recall, and the class that its rows are most often
        predicted as.
        """
        weakest = Weakest.of("class", self.by_class[self.by_class["system"] == self.leader])
        if weakest is None:
            return None
        i = self.names.index(weakest.name)
        row = np.array(self.measured.confusion(self.leader).table[i], float)
        share, row[i] = row / row.sum(), 0
        return replace(
            weakest, instead=self.names[int(row.argmax())], share=float(share[row.argmax()])
        )

    # Pictures' data

    def bands(self, kind: str) -> pd.DataFrame | None:
        """Pointwise limits of these curves; none if rows are clustered or weighted, or there is no
        curve.
        """
        if not self.plain or not self.drawn:
            return None
        frames = []
        for c in self.coloured:
            table = influence.pooled(self.drawn[c])
            drawn = bootstrap.resampled(
                table, rng=self.rng(3), resamples=self.settings.limits.bands
            )
            frames.append(score_curves.band(c, drawn, kind, level=self.settings.level))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def confused(self) -> pd.DataFrame:
        """The leader's most frequent mistakes: actual, predicted, rows, and share of the actual
        class with limits.
        """
        table = np.array(self.measured.confusion(self.leader).table)
        np.fill_diagonal(table, 0)
        order = np.argsort(-table, axis=None, kind="stable")[:PAIRS]
        pairs = [divmod(int(place), len(table)) for place in order if table.flat[place] > 0]
        return pd.DataFrame([self._pair(*pair, table) for pair in pairs], columns=CONFUSED)

    def _pair(self, actual: int, predicted: int, table: np.ndarray) -> dict[str, Any]:
        e = self.share_of(self.leader, _are(actual), _called(predicted))
        names = {"actual": self.names[actual], "predicted": self.names[predicted]}
        of_errors = float(table[actual, predicted] / table.sum())
        return (
            names
            | {"n": table[actual, predicted].item()}
            | limits(e, "share")
            | {"of_errors": of_errors}
        )

    @frame
    def covered(self) -> Iterator[Row]:
        """Share of rows predicted as classes whose precision reaches the target, by system, with
        the limits of the metric coverage.
        """
        metric = lookup.find_metric(f"coverage@{self.target!r}", "classes")
        for name in self.order:
            table = self.measured.confusion(name)
            enough = labels.coverage_by_class(table, self.target) > 0
            classes = ", ".join(label for label, ok in zip(self.names, enough, strict=True) if ok)
            chosen = _predicted_in(enough)
            share = limits(self.estimate(metric, name))
            right = with_limits(
                {"right": self.share_of(name, chosen, lambda rows: rows.actual == rows.predicted)}
            )
            yield (
                {"system": name, "coverage": share.pop("value")}
                | share
                | {"classes": classes}
                | right
            )

    @frame
    def tops(self) -> Iterator[Row]:
        """The share of rows whose actual class is among the k highest scores."""
        for name in self.order:
            for k in (k for k in TOPS if k <= len(self.names)):
                yield {"system": name, "k": k} | limits(
                    self.estimate(lookup.find_metric(f"top@{k}", "classes"), name)
                )

    @cached_property
    def reliability(self) -> pd.DataFrame:
        """Share of right predictions by tenths of their score, with Wilson limits if rows are
        plain.
        """
        return self.tenths_of(self.top_label)

    @cached_property
    def isotonic(self) -> Reliability:
        """The reliability of the score of the predicted class by isotonic regression, for each
        system.
        """
        return self.isotonic_of(self.top_label, 6, Fine())

    @frame
    def calibration(self) -> Iterator[Row]:
        """Mean score of the predicted class, how often it is right, and the top-label ECE, by
        system.
        """
        for name in self.order:
            c = self.top_label[name]
            accuracy = self.estimate(lookup.find_metric("accuracy", "classes"), name)
            right = with_limits({"right": accuracy})
            e = self.perfect(c, calibration.ece_10)
            ece = {"ece_10": calibration.ece_10(c), "ece_10_expected": e.expected, "ece_10_p": e.p}
            yield {"system": name, "confidence": calibration.mean_score(c)} | right | ece


def _predicted_in(classes: Bools) -> Of:
    """The rows whose predicted class is one of these."""
    return lambda rows: classes[rows.predicted]


def _are(c: int) -> Of:
    """The rows of a class."""
    return lambda rows: rows.actual == c


def _called(c: int) -> Of:
    """The rows for which a class is predicted."""
    return lambda rows: rows.predicted == c


def asked(
    p: ClassificationParameters,
    systems: tuple[str, ...],
    limits: Limits,
    *,
    scored: bool,
    outside: str,
) -> Settings:
    """The parameters, checked. outside: describes a score outside 0..1 and its place, "" if there
    is none.
    """
    columns = dict.fromkeys(("scores", "probabilities"), "p_<class> columns, the table has none")
    lacks = (
        ({"probabilities": f"probabilities, {outside}"} if outside else {}) if scored else columns
    )
    chosen = lookup.find_computable(p.metrics, "classes", METRICS, lacks)
    settings = study.settings(
        p,
        chosen,
        unit=p.unit,
        segments=p.segments,
        groups=p.group_question,
        slices=p.slices,
        limits=limits,
    )
    return settings.checked(systems)


# Rows at hand -------------------------------------------------------------------------------------


def of_rows(data: Outcomes, p: ClassificationParameters, limits: Limits = USUAL) -> ClassesStudy:
    """The study of rows in memory."""
    rows = data.rows
    outside = data.outside
    scored = bool(data.score)
    settings = asked(p, rows.systems, limits, scored=scored, outside=outside)
    fields, shared = row_study.of_rows(data, settings, p)
    shared |= {"classes": len(data.names)}
    said = [(name, data.score.get(name), data.predicted[name]) for name in rows.systems]
    held = {
        name: Rows(data.actual, score, decision=predicted, **shared)
        for name, score, predicted in said
    }
    return _study(
        fields,
        ClassesInMemory(held, lambda: rows.id),
        p,
        data.names,
        scored=scored,
        outside=outside,
    )


def _study(
    fields: dict[str, Any],
    measured: Any,
    p: ClassificationParameters,
    names: tuple[str, ...],
    *,
    scored: bool,
    outside: str,
) -> ClassesStudy:
    sure = scored and not outside
    target = p.precision_target or TARGET
    return ClassesStudy(
        **fields, measured=measured, names=names, probabilities=sure, target=target, scored=scored
    )


# Blocks -------------------------------------------------------------------------------------------


def of_blocks(of: Predictions, p: ClassificationParameters, limits: Limits = USUAL) -> ClassesStudy:
    """The study of a table that is read once or twice. Raises ParameterError if a metric needs the
    rows in memory.
    """
    settings = asked(p, of.table.systems, limits, scored=of.scored, outside=of.outside)
    for chosen in settings.metrics:
        if not chosen.base.metric.needs_table_only:
            raise ParameterError(
                f"metrics: {chosen.label} needs all rows in memory, got {of.table.rows:,} rows"
            )
    of = _whole_units(of)
    measured = _counted(of, settings)
    there = [c for c in range(len(of.names)) if _seen(measured, c)]
    if not of.scored and len(there) < len(
        of.names
    ):  # other classes have rows only whose id another system lacks
        of = of.only(there)
        measured = _counted(of, settings)
    if second := _second_reading(of, measured, settings):
        measured = replace(
            measured, second=second, second_summary=row_study.nameless(of.table).total(second)
        )
    rows = measured.summary.rows
    fields = row_study.of_blocks(of.table, rows, settings, p, weighted=of.scale is not None)
    return _study(fields, measured, p, of.names, scored=of.scored, outside=of.outside)


def _seen(measured: SummedClasses, c: int) -> bool:
    """True if any row has a class, or any system predicts it."""
    return bool(
        measured.sizes()[c] or any(measured.predicted_sizes(name)[c] for name in measured.systems)
    )


def _whole_units(of: Predictions) -> Predictions:
    """The table, its units side by side only where their cells are few; raises ParameterError for
    too many cells.
    """
    t = of.table
    systems = len(t.systems)
    classes = len(of.names)
    cells = systems * classes**2
    if t.schema.unit and cells > CELLS:
        got = f"{systems} systems and {classes} classes have {cells:,} cells"
        raise ParameterError(
            f"unit: {got}, of more than {CELLS:,} the units need all rows in memory; choose systems"
        )
    if t.schema.units * (cells + 1) > BESIDE:
        return replace(of, table=replace(t, schema=replace(t.schema, units_split=False)))
    return of


def _counted(of: Predictions, settings: Settings) -> SummedClasses:
    """The first reading; raises InputError for ids that do not pair."""
    t = of.table
    first = _first(of, settings)
    counted = row_study.counted(t, first)
    limit = first.counting.max_cells
    if any(
        tally.merged.shift for cells in counted.cells.values() for tally in cells.cells.values()
    ):
        ways = f"in more than {limit:,} ways"
        needs = "which needs all rows in memory; choose one system"
        raise ParameterError(
            f"systems: actual and predicted classes of two systems come {ways}, {needs}"
        )
    measured = SummedClasses(
        t.systems, first, counted, layout_of(units=t.schema.unit, weights=of.scale is not None)
    )
    measured.refuse_partial_losses()
    return measured


def _first(of: Predictions, settings: Settings) -> ClassFirstReading:
    t = of.table
    k = len(of.names)
    limits = settings.limits
    primary = settings.metrics[0].base
    systems = len(t.systems)
    sliced = isinstance(primary.metric.kind, TermsKind)
    few = row_study.few_units(t, limits)
    tops = [lookup.find_metric(f"top@{n}", "classes") for n in TOPS if n <= k] if of.scored else []
    losses = [
        chosen.base for chosen in settings.metrics if isinstance(chosen.base.metric.kind, TermsKind)
    ]
    metrics = tuple({chosen.label: chosen for chosen in [*losses, *tops]}.values())
    return ClassFirstReading(
        scored=of.scored,
        counting=class_cells.CellCounter(
            classes=k,
            scale=of.scale,
            square_scale=of.squares,
            max_cells=limits.bins,
            max_units=few,
        ),
        loss_adder=TermAdder.uncentred(metrics, systems, few, class_rows),
        slices_losses=sliced,
        slices_scores=bool(_ordered(primary)),
        limits=limits,
        problems=k,
        max_ids=t.ids_held,
    )


def _second_reading(
    of: Predictions, measured: SummedClasses, settings: Settings
) -> SecondReading | None:
    """What the second reading needs to know of the first; None if all is known."""
    systems = range(len(of.table.systems))
    k = len(of.names)
    means = {}
    for group in measured.groups:
        for chosen in _areas(settings.metrics, group, each=of.scored and not measured.plain):
            influence_tables = [
                [ScoreInfluence.from_table(chosen, measured.scores(group, i, c)) for c in range(k)]
                for i in systems
            ]
            key = GroupMetric(group, chosen.label)
            means[key] = MeanInfluence(influence_tables, np.full(k, 1 / k), n_strata=k)
    if means:
        return SecondReading(first=measured.first, plain=measured.plain, means=means)
    return None


def _areas(metrics: Sequence[MetricAtK], group: int, *, each: bool) -> list[MetricAtK]:
    """The metrics of the order of the scores of a class, of a group. each: those of every class
    stand on the page.
    """
    wanted = [] if group or not each else list(OF_CLASS)
    for chosen in metrics[:1] if group else metrics:
        wanted += _ordered(chosen)
    return list({chosen.label: chosen for chosen in wanted}.values())


def _ordered(chosen: MetricAtK) -> list[MetricAtK]:
    """The metric of one class of which another one is the mean, where it follows from the order of
    the scores.
    """
    kind: Any = chosen.base.metric.kind
    return [] if isinstance(kind, TermsKind) or kind.uses_decisions else [MetricAtK(kind.metric)]


# What the findings are measured by ----------------------------------------------------------------

TOGETHER = 40  # classes that a picture can show: its size grows with their square


def never_predicted(study: ClassesStudy) -> dict[str, list[str]]:
    """By system the classes that occur but are never predicted."""
    never = {
        name: (study.sizes > 0) & (study.measured.predicted_sizes(name) == 0)
        for name in study.systems
    }
    return {
        name: list(compress(study.names, lacks)) for name, lacks in never.items() if lacks.any()
    }


def ordered_alphabetically(study: ClassesStudy) -> list[str]:
    """The metrics that depend on the order of more than two classes, where the names of some of
    these are no numbers and so stand in alphabetical order.
    """
    if len(study.names) < 3 or all(map(is_number, study.names)):
        return []
    return [chosen.label for chosen in study.settings.metrics if chosen.metric.orders_classes]


def not_highest(study: ClassesStudy) -> dict[str, int]:
    """By system the number of rows, if any, whose predicted class (from a column) does not have the
    highest score.
    """
    return {
        name: rows
        for name in study.systems
        if study.scored and (rows := study.measured.not_highest(name))
    }


def row_sums(study: ClassesStudy) -> dict[str, RowSums]:
    """The sums of the rows' probabilities by system; empty if there are no probabilities."""
    if not (study.scored and study.probabilities):
        return {}
    return {name: study.measured.row_sums(name) for name in study.systems}


def incomplete_slices(study: ClassesStudy) -> list[str]:
    """The slices without any row of some class."""
    several = np.count_nonzero(study.sizes)
    return [
        f"{p.column} {p.label}"
        for p in study.slices
        if np.count_nonzero(study.measured.sizes(p.member)) < several
    ]


def worst_mistake(study: ClassesStudy) -> tuple[str, str, float] | None:
    """The most frequent mistake of the leader: actual class, predicted class, and the weight of
    these rows.
    """
    table = study.measured.confusion(study.leader).table
    wrong = np.where(np.eye(len(table), dtype=bool), -1, table)
    i, j = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return (study.names[i], study.names[j], float(wrong[i, j])) if wrong[i, j] > 0 else None


def drawn_together(
    table: np.ndarray, classes: tuple[str, ...]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The table of at most `TOGETHER` classes, the rarest summed into one, and the names of the
    classes.
    """
    if len(classes) <= TOGETHER:
        return table, classes
    kept = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[: TOGETHER - 1])
    place = np.full(len(classes), TOGETHER - 1)
    place[kept] = np.arange(TOGETHER - 1)
    together = np.zeros((TOGETHER, TOGETHER), dtype=table.dtype)
    np.add.at(together, (place[:, None], place[None, :]), table)
    return together, (*(classes[i] for i in kept), f"({len(classes) - TOGETHER + 1} others)")
