"""Evaluation logs of language models as tables of values: one row per question, epoch and metric.

Inspect's `.eval` and `.json`, lm-evaluation-harness's `samples_*.jsonl` beside `results_*.json`,
HELM's `per_instance_stats.json` beside `run_spec.json` and `stats.json`, and promptfoo's results in
`.json` and `.jsonl`, which hold several systems. What a log states of itself, such as its mean and
standard error, stands beside the rows.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.arrays import InputError, ParameterError, Record
from evalkit.catalogue.lookup import direction
from evalkit.findings import kinds
from evalkit.machine.compressed_files import plain, unpacked
from evalkit.reading.tables import columns as column_roles
from evalkit.reading.tables.parts import File, Frames, InputPart, stamp

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("model", "task", "question", "epoch", "metric", "value")
ARCHIVE = ".eval"
# how harnesses call their logs
NAMED = (f"*{ARCHIVE}", "samples_*.jsonl", "per_instance_stats.json")
HEAD = 1 << 16  # bytes by which a file is known
NAMES = 5  # logs that a finding names
WHOLE = 1_000  # characters of a question's text that a log surely has not shortened
SHORT = 80  # characters up to which a field beside a question may name a group of questions
ZSTD = 93  # the method of a zip's member that Python reads from 3.14 on


@dataclass(frozen=True)
class Stated:
    """What a log states of a metric.

    mean, error: over the questions, with its standard error, NaN if it is not stated. questions:
    their number, 0 if it is not stated. reducer: how it makes one value of the draws of a question.
    """

    metric: str
    mean: float
    error: float = math.nan
    questions: int = 0
    reducer: str = "mean"


# question, epoch and metric, which are texts; value, a number; and further fields of the question
Row = Mapping[str, Any]
# what is left out for want of a score, among which are answers that ended with an error
UNSCORED = "samples without a score"
FAILED = "results with an error"
LACKING_SCORES = (UNSCORED, FAILED)


class Answer(NamedTuple):
    """An answer to a question."""

    question: str
    epoch: str


@dataclass(frozen=True)
class Content:
    """What a log holds of one system.

    rows: one per question, epoch and metric. stated: what it says of its metrics. best: metric ->
    "high" or "low", the values that are better. left_out: what is left out -> how many of it.
    texts: question -> what tells its text from others'. errored: the answers that ended with an
    error and have no score; None if the log does not tell.
    """

    model: str
    task: str
    rows: Sequence[Row]
    stated: Sequence[Stated] = ()
    best: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    errored: Sequence[Answer] | None = None

    @property
    def with_errors_as_wrong(self) -> Content:
        """The content with the value 0 for answers that ended with an error. What the log states is
        left out, as its means are those of the other answers.
        """
        if not self.errored:
            return self
        errored = set(self.errored)
        rows: list[Row] = []
        for row in self.rows:
            has_error = Answer(row["question"], row["epoch"]) in errored
            is_wrong = has_error and math.isnan(row["value"])
            counted_row = {**row, "value": 0.0} if is_wrong else row
            rows.append(counted_row)
        without_score = {
            what: number - len(errored)
            for what, number in self.left_out.items()
            if what in LACKING_SCORES
        }
        return replace(self, rows=rows, stated=(), left_out={**self.left_out, **without_score})

    @property
    def twice(self) -> dict[str, int]:
        """What comes more than once -> how often it comes again."""
        distinct_texts = set(self.texts.values())
        distinct_answers = {(row["question"], row["epoch"], row["metric"]) for row in self.rows}
        return {
            "questions with the text of another one": len(self.texts) - len(distinct_texts),
            "answers of a question, epoch and metric that come again": (
                len(self.rows) - len(distinct_answers)
            ),
        }

    @property
    def scored(self) -> bool:
        """True if a row has a value."""
        return not all(math.isnan(row["value"]) for row in self.rows)

    @cached_property
    def groups(self) -> list[str]:
        """The further fields of questions that may name groups of them: all values are short, and
        they are fewer than the questions.
        """
        values: dict[str, set[str]] = {}
        for row in self.rows:
            for name, value in row.items():
                if name.lower() not in COLUMNS and value is not None:
                    # lists and objects are no names: they count as too long
                    text = str(value) if isinstance(value, str | int | bool) else "x" * SHORT
                    values.setdefault(name, set()).add(text)
        questions = len({row["question"] for row in self.rows})
        few = max(questions, 2)
        return [
            name
            for name, texts in values.items()
            if len(texts) < few and max(map(len, texts)) < SHORT
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluationLog(File):
    """A log of one system.

    system: what its model is called in the report. tasks: True if questions are named with their
    task. wrong: True if answers that ended with an error count as wrong. unscored: the logs beside
    it that are left out, as they have no score.
    """

    content: Content
    system: str
    tasks: bool = False
    wrong: bool = False
    unscored: Sequence[str] = ()

    @property
    def known_rows(self) -> int:
        """The number of rows."""
        return len(self.content.rows)

    @property
    def directions(self) -> Mapping[str, str]:
        """Metric -> "high" or "low", the values that are better."""
        return self.content.best

    @cached_property
    def table(self) -> pa.Table:
        """The rows as an Arrow table; columns that only other logs have are empty."""
        import pyarrow as pa

        prefix = f"{self.content.task} " if self.tasks else ""
        names = {"model": self.system, "task": self.content.task}
        rows = [
            {**row, **names, "question": f"{prefix}{row['question']}"} for row in self.content.rows
        ]
        cells: dict[str, Any] = {}
        for name in self.columns:
            if name == "value":
                numbers = [row["value"] for row in rows]
                cells[name] = pa.array(numbers, pa.float64(), from_pandas=True)
            elif name in (*COLUMNS, *self.content.groups):
                texts = [row.get(name) for row in rows]
                cells[name] = [None if text is None else str(text) for text in texts]
            else:
                cells[name] = pa.nulls(len(rows), pa.string())
        return pa.table(cells)

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        """The table in memory, under the name `frame`."""
        return frame, {frame: self.table}


def with_common_columns(parts: Sequence[InputPart]) -> list[InputPart]:
    """Logs with the same columns and a name for each system, without those that have no score;
    parts of which some are no logs as they are.

    A model with several logs of a task is one system per folder, or if folders have the same name,
    one per file. Raises InputError if no log has a score.
    """
    logs = [part for part in parts if isinstance(part, EvaluationLog)]
    if len(logs) < len(parts):
        return list(parts)
    scored = [log for log in logs if log.content.scored]
    if logs and not scored:
        raise column_roles.refused(logs[0].name, "no_scores", questions=len(logs[0].content.texts))
    columns = dict.fromkeys(COLUMNS)
    for log in scored:
        columns |= dict.fromkeys(log.columns)
    has_tasks = len({log.content.task for log in scored}) > 1
    unscored = [log.name for log in logs if log not in scored]
    return [
        replace(log, system=name, columns=tuple(columns), tasks=has_tasks, unscored=unscored)
        for log, name in zip(scored, _systems(scored), strict=True)
    ]


def with_errors_as_wrong(parts: Sequence[InputPart]) -> list[InputPart]:
    """Logs in which answers that ended with an error have the value 0, which counts as wrong.

    Raises ParameterError for parts that are no logs, for logs that do not tell which answers ended
    with an error, and for metrics of which lower values are better.
    """
    read: list[InputPart] = []
    for part in parts:
        if not isinstance(part, EvaluationLog):
            raise ParameterError(f"errored: only for evaluation logs, {part.name} is none")
        if part.content.errored is None:
            raise ParameterError(f"errored: {part.name} does not tell which answers had an error")
        for metric in dict.fromkeys(str(row["metric"]) for row in part.content.rows):
            best = part.directions.get(metric) or direction(metric)
            if part.content.errored and best == "low":
                problem = f"lower values of {metric} are better, so that 0 is not wrong"
                raise ParameterError(f"errored: {problem}")
        read.append(replace(part, content=part.content.with_errors_as_wrong, wrong=True))
    return read


def stated(parts: Sequence[InputPart]) -> dict[tuple[str, str, str], Stated]:
    """(System, task, metric) -> what the logs state of it."""
    logs = [part for part in parts if isinstance(part, EvaluationLog)]
    statements = {}
    for log in logs:
        for statement in log.content.stated:
            statements[log.system, log.content.task, statement.metric] = statement
    return statements


def findings(parts: Sequence[InputPart]) -> Iterator[kinds.Finding]:
    """What is left out of logs, what comes in them more than once, and which systems are called
    after their logs.
    """
    logs = [part for part in parts if isinstance(part, EvaluationLog)]
    if not logs:
        return
    sentences = [f"all of {name}, which has no score" for name in logs[0].unscored]
    twice: list[str] = []
    for log in logs:
        sentences += _counts_in_words(log, log.content.left_out)
        twice += _counts_in_words(log, log.content.twice)
    if sentences:
        yield kinds.LEFT_OUT_OF_LOGS.warning(
            len(sentences), what=column_roles.listed(sentences, NAMES)
        )
    wrong = {log: len(log.content.errored or ()) for log in logs if log.wrong}
    if any(wrong.values()):
        what = [f"{count:,} in {log.name}" for log, count in wrong.items() if count]
        yield kinds.ERRORS_AS_WRONG.note(len(what), what=column_roles.listed(what, NAMES))
    if twice:
        yield kinds.REPEATED_QUESTIONS.warning(len(twice), what=column_roles.listed(twice, NAMES))
    renamed = sorted({log.system for log in logs if log.system != log.content.model})
    if renamed:
        yield kinds.SYSTEMS_OF_LOGS.note(len(renamed), systems=column_roles.listed(renamed, NAMES))


def _counts_in_words(log: EvaluationLog, counts: Mapping[str, int]) -> list[str]:
    """The counts above 0 of a log as findings list them. counts: what is counted -> how many."""
    return [f"{counted} in {log.name}: {n:,}" for counted, n in counts.items() if n > 0]


# what a system can be called after; the first form that tells the logs of its model apart is used
FORMS: Sequence[Callable[[EvaluationLog], str]] = (
    lambda log: log.content.model,
    lambda log: f"{log.content.model} ({log.path.absolute().parent.name})",
    lambda log: f"{log.content.model} ({plain(log.path).stem})",
    lambda log: f"{log.content.model} ({log.path.name})",
    lambda log: f"{log.content.model} ({log.name})",
)


def _systems(logs: Sequence[EvaluationLog]) -> list[str]:
    """The name of each log's system: its model; with the folder or the file if the model has
    several logs of a task.
    """
    names = []
    for log in logs:
        of_model = [model_log for model_log in logs if model_log.content.model == log.content.model]
        name = FORMS[-1]
        for form in FORMS:
            if len({(form(model_log), model_log.content.task) for model_log in of_model}) == len(
                of_model
            ):
                name = form
                break
        names.append(name(log))
    return names


# Which files are logs -----------------------------------------------------------------------------


UNREADABLE = (
    zipfile.BadZipFile,
    OSError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
)


def opened(path: Path, where: str) -> list[EvaluationLog]:
    """The logs in a file, one for each system; empty for other files. where: what errors call the
    file. Raises InputError with one line for a log that cannot be read.
    """
    kind = next((kind for kind in KINDS if kind.holds(path)), None)
    if kind is None:
        return []
    try:
        content = kind.read(path)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}"[:SHORT]
        raise column_roles.refused(where, "odd_log", kind=kind.name, reason=reason) from None
    contents = [content] if isinstance(content, Content) else content
    return [
        EvaluationLog(
            name=where,
            columns=(*COLUMNS, *of_system.groups),
            content=of_system,
            system=of_system.model,
            path=path,
            size_and_time=stamp(path),
        )
        for of_system in contents
    ]


def logs_in_folder(folder: Path) -> list[Path]:
    """The logs in a folder and in those below it: files as harnesses name them, and Inspect's
    `.json`.

    Empty for a folder with no other logs than its own `.json` files: all its files are then read.
    """
    files = [path for path in folder.rglob("*") if path.is_file()]
    named = {path for path in files if any(fnmatch(plain(path).name, pattern) for pattern in NAMED)}
    logs = named | {path for path in files if INSPECT.holds(path)}
    if any(path in named or path.parent != folder for path in logs):
        return sorted(logs)
    return []


def _loaded(path: Path) -> Any:
    """The content of a JSON document."""
    with unpacked(path) as stream:
        return json.load(stream)


# Inspect ------------------------------------------------------------------------------------------

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partly correct, no answer
# metrics of a log that are means of its scores, and their standard errors
MEANS = ("accuracy", "mean")
ERRORS = ("stderr", "clustered_stderr")
# where an archive has its samples, the shortest form first
SUMMARIES = ("summaries.json", "_journal/summaries/", "samples/")


def _inspect(path: Path) -> Content:
    """The content of a log of Inspect."""
    log = _document(path) if plain(path).suffix.lower() == ".json" else _archive(path)
    header = log.header
    names = dict.fromkeys(name for sample in log.samples for name in sample.get("scores") or {})
    rows: list[Row] = []
    texts = {}
    unscored = 0
    errored = []
    for sample in log.samples:
        of_sample = list(_scores(sample, names))
        rows += of_sample
        has_no_score = any(math.isnan(row["value"]) for row in of_sample)
        unscored += has_no_score
        question = f"{sample['id']}"
        if has_no_score and sample.get("error"):
            errored.append(Answer(question, f"{sample.get('epoch', 1)}"))
        text = json.dumps(sample.get("input"))
        # a long text may have been shortened, so that it does not tell questions apart
        texts[question] = text if len(text) < WHOLE else question
    scores = (header.get("results") or {}).get("scores") or []
    statements = [_stated(score, header) for score in scores]
    status = "" if header.get("status") == "success" else f" (status {header.get('status')})"
    unscored_samples = unscored if names else 0
    return Content(
        model=header["eval"]["model"],
        task=header["eval"]["task"].rpartition("/")[2],
        rows=rows,
        stated=[statement for statement in statements if statement],
        best={_name(score): "high" for score in scores if "accuracy" in score["metrics"]},
        left_out={
            f"samples not run{status}": _planned(header) - len(log.samples),
            UNSCORED: unscored_samples,
        },
        texts=texts,
        errored=errored,
    )


def _planned(header: Record) -> int:
    """The number of samples that a run was to have, over all epochs; 0 if it is not known."""
    sample_ids = _nested(header, "eval", "dataset").get("sample_ids") or ()
    epochs = _nested(header, "eval", "config").get("epochs") or 1
    return int(_nested(header, "results").get("total_samples") or len(sample_ids) * epochs)


def _scores(sample: Record, names: Iterable[str]) -> Iterator[Row]:
    """The scores of a sample as rows. names: those that any sample has; NaN for one that it
    lacks.
    """
    answer = {
        **(sample.get("metadata") or {}),
        "question": f"{sample['id']}",
        "epoch": f"{sample.get('epoch', 1)}",
    }
    for name in names or ("score",):
        value = ((sample.get("scores") or {}).get(name) or {}).get("value")
        # a scorer may give several values by name
        by_key = value if isinstance(value, dict) else {"": value}
        for key, score in by_key.items():
            metric = f"{name}/{key}" if key else name
            yield {
                **answer,
                "metric": metric,
                "value": _score(score, answer["question"]),
            }


def _score(value: Any, sample: str) -> float:
    """The number of a score, as Inspect's own mean has it; NaN without one."""
    number = value
    if isinstance(value, str):
        number = LETTERS.get(value, value)
    elif value is None:
        number = math.nan
    try:
        return float(number)
    except (TypeError, ValueError):
        got = f"{value!r}"[:SHORT]
        raise InputError(
            f"a score must be a number, C, I, P or N, got {got} (sample {sample})"
        ) from None


