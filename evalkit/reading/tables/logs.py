"""Evaluation logs of language models as tables of values: one row per question, epoch and metric.

Inspect's `.eval` and `.json`, lm-evaluation-harness's `samples_*.jsonl` beside `results_*.json`,
HELM's `per_instance_stats.json` beside `run_spec.json` and `stats.json`, and promptfoo's results in
`.json` and `.jsonl`, which hold several systems. What a log states of itself, such as its mean and
standard error, stands beside the rows.
"""

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
from typing import Any

from evalkit.arrays import InputError
from evalkit.findings import kinds
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import File, Frames, InputPart, stamp
from evalkit.system import plain, unpacked

COLUMNS = ("model", "task", "question", "epoch", "metric", "value")
ARCHIVE = ".eval"
# logs, as harnesses call them
NAMED = (
    f"*{ARCHIVE}",
    "samples_*.jsonl",
    "per_instance_stats.json",
)
HEAD = 1 << 16  # bytes by which a file is known
NAMES = 5  # logs that a finding names
WHOLE = 1_000  # characters of a question's text that a log surely has not shortened
SHORT = 80  # characters up to which a field beside a question may name a group of questions
ZSTD = 93  # the method of a zip's member that Python reads from 3.14 on


@dataclass(frozen=True)
class Stated:
    """What a log states of a metric: its mean and standard error over so many questions; NaN and 0
    where it does not.

    reducer: how it makes one value of the draws of a question.
    """

    metric: str
    mean: float
    error: float = math.nan
    questions: int = 0
    reducer: str = "mean"


Row = Mapping[
    str, Any
]  # question, epoch and metric, texts; value, a number; and further fields of the question


