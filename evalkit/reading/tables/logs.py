"""Evaluation logs of language models as tables of values: one row per question, epoch and metric.

Inspect's `.eval` and `.json`, lm-evaluation-harness's `samples_*.jsonl` beside `results_*.json`, and HELM's
`per_instance_stats.json` beside `run_spec.json` and `stats.json`. What a log states of itself, such as its mean and
standard error, stands beside the rows.
"""

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from evalkit.arrays import InputError
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import File, Frames, Part, stamp
from evalkit.system import plain, unpacked

COLUMNS = ("model", "task", "question", "epoch", "metric", "value")
ARCHIVE = ".eval"
NAMED = (f"*{ARCHIVE}", "samples_*.jsonl", "per_instance_stats.json")  # logs, as harnesses call them
HEAD = 1 << 16  # bytes by which a file is known
NAMES = 5  # logs that a finding names
WHOLE = 1_000  # characters of a question's text that a log surely has not shortened
SHORT = 80  # characters up to which a field beside a question may name a group of questions
ZSTD = 93  # the method of a zip's member that Python reads from 3.14 on


@dataclass(frozen=True)
class Stated:
    """What a log states of a metric: its mean and standard error over so many questions; NaN and 0 where it does not.

    reducer: how it makes one value of the draws of a question.
    """

    metric: str
    mean: float
    error: float = math.nan
    questions: int = 0
    reducer: str = "mean"


