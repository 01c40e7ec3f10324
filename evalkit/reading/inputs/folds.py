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
from evalkit.limits import USUAL, Reading
from evalkit.numbers import exact
from evalkit.parameters import reports
from evalkit.reading.engines import backends
from evalkit.reading.inputs import aligned, outcomes, split_names
from evalkit.reading.matching import column_names
from evalkit.reading.matching.proposal import Predictions, validation
from evalkit.reading.matching.samples import SampledTable
from evalkit.reading.tables import columns as roles_of, duck, rules, table as tables
from evalkit.reading.tables.parts import InputPart, Source
from evalkit.reading.tables.rules import ColumnRule, Field, Precision, RoleColumn
from evalkit.reading.tables.table import CheckedTable, Coded, Ids

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("id", "group", "time", "fold")
SHARED = ("system", "group", "time", "fold", "repeat", "label")  # roles of a row that all share
NEEDED = ("label", "score", "fold")
ROLES = (*SIDES, "system", "label", "score", "repeat")
NUMBER, CLASSES = "number", "classes"
MISSING = ("nan", "na", "")  # words for no value, in small letters
Target = tuple[np.ndarray, tuple[str, ...]]  # numbers and (), or numbers of classes and their names
Locate = Callable[
    [int], tuple[InputPart, int]
]  # the part that a row came from, and its number there, from 1
FEATURE = ColumnRule("hold finite numbers or nothing")
FORECAST = "set task='number' for a forecast"
TWO = ColumnRule("hold two classes, or numbers that the score forecasts", FORECAST)
# what a name says that is no fold
TRAINING, TEST, DEVELOPMENT, YES_NO = (
    "training",
    "test",
    "development",
    "yes_no",
)
MOST = 10  # columns that an error names
FEW_VALUES = 20  # a numeric target with no more whole values than this is read as classes
DRAWN = 0.05  # of the ids: a fold that tests fewer is no random holdout, but part of one split
YEARS = (1678, 2261)  # whose dates pandas holds to the nanosecond; 0001 and 9999 are placeholders
DATE = ColumnRule(f"hold dates of the years {YEARS[0]} to {YEARS[1]}, not placeholders")
TIME = ColumnRule("hold numbers or ISO dates as times")


