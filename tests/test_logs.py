"""Evaluation logs: one set of answers has one result in all formats; a bad log is refused in a line
that names it.
"""

import gzip
import json
import re
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import made_logs
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evalkit.arrays import InputError, ParameterError
from evalkit.pages import significance_page
from evalkit.studies import significance

SAME = ["first", "second", "difference", "low", "high", "p", "adjusted", "n", "verdict"]
TABLE = made_logs.answers()


def read(folder, **given):
    return significance.read(folder, **given)


def told(study):
    return {
        finding.kind.code: finding.message for finding in significance_page.every_finding(study)
    }


@pytest.fixture
def logs(tmp_path):
    made_logs.inspect(tmp_path / "logs", TABLE)
    return tmp_path / "logs"


# One set of answers -------------------------------------------------------------------------------


def of_table(table=TABLE):
    """The study of the plain table, whose questions are named with their task."""
    return significance.read(
        table.assign(question=table["task"] + " " + table["question"]).drop(columns="subject")
    )


@pytest.mark.parametrize("kind", made_logs.WRITERS)
def test_every_format_gives_the_same_numbers(tmp_path, kind):
    made_logs.WRITERS[kind](tmp_path / "logs", TABLE)
    study = read(tmp_path / "logs")
    plain = of_table()
    pd.testing.assert_frame_equal(study.comparisons[SAME], plain.comparisons[SAME])
    columns = ["system", "value", "low", "high", "n"]
    pd.testing.assert_frame_equal(study.estimates[columns], plain.estimates[columns])
    assert "about such questions (adjusted p" in significance_page.PIECES[1](study).text
    tasks = significance.claims(study).drop(columns=["system"])
    pd.testing.assert_frame_equal(tasks, significance.claims(plain).drop(columns=["system"]))
    assert len({*study.data.tasks}) == 2
    assert study.by_segment["difference"].is_monotonic_decreasing
    assert (significance.logged(study)["why"] == "").all()
    assert "equal those computed from their rows" in told(study)["EK129"]


@pytest.mark.parametrize(
    "given", [{"method": 93}, {"method": zipfile.ZIP_STORED}, {"samples": True}]
)
def test_archives_of_every_method_are_read(tmp_path, logs, given):
    made_logs.inspect(tmp_path / "other", TABLE, **given)
    pd.testing.assert_frame_equal(read(tmp_path / "other").comparisons, read(logs).comparisons)