@dataclass(frozen=True)
class Content:
    """What a log holds. best: which values of a metric are better. left: what is left out, and how
    many of it.

    texts: of each question what tells its text from others'.
    """

    model: str
    task: str
    rows: Sequence[Row]
    stated: Sequence[Stated] = ()
    best: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def twice(self) -> dict[str, int]:
        """What comes more than once, and how often."""
        different = {(row["question"], row["epoch"], row["metric"]) for row in self.rows}
        return {
            "questions with the text of another one": len(self.texts) - len({*self.texts.values()}),
            "answers of a question, epoch and metric that come again": len(self.rows)
            - len(different),
        }

    @property
    def scored(self) -> bool:
        """Whether any row has a value."""
        return not all(math.isnan(row["value"]) for row in self.rows)

    @cached_property
    def groups(self) -> list[str]:
        """The fields beside the questions that may name groups of them: short in all, and fewer
        than the questions.
        """
        values: dict[str, set[str]] = {}
        for row in self.rows:
            for name, value in row.items():
                if name.lower() not in COLUMNS and value is not None:
                    short = str(value) if isinstance(value, str | int | bool) else "x" * SHORT
                    values.setdefault(name, set()).add(short)
        most = max(len({row["question"] for row in self.rows}), 2)
        return [
            name
            for name, own in values.items()
            if len(own) < most and all(len(v) < SHORT for v in own)
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluationLog(File):
    """A log. system: what its model is called in the report. tasks: whether questions are named
    with their task.

    unscored: the logs beside it that are left out.
    """

    content: Content
    system: str
    tasks: bool = False
    unscored: Sequence[str] = ()

    @property
    def known_rows(self) -> int:
        return len(self.content.rows)

    @property
    def directions(self) -> Mapping[str, str]:
        return self.content.best

    @cached_property
    def table(self) -> Any:
        """The rows as an Arrow table; what is no group of this log is empty."""
        import pyarrow as pa

        before = f"{self.content.task} " if self.tasks else ""
        named = {"model": self.system, "task": self.content.task}
        rows = [
            {**row, **named, "question": f"{before}{row['question']}"} for row in self.content.rows
        ]
        own = [name for name in self.columns if name in (*COLUMNS, *self.content.groups)]
        texts = dict.fromkeys(self.columns, pa.nulls(len(rows), pa.string()))
        texts |= {
            name: [None if (cell := row.get(name)) is None else str(cell) for row in rows]
            for name in own
        }
        return pa.table(
            texts
            | {"value": pa.array([row["value"] for row in rows], pa.float64(), from_pandas=True)}
        )

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        return frame, {frame: self.table}


def with_common_columns(parts: Sequence[InputPart]) -> list[InputPart]:
    """Logs with the same columns and a name for each system; other parts, which they cannot stand
    beside, as they are.

    A model with several logs of a task is one system per folder, or where these have one name too
    per file. Raises InputError where no log has a score; beside others one without is left out.
    """
    every = [part for part in parts if isinstance(part, EvaluationLog)]
    if len(every) < len(parts):
        return list(parts)
    logs = [log for log in every if log.content.scored]
    if every and not logs:
        raise roles_of.refused(every[0].name, "no_scores", questions=len(every[0].content.texts))
    columns = list(dict.fromkeys([*COLUMNS, *(name for log in logs for name in log.columns)]))
    about: dict[str, Any] = {
        "columns": tuple(columns),
        "tasks": len({log.content.task for log in logs}) > 1,
    }
    about["unscored"] = [log.name for log in every if log not in logs]
    return [
        replace(log, system=name, **about) for log, name in zip(logs, _systems(logs), strict=True)
    ]


def stated(parts: Sequence[InputPart]) -> dict[tuple[str, str, str], Stated]:
    """What logs state, by system, task and metric."""
    logs = [part for part in parts if isinstance(part, EvaluationLog)]
    return {
        (log.system, log.content.task, of.metric): of for log in logs for of in log.content.stated
    }


def findings(parts: Sequence[InputPart]) -> Iterator[kinds.Finding]:
    """What is left out of logs, what comes in them more than once, and which systems are called
    after their logs.
    """
    logs = [part for part in parts if isinstance(part, EvaluationLog)]
    unscored = [f"all of {name}, which has no score" for name in (logs[0].unscored if logs else ())]
    left = [*unscored, *_counted(logs, lambda content: content.left)]
    twice = _counted(logs, lambda content: content.twice)
    for kind, some in ((kinds.LEFT_OUT_OF_LOGS, left), (kinds.REPEATED_QUESTIONS, twice)):
        if some:
            yield kind.warning(len(some), what=roles_of.listed(some, NAMES))
    renamed = sorted({log.system for log in logs if log.system != log.content.model})
    if renamed:
        yield kinds.SYSTEMS_OF_LOGS.note(len(renamed), systems=roles_of.listed(renamed, NAMES))


def _counted(
    logs: Sequence[EvaluationLog], counts: Callable[[Content], Mapping[str, int]]
) -> list[str]:
    return [
        f"{what} in {log.name}: {n:,}"
        for log in logs
        for what, n in counts(log.content).items()
        if n > 0
    ]


FORMS: Sequence[
    Callable[[EvaluationLog], str]
] = (  # what a system can be called after, the first that tells its logs apart
    lambda log: log.content.model,
    lambda log: f"{log.content.model} ({log.path.absolute().parent.name})",
    lambda log: f"{log.content.model} ({plain(log.path).stem})",
    lambda log: f"{log.content.model} ({log.path.name})",
    lambda log: f"{log.content.model} ({log.name})",
)


def _systems(logs: Sequence[EvaluationLog]) -> list[str]:
    """The name of each log's system: its model, with the folder or the file of models that have
    several logs a task.
    """
    names = []
    for log in logs:
        own = [other for other in logs if other.content.model == log.content.model]
        apart = (
            form
            for form in FORMS
            if len({(form(other), other.content.task) for other in own}) == len(own)
        )
        names.append(next(apart, FORMS[-1])(log))
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
    """The logs in a file, one for each system, none where it holds none; raises InputError with one
    line for a log that cannot be read.
    """
    if (kind := next((kind for kind in KINDS if kind.holds(path)), None)) is None:
        return []
    try:
        read = kind.read(path)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}"[:SHORT]
        raise roles_of.refused(where, "odd_log", kind=kind.name, reason=reason) from None
    return [
        EvaluationLog(
            name=where,
            columns=(*COLUMNS, *content.groups),
            content=content,
            system=content.model,
            path=path,
            stamp=stamp(path),
        )
        for content in ([read] if isinstance(read, Content) else read)
    ]


