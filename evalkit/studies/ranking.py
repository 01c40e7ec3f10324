"""The ranking study: runs and judgements read once, and everything that the ranking page asks of them."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from evalkit import catalogue, parameters, perunit, rankings, runs, significance
from evalkit.arrays import Floats, InputError, ParameterError
from evalkit.catalogue import Chosen, Metric
from evalkit.intervals import Estimate
from evalkit.rankings import Pooled, Rankings
from evalkit.runs import Runs
from evalkit.significance import Comparison
from evalkit.slices import slices

SAMPLE = {
    "preds": "data/digits_retrieval/runs",
    "qrels": "data/digits_retrieval/qrels.txt",
    "queries": "data/digits_retrieval/queries.csv",
    "segments": ["digit"],
}
METRICS = ("ndcg@10", "map", "mrr", "precision@10", "recall@100")
KS = (1, 3, 5, 10, 20, 50, 100)
GATES = ("better", "not worse", "better or equivalent")
RECALLS = np.arange(11) / 10
EXAMPLES = 5


@dataclass(frozen=True, eq=False)
class Settings:
    """What was asked, typed and checked."""

    metrics: tuple[Chosen, ...]
    ks: tuple[int, ...]
    baseline: str | None
    relevance_level: float
    unit: str | None
    segments: tuple[str, ...]
    interval: str
    level: float
    margin: float | None
    gate: str | None
    seed: int


def read(
    preds: Any = None,
    qrels: Any = None,
    *,
    queries: Any = None,
    columns: Any = None,
    systems: Any = None,
    baseline: Any = None,
    metrics: Any = None,
    ks: Any = None,
    relevance_level: Any = 1,
    unit: Any = None,
    segments: Any = None,
    interval: Any = "t",
    level: Any = 0.95,
    margin: Any = None,
    gate: Any = None,
    seed: Any = 0,
) -> "Ranking":
    """Reads the input and the parameters of `notebooks/ranking.ipynb`, whose comments say what each is.

    Without `preds` it is the bundled sample. Raises ParameterError for a parameter, InputError for the input.
    """
    given = {name: value for name, value in locals().items() if value is not DEFAULTS[name] and value != DEFAULTS[name]}
    if preds is None:
        preds, qrels = SAMPLE["preds"], SAMPLE["qrels"] if qrels is None else qrels
        queries = SAMPLE["queries"] if queries is None else queries
        segments = SAMPLE["segments"] if segments is None else segments
    names = parameters.texts("metrics", metrics) or list(METRICS)
    settings = Settings(
        metrics=tuple(dict.fromkeys(catalogue.find(name, "rankings") for name in names)),
        ks=tuple(sorted(set(parameters.integers("ks", ks)) or KS)),
        baseline=parameters.text("baseline", baseline),
        relevance_level=_required("relevance_level", parameters.number("relevance_level", relevance_level, above=0)),
        unit=parameters.text("unit", unit),
        segments=tuple(dict.fromkeys(parameters.texts("segments", segments))),
        interval=str(parameters.choice("interval", interval, perunit.METHODS) or "t"),
        level=_required("level", parameters.number("level", level, above=0.5, below=1)),
        margin=parameters.number("margin", margin, above=0),
        gate=parameters.choice("gate", gate, GATES),
        seed=int(_required("seed", parameters.integer("seed", seed, least=0))),
    )
    beside = [*settings.segments, *([settings.unit] if settings.unit else [])]
    data = runs.read(
        _paths(preds),
        _paths(qrels),
        columns=parameters.mapping("columns", columns),
        systems=parameters.texts("systems", systems),
        attributes=list(dict.fromkeys(beside)),
        queries=_paths(queries),
    )
    return Ranking(data, _checked(settings, data), given)


DEFAULTS = {name: one.default for name, one in inspect.signature(read).parameters.items()}


def _required(name: str, value: float | int | None) -> float:
    if value is None:
        raise ParameterError(f"{name} must be a number, got None")
    return value


def _paths(value: Any) -> Any:
    """A list written as text, "[a.run, b.run]", as a list; everything else as it is."""
    return parameters.texts("preds", value) if isinstance(value, str) and value.startswith("[") else value


def _checked(settings: Settings, data: Runs) -> Settings:
    if settings.baseline is not None and settings.baseline not in data.systems:
        has = ", ".join(data.systems)
        raise ParameterError(f"baseline: there is no system {settings.baseline!r}, the input has {has}")
    asks = "baseline" if settings.baseline else "gate" if settings.gate else "margin" if settings.margin else None
    if asks and len(data.systems) < 2:
        raise InputError(f"{asks}: a comparison needs two systems, the input has one, {data.systems[0]!r}")
    if settings.gate and not settings.baseline:
        raise ParameterError("gate: needs a baseline to hold the other systems against; set baseline='NAME'")
    if settings.gate == "better or equivalent" and settings.margin is None:
        raise ParameterError("gate: 'better or equivalent' needs a margin; set margin=0.01, say")
    return settings


@dataclass(frozen=True, eq=False)
class Ranking:
    """One evaluation: `estimates`, `comparisons`, `by_segment` and the rest are frames, one row a result."""

    runs: Runs
    settings: Settings
    given: Mapping[str, Any]

    @property
    def primary(self) -> Chosen:
        """The metric that decides: the first."""
        return self.settings.metrics[0]

    @property
    def unit_name(self) -> str:
        """What varies from sample to sample: the query, or the unit that the user named."""
        return self.settings.unit or self.runs.columns.get("query", "query").removesuffix("_id").replace("qid", "query")

    @cached_property
    def _unit(self) -> np.ndarray | None:
        return self.runs.attributes[self.settings.unit] if self.settings.unit else None

    def _rng(self, *key: int) -> np.random.Generator:
        """Random numbers of its own for each result, so that none depends on what else was asked."""
        return np.random.default_rng([self.settings.seed, *key])

    def _compute(self, chosen: Chosen, r: Rankings) -> Floats | Pooled:
        return chosen.values(r, self.settings.relevance_level)

    @cached_property
    def _values(self) -> dict[str, dict[str, Floats | Pooled]]:
        """Metric label -> system -> one value a query."""
        every = {chosen.label: chosen for chosen in self.settings.metrics}
        return {
            label: {name: self._compute(chosen, r) for name, r in self.runs.rankings.items()}
            for label, chosen in every.items()
        }

    def values(self) -> pd.DataFrame:
        """The primary metric of every query (rows) and system (columns); a pooled metric's ratio per query."""
        columns = {}
        for name, found in self._values[self.primary.label].items():
            columns[name] = found.numerator / found.denominator if isinstance(found, Pooled) else found
        return pd.DataFrame(columns, index=pd.Index(self.runs.query, name="query"))

    # What each system reaches

    @cached_property
    def order(self) -> list[str]:
        """The systems by the primary metric, best first; equal ones by name."""
        means = {name: perunit.mean(found) for name, found in self._values[self.primary.label].items()}
        return sorted(self.runs.systems, key=lambda name: (np.isnan(means[name]), -means[name], name))

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Every metric of every system with its interval, the range that ties leave open, and the undefined queries."""
        rows = [
            self._estimate(i, chosen, name) for i, chosen in enumerate(self.settings.metrics) for name in self.order
        ]
        return pd.DataFrame(rows)

    def _estimate(self, i: int, chosen: Chosen, name: str) -> dict[str, Any]:
        found = self._values[chosen.label][name]
        e = self._interval(chosen.metric, found, self.settings.interval, (1, i, self.runs.systems.index(name)))
        worst, best = self._tie_range(chosen, name, e.value)
        return {
            "metric": chosen.label,
            "system": name,
            "value": e.value,
            "low": e.low,
            "high": e.high,
            "level": e.level,
            "n": e.n,
            "undefined": int((~perunit.defined(found)).sum()),
            "method": e.method,
            "worst_ties": worst,
            "best_ties": best,
        }

    def _interval(
        self, metric: Metric, values: Floats | Pooled, method: str, key: tuple[int, ...], member: Any = slice(None)
    ) -> Estimate:
        unit = None if self._unit is None else self._unit[member]
        e = perunit.estimate(values, unit, method=method, level=self.settings.level, rng=self._rng(*key))
        return perunit.within(e, metric.low, metric.high)

    def _tie_range(self, chosen: Chosen, name: str, value: float) -> tuple[float, float]:
        """The metric with the worst and with the best order of items whose scores are equal."""
        r = self.runs.rankings[name]
        if not r.retrieved.tied.any():
            return value, value
        ends = [self._compute(chosen, order(r)) for order in (rankings.worst_ties, rankings.best_ties)]
        return perunit.mean(ends[0]), perunit.mean(ends[1])

    # Systems against each other

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The family: candidates against the baseline, or all pairs, each with its better mean first."""
        if self.settings.baseline:
            return [(name, self.settings.baseline) for name in self.order if name != self.settings.baseline]
        return list(combinations(self.order, 2))

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every pair on every metric that has a direction; p adjusted by Holm over the pairs of one metric."""
        frames = [self._compare_all(i, chosen) for i, chosen in enumerate(self.settings.metrics)]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def _compare_all(self, i: int, chosen: Chosen) -> pd.DataFrame:
        if chosen.metric.best == "neither":
            return pd.DataFrame()
        found = [self._compare(chosen, pair, (2, i, *map(self.runs.systems.index, pair))) for pair in self.pairs]
        adjusted = significance.adjust(found, significance.holm)
        rows = [self._row(chosen, pair, one) for pair, one in zip(self.pairs, adjusted, strict=True)]
        return pd.DataFrame(rows)

    def _compare(self, chosen: Chosen, pair: tuple[str, str], key: tuple[int, ...]) -> Comparison:
        first, second = (self._values[chosen.label][name] for name in pair)
        if not perunit.both(first, second).any():
            raise InputError(f"{chosen.label}: no query has a value for both {pair[0]!r} and {pair[1]!r}")
        rng, level = self._rng(*key), self.settings.level
        return perunit.compare(first, second, self._unit, level=level, rng=rng, name=self.unit_name)

    def _row(self, chosen: Chosen, pair: tuple[str, str], c: Comparison) -> dict[str, Any]:
        first, second = (self._values[chosen.label][name] for name in pair)
        direction = 1 if chosen.metric.best == "high" else -1
        wins, ties, losses = self._wins(first, second, direction)
        level = self.settings.level
        return {
            "metric": chosen.label,
            "first": pair[0],
            "second": pair[1],
            "difference": c.difference.value,
            "low": c.difference.low,
            "high": c.difference.high,
            "level": level,
            "p": c.p_value,
            "adjusted": c.adjusted,
            "p_t": perunit.t_test(first, second, self._unit, level=level, name="").p_value,
            "n": c.difference.n,
            "unit": c.unit,
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "detectable": perunit.detectable(first, second, self._unit, level=level),
            "verdict": significance.verdict(c, margin=self.settings.margin, direction=direction),
            "method": c.method,
        }

    @staticmethod
    def _wins(first: Floats | Pooled, second: Floats | Pooled, direction: int) -> tuple[int, int, int]:
        """Queries where the first is better, equal, worse; of pooled metrics by their numerators."""
        keep = perunit.both(first, second)
        sides = [side.numerator if isinstance(side, Pooled) else side for side in (first, second)]
        sign = np.sign(direction * (sides[0] - sides[1])[keep])
        return int((sign > 0).sum()), int((sign == 0).sum()), int((sign < 0).sum())

    @cached_property
    def leader(self) -> str:
        """Whom the first screen speaks of: the best system, with a baseline the best of the others."""
        return next(name for name in self.order if name != self.settings.baseline or len(self.order) == 1)

    @cached_property
    def headline(self) -> pd.DataFrame:
        """The primary comparisons of the first screen: the leader against each other, or all against the baseline."""
        if len(self.order) < 2 or self.primary.metric.best == "neither":
            return pd.DataFrame()
        found = self.comparisons[self.comparisons["metric"] == self.primary.label]
        return found if self.settings.baseline else found[found["first"] == self.leader]

    # Query by query, along the list, by segment

    def differences(self) -> pd.Series:
        """Per query the primary metric of the leader less that of its first opponent, smallest first."""
        first, second = self.headline.iloc[0][["first", "second"]]
        values = self.values()
        return (values[first] - values[second]).dropna().sort_values(kind="stable")

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The queries where the leader loses most and gains most against its first opponent."""
        found, values = self.differences(), self.values()
        first, second = self.headline.iloc[0][["first", "second"]]
        gains, losses = found[::-1][:n], found[:n]
        gains, losses = gains[gains > 0], losses[losses < 0]
        chosen = pd.concat([gains, losses])
        sides = {"first": values[first][chosen.index].to_numpy(), "second": values[second][chosen.index].to_numpy()}
        return pd.DataFrame({"query": chosen.index, "difference": chosen.to_numpy(), **sides})

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The primary metric of every system at each cut-off that a list reaches; NDCG where it has no cut-off."""
        metric = self.primary.metric if self.primary.metric.cut != "never" else catalogue.TABLE["ndcg"]
        longest = max(r.retrieved.length.max(initial=1) for r in self.runs.rankings.values())
        ks = [k for k in self.settings.ks if k <= longest] or [1]
        rows = []
        for k in ks:
            for name in self.order:
                e = self._interval(metric, self._compute(Chosen(metric, k), self.runs.rankings[name]), "t", (3,))
                rows.append({"metric": metric.name, "system": name, "k": k, **_limits(e)})
        return pd.DataFrame(rows)

    @cached_property
    def precision_recall(self) -> pd.DataFrame:
        """Mean interpolated precision of every system at the eleven recall levels, with intervals."""
        rows = []
        for name in self.order:
            for recall in RECALLS:
                r, level = self.runs.rankings[name], self.settings.relevance_level
                found = rankings.interpolated_precision(r, recall, level)
                e = self._interval(catalogue.TABLE["precision"], found, "t", (4,))
                rows.append({"system": name, "recall": recall, **_limits(e)})
        return pd.DataFrame(rows)

    @cached_property
    def by_segment(self) -> pd.DataFrame:
        """The primary metric of every system in every slice, and the first headline comparison there, p by Holm."""
        rows, tests = [], []
        for column in self.settings.segments:
            for j, part in enumerate(slices(column, self.runs.attributes[column])):
                rows += [self._in_slice(part.column, part.label, part.member, name) for name in self.order]
                tests.append(self._slice_test(part.column, part.label, part.member, j))
        found = pd.DataFrame(rows)
        made = pd.DataFrame([one for one in tests if one])
        if len(made):
            made["adjusted"] = np.maximum(made["p"], significance.holm(made["p"].to_numpy(float)))
            found = found.merge(made, on=["segment", "slice"], how="left")
        return found

    def _cut(self, found: Floats | Pooled, member: np.ndarray) -> Floats | Pooled:
        if isinstance(found, Pooled):
            return Pooled(found.numerator[member], found.denominator[member])
        return found[member]

    def _in_slice(self, column: str, label: str, member: np.ndarray, name: str) -> dict[str, Any]:
        found = self._cut(self._values[self.primary.label][name], member)
        e = self._interval(self.primary.metric, found, "t", (5,), member)
        return {"segment": column, "slice": label, "system": name, **_limits(e)}

    def _slice_test(self, column: str, label: str, member: np.ndarray, j: int) -> dict[str, Any]:
        if not len(self.headline):
            return {}
        pair = self.headline.iloc[0][["first", "second"]]
        first, second = (self._cut(self._values[self.primary.label][name], member) for name in pair)
        if perunit.both(first, second).sum() < 2:
            return {}
        unit = None if self._unit is None else self._unit[member]
        rng, level = self._rng(6, j), self.settings.level
        c = perunit.compare(first, second, unit, level=level, rng=rng, name=self.unit_name)
        limits = {"difference_low": c.difference.low, "difference_high": c.difference.high}
        return {"segment": column, "slice": label, "difference": c.difference.value, **limits, "p": c.p_value}


def _limits(e: Estimate) -> dict[str, Any]:
    return {"value": e.value, "low": e.low, "high": e.high, "n": e.n}
