"""Inputs of the validation report: features and a target, or out-of-fold predictions, with id,
group, time and fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ParameterError
from evalkit.findings import kinds
from evalkit.limits import USUAL_LIMITS, ReadingLimits
from evalkit.numbers import exact
from evalkit.parameters import reports
from evalkit.reading.engines import backends
from evalkit.reading.inputs import aligned, outcomes, split_names
from evalkit.reading.matching import column_names
from evalkit.reading.matching.proposal import Predictions, validation
from evalkit.reading.matching.samples import TRUTH, SampledTable
from evalkit.reading.tables import columns as column_roles, duck, rules, table as tables
from evalkit.reading.tables.frames import canonical_label
from evalkit.reading.tables.parts import InputPart, Source
from evalkit.reading.tables.rules import ColumnRule, Field, Precision, RoleColumn
from evalkit.reading.tables.table import CheckedTable, Coded, Ids

if TYPE_CHECKING:
    import pandas as pd

DESCRIBING = ("id", "group", "time", "fold")  # roles that describe a row, beside its label
SHARED = ("system", "group", "time", "fold", "repeat", "label")  # roles that no system has alone
NEEDED = ("label", "score", "fold")
ROLES = (*DESCRIBING, "system", "label", "score", "repeat")
NUMBER, CLASSES = "number", "classes"
MISSING = ("nan", "na", "")  # words for no value, in small letters
Target = tuple[np.ndarray, tuple[str, ...]]  # numbers and (), or numbers of classes and their names
# the part that a row came from, and its number there, from 1
Locate = Callable[[int], tuple[InputPart, int]]
FEATURE = ColumnRule("hold finite numbers or nothing")
FORECAST = "set task='number' for a forecast"
TWO = ColumnRule("hold two classes, or numbers that the score forecasts", FORECAST)
# what `set_of` returns for names that are no folds
TRAINING = "training"
TEST = "test"
DEVELOPMENT = "development"
YES_NO = "yes_no"
MOST = 10  # columns that an error names
FEW_VALUES = 20  # a target of at most as many whole numbers is read as classes
DRAWN = 0.05  # of the ids: a fold that tests fewer is no random holdout, but part of one split
YEARS = (1678, 2261)  # whose dates pandas holds to the nanosecond; 0001 and 9999 are placeholders
DATE = ColumnRule(f"hold dates of the years {YEARS[0]} to {YEARS[1]}, not placeholders")
TIME = ColumnRule("hold numbers or ISO dates as times")


@dataclass(frozen=True)
class Exclusion:
    """Rows, columns or folds that were read but not used.

    kind: the finding that says why. count: how many. names: theirs, if they have any. total: how
    many there were, if the finding says it.
    """

    kind: kinds.FindingKind
    count: int
    names: tuple[str, ...] = ()
    total: int | None = None


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled rows with features, or with out-of-fold scores. Each array has one element per row.

    label: numbers of classes, their places in `classes`; or real numbers, if there are no classes.
    time: numbers; if `dated` days since 1970. repeat: the draw of the folds, if folds were drawn
    several times. columns: role -> column. read: the number of rows of the input. features: one row
    per row; None for out-of-fold scores. candidates: all columns to select from, if the features
    were selected by using the label. score: system -> its out-of-fold scores. precision: system ->
    the type in which its scores were stored. place: the index of each row among those read; None if
    all are kept.
    """

    label: np.ndarray
    classes: tuple[str, ...]
    id: Ids | None
    group: Coded | None
    time: Floats | None
    fold: Coded | None
    repeat: Coded | None
    dated: bool
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    exclusions: tuple[Exclusion, ...] = ()
    features: pd.DataFrame | None = None
    candidates: pd.DataFrame | None = None
    score: Mapping[str, Floats] = field(default_factory=dict)
    precision: Mapping[str, Precision] = field(default_factory=dict)
    place: Ints | None = None

    def named(self, rows: Ints) -> Any:
        """The names of some rows: their ids as Arrow text, or else their numbers in the input, from
        1.
        """
        if self.id is not None:
            return self.id.take(rows).texts
        index = rows if self.place is None else self.place[rows]
        return index + 1

    @cached_property
    def repeats(self) -> int:
        """The number of repeats of the folds, 1 without a column of repeats."""
        return 1 if self.repeat is None else len(self.repeat.names)

    @property
    def ids_keep_facts(self) -> bool:
        """True if all rows of an id have the same label, group and time."""
        if self.id is None:
            return True
        facts = (self.label, self.group_number, self.time)
        return all(_agree(self.id.code, values) for values in facts if values is not None)

    @cached_property
    def has_resampled_folds(self) -> bool:
        """True if each fold was drawn anew from the same ids: random holdouts, bootstrap samples,
        pairs left out, or k folds drawn again under other names.

        Folds of one split share ids by mistake only. Folds drawn anew share most ids, or as many as
        chance gives if each tests at least `DRAWN` of the ids. The number of ids is that of
        Lincoln and Petersen: of two rows of different folds 1 in that number has the same id. A row
        that was drawn again keeps its label, group and time.
        """
        if self.id is None or self.fold is None or self.repeats > 1 or self.features is not None:
            return False
        rows_per_id = np.bincount(self.id.code)
        pairs_with_same_id = int((rows_per_id * (rows_per_id - 1)).sum())
        if not pairs_with_same_id or TRAINING in map(set_of, self.fold.names):
            return False
        if not self.ids_keep_facts:
            return False
        fold_size = np.bincount(self.fold.code)
        pairs_across_folds = len(self) ** 2 - int((fold_size**2).sum())
        estimated_ids = pairs_across_folds / pairs_with_same_id
        most_again = 2 * np.count_nonzero(rows_per_id > 1) >= np.count_nonzero(rows_per_id)
        are_pairs = fold_size.mean() <= 2  # pairs left out: too small for the share of the ids
        return bool(most_again or are_pairs or fold_size.mean() >= DRAWN * estimated_ids)

    @property
    def has_repeated_ids(self) -> bool:
        """True if ids have several rows because the folds were drawn several times."""
        return self.repeats > 1 or self.has_resampled_folds

    @property
    def group_number(self) -> Ints | None:
        """The group of each row as a number; None without groups."""
        return None if self.group is None else self.group.code

    @property
    def unit(self) -> str | None:
        """The noun of the unit that varies: the group, else the id whose rows are repeated, else
        None.
        """
        if self.group is not None:
            return "group"
        return "id" if self.has_repeated_ids else None

    def units_named(self, rows: Ints) -> Any:
        """The names of the units of these rows, as Arrow text: the groups, else the ids."""
        import pyarrow as pa

        if self.group is None:
            return self.named(rows)
        return pa.array(self.group.names).take(self.group.code[rows])

    def unit_of(self, rows: Ints) -> Ints | None:
        """The number of each row's unit, in the order of the names; None without units."""
        if self.group is not None:
            code = self.group.code
        elif self.id is not None and self.has_repeated_ids:
            code = self.id.code
        else:
            return None
        return code if len(rows) == len(self) else code[rows]

    @property
    def names(self) -> np.ndarray:
        """The label for the audit and the splitters: names of classes, or numbers."""
        return np.array(self.classes)[self.label] if self.classes else self.label

    @property
    def kind(self) -> str:
        """The type of the label: a class or a number."""
        return CLASSES if self.classes else NUMBER

    @property
    def structure(self) -> str:
        """The catalogue's name of the structure that metrics are computed from."""
        if not self.classes:
            return "forecasts"
        return "counts" if len(self.classes) == 2 else "classes"

    @property
    def unmet_needs(self) -> dict[str, str]:
        """What metrics may need and the input lacks -> how a message names it."""
        lacking = {
            "columns": "the column {0!r}, which this report does not read",
            "scores of units": "folds that name units",
        }
        if not all(map(outcomes.are_probabilities, self.score.values())):
            lacking["probabilities"] = "scores of 0 to 1, which these are not"
        return lacking

    def __len__(self) -> int:
        return self.label.size

    def take(self, rows: Ints, rest: Exclusion) -> Examples:
        """The rows with these indices. rest: why the other ones are left out."""
        fields = {}
        for name in ("label", "repeat", "features", "candidates", *DESCRIBING):
            values = getattr(self, name)
            if values is not None:
                fields[name] = values.take(rows)
        for name in {"features", "candidates"} & fields.keys():
            fields[name] = fields[name].reset_index(drop=True)
        score = {system: values[rows] for system, values in self.score.items()}
        place = rows if self.place is None else self.place[rows]
        exclusions = (*self.exclusions, rest)
        return replace(self, score=score, place=place, exclusions=exclusions, **fields)

    def sample(self, max_rows: int, seed: int) -> Examples:
        """At most `max_rows` rows, drawn at random and kept in their order."""
        if len(self) <= max_rows:
            return self
        rows = np.sort(np.random.default_rng([seed, 9]).permutation(len(self))[:max_rows])
        return self.take(rows, Exclusion(kinds.SAMPLED_ROWS, len(self) - max_rows, total=len(self)))


