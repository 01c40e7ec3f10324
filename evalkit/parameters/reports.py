"""The parameters of each report, once: a field has a kind, a default and one line of help.

The signature and docstring of `read`, the command line and its help, the parameters cells of the
notebooks, the JSON schema, the docs and the types that editors see are made from these classes. A
parameter of several reports is a field of `SharedParameters`, `ComparisonParameters` or
`Resources`.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, wraps
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from evalkit.arrays import ArgumentError, InputError, ParameterError
from evalkit.machine import folders
from evalkit.parameters.kinds import (
    COLUMN,
    COLUMNS,
    COST_PAIR,
    CUT,
    DATA,
    FOLDER,
    INTEGERS,
    LOWER,
    METRICS,
    PAIRS,
    REFERENCE,
    SHARES,
    TEXT,
    TEXTS,
    YES_NO,
    Columns,
    ColumnsOfEach,
    Costs,
    Parameter,
    ParameterKind,
    ReadMetrics,
    SeveralMeanings,
    Tables,
    Threshold,
    a_number,
    a_size,
    a_whole_number,
    did_you_mean,
    one_of,
    refuse_unknown,
    required,
    with_text_keys,
)
from evalkit.parameters.policy import GATE, Policy

if TYPE_CHECKING:
    import pandas as pd

Made = TypeVar("Made")
# they name columns of the table; beside labels and predictions in memory they may be the columns
ATTRIBUTES = ("segments", "groups", "slices")
POSITIONAL = 2  # tables that `read` takes without their name
BY_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD
BY_NAME = inspect.Parameter.KEYWORD_ONLY
SPELLINGS = {"y_prob": "y_score", "y_proba": "y_score", "y_scores": "y_score", "y_hat": "y_pred"}


def option(kind: ParameterKind, text: str, default: object = None, column: str = "") -> Any:
    """A field of a parameters class.

    text: one line of help. default: the raw value; None means: not given. column: as of
    `Parameter`, "" for a parameter of every interface.
    """
    metadata = {"default": default, "kind": kind, "help": text, "column": column}
    value = kind.read("", default)  # once: no call reads a default again
    if isinstance(value, dict):
        return field(default_factory=value.copy, metadata=metadata)
    return field(default=value, metadata=metadata)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Parameters:
    """The base of the parameters of a report: the fields from `option` are its parameters.

    given_values: the raw values of the parameters that are not at their default, as the user gave
    them. segment: the slice to which the input is restricted, such as "country=de"; "" for all.
    folder: the working directory in which they were given, for relative paths that are read again;
    None if it was removed.
    """

    given_values: Mapping[str, object] = field(default_factory=dict)
    segment: str = ""
    folder: Path | None = field(default_factory=folders.working_directory)

    def __repr__(self) -> str:
        """The parameters that were set, data without their values."""
        texts = []
        for name, value in self.given_values.items():
            text = repr(value) if isinstance(value, str | int | float) else "…"
            texts.append(f"{name}={text}")
        return f"<parameters of {self.report_name()}: {', '.join(texts) or 'all defaults'}>"

    main: ClassVar[tuple[str, ...]] = ()  # the parameters that matter most, in a notebook the first

    @classmethod
    def report_name(cls) -> str:
        """The name of the report, such as rating."""
        return cls.__name__.removesuffix("Parameters").lower()

    @classmethod
    @cache
    def declared(cls) -> Mapping[str, Parameter]:
        """All parameters by name: the report's own, those of each base, and last the arguments."""
        parameters = {}
        for entry in fields(cls):
            if entry.metadata:  # a field from `option`
                parameters[entry.name] = Parameter(entry.name, **entry.metadata)
        names: dict[str, None] = {}  # in order, the report's own first
        for base in cls.__mro__:
            names |= dict.fromkeys(inspect.get_annotations(base))
        ordered = [parameters[name] for name in names if name in parameters]
        ordered.sort(key=lambda parameter: bool(parameter.column))
        return {parameter.name: parameter for parameter in ordered}

    @classmethod
    @cache
    def options(cls) -> Mapping[str, Parameter]:
        """The parameters that exist in every interface (Python, command line, notebook)."""
        return {name: entry for name, entry in cls.declared().items() if not entry.column}

    @classmethod
    @cache
    def array_parameters(cls) -> Mapping[str, Parameter]:
        """The parameters of `read` alone: labels and predictions in memory, instead of a table."""
        return {name: entry for name, entry in cls.declared().items() if entry.column}

    @classmethod
    def signature(cls) -> inspect.Signature:
        """The signature of `read`: the first tables by position, all others by name."""
        arguments = []
        is_leading = True  # no parameter that is no table stands before
        for i, (name, parameter) in enumerate(cls.declared().items()):
            is_leading = is_leading and parameter.kind is DATA and i < POSITIONAL
            kind = BY_POSITION if is_leading else BY_NAME
            annotation = parameter.kind.argument_type
            if parameter.default is None:
                annotation += " | None"
            arguments.append(
                inspect.Parameter(name, kind, default=parameter.default, annotation=annotation)
            )
        return inspect.Signature(arguments)

    @classmethod
    def from_raw(cls, raw: Mapping[str, object]) -> Self:
        """Return the parameters, read from what the user wrote.

        raw: name -> value, as the user wrote it; a parameter that is not in it, or has the value of
        its default, counts as not given. Raises ParameterError for unknown names, for invalid
        values, and for segments, groups or slices that are arrays beside a table, of which they
        must be columns.
        """
        entries = cls.declared()
        if not raw.keys() <= entries.keys():
            refuse_unknown(raw, entries)
        changed = {}
        for name, value in raw.items():
            if not _is_default(value, entries[name].default):
                changed[name] = value
        has_arrays = not cls.array_parameters().keys().isdisjoint(changed)  # such as y_true
        if has_arrays:
            return cls._of_arrays(changed)
        for name in ATTRIBUTES:  # segments, groups and slices
            if name not in changed:
                continue
            arrays = _columns_of_attribute(name, changed[name])  # empty for names of columns
            if arrays:
                names = " and ".join(map(repr, arrays))
                raise ParameterError(
                    f"{name}: name columns of the table; add these values to it as {names}"
                )
        return cls(**_read_values(entries, changed), given_values=changed)

    @classmethod
    def _of_arrays(cls, changed: dict[str, object]) -> Self:
        """The parameters with arrays of labels and predictions in the place of a table.

        changed: the raw values that are not the default; `unit`, `segments`, `groups` and `slices`
        may be arrays too, and are replaced by their names. Raises ParameterError if there is a
        table too, if labels or all predictions are missing, and for invalid values.
        """
        arrays = {name: changed[name] for name in cls.array_parameters() if name in changed}
        if "preds" in changed:
            raise ParameterError(f"preds and {next(iter(arrays))}: give one, a table or arrays")
        further_columns: dict[str, Columns] = {}
        for name in ATTRIBUTES:
            if columns := _columns_of_attribute(name, changed.get(name)):
                changed[name] = list(columns)
                further_columns |= columns
        unit = changed.get("unit")
        if hasattr(unit, "__len__") and not isinstance(unit, str):  # one value per row, no name
            unit_name = str(getattr(unit, "name", None) or "unit")
            changed["unit"] = unit_name
            further_columns[unit_name] = unit
        stated = {name: value for name, value in changed.items() if name not in arrays}
        values = _read_values(cls.declared(), stated)
        values["preds"] = Arrays.from_arguments(
            cls.array_parameters(), arrays, further_columns, values.get("positive")
        )
        return cls(**values, given_values=changed)

    @property
    def tables(self) -> list[object]:
        """The inputs that were given: paths, frames, or several."""
        names = [name for name, entry in self.options().items() if entry.kind is DATA]
        inputs = [getattr(self, name) for name in names]
        return [table for table in inputs if table is not None]

    @property
    def reads_sample(self) -> bool:
        """True if no input was given, so that the bundled sample is read."""
        entries = self.declared()
        return not any(entries[name].kind in (DATA, COLUMNS) for name in self.given_values)

    def with_defaults(self, values: Mapping[str, object]) -> Self:
        """The parameters with these raw values in place of those that were not given."""
        missing = {name: value for name, value in values.items() if name not in self.given_values}
        return replace(self, **_read_values(self.options(), missing))