@dataclass(frozen=True)
class Answer:
    """A row of a log. beside: further fields of the question."""

    question: str
    epoch: str
    metric: str
    value: float
    beside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Content:
    """What a log holds. best: which values of a metric are better. left: what is left out, and how many of it.

    texts: of each question what tells its text from others'.
    """

    model: str
    task: str
    answers: Sequence[Answer]
    stated: Sequence[Stated] = ()
    best: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def twice(self) -> dict[str, int]:
        """What comes more than once, and how often."""
        rows = {(of.question, of.epoch, of.metric) for of in self.answers}
        return {
            "questions with the text of another one": len(self.texts) - len({*self.texts.values()}),
            "answers of a question, epoch and metric that come again": len(self.answers) - len(rows),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Log(File):
    """A log, as an Arrow table. system: what its model is called in the report."""

    table: Any
    content: Content
    system: str

    @classmethod
    def of(cls, path: Path, where: str, content: Content) -> "Log":
        """The log; raises InputError where it has no score."""
        import pyarrow as pa

        answers = content.answers
        if all(math.isnan(answer.value) for answer in answers):
            raise roles_of.refused(where, "no_scores", questions=len(content.texts))
        table: dict[str, Any] = {name: [getattr(content, name)] * len(answers) for name in ("model", "task")}
        table |= {name: [getattr(of, name) for of in answers] for name in ("question", "epoch", "metric")}
        table["value"] = pa.array([of.value for of in answers], pa.float64(), from_pandas=True)
        table |= {name: [_text(of.beside.get(name)) for of in answers] for name in _groups(answers)}
        about: dict[str, Any] = {"content": content, "system": content.model, "path": path, "stamp": stamp(path)}
        return cls(name=where, columns=tuple(table), table=pa.table(table), **about)

    @property
    def counted(self) -> int:
        return len(self.table)

    @property
    def directions(self) -> Mapping[str, str]:
        return self.content.best

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> tuple[str, Frames]:
        return frame, {frame: self.table}

    def among(self, system: str, columns: Sequence[str], *, tasks: bool) -> "Log":
        """The log beside others: with their columns, its system's name, and questions named with their task."""
        import pyarrow as pa

        table = {name: self.table[name] for name in self.columns} | {"model": pa.array([system] * len(self.table))}
        if tasks:
            table["question"] = pa.array([f"{self.content.task} {name}" for name in table["question"].to_pylist()])
        every = {name: table.get(name, pa.nulls(len(self.table), pa.string())) for name in columns}
        return replace(self, columns=tuple(columns), table=pa.table(every), system=system)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _groups(answers: Sequence[Answer]) -> list[str]:
    """The fields beside the questions that may name groups of them: short in all, and fewer than the questions."""
    values: dict[str, set[str]] = {}
    for answer in answers:
        for name, value in answer.beside.items():
            if name.lower() not in COLUMNS and value is not None:
                values.setdefault(name, set()).add(str(value) if isinstance(value, str | int | bool) else "x" * SHORT)
    most = len({answer.question for answer in answers})
    return [name for name, own in values.items() if len(own) < max(most, 2) and all(len(v) < SHORT for v in own)]


def compared(parts: Sequence[Part]) -> list[Part]:
    """Logs with the same columns and a name for each system; other parts, which they cannot stand beside, as they are.

    A model with several logs of a task is one system per folder, or where these have one name too per file.
    """
    logs = [part for part in parts if isinstance(part, Log)]
    if len(logs) < len(parts):
        return list(parts)
    columns = list(dict.fromkeys([*COLUMNS, *(name for log in logs for name in log.columns)]))
    tasks = len({log.content.task for log in logs}) > 1
    names = _systems(logs)
    return [log.among(name, columns, tasks=tasks) for log, name in zip(logs, names, strict=True)]


def stated(parts: Sequence[Part]) -> dict[tuple[str, str, str], Stated]:
    """What logs state, by system, task and metric."""
    logs = [part for part in parts if isinstance(part, Log)]
    return {(log.system, log.content.task, of.metric): of for log in logs for of in log.content.stated}


def findings(parts: Sequence[Part]) -> Iterator[Finding]:
    """What is left out of logs, what comes in them more than once, and which systems are called after their logs."""
    logs = [part for part in parts if isinstance(part, Log)]
    left = {log.name: log.content.left for log in logs}
    twice = {log.name: log.content.twice for log in logs}
    for kind, counts in ((kinds.LEFT_OUT_OF_LOGS, left), (kinds.REPEATED_QUESTIONS, twice)):
        if some := [f"{what} in {log}: {n:,}" for log, own in counts.items() for what, n in own.items() if n]:
            yield kind.warning(len(some), what=roles_of.listed(some, NAMES))
    renamed = sorted({log.system for log in logs if log.system != log.content.model})
    if renamed:
        yield kinds.SYSTEMS_OF_LOGS.note(len(renamed), systems=roles_of.listed(renamed, NAMES))


FORMS: Sequence[Callable[[Log], str]] = (  # what a system can be called after, the first that tells its logs apart
    lambda log: log.content.model,
    lambda log: f"{log.content.model} ({log.path.absolute().parent.name})",
    lambda log: f"{log.content.model} ({plain(log.path).stem})",
)


def _systems(logs: Sequence[Log]) -> list[str]:
    """The name of each log's system: its model, with the folder or the file of models that have several logs a task."""
    names = []
    for log in logs:
        own = [other for other in logs if other.content.model == log.content.model]
        apart = (form for form in FORMS if len({(form(other), other.content.task) for other in own}) == len(own))
        names.append(next(apart, FORMS[-1])(log))
    return names


# Which files are logs -------------------------------------------------------------------------------------------------


def opened(path: Path, where: str) -> Log | None:
    """The log in a file, None where it holds none; raises InputError with one line for a log that cannot be read."""
    kind = next((kind for kind in KINDS if kind.holds(path)), None)
    if kind is None:
        return None
    try:
        content = kind.read(path)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise roles_of.refused(where, "cut_log", kind=kind.name, reason=str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        reason = f"{type(error).__name__}: {error}"[:SHORT]
        raise roles_of.refused(where, "odd_log", kind=kind.name, reason=reason) from None
    return Log.of(path, where, content)


def inside(folder: Path) -> list[Path]:
    """The logs in a folder and in those below it, as harnesses name them; beside them Inspect's `.json`."""
    every = [path for path in folder.rglob("*") if path.is_file()]
    named = {path for path in every if any(fnmatch(plain(path).name, pattern) for pattern in NAMED)}
    return sorted(named | {path for path in every if named and path.parent == folder and KINDS[0].holds(path)})


def _loaded(path: Path) -> Any:
    """The content of a JSON document."""
    with unpacked(path) as stream:
        return json.load(stream)


# Inspect --------------------------------------------------------------------------------------------------------------

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partly correct, no answer
MEANS, ERRORS = ("accuracy", "mean"), ("stderr", "clustered_stderr")
SUMMARIES = ("summaries.json", "_journal/summaries/", "samples/")  # where samples stand, the shortest first


def _inspect(path: Path) -> Content:
    header, samples = _document(path) if plain(path).suffix.lower() == ".json" else _archive(path)
    scores = (header.get("results") or {}).get("scores") or []
    names = dict.fromkeys(name for sample in samples for name in sample.get("scores") or {})
    answers = [answer for sample in samples for answer in _answers(sample, names)]
    unscored = sum(not sample.get("scores") for sample in samples)
    asked = {f"{sample['id']}": json.dumps(sample.get("input")) for sample in samples}
    asked = {name: text if len(text) < WHOLE else name for name, text in asked.items()}
    return Content(
        model=header["eval"]["model"],
        task=header["eval"]["task"].rpartition("/")[2],
        answers=answers,
        stated=[stated for of in scores if (stated := _stated(of, header))],
        best={_name(of): "high" for of in scores if "accuracy" in of["metrics"]},
        left={"samples without a score": unscored} if names else {},
        texts=asked,
    )


def _answers(sample: Mapping[str, Any], names: Iterable[str]) -> Iterator[Answer]:
    """The scores of a sample; NaN for those that others have and it lacks."""
    beside = sample.get("metadata") or {}
    for name in names or ("score",):
        value = ((sample.get("scores") or {}).get(name) or {}).get("value")
        several = value if isinstance(value, dict) else {"": value}
        for key, score in several.items():
            metric = f"{name}/{key}" if key else name
            number = _score(score, f"{sample['id']}")
            yield Answer(f"{sample['id']}", f"{sample.get('epoch', 1)}", metric, number, beside)


def _score(value: Any, sample: str) -> float:
    """The number of a score, as Inspect's own mean has it."""
    number = LETTERS.get(value, value) if isinstance(value, str) else math.nan if value is None else value
    try:
        return float(number)
    except (TypeError, ValueError):
        got = f"{value!r}"[:SHORT]
        raise InputError(f"a score must be a number, C, I, P or N, got {got} (sample {sample})") from None


def _stated(score: Mapping[str, Any], header: Mapping[str, Any]) -> Stated | None:
    """What the log states of a score, where one of its metrics is a mean."""
    metrics = {name: metric["value"] for name, metric in score["metrics"].items()}
    mean = next((metrics[name] for name in MEANS if name in metrics), None)
    if not isinstance(mean, int | float):
        return None
    error = next((metrics[name] for name in ERRORS if isinstance(metrics.get(name), int | float)), math.nan)
    usual = (header["eval"].get("config") or {}).get("epochs_reducer") or ["mean"]
    return Stated(_name(score), mean, error, score.get("scored_samples") or 0, score.get("reducer") or usual[0])


def _name(score: Mapping[str, Any]) -> str:
    """What a score of the results is called among samples: its scorer, with the key of a scorer that has several."""
    scorer = score.get("scorer") or score["name"]
    return str(scorer if score["name"] == scorer else f"{scorer}/{score['name']}")


def _document(path: Path) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """The header and the samples of a log in one document."""
    log = _loaded(path)
    if not log.get("samples"):
        raise InputError(roles_of.sentence("unfinished", status=log.get("status")))
    return log, log["samples"]


def _archive(path: Path) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """The header and the samples of a log in a zip archive; of these their summaries if it has any."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "header.json" not in names:
            raise InputError(roles_of.sentence("unfinished", status="started"))
        found = ([name for name in names if name.startswith(start)] for start in SUMMARIES)
        documents = [json.loads(_member(archive, name)) for name in next(filter(None, found), [])]
        samples = [one for some in documents for one in (some if isinstance(some, list) else [some])]
        return json.loads(_member(archive, "header.json")), samples


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a member, which may be compressed by zstd."""
    import pyarrow as pa

    info, file = archive.getinfo(name), archive.fp
    if info.compress_type != ZSTD or file is None:
        return archive.read(info)
    file.seek(info.header_offset + 26)  # the lengths of the name and of the extra field, which follow the fixed header
    lengths = file.read(4)
    file.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1)
    with pa.CompressedInputStream(pa.BufferReader(file.read(info.compress_size)), "zstd") as stream:
        return bytes(stream.read())


# lm-evaluation-harness ------------------------------------------------------------------------------------------------

OF_SAMPLES = re.compile(r"samples_(?P<task>.*?)(_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?")
NO_METRICS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash"),
}