# Out-of-fold predictions


def predictions(
    parts: Sequence[InputPart],
    p: reports.ValidationParameters,
    reading: ReadingLimits = USUAL_LIMITS.reading,
) -> Examples:
    """Rows of label, score and fold, with id, group, time and system if there are such columns.

    Raises InputError for more rows than can be held in memory, a missing column, or invalid values.
    """
    _refuse_too_long(parts, p, reading)
    rows = aligned.read(parts, layouts_of(parts, p))
    label = rows.shared_values["label"]
    target = _two_classes(rows, label) if isinstance(label, Coded) else _classes(label, p.task)
    id = Ids(tables.one_array(rows.id)) if "id" in rows.columns else None
    unmatched = (Exclusion(kinds.UNMATCHED_ROWS, rows.alone),) if rows.alone else ()
    examples = _examples(
        rows,
        rows.shared_values,
        target,
        rows.columns,
        id=id,
        score=rows.predictions_of("score"),
        exclusions=unmatched,
        read=rows.read,
        precision={system: of_roles["score"] for system, of_roles in rows.precision.items()},
    )
    if examples.repeat is not None:
        _repeats_agree(rows, examples)
        if examples.fold is not None and len(examples.fold.names) == 1:
            # one holdout in each repeat
            examples = replace(examples, fold=examples.repeat, repeat=None)
    if examples.id is not None:
        if "repeat" not in rows.shared_values:
            _refuse_unnamed_repeat(parts[0], examples.id)
        _refuse_again(rows, examples.id)
    examples = _with_named_repeats(rows, examples)
    if len(examples.classes) > 2:
        raise _third_class(rows, examples)
    if len(examples) > USUAL_LIMITS.reading.rows:
        duck.release()
    return _without_copies(_without_development(examples))