def _stated(score: Record, header: Record) -> Stated | None:
    """What the log states of a score; None unless one of its metrics is a mean."""
    metrics = {name: metric["value"] for name, metric in score["metrics"].items()}
    means = [metrics[name] for name in MEANS if name in metrics]
    if not means or not isinstance(means[0], int | float):
        return None
    errors = [metrics[name] for name in ERRORS if isinstance(metrics.get(name), int | float)]
    reducers = (header["eval"].get("config") or {}).get("epochs_reducer") or ["mean"]
    error = errors[0] if errors else math.nan
    return Stated(
        _name(score),
        mean=means[0],
        error=error,
        questions=score.get("scored_samples") or 0,
        reducer=score.get("reducer") or reducers[0],
    )


def _name(score: Record) -> str:
    """What a score of the results is called among samples: its scorer, with the key of a scorer
    that has several.
    """
    scorer = score.get("scorer") or score["name"]
    full_name = scorer if score["name"] == scorer else f"{scorer}/{score['name']}"
    return str(full_name)


class InspectLog(NamedTuple):
    """The header of a log of Inspect, and its samples or their summaries."""

    header: Record
    samples: Sequence[Record]


def _document(path: Path) -> InspectLog:
    """A log in one document."""
    log = _loaded(path)
    if not log.get("samples"):
        raise InputError(column_roles.sentence("unfinished", status=log.get("status")))
    return InspectLog(log, log["samples"])