def _lm_eval(path: Path) -> Content:
    match = OF_SAMPLES.fullmatch(plain(path).stem)
    task, date = (match["task"], match["date"] or "") if match else (plain(path).stem, "")
    results, filters = _results(path.parent, date), set[str]()
    answers, texts = list[Answer](), dict[str, str]()
    for line in _lines(path):
        question, chosen = str(line["doc_id"]), line.get("filter", "none")
        filters.add(chosen)
        texts[question] = line.get("doc_hash") or question
        beside = line["doc"] if isinstance(line["doc"], dict) else {}
        for name in line.get("metrics") or [name for name in line if name not in NO_METRICS]:
            if isinstance(value := line.get(name), int | float):
                answers.append(Answer(question, "1", _filtered(name, chosen), float(value), beside))
    higher = _within(results, "higher_is_better", task)
    return Content(
        model=results.get("model_name") or _within(results, "config").get("model") or path.absolute().parent.name,
        task=task,
        answers=answers,
        stated=list(_stated_by(results, task)),
        best={_filtered(name, of): "high" if higher[name] else "low" for name in higher for of in filters},
        texts=texts,
    )


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
                raise InputError(f"line {number} is no whole JSON object; the file may have been cut") from None


def _results(folder: Path, date: str) -> Mapping[str, Any]:
    """The results of the same run: those of its date, or the only ones in the folder; nothing if there are none."""
    files = sorted(path for path in folder.glob("results*") if plain(path).suffix == ".json")
    own = [path for path in files if date and date in path.name] or files
    return _loaded(own[0]) if len(own) == 1 else {}


