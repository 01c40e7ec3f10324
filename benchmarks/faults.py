"""Faults planted one at a time, to see whether the tests catch them.

    .venv/bin/python benchmarks/faults.py               # every fault: by which test it is caught
    .venv/bin/python benchmarks/faults.py --near        # by which of the module's own tests
    .venv/bin/python benchmarks/faults.py 3 17 --whole  # two of them, against the whole suite
    .venv/bin/python benchmarks/faults.py --check       # that every fault still fits the code

Each fault replaces one piece of code in a copy of the working tree. The module's own tests run
first, and if none fails, all others: its examples, the tests of `NEAREST`, and those that import
it. A fault whose code has gone is stale: write it anew at the place that has its meaning.
"""

import argparse
import ast
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINKED = (".venv", ".page")  # not copied
# the tests of modules that tests reach by other doors, such as `ek.diff` or a file of test cases
NEAREST = {
    "catalogue/tables.py": ("test_every_metric", "test_labels"),
    "metrics/counts.py": ("test_counts", "test_examples"),
    "metrics/losses.py": ("test_examples", "test_rating_study"),
    "metrics/rankings.py": ("test_rankings", "test_examples"),
    "online/logs.py": ("test_interleaving_study", "test_sessions"),
    "reading/inputs/aligned.py": ("test_keys", "test_outcomes"),
    "reading/inputs/folds.py": ("test_validation_study", "test_validation_leaks"),
    "reading/inputs/unit_columns.py": ("test_unit_tables",),
    "reading/inputs/unit_roles.py": ("test_unit_tables",),
    "reading/tables/logs.py": ("test_logs",),
    "reading/tables/table.py": ("test_columns", "test_large_tables"),
    "statistics/spread.py": ("test_intervals", "test_significance"),
    "studies/diff.py": ("test_diff",),
    "studies/experiment.py": ("test_interleaving_study",),
    "studies/policy.py": ("test_policy",),
    "studies/study.py": ("test_multiplicity", "test_classification_study", "test_rating_study"),
    "studies/unit_files.py": ("test_diff", "test_policy"),
}


@dataclass(frozen=True)
class Fault:
    """path: below evalkit/. before: a piece of code that occurs once there. after: what replaces
    it.
    """

    path: str
    before: str
    after: str
    says: str