def _is_default(value: object, default: object) -> bool:
    """True if the value that a user wrote for a parameter is its default. Always False for a frame,
    list or array, of which == compares the elements.
    """
    if isinstance(value, bool):
        return value is default  # == would take True for 1
    is_single_value = value is None or isinstance(value, str | int | float)
    return is_single_value and value == default


def _read_values(entries: Mapping[str, Parameter], raw: Mapping[str, object]) -> dict[str, Any]:
    """Parameter -> its value, such as a list of numbers, read from what the user wrote, such as the
    text "1,5,10". Raises one ParameterError for all values that are invalid.

    entries: all parameters. raw: parameter -> what the user wrote, of some of them. None is invalid
    unless it is the default.
    """
    values = {}
    messages = []
    for name, entry in entries.items():
        if name not in raw:
            continue
        try:
            value = entry.kind.read(name, raw[name])
            if entry.default is not None:
                value = required(name, value)  # refuses None
            values[name] = value
        except ParameterError as error:
            messages.append(str(error))
    if messages:
        raise ParameterError("; ".join(messages))
    return values


@dataclass(frozen=True, eq=False)
class Arrays:
    """Labels and predictions in memory.

    shared_columns: column -> values that all systems share. system_columns: column -> system ->
    values; a single system has the name None. positive: the label whose column counts in a matrix
    of two classes, None for the second.
    """

    shared_columns: Mapping[str, Columns]
    system_columns: Mapping[str, Mapping[str | None, Columns]]
    positive: str | None = None

    @classmethod
    def from_arguments(
        cls,
        arguments: Mapping[str, Parameter],
        values: Mapping[str, object],
        further_columns: Mapping[str, object],
        positive: str | None,
    ) -> "Arrays":
        """The arrays from the arguments of `read`.

        arguments: all that the report has; the first is that of the labels. values: of those that
        were given. further_columns: that all systems share. Raises ParameterError if labels or all
        predictions are missing.
        """
        label = next(iter(arguments))
        shared = dict(further_columns)
        by_system = {}
        for name, argument_values in values.items():
            argument = arguments[name]
            if argument.kind is COLUMNS:
                labels = values.get(label, ())
                by_system[argument.column] = _values_by_system(name, argument_values, labels)
            else:
                shared[argument.column] = argument_values
        if label not in values or not by_system:
            of_predictions = [name for name, entry in arguments.items() if entry.kind is COLUMNS]
            raise ParameterError(
                f"{label} and {' or '.join(of_predictions)}: both must be given, got "
                f"{', '.join(values)}"
            )
        return cls(shared, by_system, positive)