@dataclass(frozen=True)
class Exclusion:
    """Rows, columns or folds that were read but not used: the reason, how many of how many, and
    their names.
    """

    kind: kinds.Kind
    count: int
    names: tuple[str, ...] = ()
    of: int | None = None


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled rows with their other columns. label: class numbers into `classes`, or real numbers.

    features: one row each, or None. candidates: if the features were selected by using the label,
    all columns to select from. score: system -> its out-of-fold scores. time: numbers; dates as
    days since 1970. exclusions: rows and columns that were read and not used, and why. repeat: the
    number of the draw of the folds, if ids repeat. precision: system -> the type in which its
    scores were stored. place: the index of each row among those read; None if all are kept.
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
        return (rows if self.place is None else self.place[rows]) + 1

    @cached_property
    def repeats(self) -> int:
        """The number of repeats of the folds, 1 without a column of repeats."""
        return 1 if self.repeat is None else len(self.repeat.names)

    @property
    def ids_keep_facts(self) -> bool:
        """True if all rows of an id have the same label, group and time."""
        if self.id is None:
            return True
        sides = (self.label, self.group_number, self.time)
        return all(_agree(self.id.code, side) for side in sides if side is not None)

    @cached_property
    def has_resampled_folds(self) -> bool:
        """True if each fold was drawn anew from the same ids: random holdouts, bootstrap samples,
        pairs left out, or k folds drawn again under other names.

        Folds of one split have no id in common but by mistake. Folds drawn anew have most of their
        ids in common, or as many as chance gives if each tests at least `DRAWN` of the ids (Lincoln
        and Petersen's estimate of their number). A row that was drawn again keeps its label, group
        and time.
        """
        if self.id is None or self.fold is None or self.repeats > 1 or self.features is not None:
            return False
        times = np.bincount(self.id.code)
        meetings = int((times * (times - 1)).sum())
        if not meetings or TRAINING in map(set_of, self.fold.names):
            return False
        if not self.ids_keep_facts:
            return False
        size = np.bincount(self.fold.code)
        ids = (len(self) ** 2 - int((size**2).sum())) / meetings
        most_again = 2 * np.count_nonzero(times > 1) >= np.count_nonzero(times)
        return bool(most_again or size.mean() <= 2 or size.mean() >= DRAWN * ids)

    @property
    def ids_again(self) -> bool:
        """True if ids have several rows because the folds were drawn several times."""
        return self.repeats > 1 or self.has_resampled_folds

    @property
    def group_number(self) -> Ints | None:
        """The group of each row as a number."""
        return None if self.group is None else self.group.code

    @property
    def unit(self) -> str | None:
        """The noun of the unit that varies: the group, else the id whose rows are repeated, else
        None.
        """
        return "group" if self.group is not None else "id" if self.ids_again else None

    def units_named(self, rows: Ints) -> Any:
        """The names of the units of these rows, as Arrow text: the groups, else the ids."""
        import pyarrow as pa

        return (
            self.named(rows)
            if self.group is None
            else pa.array(self.group.names).take(self.group.code[rows])
        )

    def unit_of(self, rows: Ints) -> Ints | None:
        """The number of each row's unit, in the order of the names; None without units."""
        of = self.group if self.group is not None else self.id if self.ids_again else None
        return None if of is None else of.code if len(rows) == len(self) else of.code[rows]

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
        return (
            "forecasts" if not self.classes else "counts" if len(self.classes) == 2 else "classes"
        )

    @property
    def lacks(self) -> dict[str, str]:
        """What metrics may need and the input lacks, as text."""
        sure = all(map(outcomes.are_probabilities, self.score.values()))
        lacks = {
            "columns": "the column {0!r}, which this report does not read",
            "scores of units": "folds that name units",
        }
        return lacks if sure else lacks | {"probabilities": "scores of 0 to 1, which these are not"}

    def __len__(self) -> int:
        return self.label.size

    def take(self, rows: Ints, rest: Exclusion) -> Examples:
        """The rows `rows`; the rest is recorded as left out."""
        every = {
            name: getattr(self, name)
            for name in ("label", "repeat", "features", "candidates", *SIDES)
        }
        sides = {name: side.take(rows) for name, side in every.items() if side is not None}
        for name in {"features", "candidates"} & sides.keys():
            sides[name] = sides[name].reset_index(drop=True)
        score = {name: values[rows] for name, values in self.score.items()}
        place = rows if self.place is None else self.place[rows]
        return replace(self, score=score, place=place, exclusions=(*self.exclusions, rest), **sides)

    def sample(self, most: int, seed: int) -> Examples:
        """At most `most` rows, drawn at random and kept in their order."""
        if len(self) <= most:
            return self
        rows = np.sort(np.random.default_rng([seed, 9]).permutation(len(self))[:most])
        return self.take(rows, Exclusion(kinds.SAMPLED_ROWS, len(self) - most, of=len(self)))


# Out-of-fold predictions