@pytest.mark.parametrize("kind", ["inspect_json", "lm_eval", "helm"])
def test_packed_logs_are_read_as_plain_ones(tmp_path, kind):
    made_logs.WRITERS[kind](tmp_path, TABLE)
    plain = read(tmp_path)
    for path in list(tmp_path.rglob("*.json*")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    packed = read(tmp_path)
    pd.testing.assert_frame_equal(packed.comparisons, plain.comparisons)
    pd.testing.assert_frame_equal(significance.logged(packed), significance.logged(plain))


def test_epochs_are_draws(tmp_path):
    table = made_logs.answers(epochs=3)
    made_logs.inspect(tmp_path / "logs", table)
    study = read(tmp_path / "logs", metrics="pass@1,pass^3")
    plain = significance.read(
        table.assign(question=table["task"] + table["question"]).drop(columns="subject"),
        metrics="pass@1,pass^3",
    )
    pd.testing.assert_frame_equal(study.comparisons[SAME], plain.comparisons[SAME])
    columns = ["units", "draws", "between", "within", "error"]
    pd.testing.assert_frame_equal(
        significance.variation(study)[columns], significance.variation(plain)[columns]
    )
    assert significance.logged(study)["why"].eq("").all()


def test_metadata_can_name_the_clusters(logs):
    study = read(logs, unit="subject")
    assert (study.unit_name, study.unit_count) == ("subject", 3)
    assert read(logs, claim="such tasks").unit_name == "task"


def test_a_field_with_a_value_for_each_question_names_no_clusters(logs):
    def number(files):
        for place, row in enumerate(files["summaries.json"]):
            row["metadata"]["author"] = f"author {place}"

    for path in sorted(logs.iterdir()):
        changed(logs, number, path.name)
    assert read(logs, unit="subject").unit_name == "subject"
    with pytest.raises(InputError, match="author"):
        read(logs, unit="author")


def test_a_model_with_two_logs_of_a_task_is_two_systems(tmp_path):
    for folder in ("plain", "thinking"):
        made_logs.inspect(tmp_path / folder, TABLE[TABLE["model"] == "new"])
    study = read([tmp_path / "plain", tmp_path / "thinking"])
    assert study.systems == ("new (plain)", "new (thinking)")
    assert "new (plain), new (thinking)" in told(study)["EK120"]


def test_a_model_with_two_logs_of_only_one_of_its_tasks_is_compared_with_others_alone(logs):
    shutil.copy(logs / "2026_one_new.eval", logs / "2027_one_new.eval")
    study = read(logs)
    assert len(study.uncompared) == 2
    assert len(study.comparisons) == 4
    assert len(read(logs, baseline="old").comparisons) == 3


@pytest.mark.parametrize("kind", ["lm_eval", "helm"])
def test_means_without_samples_are_refused_with_what_to_read_instead(tmp_path, kind):
    getattr(made_logs, kind)(tmp_path / "run", TABLE)
    files, instead = {
        "lm_eval": ("results_*.json", "samples_"),
        "helm": ("stats.json", "per_instance_"),
    }[kind]
    for path in (tmp_path / "run").rglob(files):
        with pytest.raises(
            InputError,
            match=rf"{path.name}: this file holds only .*; read its samples .*: {instead}",
        ):
            read(path)
    assert len(read(tmp_path / "run").systems) == 2


def test_two_files_with_one_stem_are_two_systems(logs):
    path = logs / "2026_one_new.eval"
    with zipfile.ZipFile(path) as archive:
        files = {part: json.loads(archive.read(part)) for part in archive.namelist()}
    path.with_suffix(".json").write_text(
        json.dumps(files["header.json"] | {"samples": files["summaries.json"]})
    )
    study = read([path, path.with_suffix(".json")])
    assert study.systems == ("new (2026_one_new.eval)", "new (2026_one_new.json)")


def test_documents_of_inspect_are_found_in_folders_below(tmp_path):
    for folder in ("first", "second"):
        made_logs.inspect_json(tmp_path / folder, TABLE[TABLE["model"] == "new"])
    assert read(tmp_path).systems == ("new (first)", "new (second)")
    made_logs.inspect_json(tmp_path, TABLE[TABLE["model"] == "old"])
    assert read(tmp_path).systems == ("new (first)", "new (second)", "old")


# What logs state ----------------------------------------------------------------------------------


def changed(logs, change, name="2026_one_new.eval"):
    """Write a log again with its header and summaries changed."""
    path = logs / name
    with zipfile.ZipFile(path) as archive:
        files = {part: json.loads(archive.read(part)) for part in archive.namelist()}
    change(files)
    path.write_bytes(made_logs.archive(files, zipfile.ZIP_DEFLATED))


def test_a_file_of_samples_that_was_cut_short_is_told(tmp_path):
    made_logs.lm_eval(tmp_path / "logs", TABLE)
    path = tmp_path / "logs" / "new" / f"samples_one_{made_logs.DATE}.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:5]) + "\n")
    study = read(tmp_path / "logs")
    assert "new on one: 5 of 20" in told(study)["EK128"]
    path.with_name(path.name.replace("_one_", "_two_")).unlink()
    assert re.search(
        "tasks of the results without samples in .*samples_one.*: 1",
        told(read(path.parent))["EK118"],
    )
    row = significance.logged(study).set_index(["system", "task"]).loc[("new", "one")]
    assert row["why"] == "the rows are of 5 of 20 questions"
    assert "15" in told(study)["EK231"]


@pytest.mark.parametrize(
    "metric, value, reducer, why",
    [
        ("accuracy", 0.9, "mode", "the log takes the mode, not the mean"),
        ("accuracy", 0.9, "mean", "the log's mean differs from that of its scores"),
        ("stderr", 0.5, "mean", "its standard error is another one, of clusters or a bootstrap"),
        ("stderr", "uncorrected", "mean", "its standard error divides by n, not by n − 1"),
        ("stderr", "rows", "mean", "its standard error counts each draw as a question"),
    ],
)
def test_why_a_log_states_another_number(tmp_path, metric, value, reducer, why):
    table = made_logs.answers(tasks=("one",), epochs=2)
    made_logs.inspect(tmp_path, table)
    own = table[table["model"] == "new"]["value"]
    means = table[table["model"] == "new"].groupby("question")["value"].mean()
    value = {"uncorrected": means.std(ddof=0) / 20**0.5, "rows": made_logs.standard_error(own)}.get(
        value, value
    )

    def change(files):
        score = files["header.json"]["results"]["scores"][0]
        score["metrics"][metric]["value"], score["reducer"] = value, reducer

    changed(tmp_path, change)
    study = read(tmp_path)
    frame = significance.logged(study)
    assert frame[frame["why"] != ""][["system", "why"]].to_numpy().tolist() == [["new", why]]
    assert (
        "1 of 2 means and standard errors that the logs state differs from" in told(study)["EK129"]
    )


def test_questions_twice_and_samples_without_a_score_are_told(logs):
    def change(files):
        rows = files["summaries.json"]
        rows[1]["input"] = rows[0]["input"]
        rows.append(rows[2])
        rows[3].pop("scores")

    changed(logs, change)
    study = read(logs)
    log = "2026_one_new.eval: 1"
    assert re.search(f"questions with the text of another one in .*{log}", told(study)["EK119"])
    assert re.search(
        f"answers of a question, epoch and metric that come again in .*{log}", told(study)["EK119"]
    )
    assert re.search(f"samples without a score in .*{log}", told(study)["EK118"])
    assert study.estimates.set_index("system").loc["new", "n"] == 39


@pytest.mark.parametrize("characters, same", [(900, True), (2000, False)])
def test_texts_that_a_log_may_have_shortened_are_not_the_same_question(logs, characters, same):
    def begin_alike(files):
        for row in files["summaries.json"][:2]:
            row["input"] = "x" * characters

    changed(logs, begin_alike)
    assert ("questions with the text of another one" in told(read(logs)).get("EK119", "")) is same


def test_samples_to_run_are_those_of_all_epochs(tmp_path):
    made_logs.inspect(tmp_path, made_logs.answers(epochs=2))

    def plan(files):
        names = [f"q{question}" for question in range(25)]
        files["header.json"]["eval"]["dataset"] = {"sample_ids": names}
        files["header.json"]["results"] = None

    changed(tmp_path, plan)
    assert re.search("samples not run in .*one_new.eval: 10", told(read(tmp_path))["EK118"])


def test_the_test_split_is_read_wherever_it_stands(tmp_path):
    made_logs.helm(tmp_path, TABLE)
    first = read(tmp_path).estimates
    for path in tmp_path.rglob("per_instance_stats.json"):
        path.write_text(json.dumps(json.loads(path.read_text())[::-1]))
    pd.testing.assert_frame_equal(read(tmp_path).estimates, first)


def test_a_statistic_of_no_answer_is_no_score(tmp_path):
    made_logs.helm(tmp_path, TABLE[TABLE["task"] == "one"])
    for path in tmp_path.rglob("per_instance_stats.json"):
        first, *others = json.loads(path.read_text())
        for statistic in first["stats"]:
            statistic |= {"count": 0, "mean": 0.0}
        path.write_text(json.dumps([first, *others]))
    assert read(tmp_path).estimates["n"].tolist() == [19, 19]


def results_of(folder):
    """The files of results of lm-evaluation-harness, with their content."""
    return {path: json.loads(path.read_text()) for path in folder.rglob("results_*")}


def test_a_metric_of_which_less_is_better_is_said_by_the_log(tmp_path):
    made_logs.lm_eval(tmp_path, TABLE, metric="steps")
    for path, results in results_of(tmp_path).items():
        results["higher_is_better"] = {task: {"steps": False} for task in ("one", "two")}
        path.write_text(json.dumps(results))
    assert read(tmp_path).primary.metric.best == "low"


def test_answers_of_two_filters_are_two_metrics(tmp_path):
    made_logs.lm_eval(tmp_path, TABLE)
    for path in tmp_path.rglob("samples_*"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        strict = [line | {"filter": "strict", "acc": 0.0} for line in lines]
        path.write_text("\n".join(map(json.dumps, lines + strict)))
    values = read(tmp_path).estimates.set_index(["metric", "system"])["value"]
    mean = TABLE.loc[TABLE["model"] == "new", "value"].mean()
    assert values["acc", "new"] == pytest.approx(mean)
    assert values["acc strict", "new"] == 0


def test_the_questions_that_results_state_are_those_that_were_asked(tmp_path):
    made_logs.lm_eval(tmp_path, TABLE)
    for path, results in results_of(tmp_path).items():
        for number in results["n-samples"].values():
            number["original"] = 100
        path.write_text(json.dumps(results))
    study = read(tmp_path)
    assert significance.logged(study)["why"].eq("").all()
    assert "EK128" not in told(study)


def test_other_splits_and_perturbed_instances_are_left_out(tmp_path):
    made_logs.helm(tmp_path, TABLE)
    left = told(read(tmp_path))["EK118"]
    assert re.search("perturbed instances in .*per_instance_stats.json: 1", left)
    assert re.search("instances not of the split test in .*per_instance_stats.json: 1", left)


def test_letters_numbers_and_dicts_are_scores(logs):
    def change(files):
        for row, value in zip(files["summaries.json"], ["P", "N", 0.25, True, "0.5"], strict=False):
            row["scores"]["match"]["value"] = value

    for name in ("2026_one_new.eval", "2026_one_old.eval"):
        changed(logs, change, name)
    values = read(logs).data.values["match", "new"].numerator
    assert {0.5, 0.25}.issubset(values)


# Bad logs -----------------------------------------------------------------------------------------


def cut(path):
    path.write_bytes(path.read_bytes()[:-300])


def without_scores(path):
    changed(
        path.parent, lambda files: [row.pop("scores") for row in files["summaries.json"]], path.name
    )


def unfinished(path):
    changed(path.parent, lambda files: files.pop("header.json"), path.name)


def odd(path):
    changed(path.parent, lambda files: files["header.json"].pop("eval"), path.name)


def words(path):
    changed(
        path.parent,
        lambda files: files["summaries.json"][4]["scores"]["match"].update(value="fine"),
        path.name,
    )


@pytest.mark.parametrize(
    "spoil, says",
    [
        (
            cut,
            "this log of Inspect cannot be read, it may have been cut or have an unknown form: "
            "BadZipFile",
        ),
        (unfinished, r"a log must hold samples, got none \(status 'started'\)"),
        (
            odd,
            "this log of Inspect cannot be read, it may have been cut or have an unknown form: "
            "KeyError: 'eval'",
        ),
        (words, r"a score must be a number, C, I, P or N, got 'fine' \(sample q4\)"),
    ],
)
def test_a_bad_log_is_refused_in_one_line_that_names_it(logs, spoil, says):
    spoil(logs / "2026_one_new.eval")
    with pytest.raises(InputError, match=f"2026_one_new.eval: {says}") as error:
        read(logs)
    assert "\n" not in str(error.value)


def test_a_log_without_scores_is_left_out_beside_others_and_refused_alone(logs):
    without_scores(logs / "2026_one_new.eval")
    study = read(logs)
    assert re.search("all of .*2026_one_new.eval, which has no score", told(study)["EK118"])
    assert study.estimates.set_index("system").loc["new", "n"] == 20
    with pytest.raises(
        InputError, match=r"2026_one_new.eval: a log must hold scores, got 20 questions without one"
    ):
        read(logs / "2026_one_new.eval")


def test_samples_that_were_not_run_or_scored_are_told(logs, tmp_path):
    def stop(files):
        files["header.json"] |= {"status": "error", "results": {"scores": [], "total_samples": 25}}
        files["summaries.json"][3]["scores"]["match"]["value"] = None

    changed(logs, stop)
    left = told(read(logs))["EK118"]
    assert re.search(
        r"samples not run \(status error\) in .*one_new.eval: 5, samples without a score in .*: 1",
        left,
    )
    changed(
        logs,
        lambda files: files["header.json"]["eval"].update(dataset={"sample_ids": list("abcd") * 6}),
    )
    changed(logs, lambda files: files["header.json"].update(results=None))
    assert "one_new.eval: 4, samples without" in told(read(logs))["EK118"]

    made_logs.lm_eval(tmp_path / "lm", TABLE)
    path = tmp_path / "lm" / "new" / f"samples_one_{made_logs.DATE}.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"acc": [1, 0]}), *others]))
    assert re.search(
        "samples without a score in .*samples_one.*: 1", told(read(tmp_path / "lm"))["EK118"]
    )


def test_results_of_another_date_are_not_those_of_a_file(tmp_path):
    made_logs.lm_eval(tmp_path, TABLE[TABLE["model"] == "new"])
    path = next(tmp_path.glob("new/results_*"))
    path.write_text(path.read_text().replace('"new"', '"other"'))
    assert read(tmp_path).systems == ("other",)
    path.rename(path.with_name("results_2024-01-01T00-00-00.000000.json"))
    assert read(tmp_path).systems == ("new",)


def test_cut_samples_and_documents_are_refused(tmp_path):
    made_logs.lm_eval(tmp_path / "lm", TABLE)
    path = tmp_path / "lm" / "new" / f"samples_one_{made_logs.DATE}.jsonl"
    path.write_text(path.read_text()[:-40])
    with pytest.raises(
        InputError,
        match=r"samples_one_.*: line 20 is no whole JSON object; the file may have been cut",
    ):
        read(tmp_path / "lm")
    made_logs.inspect_json(tmp_path / "json", TABLE)
    path = tmp_path / "json" / "2026_one_new.json"
    path.write_text(path.read_text()[:-40])
    with pytest.raises(
        InputError,
        match=r"2026_one_new.json: this log of Inspect cannot be read, it may have been cut",
    ):
        read(tmp_path / "json")


def test_logs_of_other_questions_are_not_compared(tmp_path):
    table = TABLE[(TABLE["model"] == "new") == (TABLE["task"] == "one")]
    made_logs.inspect(tmp_path, table)
    assert read(tmp_path).uncompared == [("new", "old")]


def test_ids_of_any_script_stay_what_they_are(tmp_path):
    names = {f"q{i}": f"Ä{i} 问题 🙂" for i in range(20)}
    made_logs.inspect(tmp_path, TABLE.assign(question=TABLE["question"].map(names)))
    assert "one Ä3 问题 🙂" in read(tmp_path).data.ids.to_pylist()


# What a claim covers ------------------------------------------------------------------------------


SIZES = (3, 9, 4, 12, 2, 6, 5)


def of_tasks(sizes=SIZES):
    """The task of each question, and values that vary between tasks and within."""
    rng = np.random.default_rng(5)
    task = np.repeat(np.arange(len(sizes)), sizes)
    return task, rng.normal(0, 1, len(task)) + rng.normal(0, 1, len(sizes))[task]


def inside(task, values):
    """The variance of each task's mean, s² / n."""
    return np.array(
        [np.var(values[task == t], ddof=1) / (task == t).sum() for t in np.unique(task)]
    )


@pytest.mark.parametrize("covers", ["such questions", "such tasks"])
def test_standard_errors_of_pooled_means_are_cluster_robust(covers):
    task, values = of_tasks()
    cluster = task if covers == "such tasks" else None
    mean = significance.mean_by(values, cluster=cluster)
    group = np.arange(len(task)) if cluster is None else task
    sums = pd.Series(values - values.mean()).groupby(group).sum()
    groups = len(sums)
    expected = ((sums**2).sum() * groups / (groups - 1)) ** 0.5 / len(task)
    assert mean.error == pytest.approx(expected, rel=1e-12)
    assert (mean.value, mean.freedom) == (pytest.approx(values.mean()), groups - 1)


def test_the_macro_mean_of_such_tasks_is_the_mean_of_their_means():
    task, values = of_tasks()
    means = np.array([values[task == t].mean() for t in range(7)])
    mean = significance.mean_by(values, cluster=task, tasks=task)
    assert mean.error == pytest.approx(means.std(ddof=1) / 7**0.5, rel=1e-12)
    assert (mean.value, mean.freedom) == (pytest.approx(means.mean()), 6)


@pytest.mark.parametrize("sizes", [SIZES, (2, 2, 2, 2), (5, 5), (2,), (40, 2)])
def test_the_macro_mean_of_the_same_tasks_is_stratified_by_task(sizes):
    task, values = of_tasks(sizes)
    mean = significance.mean_by(values, tasks=task)
    error = inside(task, values).sum() ** 0.5 / len(sizes)
    assert mean.error == pytest.approx(error, rel=1e-12)
    assert mean.uncorrected == pytest.approx(
        sum(np.var(values[task == t]) / n for t, n in enumerate(sizes)) ** 0.5 / len(sizes)
    )


def test_its_degrees_of_freedom_are_those_of_welch_and_satterthwaite():
    task, values = of_tasks()
    part = inside(task, values)
    least = part.sum() ** 2 / sum(part**2 / (np.array(SIZES) + 1)) - 2
    assert significance.mean_by(values, tasks=task).freedom == pytest.approx(least)


def test_a_task_with_one_question_takes_the_mean_variance_of_the_others():
    task, values = of_tasks((4, 3, 1, 1))
    squares = inside(task[:7], values[:7]) * [4, 3]
    error = (squares @ [1 / 4, 1 / 3] + 2 * squares.mean()) ** 0.5 / 4
    assert significance.mean_by(values, tasks=task).error == pytest.approx(error, rel=1e-12)


def test_tasks_with_one_question_each_have_no_error():
    task, values = of_tasks((1, 1, 1))
    mean = significance.mean_by(values, tasks=task)
    assert np.isnan([mean.error, mean.uncorrected, mean.p_value, mean.interval(0.95).low]).all()


def test_documents_within_tasks_are_the_clusters_of_each_task():
    task, values = of_tasks((6, 6, 8))
    document = np.arange(20) // 2
    mean = significance.mean_by(values, cluster=document, tasks=task)
    pairs = values.reshape(-1, 2).mean(axis=1)
    error = inside(task[::2], pairs).sum() ** 0.5 / 3
    assert mean.error == pytest.approx(error, rel=1e-12)


def test_users_who_answer_every_task_are_one_sample():
    task = np.repeat(np.arange(3), 8)
    user = np.tile(np.arange(8), 3)
    values = np.random.default_rng(2).normal(0, 1, 24) + task
    mean = significance.mean_by(values, cluster=user, tasks=task)
    by_user = values.reshape(3, 8).mean(axis=0)
    assert mean.error == pytest.approx(by_user.std(ddof=1) / 8**0.5, rel=1e-12)
    assert mean.freedom == 7


def test_subjects_of_several_tasks_bring_their_tasks_along():
    task, values = of_tasks()
    subject = task // 2
    mean = significance.mean_by(values, cluster=subject, tasks=task)
    means = np.array([values[task == t].mean() for t in range(7)])
    sums = np.bincount(np.arange(7) // 2, means - means.mean())
    assert mean.error == pytest.approx((sums @ sums * 4 / 3) ** 0.5 / 7, rel=1e-12)


def of_few(questions=2):
    """A table of answers of two models, with so many questions of each of four tasks."""
    rng = np.random.default_rng(4)
    task = np.repeat(list("wxyz"), questions)
    names = {"question": np.arange(len(task)).astype(str), "task": task}
    return pd.DataFrame(names | {name: rng.normal(0, 1, len(task)) for name in ("new", "old")})


def test_the_page_says_what_stands_for_tasks_with_one_question():
    table = of_few().iloc[1:]
    html = significance_page.claims(significance.read(table)).html
    assert "1 task with a single question" in html


def test_the_page_says_that_tasks_with_one_question_each_have_no_error():
    html = significance_page.claims(significance.read(of_few(1))).html
    assert "macro means of these same tasks have no standard error" in html


@pytest.mark.parametrize(("systems", "what"), [("new", "value"), ("new,old", "verdict")])
def test_a_claim_is_about_a_verdict_only_where_systems_are_compared(systems, what):
    study = significance.read(of_few(9), systems=systems)
    assert f"The {what} is about such questions" in significance_page.verdict(study).text


def test_the_claim_of_the_page_says_whose_limits_stand_beside_it():
    text = significance_page.claims(significance.read(of_few(9), systems="new")).text
    assert "such questions (the claim of this page; limits here by t)" in text


def test_of_these_questions_only_draws_vary(tmp_path):
    table = made_logs.answers(epochs=4)
    made_logs.inspect(tmp_path, table)
    study = read(tmp_path, claim="these questions", metrics="pass@1,pass^2")
    variance = (
        table.groupby(["model", "task", "question"])["value"].var().groupby("model").mean() / 4 / 40
    )
    error = variance.sum() ** 0.5
    row = study.comparisons.iloc[0]
    assert row["high"] - row["low"] == pytest.approx(2 * stats.t.ppf(0.975, 2 * 40 * 3) * error)
    assert (
        significance.claims(study)
        .set_index(["mean", "claim"])
        .loc[("pooled", "these questions"), "made"]
    )
    assert study.unit_name == "question"
    assert all(piece(study) is not None for piece in significance_page.PIECES)


@pytest.mark.parametrize(
    "given, says",
    [
        ({"claim": "these questions"}, "needs several draws of each, the input has one"),
        ({"claim": "such tasks", "unit": "subject"}, "takes tasks as units, without unit"),
        (
            {"claim": "such models"},
            "claim must be one of such questions, such tasks, these questions",
        ),
    ],
)
def test_claims_that_cannot_be_made(logs, given, says):
    with pytest.raises(ParameterError, match=says):
        read(logs, **given)


def test_claims_need_a_column_of_tasks():
    with pytest.raises(ParameterError, match="needs a column task; unit=NAME takes another one"):
        significance.read(TABLE.drop(columns=["task", "subject"]), claim="such tasks")


def promptfoo_result(prompt, test, *, passed, **more):
    """A result as promptfoo writes it."""
    return {
        "promptIdx": prompt,
        "testIdx": test,
        "testCase": {"vars": {"q": test}, "assert": [{"type": "equals", "value": "x"}]},
        "provider": {"id": "openai:m", "label": ""},
        "prompt": {"raw": f"{prompt}: {{{{q}}}}", "label": f"prompt {prompt}"},
        "vars": {"q": test},
        "error": None,
        "success": passed,
        "score": float(passed),
        "gradingResult": {"pass": passed},
        "namedScores": {},
        "failureReason": int(not passed),
        **more,
    }


PROMPTFOO = [promptfoo_result(p, t, passed=(t + p) % 3 != 0) for p in range(2) for t in range(8)]


def promptfoo(folder, results, name="results.json"):
    """The file of results."""
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(result)}\n" for result in results))
    else:
        path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}))
    return path


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_prompts_of_promptfoo_are_systems(tmp_path, name):
    study = read(promptfoo(tmp_path, PROMPTFOO, name))
    values = study.estimates.set_index("system")["value"]
    assert dict(values) == {"prompt 0": 5 / 8, "prompt 1": 6 / 8}