def _columns_of_attribute(parameter: str, values: Columns) -> dict[str, Columns]:
    """Name -> values of segments, groups or slices that are given as a series, an array, a frame or
    a dict of these; empty for names of columns. parameter: which of the three it is; an array
    without a name is called after it, such as segment.
    """
    if isinstance(values, Mapping):
        return dict(with_text_keys(parameter, values))
    columns = list(getattr(values, "columns", ()))
    if columns:
        return {str(name): values[name] for name in columns}
    if hasattr(values, "dtype"):
        return {str(getattr(values, "name", None) or parameter.removesuffix("s")): values}
    return {}


def _values_by_system(
    name: str, values: ColumnsOfEach, labels: Columns
) -> Mapping[str | None, Columns]:
    """System -> its values: of a dict, or of a frame whose columns are no classes of the labels;
    else all values of the only system, whose name is None.

    name: of the argument, for errors.
    """
    if isinstance(values, Mapping):
        return dict(with_text_keys(name, values).items())
    columns = list(getattr(values, "columns", ()))
    have_names = columns and all(isinstance(column, str) for column in columns)
    is_matrix = getattr(labels, "ndim", 1) > 1
    if not have_names or is_matrix or not {str(label) for label in labels}.isdisjoint(columns):
        return {None: values}
    return {column: values[column] for column in columns}


def reader(report: type[Parameters]) -> Callable[[Callable[[Any], Made]], Callable[..., Made]]:
    """Make `read` of a report, which takes arguments, from the function that takes its parameters.

    `read` has the report's public name, its signature, and a line of its docstring for each
    argument. Python's own errors then say `ranking()`, and the error for an unknown argument
    suggests the nearest one.
    """
    signature = report.signature()
    public = report.report_name()

    def decorate(study_of: Callable[[Any], Made]) -> Callable[..., Made]:
        @wraps(study_of)
        def read(*data: Any, **arguments: Any) -> Made:
            """The study of a report whose parameters are these arguments, such as that of
            `ek.ranking("a.run", qrels="test.qrels")`. Its docstring is replaced below.
            """
            # parameter -> value, as the user wrote it
            raw = _arguments_by_parameter(report, signature, data, arguments)
            if any(value is None for value in raw.values()):
                _refuse_none(report, raw)
            return _study(study_of, report.from_raw(raw))

        study_of.__qualname__ = public
        read.__name__ = public
        read.__qualname__ = "read"  # by which a pickle finds it
        returned = study_of.__annotations__["return"]
        read.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]  # inspect reads it
        lines = [f"{name}: {entry.help}" for name, entry in report.declared().items()]
        docstring = inspect.cleandoc(study_of.__doc__ or "")
        read.__doc__ = "\n".join([docstring, "", "Arguments:", "", *lines])
        return read

    return decorate


def _study(study_of: Callable[[Any], Made], p: Any) -> Made:
    """The study that `study_of` makes of the parameters `p` of a report.

    Errors of subclasses, which are private, become InputError or ParameterError, the two that users
    know. If the name of a metric has several meanings, the error states the value of each.
    """
    try:
        return study_of(p)
    except SeveralMeanings as error:
        # the values are those of a study of all the metrics that the name may stand for
        with_values = error.with_values(lambda names: study_of(replace(p, metrics=names)))
        raise ParameterError(str(with_values)) from None
    except InputError as error:  # ParameterError is a subclass of it
        public = ParameterError if isinstance(error, ParameterError) else InputError
        if type(error) is public:
            raise
        raise public(str(error)) from None


