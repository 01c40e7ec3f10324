# Made by make outputs from evalkit/__init__.py and the parameters of reports, for type checkers and editors.
from evalkit.parameters.kinds import Columns, ColumnsOfEach, Metrics, Named, Names, Tables, Wholes
from evalkit.arrays import InputError as InputError
from evalkit.arrays import ParameterError as ParameterError
from evalkit.catalogue import lookup as lookup
from evalkit.catalogue.own import bootstrap as bootstrap
from evalkit.catalogue.own import mean as mean
from evalkit.catalogue.own import of_counts as of_counts
from evalkit.catalogue.own import ratio as ratio
from evalkit.catalogue.own import share as share
from evalkit.metrics import counts as counts
from evalkit.metrics import curves as curves
from evalkit.metrics import diversity as diversity
from evalkit.metrics import labels as labels
from evalkit.metrics import losses as losses
from evalkit.metrics import rankings as rankings
from evalkit.metrics.counts import Counts as Counts
from evalkit.metrics.counts import count as count
from evalkit.metrics.rankings import Lists as Lists
from evalkit.metrics.rankings import Rankings as Rankings
from evalkit.metrics.rankings import ndcg as ndcg
from evalkit.offline import splits as splits
from evalkit.online import experiments as experiments
from evalkit.online import interleaving as drafts
from evalkit.reading.tables import sources as sources
from evalkit.statistics import intervals as intervals
from evalkit.statistics import multiplicity as multiplicity
from evalkit.statistics import power as power
from evalkit.statistics import proportions as proportions
from evalkit.statistics import significance as comparisons
from evalkit.statistics.intervals import Estimate as Estimate
from evalkit.statistics.significance import Comparison as Comparison
from evalkit.statistics.significance import sign_flip as sign_flip
from evalkit.studies.interleaving import read as ab
from evalkit.studies.policy import check as check
from evalkit.studies.significance import read as evals
import evalkit.studies.classification
import evalkit.studies.diff
import evalkit.studies.interleaving
import evalkit.studies.ranking
import evalkit.studies.rating
import evalkit.studies.significance
import evalkit.studies.validation

__version__: str
__all__ = [
    "Comparison",
    "Counts",
    "Estimate",
    "InputError",
    "Lists",
    "ParameterError",
    "Rankings",
    "__version__",
    "ab",
    "bootstrap",
    "check",
    "classification",
    "comparisons",
    "count",
    "counts",
    "curves",
    "diff",
    "diversity",
    "drafts",
    "evals",
    "experiments",
    "interleaving",
    "intervals",
    "labels",
    "lookup",
    "losses",
    "mean",
    "multiplicity",
    "ndcg",
    "of_counts",
    "power",
    "proportions",
    "ranking",
    "rankings",
    "rating",
    "ratio",
    "share",
    "sign_flip",
    "significance",
    "sources",
    "splits",
    "validation",
]

