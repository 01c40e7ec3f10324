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
    "catalogue/tables.py": ("test_labels", "test_within_units", "test_every_metric"),
    "commands/batch.py": ("test_batch", "test_diff"),
    "commands/gates.py": ("test_policy",),
    "commands/index.py": ("test_policy",),
    "metrics/counts.py": ("test_counts", "test_examples"),
    "metrics/losses.py": ("test_examples", "test_rating_study"),
    "metrics/rankings.py": ("test_rankings", "test_examples"),
    "online/logs.py": ("test_interleaving_study", "test_sessions"),
    "reading/inputs/aligned.py": ("test_keys", "test_outcomes"),
    "reading/inputs/folds.py": ("test_validation_study", "test_validation_leaks"),
    "reading/inputs/lists.py": ("test_beyond_relevance", "test_given_ranks"),
    "reading/inputs/unit_columns.py": ("test_unit_tables",),
    "reading/inputs/unit_roles.py": ("test_unit_tables",),
    "reading/tables/logs.py": ("test_logs",),
    "reading/tables/rules.py": ("test_precision", "test_given_ranks"),
    "reading/tables/table.py": ("test_columns", "test_large_tables"),
    "statistics/rank_tests.py": ("test_power",),
    "statistics/spread.py": ("test_intervals", "test_significance"),
    "studies/diff.py": ("test_diff",),
    "studies/experiment.py": ("test_interleaving_study",),
    "studies/policy.py": ("test_policy",),
    "studies/ranking.py": ("test_ranking_study", "test_one_system"),
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
        "c.tp + c.fp + miss_weight * c.positives)",
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
        "largest_tp = c.tp[allowed[-1]]",
        "largest_tp = c.tp[allowed[0]]",
        "the smallest, not the largest, recall with a precision",
    ),
    Fault(
        "metrics/curves.py",
        "np.argmin(cost(c, false_positive, false_negative))",
        "len(c.threshold) - 1 - np.argmin(cost(c, false_positive, false_negative)[::-1])",
        "least cost: the lowest of ties",
    ),
    Fault(
        "metrics/calibration.py",
        "rank = share * (c.total - 1)",
        "rank = share * c.total",
        "quantile bins one rank too high",
    ),
    Fault(
        "metrics/losses.py",
        "size = np.abs(actual) + np.abs(forecast)",
        "size = np.abs(actual + forecast)",
        "sMAPE of opposite signs",
    ),
    Fault(
        "metrics/rankings.py",
        "np.minimum(most_hits, k)",
        "np.maximum(most_hits, k)",
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
        "_discounted(r.ideal, k, gain))",
        "_discounted(r.ideal, None, gain))",
        "NDCG@k over the ideal of the whole list",
    ),
    Fault(
        "metrics/rankings.py",
        "counted = np.minimum(above, total_relevant[hit.owner])",
        "counted = np.minimum(above + 1, total_relevant[hit.owner])",
        "bpref counts relevant items against",
    ),
    Fault(
        "metrics/rankings.py",
        "r.retrieved.total(is_first & has_judgement)",
        "r.retrieved.total(has_judgement)",
        "judged items behind the cut-off count",
    ),
    Fault("metrics/rankings.py", " - np.exp2(-r.top_grade)", "", "ERR: a grade of 0 satisfies"),
    Fault(
        "catalogue/tables.py",
        "seen = labels.occurs(labels.one_vs_rest(rows.confusion))",
        "seen = labels.one_vs_rest(rows.confusion).positives > 0",
        "macro leaves out classes only predicted",
    ),
    Fault(
        "metrics/rankings.py",
        "np.where(np.isnan(groups.auc), np.nan, importance(groups))",
        "np.where(np.isnan(groups.auc), np.nan, 1.0)",
        "GAUC without weights",
    ),
    Fault(
        "metrics/labels.py",
        "weight = c.positives[occurring]",
        "weight = (c.positives + c.fp)[occurring]",
        "weighted by other numbers",
    ),
    # Statistics
    Fault(
        "statistics/proportions.py",
        "pooled * (1 - pooled) - 2 * covariance",
        "pooled * (1 - pooled) - covariance",
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
        "np.maximum.accumulate(p * not_smaller)",
        "p * not_smaller",
        "Holm is not monotone",
    ),
    Fault(
        "statistics/significance.py",
        "limits = comparison.equivalence",
        "limits = comparison.difference",
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
        "influence = values - mean * size",
        "influence = values - mean",
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
        "critical = t_quantile(level, freedom)",
        "critical = t_quantile(2 * level - 1, freedom)",
        "power of a one-sided test",
    ),
    Fault(
        "statistics/power.py",
        "log_error = ratio(sd, mean) * np.sqrt(1 / n + 1 / m)",
        "log_error = ratio(sd, mean) * np.sqrt(1 / n)",
        "detectable lift: the other arm is known",
    ),
    Fault(
        "statistics/intervals.py",
        "loss_if_all_wrong = worst * float(self.sure.mean())",
        "loss_if_all_wrong = worst * float(self.wrong.mean())",
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
        "third_moment -= second_skewness",
        "third_moment += second_skewness",
        "skewness of a difference adds up",
    ),
    Fault(
        "statistics/rank_tests.py",
        "variation += float(np.sum(deviations**2))",
        "variation += float((k * k - 1) * k * len(ranks) / 12)",
        "Friedman without its correction for ties",
    ),
    Fault(
        "statistics/significance.py",
        "standard_error(folds - mean) * math.sqrt(variance_inflation)",
        "standard_error(folds - mean)",
        "folds as if independent",
    ),
    Fault(
        "statistics/consistency.py",
        "float((1 + at_least) / (1 + draws))",
        "float(at_least / draws)",
        "a drawn p of 0",
    ),
    Fault(
        "statistics/bootstrap.py",
        "ndtr(bias + shifted / divisor)",
        "ndtr(shifted / divisor)",
        "BCa: half the bias correction",
    ),
    Fault(
        "statistics/signflip.py",
        "excess = np.abs(enumerated(differences)) - observed",
        "excess = enumerated(differences) - observed",
        "exact enumeration of one side",
    ),
    # Reading
    Fault(
        "reading/inputs/runs.py",
        "is_counted = ~is_repeated & (grade >= 0)",
        "is_counted = ~is_repeated & (grade > 0)",
        "judgements of 0 are dropped",
    ),
    Fault(
        "reading/inputs/runs.py",
        "(grade[before] != grade[repeated])",
        "(grade[before] < grade[repeated])",
        "conflicting grades found in one order only",
    ),
    Fault(
        "reading/inputs/runs.py",
        "missing=int((rows_per_list[self._is_judged_query] == 0).sum())",
        "missing=int((rows_per_list[~self._is_judged_query] == 0).sum())",
        "missing queries of the wrong group",
    ),
    Fault(
        "reading/inputs/outcomes.py",
        "rarest = min(reversed(names), key=",
        "rarest = max(reversed(names), key=",
        "the most frequent label is called wrong",
    ),
    Fault(
        "reading/inputs/aligned.py",
        "for system in systems[1:]:",
        "for system in systems[1:2]:",
        "only two systems are compared",
    ),
    Fault(
        "reading/tables/table.py",
        "repeated_row=int(order[repeated[0] + 1])",
        "repeated_row=int(order[repeated[0]])",
        "a repeated id at its first row",
    ),
    Fault(
        "reading/tables/rules.py",
        "earlier_rows + index + 1",
        "earlier_rows + index",
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
        "np.sort(by_frequency[: max_groups - 1])",
        "np.sort(by_frequency[:max_groups])",
        "one group too many",
    ),
    Fault(
        "reading/tables/ids.py",
        "np.lexsort((-item_ranks(rows), -score[rows], list_of_row[rows]))",
        "np.lexsort((item_ranks(rows), -score[rows], list_of_row[rows]))",
        "ties by item ascending",
    ),
    Fault(
        "reading/inputs/lists.py",
        "has_gap = last_rank - first_rank + 1 > lists.length[has_rows]",
        "has_gap = last_rank - first_rank + 1 >= lists.length[has_rows]",
        "lists without a gap are counted",
    ),
    # Offline and online
    Fault(
        "offline/leakage.py",
        "is_not_newer = when[test] <= when[train].max()",
        "is_not_newer = when[test] < when[train].max()",
        "rows as new as the training rows pass",
    ),
    Fault(
        "offline/leakage.py",
        "error = np.sqrt(share * (1 - share) / size)",
        "error = np.sqrt(share * (1 - share))",
        "odd folds: standard error of one row",
    ),
    Fault(
        "online/experiments.py",
        "freedom = observed.size - 1\n",
        "freedom = observed.size\n",
        "sample ratio: degrees of freedom",
    ),
    Fault(
        "online/experiments.py",
        "weight_by_stratum = share * y.size / users",
        "weight_by_stratum = share * users.sum() * 2 / users",
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
        "self.compare(self.primary_metric, first_pair, slice_.member)",
        "self.compare(self.primary_metric, first_pair)",
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
        "-chosen.metric.sign * value, system",
        "-value, system",
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
        "studies/decision_curves.py",
        "study.costs.fp / (study.costs.fp + study.costs.fn)",
        "study.costs.fn / (study.costs.fp + study.costs.fn)",
        "threshold of the other cost",
    ),
    Fault(
        "studies/reliability.py",
        'np.searchsorted(SCORE_EDGES, table.threshold, side="right")',
        'np.searchsorted(SCORE_EDGES, table.threshold, side="left")',
        "bins of the spread closed on the right",
    ),
    # Policies
    Fault(
        "parameters/policy.py",
        'SEVERITIES.index(finding["severity"]) <= SEVERITIES',
        'SEVERITIES.index(finding["severity"]) == SEVERITIES',
        "none of severity warning lets severe findings pass",
    ),
    Fault(
        "parameters/policy.py",
        "number >= self.number if self",
        "number > self.number if self",
        "a number at its bound fails",
    ),
    Fault(
        "parameters/policy.py",
        "if math.isnan(bounded) or math.isnan(opposite):",
        "if math.isnan(bounded) and math.isnan(opposite):",
        "one undefined limit is enough to pass",
    ),
    Fault(
        "studies/policy.py",
        "RESULTS_BY_PRIORITY = (FAIL, NOT_DECIDED, CANNOT_TELL, PASS)",
        "RESULTS_BY_PRIORITY = (CANNOT_TELL, NOT_DECIDED, FAIL, PASS)",
        "cannot tell in a slice hides a failure in another",
    ),
    Fault(
        "studies/policy.py",
        "if not doubt and self.claim.may_err and not math.isclose(known_level, level):",
        "if not doubt and self.claim.may_err and not known_level:",
        "limits of another level than the rules' decide",
    ),
    Fault(
        "studies/policy.py",
        "- policy.level) / max(n_may_err, 1)",
        "- policy.level) / len(policy.rules)",
        "rules share the level, not statements",
    ),
    Fault(
        "studies/policy.py",
        "        if low > -claim.within:\n",
        "        if high > -claim.within:\n",
        "not worse within: the better limit decides",
    ),
    Fault(
        "studies/policy.py",
        "margin = claim.within or margin",
        "margin = margin or claim.within",
        "the report's margin, not the rule's",
    ),
    Fault(
        "studies/policy.py",
        "sorted((e.low * direction, e.high * direction))",
        "sorted((e.low, e.high))",
        "not worse within, where less is better, of the other direction",
    ),
    # Diffs of reports, files of units
    Fault(
        "studies/diff.py",
        "distance_sum = old_value + new_value - matched.old.value - matched.new.value",
        "distance_sum = old_value + new_value",
        "mix of a slice without the whole's value",
    ),
    Fault(
        "studies/diff.py",
        "if len(unpaired_new) == len(unpaired_old) == 1 and was_renamed:",
        "if len(unpaired_new) == 1 and unpaired_old and was_renamed:",
        "one new system is compared with the first of several old ones",
    ),
    Fault(
        "studies/diff.py",
        "return max(matched.relabelled for",
        "return min(matched.relabelled for",
        "changed labels: the fewest that a metric sees",
    ),
    Fault(
        "studies/diff.py",
        "    if np.isnan(old_value):\n        old_value = new_value",
        "    if np.isnan(old_value):\n        old_value = 0.0",
        "a slice that came had the value 0",
    ),
    Fault(
        "studies/diff.py",
        "return self.files[-2]",
        "return self.files[0]",
        "the earliest report is the old one",
    ),
    Fault(
        "studies/diff.py",
        "and not old.endswith(UNHASHED)",
        "",
        "inputs without a hash count as the same",
    ),
    Fault(
        "studies/unit_files.py",
        "if (denominator[~np.isnan(numerator)] == 1).all():",
        "if (denominator == 1).all():",
        "denominators of undefined units decide mean or ratio",
    ),
    Fault(
        "studies/unit_files.py",
        "differ = differ.any(axis=1)",
        "differ = differ.all(axis=1)",
        "a row is relabelled where all its labels changed",
    ),
    Fault(
        "studies/unit_files.py",
        "return common[common >= 0] if named else common[:0]",
        "return common[common >= 0]",
        "rows without ids are paired by number",
    ),
    Fault(
        "studies/unit_files.py",
        "difference.value == difference.low == difference.high == 0",
        "difference.value == 0",
        "changes that cancel have no p",
    ),
    Fault(
        "studies/unit_files.py",
        "sizes = np.array([new_freedom, old_freedom]) + 1",
        "sizes = np.array([new_freedom, old_freedom])",
        "independent reports: one degree of freedom less",
    ),
    Fault(
        "studies/unit_files.py",
        "and np.array_equal(old.weights, new.weights)",
        "",
        "rows of other weights count as the same",
    ),
    Fault(
        "studies/unit_files.py",
        "DRAWS = 0.02",
        "DRAWS = 2.0",
        "limits of the units may be two widths from the report's",
    ),
    Fault(
        "studies/unit_files.py",
        "stored = stored.in_slice(member)",
        "pass",
        "each slice has the limits of all rows",
    ),
    # Experiments
    Fault(
        "studies/randomisation.py",
        "shares = [plan[arm] for arm in sizes]",
        "shares = list(plan.values())",
        "planned shares in the order in which they are named",
    ),
    Fault(
        "studies/experiment.py",
        "users = (comparison.half_width / unadjusted.half_width) ** 2",
        "users = comparison.half_width / unadjusted.half_width",
        "users that an adjustment saves, by the width",
    ),
    Fault(
        "studies/experiment.py",
        "sd * float(np.sqrt(1 - control.correlation**2))",
        "sd * float(1 - control.correlation**2)",
        "users with CUPED by the variance as a deviation",
    ),
    Fault(
        "studies/experiment.py",
        "if n < FEW_OTHERS}",
        "if n <= FEW_OTHERS}",
        "ten other users are few",
    ),
    Fault(
        "studies/experiment.py",
        "((column == 0) | (column == 1)).all()",
        "((column == 0) | (column == 1)).any()",
        "a mean with a zero is a share",
    ),
    Fault(
        "studies/experiment.py",
        "self.crossed > MANY_CROSSED * self.users",
        "self.crossed > MANY_CROSSED * 100 * self.users",
        "users in several arms are in doubt only where nearly all are",
    ),
    # Draws
    Fault(
        "metrics/draws.py",
        "within_unit = around_mean / (freedom + 1)",
        "within_unit = float(np.nan_to_num(self.pooled))",
        "the prior of pass@k by the pooled variance alone",
    ),
    Fault(
        "metrics/draws.py",
        "2 * units_with_several > len(self)",
        "self.has_several_draws",
        "mid-p where any unit has several draws",
    ),
    Fault(
        "metrics/draws.py",
        "quotient(around_mean, self._freedom.sum())",
        "float(np.nanmean(self.variance))",
        "variance within units: each unit alike, however many draws",
    ),
    Fault(
        "metrics/draws.py",
        "return ratio(self.pooled, self.count)",
        "return ratio(self.pooled, self.count.mean())",
        "noise of a unit by the mean number of draws",
    ),
    Fault(
        "metrics/draws.py",
        "successes / (self.count.sum() + 1)",
        "np.nansum(self.successes) / self.count.sum()",
        "all draws pass: no prior",
    ),
    # Logs of language models
    Fault(
        "reading/tables/logs.py",
        "if len(texts) < few and",
        "if len(texts) <= few and",
        "a field with a value a question is a group",
    ),
    Fault(
        "reading/tables/logs.py",
        "text if len(text) < WHOLE else question",
        "text",
        "texts that a log has shortened are the same question",
    ),
    Fault(
        "reading/tables/logs.py",
        "or len(sample_ids) * epochs)",
        "or len(sample_ids))",
        "samples to run of one epoch",
    ),
    Fault(
        "reading/tables/logs.py",
        'split = "test" if "test" in splits else next(iter(splits), None)',
        "split = next(iter(splits), None)",
        "the first split of HELM, not the test split",
    ),
    Fault(
        "reading/tables/logs.py",
        '"high" if is_higher_better else "low"',
        '"high"',
        "lm-evaluation-harness: more is always better",
    ),
    Fault(
        "reading/tables/logs.py",
        'return metric if answer_filter == "none" else f"{metric} {answer_filter}"',
        "return metric",
        "answers of several filters are one metric",
    ),
    Fault(
        "reading/tables/logs.py",
        'task).get("effective") or 0',
        'task).get("original") or 0',
        "the questions of a task, not those that were asked",
    ),
    Fault(
        "reading/tables/logs.py",
        'and stat.get("count")\n',
        "\n",
        "HELM: a statistic of no answer is a 0",
    ),
    # Folds
    Fault(
        "reading/inputs/folds.py",
        "return self.repeats > 1 or self.has_resampled_folds",
        "return self.repeats > 2 or self.has_resampled_folds",
        "rows of two repeats are independent",
    ),
    Fault(
        "reading/inputs/folds.py",
        '        facts["group"] = e.group.texts\n',
        "        pass\n",
        "an id may change its group between repeats",
    ),
    Fault(
        "reading/inputs/folds.py",
        'for role in ("repeat", "fold") if role in rows.shared_values]',
        'for role in ("repeat",) if role in rows.shared_values]',
        "an id in two folds is one that occurs twice",
    ),
    Fault(
        "reading/inputs/folds.py",
        "return (seconds / 86400)[text.code], True",
        "return (seconds / 3600)[text.code], True",
        "a gap of days is one of hours",
    ),
    Fault(
        "reading/inputs/folds.py",
        "        return index + 1\n",
        "        return index\n",
        "rows are named by their numbers from 0",
    ),
    # Commands
    Fault(
        "commands/gates.py",
        "if not rule.is_kept_by(result):",
        'if result == "fail":',
        "a rule that fails where the data do not tell is skipped",
    ),
    Fault(
        "commands/batch.py",
        "sorted(old_names ^ new_names)",
        "sorted(new_names - old_names)",
        "reports that only the old folder has are not told",
    ),
    Fault(
        "commands/batch.py",
        "if Path(path).exists() or not path.endswith(report.UNITS):",
        "if path:",
        "an earlier folder must have every report",
    ),
    Fault(
        "commands/index.py",
        "rows = series.tail(DRAWN)",
        "rows = series.head(DRAWN)",
        "a picture of the first reports",
    ),
    Fault(
        "commands/index.py",
        'change=dated["value"].diff()',
        'change=dated["value"].diff(-1)',
        "the change to the report after",
    ),
    Fault(
        "commands/index.py",
        'return frame[frame["report"] != "diff"].groupby(SERIES_COLUMNS)',
        "return frame.groupby(SERIES_COLUMNS)",
        "diffs are points of a series",
    ),
    Fault(
        "commands/requests.py",
        "            values[name] = typed(text, known[name])\n    return values",
        "            values[name] = typed(text, known[name])\n    return values | file.values",
        "a settings file overrides the command line",
    ),
    Fault(
        "commands/checks.py",
        "return requests.DONE if is_read else requests.REFUSED",
        "return requests.DONE if all(r.inspection for r in readings) else requests.REFUSED",
        "inspect refuses what one report reads",
    ),
    # Columns, cells and sessions
    Fault(
        "reading/inputs/unit_columns.py",
        "if len(numbers) < ENOUGH or",
        "if len(numbers) <= ENOUGH or",
        "eight equal steps are a system",
    ),
    Fault(
        "reading/inputs/unit_columns.py",
        "(year >= 1900)",
        "(year >= 2000)",
        "dates of the last century are a system",
    ),
    Fault(
        "reading/inputs/unit_roles.py",
        "exact or usual or numbers",
        "exact or usual[:1] or numbers",
        "of several usual columns of values the first is taken",
    ),
    Fault(
        "statistics/class_cells.py",
        "kish=self.freedom + 1,\n            standardised_power=by_frequency",
        "kish=self.freedom + 2,\n            standardised_power=by_frequency",
        "metrics of cells: one degree of freedom too many",
    ),
    Fault(
        "online/logs.py",
        'f"count(*) FILTER (WHERE {position} = 1) AS sessions"',
        '"count(*) AS sessions"',
        "each row counts as a session",
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