def _refuse_too_long(
    parts: Sequence[InputPart], p: reports.ValidationParameters, reading: ReadingLimits
) -> None:
    """Raise InputError for more rows than can be held in memory, as this report reads no blocks."""
    all_held = replace(reading, rows=reading.held)
    with backends.needed(parts, backends.budget_of(p, all_held)) as engine:
        if engine:
            rows = backends.rows_of(engine, parts)
            raise InputError(column_roles.sentence("too_long", rows=rows, most=all_held.rows))


def _third_class(rows: aligned.Aligned, examples: Examples) -> InputError:
    """The error for a label of more than two classes, at the first row of the rarest; of several
    the last one.
    """
    count = np.bincount(examples.label)
    rarest = len(count) - 1 - int(count[::-1].argmin())
    row = int((examples.label == rarest).argmax())
    got = f"{examples.classes[rarest]!r} as one of {len(count)}"
    return TWO.located_error(rows.locate, rows.columns["label"], row, got)


def _two_classes(rows: aligned.Aligned, label: Coded) -> Target:
    """The classes of labels that are texts, such as no and yes, the one that the scores are of
    last: the class that names the only column of scores, else the usual one.

    Raises InputError for one or more than two classes, and if it is unclear what the scores are of.
    """
    if len(label.names) != 2:
        return _numbered(label.code, label.names)
    labels = outcomes.label_texts(rows, "label", [label])
    scores = [column.field.column for column in rows.layout.predictions["score"]]
    named = scores[0] if len(scores) == 1 and scores[0] in label.names else None
    try:
        pair = outcomes.two_labels(labels, named, "")
    except outcomes.UnclearPositive:
        part = rows.table.blocks[0].part
        first, second = label.names
        raise column_roles.refused(
            part.name, "unclear_class", column=labels.column, first=first, second=second
        ) from None
    classes = (pair.negative, pair.positive)
    return label.among(classes), classes