def classification(
    preds: Tables | None = None,
    *,
    kind: str | None = None,
    positive: str | None = None,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    threshold: str | float | None = None,
    costs: Named | None = None,
    prevalence: float | None = None,
    precision_target: float | None = None,
    unit: str | None = None,
    segments: Names | None = None,
    slices: Names | None = None,
    groups: Names | None = None,
    reference: Named | None = None,
    gap_margin: float = 0.05,
    baseline: str | None = None,
    title: str | None = None,
    note: str | None = None,
    sections: Names | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    lower_is_better: Names | None = None,
    level: float = 0.95,
    alpha: float | None = None,
    alternative: str = "two-sided",
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    gate: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
    y_true: Columns | None = None,
    y_score: ColumnsOfEach | None = None,
    y_pred: ColumnsOfEach | None = None,
    sample_weight: Columns | None = None,
) -> evalkit.studies.row_study.RowStudy:
    """Read labels and scores, and measure, compare and plot how well the scores separate the
    classes.

    Without `preds` and arrays, the bundled sample is read. Raises ParameterError for an invalid
    parameter and InputError for invalid input.

    >>> import evalkit as ek
    >>> study = ek.classification(
    ...     y_true=[0, 0, 1, 1, 0, 1], y_score={"a": [1, 2, 3, 4, 5, 6], "b": [1, 5, 2, 3, 4, 6]}
    ... )
    >>> study.estimates["value"].round(3).tolist()[:2], study.order
    ([0.778, 0.556], ['a', 'b'])

    Arguments:

    preds: labels and predictions: a file, a folder or a glob; None: the bundled sample
    kind: binary, multi-class or multi-label; None: inferred from the columns
    positive: the positive label, if labels are not 0 and 1, -1 and 1, or booleans
    columns: the column of each role, if its name is not recognised: "{label: bad, score: p}"
    systems: the systems to compare, "a,b"; in a wide table the columns that hold their scores
    metrics: "roc_auc,average_precision,f1,brier"; the first gives the verdict
    threshold: a number, best_f1, or a cost, precision or recall to reach (see docs); None: 0.5, or best_f1
    costs: the costs of a false positive and a false negative, "{fp: 1, fn: 5}", for the cost curve
    prevalence: base rate expected in production; None: that with ten times as many negatives
    precision_target: the precision from which predictions of a class need no review (multi-class)
    unit: a column such as user_id, if rows are not independent: intervals and tests are clustered by it
    segments: columns to slice by, "country,device"
    slices: columns to search for weak slices, "country,device"; auto: all without another role
    groups: columns of people or things to compare, "sex,age_band": the gaps of each rate
    reference: the group that others are compared with, "{sex: male}"; None: the largest
    gap_margin: gaps between groups within plus or minus this value are equivalent
    baseline: compare every other system with this one; None: all pairs
    title: the heading of the page; None: the report and its first input
    note: a note for the reader, shown below the heading
    sections: the sections of the page in their order, and notebooks of your own, "metrics,mine.ipynb"
    data_date: when the data were collected, such as "October 2026"; below the heading
    margin: differences within plus or minus this value are equivalent
    lower_is_better: the metrics for which lower is better, "loss,minutes", or none; None: by their names
    level: confidence level of all intervals
    alpha: significance level of tests, verdicts and gates; default: 1 − level
    alternative: two-sided, greater (only a system above the baseline, null or old value counts) or less (only one below)
    seed: the seed of all random numbers
    header: text tables: none (columns are 1, 2, …) or first (the first line is the header); None: inferred from the content
    units: true: write NAME.units.parquet, the terms of every unit; None: if it has up to 10 million rows
    gate: a rule that the report must satisfy, such as not worse (than the baseline), or a policy file
    memory: maximum memory for reading, such as "2GB"; None: half of the machine's
    threads: processors for reading; None: all
    spill: a folder for data that do not fit into memory; None: the system's temporary folder
    y_true: instead of preds the labels: one per row, or one column of 0 and 1 per label
    y_score: the scores: one per row, or one column per class as from predict_proba; for several systems a dict
    y_pred: the predicted classes, one per row; for several systems a dict
    sample_weight: the weights, one per row
    """