def inside(folder: Path) -> list[Path]:
    """The logs in a folder and in those below it: files as harnesses name them, and Inspect's
    `.json`.

    None for a folder with no other logs than its own `.json` files: all its files are then read.
    """
    every = [path for path in folder.rglob("*") if path.is_file()]
    named = {path for path in every if any(fnmatch(plain(path).name, pattern) for pattern in NAMED)}
    found = named | {path for path in every if KINDS[0].holds(path)}
    return sorted(found) if any(path in named or path.parent != folder for path in found) else []


def _loaded(path: Path) -> Any:
    """The content of a JSON document."""
    with unpacked(path) as stream:
        return json.load(stream)


# Inspect ------------------------------------------------------------------------------------------

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partly correct, no answer
MEANS, ERRORS = ("accuracy", "mean"), ("stderr", "clustered_stderr")
# where samples stand, the shortest first
SUMMARIES = (
    "summaries.json",
    "_journal/summaries/",
    "samples/",
)


def _inspect(path: Path) -> Content:
    header, samples = _document(path) if plain(path).suffix.lower() == ".json" else _archive(path)
    scores = (header.get("results") or {}).get("scores") or []
    names = dict.fromkeys(name for sample in samples for name in sample.get("scores") or {})
    rows = [list(_scores(sample, names)) for sample in samples]
    unscored = sum(any(math.isnan(row["value"]) for row in own) for own in rows)
    not_run = _planned(header) - len(samples)
    status = "" if header.get("status") == "success" else f" (status {header.get('status')})"
    asked = [(f"{sample['id']}", json.dumps(sample.get("input"))) for sample in samples]
    return Content(
        model=header["eval"]["model"],
        task=header["eval"]["task"].rpartition("/")[2],
        rows=[row for own in rows for row in own],
        stated=[stated for of in scores if (stated := _stated(of, header))],
        best={_name(of): "high" for of in scores if "accuracy" in of["metrics"]},
        left={
            f"samples not run{status}": not_run,
            "samples without a score": unscored * bool(names),
        },
        texts={name: text if len(text) < WHOLE else name for name, text in asked},
    )


def _planned(header: Mapping[str, Any]) -> int:
    """The number of samples that a run was to have, over all epochs; 0 if it is not known."""
    asked = _within(header, "eval", "dataset").get("sample_ids") or ()
    epochs = _within(header, "eval", "config").get("epochs") or 1
    return int(_within(header, "results").get("total_samples") or len(asked) * epochs)


def _scores(sample: Mapping[str, Any], names: Iterable[str]) -> Iterator[Row]:
    """The scores of a sample; NaN for those that others have and it lacks."""
    about = {
        **(sample.get("metadata") or {}),
        "question": f"{sample['id']}",
        "epoch": f"{sample.get('epoch', 1)}",
    }
    for name in names or ("score",):
        value = ((sample.get("scores") or {}).get(name) or {}).get("value")
        several = value if isinstance(value, dict) else {"": value}
        for key, score in several.items():
            yield {
                **about,
                "metric": f"{name}/{key}" if key else name,
                "value": _score(score, about["question"]),
            }


def _score(value: Any, sample: str) -> float:
    """The number of a score, as Inspect's own mean has it."""
    number = (
        LETTERS.get(value, value)
        if isinstance(value, str)
        else math.nan
        if value is None
        else value
    )
    try:
        return float(number)
    except (TypeError, ValueError):
        got = f"{value!r}"[:SHORT]
        raise InputError(
            f"a score must be a number, C, I, P or N, got {got} (sample {sample})"
        ) from None


def _stated(score: Mapping[str, Any], header: Mapping[str, Any]) -> Stated | None:
    """What the log states of a score, where one of its metrics is a mean."""
    metrics = {name: metric["value"] for name, metric in score["metrics"].items()}
    mean = next((metrics[name] for name in MEANS if name in metrics), None)
    if not isinstance(mean, int | float):
        return None
    error = next(
        (metrics[name] for name in ERRORS if isinstance(metrics.get(name), int | float)), math.nan
    )
    usual = (header["eval"].get("config") or {}).get("epochs_reducer") or ["mean"]
    return Stated(
        _name(score),
        mean,
        error,
        score.get("scored_samples") or 0,
        score.get("reducer") or usual[0],
    )