def test_repetitions_of_promptfoo_are_draws(tmp_path):
    again = [{**result, "testIdx": result["testIdx"] + 8} for result in PROMPTFOO]
    assert set(read(promptfoo(tmp_path, PROMPTFOO + again)).estimates["n"]) == {8}


def test_results_of_promptfoo_with_an_error_are_left_out(tmp_path):
    failed = promptfoo_result(
        1, 8, passed=False, error="timeout", gradingResult=None, failureReason=2
    )
    study = read(promptfoo(tmp_path, [*PROMPTFOO, promptfoo_result(0, 8, passed=True), failed]))
    assert dict(study.estimates.set_index("system")["n"]) == {"prompt 0": 9, "prompt 1": 8}
    assert any("results with an error" in text for text in study.findings["message"])


def test_results_of_promptfoo_with_an_error_count_as_wrong_where_the_user_says_so(tmp_path):
    failed = promptfoo_result(
        1, 8, passed=False, error="timeout", gradingResult=None, failureReason=2
    )
    results = [*PROMPTFOO, promptfoo_result(0, 8, passed=True), failed]
    study = read(promptfoo(tmp_path, results), errored="wrong")
    estimates = study.estimates.set_index("system")
    assert dict(estimates["n"]) == {"prompt 0": 9, "prompt 1": 9}
    assert estimates.loc["prompt 1", "value"] == pytest.approx(6 / 9)
    assert "EK118" not in told(study)
    assert re.search("count as wrong: 1 in .*results.json", told(study)["EK136"])