FAULTS = (
    # Metrics
    Fault(
        "metrics/counts.py",
        '-threshold, side="right")',
        '-threshold, side="left")',
        "a score at the threshold is negative",
    ),
    Fault(
        "metrics/counts.py",
        "c.tp + c.fp + beta**2 * c.positives)",
        "c.tp + c.fp + beta * c.positives)",
        "F-beta weighs by beta",
    ),
    Fault(
        "metrics/counts.py",
        "ratio(c.fp, c.negatives)",
        "ratio(c.fp, c.total)",
        "false positive rate of all rows",
    ),
    Fault(
        "metrics/curves.py",
        "c.threshold[enough[-1]]",
        "c.threshold[enough[0]]",
        "highest, not lowest, threshold with a precision",
    ),
    Fault(
        "metrics/curves.py",
        "np.argmin(cost(c, false_positive, false_negative))",
        "len(c.threshold) - 1 - np.argmin(cost(c, false_positive, false_negative)[::-1])",
        "least cost: the lowest of ties",
    ),
    Fault(
        "metrics/calibration.py",
        "+ 1)[1:-1] * (c.total - 1)",
        "+ 1)[1:-1] * c.total",
        "quantile bins one rank too high",
    ),
    Fault(
        "metrics/losses.py",
        "whole = np.abs(actual) + np.abs(forecast)",
        "whole = np.abs(actual + forecast)",
        "sMAPE of opposite signs",
    ),
    Fault(
        "metrics/rankings.py",
        "else np.minimum(wanted, k))",
        "else np.maximum(wanted, k))",
        "AP over the larger of k and R",
    ),
    Fault(
        "metrics/rankings.py",
        "np.maximum(r.retrieved.depth, 1) if k is None",
        "np.maximum(r.retrieved.length, 1) if k is None",
        "precision over rows, not ranks",
    ),
    Fault(
        "metrics/rankings.py",
        "np.minimum(judged - wanted, wanted)",
        "np.minimum(judged, wanted)",
        "bpref counts relevant items against",
    ),
    Fault(
        "metrics/rankings.py",
        "total(first & ~np",
        "total(~np",
        "judged items behind the cut-off count",
    ),
    Fault("metrics/rankings.py", " - np.exp2(-r.top_grade)", "", "ERR: a grade of 0 satisfies"),
    Fault(
        "metrics/rankings.py",
        "_discounted(r.ideal, k, gain))",
        "_discounted(r.ideal, None, gain))",
        "NDCG@k over the ideal of the whole list",
    ),
    Fault("catalogue/tables.py", "= importance(g)", "= 1.0", "GAUC without weights"),
    Fault(
        "catalogue/tables.py",
        "np.flatnonzero(labels.occurs(labels.one_vs_rest(rows.confusion)))",
        "np.flatnonzero(labels.one_vs_rest(rows.confusion).positives > 0)",
        "macro leaves out classes only predicted",
    ),
    Fault(
        "metrics/labels.py",
        "np.dot(metric(c)[has], c.positives[has])",
        "np.dot(metric(c)[has], (c.positives + c.fp)[has])",
        "weighted by other numbers",
    ),
    # Statistics
    Fault(
        "statistics/proportions.py",
        "equal * (1 - equal) - 2 * together",
        "equal * (1 - equal) - together",
        "precision test: half the covariance",
    ),
    Fault(
        "statistics/proportions.py",
        "pooled = (successes_a + successes_b) / (n_a + n_b)",
        "pooled = (successes_a / n_a + successes_b / n_b) / 2",
        "pooled share of arms, not of units",
    ),
    Fault(
        "statistics/proportions.py",
        "bdtrc(successes - 1, n, null)",
        "bdtrc(successes, n, null)",
        "one-sided binomial p leaves out what was seen",
    ),
    Fault(
        "statistics/multiplicity.py",
        "np.maximum.accumulate(p * np.arange(p.size, 0, -1))",
        "p * np.arange(p.size, 0, -1)",
        "Holm is not monotone",
    ),
    Fault(
        "statistics/significance.py",
        "inside = comparison.equivalence",
        "inside = comparison.difference",
        "equivalence by the wider interval",
    ),
    Fault(
        "statistics/significance.py",
        "satterthwaite(variance, np.maximum(units - 1, 1))",
        "satterthwaite(variance, units)",
        "Welch: one degree of freedom too many a group",
    ),
    Fault(
        "statistics/significance.py",
        "drawn, moved = ratio(sums[:, 0], n if counts is None else sums[:, 1]), units - value * "
        "size",
        "drawn, moved = ratio(sums[:, 0], n if counts is None else sums[:, 1]), units - value",
        "BCa of clusters: rows of a cluster do not count",
    ),
    Fault(
        "statistics/significance.py",
        "return bool(p < round(1 - level, 12))",
        "return bool(p <= round(1 - level, 12))",
        "p at the level rejects",
    ),
    Fault(
        "statistics/power.py",
        "critical = stdtrit(freedom, (1 + level) / 2)",
        "critical = stdtrit(freedom, level)",
        "power of a one-sided test",
    ),
    Fault(
        "statistics/power.py",
        "lead, half = 1 - own / mean**2, own / mean",
        "lead, half = 1.0, own / mean",
        "detectable lift: the spread stays",
    ),
    Fault(
        "statistics/intervals.py",
        "worst * float(sure.mean())",
        "worst * float(wrong.mean())",
        "certain predictions counted by those that fail",
    ),
    Fault(
        "statistics/spread.py",
        "self.square * ratio(self.kish, self.kish - 1)",
        "self.square",
        "standard error over n",
    ),
    Fault(
        "statistics/independent.py",
        "skew_a * a**1.5 / n**2 - skew_b * b**1.5 / m**2",
        "skew_a * a**1.5 / n**2 + skew_b * b**1.5 / m**2",
        "skewness of a difference adds up",
    ),
    Fault(
        "statistics/multiplicity.py",
        "left = 1 - ties / (k * (k * k - 1) * n)",
        "left = 1.0",
        "Friedman without its correction for ties",
    ),
    Fault(
        "statistics/significance.py",
        "standard_error(each - value) * float(np.sqrt(1 + n * test / train))",
        "standard_error(each - value)",
        "folds as if independent",
    ),
    Fault(
        "statistics/consistency.py",
        "float((1 + reached) / (1 + draws))",
        "float(reached / draws)",
        "a drawn p of 0",
    ),
    Fault(
        "statistics/bootstrap.py",
        "ndtr(bias + moved / np.maximum(1 - acceleration * moved, TINY))",
        "ndtr(moved / np.maximum(1 - acceleration * moved, TINY))",
        "BCa: half the bias correction",
    ),
    Fault(
        "statistics/signflip.py",
        "np.abs(enumerated(moved)) - abs(moved.sum())",
        "enumerated(moved) - abs(moved.sum())",
        "exact enumeration of one side",
    ),
    # Reading
    Fault(
        "reading/inputs/runs.py",
        "keep = ~ordered.same & (grade >= 0)",
        "keep = ~ordered.same & (grade > 0)",
        "judgements of 0 are dropped",
    ),
    Fault(
        "reading/inputs/runs.py",
        "again[grade[again - 1] != grade[again]]",
        "again[grade[again - 1] < grade[again]]",
        "conflicting grades found in one order only",
    ),
    Fault(
        "reading/inputs/runs.py",
        "missing=int((count[known] == 0).sum())",
        "missing=int((count[~known] == 0).sum())",
        "missing queries of the wrong group",
    ),
    Fault(
        "reading/inputs/outcomes.py",
        "return min(reversed(list(rows)), key=",
        "return max(reversed(list(rows)), key=",
        "the most frequent label is called wrong",
    ),
    Fault(
        "reading/inputs/aligned.py",
        "for at in rows[1:]:",
        "for at in rows[1:2]:",
        "only two systems are compared",
    ),
    Fault(
        "reading/inputs/aligned.py",
        "int(order[again[0] + 1]) if",
        "int(order[again[0]]) if",
        "a repeated id at its first row",
    ),
    Fault(
        "reading/tables/rules.py",
        "0 if before is None else before + row + 1)",
        "0 if before is None else before + row)",
        "the row of an error is one too low",
    ),
    Fault(
        "reading/tables/rules.py",
        "lambda x: (x < 1) | (x != np.floor(x))",
        "lambda x: (x < 0) | (x != np.floor(x))",
        "rank 0 is accepted",
    ),
    Fault(
        "reading/tables/table.py",
        "np.maximum(np.searchsorted(edges, values), 1) - 1",
        'np.searchsorted(edges[1:-1], values, side="right")',
        "quarters closed on the wrong side",
    ),
    Fault(
        "reading/tables/table.py",
        "np.sort(order[: most - 1]), order[most - 1 :]",
        "np.sort(order[:most]), order[most:]",
        "one group too many",
    ),
    Fault(
        "reading/tables/ids.py",
        "np.lexsort((-item(some), -score[some], of[some]))",
        "np.lexsort((item(some), -score[some], of[some]))",
        "ties by item ascending",
    ),
    Fault(
        "reading/inputs/lists.py",
        "int((span > some.length[filled]).sum())",
        "int((span >= some.length[filled]).sum())",
        "lists without a gap are counted",
    ),
    # Offline and online
    Fault(
        "offline/leakage.py",
        "test[when[test] <= when[train].max()]",
        "test[when[test] < when[train].max()]",
        "rows as new as the training rows pass",
    ),
    Fault(
        "offline/leakage.py",
        "> 4 * np.sqrt(share * (1 - share) / size)",
        "> 4 * np.sqrt(share * (1 - share))",
        "odd folds: standard error of one row",
    ),
    Fault(
        "online/experiments.py",
        "chdtrc(observed.size - 1,",
        "chdtrc(observed.size,",
        "sample ratio: degrees of freedom",
    ),
    Fault(
        "online/experiments.py",
        "weight = (share * y[arm].size / size)",
        "weight = (share * number.size / size)",
        "strata weighted by all users",
    ),
    # Studies
    Fault(
        "studies/study.py",
        'significance.holm(tests["p"].to_numpy(float))',
        'tests["p"].to_numpy(float)',
        "slices are not adjusted",
    ),
    Fault(
        "studies/study.py",
        "(1 - self.test_level) / max(self.family_size, 1)",
        "(1 - self.test_level)",
        "power of one test alone",
    ),
    Fault(
        "studies/study.py",
        "self.compare(self.primary, self.opponents, part.member)",
        "self.compare(self.primary, self.opponents)",
        "each slice has the test of all rows",
    ),
    Fault(
        "studies/policy.py",
        '"better or equivalent": dict(zip(VERDICTS, (PASS, PASS, CANNOT_TELL, FAIL)',
        '"better or equivalent": dict(zip(VERDICTS, (PASS, PASS, PASS, FAIL)',
        "a gate lets cannot tell pass",
    ),
    Fault(
        "studies/study.py",
        "-by.metric.sign * value[name]",
        "-value[name]",
        "the worst leads where less is better",
    ),
    Fault(
        "studies/ranking.py",
        "(~self.per_query[chosen.label, system].defined).sum()",
        "self.per_query[chosen.label, system].defined.sum()",
        "defined queries counted as undefined",
    ),
    Fault(
        "studies/experiment.py",
        "np.quantile(self._values, share)",
        "np.quantile(self._sides(self._values)[0], share)",
        "the cap of one arm",
    ),
    Fault(
        "studies/beyond_relevance.py",
        "np.nanmin(values, axis=0)",
        "values[1:].mean(axis=0)",
        "the lowest is the mean",
    ),
    Fault(
        "studies/score_curves.py",
        "study.costs.fp / (study.costs.fp + study.costs.fn)",
        "study.costs.fn / (study.costs.fp + study.costs.fn)",
        "threshold of the other cost",
    ),
    Fault(
        "studies/reliability.py",
        'side="right") - 1, 0, len(SPREAD) - 2)',
        'side="left") - 1, 0, len(SPREAD) - 2)',
        "bins of the spread closed on the right",
    ),
)


