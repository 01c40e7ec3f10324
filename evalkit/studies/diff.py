"""The diff of two reports: every metric of every system on the units of both, and where its change
comes from.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import ClassVar, NamedTuple, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa

from evalkit import report
from evalkit.arrays import InputError, ParameterError, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import MetricAtK
from evalkit.drawing.shown import ShownStudy
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.machine.bundled_files import bundled_root
from evalkit.names import usual
from evalkit.parameters import reports
from evalkit.parameters.kinds import DATA, did_you_mean, written
from evalkit.parameters.policy import obstacle
from evalkit.reading.tables.parts import Source, stamp
from evalkit.reading.tables.table import Slice
from evalkit.statistics import inference, significance
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import RandomStream
from evalkit.statistics.statistic import Statistic
from evalkit.studies import diagnostics, groups, study, unit_files, units
from evalkit.studies.study import (
    EVERY,
    PairTest,
    Row,
    Study,
    SystemPair,
    UnitSelection,
    computed_once,
    estimate_columns,
    frame,
    with_limits,
)
from evalkit.studies.unit_files import (
    MatchedMetric,
    ReadUnits,
    StoredMetric,
    StoredSlice,
    StoredTerms,
    UnitFile,
)

SAMPLE_FOLDER = bundled_root() / "data" / "two_days"
SAMPLE: dict[str, object] = {"old": SAMPLE_FOLDER / "old", "new": SAMPLE_FOLDER / "new"}
OLD_REPORT = "the old report"
UNNAMED = "system"  # the name of a system whose input gives none
NEW, OLD = "new ", "old "  # before the name of a system: its side
MAX_SYSTEMS_WITH_BOTH = 4  # systems up to which the first screen has both sides
MAX_LISTED_UNITS = 500  # units that moved, as a page lists them
UNHASHED = "unknown"  # the hash of what is not a file
# parameters of a report that change no number of its units
PARAMETERS_OF_PAGES = (
    "title",
    "note",
    "data_date",
    "gate",
    "units",
)


def study_of(p: reports.DiffParameters, limits: Limits = USUAL_LIMITS) -> "Diff":
    """Compare two reports of one kind, unit by unit: of two days, or of one input by two versions.

    Each is read from its file of units. A difference is new − old. Without `old` and `new`, the
    bundled sample is read. Raises ParameterError for an invalid parameter, InputError for a report
    that is missing or of another kind.

    >>> import evalkit as ek
    >>> ek.diff(metrics="accuracy").account[["change", "changed", "left", "came"]].round(4).to_dict(
    ...     "records"
    ... )
    [{'change': 0.0046, 'changed': 0.0086, 'left': -0.0014, 'came': -0.0027}]
    """
    if p.old is None and p.new is None:
        p = p.with_defaults(SAMPLE)
    if p.old is None or p.new is None:
        present = "new" if p.old is None else "old"
        raise ParameterError(f"old and new: both must be given, got only {present}")
    earlier = [] if p.earlier is None else p.earlier
    if not isinstance(earlier, list | tuple):
        earlier = [earlier]
    reports_by_age = [*earlier, p.old, p.new]
    paths = [located(path) for path in reports_by_age]
    return Diff.from_files(unit_files.read(paths), p, limits)


read = reports.reader(reports.DiffParameters)(study_of)


FORMS = "NAME.units.parquet, NAME.json or NAME.html"


def located(report_path: object) -> Path:
    """The file of units of a report, NAME.units.parquet. report_path: that of any of the report's
    files, or of a folder in which it is the only report.

    Raises ParameterError if `report_path` is not a path, InputError if there is no report, or more
    than one.
    """
    if not isinstance(report_path, str | PathLike):
        raise ParameterError(
            f"a report must be a path: {FORMS}, or its folder, "
            f"got {type(report_path).__name__}; study.save('NAME.units.parquet') writes one"
        )
    path = Path(report_path).expanduser()
    if path.is_dir():
        wanted = f"*{report.UNITS}"
        files = sorted(path.glob(wanted))
    else:
        wanted = f"{report.stem(path)}{report.UNITS}"
        files = [path.with_name(wanted)]
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise InputError(f"{path}: must hold one report, got {names}; name one of them")
    has_units = bool(files) and files[0].is_file()
    if has_units:  # the path itself need not exist: NAME alone stands for a report
        return files[0]
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if not (path.is_dir() or looks_like_report(path)):
        raise InputError(f"{path}: must be a report, {FORMS}; `evalkit report` makes one of a file")
    raise InputError(
        f"{path}: the units of the report, {wanted}, are missing; make it again with "
        f"units=yes, in Python also study.save({wanted!r})"
    )


def side_pair(new: str, old: str) -> SystemPair:
    """The new and the old side of a system, from its names in the new and in the old report.

    >>> side_pair("m-1120", "m-0806")
    ('new m-1120', 'old m-0806')
    """
    return f"{NEW}{new}", f"{OLD}{old}"


def looks_like_report(path: Path) -> bool:
    """True if a path looks like that of a report: its page NAME.html, its name NAME, or its results
    NAME.json, which must hold a report. It chooses the error where NAME.units.parquet is missing.
    """
    if path.suffix != ".json":
        return path.suffix in ("", ".html")
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(results, dict) and "report" in results


@dataclass(frozen=True, eq=False, repr=False)
class Diff(ShownStudy, Study):
    """The study of two reports. What other studies call a system is a side here: a system in one of
    the two reports, called "new NAME" or "old NAME".

    files: the earlier reports, then the old and the new one. names: of all units, by their number.
    old_name_by_new: the name of a system in the new report -> its name in the old one.
    matched_metrics: label of a metric -> new and old side of each system that both reports have it
    of -> the metric in both.
    """

    report: ClassVar[str] = "diff"
    directed_pairs: ClassVar[bool] = True  # new and old
    adjusted_over: ClassVar[str] = "the systems of one metric that changed"

    files: Sequence[UnitFile]
    names: pa.Array
    old_name_by_new: Mapping[str, str]
    matched_metrics: Mapping[str, Mapping[SystemPair, MatchedMetric]]

    @classmethod
    def from_files(cls, read: ReadUnits, p: reports.DiffParameters, limits: Limits) -> "Diff":
        """The study of the files of units that were read. Raises InputError for reports of
        different kinds, and if the old and the new one have no metric of a system in common.

        read: the files of the earlier reports, then of the old and the new one.
        """
        old, new = read.files[-2:]
        for file in read.files:
            if file.file_metadata["report"] != new.file_metadata["report"]:
                kinds = " and ".join(
                    sorted({file.file_metadata["report"], new.file_metadata["report"]})
                )
                files = f"{short_file_path(file)} and {short_file_path(new)}"
                raise InputError(f"{files} must be of one report, got {kinds}")
        # the name of a system in the new report -> in the old one; `words` has the different texts
        # of a column
        partner = partners(old.words["system"], new.words["system"], p.pairs)
        matched = _matched(old, new, partner, p.metrics)
        if not matched:
            _refuse_unshared(old, new, partner)
        metrics = [new.metric_at_k(label) for label in matched]
        # a diff compares "new NAME" with "old NAME", which take the place of systems
        systems: list[str] = []
        for new_name, old_name in partner.items():
            systems += side_pair(new_name, old_name)
        # every comparison is with the old report; a diff writes no file of units of its own
        settings = study.settings(
            replace(p, baseline=OLD_REPORT, units=False), metrics, limits=limits
        )
        sources = [
            Source(short_file_path(file), len(file.table), file.path.absolute(), stamp(file.path))
            for file in read.files
        ]
        return cls(
            settings,
            tuple(systems),
            attributes={},
            p=p,
            sources=tuple(sources),
            files=read.files,
            names=read.names,
            old_name_by_new=partner,
            matched_metrics=matched,
        )

    @cached_property
    def headline(self) -> pd.DataFrame:
        """The comparisons of the primary metric: first significant losses, the largest first, then
        all others by their p-values.
        """
        rows = super().headline
        if not len(rows):
            return rows
        loss = rows["difference"].abs().where(rows["verdict"] == "worse", 0.0)
        # negative, so that the largest loss is the smallest in ascending order, like p
        in_order = rows.assign(negative_loss=-loss)
        in_order = in_order.sort_values(["negative_loss", "p"], kind="stable")
        return in_order.drop(columns="negative_loss")

    @property
    def largest_loss(self) -> Row | None:
        """The row of `comparisons` with the largest significant loss: by the primary metric if it
        shows a loss, else by any other metric; None if nothing is worse.
        """
        worse = self.comparisons[self.comparisons["verdict"] == "worse"]
        by_primary = worse[worse["metric"] == self.primary_metric.label]
        if len(by_primary):
            rows = by_primary.to_dict("records")
            largest: Row = max(rows, key=lambda row: abs(row["difference"]))
            return largest
        # different metrics have different scales: relative losses can be compared
        rows = worse.to_dict("records")
        relative: Row | None = max(rows, key=self._relative_loss, default=None)
        return relative

    def _relative_loss(self, row: Row) -> float:
        """The size of a change for the worse as a share of the metric's old value; infinite if the
        old value is 0. row: of `comparisons`, whose column `second` names the system as it is in
        the old report.
        """
        metrics = {chosen.label: chosen for chosen in self.settings.metrics}
        old_value = self.estimate(metrics[row["metric"]], row["second"]).value
        if not old_value:
            return float("inf")
        return float(abs(row["difference"])) / abs(old_value)

    def spoken(self, system: str) -> str:
        """What a sentence calls a side: the name of its system; "the new NAME" or "the old NAME" if
        both sides have the same name. A system without a name is "the new model" or "the old
        model".

        system: a side, "new NAME" or "old NAME".
        """
        prefix = NEW if system.startswith(NEW) else OLD  # "new " or "old "
        name = system.removeprefix(prefix)
        has_same_name_in_both = (name, name) in self.old_name_by_new.items()
        if name == UNNAMED:
            name = "model"
        if has_same_name_in_both or name == "model":
            return f"the {prefix}{name}"
        return name

    @property
    def family_size(self) -> int:
        """The systems of which some unit changed."""
        return sum(
            not np.isnan(self.compare(self.primary_metric, pair).p_value) for pair in self.pairs
        )

    def __dir__(self) -> list[str]:
        """The names that completion offers: those of every study, and the tables of a diff."""
        tables_of_a_diff = ["account", "segments", "most_changed", "moved", "series", "changes"]
        return [*super().__dir__(), *tables_of_a_diff]

    @property
    def system_names(self) -> list[str]:
        """The systems that both reports have, as the new one names them."""
        return list(self.old_name_by_new)

    def of_systems(self, names: Sequence[str]) -> "Diff":
        """This diff of the same two reports with some systems alone. names: their names in the new
        report. Metrics that none of them has are left out.
        """
        # new name of a system -> its old name
        old_name_by_new = {
            name: old_name for name, old_name in self.old_name_by_new.items() if name in names
        }
        # label of a metric -> (new side, old side) of a system -> the metric in both reports
        matched = {}
        for label, metric_of_sides in self.matched_metrics.items():
            selected = {
                sides: metric
                for sides, metric in metric_of_sides.items()
                if metric.new.system in names
            }
            if selected:
                matched[label] = selected
        return replace(self, old_name_by_new=old_name_by_new, matched_metrics=matched)

    @property
    def old(self) -> UnitFile:
        """The units of the old report."""
        return self.files[-2]

    @property
    def new(self) -> UnitFile:
        """The units of the new report."""
        return self.files[-1]

    @property
    def question_of_reports(self) -> str:
        """The one-sided question that both reports ask and this diff does not; "" otherwise."""
        question = self.old.parameters.get("alternative")
        is_shared = question == self.new.parameters.get("alternative")
        is_one_sided = question in ("greater", "less")
        return (
            str(question)
            if is_shared and is_one_sided and question != self.question_of_tests
            else ""
        )

    @property
    def deciding(self) -> Mapping[SystemPair, MatchedMetric]:
        """The metric that decides, of each pair of sides."""
        return self.matched_metrics[self.primary_metric.label]

    @property
    def differences_are(self) -> str:  # type: ignore[override]
        """Of which units the two sides are compared."""
        if self.has_no_common_unit:
            return "Differences of independent samples"
        return "Differences on the common units"

    @property
    def has_no_common_unit(self) -> bool:
        """True if no unit is in both reports."""
        return not any(matched.common_units.size for matched in self.deciding.values())

    @property
    def unlisted(self) -> dict[str, int]:
        """Side -> how many queries it has no list for, which count as 0; 0 if its file holds no
        lists.
        """
        n_empty = {}
        for (new_side, old_side), matched in self.deciding.items():
            n_empty[new_side] = _n_empty_lists(matched.new)
            n_empty[old_side] = _n_empty_lists(matched.old)
        return n_empty

    @property
    def unlisted_count(self) -> int:
        """How many queries all sides lack together."""
        return sum(self.unlisted.values())

    @property
    def unit_name(self) -> str:
        """What the new report calls its unit."""
        return str(
            self.new.file_metadata["unit"][self.new.metrics[self.primary_metric.label]["table"]]
        )

    @property
    def averaged(self) -> bool:
        """True if the metric that decides is a mean of values of units."""
        return all(matched.averaged for matched in self.deciding.values())

    def measure(
        self, chosen: MetricAtK, system: str, member: UnitSelection | StoredSlice = EVERY
    ) -> Statistic:
        """A metric of a side on the common units; on all its own where none is common."""
        pair = next(pair for pair in self.matched_metrics[chosen.label] if system in pair)
        statistics = self._matched_in(chosen, pair, member).statistics
        return statistics.new if system == pair[0] else statistics.old

    def _matched_in(
        self, chosen: MetricAtK, pair: SystemPair, member: UnitSelection | StoredSlice
    ) -> MatchedMetric:
        """A metric in both reports, on all units or those of a slice."""
        matched = self.matched_metrics[chosen.label][pair]
        return matched.in_slice(member) if isinstance(member, StoredSlice) else matched

    @computed_once
    def compare(
        self, chosen: MetricAtK, pair: SystemPair, member: UnitSelection | StoredSlice = EVERY
    ) -> significance.Comparison:
        """The difference new − old of a metric, as in `Study.compare`."""
        return self._compare_reports(self._matched_in(chosen, pair, member))

    def _compare_reports(self, matched: MatchedMetric) -> significance.Comparison:
        """The difference new − old of a metric with its test, paired on the common units; as of two
        independent samples if there are none. It answers the question of the diff, one-sided or
        two-sided.
        """

        def at_level(level: float) -> significance.Comparison:
            """The two-sided comparison with its interval at this level."""
            options = replace(self.inference_options(RandomStream.COMPARISONS), level=level)
            return matched.comparison(options)

        return self.comparison_of_question(at_level)

    @property
    def pairs(self) -> list[SystemPair]:
        """The new and the old side of each system that has the metric that decides."""
        return list(self.deciding)

    @property
    def order(self) -> list[str]:
        """The sides of these systems; of many the new ones, so that each has a row of the first
        screen.
        """
        if len(self.pairs) > MAX_SYSTEMS_WITH_BOTH:
            return [new_side for new_side, _ in self.pairs]
        return self.sides(self.primary_metric)

    def sides(self, chosen: MetricAtK) -> list[str]:
        """The sides of the systems that are compared by a metric, each new one before its old
        one.
        """
        return list(chain.from_iterable(self.matched_metrics[chosen.label]))

    def subjects(self, chosen: MetricAtK) -> list[str]:
        """The sides of all systems of a metric, also of those without a partner."""
        return self.sides(chosen) + list(self.unpaired(chosen.label))

    def against(self, chosen: MetricAtK, second: str | None) -> list[SystemPair]:
        """The new and the old side of each system of a metric, also of those without a partner;
        raises ParameterError for any other pair.
        """
        if second is not None:
            raise ParameterError(f"a diff compares with the old report; leave out 'than {second}'")
        pairs = list(self.matched_metrics[chosen.label])
        pairs += [(unpaired, OLD_REPORT) for unpaired in self.unpaired(chosen.label)]
        return pairs

    def obstacle(self, chosen: MetricAtK, system: str, second: str) -> str:
        """Why a system is not compared, or why no comparison counts."""
        return self.broken_design or self.unpaired(chosen.label).get(system, "")

    @cached_property
    def broken_design(self) -> str:
        """Why no result of the new or the old report counts; "" if results count."""
        label = self.primary_metric.label
        return self.new.broken_design(label) or self.old.broken_design(label)

    @property
    def unpaired_new(self) -> list[str]:
        """The systems of the new report without a partner."""
        return [name for name in self.new.words["system"] if name not in self.old_name_by_new]

    @property
    def unpaired_old(self) -> list[str]:
        """The systems of the old report without a partner."""
        return [
            name for name in self.old.words["system"] if name not in self.old_name_by_new.values()
        ]

    def unpaired(self, label: str) -> dict[str, str]:
        """The systems for which either report has this metric, but that are not compared by it, as
        "new NAME" or "old NAME", -> the reason as a text. label: of the metric.
        """
        metrics = self.matched_metrics[label].values()
        new_compared = {metric.new.system for metric in metrics}
        old_compared = {metric.old.system for metric in metrics}
        old_of_new = self.old_name_by_new  # name in the new report -> name in the old one
        new_of_old = {old: new for new, old in self.old_name_by_new.items()}
        reasons = {}
        for name in self.new.systems_of(label):
            if name not in new_compared:
                why = _why_unpaired(name, old_of_new, new_of_old, missing_in="old")
                reasons[f"{NEW}{name}"] = why
        for name in self.old.systems_of(label):
            if name not in old_compared:
                why = _why_unpaired(name, new_of_old, old_of_new, missing_in="new")
                # a system that the new report lacks altogether is listed as its missing new side
                prefix = OLD if name in self.new.words["system"] else NEW
                reasons[f"{prefix}{name}"] = why
        return reasons

    def group_parts(self, column: str) -> list[Slice]:
        """Raise ParameterError: groups are not in the files of units."""
        raise groups.not_stored(column)

    def slices_obstacle(self, column: str) -> str:
        """Why slices are not compared with each other."""
        return obstacle("slices_of_diff")

    def divisions(self) -> list[Slice]:
        """The slices by each segment column that both reports have: one for each value that occurs
        in the column of either report.
        """
        slices = []
        for name, column in self.new.segments.items():  # name of a segment -> column of the file
            if name not in self.old.segments:
                continue
            new_values = self.new.words[column]  # the different texts of the column
            old_values = self.old.words[column]
            for value in dict.fromkeys(new_values + old_values):  # each once
                # the rows of the slice are selected in either file when they are needed
                slices.append(Slice(name, label=value, member=StoredSlice(column, value)))
        return slices

    @property
    def families(self) -> list[list[PairTest]]:
        """The families of comparisons, each adjusted together: for each metric that has a direction
        all systems that both reports have it of.
        """
        families = []
        for chosen in self.metrics_with_direction:
            families.append([PairTest(chosen, pair) for pair in self.matched_metrics[chosen.label]])
        return families

    @frame
    def estimates(self) -> Iterator[Row]:
        """Yield each metric of both sides of each system, on the common units: metric, system,
        value, low, high, level, n, method.
        """
        for chosen in self.settings.metrics:
            for name in self.sides(chosen):
                yield {"metric": chosen.label, "system": name} | vars(self.estimate(chosen, name))

    def units_held(self) -> units.Units:
        """None: those of the two reports are files."""
        return units.Units(0, ())

    @property
    def units(self) -> pd.DataFrame:
        """Raise InputError: the units are those of the two reports, each in its own file."""
        raise InputError(
            "units: a diff has no units of its own; read those of its reports, "
            f"{str(self.old.path)!r} and {str(self.new.path)!r}, with pandas.read_parquet"
        )

    # Where the change comes from

    @frame
    def account(self) -> Iterator[Row]:
        """Yield the change of each metric of each system over all units, and the terms that add up
        to it: metric, system, old, new, change, change_low, change_high, changed, low, high, left,
        came, common, only_old, only_new, verdict. The terms are NaN without common units.

        changed: M_new(C) − M_old(C) on the common units C, with low and high. left: M_old(C) −
        M_old(all). came: M_new(all) − M_new(C). common, only_old, only_new: numbers of units.
        change_low, change_high: limits of the change if no unit is common, as of independent
        samples; else NaN. verdict: "" for a metric without a direction.
        """
        verdicts = {
            (row["metric"], row["first"]): diagnostics.verdict_of(row)
            for row in self.comparisons.to_dict("records")
        }
        for chosen in self.settings.metrics:
            for pair, matched in self.matched_metrics[chosen.label].items():
                new_side, _ = pair  # the first system of a comparison
                row: Row = {"metric": chosen.label, "system": matched.new.system}
                row |= _change_and_terms(matched, self.compare(chosen, pair).difference)
                row |= matched.sizes
                row["verdict"] = verdicts.get((chosen.label, new_side), "")
                yield row

    @frame
    def segments(self) -> Iterator[Row]:
        """Yield the primary metric of each system in each slice by a column that both reports have,
        the smallest p first: segment, slice, system, old, new, p, old_all, new_all, difference,
        difference_low, difference_high, mix, within, common, only_old, only_new, adjusted.

        segment, slice: the column, and the value that the units of the slice have there. old, new:
        the metric on the common units of the slice, as for the difference; on all units of the
        slice if none is common. old_all, new_all: on all units of the slice in each report. mix,
        within: the two terms that the slice adds to the change of the metric over all units: by the
        change of its share, at its mean value, and by the change of its value, at its mean share
        (Kitagawa 1955, doi:10.1080/01621459.1955.10501299); NaN unless the metric is a mean or a
        ratio. common, only_old, only_new: numbers of units. adjusted: p adjusted by Holm over all
        rows.
        """
        rows = []
        for slice_ in self.divisions():
            for matched in self.deciding.values():  # the primary metric of each system
                in_slice = matched.in_slice(slice_.member)
                if any(in_slice.sizes.values()):  # the slice has units in either report
                    row = {"segment": slice_.column, "slice": slice_.label}
                    rows.append(row | self._slice_row(matched, in_slice))
        # the smallest p first; False sorts before True, so that an undefined p (NaN) is last
        rows.sort(key=lambda row: (np.isnan(row["p"]), row["p"]))
        adjusted = significance.holm([row["p"] for row in rows])
        for row, p in zip(rows, adjusted.tolist(), strict=True):
            yield row | {"adjusted": p}

    def _slice_row(self, matched: MatchedMetric, in_slice: MatchedMetric) -> Row:
        """The row of `segments` of a system in a slice, without the columns segment, slice and
        adjusted. matched: the metric in both reports on all units. in_slice: on the units of the
        slice.
        """
        n_common = in_slice.common_units.size  # units of the slice that both reports have
        if n_common > 1:
            comparison = self._compare_reports(in_slice)
        else:  # a test needs two units
            options = self.inference_options(RandomStream.COMPARISONS)
            comparison = inference.undefined(options.level, options.unit)
        compared = in_slice.on_common_units if n_common else in_slice
        # `old` and `new` are on the units of the comparison, `old_all` and `new_all` on all units
        row = {
            "system": matched.new.system,
            "old": compared.old.value,
            "new": compared.new.value,
            "p": comparison.p_value,
            "old_all": in_slice.old.value,
            "new_all": in_slice.new.value,
        }
        difference = with_limits({"difference": comparison.difference})
        return row | difference | _mix_and_within(matched, in_slice) | in_slice.sizes

    @property
    def most_changed(self) -> Row | None:
        """The slice with the largest difference of those that show one after adjustment; None where
        none does.
        """
        rows = self.segments.to_dict("records")
        changed = [row for row in rows if significance.rejected(row["adjusted"], self.test_level)]
        return max(changed, key=lambda row: abs(row["difference"]), default=None)

    @frame
    def moved(self) -> Iterator[Row]:
        """Yield the common units on which the primary metric changed most, the largest change
        first, at most `MAX_LISTED_UNITS`: unit, system, old, new, difference, entered, left, and a
        column with the slice by each segment column.

        old, new: the value of the unit; if the reports store rows with predictions, its mean score.
        difference: new − old if the metric is a mean of values of units; else how far the unit
        moves the difference of the metric, to first order. entered, left: the items that the first
        ranks of a list gained and lost, only for ranked lists.
        """
        frames = [
            self._unit_changes(matched.on_common_units)
            for matched in self.deciding.values()  # the primary metric of each system
            if matched.common_units.size
        ]
        if frames:
            rows = pd.concat(frames).query("difference != 0")
            size = rows["difference"].abs().to_numpy()
            largest = np.argsort(-size, kind="stable")[:MAX_LISTED_UNITS]
            yield from rows.iloc[largest].to_dict("records")

    def _unit_changes(self, matched: MatchedMetric) -> pd.DataFrame:
        """How much the metric of a system changed on each unit that both reports have: a row per
        unit with the columns of `moved`. matched: the metric in both reports on their common units,
        each with values in the order of the units.
        """
        old = matched.old
        new = matched.new
        if matched.averaged:  # the metric is a mean of values of units
            difference = new.unit_values - old.unit_values
        else:  # the influence of a unit is how far it moves the metric, to first order
            difference = new.influence - old.influence
        columns = {
            "unit": self.names.take(pa.array(matched.common_units)).to_pylist(),  # number -> name
            "system": new.system,
            "old": old.unit_values,
            "new": new.unit_values,
            "difference": difference,
        }
        # A unit may have several rows: its lists and slices are those of its first row in the new
        # report. `unique` sorts by unit, as `matched.common_units` is sorted.
        _, first_of_unit = np.unique(new.unit, return_index=True)
        row_of_unit = new.places[first_of_unit]  # in the new file
        id_of_unit = self.new.row[row_of_unit].tolist()
        # id of a row -> the ranked items; empty if the file has no lists
        old_lists = old.file.lists(old.system)
        new_lists = new.file.lists(new.system)
        if old_lists and new_lists:
            columns["entered"] = [_items_not_in(old_lists, new_lists, id) for id in id_of_unit]
            columns["left"] = [_items_not_in(new_lists, old_lists, id) for id in id_of_unit]
        for name, column in self.new.segments.items():
            # the file stores a text as its code, an index of the different texts; an empty cell has
            # the code −1, which picks the "" at the end
            texts = np.array([*self.new.words[column], ""], object)
            columns[name] = texts[self.new.code[column][row_of_unit]]
        return pd.DataFrame(columns)

    @frame
    def series(self) -> Iterator[Row]:
        """Yield the primary metric of each system in each report, on all units of the report: date,
        report, system, value, low, high, n. Nothing if there are only two reports, whose values
        `account` has.
        """
        if len(self.files) == 2:
            return
        label = self.primary_metric.label
        options = self.inference_options(RandomStream.ESTIMATES)
        # a system that was renamed may have either name in an earlier report
        names = dict.fromkeys(matched.new.system for matched in self.deciding.values())
        names |= dict.fromkeys(matched.old.system for matched in self.deciding.values())
        for file in self.files:  # from the earliest report to the new one
            if label not in file.metrics:
                continue
            for name in names:
                # the metric by the predictions of rows if the file has them, else by the numerator
                # and the denominator of each unit
                stored = file.rows_else_terms(label, name)
                if stored is None:  # an earlier report may lack the system
                    continue
                # a mean of values of units is taken as such, and so has the interval of a mean
                statistic = stored.statistic(mean=stored.averaged)
                estimate = inference.estimate(statistic, options)
                row = {
                    "date": data_collection_date(file),
                    "report": short_file_path(file),
                    "system": name,
                }
                yield row | estimate_columns(estimate)

    # What the files prove

    @cached_property
    def are_equal(self) -> bool:
        """True if the units of both reports are the same, value for value."""
        return bool(self.old.table.equals(self.new.table))

    @cached_property
    def not_compared(self) -> list[str]:
        """The labels of metrics, then the names of systems that are not compared: a report lacks
        them, or its file lacks the numbers from which a metric is computed.
        """
        compared_systems = set()
        for metric_of_sides in self.matched_metrics.values():
            for matched in metric_of_sides.values():
                compared_systems |= {matched.old.system, matched.new.system}
        missing = []
        if not self.p.metrics:  # else the user left out the others on purpose
            labels = dict.fromkeys([*self.new.metrics, *self.old.metrics])
            missing += [label for label in labels if label not in self.matched_metrics]
        paired_names = dict.fromkeys([*self.old_name_by_new, *self.old_name_by_new.values()])
        missing += [name for name in paired_names if name not in compared_systems]
        return missing + self.unpaired_new + self.unpaired_old

    @frame
    def changes(self) -> Iterator[Row]:
        """Yield what the two reports were made from, one fact per row: kind (input, parameter,
        definition, unit or version), what (such as the name of the parameter), old and new (the
        fact in each report as text, "none" if a report lacks it), same (True if both are known to
        be equal).
        """
        old_facts = _facts(self.old)
        new_facts = _facts(self.new)
        for fact in old_facts | new_facts:
            old = old_facts.get(fact, "none")
            new = new_facts.get(fact, "none")
            # the text of an input ends in the hash of its file; inputs without one may differ
            is_same = old == new and not old.endswith(UNHASHED)
            yield {"kind": fact.kind, "what": fact.what, "old": old, "new": new, "same": is_same}

    @property
    def n_equal_facts(self) -> int:
        """The number of facts beside the inputs that are the same in both."""
        facts = self.changes[self.changes["kind"] != "input"]
        return int(facts["same"].sum())

    @property
    def relabelled(self) -> int:
        """The number of rows of common units whose actual value is another one in the new report;
        of several systems the largest.
        """
        # of one structure all metrics have the same rows; own metrics have none
        by_structure = dict[tuple[str, SystemPair], MatchedMetric]()
        for label, pairs in self.matched_metrics.items():
            structure = self.new.metrics[label]["structure"]
            by_structure |= {(structure, pair): matched for pair, matched in pairs.items()}
        return max(matched.relabelled for matched in by_structure.values())


def _matched(
    old: UnitFile, new: UnitFile, partner: Mapping[str, str], metrics: Sequence[str]
) -> dict[str, dict[SystemPair, MatchedMetric]]:
    """The metrics that can be compared: label of a metric -> (new side, old side) of a system ->
    the metric of this system in both reports. A metric is left out for a system if the reports
    store it in different forms, as terms of units or as rows with predictions.

    partner: the name of a system in the new report -> its name in the old one. metrics: the names
    that the user wants; all metrics if empty. Raises ParameterError for a metric that not both
    reports have.
    """
    labels = [label for label in new.metrics if label in old.metrics]
    if metrics:  # the user may name a metric by its short name instead of its label
        in_both = [new.metric_at_k(label) for label in labels]
        labels = [
            lookup.label_of("metrics that both reports have", name, in_both) for name in metrics
        ]
    matched: dict[str, dict[SystemPair, MatchedMetric]] = {}
    for label in labels:
        for new_name, old_name in partner.items():
            # its terms or its rows, as the class tells; None if the report lacks it
            in_old = old.stored_metric(label, old_name)
            in_new = new.stored_metric(label, new_name)
            if in_old is None or type(in_old) is not type(in_new):
                continue
            sides = side_pair(new_name, old_name)
            metric_of_sides = matched.setdefault(label, {})
            metric_of_sides[sides] = MatchedMetric.in_files(in_old, in_new)
    return matched


def _why_unpaired(
    name: str, partners: Mapping[str, str], names_of_partners: Mapping[str, str], *, missing_in: str
) -> str:
    """Why a system of one report is not compared.

    partners: systems of this report -> their names in the other one. names_of_partners: the
    reverse. missing_in: which report the other one is, "new" or "old".
    """
    if name in partners:  # one of the files lacks the metric, or has it in another form
        return obstacle("not_told", name=name)
    if name in names_of_partners:  # the system of this name in the other report has another partner
        return obstacle("taken", name=name, other=missing_in, partner=names_of_partners[name])
    return obstacle("no_partner", name=name, other=missing_in)


def partners(
    old: Sequence[str], new: Sequence[str], pairs: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """New name of a system -> its old name. The pairs that the user names in `pairs` come first,
    then systems of the same name.

    If one system of each report is left, the two are paired, as a system that was renamed. This is
    done only if nothing else can be meant: if all pairs so far are constant baselines, or there are
    none, or if the old system has no name of its own. old, new: the systems of each report. Raises
    ParameterError for a pair in `pairs` that the reports do not have.

    >>> partners(["a", "b"], ["b", "c"]), partners(["v1"], ["v2"])
    ({'b': 'b'}, {'v2': 'v1'})
    >>> partners(["m-0806", "base"], ["m-1120", "base"], {"m-1120": "m-0806"})
    {'m-1120': 'm-0806', 'base': 'base'}
    """
    _check_pairs(old, new, pairs)
    partner = dict(pairs)
    for name in new:
        if name in old and name not in partner and name not in partner.values():
            partner[name] = name
    unpaired_new = [name for name in new if name not in partner]
    unpaired_old = [name for name in old if name not in partner.values()]
    # A single system left in each report was renamed if the old one has no name of its own, or if
    # nothing else is compared: the pairs so far are at most baselines that predict a constant.
    baselines = set(usual("systems")["constant"])
    was_renamed = partner.keys() <= baselines or unpaired_old == [UNNAMED]
    if len(unpaired_new) == len(unpaired_old) == 1 and was_renamed:
        partner[unpaired_new[0]] = unpaired_old[0]
    return partner


def _check_pairs(old: Sequence[str], new: Sequence[str], pairs: Mapping[str, str]) -> None:
    """Raise ParameterError for pairs with a system that its report does not have, or with one old
    system for two new ones. old, new: the systems of each report. pairs: new name -> old name.
    """
    for new_name, old_name in pairs.items():
        _check_system("new", new_name, new)
        _check_system("old", old_name, old)
    for old_name in pairs.values():
        new_names = [name for name, partner in pairs.items() if partner == old_name]
        if len(new_names) > 1:
            raise ParameterError(
                f"pairs: must name each old system once, got {old_name} for "
                f"{' and '.join(new_names)}"
            )


def _check_system(which: str, name: str, systems: Sequence[str]) -> None:
    """Raise ParameterError unless a report, the new or the old one, has a system."""
    if name not in systems:
        raise ParameterError(
            f"pairs: the {which} report has no system {name!r}{did_you_mean(name, systems)}, "
            f"it has {', '.join(systems)}"
        )


def _refuse_unshared(old: UnitFile, new: UnitFile, partner: Mapping[str, str]) -> NoReturn:
    """Raise InputError for two reports that share no metric of a system. If both have systems
    without a partner, the error says how to pair two of them.
    """
    unpaired_new = [name for name in new.words["system"] if name not in partner]
    unpaired_old = [name for name in old.words["system"] if name not in partner.values()]
    advice = ""
    if unpaired_new and unpaired_old:
        pairs = {**partner, unpaired_new[0]: unpaired_old[0]}
        advice = f", such as pairs='{written(pairs)}'"
    files = f"{short_file_path(old)} and {short_file_path(new)}"
    new_systems = ", ".join(new.words["system"])
    old_systems = ", ".join(old.words["system"])
    raise InputError(
        f"{files} must share a metric and a system that their units tell; the new report has "
        f"{new_systems}, the old one {old_systems}: name those that belong together{advice}"
    )


def data_collection_date(file: UnitFile) -> str:
    """When the data of a report were collected, as it says."""
    return str(file.file_metadata.get("parameters", {}).get("data_date") or "")


def short_file_path(file: UnitFile) -> str:
    """The name of a report's file, with its folder."""
    return report.name_with_folder(file.path)