def layouts_of(
    parts: Sequence[InputPart], p: reports.ValidationParameters
) -> list[aligned.ColumnLayout]:
    """The columns of each part by role. Raises InputError for parts with different columns."""
    layouts = [_layout_of(part, p.columns) for part in parts]
    aligned.refuse_other_columns(parts, layouts)
    label = layouts[0].fields["label"].column
    if p.task == NUMBER or not _holds_texts(parts[0], label):
        return layouts
    texts = Field(label, rules.NAME, canonical_label)
    return [layout.with_field("label", texts) for layout in layouts]


def _holds_texts(part: InputPart, label: str) -> bool:
    """True if the labels in a column are texts, such as no and yes, or false and true."""
    (sample,) = SampledTable.from_part(part, {"label": label}).exact("label")
    return sample.numbers is None or sample.labels <= TRUTH.keys()


def _layout_of(part: InputPart, chosen: Mapping[str, str]) -> aligned.ColumnLayout:
    """The columns of a part of predictions by role: by their names, or else as their cells propose.
    Raises one InputError for all that are missing or ambiguous.
    """
    roles = ("system", "label", "score", *DESCRIBING, "repeat")
    mapping = column_roles.match(part.columns, roles, chosen, part.name)
    predictions: Predictions = {None: {"score": mapping.columns.get("score", "")}}
    proposal = None
    if mapping.missing_roles(NEEDED):
        proposal = validation(SampledTable.from_part(part, chosen))
    if proposal is not None and proposal.is_complete:
        columns = dict(proposal.columns)
        predictions = proposal.predictions
    else:
        columns = mapping.resolve(NEEDED)
        usual_ids = SampledTable.from_part(part, chosen).named("id")
        if "id" not in columns and len(usual_ids) == 1:
            columns["id"] = usual_ids[0].name
    if "repeat" in columns and "id" not in columns:
        raise column_roles.refused(part.name, "repeats", column=columns["repeat"])
    # ids pair the rows of systems; in a wide table they only name rows
    is_paired = "system" in columns and "id" in columns
    fields = {role: Field(name, rules.NAME) for role, name in columns.items()}
    fields["label"] = Field(columns["label"], rules.MEASURED)
    shared = []
    if is_paired:
        shared.append(RoleColumn("id", Field(columns["id"])))
    elif "id" in columns:
        shared.append(RoleColumn(aligned.UNPAIRED_ID, fields["id"]))
    shared += [RoleColumn(role, fields[role]) for role in SHARED if role in columns]
    scores = [
        RoleColumn("score", Field(of_roles["score"], rules.MEASURED), i)
        for i, of_roles in enumerate(predictions.values())
    ]
    systems = tuple(name for name in predictions if name is not None)
    unique_within = tuple(role for role in ("fold", "repeat") if role in columns and is_paired)
    return aligned.ColumnLayout(tuple(shared + scores), systems, unique_within)