def planted(fault: Fault, root: Path) -> bool:
    """Replace the code below a root; False if it does not occur exactly once there."""
    path = root / "evalkit" / fault.path
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.count(fault.before) != 1:
        return False
    path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
    return True


def copied(root: Path) -> None:
    """The files of the working tree that git knows; environments are linked."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    for name in LINKED:
        if (ROOT / name).exists():
            (root / name).symlink_to(ROOT / name)


def imported(path: Path) -> set[str]:
    """The modules that a file imports, by their full names."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {f"{node.module}"}
    return names


def own_tests(fault: Fault, root: Path) -> list[str]:
    """The module itself, for its examples, the tests of `NEAREST`, and those that import it, its
    namesakes first.
    """
    module = f"evalkit.{fault.path.removesuffix('.py').replace('/', '.')}"
    stem = Path(fault.path).stem
    importing = [
        path.relative_to(root).as_posix()
        for path in sorted((root / "tests").glob("test_*.py"))
        if module in imported(path)
    ]
    importing.sort(key=lambda name: stem not in name)
    nearest = [f"tests/{name}.py" for name in NEAREST.get(fault.path, ())]
    return list(dict.fromkeys([f"evalkit/{fault.path}", *nearest, *importing]))


def failed(root: Path, tests: list[str], processes: int) -> str:
    """The first test that fails, or nothing."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "--ignore", "tests/page"]
    if processes > 1:
        options += ["-n", f"{processes}", "--dist", "worksteal"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", ran.stdout, re.MULTILINE)
    if lines:
        return str(lines[0])
    return "" if ran.returncode in (0, 5) else f"pytest ended with {ran.returncode}"


def caught(fault: Fault, root: Path, *, near: bool, whole: bool) -> str:
    """By which test a fault in a copy of the tree is caught: "" if by none, "stale" if its code is
    not there. The copy is as before afterwards.
    """
    path = root / "evalkit" / fault.path
    sound = path.read_bytes() if path.exists() else b""
    if not planted(fault, root):
        return "stale"
    try:
        by = failed(root, own_tests(fault, root), processes=1) if near else ""
        return by or (failed(root, ["tests", "evalkit"], processes=2) if whole else "")
    finally:
        path.write_bytes(sound)


def main() -> None:
    """Plant each of the chosen faults and print what catches it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", nargs="*", type=int, help="faults by number, by default all")
    parser.add_argument("--whole", action="store_true", help="run the whole suite at once")
    parser.add_argument("--near", action="store_true", help="run only the module's own tests")
    parser.add_argument("--check", action="store_true", help="only say which faults fit the code")
    chosen = parser.parse_args()
    numbers = chosen.numbers or range(1, len(FAULTS) + 1)
    if chosen.check:
        texts = {fault: (ROOT / "evalkit" / fault.path) for fault in FAULTS}
        stale = [n for n in numbers if not _fits(FAULTS[n - 1], texts[FAULTS[n - 1]])]
        print(f"{len(FAULTS)} faults, stale: {stale or 'none'}")
        return
    alive = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copied(root)
        for number in numbers:
            fault = FAULTS[number - 1]
            by = caught(fault, root, near=not chosen.whole, whole=not chosen.near)
            alive += not by
            print(f"{number:3} {fault.path}: {fault.says}: {by or 'ALIVE'}", flush=True)
    print(f"{len(numbers)} faults, {alive} alive")


def _fits(fault: Fault, path: Path) -> bool:
    return path.exists() and path.read_text(encoding="utf-8").count(fault.before) == 1


if __name__ == "__main__":
    main()