def predictions(
    parts: Sequence[InputPart], p: reports.ValidationParameters, reading: Reading = USUAL.reading
) -> Examples:
    """Rows of label, score and fold, with id, group, time and system if there are such columns.

    Raises InputError for more rows than can be held in memory, a missing column, or invalid values.
    """
    _refuse_too_long(parts, p, reading)
    rows = aligned.read(parts, layouts_of(parts, p.columns))
    examples = _examples(
        rows,
        rows.shared_values,
        _classes(rows.shared_values["label"], p.task),
        rows.columns,
        id=Ids(tables.one_array(rows.id)) if "id" in rows.columns else None,
        score=rows.predictions_of("score"),
        exclusions=(Exclusion(kinds.UNMATCHED_ROWS, rows.alone),) if rows.alone else (),
        read=rows.read,
        precision={name: own["score"] for name, own in rows.precision.items()},
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
    if len(examples) > USUAL.reading.rows:
        duck.release()
    return _without_copies(_without_development(examples))


def _refuse_too_long(
    parts: Sequence[InputPart], p: reports.ValidationParameters, reading: Reading
) -> None:
    """Raise InputError for more rows than can be held in memory."""
    held = replace(reading, rows=reading.held)
    with backends.needed(parts, backends.budget_of(p, held)) as engine:
        if engine:
            rows = backends.rows_of(engine, parts)
            raise InputError(roles_of.sentence("too_long", rows=rows, most=held.rows))


def _third_class(rows: aligned.Aligned, examples: Examples) -> InputError:
    """The error for a label of more than two classes, at the first row of the rarest."""
    count = np.bincount(examples.label)
    rare = len(count) - 1 - int(count[::-1].argmin())
    row = int((examples.label == rare).argmax())
    got = f"{examples.classes[rare]!r} as one of {len(count)}"
    return TWO.of(rows.locate, rows.columns["label"], row, got)


def layouts_of(parts: Sequence[InputPart], chosen: Mapping[str, str]) -> list[aligned.ColumnLayout]:
    """The columns of each part by role. Raises InputError for parts with different columns."""
    layouts = [_layout_of(part, chosen) for part in parts]
    aligned.refuse_other_columns(parts, layouts)
    return layouts


def _layout_of(part: InputPart, chosen: Mapping[str, str]) -> aligned.ColumnLayout:
    """The columns of a part of predictions by role. Raises one InputError for all that are missing
    or ambiguous.
    """
    roles = ("system", "label", "score", *SIDES, "repeat")
    mapping = roles_of.match(part.columns, roles, chosen, part.name)
    predictions: Predictions = {None: {"score": mapping.columns.get("score", "")}}
    proposal = validation(SampledTable.of(part, chosen)) if mapping.missing_roles(NEEDED) else None
    if proposal is not None and proposal.is_complete:
        columns = dict(proposal.columns)
        predictions = proposal.predictions
    else:
        columns = mapping.resolve(NEEDED)
        usual_ids = SampledTable.of(part, chosen).named("id")
        if "id" not in columns and len(usual_ids) == 1:
            columns["id"] = usual_ids[0].name
    if "repeat" in columns and "id" not in columns:
        raise roles_of.refused(part.name, "repeats", column=columns["repeat"])
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
        RoleColumn("score", Field(own["score"], rules.MEASURED), i)
        for i, own in enumerate(predictions.values())
    ]
    systems = tuple(name for name in predictions if name is not None)
    within = tuple(role for role in ("fold", "repeat") if role in columns and is_paired)
    return aligned.ColumnLayout((*shared, *scores), systems, within)


def _refuse_unnamed_repeat(part: InputPart, id: Ids) -> None:
    """Raise InputError if every id has several rows, and a column of another name seems to count
    the repeats.
    """
    names = [
        name
        for name in part.columns
        if column_names.comparable(name) in column_names.USES["drawn_again"]
    ]
    if names and np.bincount(id.code).min() > 1:
        raise roles_of.refused(part.name, "unnamed_repeats", column=names[0])


def _with_named_repeats(rows: aligned.Aligned, e: Examples) -> Examples:
    """The examples with the repeats that the names of folds tell, such as Fold1.Rep1.

    Raises InputError if such names have no ids beside them, or an id changes its label.
    """
    if e.fold is None or e.repeat is not None:
        return e
    split = split_names.named_holdouts(e.fold)
    in_words = split_names.name_repeats(e.fold.names)
    if e.id is None:
        if split or in_words:
            raise roles_of.refused(
                rows.table.blocks[0].part.name, "repeats", column=rows.columns["fold"]
            )
        return e
    if split is None:
        split = split_names.named_repeats(e.fold, e.id.code)
        if split is None or not (in_words or e.ids_keep_facts):
            return e
    named = replace(e, fold=split.fold, repeat=split.repeat)
    _repeats_agree(rows, named)
    return named


def _agree(id: Ints, values: np.ndarray) -> bool:
    """True if all rows of an id have the same value."""
    order = np.argsort(id, kind="stable")
    same = np.diff(id[order]) == 0
    return not (same & (values[order][1:] != values[order][:-1])).any()