def diff(
    old: Tables | None = None,
    new: Tables | None = None,
    *,
    earlier: Tables | None = None,
    metrics: Names | None = None,
    pairs: Named | None = None,
    title: str | None = None,
    note: str | None = None,
    sections: Names | None = None,
    margin: float | None = None,
    lower_is_better: Names | None = None,
    level: float = 0.95,
    alpha: float | None = None,
    alternative: str = "two-sided",
    seed: int = 0,
    gate: str | None = None,
) -> evalkit.studies.diff.Diff:
    """Compare two reports of one kind, unit by unit: of two days, or of one input by two versions.

    Each is read from its file of units. A difference is new − old. Without `old` and `new`, the
    bundled sample is read. Raises ParameterError for an invalid parameter, InputError for a report
    that is missing or of another kind.

    >>> import evalkit as ek
    >>> ek.diff(metrics="accuracy").account[["change", "changed", "left", "came"]].round(4).to_dict(
    ...     "records"
    ... )
    [{'change': 0.0046, 'changed': 0.0086, 'left': -0.0014, 'came': -0.0027}]

    Arguments:

    old: the earlier report: its NAME.units.parquet, NAME.json or NAME.html; None: the sample
    new: the later report, as old
    earlier: reports before these two, in their order, for the series over time
    metrics: the metrics to compare, the first gives the verdict; None: those of both
    pairs: systems with other names in the old report, new name first: "{m-1120: m-0806}"
    title: the heading of the page; None: the report and its first input
    note: a note for the reader, shown below the heading
    sections: the sections of the page in their order, and notebooks of your own, "metrics,mine.ipynb"
    margin: differences within plus or minus this value are equivalent
    lower_is_better: the metrics for which lower is better, "loss,minutes", or none; None: by their names
    level: confidence level of all intervals
    alpha: significance level of tests, verdicts and gates; default: 1 − level
    alternative: two-sided, greater (only a system above the baseline, null or old value counts) or less (only one below)
    seed: the seed of all random numbers
    gate: a rule that the report must satisfy, such as not worse (than the baseline), or a policy file
    """

def interleaving(
    preds: Tables | None = None,
    users: Tables | None = None,
    *,
    log: Tables | None = None,
    columns: Named | None = None,
    arms: Names | None = None,
    neutral: str | None = None,
    preference: Metrics | None = None,
    metrics: Metrics | None = None,
    best: str | None = None,
    before: str | None = None,
    strata: str | None = None,
    cap: float = 0.99,
    shares: Named | None = None,
    looks: int = 1,
    segments: Names | None = None,
    world: str | None = None,
    simulated_users: int = 100000,
    rankers: int = 12,
    baseline: str | None = None,
    title: str | None = None,
    note: str | None = None,
    sections: Names | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    lower_is_better: Names | None = None,
    level: float = 0.95,
    alpha: float | None = None,
    alternative: str = "two-sided",
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    gate: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
) -> evalkit.studies.interleaving.Online:
    """Read a log of interleaved sessions, the users of an A/B test, or both, and measure which
    system users prefer.

    The columns of `preds` decide if it is a log or a table of users; without input, the bundled log
    is read. Raises ParameterError for an invalid parameter and InputError for invalid input.

    >>> import evalkit as ek
    >>> rows = {
    ...     "user": ["u1", "u2", "u3", "u4"],
    ...     "arm": ["a", "b", "a", "b"],
    ...     "orders": [1, 3, 2, 4],
    ... }
    >>> ek.interleaving(users=rows, metrics="orders", world="none").users.estimates[
    ...     "value"
    ... ].tolist()
    [3.5, 1.5]

    Arguments:

    preds: log or users, whichever its columns are; beside users the log
    users: an A/B test, one row per user (user, arm, numbers); all three None: the bundled log
    log: interleaved sessions, one row per item shown (session, position, team, outcome, user)
    columns: the column of each role, if its name is not recognised: "{outcome: hours, user: member}"
    arms: the arms, "a,b,c"; None: those of the input, in a log two
    neutral: the value of the team column for items that both rankers would have shown
    preference: "user_share,user_preference,session_wins,credit_share" of the log; the first gives the verdict
    metrics: columns of users, or ratios of two, "orders,revenue/orders"; the first gives the verdict
    best: high or low: which values are better, for all metrics of users; lower_is_better says it for each
    before: a column from before the experiment, for CUPED of the first mean of amounts or counts, or else of the first share
    strata: a column of users from before the experiment, to stratify by
    cap: the quantile at which values of heavy users are capped in an additional result
    shares: planned shares of the users, "{a: 1, b: 1}"; None: equal arms; unknown: not tested
    looks: the planned number of analyses of the running A/B test
    segments: columns with one value per session of the log, or per user of the table, "device,country"
    world: how simulated users click: cascade or positions, also "cascade, even users"; None: no simulation
    simulated_users: users of the simulation
    rankers: rankers that the simulation compares with production
    baseline: compare every other arm with this one; None: all pairs
    title: the heading of the page; None: the report and its first input
    note: a note for the reader, shown below the heading
    sections: the sections of the page in their order, and notebooks of your own, "metrics,mine.ipynb"
    data_date: when the data were collected, such as "October 2026"; below the heading
    margin: differences within plus or minus this value are equivalent
    lower_is_better: the metrics for which lower is better, "loss,minutes", or none; None: by their names
    level: confidence level of all intervals
    alpha: significance level of tests, verdicts and gates; default: 1 − level
    alternative: two-sided, greater (only a system above the baseline, null or old value counts) or less (only one below)
    seed: the seed of all random numbers
    header: text tables: none (columns are 1, 2, …) or first (the first line is the header); None: inferred from the content
    units: true: write NAME.units.parquet, the terms of every unit; None: if it has up to 10 million rows
    gate: a rule that the report must satisfy, such as not worse (than the baseline), or a policy file
    memory: maximum memory for reading, such as "2GB"; None: half of the machine's
    threads: processors for reading; None: all
    spill: a folder for data that do not fit into memory; None: the system's temporary folder
    """