@pytest.mark.parametrize("write", [made_logs.inspect, made_logs.inspect_json])
def test_samples_of_inspect_with_an_error_count_as_wrong_where_the_user_says_so(
    tmp_path, write, monkeypatch
):
    sample = made_logs.sample

    def failing(row, name):
        """A sample that ended with an error if it is the first one of a log, else as it is."""
        content = sample(row, name)
        if row["question"] == "q0":
            content |= {"scores": None, "error": {"message": "timeout"}}
        return content

    monkeypatch.setattr(made_logs, "sample", failing)
    write(tmp_path / "logs", TABLE)
    wrong = read(tmp_path / "logs", errored="wrong")
    expected = of_table(TABLE.assign(value=TABLE["value"].where(TABLE["question"] != "q0", 0.0)))
    columns = ["system", "value", "low", "high", "n"]
    pd.testing.assert_frame_equal(wrong.estimates[columns], expected.estimates[columns])
    assert set(read(tmp_path / "logs").estimates["n"]) == {38}


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (made_logs.lm_eval, "does not tell which answers had an error"),
        (made_logs.helm, "does not tell which answers had an error"),
        (lambda folder, table: table.to_csv(folder), "only for evaluation logs"),
    ],
)
def test_errors_count_as_wrong_only_where_logs_tell_them(tmp_path, write, message):
    write(tmp_path / "logs", TABLE)
    with pytest.raises(ParameterError, match=f"errored: .*{message}"):
        read(tmp_path / "logs", errored="wrong")