def _repeats_agree(rows: aligned.Aligned, e: Examples) -> None:
    """Raise InputError if an id changes its label or group between repeats."""
    assert e.id is not None
    order = np.argsort(e.id.code, kind="stable")
    same = np.diff(e.id.code[order]) == 0
    shared = {"label": rows.shared_values["label"]} | (
        {} if e.group is None else {"group": e.group.texts}
    )
    for role, values in shared.items():
        odd = np.flatnonzero(same & (values[order][1:] != values[order][:-1]))
        if odd.size:
            row, before = int(order[odd[0] + 1]), int(order[odd[0]])
            raise aligned.disagreement(
                rows.place(row), rows.columns[role], e.id.name(row), values[before], values[row]
            )


def _refuse_again(rows: aligned.Aligned, id: Ids) -> None:
    """Raise InputError if an id occurs twice in one fold of one repeat."""
    key, within = id.code, [role for role in ("repeat", "fold") if role in rows.shared_values]
    for role in within:
        column = rows.shared_values[role]
        key = key * len(column.names) + column.code
    if (twice := tables.pair_rows(key, np.zeros_like(key), 1).repeated_row) is not None:
        again = f"id {id.name(twice)!r} must occur once per {' and '.join(within)}, got it again"
        hint = (
            ""
            if "repeat" in within
            else f"; for several rows per id set columns='group={rows.columns['id']}'"
        )
        raise InputError(f"{rows.place(twice)}: {again}{hint}")


def set_of(name: str) -> str:
    """The set of rows (test, development) that a name in a column of folds means; "" if it is a
    fold.

    >>> set_of("out-of-sample"), set_of("Dev"), set_of("3")
    ('test', 'development', '')
    """
    return column_names.SETS.get("".join(filter(str.isalnum, name.lower())), "")


def _without_development(e: Examples) -> Examples:
    """The rows without those of a validation set, where there are training and test rows beside
    it.
    """
    assert e.fold is not None
    sets = np.array([set_of(name) for name in e.fold.names])
    if {*sets.tolist()} != {TRAINING, TEST, DEVELOPMENT}:
        return e
    aside = (sets == DEVELOPMENT)[e.fold.code]
    rest = Exclusion(kinds.SET_ASIDE, int(aside.sum()), e.fold.take(aside).names)
    return e.take(np.flatnonzero(~aside), rest)


def _without_copies(e: Examples) -> Examples:
    """The rows without splits that test the same ids as another one, with the same scores.

    A split is a repeat of all folds, or a fold of its own if no column names repeats. Copies say
    nothing new, and would narrow every interval. Raises InputError if only one fold is left.
    """
    if e.id is None or e.fold is None or np.bincount(e.id.code).max() < 2:
        return e
    split, fold = e.fold, e.fold.code
    if e.repeat is not None:
        split = e.repeat
        fold = split.code * len(e.fold.names) + fold
    # names of folds say nothing: the first id of a fold does
    first_id = np.full(int(fold.max()) + 1, len(e))
    np.minimum.at(first_id, fold, e.id.code)
    facts = np.column_stack([first_id[fold], e.id.code, *e.score.values()])
    order = np.lexsort((e.id.code, split.code))
    ends = np.cumsum(np.bincount(split.code, minlength=len(split.names)))
    numbers: dict[bytes, list[int]] = {}
    for number, rows in enumerate(np.split(order, ends[:-1])):
        numbers.setdefault(facts[rows].tobytes(), []).append(number)
    copies = sorted(number for alike in numbers.values() for number in alike[1:])
    if not copies:
        return e
    if split is e.fold and len(copies) + 1 == len(split.names):
        raise InputError(
            f"folds must test different ids or have different scores, got {len(split.names)} "
            f"copies of one: {roles_of.listed(map(repr, split.names), MOST)}"
        )
    copied = np.isin(split.code, copies)
    names = tuple(split.names[number] for number in copies)
    return e.take(np.flatnonzero(~copied), Exclusion(kinds.COPIED_SPLITS, int(copied.sum()), names))


# Features and a target


@dataclass(frozen=True)
class _FeatureColumns:
    """What the columns of one part are: features, those of them that were selected, roles ->
    column, and the ignored.

    Columns that were selected: where a look at the label chose them.
    """

    features: list[str]
    selected: list[str]
    roles: dict[str, str]
    ignored: list[str]

    @property
    def fields(self) -> dict[str, Field]:
        text = {
            role: Field(name, rules.TEXT if role == "id" else rules.NAME)
            for role, name in self.roles.items()
        }
        return text | {f"feature {name}": Field(name, rules.ANY) for name in self.features}


