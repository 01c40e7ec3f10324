"""The diff of two reports: every metric of every system on the units of both, and where its change
comes from.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa

from evalkit import report, system
from evalkit.arrays import InputError, ParameterError, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import MetricAtK
from evalkit.drawing.shown import Shown
from evalkit.limits import USUAL, Limits
from evalkit.names import usual
from evalkit.parameters import reports
from evalkit.parameters.kinds import DATA, did_you_mean, written
from evalkit.parameters.policy import obstacle
from evalkit.reading.tables.parts import Source, stamp
from evalkit.reading.tables.table import Slice
from evalkit.statistics import inference, significance
from evalkit.statistics.intervals import Estimate
from evalkit.studies import diagnostics, groups, study, unit_files, units
from evalkit.studies.study import (
    EVERY,
    Member,
    Row,
    Study,
    SystemPair,
    Tested,
    estimate_columns,
    frame,
    once,
    with_limits,
)
from evalkit.studies.unit_files import Joined, UnitFile

SAMPLE: dict[str, Any] = {
    side: system.bundled_root() / "data" / "two_days" / side for side in ("old", "new")
}
OLD_REPORT = "the old report"
UNNAMED = "system"  # the name of a system whose input gives none
NEW, OLD = "new ", "old "  # before the name of a system: its side
EACH = 4  # systems of which the first screen has both sides
MOST = 500  # units that moved, as a page lists them
UNHASHED = "unknown"  # what is not a file
# parameters of a report that change no number of its units
UNREAD = (
    "title",
    "note",
    "data_date",
    "gate",
    "units",
)


def study_of(p: reports.DiffParameters, limits: Limits = USUAL) -> "Diff":
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
    p = p.with_defaults(SAMPLE) if p.old is None and p.new is None else p
    if p.old is None or p.new is None:
        raise ParameterError(
            f"old and new: both must be given, got only {'new' if p.old is None else 'old'}"
        )
    earlier = (
        p.earlier
        if isinstance(p.earlier, list | tuple)
        else []
        if p.earlier is None
        else [p.earlier]
    )
    return Diff.of(
        *unit_files.read([located(given) for given in (*earlier, p.old, p.new)]), p, limits
    )


read = reports.reader(reports.DiffParameters)(study_of)


FORMS = "NAME.units.parquet, NAME.json or NAME.html"


def located(given: Any) -> Path:
    """The file of units of a report, of which any file is named, or the folder where it is alone.

    Raises ParameterError for what is no path, InputError where there is none, or are several.
    """
    if not isinstance(given, str | PathLike):
        raise ParameterError(
            f"a report must be a path: {FORMS}, or its folder, "
            f"got {type(given).__name__}; study.save('NAME.units.parquet') writes one"
        )
    path = Path(given).expanduser()
    every = path.is_dir()
    files = (
        sorted(path.glob(f"*{report.UNITS}"))
        if every
        else [path.with_name(f"{report.stem(path)}{report.UNITS}")]
    )
    if len(files) > 1:
        got = ", ".join(file.name for file in files)
        raise InputError(f"{path}: must hold one report, got {got}; name one of them")
    if not path.exists() and not files[0].is_file():
        raise InputError(f"{path}: no such file or folder")
    if path.suffix not in ("", ".json", ".html", ".parquet"):
        raise InputError(f"{path}: must be a report, {FORMS}; `evalkit report` makes one of a file")
    if not files or not files[0].is_file():
        wanted = f"*{report.UNITS}" if every else files[0].name
        raise InputError(
            f"{path}: the units of the report, {wanted}, are missing; make it again with "
            f"units=yes, in Python also study.save({wanted!r})"
        )
    return files[0]


@dataclass(frozen=True, eq=False, repr=False)
class Diff(Shown, Study):
    """The study of two reports.

    files: the earlier reports, then the old and the new one. names: of all units, by their number.
    partner: new name of a system -> its old name. joined: metric -> new and old side of each system
    that has it -> both.
    """

    report: ClassVar[str] = "diff"
    directed_pairs: ClassVar[bool] = True  # new and old
    adjusted_over: ClassVar[str] = "the systems of one metric that changed"

    files: Sequence[UnitFile]
    names: pa.Array
    partner: Mapping[str, str]
    joined: Mapping[str, Mapping[SystemPair, Joined]]

    @classmethod
    def of(
        cls, files: Sequence[UnitFile], names: pa.Array, p: reports.DiffParameters, limits: Limits
    ) -> "Diff":
        """The study of files; raises InputError where they have no metric of a system in common."""
        old, new = files[-2:]
        for file in files:
            if file.about["report"] != new.about["report"]:
                kinds = " and ".join(sorted({file.about["report"], new.about["report"]}))
                raise InputError(
                    f"{shown(file)} and {shown(new)} must be of one report, got {kinds}"
                )
        partner = partners(old.words["system"], new.words["system"], p.pairs)
        of = {(f"{NEW}{name}", f"{OLD}{was}"): (was, name) for name, was in partner.items()}
        shared = [label for label in new.metrics if label in old.metrics]
        metrics = [new.chosen(label) for label in shared]
        labels = [
            lookup.label_of("metrics that both reports have", name, metrics) for name in p.metrics
        ] or shared
        every = {
            label: {pair: Joined.of(files[-2:], label, names) for pair, names in of.items()}
            for label in labels
        }
        told = {
            label: {pair: both for pair, both in pairs.items() if both}
            for label, pairs in every.items()
        }
        joined = {label: pairs for label, pairs in told.items() if pairs}
        if not joined:
            _refuse_unshared(old, new, partner)
        metrics = [new.chosen(label) for label in joined]
        systems = tuple(side for pair in of for side in pair)
        settings = study.settings(
            replace(p, baseline=OLD_REPORT, units=False), metrics, limits=limits
        )
        sources = tuple(
            Source(shown(file), len(file.table), file.path.absolute(), stamp(file.path))
            for file in files
        )
        return cls(settings, systems, {}, p, sources, files, names, partner, joined)

    @cached_property
    def headline(self) -> pd.DataFrame:
        """The comparisons of the metric that decides: losses, the largest first, then the strongest
        evidence.
        """
        rows = super().headline
        if not len(rows):
            return rows
        loss = rows["difference"].abs().where(rows["verdict"] == "worse", 0.0)
        order = rows.assign(loss=-loss).sort_values(["loss", "p"], kind="stable")
        return order.drop(columns="loss")

    @property
    def largest_loss(self) -> Row | None:
        """The comparison with the largest significant loss: by the metric that decides, else by
        another one, as a share of its old value; None if nothing is worse.
        """
        worse = self.comparisons[self.comparisons["verdict"] == "worse"]
        deciding = worse[worse["metric"] == self.primary.label]
        rows = (deciding if len(deciding) else worse).to_dict("records")
        return max(rows, key=self._loss_size, default=None)

    def _loss_size(self, row: Row) -> float:
        """The size of a loss, by another metric than the one that decides as a share of the old
        value.
        """
        size = float(abs(row["difference"]))
        if row["metric"] == self.primary.label:
            return size
        old = abs(self.common_values(row)[1])
        return size / old if old else float("inf")

    def common_values(self, row: Row) -> tuple[float, float]:
        """The values of both sides of a comparison, over the units that it compares."""
        chosen = next(one for one in self.settings.metrics if one.label == row["metric"])
        pair = row["first"], row["second"]
        new, old = (self.estimate(chosen, side).value for side in pair)
        return new, old

    def spoken(self, system: str) -> str:
        """A side by the name of its system, with "new" or "old" if both have the same name."""
        pair = next(pair for pair in self.side_pairs if system in pair)
        side = NEW if system == pair[0] else OLD
        name = system.removeprefix(side)
        if name == UNNAMED:
            name = "model"
        renamed = pair[0].removeprefix(NEW) != pair[1].removeprefix(OLD)
        if renamed and name != "model":
            return name
        return f"the {side}{name}"

    @property
    def side_pairs(self) -> list[SystemPair]:
        """The new and the old side of each system."""
        return [(f"{NEW}{name}", f"{OLD}{was}") for name, was in self.partner.items()]

    @property
    def family_size(self) -> int:
        """The systems of which some unit changed."""
        return sum(not np.isnan(self.compare(self.primary, pair).p_value) for pair in self.pairs)

    def __dir__(self) -> list[str]:
        """The documented names of a study, and those of a diff."""
        return [
            *super().__dir__(),
            "account",
            "segments",
            "most_changed",
            "moved",
            "series",
            "changes",
        ]

    @property
    def old(self) -> UnitFile:
        """The units of the old report."""
        return self.files[-2]

    @property
    def system_names(self) -> list[str]:
        """The systems that both reports have, as the new one names them."""
        return list(self.partner)

    def of_systems(self, names: Sequence[str]) -> "Diff":
        """The study of these systems alone."""
        partner = {name: was for name, was in self.partner.items() if name in names}
        joined = dict[str, Mapping[SystemPair, Joined]]()
        for label, pairs in self.joined.items():
            both = {pair: of for pair, of in pairs.items() if pair[0].removeprefix(NEW) in names}
            joined |= {label: both} if both else {}
        return replace(self, partner=partner, joined=joined)

    @property
    def new(self) -> UnitFile:
        """The units of the new report."""
        return self.files[-1]

    @property
    def question_of_reports(self) -> str:
        """The one-sided question that both reports ask and this diff does not; "" otherwise."""
        asked = {file.parameters.get("alternative") for file in (self.old, self.new)}
        question = asked.pop()
        if asked or question not in ("greater", "less") or question == self.sided:
            return ""
        return str(question)

    @property
    def deciding(self) -> Mapping[SystemPair, Joined]:
        """The metric that decides, of each pair of sides."""
        return self.joined[self.primary.label]

    @property
    def differences_are(self) -> str:  # type: ignore[override]
        """Of which units the two sides are compared."""
        independent = "Differences of independent samples"
        return independent if self.apart else "Differences on the common units"

    @property
    def apart(self) -> bool:
        """Whether no unit is in both reports."""
        return not any(of.common.size for of in self.deciding.values())

    @property
    def unlisted(self) -> dict[str, int]:
        """How many queries each side lacks, whose lists are empty and count as 0; 0 if its file
        holds no lists.
        """
        sides = {
            name: side
            for pair, of in self.deciding.items()
            for name, side in zip(pair, (of.new, of.old), strict=True)
        }
        lists = {name: [*side.file.lists(side.system).values()] for name, side in sides.items()}
        empty = [""]  # as the file of units lists no items
        return {name: several.count(empty) for name, several in lists.items()}

    @property
    def unlisted_count(self) -> int:
        """How many queries all sides lack together."""
        return sum(self.unlisted.values())

    @property
    def unit_name(self) -> str:
        """What the new report calls its unit."""
        return str(self.new.about["unit"][self.new.metrics[self.primary.label]["table"]])

    @property
    def averaged(self) -> bool:
        """Whether the metric that decides is a mean of values of units."""
        return all(of.averaged for of in self.deciding.values())

    def measure(self, chosen: MetricAtK, system: str, member: Member = EVERY) -> Any:
        """A metric of a side on the common units; on all its own where none is common."""
        pair = next(pair for pair in self.joined[chosen.label] if system in pair)
        return self._joined(chosen, pair, member).statistics[pair.index(system)]

    def _joined(self, chosen: MetricAtK, pair: SystemPair, member: Any) -> Joined:
        of = self.joined[chosen.label][pair]
        return of if member is EVERY else of.within(*member)

    @once
    def compare(
        self, chosen: MetricAtK, pair: SystemPair, member: Member = EVERY
    ) -> significance.Comparison:
        """New less old."""
        joined = self._joined(chosen, pair, member)
        return self._compared_sides(joined)

    def _compared_sides(self, joined: Joined) -> significance.Comparison:
        """New less old, on the units of both sides."""
        return self.asked_comparison(
            lambda level: joined.comparison(replace(self.inference_options(2), level=level))
        )

    @property
    def pairs(self) -> list[SystemPair]:  # type: ignore[override]
        """The new and the old side of each system that has the metric that decides."""
        return [*self.deciding]

    @property
    def order(self) -> list[str]:  # type: ignore[override]
        """The sides of these systems; of many the new ones, so that each has a row of the first
        screen.
        """
        return [
            name for pair in self.pairs for name in (pair if len(self.pairs) <= EACH else pair[:1])
        ]

    def sides(self, chosen: MetricAtK) -> list[str]:
        """The sides of the systems that are compared by a metric."""
        return [name for pair in self.joined[chosen.label] for name in pair]

    def subjects(self, chosen: MetricAtK) -> list[str]:
        """The sides of all systems of a metric, also of those without a partner."""
        return [*self.sides(chosen), *self.unpaired(chosen.label)]

    def against(self, chosen: MetricAtK, second: str | None) -> list[SystemPair]:
        """The new and the old side of each system of a metric, also of those without a partner;
        raises ParameterError for any other pair.
        """
        if second is not None:
            raise ParameterError(f"a diff compares with the old report; leave out 'than {second}'")
        missing = [(side, OLD_REPORT) for side in self.unpaired(chosen.label)]
        return [*self.joined[chosen.label], *missing]

    def obstacle(self, chosen: MetricAtK, system: str, second: str) -> str:
        """Why a system is not compared, or why no comparison counts."""
        return self.broken_design or self.unpaired(chosen.label).get(system, "")

    @cached_property
    def broken_design(self) -> str:
        """Why no result of the new or the old report counts; "" if results count."""
        label = self.primary.label
        return self.new.broken_design(label) or self.old.broken_design(label)

    @property
    def unpaired_new(self) -> list[str]:
        """The systems of the new report without a partner."""
        return [name for name in self.new.words["system"] if name not in self.partner]

    @property
    def unpaired_old(self) -> list[str]:
        """The systems of the old report without a partner."""
        return [name for name in self.old.words["system"] if name not in self.partner.values()]

    def unpaired(self, label: str) -> dict[str, str]:
        """The sides of a metric that are not compared, each with the reason; of a system that the
        new report lacks its new side.
        """
        pairs = self.joined[label].values()
        compared = {(side.file, side.system) for pair in pairs for side in (pair.old, pair.new)}
        missing: dict[str, str] = {}
        for file, place in ((self.new, "new"), (self.old, "old")):
            for name in file.systems_of(label):
                if (file, name) not in compared:
                    both = place == "old" and name in self.new.words["system"]
                    missing[f"{OLD if both else NEW}{name}"] = self._lack(name, place)
        return missing

    def _lack(self, name: str, place: str) -> str:
        """Why a system of the new or the old report is not compared."""
        by_old = {was: partner for partner, was in self.partner.items()}
        partners = {"new": self.partner, "old": by_old}
        other = {"new": "old", "old": "new"}[place]
        if name in partners[place]:
            return obstacle("not_told", name=name)
        if name in partners[other]:
            return obstacle("taken", name=name, other=other, partner=partners[other][name])
        return obstacle("no_partner", name=name, other=other)

    def group_parts(self, column: str) -> list[Slice]:
        """Raise ParameterError: groups are not in the files of units."""
        raise groups.not_stored(column)

    def slices_obstacle(self, column: str) -> str:
        """Why slices are not compared with each other."""
        return obstacle("slices_of_diff")

    def divisions(self) -> list[Slice]:
        """The slices that both reports have a column for."""
        columns = {
            column: name
            for column, name in self.new.segments.items()
            if column in self.old.segments
        }
        words = {
            name: dict.fromkeys(self.new.words[name] + self.old.words[name])
            for name in columns.values()
        }
        return [
            Slice(column, label, (name, label))
            for column, name in columns.items()
            for label in words[name]
        ]

    @property
    def families(self) -> list[list[Tested]]:
        """The systems of each metric that has a direction."""
        return [[(chosen, pair) for pair in self.joined[chosen.label]] for chosen in self.directed]

    @frame
    def estimates(self) -> Iterator[Row]:
        """Every metric of both sides of each system, on the common units."""
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
        """The change of each metric over all units, and its terms, which add up to it; NaN without
        common units.

        changed: M_new(C) − M_old(C) on the common units C, with low and high. left: M_old(C) −
        M_old(all). came: M_new(all) − M_new(C). common, only_old, only_new: numbers of units.
        change_low, change_high: limits of the change of independent samples, NaN with common units,
        whose change has none.
        """
        rows = self.comparisons.to_dict("records")
        words = {(row["metric"], row["first"]): diagnostics.verdict_of(row) for row in rows}
        for chosen in self.settings.metrics:
            for pair, joined in self.joined[chosen.label].items():
                place = {"metric": chosen.label, "system": joined.new.system}
                limits = self.compare(chosen, pair).difference
                verdict = words.get((chosen.label, pair[0]), "")
                yield place | _terms(joined, limits) | joined.sizes | {"verdict": verdict}

    @frame
    def segments(self) -> Iterator[Row]:
        """The metric that decides in each slice that both reports have a column for: values, and
        the paired difference.

        old, new: on the common units, as the difference is; on all if none is common. old_all,
        new_all: on all units of each report. mix, within: what the changes of the slice's share and
        of its value on all units add to the change of the whole, each at the mean of the other
        (Kitagawa 1955, doi:10.1080/01621459.1955.10501299); NaN unless it is a mean or ratio.
        """
        every = (
            self._in_slice_of(of, part)
            for part in self.divisions()
            for of in self.deciding.values()
        )
        held = (row for row in every if row["common"] + row["only_old"] + row["only_new"])
        # least p first, none last
        rows = sorted(held, key=lambda row: row["p"] if row["p"] == row["p"] else 2.0)
        for row, p in zip(rows, significance.holm([row["p"] for row in rows]), strict=True):
            yield row | {"adjusted": float(p)}

    def _in_slice_of(self, of: Joined, where: Slice) -> Row:
        part = of.within(*where.member)
        o = self.inference_options(2)
        c = inference.undefined(o.level, o.unit)
        if part.common.size > 1:
            c = self._compared_sides(part)
        place = {"segment": where.column, "slice": where.label, "system": of.new.system}
        compared = part.paired if part.common.size else part
        values = {"old": compared.old.value, "new": compared.new.value, "p": c.p_value}
        on_all = {"old_all": part.old.value, "new_all": part.new.value}
        return (
            place
            | values
            | on_all
            | with_limits({"difference": c.difference})
            | _split(of, part)
            | part.sizes
        )

    @property
    def most_changed(self) -> Row | None:
        """The slice with the largest difference of those that show one after adjustment; None where
        none does.
        """
        rows = self.segments.to_dict("records")
        shown = [row for row in rows if significance.rejected(row["adjusted"], self.test_level)]
        return max(shown, key=lambda row: abs(row["difference"]), default=None)

    @frame
    def moved(self) -> Iterator[Row]:
        """The common units that the metric that decides moved most on: old and new value,
        difference, slices.

        entered, left: of ranked lists the items that the first ranks gained and lost.
        difference: new − old of a mean; of any other metric how far the unit moves the difference,
        to first order.
        """
        every = [self._moved(of.paired) for of in self.deciding.values() if of.common.size]
        if every:
            rows = pd.concat(every).query("difference != 0")
            order = np.argsort(-rows["difference"].abs().to_numpy(), kind="stable")[:MOST]
            yield from rows.iloc[order].to_dict("records")

    def _moved(self, of: Joined) -> pd.DataFrame:
        sides = {"old": of.old.each, "new": of.new.each}
        by = sides["new"] - sides["old"] if of.averaged else of.new.moved - of.old.moved
        place = {"unit": self.names.take(pa.array(of.common)).to_pylist(), "system": of.new.system}
        first = of.new.at[np.unique(of.new.unit, return_index=True)[1]]
        columns = self.new.segments.items()
        slices = {
            to: np.array([*self.new.words[name], ""], object)[self.new.code[name][first]]
            for to, name in columns
        }
        lists = [side.file.lists(side.system) for side in (of.old, of.new)]
        rows = self.new.row[first].tolist()
        entered, left = (
            [_beyond(b.get(row, []), a.get(row, [])) for row in rows]
            for a, b in (lists, lists[::-1])
        )
        items = {"entered": entered, "left": left} if all(lists) else {}
        return pd.DataFrame(place | sides | {"difference": by} | items | slices)

    @frame
    def series(self) -> Iterator[Row]:
        """The metric that decides of every report and system, on all units of each; empty of two
        reports.
        """
        label = self.primary.label
        names = dict.fromkeys(of.new.system for of in self.deciding.values())
        names |= dict.fromkeys(of.old.system for of in self.deciding.values())
        for file in self.files if len(self.files) > 2 else ():
            for name in names if label in file.metrics else ():
                if side := file.of_rows(label, name) or file.side(label, name):
                    e = inference.estimate(
                        side.statistic(mean=side.averaged), self.inference_options(1)
                    )
                    yield {
                        "date": date_of(file),
                        "report": shown(file),
                        "system": name,
                    } | estimate_columns(e)

    # What the files prove

    @cached_property
    def same(self) -> bool:
        """Whether the units of both reports are the same, value for value."""
        return bool(self.old.table.equals(self.new.table))

    @cached_property
    def alone(self) -> list[str]:
        """Metrics and systems that are not compared, as one report lacks them or its units do not
        tell them.
        """
        sides = [
            side
            for pairs in self.joined.values()
            for of in pairs.values()
            for side in (of.old, of.new)
        ]
        told = {*self.joined, *(side.system for side in sides)}
        every = [*self.new.metrics, *self.old.metrics] if not self.p.metrics else []
        every += [*self.partner, *self.partner.values()]
        missing = [name for name in dict.fromkeys(every) if name not in told]
        return [*missing, *self.unpaired_new, *self.unpaired_old]

    @frame
    def changes(self) -> Iterator[Row]:
        """What made both reports: its kind (input, parameter, definition, unit, version), what it
        is, old and new.
        """
        old, new = (_facts(file) for file in (self.old, self.new))
        for kind, what in {**old, **new}:
            sides = [side.get((kind, what), "none") for side in (old, new)]
            same = sides[0] == sides[1] and not sides[0].endswith(UNHASHED)
            yield {"kind": kind, "what": what, "old": sides[0], "new": sides[1], "same": same}

    @property
    def others(self) -> int:
        """The number of facts beside the inputs that are the same in both."""
        return int((self.changes["same"] & (self.changes["kind"] != "input")).sum())

    @property
    def relabelled(self) -> int:
        """Rows of common units whose actual value is another one in the new report."""
        # of one structure all metrics have the same rows; own metrics have none
        rows = {
            (pair, self.new.metrics[label]["structure"]): joined
            for label, pairs in self.joined.items()
            for pair, joined in pairs.items()
        }
        return max(joined.relabelled for joined in rows.values())


def partners(
    old: Sequence[str], new: Sequence[str], pairs: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """New name of a system -> its old name: as `pairs` says, else the same name, or the only other
    system of each report where it stands alone.

    A system stands alone beside nothing but a baseline that the report made, or if the old one has
    no name of its own. Raises ParameterError for a pair that the reports do not have.

    >>> partners(["a", "b"], ["b", "c"]), partners(["v1"], ["v2"])
    ({'b': 'b'}, {'v2': 'v1'})
    >>> partners(["m-0806", "base"], ["m-1120", "base"], {"m-1120": "m-0806"})
    {'m-1120': 'm-0806', 'base': 'base'}
    """
    for name, was in pairs.items():
        for place, known, asked in (("new", new, name), ("old", old, was)):
            if asked not in known:
                raise ParameterError(
                    f"pairs: the {place} report has no system {asked!r}"
                    f"{did_you_mean(asked, known)}, it has {', '.join(known)}"
                )
    for was in pairs.values():
        several = [name for name, other in pairs.items() if other == was]
        if len(several) > 1:
            raise ParameterError(
                f"pairs: must name each old system once, got {was} for {' and '.join(several)}"
            )
    partner = dict(pairs)
    for name in new:
        if name in old and name not in partner and name not in partner.values():
            partner[name] = name
    others = [name for name in new if name not in partner]
    before = [name for name in old if name not in partner.values()]
    alone = not {*partner} - {*usual("systems")["constant"]} or before == [UNNAMED]
    if len(others) == len(before) == 1 and alone:
        partner[others[0]] = before[0]
    return partner


def _refuse_unshared(old: UnitFile, new: UnitFile, partner: Mapping[str, str]) -> NoReturn:
    """Raise InputError for two reports without a pair of systems; it says how to name one."""
    others = [name for name in new.words["system"] if name not in partner]
    before = [name for name in old.words["system"] if name not in partner.values()]
    advice = ""
    if others and before:
        advice = f", such as pairs='{written({**partner, others[0]: before[0]})}'"
    raise InputError(
        f"{shown(old)} and {shown(new)} must share a metric and a system that their units tell; "
        f"the new report has {', '.join(new.words['system'])}, the old one "
        f"{', '.join(old.words['system'])}: name those that belong together{advice}"
    )


def date_of(file: UnitFile) -> str:
    """When the data of a report were collected, as it says."""
    return str(file.about.get("parameters", {}).get("data_date") or "")


def shown(file: UnitFile) -> str:
    """A report with its folder."""
    return report.shown(file.path)


def _beyond(items: Sequence[str], others: Sequence[str]) -> str:
    """The items that are not among the others."""
    return ", ".join(item for item in items if item not in others)


def _terms(joined: Joined, limits: Estimate) -> Row:
    """The change of a metric over all units, and its terms. limits: of its difference on the common
    units, or of the whole change if none is common.
    """
    old, new = joined.old.value, joined.new.value
    whole = {"old": old, "new": new, "change": new - old}
    if not joined.common.size:
        unknown = dict.fromkeys(["changed", "low", "high", "left", "came"], np.nan)
        return whole | {"change_low": limits.low, "change_high": limits.high} | unknown
    before, after = joined.paired.old.value, joined.paired.new.value
    terms = {
        "changed": after - before,
        "low": limits.low,
        "high": limits.high,
        "left": before - old,
        "came": new - after,
    }
    return whole | {"change_low": np.nan, "change_high": np.nan} | terms


def _split(of: Joined, part: Joined) -> dict[str, float]:
    """What a slice adds to the change of a mean or ratio by its share and by its value, which is
    that of both where one report has no such units.
    """
    if not of.old.termed:
        return {"mix": np.nan, "within": np.nan}
    sides = [(of.old, part.old), (of.new, part.new)]
    a, b = (float(ratio(own.sums.size.sum(), whole.sums.size.sum())) for whole, own in sides)
    old, new = (part.old.value, part.new.value)
    old, new = (new if np.isnan(old) else old, old if np.isnan(new) else new)
    if np.isnan(old):
        return {"mix": 0.0, "within": 0.0}
    return {
        "mix": (b - a) * (old + new - of.old.value - of.new.value) / 2,
        "within": (a + b) / 2 * (new - old),
    }


def _facts(file: UnitFile) -> dict[tuple[str, str], str]:
    """What a report says of itself: (kind, what) -> text."""
    about = file.about
    given = file.about.get("parameters", {})
    tables = [
        name
        for name, entry in reports.REPORTS[about["report"]].options().items()
        if entry.kind is DATA
    ]
    facts = {("unit", "unit"): ", ".join(about["unit"].values())}
    for source in about.get("inputs", []):
        own = PurePath(source["name"]).name
        role = next(
            (name for name in tables if PurePath(str(given.get(name, ""))).name == own), tables[0]
        )
        number = sum(what.startswith(role) for kind, what in facts if kind == "input") + 1
        text = f"{own}, {source['rows']:,} rows, SHA-256 {source['sha256'] or UNHASHED}"
        facts["input", f"{role} {number}" if number > 1 else role] = text
    facts |= {
        ("parameter", name): str(value)
        for name, value in given.items()
        if name not in (*tables, *UNREAD)
    }
    for label, of in file.metrics.items():
        definition = [of["structure"], file.chosen(label).metric.best, of.get("sha256")]
        facts["definition", label] = ", ".join(filter(None, definition))
    return facts | {("version", name): text for name, text in about.get("versions", {}).items()}