def _refuse_unnamed_repeat(part: InputPart, id: Ids) -> None:
    """Raise InputError if every id has several rows, and a column of another name seems to count
    the repeats.
    """
    names = [
        name
        for name in part.columns
        if column_names.comparable_name(name) in column_names.NAMES_BY_USE["drawn_again"]
    ]
    if names and np.bincount(id.code).min() > 1:
        raise column_roles.refused(part.name, "unnamed_repeats", column=names[0])


def _with_named_repeats(rows: aligned.Aligned, e: Examples) -> Examples:
    """The examples with the repeats that the names of folds tell, such as Fold1.Rep1; unchanged if
    they tell none.

    Raises InputError if such names have no ids beside them, or an id changes its label.
    """
    if e.fold is None or e.repeat is not None:
        return e
    splits = split_names.named_holdouts(e.fold)
    has_words = split_names.name_repeats(e.fold.names)
    if e.id is None:
        if splits or has_words:
            part = rows.table.blocks[0].part
            raise column_roles.refused(part.name, "repeats", column=rows.columns["fold"])
        return e
    if splits is None:
        splits = split_names.named_repeats(e.fold, e.id.code)
        # numbers without words may mean something else, if rows of an id differ
        if splits is None or not (has_words or e.ids_keep_facts):
            return e
    with_repeats = replace(e, fold=splits.fold, repeat=splits.repeat)
    _repeats_agree(rows, with_repeats)
    return with_repeats


def _agree(id: Ints, values: np.ndarray) -> bool:
    """True if all rows of an id have the same value."""
    order = np.argsort(id, kind="stable")
    same = np.diff(id[order]) == 0
    return not (same & (values[order][1:] != values[order][:-1])).any()


def _repeats_agree(rows: aligned.Aligned, e: Examples) -> None:
    """Raise InputError if an id changes its label or group between repeats."""
    assert e.id is not None
    order = np.argsort(e.id.code, kind="stable")
    same_id = np.diff(e.id.code[order]) == 0
    facts = {"label": e.names}
    if e.group is not None:
        facts["group"] = e.group.texts
    for role, values in facts.items():
        changes = np.flatnonzero(same_id & (values[order][1:] != values[order][:-1]))
        if changes.size:
            before = int(order[changes[0]])
            row = int(order[changes[0] + 1])
            raise aligned.disagreement_error(
                rows.place(row), rows.columns[role], e.id.name(row), values[before], values[row]
            )


def _refuse_again(rows: aligned.Aligned, id: Ids) -> None:
    """Raise InputError if an id occurs twice in one fold of one repeat."""
    unique_within = [role for role in ("repeat", "fold") if role in rows.shared_values]
    key = id.code
    for role in unique_within:
        column = rows.shared_values[role]
        key = key * len(column.names) + column.code
    row = tables.pair_rows(key, np.zeros_like(key), 1).repeated_row
    if row is None:
        return
    roles = " and ".join(unique_within)
    problem = f"id {id.name(row)!r} must occur once per {roles}, got it again"
    hint = ""
    if "repeat" not in unique_within:
        hint = f"; for several rows per id set columns='group={rows.columns['id']}'"
    raise InputError(f"{rows.place(row)}: {problem}{hint}")


def set_of(name: str) -> str:
    """The set of rows (training, test, development) that a name in a column of folds means, or
    "yes_no" for a flag; "" if it is a fold.

    >>> set_of("out-of-sample"), set_of("Dev"), set_of("3")
    ('test', 'development', '')
    """
    return column_names.SETS.get("".join(filter(str.isalnum, name.lower())), "")