def table(parts: Sequence[InputPart], p: reports.ValidationParameters) -> Examples:
    """Features and a target, sampled if there are many rows.

    A column whose values are all numbers is numeric, else text. Empty cells are missing. Columns
    named id, group, time or fold, or given as such, are not features. Raises InputError for a
    missing target, or invalid values.
    """
    import pandas as pd

    columns = columns_of(parts, p)
    rows, own = tables.read(parts, [each.fields for each in columns]), columns[0]
    text = {role: rows.coded(role) for role in own.roles}
    if p.gap is not None and "time" not in text:
        raise ParameterError("gap: needs a time column; set columns='time=NAME'")
    every = ((name, rows.texts(f"feature {name}"), name in p.categorical) for name in own.features)
    features = pd.DataFrame(
        {name: _typed(texts, name, rows.locate, text=codes) for name, texts, codes in every}
    )
    e = _examples(
        rows,
        text,
        _target(text["label"], own.roles["label"], p.task, rows.locate),
        own.roles,
        id=Ids(tables.one_array(rows.chunks("id"))) if "id" in text else None,
        features=features[own.selected] if own.selected else features,
        candidates=features if own.selected else None,
        exclusions=(Exclusion(kinds.UNUSED_COLUMNS, len(own.ignored), tuple(own.ignored)),)
        if own.ignored
        else (),
        read=len(rows),
    )
    return e.sample(p.most_rows, p.seed)


def columns_of(
    parts: Sequence[InputPart], p: reports.ValidationParameters
) -> list[_FeatureColumns]:
    """The columns of each part. Raises InputError for a part without target or features, or with
    other columns.
    """
    if p.target is not None and (label := p.columns.get("label", p.target)) != p.target:
        raise ParameterError(
            f"target and columns: must name one column, got {p.target!r} and {label!r}"
        )
    columns = [_columns(part, p) for part in parts]
    tables.refuse_missing_columns(parts, [own.fields for own in columns])
    return columns


def _columns(part: InputPart, p: reports.ValidationParameters) -> _FeatureColumns:
    """The columns of one part; raises InputError if it has no target or no feature."""
    chosen = dict(p.columns)
    if p.target is not None:
        chosen["label"] = p.target
    named = dict.fromkeys(p.categorical, "categorical") | ({p.target: "target"} if p.target else {})
    ignored = roles_of.matching(part.columns, p.ignore, part.name, "ignore")
    ignored = [name for name in ignored if name not in chosen.values()]
    seen = [name for name in part.columns if name not in ignored]
    roles = roles_of.match(
        seen, ("label", *SIDES), chosen, part.name, required_columns=named
    ).resolve()
    if "label" not in roles:
        usual, has = ", ".join(roles_of.SYNONYMS["label"]), roles_of.listed(map(repr, seen), MOST)
        hint = (
            f"; {roles_of.NO_HEADER}: target=1"
            if roles_of.like_data(part.columns)
            else "; set target=NAME"
        )
        raise InputError(f"{part.name}: no column for the target ({usual}); it has {has}{hint}")
    features = [name for name in seen if name not in roles.values()]
    if not features:
        besides = roles_of.listed(map(repr, [*roles.values(), *ignored]), MOST)
        raise InputError(f"{part.name}: must have a column besides {besides}: there is no feature")
    repeats = [name for name in features if name in roles_of.SYNONYMS["repeat"]]
    if repeats and {"fold", "id"} <= set(
        roles
    ):  # the folds were drawn several times: each row would count as often
        raise roles_of.refused(part.name, "repeated_features", column=repeats[0])
    selected = roles_of.matching(features, p.selected, part.name, "selected")
    if p.selected and len(selected) == len(features):
        raise ParameterError(
            f"selected must not name every feature, got all {len(selected)} features"
        )
    for name in p.categorical:
        roles_of.require(features, name, f"{part.name} as a feature", "categorical")
    return _FeatureColumns(features, selected, roles, ignored)


