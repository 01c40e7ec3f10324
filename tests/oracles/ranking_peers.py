"""What the public ranking tools call evalkit's metrics, and in which known ways their numbers are
wrong.

A defect explains a value only where evalkit, computing the way the tool does, comes to the tool's
value: no case is listed by hand.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evalkit.catalogue import lookup
from evalkit.metrics import rankings
from evalkit.metrics.rankings import Rankings

Measure = Callable[[Rankings, float], np.ndarray]
Bounds = tuple[np.ndarray, np.ndarray]
NAMES = tomllib.loads(
    (Path(__file__).parents[1] / "examples" / "tool_names.toml").read_text(encoding="utf-8")
)
POINTS = tuple(np.arange(11) / 10)


@dataclass(frozen=True)
class Subject:
    """One system's rankings as evalkit orders them, and as some tools do.

    rounded: by scores rounded to float32. listed: equal scores in the order of the file. clipped:
    grades below 0 as 0.
    """

    name: str
    r: Rankings
    rounded: Rankings
    listed: Rankings
    clipped: Rankings

    def each(self, change: Callable[[Rankings], Rankings], name: str) -> "Subject":
        """The same with every ranking changed."""
        return Subject(
            name, change(self.r), change(self.rounded), change(self.listed), change(self.clipped)
        )


# ---- the tools' names ----------------------------------------------------------------------------


def named(text: str) -> Measure:
    """A metric of the catalogue by its own name."""
    chosen = lookup.find_metric(text, "rankings")
    return lambda r, level: chosen.sums(r, level).per_unit


def interpolated(points: tuple[float, ...], *, rounding: bool = False) -> Measure:
    """Interpolated precision, mean over recall points.

    For recall x trec_eval up to 9.0.7 asks for trunc(x · R + 0.9) relevant items, as evalkit does;
    from 9.0.8 on, and in NIST's files, for trunc(x · R + 0.5). n items are what the older rule asks
    for at the recall (n − 0.5) / R; so the younger rule is the older one at about x − 0.4 / R,
    written so that no rounding of x · R can tip it over.
    """

    def compute(r: Rankings, level: float) -> np.ndarray:
        wanted = np.maximum(rankings.relevant(r, level), 1)
        recalls = [(np.floor(x * wanted + 0.5) - 0.5) / wanted if rounding else x for x in points]
        # A recall for each query, by the array that stands where the function names one number.
        return np.mean([rankings.interpolated_precision(r, x, level) for x in recalls], axis=0)  # type: ignore[arg-type]

    return compute


def trec_name(name: str, *, rounding: bool = False) -> Measure | None:
    """A measure as trec_eval names it."""
    count = {
        "num_rel": rankings.relevant,
        "num_rel_ret": lambda r, level: rankings.hits(r, None, level),
    }
    count |= {
        "num_ret": lambda r, level: r.retrieved.length.astype(float),
        "num_q": lambda r, level: np.ones(len(r)),
    }
    if name in NAMES["trec_eval"]:
        return named(NAMES["trec_eval"][name])
    if found := re.fullmatch(r"(P|recall|map_cut|ndcg_cut|success)_(\d+)", name):
        return named(f"{NAMES['trec_eval_cut'][found[1]]}@{found[2]}")
    if found := re.fullmatch(r"iprec_at_recall_(\d\.\d+)", name):
        return interpolated((float(found[1]),), rounding=rounding)
    if found := re.fullmatch(r"11pt_avg(?:_([.,\d]+))?", name):
        return interpolated(
            tuple(map(float, found[1].split(","))) if found[1] else POINTS, rounding=rounding
        )
    return count.get(name)


def ir_measures_name(name: str) -> Measure | None:
    """A measure as ir_measures prints it; ERR and exponential gain are gdeval's, whose top grade is
    always 4.
    """
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@([\d.]+))?", name)
    assert found is not None, name
    base, options, cut = found[1], found[2] or "", f"@{found[3]}" if found[3] else ""
    known = NAMES["ir_measures"] | {"nDCG": "ndcg_exp" if "exp" in options else "ndcg"}
    if base == "IPrec":
        return interpolated((float(found[3]),))
    if base == "ERR":
        return lambda r, level: rankings.err(replace(r, top_grade=4.0), int(found[3]))
    if base == "RBP":
        given = re.search(r"p=([\d.]+)", options)
        return persistent(float(given[1]) if given else 0.8)
    return named(known[base] + cut) if base in known else None


def ranx_name(name: str) -> Measure | None:
    """A measure as ranx names it, with its suffix -l2 for the relevance level."""
    name = re.sub(r"-l\d$", "", name)
    base, _, cut = name.partition("@")
    known = NAMES["ranx"]
    if base.startswith("rbp."):
        return persistent(float(base.removeprefix("rbp")))
    return named(known[base] + ("@" + cut if cut else "")) if base in known else None


def persistent(p: float) -> Measure:
    """Rank-biased precision with the persistence p."""
    return lambda r, level: rankings.rbp(r, None, level, p)


def measure(peer: str, name: str) -> Measure | None:
    """evalkit's function for a tool's measure; None where evalkit has no such metric."""
    if peer == "ir_measures":
        return ir_measures_name(name)
    if peer == "ranx":
        return ranx_name(name)
    return trec_name(name, rounding=peer in ("trec_eval_9.0.8", "trec_eval_10.0", "NIST"))


def tolerance(peer: str, name: str) -> float:
    """Half of the last decimal that the tool prints; 1e-9 where it prints all (the files hold 12
    digits).
    """
    if peer.startswith("trec_eval") or peer == "NIST":
        return 0.50001e-4
    return 0.50001e-5 if name.startswith("ERR") or "exp-log2" in name else 1e-9


# ---- the tools' known defects --------------------------------------------------------------------


@dataclass(frozen=True)
class Defect:
    """What some tools do: the lowest and highest value that evalkit gets when it does the same, per
    query.
    """

    name: str
    peers: str
    measures: str
    bounds: Callable[[Subject, Measure, float, str], Bounds]

    def of(self, peer: str, name: str) -> bool:
        """Whether this tool's measure has it."""
        return bool(re.match(self.peers, peer) and re.match(self.measures, name))