def ranking(
    preds: Tables | None = None,
    qrels: Tables | None = None,
    *,
    queries: Tables | None = None,
    items: Tables | None = None,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    ks: Wholes | None = None,
    relevance_level: float = 1,
    unit: str | None = None,
    segments: Names | None = None,
    ranks: str = "as given",
    slices: Names | None = None,
    leave_out: str | None = None,
    baseline: str | None = None,
    title: str | None = None,
    note: str | None = None,
    sections: Names | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    lower_is_better: Names | None = None,
    level: float = 0.95,
    alpha: float | None = None,
    alternative: str = "two-sided",
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    gate: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
) -> evalkit.studies.ranking.Ranking:
    """Read ranked lists and judgements, and measure and compare how well the systems rank.

    Without `preds`, the bundled sample is read. Raises ParameterError for an invalid parameter and
    InputError for invalid input.

    >>> import evalkit as ek
    >>> rows = {
    ...     "query": ["q1", "q1", "q2"],
    ...     "item": ["a", "b", "a"],
    ...     "score": [2, 1, 5],
    ...     "grade": [0, 1, 1],
    ... }
    >>> ek.ranking(rows, metrics="mrr").estimates["value"].tolist()
    [0.75]

    Arguments:

    preds: ranked results: a file, a folder or a glob of runs; None: the bundled sample
    qrels: judgements (query, item, grade); None: the grade column of preds
    queries: a table with one row per query, for segments and unit; None: columns of preds
    items: a table with one row per item: category, feature_…, popularity, for diversity and novelty
    columns: the column of each role, if its name is not recognised: "{query: topic, item: sku}"
    systems: the systems to compare, "a,b"; in a wide table the columns that hold their scores
    metrics: "ndcg@10,map,mrr,precision@10,recall@100"; the first gives the verdict
    ks: cut-offs of the curve, "1,3,5,10,20,50,100"
    relevance_level: the lowest grade that counts as relevant
    unit: a column such as user_id, if queries are not independent: intervals and tests are clustered by it
    segments: columns with one value per query, "country,device"
    ranks: for ranked lists without scores: as given, or renumber to close gaps
    slices: columns to search for weak slices, "country,device"; auto: all without another role
    leave_out: query: leave the query's own document out of its list and its judgements, as BEIR does
    baseline: compare every other system with this one; None: all pairs
    title: the heading of the page; None: the report and its first input
    note: a note for the reader, shown below the heading
    sections: the sections of the page in their order, and notebooks of your own, "metrics,mine.ipynb"
    data_date: when the data were collected, such as "October 2026"; below the heading
    margin: differences within plus or minus this value are equivalent
    lower_is_better: the metrics for which lower is better, "loss,minutes", or none; None: by their names
    level: confidence level of all intervals
    alpha: significance level of tests, verdicts and gates; default: 1 − level
    alternative: two-sided, greater (only a system above the baseline, null or old value counts) or less (only one below)
    seed: the seed of all random numbers
    header: text tables: none (columns are 1, 2, …) or first (the first line is the header); None: inferred from the content
    units: true: write NAME.units.parquet, the terms of every unit; None: if it has up to 10 million rows
    gate: a rule that the report must satisfy, such as not worse (than the baseline), or a policy file
    memory: maximum memory for reading, such as "2GB"; None: half of the machine's
    threads: processors for reading; None: all
    spill: a folder for data that do not fit into memory; None: the system's temporary folder
    """