Lists = Mapping[int, list[str]]  # the first items of each list, by the number of its id


def _n_empty_lists(stored: StoredMetric) -> int:
    """The number of empty lists of a system in its report."""
    lists = stored.file.lists(stored.system).values()
    return sum(items == [""] for items in lists)  # the text of no items has one empty line


def _items_not_in(before: Lists, after: Lists, id: int) -> str:
    """The items that the list of an id has after and not before, as text."""
    old_items = before.get(id, [])
    return ", ".join(item for item in after.get(id, []) if item not in old_items)


def _change_and_terms(matched: MatchedMetric, difference: Estimate) -> Row:
    """The change of a metric over all units, and its terms, as in `account`. difference: on the
    common units, or of the whole change if none is common.
    """
    old = matched.old.value
    new = matched.new.value
    change = {"old": old, "new": new, "change": new - old}
    if not matched.common_units.size:
        change |= {"change_low": difference.low, "change_high": difference.high}
        return change | dict.fromkeys(["changed", "low", "high", "left", "came"], np.nan)
    old_on_common = matched.on_common_units.old.value
    new_on_common = matched.on_common_units.new.value
    return change | {
        "change_low": np.nan,
        "change_high": np.nan,
        "changed": new_on_common - old_on_common,
        "low": difference.low,
        "high": difference.high,
        "left": old_on_common - old,
        "came": new - new_on_common,
    }