def _stated_by(results: Mapping[str, Any], task: str) -> Iterator[Stated]:
    """What the results state of the metrics of a task."""
    own, questions = _within(results, "results", task), _within(results, "n-samples", task).get("effective") or 0
    made = _within(results, "configs", task).get("metric_list") or []
    ways = {of["metric"]: str(of.get("aggregation") or "mean") for of in made}
    for name, mean in own.items():
        metric, _, chosen = name.partition(",")
        if chosen and not metric.endswith("_stderr") and isinstance(mean, int | float):
            error = own.get(f"{metric}_stderr,{chosen}")
            error = error if isinstance(error, int | float) else math.nan
            yield Stated(_filtered(metric, chosen), mean, error, questions, ways.get(metric, "mean"))


# HELM -----------------------------------------------------------------------------------------------------------------

TOLD = (  # statistics of prompts and runs
    *("num_*", "training_*", "inference_*", "finish_reason_*", "prompt_*", "batch_size", "max_prob", "logprob"),
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
    answers = [
        Answer(str(of["instance_id"]), str(of["train_trial_index"]), stat["name"]["name"], float(stat["mean"]))
        for of, stat in every
        if stat["name"].get("split") == split and stat.get("count")
    ]
    others = {str(of["instance_id"]) for of, _ in every} - {answer.question for answer in answers}
    return Content(
        model=(spec.get("adapter_spec") or {}).get("model") or name.rpartition("model=")[2],
        task=re.sub(r",?(model|model_deployment)=[^,]*", "", name),
        answers=answers,
        stated=list(_stated_in(_beside(path, "stats.json", []), split)),
        left={"perturbed instances": len(instances) - len(whole), f"instances not of the split {split}": len(others)},
    )


def _beside(path: Path, name: str, otherwise: Any) -> Any:
    """The document of this name in the folder of a file."""
    file = next((file for file in path.parent.glob(f"{name}*") if plain(file).name == name), None)
    return _loaded(file) if file else otherwise


def _is_score(name: Mapping[str, Any]) -> bool:
    """Whether a statistic scores an answer, and does not describe the prompt or the run."""
    return not name.get("perturbation") and not any(fnmatch(name["name"], pattern) for pattern in TOLD)


def _stated_in(stats: Iterable[Mapping[str, Any]], split: str | None) -> Iterator[Stated]:
    """What the statistics of the run state of a split."""
    for stat in stats:
        if stat["name"].get("split") == split and _is_score(stat["name"]) and "mean" in stat:
            yield Stated(stat["name"]["name"], float(stat["mean"]))


@dataclass(frozen=True)
class Kind:
    """A harness: the name of its log, how files of each suffix begin, and what reads one."""

    name: str
    begins: Mapping[str, bytes]
    read: Callable[[Path], Content]

    def holds(self, path: Path) -> bool:
        """Whether a file is such a log."""
        if (pattern := self.begins.get(plain(path).suffix.lower())) is None:
            return False
        with unpacked(path) as file:
            return bool(re.match(pattern, file.read(HEAD)))


KINDS = (
    Kind("Inspect", {ARCHIVE: b"", ".json": rb'\s*\{\s*"version":\s*\d+,\s*"status":'}, _inspect),
    Kind("lm-evaluation-harness", {".jsonl": rb'\s*\{\s*"doc_id":\s*[^,]+,\s*"doc":'}, _lm_eval),
    Kind("HELM", {".json": rb'\s*\[\s*\{\s*"instance_id":'}, _helm),
)
