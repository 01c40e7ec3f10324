"""Detects the kind of a table of values: by its header, by the parameters, and if these are not
enough by its cells.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import PerUnit
from evalkit.catalogue.lookup import Chosen, Metric
from evalkit.limits import Reading
from evalkit.parameters.reports import TASKS, Significance
from evalkit.reading.engines import backends, base
from evalkit.reading.inputs import unit_columns
from evalkit.reading.inputs.unit_columns import NAMES, USES, Cells, key
from evalkit.reading.inputs.unit_roles import Columns, Roles
from evalkit.reading.reductions import units
from evalkit.reading.tables import columns, formats, logs, rules, sources, trec
from evalkit.reading.tables.parts import Part

_MEASURE = re.compile(
    r"runid|relstring|num_(q|ret|rel|rel_ret|nonrel_judged_ret)|(gm_)?(map|bpref)|map_cut_\d+|Rprec(_mult)?(_[\d.]+)?|"
    r"recip_rank|iprec_at_recall_[\d.]+|(P|recall|success|relative_P|ndcg_cut|Rndcg)_?[\d.]*|ndcg(_rel|_cut)?|11pt_avg|"
    r"infAP|set_\w+|utility|binG|G"
)


# Kinds of tables ----------------------------------------------------------------------------------


# roles that tables of predictions do not have
OF_VALUES = (
    "unit",
    "value",
    "metric",
    "successes",
    "trials",
)
OF_PREDICTIONS = ("query", "item", "score", "rank", "label")


@dataclass(frozen=True)
class Header:
    """The basis on which the kind of an input is recognised: the first part, its columns, and
    parameters about them.

    cells: the contents of the columns, read only if needed.
    """

    part: Part
    chosen: Mapping[str, str]
    systems: Sequence[str]
    cells: Cells | None = None

    def has(self, *names: str) -> bool:
        """True if the part has all of these columns."""
        return {*names} <= {*self.part.columns}

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """The roles of predictions that columns have."""
        chosen = {role: name for role, name in self.chosen.items() if role not in OF_VALUES}
        return columns.match(self.part.columns, OF_PREDICTIONS, chosen, "").resolved()

    @cached_property
    def system(self) -> bool:
        """True if a column names the system."""
        return bool(
            self.chosen.get("system") or Columns.of(self.cells or Cells.of([self.part])).system()
        )

    @property
    def is_trials(self) -> bool:
        """True for a table of repeated trials, such as task_id, trial, reward, that does not name
        systems.
        """
        keys = {key(name) for name in self.part.columns}
        named = self.systems or self.chosen or keys & {*USES["system"]}
        return not named and len(keys & {*USES["value"]}) == 1 and bool(keys & {*NAMES["trials"]})

    @property
    def is_output(self) -> bool:
        """True if the first line of a file is a measure of trec_eval, a query and a value."""
        first = (
            trec.first_line(self.part.path)
            if type(self.part) in (formats.Csv, formats.Trec)
            else ()
        )
        return len(first) == 3 and bool(_MEASURE.fullmatch(first[0]))

    @property
    def is_report(self) -> bool:
        """True for the JSON of an earlier report."""
        return self.part.nested and self.has("schema", "report", "versions")

    @property
    def is_ranking(self) -> bool:
        """True if rows are ranked items of a query."""
        ranked = {"query", "item"} <= {*self.roles} and {"score", "rank"} & {*self.roles}
        return bool(ranked) and not self.chosen.get("value")


RECOGNISED: tuple[
    tuple[str, Callable[[Header], bool]], ...
] = (  # the first that recognises the header
    ("trec_eval", lambda h: h.is_output),
    ("ranking", lambda h: h.part.layout is not None),
    ("report", lambda h: h.is_report),
    ("trials", lambda h: h.has(*(h.chosen.get(role, role) for role in units.COUNTED))),
    ("ranking", lambda h: h.is_ranking),
    ("wide", lambda h: bool(h.systems) and h.has(*h.systems)),
    ("long", lambda h: h.has(h.chosen.get("value", units.VALUE)) and h.system),
    ("classification", lambda h: {"label", "score"} <= {*h.roles} and not h.systems),
    ("long", lambda h: h.system or bool(h.chosen.get("value"))),
    ("wide", lambda h: True),
)


@dataclass(frozen=True)
class Kind:
    """A kind of input: its name in messages, what `columns` can name in it, and the parameters that
    apply to it.

    roles: None for ranked lists, which check their own. follows: those of the parameters that some
    kinds cannot follow.
    """

    what: str
    follows: Sequence[str]
    roles: Sequence[str] | None = None


KINDS: Mapping[str, Kind] = {name: Kind(**kind) for name, kind in NAMES["kinds"].items()}


@dataclass(frozen=True, eq=False)
class Given:
    """An input of known kind. A table with a column of systems is long, unless `systems` names
    columns of it.
    """

    name: str
    cells: Cells

    @classmethod
    def of(
        cls, parts: Sequence[Part], p: Significance, engine: base.Engine | None = None
    ) -> "Given":
        """The parts, and their kind by the first header. Raises for invalid values of this kind of
        input.
        """
        if Header(parts[0], p.columns, p.systems).is_trials:
            parts = [sources.of_system(part, part.path.stem or units.VALUE) for part in parts]
        cells = Cells.of(parts, engine)
        header = Header(parts[0], p.columns, p.systems, cells)
        given = cls(next(name for name, recognises in RECOGNISED if recognises(header)), cells)
        given.check(p)
        return given

    @property
    def kind(self) -> Kind:
        """The kind: its name, and the parameters that apply."""
        return KINDS[self.name]

    def check(self, p: Significance) -> None:
        """Raise for parameters that do not apply to this kind of input, and for columns that do not
        exist.
        """
        parts = self.cells.parts
        for name in p.given:
            able = [kind.what for kind in KINDS.values() if name in kind.follows]
            if able and name not in self.kind.follows:
                raise ParameterError(
                    f"{name}: only for {', '.join(able)}; preds holds {self.kind.what}"
                )
        if p.columns and self.kind.roles == []:
            raise ParameterError(f"columns: {self.kind.what} has no columns to name")
        if (
            self.name == "wide"
            and (got := sum(not lookup.of_draws(name) for name in p.metrics)) > 1
        ):
            raise ParameterError(
                f"metrics: a wide table holds one metric, got {got}; a long table has a metric "
                f"column"
            )
        if self.name != "ranking":
            check_named(parts, p.columns, p.unit, p.systems if self.name == "wide" else ())
        if self.kind.roles:
            columns.check_roles(p.columns, self.kind.roles)
        for part in parts if self.name == "wide" and p.header is None else ():
            columns.refuse_data(part.columns, part.name)

    def read(self, p: Significance, reading: Reading) -> units.UnitValues | units.Trials:
        """The content of the input; for predicted probabilities the scores."""
        cells, metrics = self.cells, [name for name in p.metrics if not lookup.of_draws(name)]
        if self.name == "trials":
            return units.read_trials(cells, p.columns)
        if self.name == "report":
            return units.read_report(cells.parts)
        if self.name == "trec_eval":
            return units.read_output(cells.parts, p.systems, p.metrics)
        if self.name == "classification":
            return units.read_scores(cells, p.columns, p.unit, reading)
        columns = Columns.of(cells)
        chosen = dict(p.columns)
        if self.name == "long":
            numbers = [column.name for column in columns.numbers]
            if len(metrics) == 1 and metrics[0] in numbers and columns.metric() is None:
                chosen.setdefault("value", metrics[0])
            roles = Roles.of_long(columns, chosen, _unit(p, columns))
        else:
            roles = Roles.of_wide(columns, chosen, _unit(p, columns), p.systems)
        rule = rules.VALUES if len(metrics) == len(p.metrics) else rules.PASSED
        return units.read_table(roles, p.systems, metrics, reading, rule)

    def values(
        self, p: Significance, reading: Reading
    ) -> tuple[units.UnitValues | units.Trials, tuple[Chosen, ...]]:
        """The values and their metrics; none for trials. Ranked lists have their own reader."""
        if self.name == "classification":
            losses = _losses(p.metrics)
        elif own := [name for name in p.metrics if not lookup.of_catalogue(name)]:
            nothing = f"{own[0]} has nothing to be computed from, preds holds {self.kind.what}"
            raise ParameterError(f"metrics: {nothing}; name the metric of these values")
        data = self.read(p, reading)
        if isinstance(data, units.Trials):
            return data, ()
        found = (*data.findings, *logs.findings(self.cells.parts))
        logged = isinstance(self.cells.parts[0], logs.Log)
        data = replace(data, findings=found, logged=logged, stated=logs.stated(self.cells.parts))
        if data.label is not None:
            return data.losses(losses), tuple(
                Chosen(replace(metric, kind=PerUnit(lookup.absent))) for metric in losses
            )
        stated = {
            name: best for part in self.cells.parts for name, best in part.directions.items()
        }  # by a file
        stated |= data.directions
        named = {name: Chosen(lookup.named(name, stated.get(name))) for name in data.metrics}
        for name, chosen in named.items():
            drawn = [of for (metric, _), of in data.draws.items() if metric == name]
            if any(of.several for of in drawn) and all(of.passes for of in drawn):
                named[name] = Chosen(replace(chosen.metric, low=0.0, high=1.0))
        if not any(map(lookup.of_draws, p.metrics)):
            return data, tuple(named.values())
        metrics = tuple(
            lookup.find(n, "draws") if lookup.of_draws(n) else named[n]
            for n in dict.fromkeys(p.metrics)
        )
        return data.of_draws(metrics), metrics


def _unit(p: Significance, of: Columns) -> str | None:
    """The column of clusters: that of tasks where the claim is on such tasks, else the one that
    `unit` names.
    """
    if p.claim != TASKS:
        return p.unit
    tasks = [column.name for column in of.every if column.key in unit_columns.TASKS]
    if p.unit or not tasks:
        need = (
            "takes tasks as units, without unit"
            if p.unit
            else "needs a column task; unit=NAME takes another one"
        )
        raise ParameterError(f"claim: {TASKS!r} {need}")
    return tasks[0]


LOSSES = ("brier", "log_loss")


def _losses(names: Sequence[Any]) -> list[Metric]:
    """The losses of these names, or the usual ones; raises ParameterError if one is not a mean over
    rows.
    """
    possible = {
        name: metric for name, metric in lookup.TABLES["counts"].items() if _is_loss(metric)
    }
    for name in names:
        own = None if lookup.of_catalogue(name) else lookup.chosen([name], "counts", ())[0].metric
        if own is not None and _is_loss(own):
            possible[name] = own
        if name not in possible:
            has = f"for single rows there are {', '.join(sorted(map(str, possible)))}"
            raise ParameterError(f"metrics: {has}, got {str(name)!r}; the other reports have more")
    return [possible[name] for name in names or LOSSES]


def _is_loss(metric: Metric) -> bool:
    """True for a mean over rows with a better direction."""
    return metric.kind.totalled and metric.kind.of_rows and metric.best != "neither"


@contextmanager
def opened(p: Significance, reading: Reading) -> Iterator[Given]:
    """The input of the parameters; its engine, if it has more rows than are kept, is closed at the
    end of the block.
    """
    parts = sources.parts(p.preds, p.header, reading)
    first = Header(parts[0], {}, ())
    is_table = not (parts[0].layout or first.is_report or first.is_output)
    budget = backends.budget(p.memory, p.threads, p.spill, reading)
    with backends.needed(parts, budget) if is_table else nullcontext() as engine:
        yield Given.of(parts, p, engine)


def check_named(
    parts: Sequence[Part], roles: Mapping[str, str], unit: str | None, systems: Sequence[str] = ()
) -> None:
    """Raise ParameterError for all columns that the parameters name and a part lacks."""
    named = {name: f"columns: {role}" for role, name in roles.items()} | (
        {unit: "unit"} if unit else {}
    )
    named |= dict.fromkeys(systems, "systems or unit")
    for part in parts:
        columns.match(part.columns, (), {}, part.name, named=named).resolved()