def _mix_and_within(matched: MatchedMetric, in_slice: MatchedMetric) -> dict[str, float]:
    """The terms that a slice adds to the change of a mean or ratio, as in `Diff.segments`: "mix",
    the change of its share times its mean distance from the whole, and "within", its mean share
    times the change of its value. NaN for any other metric.

    matched: the metric in both reports on all units. in_slice: on the units of the slice. If a
    report has no units in the slice, its value there is taken from the other report, so that the
    value does not change.
    """
    if not matched.has_terms:  # neither a mean nor a ratio
        return {"mix": np.nan, "within": np.nan}
    old_value = in_slice.old.value
    new_value = in_slice.new.value
    if np.isnan(old_value) and np.isnan(new_value):  # the slice adds nothing to either value
        return {"mix": 0.0, "within": 0.0}
    if np.isnan(old_value):
        old_value = new_value
    if np.isnan(new_value):
        new_value = old_value
    old_share = _share_in_slice(matched.old, in_slice.old)
    new_share = _share_in_slice(matched.new, in_slice.new)
    # the mix counts by the distance of the slice's value from that of all units, the mean over both
    # reports: a larger share of a slice that is like all units changes nothing
    distance_sum = old_value + new_value - matched.old.value - matched.new.value
    return {
        "mix": (new_share - old_share) * distance_sum / 2,
        "within": (old_share + new_share) / 2 * (new_value - old_value),
    }