def _arguments_by_parameter(
    report: type[Parameters],
    signature: inspect.Signature,
    data: tuple[object, ...],
    keywords: dict[str, object],
) -> dict[str, object]:
    """Parameter -> value, of the arguments in a call of a report's function, such as `ranking()`.

    report, signature: the parameters of the report, and the signature of its function. data: the
    arguments by position: tables, or labels and predictions in the order of scikit-learn. keywords:
    those by name, which may be that of another library, such as y_prob for y_score. Raises
    ArgumentError for an unknown name, and for too many arguments by position.
    """
    known = signature.parameters
    renamed = {SPELLINGS.get(name, name): value for name, value in keywords.items()}
    # If a name is unknown, or two names stand for one parameter, nothing is renamed, so that the
    # error below names the arguments as the user wrote them.
    has_no_duplicate = len(renamed) == len(keywords)
    if has_no_duplicate and renamed.keys() <= known.keys():
        keywords = renamed
    for name in keywords:
        if name not in known:
            raise _unknown_argument(report, name)
    # such as y_true and y_score; a report that takes only tables has no parameters for arrays
    labels_and_predictions = list(report.array_parameters())[:2]
    takes_arrays = len(labels_and_predictions) == 2
    # two arguments by position are labels and predictions, unless the first is the path of a table
    if takes_arrays and len(data) == 2 and not isinstance(data[0], str | PathLike):
        by_name = dict(zip(labels_and_predictions, data, strict=True))
        keywords = by_name | keywords
        data = ()
    positional = [entry for entry in known.values() if entry.kind is not BY_NAME]
    if len(data) > len(positional):
        takes = f"from 0 to {len(positional)} positional arguments but {len(data)} were given"
        raise ArgumentError(f"{report.report_name()}() takes {takes}")
    return signature.bind(*data, **keywords).arguments


def _unknown_argument(report: type[Parameters], name: str) -> ArgumentError:
    """The error for an argument that a report does not have, with the reports that have it, or
    else the nearest name.
    """
    owners = [owner for owner, other in REPORTS.items() if name in other.signature().parameters]
    hint = f" (an argument of {', '.join(owners)})"
    if not owners:
        hint = did_you_mean(name, report.signature().parameters)
    return ArgumentError(
        f"{report.report_name()}() got an unexpected keyword argument {name!r}{hint}"
    )


def _refuse_none(report: type[Parameters], raw: Mapping[str, object]) -> None:
    """Raise ParameterError if the input is given as None: the sample is for no argument at all."""
    entries = report.declared()
    inputs = [name for name, entry in entries.items() if entry.kind is DATA or entry.column]
    absent = [name for name in inputs if name in raw and raw[name] is None]
    present = {name for name in inputs if raw.get(name) is not None}
    if absent and present <= BESIDE:
        raise ParameterError(
            f"{absent[0]}: must be a table (a file, a folder, a data frame), got None; without any "
            f"argument the bundled sample is read"
        )


# The reports --------------------------------------------------------------------------------------

