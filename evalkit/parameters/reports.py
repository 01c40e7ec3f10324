"""The parameters of each report.

To add one, add a field here, its line in the notebook's parameters cell and the argument of `read`; a parameter of
several reports is a field of `Shared`, `Compared` or `Resources`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.parameters.arrays import array, array_of_each
from evalkit.parameters.decisions import Costs, Threshold
from evalkit.parameters.fields import (
    COST_PAIR,
    CUT,
    DATA,
    FOLDER,
    METRICS,
    PAIRS,
    SHARES,
    TEXT,
    TEXTS,
    YES_NO,
    Choice,
    Integer,
    Integers,
    Number,
    Parameters,
    Size,
    option,
)

AS_GIVEN, RENUMBER = "as given", "renumber"
RANKS = Choice((AS_GIVEN, RENUMBER))
LEAST_MEMORY = 200 * 10**6  # bytes; with less DuckDB cannot sort at all
NO_HEADER, FIRST_LINE = "none", "first"
GATES = Choice(("better", "not worse", "better or equivalent"))
ROLES = "the column of each role, if its name is not recognised: "
UNIT = "a column such as user_id that clusters the rows: whole users are then the units"
SEGMENTS = 'columns to slice by, "country,device"'
SYSTEMS = 'the systems to compare, "a,b"; in a wide table the columns that hold their '


@dataclass(frozen=True, kw_only=True, eq=False)
class Shared(Parameters):
    """The parameters of every report."""

    title: str | None = option(TEXT, "the heading of the page; None: the report and its first input")
    note: str | None = option(TEXT, "what a reader should know first, below the heading")
    data_date: str | None = option(TEXT, 'when the data were collected, such as "October 2026"; below the heading')
    margin: float | None = option(Number(above=0), "differences within plus or minus this value are equivalent")
    level: float = option(Number(above=0.5, below=1), "confidence level of all intervals", 0.95)
    seed: int = option(Integer(least=0), "of all random draws", 0)
    header: str | None = option(
        Choice((NO_HEADER, FIRST_LINE)),
        "of text tables: none (no header; columns are 1, 2, 3, …) or first (the first line is the header); "
        "None: inferred from the content",
    )
    units: bool | None = option(
        YES_NO, "whether NAME.units.parquet, the terms of every unit, is written; None: up to 10 million rows"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared(Shared):
    """The parameters of every report that compares systems."""

    baseline: str | None = option(TEXT, "compare every other system with this one; None: all pairs")
    gate: str | None = option(
        GATES, "better, not worse, or better or equivalent: what every system must be against the baseline"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Resources(Parameters):
    """The resources for reading a table of any size."""

    memory: int | None = option(
        Size(LEAST_MEMORY), 'maximum memory for reading, such as "2GB"; None: half of the machine\'s'
    )
    threads: int | None = option(Integer(), "processors for reading; None: all")
    spill: Path | None = option(
        FOLDER, "a folder for data that do not fit into memory; None: the system's temporary folder"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking(Compared, Resources):
    """The parameters of the ranking report."""

    preds: Any = option(DATA, "ranked results: a file, a folder or a glob of runs; None: the bundled sample")
    qrels: Any = option(DATA, "judgements (query, item, grade); None: the grade column of preds")
    queries: Any = option(DATA, "a table with one row per query, for segments and unit; None: columns of preds")
    items: Any = option(
        DATA, "a table with one row per item: category, feature_…, popularity, for diversity and novelty"
    )
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{query: topic, item: sku}}"')
    systems: tuple[str, ...] = option(TEXTS, f"{SYSTEMS}scores")
    metrics: tuple[Any, ...] = option(METRICS, '"ndcg@10,map,mrr,precision@10,recall@100"; the first decides')
    ks: tuple[int, ...] = option(Integers(), 'cut-offs of the curve, "1,3,5,10,20,50,100"')
    relevance_level: float = option(Number(above=0), "the lowest grade that counts as relevant", 1)
    unit: str | None = option(
        TEXT, "a column such as user_id that clusters the queries: whole users are then the units"
    )
    segments: tuple[str, ...] = option(TEXTS, 'columns with one value per query, "country,device"')
    ranks: str = option(RANKS, "of ranked lists without scores: as given, or renumber, which closes gaps", AS_GIVEN)


@dataclass(frozen=True, kw_only=True, eq=False)
class Classification(Compared, Resources):
    """The parameters of the classification report."""

    preds: Any = option(DATA, "labels and predictions: a file, a folder or a glob; None: the bundled sample")
    kind: str | None = option(
        Choice(("binary", "multi-class", "multi-label")),
        "binary, multi-class or multi-label; None: inferred from the columns",
    )
    positive: str | None = option(TEXT, "the positive label, if labels are not 0 and 1, -1 and 1, or booleans")
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{label: bad, score: p}}"')
    systems: tuple[str, ...] = option(TEXTS, f"{SYSTEMS}scores")
    metrics: tuple[Any, ...] = option(METRICS, '"roc_auc,average_precision,f1,brier"; the first decides')
    threshold: Threshold | None = option(
        CUT, "a number, best_f1, or a cost, precision or recall to reach (see docs); None: 0.5, or best_f1"
    )
    costs: Costs | None = option(
        COST_PAIR, 'of a false positive and a false negative, "{fp: 1, fn: 5}", for the cost curve'
    )
    prevalence: float | None = option(
        Number(above=0, below=1), "base rate expected in production; None: that of ten times as many negatives"
    )
    precision_target: float | None = option(
        Number(above=0, below=1), "the precision that a class must reach to be decided without review (multi-class)"
    )
    unit: str | None = option(TEXT, UNIT)
    segments: tuple[str, ...] = option(TEXTS, SEGMENTS)
    y_true: Any = array("y_true", "instead of preds the labels: one per row, or one column of 0 and 1 per label")
    y_score: Any = array_of_each(
        "score", "the scores: one per row or a column per class as predict_proba has them; of several systems a dict"
    )
    y_pred: Any = array_of_each("predicted", "the predicted classes, one per row; of several systems a dict")
    sample_weight: Any = array("sample_weight", "the weights, one per row")


@dataclass(frozen=True, kw_only=True, eq=False)
class Rating(Compared, Resources):
    """The parameters of the rating report."""

    preds: Any = option(DATA, "actual values and forecasts: a file, a folder or a glob; None: the bundled sample")
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{actual: sales, forecast: p50}}"')
    systems: tuple[str, ...] = option(TEXTS, f"{SYSTEMS}forecasts")
    metrics: tuple[Any, ...] = option(METRICS, '"mae,rmse,bias,median_absolute_error,r2"; the first decides')
    unit: str | None = option(TEXT, UNIT)
    segments: tuple[str, ...] = option(TEXTS, SEGMENTS)
    y_true: Any = array("y_true", "instead of preds the actual values, one per row")
    y_pred: Any = array_of_each("forecast", "the forecasts, one per row; of several systems a dict of arrays")
    sample_weight: Any = array("sample_weight", "the weights, one per row")


@dataclass(frozen=True, kw_only=True, eq=False)
class Significance(Compared, Resources):
    """The parameters of the significance report."""

    preds: Any = option(
        DATA,
        "values per unit (wide or long table), trec_eval -q, successes and trials, ranked lists, probabilities, "
        "a report's JSON; None: a sample",
    )
    qrels: Any = option(DATA, "judgements (query, item, grade), where preds are ranked lists")
    unit: str | None = option(
        TEXT,
        "the column of clusters, if units are not independent: whole clusters are then the units",
    )
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{system: variant, value: clicks}}"')
    systems: tuple[str, ...] = option(TEXTS, 'the systems to compare, "a,b"; in a wide table their columns')
    metrics: tuple[Any, ...] = option(
        METRICS, "of a long table or ranked lists the metrics to test, the first decides; of a wide table its name"
    )
    lower_is_better: tuple[str, ...] = option(TEXTS, 'the metrics for which lower is better, "loss,minutes"')
    ranks: str = option(RANKS, "of ranked lists without scores: as given, or renumber, which closes gaps", AS_GIVEN)
    null: float | None = option(
        Number(above=0, below=1), "successes and trials: the share to test against, such as 0.5"
    )
    alternative: str = option(
        Choice(("two-sided", "greater", "less")), "two-sided, greater or less; only with null", "two-sided"
    )
    # Nobody trains on less than a hundredth of what they test.
    test_to_train: float | None = option(
        Number(above=0, below=100),
        "units are folds over the same rows: test rows per training row, 0.1111 for ten folds",
    )
    looks: int = option(Integer(most=100), "how many times the data were tested as they grew, this one included", 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Validation(Shared, Resources):
    """The parameters of the validation report."""

    preds: Any = option(
        DATA, "out-of-fold predictions with the columns label, score and fold; None: the bundled sample"
    )
    features: Any = option(
        DATA, "instead of preds: a table of features and a target, on which the estimators are fitted"
    )
    target: str | None = option(TEXT, "the target's column of features; None: label, y_true or target")
    estimator: str | None = option(TEXT, "import path such as sklearn.svm.SVC; None: logistic or ridge regression")
    against: str | None = option(TEXT, "import path of a second estimator, fitted on the same folds")
    columns: Mapping[str, str] = option(
        PAIRS, 'the column of id, group, time, fold or system, if its name differs: "{group: patient}"'
    )
    ignore: tuple[str, ...] = option(
        TEXTS, 'columns that are not features, such as other predictions; a * stands for any text: "p_*,digit"'
    )
    selected: tuple[str, ...] = option(
        TEXTS, "features that were selected by using the target: compared with a selection inside the folds"
    )
    categorical: tuple[str, ...] = option(TEXTS, 'columns of features that hold codes, not numbers: "zip,branch"')
    task: str | None = option(
        Choice(("classes", "number")), "classes or number: the type of the target, if its values do not show it"
    )
    k: int = option(Integer(least=2), "number of folds", 10)
    gap: float | None = option(
        Number(least=0), "time between training and test rows, in the unit of the time column; of dates in days"
    )
    threshold: float = option(Number(), "scores of preds of at least this mean class 1", 0.5)
    metrics: tuple[Any, ...] = option(METRICS, '"accuracy,roc_auc,log_loss,brier" or "mae,rmse"; the first decides')
    most_rows: int = option(Integer(least=20), "of more rows than this, a random sample is used", 50_000)
    seconds: float = option(
        Number(above=0), "time for the fits beyond the folds; the report lists what was skipped", 60
    )
    gate: str | None = option(
        Choice(("no severe finding", "trusted")),
        "no severe finding (fails only on fail), or trusted (requires pass)",
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Interleaving(Compared, Resources):
    """The parameters of the interleaving report."""

    log: Any = option(DATA, "interleaved sessions, one row per item shown (session, position, team, outcome, user)")
    users: Any = option(
        DATA, "an A/B test, one row per user (user, arm, numbers); if log is None too: the bundled samples"
    )
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{outcome: hours, user: member}}"')
    arms: tuple[str, ...] = option(TEXTS, 'the arms, "a,b,c"; None: those of the input, in a log two')
    neutral: str | None = option(TEXT, "the value of the team column for items that both rankers would have shown")
    preference: tuple[Any, ...] = option(
        METRICS, '"user_share,user_preference,session_wins,credit_share" of the log; the first decides'
    )
    metrics: tuple[Any, ...] = option(
        METRICS, 'columns of users, or ratios of two, "orders,revenue/orders"; the first decides'
    )
    best: str | None = option(
        Choice(("high", "low")), "whether more (high) or less (low) of the metrics of users is better; None: by name"
    )
    before: str | None = option(TEXT, "a column of users from before the experiment, for CUPED")
    strata: str | None = option(TEXT, "a column of users from before the experiment, to stratify by")
    cap: float = option(
        Number(above=0, below=1), "the quantile at which heavy users are capped, beside the result without a cap", 0.99
    )
    shares: Mapping[str, float] | str | None = option(
        SHARES, 'planned shares of the users, "{a: 1, b: 1}"; None: equal arms; unknown: not tested'
    )
    looks: int = option(Integer(), "how many times the running A/B test is analysed", 1)
    segments: tuple[str, ...] = option(
        TEXTS, 'columns with one value per session of the log, or per user of the table, "device,country"'
    )
    world: str | None = option(
        Choice(("cascade", "cascade, even users", "positions", "positions, even users", "none")),
        'a world to simulate: cascade or positions, each also as "cascade, even users", or none; None: cascade, beside '
        "data of your own none",
    )
    simulated_users: int = option(Integer(least=1000), "users of the simulation", 100_000)
    rankers: int = option(Integer(least=3), "rankers that the simulation compares with production", 12)
    baseline: str | None = option(TEXT, "compare every other arm with this one; None: all pairs")
    gate: str | None = option(
        GATES, "better, not worse, or better or equivalent: what every arm must be against the baseline"
    )


REPORTS: dict[str, type[Parameters]] = {
    "classification": Classification,
    "interleaving": Interleaving,
    "ranking": Ranking,
    "rating": Rating,
    "significance": Significance,
    "validation": Validation,
}