def _share_in_slice(stored: StoredMetric, in_slice: StoredMetric) -> float:
    """The share of a slice in the denominator of a metric with terms."""
    assert isinstance(stored, StoredTerms)
    assert isinstance(in_slice, StoredTerms)
    return float(ratio(in_slice.unit_terms.size.sum(), stored.unit_terms.size.sum()))


class Fact(NamedTuple):
    """A fact that a report states about itself: its kind as in `Diff.changes`, and what it is of,
    such as a parameter by name.
    """

    kind: str
    what: str


def _facts(file: UnitFile) -> dict[Fact, str]:
    """What a report was made from, each fact as text: its units, its input files with their hashes,
    its parameters that change numbers, the definitions of its metrics, and versions.
    """
    facts = {Fact("unit", "unit"): ", ".join(file.file_metadata["unit"].values())}
    options = reports.REPORTS[file.file_metadata["report"]].options()
    # the parameters of the report that take an input file, such as preds
    inputs = [name for name, option in options.items() if option.kind is DATA]
    # A fact about a file is called by its parameter, and not by its name, so that the old and the
    # new file of a parameter are compared. Of two parameters with the same file the first one is
    # taken: in reverse order it overwrites the second.
    input_of_file = {_file_name(file.parameters.get(name, "")): name for name in reversed(inputs)}
    n_files = Counter[str]()  # so far, by parameter, which may stand for several files
    for source in file.file_metadata.get("inputs", []):
        file_name = _file_name(source["name"])
        # a file that no parameter names, such as one of a folder, belongs to the first of them
        parameter = input_of_file.get(file_name, inputs[0])
        n_files[parameter] += 1
        what = parameter if n_files[parameter] == 1 else f"{parameter} {n_files[parameter]}"
        sha256 = source["sha256"] or UNHASHED
        facts[Fact("input", what)] = f"{file_name}, {source['rows']:,} rows, SHA-256 {sha256}"
    for name, value in file.parameters.items():
        # those of the page, such as its title, change no number
        if name not in inputs and name not in PARAMETERS_OF_PAGES:
            facts[Fact("parameter", name)] = str(value)
    for label, metadata in file.metrics.items():
        best = file.metric_at_k(label).metric.best
        definition = [metadata["structure"], best, metadata.get("sha256")]
        facts[Fact("definition", label)] = ", ".join(filter(None, definition))
    for name, version in file.file_metadata.get("versions", {}).items():
        facts[Fact("version", name)] = version
    return facts


def _file_name(path: object) -> str:
    """The name of a file, without its folders."""
    return PurePath(str(path)).name