def _archive(path: Path) -> InspectLog:
    """A log in a zip archive, with the summaries of its samples if it has any."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "header.json" not in names:
            raise InputError(column_roles.sentence("unfinished", status="started"))
        members: list[str] = []
        for beginning in SUMMARIES:
            members = members or [name for name in names if name.startswith(beginning)]
        samples: list[Record] = []
        for name in members:
            document = json.loads(_member(archive, name))  # a sample, or a list of summaries
            entries = document if isinstance(document, list) else [document]
            samples += entries
        return InspectLog(json.loads(_member(archive, "header.json")), samples)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a member, which may be compressed by zstd: zipfile then reads it as if it were
    stored without compression, and Arrow decompresses it.
    """
    import pyarrow as pa

    info = archive.getinfo(name)
    if info.compress_type != ZSTD:
        return archive.read(info)
    packed: Any = copy(info)
    packed.compress_type = zipfile.ZIP_STORED
    packed.file_size = info.compress_size
    packed.CRC = None  # it is that of the decompressed content
    with archive.open(packed) as member, pa.CompressedInputStream(member, "zstd") as stream:
        return bytes(stream.read())


# lm-evaluation-harness ----------------------------------------------------------------------------

DATED = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")  # how the names of files of one run end
NO_METRICS = ("doc_id", "target")  # of the numbers of a line