def rating(
    preds: Tables | None = None,
    *,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    interval_level: float | None = None,
    reference: str | None = None,
    unit: str | None = None,
    segments: Names | None = None,
    slices: Names | None = None,
    baseline: str | None = None,
    title: str | None = None,
    note: str | None = None,
    sections: Names | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    lower_is_better: Names | None = None,
    level: float = 0.95,
    alpha: float | None = None,
    alternative: str = "two-sided",
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    gate: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
    y_true: Columns | None = None,
    y_pred: ColumnsOfEach | None = None,
    sample_weight: Columns | None = None,
) -> evalkit.studies.rating.Rating:
    """Read actual values and forecasts, and measure and compare how far they are apart.

    Without `preds` and arrays, the bundled sample is read. Raises ParameterError for an invalid
    parameter and InputError for invalid input.

    >>> import evalkit as ek
    >>> ek.rating(y_true=[3, 5, 4, 8], y_pred=[2, 5, 6, 7], metrics="mae").estimates[
    ...     "value"
    ... ].tolist()
    [1.0]

    Arguments:

    preds: actual values and forecasts: a file, a folder or a glob; None: the bundled sample
    columns: the column of each role, if its name is not recognised: "{actual: sales, forecast: p50}"
    systems: the systems to compare, "a,b"; in a wide table the columns that hold their forecasts
    metrics: "mae,rmse,bias,median_absolute_error,r2", with quantiles or draws wis or crps first; the first gives the verdict
    interval_level: 0.95: the level of bounds lower and upper; None: 0.8 of yhat_lower, others unread
    reference: reference of skill: naive (last known value), seasonal:12 (that of last season) or mean (of the actual values)
    unit: a column such as user_id, if rows are not independent: intervals and tests are clustered by it
    segments: columns to slice by, "country,device"
    slices: columns to search for weak slices, "country,device"; auto: all without another role
    baseline: compare every other system with this one; None: all pairs
    title: the heading of the page; None: the report and its first input
    note: a note for the reader, shown below the heading
    sections: the sections of the page in their order, and notebooks of your own, "metrics,mine.ipynb"
    data_date: when the data were collected, such as "October 2026"; below the heading
    margin: differences within plus or minus this value are equivalent
    lower_is_better: the metrics for which lower is better, "loss,minutes", or none; None: by their names
    level: confidence level of all intervals
    alpha: significance level of tests, verdicts and gates; default: 1 − level
    alternative: two-sided, greater (only a system above the baseline, null or old value counts) or less (only one below)
    seed: the seed of all random numbers
    header: text tables: none (columns are 1, 2, …) or first (the first line is the header); None: inferred from the content
    units: true: write NAME.units.parquet, the terms of every unit; None: if it has up to 10 million rows
    gate: a rule that the report must satisfy, such as not worse (than the baseline), or a policy file
    memory: maximum memory for reading, such as "2GB"; None: half of the machine's
    threads: processors for reading; None: all
    spill: a folder for data that do not fit into memory; None: the system's temporary folder
    y_true: instead of preds the actual values, one per row
    y_pred: the forecasts, one per row; for several systems a dict of arrays
    sample_weight: the weights, one per row
    """

