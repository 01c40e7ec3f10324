"""The kinds of parameters: how each reads and checks one value, wherever it comes from, and how it
describes itself.

The command line of papermill passes lists as text ("1,5,10"), `evalkit report` passes typed values,
JupyterLab those of the cell. The readers accept all three and refuse everything else with one line.
"""

import difflib
import glob
import math
import re
from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsFloat, TypeAlias, TypeVar

from evalkit.arrays import InputError, ParameterError
from evalkit.numbers import cut

if TYPE_CHECKING:
    import yaml

Key = TypeVar("Key")
Value = TypeVar("Value")

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
MOST = 10  # unknown names that a message lists
LEADING_ZERO = re.compile(r"[-+]?0\d.*")
UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


# Names --------------------------------------------------------------------------------------------


def refuse_unknown(names: Iterable[str], known_names: Iterable[str], advice: str = "") -> None:
    """Raise ParameterError for names that are not parameters of the notebook, with the list of
    those that are. advice: ends the message.

    >>> refuse_unknown(["pred"], ["preds"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: unknown parameter 'pred' (did you mean 'preds'?); ... has: preds
    """
    parameters = list(known_names)
    unknown = [name for name in names if name not in parameters]
    if not unknown:
        return
    plural = "s" if len(unknown) > 1 else ""
    quoted = [f"{name!r}{did_you_mean(name, parameters)}" for name in unknown[:MOST]]
    count = ""
    if len(unknown) > MOST:
        count = f" and {len(unknown) - MOST:,} more"
    listed_parameters = ", ".join(parameters) or "no parameters"
    raise ParameterError(
        f"unknown parameter{plural} {', '.join(quoted)}{count}; this notebook has: "
        f"{listed_parameters}{advice}"
    )


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """ " (did you mean 'x'?)" for the known name closest to `name`, or nothing if none is close."""
    closest = difflib.get_close_matches(name, list(known_names), n=1)
    return f" (did you mean {closest[0]!r}?)" if closest else ""


def _repeated(names: Sequence[str]) -> str | None:
    """The first name that stands a second time; None if all are distinct.

    >>> _repeated(["a", "b", "a"])
    'a'
    """
    met = set[str]()
    for name in names:
        if name in met:
            return name
        met.add(name)
    return None