# tables that are no input of their own
BESIDE = {"qrels", "queries", "items", "earlier", "sample_weight"}
OWN_DOCUMENT = "query"  # which may be left out of the lists
AS_GIVEN = "as given"
RENUMBER = "renumber"
RANKS = one_of(AS_GIVEN, RENUMBER)
LEAST_MEMORY = 200 * 10**6  # bytes; with less DuckDB cannot sort at all
SHARE = a_number(above=0, below=1)
POSITIVE = a_number(above=0)
SIZE = a_size(LEAST_MEMORY)
TWO_SIDED = "two-sided"
NO_HEADER, FIRST_LINE = "none", "first"
SUCH, TASKS, THESE = "such questions", "such tasks", "these questions"
LEFT_OUT, WRONG = "left out", "wrong"
ROLES = "the column of each role, if its name is not recognised: "
UNIT = (
    "a column such as user_id, if rows are not independent: intervals and tests are clustered by it"
)
SEGMENTS = 'columns to slice by, "country,device"'
SLICES = 'columns to search for weak slices, "country,device"; auto: all without another role'
AUTO_SLICES = ("auto",)  # the value of slices that stands for all columns without a role
SYSTEMS = 'the systems to compare, "a,b"; in a wide table the columns that hold their '


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SharedParameters(Parameters):
    """The parameters of every report."""

    title: str | None = option(
        TEXT, "the heading of the page; None: the report and its first input"
    )
    note: str | None = option(TEXT, "a note for the reader, shown below the heading")
    sections: tuple[str, ...] = option(
        TEXTS,
        'the sections of the page in their order, and notebooks of your own, "metrics,mine.ipynb"',
    )
    data_date: str | None = option(
        TEXT, 'when the data were collected, such as "October 2026"; below the heading'
    )
    margin: float | None = option(
        POSITIVE, "differences within plus or minus this value are equivalent"
    )
    lower_is_better: tuple[str, ...] = option(
        LOWER,
        'the metrics for which lower is better, "loss,minutes", or none; None: by their names',
    )
    level: float = option(a_number(above=0.5, below=1), "confidence level of all intervals", 0.95)
    alpha: float | None = option(
        a_number(above=0, below=0.5),
        "significance level of tests, verdicts and gates; default: 1 − level",
    )
    alternative: str = option(
        one_of(TWO_SIDED, "greater", "less"),
        "two-sided, greater (only a system above the baseline, null or old value counts) or less "
        "(only one below)",
        TWO_SIDED,
    )
    seed: int = option(a_whole_number(least=0), "the seed of all random numbers", 0)
    header: str | None = option(
        one_of(NO_HEADER, FIRST_LINE),
        "text tables: none (columns are 1, 2, …) or first (the first line is the header); None: "
        "inferred from the content",
    )
    units: bool | None = option(
        YES_NO,
        "true: write NAME.units.parquet, the terms of every unit; None: if it has up to 10 million "
        "rows",
    )
    gate: Policy | None = option(
        GATE,
        "a rule that the report must satisfy, such as not worse (than the baseline), or a policy "
        "file",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparisonParameters(SharedParameters):
    """The parameters of every report that compares systems."""

    baseline: str | None = option(TEXT, "compare every other system with this one; None: all pairs")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Resources(Parameters):
    """The resources for reading a table of any size."""

    memory: int | None = option(
        SIZE, 'maximum memory for reading, such as "2GB"; None: half of the machine\'s'
    )
    threads: int | None = option(a_whole_number(), "processors for reading; None: all")
    spill: Path | None = option(
        FOLDER, "a folder for data that do not fit into memory; None: the system's temporary folder"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RankingParameters(ComparisonParameters, Resources):
    """The parameters of the ranking report."""

    main = ("preds", "qrels", "metrics", "baseline", "segments")

    preds: Tables = option(
        DATA, "ranked results: a file, a folder or a glob of runs; None: the bundled sample"
    )
    qrels: Tables = option(DATA, "judgements (query, item, grade); None: the grade column of preds")
    queries: Tables = option(
        DATA, "a table with one row per query, for segments and unit; None: columns of preds"
    )
    items: Tables = option(
        DATA,
        "a table with one row per item: category, feature_…, popularity, for diversity and novelty",
    )
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{query: topic, item: sku}}"')
    systems: tuple[str, ...] = option(TEXTS, f"{SYSTEMS}scores")
    metrics: ReadMetrics = option(
        METRICS, '"ndcg@10,map,mrr,precision@10,recall@100"; the first gives the verdict'
    )
    ks: tuple[int, ...] = option(INTEGERS, 'cut-offs of the curve, "1,3,5,10,20,50,100"')
    relevance_level: float = option(POSITIVE, "the lowest grade that counts as relevant", 1)
    unit: str | None = option(
        TEXT,
        "a column such as user_id, if queries are not independent: intervals and tests are "
        "clustered by it",
    )
    segments: tuple[str, ...] = option(TEXTS, 'columns with one value per query, "country,device"')
    ranks: str = option(
        RANKS, "for ranked lists without scores: as given, or renumber to close gaps", AS_GIVEN
    )
    slices: tuple[str, ...] = option(TEXTS, SLICES)
    leave_out: str | None = option(
        one_of(OWN_DOCUMENT),
        "query: leave the query's own document out of its list and its judgements, as BEIR does",
    )


@dataclass(frozen=True, eq=False)
class GroupQuestion:
    """Which gaps between groups a report is asked for.

    columns: those that hold the groups. references: column -> the group that others are compared
    with; the largest in other columns. margin: gaps within plus or minus this value are equivalent;
    None for no such verdict.
    """

    columns: tuple[str, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)
    margin: float | None = None


NO_GROUPS = GroupQuestion()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClassificationParameters(ComparisonParameters, Resources):
    """The parameters of the classification report."""

    main = ("preds", "metrics", "threshold", "baseline", "segments")

    preds: Tables = option(
        DATA, "labels and predictions: a file, a folder or a glob; None: the bundled sample"
    )
    kind: str | None = option(
        one_of("binary", "multi-class", "multi-label"),
        "binary, multi-class or multi-label; None: inferred from the columns",
    )
    positive: str | None = option(
        TEXT, "the positive label, if labels are not 0 and 1, -1 and 1, or booleans"
    )
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{label: bad, score: p}}"')
    systems: tuple[str, ...] = option(TEXTS, f"{SYSTEMS}scores")
    metrics: ReadMetrics = option(
        METRICS, '"roc_auc,average_precision,f1,brier"; the first gives the verdict'
    )
    threshold: Threshold | None = option(
        CUT,
        "a number, best_f1, or a cost, precision or recall to reach (see docs); None: 0.5, or "
        "best_f1",
    )
    costs: Costs | None = option(
        COST_PAIR,
        'the costs of a false positive and a false negative, "{fp: 1, fn: 5}", for the cost curve',
    )
    prevalence: float | None = option(
        SHARE, "base rate expected in production; None: that with ten times as many negatives"
    )
    precision_target: float | None = option(
        SHARE, "the precision from which predictions of a class need no review (multi-class)"
    )
    unit: str | None = option(TEXT, UNIT)
    segments: tuple[str, ...] = option(TEXTS, SEGMENTS)
    slices: tuple[str, ...] = option(TEXTS, SLICES)
    groups: tuple[str, ...] = option(
        TEXTS, 'columns of people or things to compare, "sex,age_band": the gaps of each rate'
    )
    reference: Mapping[str, str] = option(
        PAIRS, 'the group that others are compared with, "{sex: male}"; None: the largest'
    )
    gap_margin: float = option(
        SHARE, "gaps between groups within plus or minus this value are equivalent", 0.05
    )
    y_true: Columns = option(
        COLUMN,
        "instead of preds the labels: one per row, or one column of 0 and 1 per label",
        column="y_true",
    )
    y_score: ColumnsOfEach = option(
        COLUMNS,
        "the scores: one per row, or one column per class as from predict_proba; for several "
        "systems a dict",
        column="score",
    )
    y_pred: ColumnsOfEach = option(
        COLUMNS,
        "the predicted classes, one per row; for several systems a dict",
        column="predicted",
    )
    sample_weight: Columns = option(COLUMN, "the weights, one per row", column="sample_weight")

    @property
    def group_question(self) -> GroupQuestion:
        """The gaps that are asked for."""
        return GroupQuestion(tuple(dict.fromkeys(self.groups)), self.reference, self.gap_margin)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RatingParameters(ComparisonParameters, Resources):
    """The parameters of the rating report."""

    main = ("preds", "metrics", "unit", "baseline", "segments")

    preds: Tables = option(
        DATA, "actual values and forecasts: a file, a folder or a glob; None: the bundled sample"
    )
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{actual: sales, forecast: p50}}"')
    systems: tuple[str, ...] = option(TEXTS, f"{SYSTEMS}forecasts")
    metrics: ReadMetrics = option(
        METRICS,
        '"mae,rmse,bias,median_absolute_error,r2", with quantiles or draws wis or crps first; '
        "the first gives the verdict",
    )
    interval_level: float | None = option(
        SHARE, "0.95: the level of bounds lower and upper; None: 0.8 of yhat_lower, others unread"
    )
    reference: str | None = option(
        REFERENCE,
        "reference of skill: naive (last known value), seasonal:12 (that of last season) or mean "
        "(of the actual values)",
    )
    unit: str | None = option(TEXT, UNIT)
    segments: tuple[str, ...] = option(TEXTS, SEGMENTS)
    slices: tuple[str, ...] = option(TEXTS, SLICES)
    y_true: Columns = option(
        COLUMN, "instead of preds the actual values, one per row", column="y_true"
    )
    y_pred: ColumnsOfEach = option(
        COLUMNS,
        "the forecasts, one per row; for several systems a dict of arrays",
        column="forecast",
    )
    sample_weight: Columns = option(COLUMN, "the weights, one per row", column="sample_weight")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SignificanceParameters(ComparisonParameters, Resources):
    """The parameters of the significance report."""

    main = ("preds", "metrics", "unit", "baseline", "margin")

    preds: Tables = option(
        DATA,
        "values per unit, trec_eval -q, successes and trials, ranked lists, probabilities, a "
        "report's JSON; None: a sample",
    )
    qrels: Tables = option(DATA, "judgements (query, item, grade), where preds are ranked lists")
    unit: str | None = option(
        TEXT,
        "the column of clusters, if units are not independent: intervals and tests are clustered "
        "by it",
    )
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{system: variant, value: clicks}}"')
    systems: tuple[str, ...] = option(
        TEXTS, 'the systems to compare, "a,b"; in a wide table their columns'
    )
    metrics: ReadMetrics = option(
        METRICS,
        "the metrics to test, the first gives the verdict; for a wide table the name of its metric",
    )
    ranks: str = option(
        RANKS, "for ranked lists without scores: as given, or renumber to close gaps", AS_GIVEN
    )
    null: float | None = option(
        SHARE, "successes and trials: the share to test against, such as 0.5"
    )
    claim: str = option(
        one_of(SUCH, TASKS, THESE),
        "for evaluations, what varies: questions, whole tasks, or only the draws of each of these "
        "questions",
        SUCH,
    )
    errored: str = option(
        one_of(LEFT_OUT, WRONG),
        "evaluation logs: answers that ended with an error are left out, or count 0, as wrong",
        LEFT_OUT,
    )
    # Nobody trains on less than a hundredth of what they test.
    test_to_train: float | None = option(
        a_number(above=0, below=100),
        "units are folds over the same rows: test rows per training row, 0.1111 for ten folds",
    )
    oracle: tuple[str, ...] = option(
        TEXTS,
        "values of a judge: the column of an oracle's labels, empty where there are none; "
        "one per system in a wide table",
    )
    cut: float | None = option(
        a_number(),
        "with oracle: agreement takes values from here on as 1, lower ones as 0; None: 0.5 for "
        "shares, else none",
    )
    width: float | None = option(
        a_number(above=0),
        "with oracle: the wished width of an interval, from limit to limit, to plan labels; None: "
        "half of what it is",
    )
    looks: int = option(
        a_whole_number(most=100),
        "the planned number of analyses of the data as they grow, the same at each analysis",
        1,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ValidationParameters(SharedParameters, Resources):
    """The parameters of the validation report."""

    main = ("preds", "features", "target", "estimator", "metrics")

    preds: Tables = option(
        DATA,
        "out-of-fold predictions with the columns label, score and fold; None: the bundled sample",
    )
    features: Tables = option(
        DATA,
        "instead of preds: a table of features and a target, on which the estimators are fitted",
    )
    target: str | None = option(
        TEXT, "the column of features that is the target; None: label, y_true or target"
    )
    estimator: str | None = option(
        TEXT, "import path such as sklearn.svm.SVC; None: logistic or ridge regression"
    )
    against: str | None = option(
        TEXT, "import path of a second estimator, fitted on the same folds"
    )
    columns: Mapping[str, str] = option(
        PAIRS,
        'the column of id, group, time, fold or system, if its name differs: "{group: patient}"',
    )
    ignore: tuple[str, ...] = option(
        TEXTS,
        "columns that are not features, such as other predictions; a * stands for any text: "
        '"p_*,digit"',
    )
    selected: tuple[str, ...] = option(
        TEXTS,
        "features that were selected by using the target: compared with a selection inside the "
        "folds",
    )
    categorical: tuple[str, ...] = option(
        TEXTS, 'columns of features that hold codes, not numbers: "zip,branch"'
    )
    task: str | None = option(
        one_of("classes", "number"),
        "classes or number: the type of the target, if its values do not show it",
    )
    k: int = option(a_whole_number(least=2), "number of folds", 10)
    gap: float | None = option(
        a_number(least=0),
        "time between training and test rows, in the unit of the time column; for dates in days",
    )
    threshold: float = option(
        a_number(), "scores in preds of at least this value mean class 1", 0.5
    )
    metrics: ReadMetrics = option(
        METRICS, '"accuracy,roc_auc,log_loss,brier" or "mae,rmse"; the first gives the verdict'
    )
    most_rows: int = option(
        a_whole_number(least=20), "most rows to use; a larger table is sampled at random", 50_000
    )
    seconds: float = option(
        POSITIVE, "time for the fits beyond the folds; the report lists what was skipped", 60
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InterleavingParameters(ComparisonParameters, Resources):
    """The parameters of the interleaving report. preds: the log or the users, by their columns;
    beside users the log.
    """

    main = ("preds", "metrics", "baseline", "before", "segments")

    preds: Tables = option(DATA, "log or users, whichever its columns are; beside users the log")
    users: Tables = option(
        DATA,
        "an A/B test, one row per user (user, arm, numbers); all three None: the bundled log",
    )
    log: Tables = option(
        DATA,
        "interleaved sessions, one row per item shown (session, position, team, outcome, user)",
    )
    columns: Mapping[str, str] = option(PAIRS, f'{ROLES}"{{outcome: hours, user: member}}"')
    arms: tuple[str, ...] = option(
        TEXTS, 'the arms, "a,b,c"; None: those of the input, in a log two'
    )
    neutral: str | None = option(
        TEXT, "the value of the team column for items that both rankers would have shown"
    )
    preference: ReadMetrics = option(
        METRICS,
        '"user_share,user_preference,session_wins,credit_share" of the log; the first gives the '
        "verdict",
    )
    metrics: ReadMetrics = option(
        METRICS,
        'columns of users, or ratios of two, "orders,revenue/orders"; the first gives the verdict',
    )
    best: str | None = option(
        one_of("high", "low"),
        "high or low: which values are better, for all metrics of users; lower_is_better says it "
        "for each",
    )
    before: str | None = option(
        TEXT,
        "a column from before the experiment, for CUPED of the first mean of amounts or counts, or "
        "else of the first share",
    )
    strata: str | None = option(
        TEXT, "a column of users from before the experiment, to stratify by"
    )
    cap: float = option(
        SHARE,
        "the quantile at which values of heavy users are capped in an additional result",
        0.99,
    )
    shares: Mapping[str, float] | str | None = option(
        SHARES, 'planned shares of the users, "{a: 1, b: 1}"; None: equal arms; unknown: not tested'
    )
    looks: int = option(
        a_whole_number(most=100), "the planned number of analyses of the running A/B test", 1
    )
    segments: tuple[str, ...] = option(
        TEXTS,
        'columns with one value per session of the log, or per user of the table, "device,country"',
    )
    world: str | None = option(
        one_of("cascade", "cascade, even users", "positions", "positions, even users", "none"),
        'how simulated users click: cascade or positions, also "cascade, even users"; None: no '
        "simulation",
    )
    simulated_users: int = option(a_whole_number(least=1000), "users of the simulation", 100_000)
    rankers: int = option(
        a_whole_number(least=3), "rankers that the simulation compares with production", 12
    )
    baseline: str | None = option(TEXT, "compare every other arm with this one; None: all pairs")

    @classmethod
    def from_raw(cls, raw: Mapping[str, object]) -> Self:
        """Return the parameters, read from raw values as those of every report.

        The values of the users of an A/B test may be given without a table: as two arrays or lists
        by position, of control and treatment, or as a dict of them by arm. A table of users is made
        of them.
        """
        preds = raw.get("preds")
        arms = preds if isinstance(preds, Mapping) else {}
        if _is_array(preds) and _is_array(raw.get("users")):
            arms = {"control": preds, "treatment": raw["users"]}
        if not (len(arms) > 1 and all(map(_is_array, arms.values()))):  # tables, or the sample
            return super().from_raw(raw)
        # a dict of columns is a table: its keys are names of columns, and all are equally long
        sizes = {len(values) for values in arms.values()}
        has_columns = not COLUMNS_OF_USERS.isdisjoint(arms)
        if arms is preds and has_columns and len(sizes) == 1:
            return super().from_raw(raw)
        return super().from_raw({**raw, "preds": None, "users": _users_of_arms(arms)})


# names of columns, not of arms
COLUMNS_OF_USERS = {
    *("arm", "variant", "user", "user_id", "query", "item"),
    *("label", "y_true", "target", "actual", "score", "y_score", "y_pred", "forecast"),
}


def _is_array(value: object) -> bool:
    """True for an array, a series or a list of numbers with one value per row."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(entry, Real) for entry in value)
    return hasattr(value, "dtype") and getattr(value, "ndim", 0) == 1


def _users_of_arms(arms: Mapping[str, Columns]) -> "pd.DataFrame":
    """A table with one row per user, from the values of the users of each arm."""
    import pandas as pd

    tables = []
    for arm, values in arms.items():
        tables.append(pd.DataFrame({"arm": str(arm), "value": list(values)}))
    users = pd.concat(tables, ignore_index=True)
    return users.assign(user=users.index)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DiffParameters(ComparisonParameters):
    """The parameters of the diff of two reports."""

    main = ("old", "new", "metrics", "pairs", "margin")

    old: Tables = option(
        DATA, "the earlier report: its NAME.units.parquet, NAME.json or NAME.html; None: the sample"
    )
    new: Tables = option(DATA, "the later report, as old")
    earlier: Tables = option(
        DATA, "reports before these two, in their order, for the series over time"
    )
    metrics: tuple[str, ...] = option(
        TEXTS, "the metrics to compare, the first gives the verdict; None: those of both"
    )
    pairs: Mapping[str, str] = option(
        PAIRS,
        'systems with other names in the old report, new name first: "{m-1120: m-0806}"',
    )
    baseline: str | None = None  # the old report; these four are no parameters of a diff
    data_date: str | None = None
    header: str | None = None
    units: bool | None = None


def attributes(segments: Iterable[str], unit: str | None) -> list[str]:
    """The columns with attributes of rows, segments and the unit, each once: the unit may be a
    segment too.

    >>> attributes(["country", "user"], "user")
    ['country', 'user']
    """
    names = list(segments)
    if unit:
        names.append(unit)
    return list(dict.fromkeys(names))


REPORTS: dict[str, type[Parameters]] = {
    "classification": ClassificationParameters,
    "interleaving": InterleavingParameters,
    "ranking": RankingParameters,
    "rating": RatingParameters,
    "significance": SignificanceParameters,
    "validation": ValidationParameters,
}
PARAMETERS_BY_NOTEBOOK = REPORTS | {"diff": DiffParameters}  # the last reads reports