def _name(score: Mapping[str, Any]) -> str:
    """What a score of the results is called among samples: its scorer, with the key of a scorer
    that has several.
    """
    scorer = score.get("scorer") or score["name"]
    return str(scorer if score["name"] == scorer else f"{scorer}/{score['name']}")


def _document(path: Path) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """The header and the samples of a log in one document."""
    log = _loaded(path)
    if not log.get("samples"):
        raise InputError(roles_of.sentence("unfinished", status=log.get("status")))
    return log, log["samples"]


def _archive(path: Path) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """The header and the samples of a log in a zip archive; of these their summaries if it has
    any.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "header.json" not in names:
            raise InputError(roles_of.sentence("unfinished", status="started"))
        found = ([name for name in names if name.startswith(start)] for start in SUMMARIES)
        documents = [json.loads(_member(archive, name)) for name in next(filter(None, found), [])]
        samples = [
            one for some in documents for one in (some if isinstance(some, list) else [some])
        ]
        return json.loads(_member(archive, "header.json")), samples


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a member, which may be compressed by zstd."""
    import pyarrow as pa

    info = archive.getinfo(name)
    if info.compress_type != ZSTD:
        return archive.read(info)
    packed: Any = copy(info)
    packed.compress_type, packed.file_size, packed.CRC = (
        zipfile.ZIP_STORED,
        info.compress_size,
        None,
    )
    with archive.open(packed) as member, pa.CompressedInputStream(member, "zstd") as stream:
        return bytes(stream.read())


# lm-evaluation-harness ----------------------------------------------------------------------------

DATED = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")  # how the names of files of one run end
NO_METRICS = ("doc_id", "target")  # of the numbers of a line


def _lm_eval(path: Path) -> Content:
    task, results, filters = _task(path), _results(path), set[str]()
    rows, texts, unscored = list[Row](), dict[str, str](), 0
    for line in _lines(path):
        question, chosen = str(line["doc_id"]), line.get("filter", "none")
        filters.add(chosen)
        texts[question] = line.get("doc_hash") or question
        about = {
            **(line["doc"] if isinstance(line["doc"], dict) else {}),
            "question": question,
            "epoch": "1",
        }
        scored = [
            name for name in line if name not in NO_METRICS and isinstance(line[name], int | float)
        ]
        named = line.get("metrics") or scored
        unscored += any(name not in scored or math.isnan(line[name]) for name in named)
        values = ((name, float(line[name])) for name in named if name in scored)
        rows += [
            {**about, "metric": _filtered(name, chosen), "value": value} for name, value in values
        ]
    higher = _within(results, "higher_is_better", task)
    there = {_task(other) for other in path.parent.glob("samples_*")} | {task}
    # told once of a folder
    alone = {*results.get("n-samples", {})} - there if task == min(there) else ()
    return Content(
        model=results.get("model_name")
        or _within(results, "config").get("model")
        or path.absolute().parent.name,
        task=task,
        rows=rows,
        stated=list(_stated_by(results, task)),
        best={
            _filtered(name, of): "high" if higher[name] else "low"
            for name in higher
            for of in filters
        },
        left={
            "tasks of the results without samples": len(alone),
            "samples without a score": unscored,
        },
        texts=texts,
    )


def _task(path: Path) -> str:
    """The task of a file of samples."""
    return DATED.sub("", plain(path).stem.removeprefix("samples_"))