def _lm_eval(path: Path) -> Content:
    """The content of lm-evaluation-harness's samples of a task, with the results beside them."""
    task = _task(path)
    results = _results(path)
    filters = set[str]()
    rows: list[Row] = []
    texts: dict[str, str] = {}
    unscored = 0
    for line in _lines(path):
        question = str(line["doc_id"])
        answer_filter = line.get("filter", "none")
        filters.add(answer_filter)
        texts[question] = line.get("doc_hash") or question
        answer = {**line["doc"]} if isinstance(line["doc"], dict) else {}
        answer |= {"question": question, "epoch": "1"}
        numbers = [
            name for name in line if name not in NO_METRICS and isinstance(line[name], int | float)
        ]
        metrics = line.get("metrics") or numbers
        unscored += any(name not in numbers or math.isnan(line[name]) for name in metrics)
        for name in metrics:
            if name in numbers:
                metric = _filtered(name, answer_filter)
                rows.append({**answer, "metric": metric, "value": float(line[name])})
    best = {}
    for name, is_higher_better in _nested(results, "higher_is_better", task).items():
        for answer_filter in filters:
            best[_filtered(name, answer_filter)] = "high" if is_higher_better else "low"
    tasks = {_task(file) for file in path.parent.glob("samples_*")} | {task}
    without_samples: set[str] = set()
    if task == min(tasks):  # the first log of the folder says it for all
        without_samples = set(results.get("n-samples", {})) - tasks
    model = results.get("model_name") or _nested(results, "config").get("model")
    return Content(
        model=model or path.absolute().parent.name,
        task=task,
        rows=rows,
        stated=list(_stated_by(results, task)),
        best=best,
        left_out={
            "tasks of the results without samples": len(without_samples),
            UNSCORED: unscored,
        },
        texts=texts,
    )


