"""Made evaluation logs: one set of answers as Inspect, lm-evaluation-harness and HELM write them,
and as a table.
"""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

DATE = "2026-01-02T03-04-05.678901"
SUBJECTS = ("law", "maths", "art")


def answers(models=("new", "old"), tasks=("one", "two"), questions=20, epochs=1):
    """A table of model, task, question, epoch, value 0 or 1 and subject; the first model is a
    little better.
    """
    rng = np.random.default_rng(11)
    rows = [
        {"model": m, "task": t, "question": f"q{q}", "epoch": e, "subject": SUBJECTS[q % 3]}
        for m in models
        for t in tasks
        for q in range(questions)
        for e in range(1, epochs + 1)
    ]
    table = pd.DataFrame(rows)
    chance = 0.55 + 0.2 * (table["model"] == models[0]) - 0.2 * (table["task"] == tasks[-1])
    return table.assign(value=(rng.random(len(table)) < chance).astype(float))


def logs_of(table):
    """The rows of each model and task."""
    return table.groupby(["model", "task"], sort=False)


def standard_error(values):
    return float(values.std(ddof=1) / len(values) ** 0.5)


def inspect(folder, table, *, name="match", method=zipfile.ZIP_DEFLATED, samples=False):
    """A log a model and task: a zip archive with summaries, or with the samples alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for (model, task), own in logs_of(table):
        files = {"header.json": header(model, task, own, name)}
        rows = [sample(row, name) for row in own.to_dict("records")]
        if samples:
            files |= {f"samples/{row['id']}_epoch_{row['epoch']}.json": row for row in rows}
        else:
            files["summaries.json"] = rows
        (folder / f"2026_{task}_{model}.eval").write_bytes(archive(files, method))


def inspect_json(folder, table, name="match"):
    """The same as one document each."""
    folder.mkdir(parents=True, exist_ok=True)
    for (model, task), own in logs_of(table):
        rows = [sample(row, name) for row in own.to_dict("records")]
        document = header(model, task, own, name) | {"samples": rows}
        (folder / f"2026_{task}_{model}.json").write_text(json.dumps(document))


def header(model, task, own, name):
    means = own.groupby("question")["value"].mean()
    metrics = {"accuracy": means.mean(), "stderr": standard_error(means)}
    scores = {
        "name": name,
        "scorer": name,
        "reducer": "mean",
        "scored_samples": len(means),
        "params": {},
    }
    scores["metrics"] = {key: {"name": key, "value": value} for key, value in metrics.items()}
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": task, "model": model, "config": {"epochs": int(own["epoch"].max())}},
        "results": {"scores": [scores]},
    }


def sample(row, name):
    return {
        "id": row["question"],
        "epoch": row["epoch"],
        "input": f"{row['task']} {row['question']}?",
        "metadata": {"subject": row["subject"], "nested": {"a": 1}},
        "scores": {name: {"value": "C" if row["value"] else "I"}},
    }


def archive(files, method):
    """A zip archive; of method 93, which zipfile cannot write, with members that are zstd
    frames.
    """
    target = io.BytesIO()
    zstd = method == 93
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED if zstd else method) as out:
        for name, content in files.items():
            data = json.dumps(content).encode()
            out.writestr(name, pa.compress(data, "zstd", asbytes=True) if zstd else data)
    packed = bytearray(target.getvalue())
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)) if zstd else ():
        place = packed.find(mark)
        while place >= 0:
            packed[place + at] = method
            place = packed.find(mark, place + 4)
    return bytes(packed)


def lm_eval(folder, table, metric="acc"):
    """A folder a model, with a file of samples a task and one of results."""
    for model, own in table.groupby("model", sort=False):
        place = Path(folder) / model
        place.mkdir(parents=True)
        results = {"results": {}, "n-samples": {}, "higher_is_better": {}, "model_name": model}
        for task, rows in own.groupby("task", sort=False):
            stated = {
                f"{metric},none": rows["value"].mean(),
                f"{metric}_stderr,none": standard_error(rows["value"]),
            }
            results["results"][task] = {"alias": task} | stated
            results["n-samples"][task] = {"original": len(rows), "effective": len(rows)}
            results["higher_is_better"][task] = {metric: True}
            lines = [line(row, metric) for row in rows.to_dict("records")]
            (place / f"samples_{task}_{DATE}.jsonl").write_text(
                "\n".join(map(json.dumps, lines)) + "\n"
            )
        (place / f"results_{DATE}.json").write_text(json.dumps(results))


def line(row, metric):
    return {
        "doc_id": row["question"],
        "doc": {"subject": row["subject"], "text": "long " * 50},
        "target": "x",
        "resps": [["x"]],
        "filter": "none",
        "metrics": [metric],
        "doc_hash": f"{row['task']} {row['question']}",
        metric: row["value"],
    }


def helm(folder, table, metric="exact_match"):
    """A folder a run of model and task, with perturbed instances and one of another split
    beside.
    """
    for (model, task), own in logs_of(table):
        place = Path(folder) / f"{task}:subject=all,model={model}"
        place.mkdir(parents=True)
        rows = [instance(row["question"], row["value"], metric) for row in own.to_dict("records")]
        rows.append(instance("other", 1.0, metric, split="valid"))
        rows.append(instance("q0", 0.0, metric) | {"perturbation": {"name": "typos"}})
        spec = {"name": place.name, "adapter_spec": {"model": model}}
        stats = [
            {"name": {"name": metric, "split": "test"}, "count": 1, "mean": own["value"].mean()}
        ]
        for name, content in (("per_instance_stats", rows), ("run_spec", spec), ("stats", stats)):
            (place / f"{name}.json").write_text(json.dumps(content))


def instance(question, value, metric, split="test"):
    names = {metric: value, "num_prompt_tokens": 300, "inference_runtime": 0.1}
    stats = [
        {"name": {"name": name, "split": split}, "count": 1, "mean": value}
        for name, value in names.items()
    ]
    return {"instance_id": question, "train_trial_index": 0, "stats": stats}


WRITERS = {"inspect": inspect, "inspect_json": inspect_json, "lm_eval": lm_eval, "helm": helm}