def significance(
    preds: Tables | None = None,
    qrels: Tables | None = None,
    *,
    unit: str | None = None,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    ranks: str = "as given",
    null: float | None = None,
    claim: str = "such questions",
    errored: str = "left out",
    test_to_train: float | None = None,
    oracle: Names | None = None,
    cut: float | None = None,
    width: float | None = None,
    looks: int = 1,
    baseline: str | None = None,
    title: str | None = None,
    note: str | None = None,
    sections: Names | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    lower_is_better: Names | None = None,
    level: float = 0.95,
    alpha: float | None = None,
    alternative: str = "two-sided",
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    gate: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
) -> evalkit.studies.paired.Significance | evalkit.studies.significance.Shares:
    """Read values of several systems on the same units, and test which differences are
    statistically significant.

    Without `preds`, the bundled sample is read. Raises ParameterError for an invalid parameter and
    InputError for invalid input.

    >>> import evalkit as ek
    >>> values = {"new": [0.8, 0.6, 0.9, 0.7, 0.8, 0.9], "old": [0.7, 0.5, 0.7, 0.6, 0.6, 0.8]}
    >>> study = ek.significance(values, metrics="accuracy", baseline="old")
    >>> study.comparisons[["first", "p", "verdict"]].to_dict("list")
    {'first': ['new'], 'p': [0.03125], 'verdict': ['better']}

    Arguments:

    preds: values per unit, trec_eval -q, successes and trials, ranked lists, probabilities, a report's JSON; None: a sample
    qrels: judgements (query, item, grade), where preds are ranked lists
    unit: the column of clusters, if units are not independent: intervals and tests are clustered by it
    columns: the column of each role, if its name is not recognised: "{system: variant, value: clicks}"
    systems: the systems to compare, "a,b"; in a wide table their columns
    metrics: the metrics to test, the first gives the verdict; for a wide table the name of its metric
    ranks: for ranked lists without scores: as given, or renumber to close gaps
    null: successes and trials: the share to test against, such as 0.5
    claim: for evaluations, what varies: questions, whole tasks, or only the draws of each of these questions
    errored: evaluation logs: answers that ended with an error are left out, or count 0, as wrong
    test_to_train: units are folds over the same rows: test rows per training row, 0.1111 for ten folds
    oracle: values of a judge: the column of an oracle's labels, empty where there are none; one per system in a wide table
    cut: with oracle: agreement takes values from here on as 1, lower ones as 0; None: 0.5 for shares, else none
    width: with oracle: the wished width of an interval, from limit to limit, to plan labels; None: half of what it is
    looks: the planned number of analyses of the data as they grow, the same at each analysis
    baseline: compare every other system with this one; None: all pairs
    title: the heading of the page; None: the report and its first input
    note: a note for the reader, shown below the heading
    sections: the sections of the page in their order, and notebooks of your own, "metrics,mine.ipynb"
    data_date: when the data were collected, such as "October 2026"; below the heading
    margin: differences within plus or minus this value are equivalent
    lower_is_better: the metrics for which lower is better, "loss,minutes", or none; None: by their names
    level: confidence level of all intervals
    alpha: significance level of tests, verdicts and gates; default: 1 − level
    alternative: two-sided, greater (only a system above the baseline, null or old value counts) or less (only one below)
    seed: the seed of all random numbers
    header: text tables: none (columns are 1, 2, …) or first (the first line is the header); None: inferred from the content
    units: true: write NAME.units.parquet, the terms of every unit; None: if it has up to 10 million rows
    gate: a rule that the report must satisfy, such as not worse (than the baseline), or a policy file
    memory: maximum memory for reading, such as "2GB"; None: half of the machine's
    threads: processors for reading; None: all
    spill: a folder for data that do not fit into memory; None: the system's temporary folder
    """