def _task(path: Path) -> str:
    """The task of a file of samples."""
    return DATED.sub("", plain(path).stem.removeprefix("samples_"))


def _nested(results: Record, *names: str) -> Record:
    """The object under names within objects; an empty one if it is missing."""
    for name in names:
        results = results.get(name) or {}
    return results


def _filtered(metric: str, answer_filter: str) -> str:
    """The name of a metric of answers that a filter extracted: `exact_match strict-match`."""
    return metric if answer_filter == "none" else f"{metric} {answer_filter}"


def _lines(path: Path) -> Iterator[Record]:
    """The objects of a file of JSON lines. Raises InputError for a line that is no object."""
    with io.TextIOWrapper(unpacked(path), encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                if line.strip():
                    yield json.loads(line)
            except ValueError:
                raise InputError(
                    f"line {number} is no whole JSON object; the file may have been cut"
                ) from None


def _results(path: Path) -> Record:
    """The results of the run of a file of samples: those of its date, or the only ones of the
    folder without a date; else nothing.
    """
    date = DATED.search(plain(path).stem)
    files = [file for file in sorted(path.parent.glob("results*")) if plain(file).suffix == ".json"]
    of_run = files
    if date:
        undated = [file for file in files if not DATED.search(plain(file).stem)]
        of_run = [file for file in files if date[0] in file.name] or undated
    if len(of_run) != 1:
        return {}
    results: Record = _loaded(of_run[0])
    return results


def _stated_by(results: Record, task: str) -> Iterator[Stated]:
    """What the results state of the metrics of a task."""
    values = _nested(results, "results", task)  # such as exact_match,strict-match
    questions = _nested(results, "n-samples", task).get("effective") or 0
    metrics = _nested(results, "configs", task).get("metric_list") or []
    aggregations = {
        metric["metric"]: str(metric.get("aggregation") or "mean") for metric in metrics
    }
    for name, mean in values.items():
        metric, _, answer_filter = name.partition(",")
        if answer_filter and not metric.endswith("_stderr") and isinstance(mean, int | float):
            error = values.get(f"{metric}_stderr,{answer_filter}")
            known_error = error if isinstance(error, int | float) else math.nan
            yield Stated(
                _filtered(metric, answer_filter),
                mean=mean,
                error=known_error,
                questions=questions,
                reducer=aggregations.get(metric, "mean"),
            )


# HELM ---------------------------------------------------------------------------------------------

# statistics of prompts and runs, which score no answers
TOLD = (
    "num_*",
    "training_*",
    "inference_*",
    "finish_reason_*",
    "prompt_*",
    "batch_size",
    "max_prob",
    "logprob",
    "logits_*",
    "*perplexity*",
    "bits_per_byte",
    "estimated_*",
)


def _helm(path: Path) -> Content:
    """The content of HELM's statistics per instance, of the test split if there is one, with the
    specification and the statistics of the run beside them.
    """
    spec = _neighbour_document(path, "run_spec.json", {})
    name = spec.get("name") or path.absolute().parent.name
    instances = _loaded(path)
    unperturbed = [instance for instance in instances if not instance.get("perturbation")]
    scores = [
        (instance, stat)
        for instance in unperturbed
        for stat in instance["stats"]
        if _is_score(stat["name"])
    ]
    splits = dict.fromkeys(stat["name"].get("split") for _, stat in scores)
    split = "test" if "test" in splits else next(iter(splits), None)
    rows = [
        {
            "question": str(instance["instance_id"]),
            "epoch": str(instance["train_trial_index"]),
            "metric": stat["name"]["name"],
            "value": float(stat["mean"]),
        }
        for instance, stat in scores
        if stat["name"].get("split") == split and stat.get("count")
    ]
    questions = {str(instance["instance_id"]) for instance, _ in scores}
    of_other_splits = questions - {row["question"] for row in rows}
    stated = [
        Stated(stat["name"]["name"], float(stat["mean"]))
        for stat in _neighbour_document(path, "stats.json", [])
        if stat["name"].get("split") == split and _is_score(stat["name"]) and "mean" in stat
    ]
    return Content(
        model=(spec.get("adapter_spec") or {}).get("model") or name.rpartition("model=")[2],
        task=re.sub(r",?(model|model_deployment)=[^,]*", "", name),
        rows=rows,
        stated=stated,
        left_out={
            "perturbed instances": len(instances) - len(unperturbed),
            f"instances not of the split {split}": len(of_other_splits),
        },
    )


def _neighbour_document(path: Path, name: str, otherwise: Any) -> Any:
    """The document of this name, packed or not, in the folder of a file; else `otherwise`."""
    files = [file for file in path.parent.glob(f"{name}*") if plain(file).name == name]
    return _loaded(files[0]) if files else otherwise


def _is_score(name: Record) -> bool:
    """True if a statistic scores an answer, and does not describe the prompt or the run. name: the
    object that names it.
    """
    describes_run = any(fnmatch(name["name"], pattern) for pattern in TOLD)
    return not name.get("perturbation") and not describes_run


# promptfoo ----------------------------------------------------------------------------------------

ERRORED = 2  # the reason of a failure: neither the answer nor an assertion, but an error
SHORTENED = 60  # characters of a prompt by which a system is called


def _promptfoo(path: Path) -> list[Content]:
    """Each prompt and provider of an evaluation is a system; what passed counts 1."""
    if plain(path).suffix.lower() == ".jsonl":
        results = list(_lines(path))
    else:
        results = _loaded(path)["results"]["results"]
    by_system: dict[str, list[Record]] = {}
    for result in results:
        by_system.setdefault(result["promptIdx"], []).append(result)
    names = _names_of_prompts({key: of_system[0] for key, of_system in by_system.items()})
    metrics = list(
        dict.fromkeys(name for result in results for name in result.get("namedScores") or {})
    )
    graded = [result for result in results if not _is_error(result)]
    if any(result.get("score") != float(result["success"]) for result in graded):
        metrics.insert(0, "score")  # it says more than success
    return [
        _content_of_prompt(names[key], of_system, metrics) for key, of_system in by_system.items()
    ]


def _is_error(result: Record) -> bool:
    """True if a result was not graded, because of an error."""
    return bool(
        result.get("failureReason") == ERRORED
        or (result.get("error") and not result.get("gradingResult"))
    )


def _names_of_prompts(first: Mapping[str, Record]) -> dict[str, str]:
    """Key of a system -> its name: its provider, its prompt, or both if neither tells the systems
    apart.

    first: key of a system -> one of its results.
    """
    providers: dict[str, str] = {}
    prompts: dict[str, str] = {}
    for key, result in first.items():
        provider = result.get("provider") or ""
        if isinstance(provider, Mapping):
            provider = provider.get("label") or provider.get("id")
        providers[key] = str(provider)
        prompt = result.get("prompt") or {}
        label = str(prompt.get("label") or prompt.get("raw") or f"prompt {key}")
        prompts[key] = label if len(label) <= SHORTENED else f"{label[:SHORTENED]}…"
    provider_and_prompt = {key: f"{providers[key]}, {prompts[key]}" for key in first}
    for names in (providers, prompts, provider_and_prompt):
        if len(set(names.values())) == len(first):
            return names
    return {key: f"{name} ({key})" for key, name in provider_and_prompt.items()}


def _content_of_prompt(system: str, results: Sequence[Record], metrics: Sequence[str]) -> Content:
    """The results of a system, a prompt and provider. Repetitions of a test are draws, as they have
    its variables and assertions.

    metrics: the scores that any result has, besides success.
    """
    rows: list[Row] = []
    errored = []
    draws_of_test: dict[str, list[str]] = {}  # variables and assertions -> the numbers of the draws
    for result in results:
        test = result.get("testCase") or {}
        content = json.dumps([result.get("vars"), test.get("assert")], sort_keys=True)
        draws = draws_of_test.setdefault(content, [])
        draws.append(str(result["testIdx"]))
        variables = result.get("vars") or {}
        answer = {**variables, "question": draws[0], "epoch": str(len(draws))}
        values = {}
        if _is_error(result):
            errored.append(Answer(answer["question"], answer["epoch"]))
        else:
            values = {"success": float(result["success"]), "score": result.get("score")}
            values |= result.get("namedScores") or {}
        for name in ("success", *metrics):
            value = values.get(name)
            number = math.nan if value is None else value
            rows.append({**answer, "metric": name, "value": number})
    return Content(
        model=system,
        task="promptfoo",
        rows=rows,
        best=dict.fromkeys(("success", *metrics), "high"),
        left_out={FAILED: len(errored)},
        texts={draws[0]: content for content, draws in draws_of_test.items()},
        errored=errored,
    )


def _refuse(path: Path, **facts: str) -> Content:
    """Refuse a file of a run that has no samples."""
    raise InputError(column_roles.sentence("only_means", **facts))


@dataclass(frozen=True)
class LogKind:
    """A kind of log of a harness.

    name: of the harness. begins: suffix of a file -> a regular expression of how it begins. read:
    reads a file, which may hold several systems.
    """

    name: str
    begins: Mapping[str, bytes]
    read: Callable[[Path], Content | Sequence[Content]]

    def holds(self, path: Path) -> bool:
        """True if a file is such a log."""
        pattern = self.begins.get(plain(path).suffix.lower())
        if pattern is None:
            return False
        with unpacked(path) as file:
            return bool(re.match(pattern, file.read(HEAD)))


LM_EVAL = "lm-evaluation-harness"
HELM = "HELM"
ONLY_RESULTS = partial(_refuse, kind=LM_EVAL, files="samples_*.jsonl (option --log_samples)")
ONLY_STATS = partial(_refuse, kind=HELM, files="per_instance_stats.json")
INSPECT = LogKind(
    "Inspect", {ARCHIVE: b"", ".json": rb'\s*\{\s*"version":\s*\d+,\s*"status":'}, _inspect
)
KINDS = (
    INSPECT,
    LogKind(LM_EVAL, {".jsonl": rb'\s*\{\s*"doc_id":\s*[^,]+,\s*"doc":'}, _lm_eval),
    LogKind(LM_EVAL, {".json": rb'\s*\{\s*"results":\s*\{\s*"[^"]+":\s*\{'}, ONLY_RESULTS),
    LogKind(HELM, {".json": rb'\s*\[\s*\{\s*"instance_id":'}, _helm),
    LogKind(
        "promptfoo",
        {
            ".json": rb'(?s)\s*\{(?=.*"promptIdx")\s*"(evalId|results|version)":',
            ".jsonl": rb'\s*\{(?=[^\n]*"promptIdx":)(?=[^\n]*"testIdx":)',
        },
        _promptfoo,
    ),
    LogKind(
        HELM,
        {".json": rb'\s*\[\s*\{\s*"name":\s*\{\s*"name":[^}]*(\}\s*)+,\s*"count":'},
        ONLY_STATS,
    ),
)