def _typed(texts: np.ndarray, name: str, locate: Locate, *, text: bool) -> pd.Series:
    """A feature: doubles where every value is a number and no text is wanted, else text with
    missing values.
    """
    import pandas as pd

    column = pd.Series(texts, dtype=object)
    values = pd.to_numeric(column, errors="coerce").astype(np.float64)
    words = column.str.lower().isin(MISSING) | column.isna()
    if text or values.isna().all() or not (values.notna() | words).all():
        return column.where(column.notna(), np.nan)
    infinite = np.isinf(values).to_numpy()
    if infinite.any():
        row = int(infinite.argmax())
        raise FEATURE.of(locate, name, row, str(column[row]))
    return values


def _target(text: Coded, name: str, kind: str | None, locate: Locate) -> Target:
    """Class numbers and names, or real numbers; which of the two is said by `kind` or by the
    values.
    """
    import pandas as pd

    empty = np.array([cell.lower() in MISSING for cell in text.names])[text.code]
    if empty.any():
        row = int(empty.argmax())
        raise rules.PRESENT.of(locate, name, row, repr(text.names[text.code[row]]))
    values = pd.to_numeric(pd.Series(text.names, dtype=object), errors="coerce").to_numpy(
        np.float64
    )[text.code]
    if kind == NUMBER or (kind is None and not np.isnan(values).any()):
        for rule in rules.MEASURED:
            wrong = np.flatnonzero(rule.breaks(values))
            if wrong.size:
                got = (
                    repr(text.names[text.code[wrong[0]]])
                    if rule is rules.FINITE
                    else exact(values[wrong[0]])
                )
                raise rule.of(locate, name, int(wrong[0]), got)
        return _classes(values, kind)
    return _numbered(text.code, text.names)


def _classes(values: Floats, kind: str | None) -> Target:
    distinct = np.unique(values)
    few = distinct.size <= FEW_VALUES and bool((distinct == np.round(distinct)).all())
    if kind == NUMBER or (kind is None and not few):
        if distinct.size < 2:
            raise InputError(f"label must have 2 or more values, got only {exact(distinct[0])}")
        return values, ()
    return _numbered(np.searchsorted(distinct, values), [*map(exact, distinct)])


def _numbered(code: Ints, names: Sequence[str]) -> Target:
    """Class numbers and the names of the classes."""
    if len(names) < 2:
        raise InputError(f"label must have 2 or more classes, got only {names[0]!r}")
    return code, tuple(names)


# Of both


def _examples(
    rows: aligned.Aligned | CheckedTable,
    text: Mapping[str, Coded],
    target: Target,
    columns: Mapping[str, str],
    **own: Any,
) -> Examples:
    """The examples of rows with these columns of text; target: of each row, and the names of the
    classes.
    """
    time, dated = _times(text.get("time"), columns.get("time", ""), rows.locate)
    own |= {role: text.get(role) for role in ("group", "fold", "repeat")}
    return Examples(*target, time=time, dated=dated, columns=columns, sources=rows.sources, **own)


def _times(text: Coded | None, name: str, locate: Locate) -> tuple[Floats | None, bool]:
    """Times as numbers, and whether they were dates: then in days since 1970.

    Raises InputError for the first text that is no date where not all are numbers.
    """
    if text is None:
        return None, False
    import pandas as pd

    row, distinct = text.code, pd.Series(text.names, dtype=object)
    values = pd.to_numeric(distinct, errors="coerce").to_numpy(np.float64)
    if np.isfinite(values).all():
        return values[row], False
    dates = pd.to_datetime(distinct, errors="coerce", format="ISO8601", utc=True)
    readable, (first, last) = dates.notna(), YEARS
    year = distinct.str.extract(r"^\s*(-?\d{4})\D", expand=False).astype(float)
    placeholder = year.notna() & ~year.between(first, last)
    for rule, wrong in ((DATE, placeholder), (TIME, ~readable)):
        if wrong.any():
            odd = int(wrong.to_numpy()[row].argmax())
            raise rule.of(locate, name, odd, repr(text.names[row[odd]]))
    return ((dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy() / 86400)[row], True