def _without_development(e: Examples) -> Examples:
    """The rows without those of a validation set, if there are training and test rows beside it;
    else all rows.
    """
    assert e.fold is not None
    sets = np.array([set_of(name) for name in e.fold.names])
    if set(sets.tolist()) != {TRAINING, TEST, DEVELOPMENT}:
        return e
    in_development = (sets == DEVELOPMENT)[e.fold.code]
    names = e.fold.take(in_development).names
    rest = Exclusion(kinds.SET_ASIDE, int(in_development.sum()), names)
    return e.take(np.flatnonzero(~in_development), rest)


def _without_copies(e: Examples) -> Examples:
    """The rows without splits that test the same ids as another one, with the same scores.

    A split is a repeat of all folds, or a single fold if no column names repeats. Copies say
    nothing new, and would narrow every interval. Raises InputError if only one fold is left.
    """
    if e.id is None or e.fold is None or np.bincount(e.id.code).max() < 2:
        return e
    split = e.fold
    fold = e.fold.code
    if e.repeat is not None:
        split = e.repeat
        fold = split.code * len(e.fold.names) + fold
    # copies may name their folds otherwise: a fold is known by its first id
    first_id = np.full(int(fold.max()) + 1, len(e))
    np.minimum.at(first_id, fold, e.id.code)
    facts = np.column_stack([first_id[fold], e.id.code, *e.score.values()])
    order = np.lexsort((e.id.code, split.code))
    ends = np.cumsum(np.bincount(split.code, minlength=len(split.names)))
    first_with_content: dict[bytes, int] = {}
    copies = []
    for number, rows in enumerate(np.split(order, ends[:-1])):
        if first_with_content.setdefault(facts[rows].tobytes(), number) != number:
            copies.append(number)
    if not copies:
        return e
    if split is e.fold and len(copies) + 1 == len(split.names):
        raise InputError(
            f"folds must test different ids or have different scores, got {len(split.names)} "
            f"copies of one: {column_roles.listed(map(repr, split.names), MOST)}"
        )
    copied = np.isin(split.code, copies)
    names = tuple(split.names[number] for number in copies)
    return e.take(np.flatnonzero(~copied), Exclusion(kinds.COPIED_SPLITS, int(copied.sum()), names))


# Features and a target


@dataclass(frozen=True)
class _FeatureColumns:
    """What the columns of one part are.

    selected: the features that were selected by using the label; empty if none were. roles: role ->
    column.
    """

    features: list[str]
    selected: list[str]
    roles: dict[str, str]
    ignored: list[str]

    @property
    def fields(self) -> dict[str, Field]:
        """The name of each column in a `CheckedTable` -> the column and its rules."""
        fields = {role: Field(name, rules.NAME) for role, name in self.roles.items()}
        if "id" in fields:
            fields["id"] = Field(self.roles["id"], rules.TEXT)
        return fields | {f"feature {name}": Field(name, rules.ANY) for name in self.features}


def table(parts: Sequence[InputPart], p: reports.ValidationParameters) -> Examples:
    """Features and a target, sampled if there are many rows.

    A column whose values are all numbers is numeric, else text. Empty cells are missing. Columns
    named id, group, time or fold, or given as such, are not features. Raises InputError for a
    missing target, or invalid values.
    """
    import pandas as pd

    columns_of_parts = columns_of(parts, p)
    columns = columns_of_parts[0]  # all parts have the same roles
    rows = tables.read(parts, [of_part.fields for of_part in columns_of_parts])
    text = {role: rows.coded(role) for role in columns.roles}
    if p.gap is not None and "time" not in text:
        raise ParameterError("gap: needs a time column; set columns='time=NAME'")
    features = pd.DataFrame(
        {
            name: _typed(
                rows.texts(f"feature {name}"), name, rows.locate, text=name in p.categorical
            )
            for name in columns.features
        }
    )
    exclusions: tuple[Exclusion, ...] = ()
    if ignored := tuple(columns.ignored):
        exclusions = (Exclusion(kinds.UNUSED_COLUMNS, len(ignored), ignored),)
    candidates = features if columns.selected else None
    used_features = features[columns.selected] if columns.selected else features
    ids = Ids(tables.one_array(rows.chunks("id"))) if "id" in text else None
    examples = _examples(
        rows,
        text,
        _target(text["label"], columns.roles["label"], p.task, rows.locate),
        columns.roles,
        id=ids,
        features=used_features,
        candidates=candidates,
        exclusions=exclusions,
        read=len(rows),
    )
    return examples.sample(p.most_rows, p.seed)