class SeveralMeanings(ParameterError):
    """A name of several metrics. definitions: what each of these is, by a name that is its alone.
    hint: how to have another one, as the end of the message. values: what follows each definition,
    by the same names; None: nothing.
    """

    def __init__(
        self,
        name: str,
        definitions: Mapping[str, str],
        hint: str = "",
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.definitions = definitions
        self.hint = hint
        meanings = []
        for label, definition in definitions.items():
            value = values.get(label, "") if values else ""
            meanings.append(f"{label} ({definition}){value}")
        super().__init__(
            f"metrics: {name!r} has several meanings, choose one: {'; '.join(meanings)}{hint}"
        )

    def with_values(self, study_of: Callable[[tuple[str, ...]], Any]) -> "SeveralMeanings":
        """The same refusal with the value of each metric for each system, if they can be computed.

        study_of: the study of the input with the metrics of these names.
        """
        values = {}
        try:
            study = study_of(tuple(self.definitions))
            for chosen in study.settings.metrics:
                by_system = []
                for system in study.systems[:MOST]:
                    estimate = study.estimate(chosen, system)
                    by_system.append(f"{estimate.value:.4g} ({system})")
                values[chosen.label] = f" = {', '.join(by_system)}"
        except InputError:
            return self
        return SeveralMeanings(self.name, self.definitions, self.hint, values)


# Text that stands for a value ---------------------------------------------------------------------


def value_of(text: str) -> Any:
    """Return text as the list or mapping (YAML, one line), number, truth value or None that it
    stands for; any other text as it is.

    >>> value_of("[1, a]"), value_of("1e3"), value_of("True"), value_of("007")
    ([1, 'a'], 1000.0, True, '007')
    """
    if text[:1] in ("[", "{", "'", '"'):
        return _yaml(text)
    if text in WORDS:
        return WORDS[text]
    # An id such as 007 must stay text: it is not the id 7. So must 1_000, 12:30 and dates, which
    # YAML 1.1 converts.
    if LEADING_ZERO.fullmatch(text) or not NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _yaml(text: str) -> Any:
    """A YAML list or mapping with plain scalars read by `value_of`; text that is not YAML is
    returned unchanged.
    """
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise ParameterError(
                f"a list must be written out, without YAML's & and *, got {_in_one_line(text)}"
            )
        return _from_node(node)
    except yaml.YAMLError:
        return text
    except RecursionError:
        raise ParameterError(
            f"a list must not be nested so deeply, got {_in_one_line(text)}"
        ) from None


def _in_one_line(value: object) -> str:
    """Python's text of a value, in one line of at most 80 characters."""
    return cut(" ".join(repr(value).split()))


def _from_node(node: "yaml.Node") -> Any:
    """The value of a node of YAML: a list, a mapping by text, or a scalar, which is text if it
    stands in quotes. Raises ParameterError for a mapping with a name twice.
    """
    if node.id == "sequence":
        return [_from_node(child) for child in node.value]
    if node.id == "mapping":
        keys = [str(_from_node(key)) for key, _ in node.value]
        repeated = _repeated(keys)
        if repeated is not None:
            raise ParameterError(f"a mapping must have each name once, got {repeated!r} twice")
        children = [_from_node(child) for _, child in node.value]
        return dict(zip(keys, children, strict=True))
    is_quoted = node.style is not None
    return node.value if is_quoted else value_of(node.value)


# One value of each kind ---------------------------------------------------------------------------


def text(name: str, value: object) -> str | None:
    """One text, None if none is given; a number becomes its text. The text None must be quoted.

    >>> text("baseline", 7), text("baseline", "None"), text("baseline", "'None'")
    ('7', None, 'None')
    """
    if isinstance(value, str) and value == _quoted("None"):
        return "None"
    if _is_nothing(value):
        return None
    if isinstance(value, bool) or not isinstance(value, str | Real):
        raise ParameterError(f"{name} must be one text, got {_in_one_line(value)}")
    return str(value)


def _is_nothing(value: object) -> bool:
    """True for None, also as a command line writes it: the text None."""
    return value is None or (isinstance(value, str) and value == "None")


def texts(name: str, value: object) -> list[str]:
    """A list of texts from a list, "a,b" or "[a, b]"; empty for None.

    >>> texts("metrics", "ndcg@10, map")
    ['ndcg@10', 'map']
    """
    items = [text(name, item) for item in _items(value)]
    if None in items or "" in items:
        raise ParameterError(f"{name} must be texts separated by commas, got {value!r}")
    return [item for item in items if item]


def metrics(name: str, value: object) -> "ReadMetrics":
    """The names of metrics as from `texts`; own metrics, which are not text, are returned
    unchanged.

    >>> metrics("metrics", "roc_auc, f1"), metrics("metrics", ["roc_auc", len])
    (('roc_auc', 'f1'), ('roc_auc', <built-in function len>))
    """
    if _is_text(value):
        return tuple(texts(name, value))
    chosen: list[object] = []
    for item in _list_of_items(value):
        if _is_text(item):
            chosen += texts(name, [item])
        else:
            chosen.append(item)
    return tuple(chosen)


def _is_text(value: object) -> bool:
    """True for what `texts` reads as names: text, a number or None."""
    return value is None or isinstance(value, str | int | float)


def split_paths(name: str, value: object) -> Any:
    """Return several paths in one text, "[a.run, b.run]" or "a.run,b.run", as a list; any other
    value, such as a frame, unchanged.

    A text is one path, even with commas, if a file or folder has this name or fits this pattern, or
    if it stands in a list or a dict. Keys of dicts, which are names of columns or of systems,
    become text. name: the parameter, for errors.

    >>> split_paths("preds", "a.run, b.run"), split_paths("preds", {1: "a.run"})
    (['a.run', 'b.run'], {'1': 'a.run'})
    """
    if isinstance(value, Mapping):
        items = with_text_keys(name, value).items()
        return {key: _nested_paths(name, item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_nested_paths(name, item) for item in value]
    if not isinstance(value, str):  # a path, a frame or batches
        return value
    looks_like_list = value.startswith("[") or "," in value
    if looks_like_list and not _exists(value):
        return texts(name, value)
    return value


def _nested_paths(name: str, item: object) -> Any:
    """An item of a list or a dict as `split_paths` reads it: text stays one path."""
    return split_paths(name, item) if isinstance(item, Mapping) else item


def _exists(path: str) -> bool:
    """True for the path of a file or folder that exists, and for a pattern that matches one."""
    try:
        return Path(path).expanduser().exists() or next(glob.iglob(path), None) is not None
    except (OSError, ValueError):  # too long for a path, or with a null character
        return False


def integers(name: str, value: object, least: int = 1) -> list[int]:
    """A list of whole numbers from a list, one number, "1,5,10" or "[1, 5]"; empty for None.

    >>> integers("ks", "1,5,10")
    [1, 5, 10]
    >>> integers("ks", "x")
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: ks must be whole numbers of at least 1, got 'x'
    """
    numbers = [_number(item) for item in _items(value)]
    if not all(number.is_integer() and number >= least for number in numbers):
        raise ParameterError(f"{name} must be whole numbers of at least {least}, got {value!r}")
    return [int(number) for number in numbers]


def integer(name: str, value: object, least: int = 1) -> int | None:
    """One whole number, None if none is given.

    >>> integer("seed", "0", least=0)
    0
    """
    if _is_nothing(value):
        return None
    number = _number(value)
    if not (number.is_integer() and number >= least):
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(number)


def number(
    name: str, value: object, above: float = -math.inf, below: float = math.inf
) -> float | None:
    """One finite number strictly between `above` and `below`, None if none is given.

    >>> number("level", "0.95", above=0, below=1)
    0.95
    >>> number("level", 95, above=0, below=1)
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: level must be a number between 0 and 1, got 95
    """
    if _is_nothing(value):
        return None
    stated = _number(value)
    if above < stated < below:
        return stated
    raise ParameterError(f"{name} must be {number_words(above, below)}, got {_in_one_line(value)}")


def number_words(above: float, below: float) -> str:
    """Describe a number strictly between two bounds.

    >>> number_words(0, 1), number_words(0, math.inf)
    ('a number between 0 and 1', 'a number above 0')
    """
    if math.isfinite(above) and math.isfinite(below):
        return f"a number between {above:g} and {below:g}"
    if math.isfinite(above):
        return f"a number above {above:g}"
    return f"a number below {below:g}" if math.isfinite(below) else "a number"


def size(name: str, value: object, least: int) -> int | None:
    """Return a number of bytes from "1.5GB" or a number, None if none is given.

    >>> size("memory", "1.5GB", least=0), size("memory", "1GiB", least=0)
    (1500000000, 1073741824)
    """
    stated = text(name, value)
    if stated is None:
        return None
    parts = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([kmgt]?i?)b?", stated.strip().lower())
    size_in_bytes = -1
    if parts:
        size_in_bytes = int(float(parts[1]) * UNITS.get(parts[2], 0))
    if size_in_bytes < least:
        raise ParameterError(
            f"{name} must be a size of at least {least // 10**6}MB, such as 1GB, got {value!r}"
        )
    return size_in_bytes


def folder(name: str, value: object) -> Path | None:
    """Return the path of a folder that exists, None if none is given."""
    if _is_nothing(value):
        return None
    stated = value if isinstance(value, Path) else str(text(name, value))
    path = Path(stated).expanduser()
    if not str(value) or not path.is_dir():
        raise ParameterError(f"{name} must be a folder that exists, got {str(value)!r}")
    return path


def choice(name: str, value: object, allowed: Sequence[str]) -> str | None:
    """One of the allowed texts, None if none is given.

    >>> choice("gain", "exp", ["linear", "exponential"])
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: gain must be one of linear, exponential, got 'exp'
    """
    stated = text(name, value)
    if stated is None or stated in allowed:
        return stated
    hint = did_you_mean(stated, allowed)
    raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r}{hint}")


def yes_or_no(name: str, value: object) -> bool | None:
    """True for "yes" or true, False for "no" or false, None if nothing is given.

    >>> yes_or_no("units", "no"), yes_or_no("units", True), yes_or_no("units", None)
    (False, True, None)
    """
    if isinstance(value, bool):
        return value
    word = choice(name, value, ("yes", "no"))
    return None if word is None else word == "yes"


PAIR_FORMS = {"columns": "role=column", "pairs": "new=old", "shares": "arm=share"}


def texts_by_name(name: str, value: object) -> dict[str, str]:
    """Texts by name from a mapping, "query=qid,item=doc" or "{query: qid}"; empty for None.

    >>> texts_by_name("columns", "query=qid, item=doc")
    {'query': 'qid', 'item': 'doc'}
    """
    stated = value_of(value) if isinstance(value, str) else value
    if stated is None:
        return {}
    if isinstance(stated, str):
        pairs = [entry.partition("=") for entry in stated.split(",") if entry.strip()]
        repeated = _repeated([key.strip() for key, _, _ in pairs])
        if repeated is not None:
            raise ParameterError(f"{name} must name {repeated} once, got {value!r}")
        are_pairs = all(sign for _, sign, _ in pairs)
        if are_pairs:
            stated = {key.strip(): item.strip() for key, _, item in pairs}
    if isinstance(stated, Mapping):
        return {str(key): str(text(name, item)) for key, item in stated.items()}
    form = PAIR_FORMS.get(name, "name=text")
    raise ParameterError(f"{name} must be pairs {form},{form}, got {value!r}")


def written(names: str | Mapping[str, str] | Sequence[str]) -> str:
    """A name, names, or a name for each role, as text that a command line takes: `text`, `texts`
    and `texts_by_name` read the same from it. In the brackets of YAML only where it must be.

    >>> (
    ...     written({"value": "f1"}),
    ...     written({"value": "f 1, x"}),
    ...     written(["a", "b"]),
    ...     written(["a, b", "c"]),
    ... )
    ('value=f1', "{value: 'f 1, x'}", 'a, b', "['a, b', 'c']")
    """
    if isinstance(names, str):
        return _quoted(names) if _is_nothing(names) else names
    if isinstance(names, Mapping):
        plain = ",".join(f"{role}={name}" for role, name in names.items())
        entries = ", ".join(f"{role}: {_quoted(name)}" for role, name in names.items())
        return plain if _reads_as(texts_by_name, plain, names) else f"{{{entries}}}"
    plain = ", ".join(names)
    return plain if _reads_as(texts, plain, list(names)) else f"[{', '.join(map(_quoted, names))}]"


def _reads_as(read: Callable[[str, object], object], text: str, names: object) -> bool:
    """True if `read` makes exactly these names of a text."""
    try:
        return read("", text) == names
    except ParameterError:
        return False


def _quoted(name: str) -> str:
    """A text in YAML's single quotes."""
    return "'{}'".format(name.replace("'", "''"))


def _items(value: object) -> list[object]:
    """The items of a list or of text that is one; a single value is a list of one item, None an
    empty list.
    """
    stated = value_of(value) if isinstance(value, str) else value
    if stated is None:
        return []
    if isinstance(value, str) and not isinstance(stated, list):
        return [item.strip() for item in value.split(",")]
    return _list_of_items(stated)


def _list_of_items(value: object) -> list[object]:
    """The items of a list, a range, an array of numpy or a column or index of pandas; anything else
    alone.
    """
    items = value.tolist() if hasattr(value, "tolist") else value
    return list(items) if isinstance(items, list | tuple | range) else [value]


def _number(value: object) -> float:
    """The number that a value represents, otherwise NaN, which every reader refuses."""
    if isinstance(value, str):
        return float(value) if NUMBER.fullmatch(value.strip()) else math.nan
    is_array = bool(getattr(value, "ndim", 0))
    if isinstance(value, bool) or is_array or not isinstance(value, SupportsFloat):
        return math.nan
    return float(value)


# Decision rules for scores: `threshold` and `costs` -----------------------------------------------

FORMS = "a number, best_f1, cost:fp=1,fn=5, precision>=0.9, recall>=0.9 or specificity>=0.9"
LARGEST = 1e100  # exclusive upper bound of a cost


@dataclass(frozen=True)
class Costs:
    """The costs of a false positive and of a false negative."""

    fp: float = 1.0
    fn: float = 1.0

    def __str__(self) -> str:
        return f"false positive {self.fp:g}, false negative {self.fn:g}"

    @property
    def sentence(self) -> str:
        """The costs as a sentence."""
        return f"Costs: {self}."


class EqualCosts(Costs):
    """The default costs: 1 for a false positive and 1 for a false negative."""

    @property
    def sentence(self) -> str:
        """A sentence that both errors cost the same, and how to change that."""
        return (
            "No costs were set, so a false positive and a false negative cost the same; "
            "set costs to your own."
        )


@dataclass(frozen=True)
class Reach(ABC):
    """The threshold at which a metric reaches a target."""

    target: float
    metric: ClassVar[str]

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the rule that a text such as "recall>=0.9" states; None if it is another kind of
        rule.
        """
        stated = re.fullmatch(rf"{cls.metric}\s*>=\s*(0?\.\d+|1|1\.0)", text)
        return cls(float(stated[1])) if stated else None


class ReachPrecision(Reach):
    """The threshold at which precision reaches a target."""

    metric = "precision"


class ReachRecall(Reach):
    """The threshold at which recall reaches a target."""

    metric = "recall"


class ReachSpecificity(Reach):
    """The threshold at which specificity reaches a target."""

    metric = "specificity"


@dataclass(frozen=True)
class BestF1:
    """The threshold of the highest F1."""


# Costs: the threshold of least cost
Threshold = float | BestF1 | Costs | ReachPrecision | ReachRecall | ReachSpecificity


def costs(name: str, value: object) -> Costs | None:
    """Return the costs from "fp=1,fn=5" or a mapping, None if none are given.

    >>> costs("costs", "fp=1,fn=5")
    Costs(fp=1.0, fn=5.0)
    """
    pairs = texts_by_name(name, value)
    if not pairs:
        return None
    if set(pairs) != {"fp", "fn"}:
        raise ParameterError(f"{name} must name fp and fn, such as fp=1,fn=5, got {value!r}")
    amounts = {}
    for error, amount in pairs.items():
        amounts[error] = number(f"{name}: {error}", amount, above=0, below=LARGEST)
    return Costs(float(amounts["fp"] or 0), float(amounts["fn"] or 0))


def threshold(name: str, value: object) -> Threshold | None:
    """Return a threshold or the rule that chooses it, None if none is given.

    >>> (
    ...     threshold("threshold", "recall>=0.9"),
    ...     threshold("threshold", "cost:fp=1,fn=5"),
    ...     threshold("threshold", 0.3),
    ... )
    (ReachRecall(target=0.9), Costs(fp=1.0, fn=5.0), 0.3)
    """
    stated = text(name, value)
    if stated is None:
        return None
    rule = stated.strip()
    if NUMBER.fullmatch(rule):
        return number(name, rule)
    if rule == "best_f1":
        return BestF1()
    if rule.startswith("cost:") and (pair := costs(name, rule[5:])):
        return pair
    for form in (ReachPrecision, ReachRecall, ReachSpecificity):
        if reach := form.read(rule):
            return reach
    raise ParameterError(f"{name} must be {FORMS}, got {value!r}")


def with_text_keys(where: str, values: Mapping[Key, Value]) -> dict[str, Value]:
    """The values of a dict by its keys as text.

    where: the parameter, for errors. Raises ParameterError for a key without text, and for two keys
    with the same text.
    """
    by_text: dict[str, Value] = {}
    for key, value in values.items():
        name = str(key)
        if not name.strip() or "\0" in name:
            raise ParameterError(f"{where}: a name of the dict must not be blank, got {key!r}")
        if name in by_text:
            raise ParameterError(
                f"{where}: names of the dict must be distinct as text, got {name!r} twice"
            )
        by_text[name] = value
    return by_text


# Kinds, and what the arguments of `read` may be ---------------------------------------------------
# a path, folder, pattern, frame or batches, or several
Tables: TypeAlias = str | PathLike[str] | Sequence[Any] | Any
Names: TypeAlias = str | Sequence[str]  # "a,b" or a list
# names, and functions declared by ek.mean, ek.ratio, ek.share, ek.of_counts
Metrics: TypeAlias = str | Sequence[Any]
ReadMetrics: TypeAlias = tuple[Any, ...]  # the same, each name apart
Wholes: TypeAlias = str | int | Sequence[int]  # "1,5,10", a number or a list
# a list or an array, or a column of pandas, polars or Arrow
Columns: TypeAlias = Sequence[Any] | Any
# a column, or a dict of columns by system
ColumnsOfEach: TypeAlias = Mapping[str, Any] | Sequence[Any] | Any
Named: TypeAlias = str | Mapping[str, Any]  # "query=topic,item=sku" or a mapping
Schema = Mapping[str, object]  # of JSON
UNKNOWN = "unknown"
NUMERIC = ("float", "int")


@dataclass(frozen=True)
class ParameterKind:
    """The kind of a parameter.

    words: a description of its values, for the help and the docs. argument_type: the type of the
    argument of `read`. schema: the JSON schema of a value. read: maps a name and a value to the
    typed value; it raises ParameterError for an invalid one.
    """

    words: str
    argument_type: str
    schema: Schema
    read: Callable[[str, object], Any]

    @property
    def is_text(self) -> bool:
        """True if a value on the command line is taken as written."""
        return self.argument_type not in NUMERIC


@dataclass(frozen=True)
class Parameter:
    """A parameter of a report or of a notebook: its name and default, its kind, and one line of
    help.

    column: for a parameter that only Python has, the column that it corresponds to in a table.
    """

    name: str
    default: object
    kind: ParameterKind
    help: str = ""
    column: str = ""


def a_number(
    above: float = -math.inf, below: float = math.inf, least: float = -math.inf
) -> ParameterKind:
    """The kind of a finite number of at least `least`, and strictly between two bounds."""
    words = number_words(above, below)
    if math.isfinite(least):
        words = f"a number of at least {least:g}"

    def read(name: str, value: object) -> float | None:
        """The number. Raises ParameterError for one outside the bounds."""
        stated = number(name, value, above, below)
        if stated is not None and stated < least:
            raise ParameterError(f"{name} must be {words}, got {value!r}")
        return stated

    schema: dict[str, object] = {"type": "number"}
    bounds = {"exclusiveMinimum": above, "exclusiveMaximum": below, "minimum": least}
    for key, bound in bounds.items():
        if math.isfinite(bound):
            schema[key] = bound
    return ParameterKind(words, "float", schema, read)


def a_whole_number(least: int = 1, most: int | None = None) -> ParameterKind:
    """The kind of a whole number of at least `least` and at most `most`; None: without such a
    bound.
    """

    def read(name: str, value: object) -> int | None:
        """The number. Raises ParameterError for one outside the bounds."""
        stated = integer(name, value, least)
        if stated is not None and most is not None and stated > most:
            raise ParameterError(f"{name} must be at most {most}, got {stated}")
        return stated

    words = f"a whole number of at least {least}"
    schema: dict[str, object] = {"type": "integer", "minimum": least}
    if most is not None:
        words += f" and at most {most}"
        schema["maximum"] = most
    return ParameterKind(words, "int", schema, read)


def one_of(*allowed: str) -> ParameterKind:
    """The kind of one of the allowed texts."""
    names = [f'"{text}"' if "," in text else text for text in allowed]
    schema = {"type": "string", "enum": list(allowed)}
    return ParameterKind(
        f"one of {', '.join(names)}", "str", schema, partial(choice, allowed=allowed)
    )


def a_size(least: int) -> ParameterKind:
    """The kind of a number of bytes, such as "2GB"."""
    words = f"a size of at least {least // 10**6}MB"
    return ParameterKind(words, "str", {"type": ["string", "integer"]}, partial(size, least=least))


def _planned_shares(name: str, value: object) -> Mapping[str, float] | str | None:
    """Planned shares by arm, or the word `unknown`; None if none are given."""
    if value is None:
        return None
    if value == UNKNOWN:
        return UNKNOWN
    shares = {}
    for arm, share in texts_by_name(name, value).items():
        shares[arm] = required(name, number(name, share, above=0))
    return shares


NO_METRIC = "none"  # in place of metrics for which lower is better


def _metrics_or_none(name: str, value: object) -> tuple[str, ...]:
    """Names of metrics, or the word `none` alone."""
    names = tuple(texts(name, value))
    if NO_METRIC in names and len(names) > 1:
        raise ParameterError(f"{name} must be names of metrics, or none alone, got {value!r}")
    return names


def required(name: str, value: Value | None) -> Value:
    """The value. Raises ParameterError if it is None."""
    if value is None:
        raise ParameterError(f"{name} must have a value, got None")
    return value


MEAN_OF_ACTUAL = "mean"
NAIVE = "naive"
SEASONAL = "seasonal:"
REFERENCES = "naive, seasonal:12 (the steps of a season) or mean"


def season_of(reference: str) -> int:
    """The steps of a season of a naive reference forecast, "naive" or "seasonal:12"; 1 without
    seasons.
    """
    return int(reference.removeprefix(SEASONAL)) if reference != NAIVE else 1


def reference(name: str, value: object) -> str | None:
    """The reference forecast of skill.

    >>> reference("reference", "seasonal: 7")
    'seasonal:7'
    """
    if value is None:
        return None
    words = str(value).strip().lower().replace(" ", "")
    if words in (NAIVE, MEAN_OF_ACTUAL):
        return words
    steps = words.removeprefix(SEASONAL)
    is_seasonal = words.startswith(SEASONAL)
    if is_seasonal and steps.isdecimal() and int(steps) > 1:
        return f"{SEASONAL}{int(steps)}"
    raise ParameterError(f"{name} must be {REFERENCES}, got {value!r}")


def _unchanged(_: str, value: object) -> object:
    """The value of any parameter as it was given."""
    return value


def _text_tuple(name: str, value: object) -> tuple[str, ...]:
    """The texts of a list, as `texts` reads them."""
    return tuple(texts(name, value))


def _distinct_integers(name: str, value: object) -> tuple[int, ...]:
    """Whole numbers of at least 1, each once, ascending."""
    return tuple(sorted(set(integers(name, value))))


# of a notebook: all that it says of a parameter is its default
VALUE = ParameterKind("", "float", {}, _unchanged)
WRITTEN = ParameterKind("", "str", {"type": "string"}, _unchanged)
LIST: Schema = {"type": ["string", "array"], "items": {"type": "string"}}
MAPPING: Schema = {"type": ["string", "object"]}
NUMBER_OR_TEXT: Schema = {"type": ["string", "number"]}
WHOLES: Schema = {
    "type": ["string", "integer", "array"],
    "items": {"type": "integer", "minimum": 1},
}

DATA = ParameterKind(
    "a path, folder or pattern, or several", "Tables", LIST, split_paths
)  # or frames and batches
TEXT = ParameterKind("text", "str", NUMBER_OR_TEXT, text)
TEXTS = ParameterKind("texts", "Names", LIST, _text_tuple)
LOWER = ParameterKind("texts", "Names", LIST, _metrics_or_none)
INTEGERS = ParameterKind(
    "whole numbers of at least 1",
    "Wholes",
    WHOLES,
    _distinct_integers,
)
METRICS = ParameterKind("names of metrics, FILE.py:NAME of own ones", "Metrics", LIST, metrics)
PAIRS = ParameterKind("pairs name=text", "Named", MAPPING, texts_by_name)
COST_PAIR = ParameterKind(
    "fp=number,fn=number", "Named", {**MAPPING, "required": ["fp", "fn"]}, costs
)
REFERENCE = ParameterKind(REFERENCES, "str", {"type": "string"}, reference)
CUT = ParameterKind(FORMS, "str | float", NUMBER_OR_TEXT, threshold)
SHARES = ParameterKind("pairs arm=number, or unknown", "Named", MAPPING, _planned_shares)
YES_NO = ParameterKind("yes or no", "str | bool", {"enum": ["yes", "no", True, False]}, yes_or_no)
FOLDER = ParameterKind("a folder that exists", "str", {"type": "string"}, folder)
COLUMN = ParameterKind(
    "one value per row", "Columns", {}, _unchanged
)  # only in Python, instead of a table
COLUMNS = ParameterKind(
    "one value per row, or a dict of such by system", "ColumnsOfEach", {}, _unchanged
)