def validation(
    preds: Tables | None = None,
    features: Tables | None = None,
    *,
    target: str | None = None,
    estimator: str | None = None,
    against: str | None = None,
    columns: Named | None = None,
    ignore: Names | None = None,
    selected: Names | None = None,
    categorical: Names | None = None,
    task: str | None = None,
    k: int = 10,
    gap: float | None = None,
    threshold: float = 0.5,
    metrics: Metrics | None = None,
    most_rows: int = 50000,
    seconds: float = 60,
    title: str | None = None,
    note: str | None = None,
    sections: Names | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    lower_is_better: Names | None = None,
    level: float = 0.95,
    alpha: float | None = None,
    alternative: str = "two-sided",
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    gate: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
) -> evalkit.studies.out_of_fold.Validation:
    """Read out-of-fold predictions, or a table to fit estimators on, and check whether the
    evaluation is sound.

    With `features`, the estimators are fitted on the folds at once. They are fitted on other
    splits, for at most `seconds`, when a figure, a finding or the page first needs them. Without
    any input, the bundled sample of predictions is read. Raises ParameterError for an invalid
    parameter, InputError for invalid input or if an estimator fails.

    >>> import evalkit as ek
    >>> rows = {"label": [0, 1] * 10, "score": [0.2, 0.7] * 10, "fold": ["a", "a", "b", "b"] * 5}
    >>> ek.validation(rows, metrics="roc_auc").estimates["value"].tolist()
    [1.0, 0.5]

    Arguments:

    preds: out-of-fold predictions with the columns label, score and fold; None: the bundled sample
    features: instead of preds: a table of features and a target, on which the estimators are fitted
    target: the column of features that is the target; None: label, y_true or target
    estimator: import path such as sklearn.svm.SVC; None: logistic or ridge regression
    against: import path of a second estimator, fitted on the same folds
    columns: the column of id, group, time, fold or system, if its name differs: "{group: patient}"
    ignore: columns that are not features, such as other predictions; a * stands for any text: "p_*,digit"
    selected: features that were selected by using the target: compared with a selection inside the folds
    categorical: columns of features that hold codes, not numbers: "zip,branch"
    task: classes or number: the type of the target, if its values do not show it
    k: number of folds
    gap: time between training and test rows, in the unit of the time column; for dates in days
    threshold: scores in preds of at least this value mean class 1
    metrics: "accuracy,roc_auc,log_loss,brier" or "mae,rmse"; the first gives the verdict
    most_rows: most rows to use; a larger table is sampled at random
    seconds: time for the fits beyond the folds; the report lists what was skipped
    title: the heading of the page; None: the report and its first input
    note: a note for the reader, shown below the heading
    sections: the sections of the page in their order, and notebooks of your own, "metrics,mine.ipynb"
    data_date: when the data were collected, such as "October 2026"; below the heading
    margin: differences within plus or minus this value are equivalent
    lower_is_better: the metrics for which lower is better, "loss,minutes", or none; None: by their names
    level: confidence level of all intervals
    alpha: significance level of tests, verdicts and gates; default: 1 − level
    alternative: two-sided, greater (only a system above the baseline, null or old value counts) or less (only one below)
    seed: the seed of all random numbers
    header: text tables: none (columns are 1, 2, …) or first (the first line is the header); None: inferred from the content
    units: true: write NAME.units.parquet, the terms of every unit; None: if it has up to 10 million rows
    gate: a rule that the report must satisfy, such as not worse (than the baseline), or a policy file
    memory: maximum memory for reading, such as "2GB"; None: half of the machine's
    threads: processors for reading; None: all
    spill: a folder for data that do not fit into memory; None: the system's temporary folder
    """