def columns_of(
    parts: Sequence[InputPart], p: reports.ValidationParameters
) -> list[_FeatureColumns]:
    """The columns of each part. Raises InputError for a part without target or features, or with
    other columns.
    """
    label = p.columns.get("label", p.target)
    if p.target is not None and label != p.target:
        raise ParameterError(
            f"target and columns: must name one column, got {p.target!r} and {label!r}"
        )
    columns = [_columns(part, p) for part in parts]
    tables.refuse_missing_columns(parts, [of_part.fields for of_part in columns])
    return columns


def _columns(part: InputPart, p: reports.ValidationParameters) -> _FeatureColumns:
    """The columns of one part; raises InputError if it has no target or no feature."""
    chosen = dict(p.columns)
    if p.target is not None:
        chosen["label"] = p.target
    required = dict.fromkeys(p.categorical, "categorical")  # column -> the parameter that names it
    if p.target:
        required[p.target] = "target"
    ignored = column_roles.names_matching_patterns(part.columns, p.ignore, part.name, "ignore")
    ignored = [name for name in ignored if name not in chosen.values()]
    names = [name for name in part.columns if name not in ignored]
    mapping = column_roles.match(
        names, ("label", *DESCRIBING), chosen, part.name, required_columns=required
    )
    roles = mapping.resolve()
    if "label" not in roles:
        usual = ", ".join(column_roles.SYNONYMS["label"])
        inventory = column_roles.listed(map(repr, names), MOST)
        hint = "; set target=NAME"
        if column_roles.like_data(part.columns):
            hint = f"; {column_roles.NO_HEADER}: target=1"
        raise InputError(
            f"{part.name}: no column for the target ({usual}); it has {inventory}{hint}"
        )
    features = [name for name in names if name not in roles.values()]
    if not features:
        besides = column_roles.listed(map(repr, [*roles.values(), *ignored]), MOST)
        raise InputError(f"{part.name}: must have a column besides {besides}: there is no feature")
    repeats = [name for name in features if name in column_roles.SYNONYMS["repeat"]]
    if repeats and {"fold", "id"} <= roles.keys():
        # the folds were drawn several times, and each row would count as often
        raise column_roles.refused(part.name, "repeated_features", column=repeats[0])
    selected = column_roles.names_matching_patterns(features, p.selected, part.name, "selected")
    if p.selected and len(selected) == len(features):
        raise ParameterError(
            f"selected must not name every feature, got all {len(selected)} features"
        )
    for name in p.categorical:
        column_roles.require_column(features, name, f"{part.name} as a feature", "categorical")
    return _FeatureColumns(features, selected, roles, ignored)


def _typed(texts: np.ndarray, name: str, locate: Locate, *, text: bool) -> pd.Series:
    """A feature: doubles if every cell is a number or empty, else texts, with NaN for empty cells.

    text: True if the cells are texts in any case. Raises InputError for an infinite number.
    """
    import pandas as pd

    column = pd.Series(texts, dtype=object)
    values = pd.to_numeric(column, errors="coerce").astype(np.float64)
    is_missing = column.str.lower().isin(MISSING) | column.isna()
    if text or values.isna().all() or not (values.notna() | is_missing).all():
        return column.where(column.notna(), np.nan)
    infinite = np.isinf(values).to_numpy()
    if infinite.any():
        row = int(infinite.argmax())
        raise FEATURE.located_error(locate, name, row, str(column[row]))
    return values