def test_an_error_is_not_wrong_where_lower_values_are_better(tmp_path, monkeypatch):
    sample = made_logs.sample
    header = made_logs.header

    def failing(row, name):
        """A sample that ended with an error."""
        content = sample(row, name)
        if row["epoch"] > 1:
            content |= {"scores": {}, "error": "timeout"}
        return content

    def without_accuracy(*about):
        """A header of which no metric says that higher values are better."""
        content = header(*about)
        for score in content["results"]["scores"]:
            score["metrics"] = {"mean": score["metrics"]["accuracy"]}
        return content

    monkeypatch.setattr(made_logs, "sample", failing)
    monkeypatch.setattr(made_logs, "header", without_accuracy)
    made_logs.inspect(tmp_path / "logs", made_logs.answers(epochs=2), name="perplexity")
    with pytest.raises(ParameterError, match="errored: lower values of perplexity are better"):
        read(tmp_path / "logs", errored="wrong")


def test_the_recipe_of_the_docs_reads_results_of_deepeval():
    page = Path(__file__).parent.parent / "docs" / "inputs.md"
    recipe = {}
    exec(re.search(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)[1], recipe)
    results = [
        SimpleNamespace(name=f"t{i}", metrics_data=[SimpleNamespace(name="Bias", score=i / 8)])
        for i in range(8)
    ]
    table = pd.DataFrame(recipe["rows"]("a", results) + recipe["rows"]("b", results))
    assert set(read(table).estimates["system"]) == {"a", "b"}