def _within(results: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """An object in objects, empty where it is not there."""
    for name in names:
        results = results.get(name) or {}
    return results


def _filtered(metric: str, chosen: str) -> str:
    """A metric of answers that a filter made: `exact_match strict-match`."""
    return metric if chosen == "none" else f"{metric} {chosen}"


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON lines; raises InputError with the line that is none."""
    with io.TextIOWrapper(unpacked(path), encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                if line.strip():
                    yield json.loads(line)
            except ValueError:
                raise InputError(
                    f"line {number} is no whole JSON object; the file may have been cut"
                ) from None


def _results(path: Path) -> Mapping[str, Any]:
    """The results of the run of a file: those of its date, or the only ones of the folder without
    one; else nothing.
    """
    dated = DATED.search(plain(path).stem)
    files = [file for file in sorted(path.parent.glob("results*")) if plain(file).suffix == ".json"]
    own = [file for file in files if dated and dated[0] in file.name]
    own = own or [file for file in files if not (dated and DATED.search(plain(file).stem))]
    return _loaded(own[0]) if len(own) == 1 else {}


def _stated_by(results: Mapping[str, Any], task: str) -> Iterator[Stated]:
    """What the results state of the metrics of a task."""
    own, questions = (
        _within(results, "results", task),
        _within(results, "n-samples", task).get("effective") or 0,
    )
    made = _within(results, "configs", task).get("metric_list") or []
    ways = {of["metric"]: str(of.get("aggregation") or "mean") for of in made}
    for name, mean in own.items():
        metric, _, chosen = name.partition(",")
        if chosen and not metric.endswith("_stderr") and isinstance(mean, int | float):
            error = own.get(f"{metric}_stderr,{chosen}")
            error = error if isinstance(error, int | float) else math.nan
            yield Stated(
                _filtered(metric, chosen), mean, error, questions, ways.get(metric, "mean")
            )


# HELM ---------------------------------------------------------------------------------------------

TOLD = (  # statistics of prompts and runs
    *(
        "num_*",
        "training_*",
        "inference_*",
        "finish_reason_*",
        "prompt_*",
        "batch_size",
        "max_prob",
        "logprob",
    ),
    *("logits_*", "*perplexity*", "bits_per_byte", "estimated_*"),
)


def _helm(path: Path) -> Content:
    spec = _beside(path, "run_spec.json", {})
    name = spec.get("name") or path.absolute().parent.name
    instances = _loaded(path)
    whole = [of for of in instances if not of.get("perturbation")]
    every = [(of, stat) for of in whole for stat in of["stats"] if _is_score(stat["name"])]
    splits = dict.fromkeys(stat["name"].get("split") for _, stat in every)
    split = "test" if "test" in splits else next(iter(splits), None)
    rows = [
        {"question": str(of["instance_id"]), "epoch": str(of["train_trial_index"])}
        | {"metric": stat["name"]["name"], "value": float(stat["mean"])}
        for of, stat in every
        if stat["name"].get("split") == split and stat.get("count")
    ]
    others = {str(of["instance_id"]) for of, _ in every} - {row["question"] for row in rows}
    of_split = (
        stat for stat in _beside(path, "stats.json", []) if stat["name"].get("split") == split
    )
    scores = (stat for stat in of_split if _is_score(stat["name"]))
    return Content(
        model=(spec.get("adapter_spec") or {}).get("model") or name.rpartition("model=")[2],
        task=re.sub(r",?(model|model_deployment)=[^,]*", "", name),
        rows=rows,
        stated=[
            Stated(stat["name"]["name"], float(stat["mean"])) for stat in scores if "mean" in stat
        ],
        left={
            "perturbed instances": len(instances) - len(whole),
            f"instances not of the split {split}": len(others),
        },
    )


def _beside(path: Path, name: str, otherwise: Any) -> Any:
    """The document of this name in the folder of a file."""
    file = next((file for file in path.parent.glob(f"{name}*") if plain(file).name == name), None)
    return _loaded(file) if file else otherwise


def _is_score(name: Mapping[str, Any]) -> bool:
    """Whether a statistic scores an answer, and does not describe the prompt or the run."""
    return not name.get("perturbation") and not any(
        fnmatch(name["name"], pattern) for pattern in TOLD
    )


# promptfoo ----------------------------------------------------------------------------------------

ERRORED = 2  # the reason of a failure: neither the answer nor an assertion, but an error
SHORTENED = 60  # characters of a prompt by which a system is called


def _promptfoo(path: Path) -> list[Content]:
    """Each prompt and provider of an evaluation is a system; what passed counts 1."""
    if plain(path).suffix.lower() == ".jsonl":
        results = [*_lines(path)]
    else:
        results = _loaded(path)["results"]["results"]
    by_system: dict[Any, list[Mapping[str, Any]]] = {}
    for result in results:
        by_system.setdefault(result["promptIdx"], []).append(result)
    names = _names_of_prompts({key: own[0] for key, own in by_system.items()})
    metrics = list(dict.fromkeys(name for own in results for name in own.get("namedScores") or {}))
    if any(own.get("score") != float(own["success"]) for own in results if not _is_error(own)):
        metrics.insert(0, "score")
    return [_content_of_prompt(names[key], own, metrics) for key, own in by_system.items()]


def _is_error(result: Mapping[str, Any]) -> bool:
    """True if a result was not graded, because of an error."""
    return bool(
        result.get("failureReason") == ERRORED
        or (result.get("error") and not result.get("gradingResult"))
    )


def _names_of_prompts(first: Mapping[Any, Mapping[str, Any]]) -> dict[Any, str]:
    """A name for each system: its provider, its prompt, or both where neither tells them apart.

    first: a result of each.
    """
    providers: dict[Any, str] = {}
    prompts: dict[Any, str] = {}
    for key, result in first.items():
        provider = result.get("provider") or ""
        if isinstance(provider, Mapping):
            provider = provider.get("label") or provider.get("id")
        providers[key] = str(provider)
        prompt = result.get("prompt") or {}
        label = str(prompt.get("label") or prompt.get("raw") or f"prompt {key}")
        prompts[key] = label if len(label) <= SHORTENED else f"{label[:SHORTENED]}…"
    both = {key: f"{providers[key]}, {prompts[key]}" for key in first}
    for names in (providers, prompts, both):
        if len({*names.values()}) == len(first):
            return names
    return {key: f"{name} ({key})" for key, name in both.items()}


def _content_of_prompt(
    system: str, results: Sequence[Mapping[str, Any]], metrics: Sequence[str]
) -> Content:
    """The results of a prompt and provider. Repetitions of a test are draws, as they have its
    variables and assertions.
    """
    rows: list[Row] = []
    seen: dict[str, list[str]] = {}
    for result in results:
        test = result.get("testCase") or {}
        asked = json.dumps([result.get("vars"), test.get("assert")], sort_keys=True)
        draws = seen.setdefault(asked, [])
        draws.append(str(result["testIdx"]))
        variables = result.get("vars") or {}
        about = {**variables, "question": draws[0], "epoch": str(len(draws))}
        graded = not _is_error(result)
        values = {"success": float(result["success"]), "score": result.get("score")}
        values |= result.get("namedScores") or {}
        for name in ("success", *metrics):
            value = values.get(name) if graded else None
            rows.append({**about, "metric": name, "value": math.nan if value is None else value})
    return Content(
        model=system,
        task="promptfoo",
        rows=rows,
        best=dict.fromkeys(("success", *metrics), "high"),
        left={"results with an error": sum(map(_is_error, results))},
        texts={draws[0]: asked for asked, draws in seen.items()},
    )


def _refuse(path: Path, **facts: str) -> Content:
    """Refuse a file of a run that has no samples."""
    raise InputError(roles_of.sentence("only_means", **facts))


@dataclass(frozen=True)
class LogKind:
    """A harness: the name of its log, how files of each suffix begin, and what reads one, which may
    hold several systems.
    """

    name: str
    begins: Mapping[str, bytes]
    read: Callable[[Path], Content | Sequence[Content]]

    def holds(self, path: Path) -> bool:
        """Whether a file is such a log."""
        if (pattern := self.begins.get(plain(path).suffix.lower())) is None:
            return False
        with unpacked(path) as file:
            return bool(re.match(pattern, file.read(HEAD)))


LM_EVAL, HELM = "lm-evaluation-harness", "HELM"
ONLY_RESULTS = partial(_refuse, kind=LM_EVAL, files="samples_*.jsonl (option --log_samples)")
ONLY_STATS = partial(_refuse, kind=HELM, files="per_instance_stats.json")
KINDS = (
    LogKind(
        "Inspect", {ARCHIVE: b"", ".json": rb'\s*\{\s*"version":\s*\d+,\s*"status":'}, _inspect
    ),
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