def _target(text: Coded, name: str, kind: str | None, locate: Locate) -> Target:
    """The numbers and names of classes, or real numbers, as `kind` says; if it is None, as the
    values say. name: that of the column.

    Raises InputError for an empty cell, or a number that is not finite.
    """
    import pandas as pd

    is_empty = np.array([cell.lower() in MISSING for cell in text.names])[text.code]
    if is_empty.any():
        row = int(is_empty.argmax())
        raise rules.PRESENT.located_error(locate, name, row, repr(text.names[text.code[row]]))
    distinct = pd.to_numeric(pd.Series(text.names, dtype=object), errors="coerce")
    values = distinct.to_numpy(np.float64)[text.code]
    if kind == CLASSES or (kind is None and np.isnan(values).any()):
        return _numbered(text.code, text.names)
    for rule in rules.MEASURED:
        wrong = np.flatnonzero(rule.breaks(values))
        if wrong.size:
            row = int(wrong[0])
            # a text that is no number is NaN as a value
            got = repr(text.names[text.code[row]]) if rule is rules.FINITE else exact(values[row])
            raise rule.located_error(locate, name, row, got)
    return _classes(values, kind)


def _classes(values: Floats, kind: str | None) -> Target:
    """The numbers as classes, or as they are; if `kind` is None, few whole numbers are classes.
    Raises InputError if all are equal.
    """
    distinct = np.unique(values)
    are_classes = kind == CLASSES
    if kind is None:
        are_classes = distinct.size <= FEW_VALUES and bool((distinct == np.round(distinct)).all())
    if are_classes:
        return _numbered(np.searchsorted(distinct, values), list(map(exact, distinct)))
    if distinct.size < 2:
        raise InputError(f"label must have 2 or more values, got only {exact(distinct[0])}")
    return values, ()


def _numbered(code: Ints, names: Sequence[str]) -> Target:
    """The numbers of classes and their names. Raises InputError for a single class."""
    if len(names) < 2:
        raise InputError(f"label must have 2 or more classes, got only {names[0]!r}")
    return code, tuple(names)


# Of both


def _examples(
    rows: aligned.Aligned | CheckedTable,
    text: Mapping[str, Coded],
    target: Target,
    columns: Mapping[str, str],
    **fields: Any,
) -> Examples:
    """The examples of rows. text: role -> its texts, of those that the table has. target: the
    label. columns: role -> column. fields: the other fields of `Examples`.
    """
    time, dated = _times(text.get("time"), columns.get("time", ""), rows.locate)
    fields |= {role: text.get(role) for role in ("group", "fold", "repeat")}
    label, classes = target
    return Examples(
        label,
        classes,
        time=time,
        dated=dated,
        columns=columns,
        sources=rows.sources,
        **fields,
    )


def _times(text: Coded | None, name: str, locate: Locate) -> tuple[Floats | None, bool]:
    """Times as numbers and False, or dates as days since 1970 and True; None without a column.

    name: that of the column. Raises InputError for a text that is no ISO date, if not all are
    numbers, and for a date that is a placeholder, such as 9999-12-31.
    """
    if text is None:
        return None, False
    import pandas as pd

    distinct = pd.Series(text.names, dtype=object)
    values = pd.to_numeric(distinct, errors="coerce").to_numpy(np.float64)
    if np.isfinite(values).all():
        return values[text.code], False
    dates = pd.to_datetime(distinct, errors="coerce", format="ISO8601", utc=True)
    year = distinct.str.extract(r"^\s*(-?\d{4})\D", expand=False).astype(float)
    first, last = YEARS
    is_placeholder = year.notna() & ~year.between(first, last)
    for rule, is_wrong in ((DATE, is_placeholder), (TIME, dates.isna())):
        if is_wrong.any():
            row = int(is_wrong.to_numpy()[text.code].argmax())
            raise rule.located_error(locate, name, row, repr(text.names[text.code[row]]))
    seconds = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy()
    return (seconds / 86400)[text.code], True