def _rounded(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    value = compute(s.rounded, level)
    return value, value


def ascending_ties(r: Rankings) -> Rankings:
    """Equal scores by id ascending: each run of equal scores turned round."""
    group = np.cumsum(~r.retrieved.tied)
    order = np.lexsort((-np.arange(len(group)), group))
    return replace(r, retrieved=replace(r.retrieved, grade=r.retrieved.grade[order]))


def _ascending(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    value = compute(ascending_ties(s.r), level)
    return value, value


def _listed(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    value = compute(s.listed, level)
    return value, value


def _clipped(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    value = compute(ascending_ties(s.clipped), level)
    return value, value


def _any_order(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    return compute(rankings.worst_ties(s.r), level), compute(rankings.best_ties(s.r), level)


def _graded_rbp(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    p = float(name.removeprefix("rbp").removesuffix(f"-l{level:g}"))

    def graded(r: Rankings) -> np.ndarray:
        found = r.retrieved.hits(level)
        return found.total((1 - p) * p ** (found.rank - 1.0) * r.retrieved.grade[found.row])

    return graded(rankings.worst_ties(s.r)), graded(rankings.best_ties(s.r))


def _not_a_number(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    """NaN where every judged item is relevant; no bound holds anywhere else."""
    none = s.r.ideal.length == rankings.relevant(s.r, level)
    value = np.where(none, np.nan, np.inf)
    return value, value


def _cut_short(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    """0 at each query after the first with nothing relevant: ranx divides by 0 there and that
    thread's loop ends.
    """
    nothing = np.cumsum(rankings.relevant(s.r, level) == 0) > 0
    value = np.where(nothing, 0, np.inf)
    return value, value


def _any_grade(s: Subject, compute: Measure, level: float, name: str) -> Bounds:
    value = compute(s.r, 1)
    return value, value


KNOWN = (
    Defect("scores rounded to float32", r"pytrec_eval|ir_measures|trec_eval_9", ".*", _rounded),
    Defect(
        "equal scores by ascending id in RR@k, Judged@k",
        "ir_measures",
        r"RR.*@|Judged@",
        _ascending,
    ),
    Defect("equal scores in the order of the file in RBP", "ir_measures", "RBP", _listed),
    Defect("a grade below 0 counted as judged", "ir_measures", "Judged@", _clipped),
    Defect("equal scores in no fixed order", "ranx", ".*", _any_order),
    Defect("RBP multiplied by the grade", "ranx", "rbp", _graded_rbp),
    Defect("bpref NaN where nothing is judged non-relevant", "ranx", "bpref", _not_a_number),
    Defect("num_rel of -c not at the level of -l", "trec_eval", "num_rel$", _any_grade),
    Defect("bpref 0 after a query with nothing relevant", "ranx", "bpref", _cut_short),
)
