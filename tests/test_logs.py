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

COMPARED = ["first", "second", "difference", "low", "high", "p", "adjusted", "n", "verdict"]
ESTIMATED = ["system", "value", "low", "high", "n"]
TABLE = made_logs.answers()  # models new and old, tasks one and two, 20 questions a task: q0 to q19


def read(folder, **parameters):
    return significance.read(folder, **parameters)


def findings_by_code(study):
    """The message of each finding, such as EK118: answers left out, by its code."""
    return {
        finding.kind.code: finding.message for finding in significance_page.every_finding(study)
    }


@pytest.fixture
def logs(tmp_path):
    """A folder with four logs of Inspect: 2026_TASK_MODEL.eval, each of 20 questions."""
    made_logs.inspect(tmp_path / "logs", TABLE)
    return tmp_path / "logs"


# One set of answers -------------------------------------------------------------------------------


def read_as_table(table, **parameters):
    """The study of a plain table in place of logs. Questions are named with their task, as logs
    name them: both tasks have a question q0.
    """
    named = table.assign(question=table["task"] + " " + table["question"])
    return significance.read(named.drop(columns="subject"), **parameters)


def assert_same_estimates_and_comparisons(study, expected):
    pd.testing.assert_frame_equal(study.comparisons[COMPARED], expected.comparisons[COMPARED])
    pd.testing.assert_frame_equal(study.estimates[ESTIMATED], expected.estimates[ESTIMATED])


@pytest.fixture(params=made_logs.WRITERS)
def study_of_each_format(tmp_path, request):
    """The study of the same answers, written as logs of each format in turn."""
    write = made_logs.WRITERS[request.param]
    write(tmp_path / "logs", TABLE)
    return read(tmp_path / "logs")


def test_every_format_gives_the_numbers_of_the_plain_table(study_of_each_format):
    plain = read_as_table(TABLE)
    assert_same_estimates_and_comparisons(study_of_each_format, plain)
    claims = significance.claims(study_of_each_format).drop(columns=["system"])
    pd.testing.assert_frame_equal(claims, significance.claims(plain).drop(columns=["system"]))


def test_every_format_names_the_task_of_each_question(study_of_each_format):
    assert len({*study_of_each_format.data.tasks}) == 2
    assert study_of_each_format.by_segment["difference"].is_monotonic_decreasing
    verdict = significance_page.verdict(study_of_each_format).text
    assert "about such questions (adjusted p" in verdict


def test_the_means_that_logs_of_every_format_state_are_those_of_their_rows(study_of_each_format):
    """`why` says why a stated number differs from the one that is computed, and is empty."""
    assert (significance.logged(study_of_each_format)["why"] == "").all()
    message = findings_by_code(study_of_each_format)["EK129"]
    assert "equal those computed from their rows" in message


@pytest.mark.parametrize(
    "written",
    [{"method": 93}, {"method": zipfile.ZIP_STORED}, {"samples": True}],
    ids=["zstd", "stored", "a file of each sample in place of summaries"],
)
def test_archives_of_every_method_are_read(tmp_path, logs, written):
    made_logs.inspect(tmp_path / "other", TABLE, **written)
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


def test_epochs_of_a_log_are_draws_of_a_question(tmp_path):
    table = made_logs.answers(epochs=3)
    made_logs.inspect(tmp_path / "logs", table)
    study = read(tmp_path / "logs", metrics="pass@1,pass^3")
    plain = read_as_table(table, metrics="pass@1,pass^3")
    pd.testing.assert_frame_equal(study.comparisons[COMPARED], plain.comparisons[COMPARED])
    columns = ["units", "draws", "between", "within", "error"]
    pd.testing.assert_frame_equal(
        significance.variation(study)[columns], significance.variation(plain)[columns]
    )
    assert significance.logged(study)["why"].eq("").all()


def test_metadata_can_name_the_clusters(logs):
    study = read(logs, unit="subject")
    assert (study.unit_name, study.unit_count) == ("subject", 3)  # law, maths and art
    assert read(logs, claim="such tasks").unit_name == "task"


def test_a_field_with_a_value_for_each_question_names_no_clusters(logs):
    def number(files):
        for place, row in enumerate(files["summaries.json"]):
            row["metadata"]["author"] = f"author {place}"

    for path in sorted(logs.iterdir()):
        rewrite_log(logs, number, path.name)
    assert read(logs, unit="subject").unit_name == "subject"
    with pytest.raises(InputError, match="author"):
        read(logs, unit="author")


def test_a_model_with_two_logs_of_a_task_is_two_systems(tmp_path):
    for folder in ("plain", "thinking"):
        made_logs.inspect(tmp_path / folder, TABLE[TABLE["model"] == "new"])
    study = read([tmp_path / "plain", tmp_path / "thinking"])
    assert study.systems == ("new (plain)", "new (thinking)")
    assert "new (plain), new (thinking)" in findings_by_code(study)["EK120"]


def test_a_model_with_two_logs_of_only_one_of_its_tasks_is_compared_with_others_alone(logs):
    shutil.copy(logs / "2026_one_new.eval", logs / "2027_one_new.eval")
    study = read(logs)
    # four systems: "new" of task two, "new" of either log of task one, and "old". Of the six pairs,
    # "new" of task two has no question in common with either of task one.
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


def rewrite_log(logs, change, name="2026_one_new.eval"):
    """Write a log again after `change` of its files: {"header.json", "summaries.json"}."""
    path = logs / name
    with zipfile.ZipFile(path) as archive:
        files = {part: json.loads(archive.read(part)) for part in archive.namelist()}
    change(files)
    path.write_bytes(made_logs.archive(files, zipfile.ZIP_DEFLATED))


def samples_path(folder, task, model="new"):
    """The path of a file of samples that `made_logs.lm_eval` has written into a folder."""
    return folder / model / f"samples_{task}_{made_logs.DATE}.jsonl"


def test_a_file_with_fewer_samples_than_the_results_state_is_reported(tmp_path):
    made_logs.lm_eval(tmp_path, TABLE)
    path = samples_path(tmp_path, "one")
    first_5_of_20 = path.read_text().splitlines()[:5]
    path.write_text("\n".join(first_5_of_20) + "\n")
    study = read(tmp_path)
    assert "new on one: 5 of 20" in findings_by_code(study)["EK128"]
    row = significance.logged(study).set_index(["system", "task"]).loc[("new", "one")]
    assert row["why"] == "the rows are of 5 of 20 questions"
    # the other 15 have no value of the new model, and are left out
    assert "15" in findings_by_code(study)["EK231"]


def test_a_task_of_the_results_without_a_file_of_samples_is_reported(tmp_path):
    made_logs.lm_eval(tmp_path, TABLE)
    samples_path(tmp_path, "two").unlink()
    assert re.search(
        "tasks of the results without samples in .*samples_one.*: 1",
        findings_by_code(read(tmp_path / "new"))["EK118"],
    )


TWO_EPOCHS = made_logs.answers(tasks=("one",), epochs=2)  # 2 draws of each of 20 questions
NEW_IN_TWO_EPOCHS = TWO_EPOCHS[TWO_EPOCHS["model"] == "new"]
MEANS_OF_QUESTIONS = NEW_IN_TWO_EPOCHS.groupby("question")["value"].mean()


@pytest.mark.parametrize(
    "metric, stated, reducer, why",
    [
        ("accuracy", 0.9, "mode", "the log takes the mode, not the mean"),
        ("accuracy", 0.9, "mean", "the log's mean differs from that of its scores"),
        ("stderr", 0.5, "mean", "its standard error is another one, of clusters or a bootstrap"),
        (
            "stderr",
            MEANS_OF_QUESTIONS.std(ddof=0) / 20**0.5,
            "mean",
            "its standard error divides by n, not by n − 1",
        ),
        (
            "stderr",
            made_logs.standard_error(NEW_IN_TWO_EPOCHS["value"]),  # of all 40 rows
            "mean",
            "its standard error counts each draw as a question",
        ),
    ],
    ids=["mode", "another mean", "another error", "divided by n", "error of all draws"],
)
def test_why_a_log_states_another_number(tmp_path, metric, stated, reducer, why):
    made_logs.inspect(tmp_path, TWO_EPOCHS)

    def change(files):
        score = files["header.json"]["results"]["scores"][0]
        score["metrics"][metric]["value"] = stated
        score["reducer"] = reducer

    rewrite_log(tmp_path, change)
    study = read(tmp_path)
    frame = significance.logged(study)
    assert frame[frame["why"] != ""][["system", "why"]].to_numpy().tolist() == [["new", why]]
    assert (
        "1 of 2 means and standard errors that the logs state differs from"
        in findings_by_code(study)["EK129"]
    )


def test_a_question_with_the_text_of_another_one_is_reported(logs):
    def repeat_a_text(files):
        samples = files["summaries.json"]
        samples[1]["input"] = samples[0]["input"]

    rewrite_log(logs, repeat_a_text)
    message = findings_by_code(read(logs))["EK119"]
    assert re.search("questions with the text of another one in .*2026_one_new.eval: 1", message)


def test_a_sample_that_comes_again_is_reported(logs):
    def repeat_a_sample(files):
        samples = files["summaries.json"]
        samples.append(samples[2])

    rewrite_log(logs, repeat_a_sample)
    study = read(logs)
    assert re.search(
        "answers of a question, epoch and metric that come again in .*2026_one_new.eval: 1",
        findings_by_code(study)["EK119"],
    )
    assert study.estimates.set_index("system").loc["new", "n"] == 40  # of two tasks


def test_a_sample_without_a_score_is_reported_and_left_out(logs):
    def remove_a_score(files):
        files["summaries.json"][3].pop("scores")

    rewrite_log(logs, remove_a_score)
    study = read(logs)
    message = findings_by_code(study)["EK118"]
    assert re.search("samples without a score in .*2026_one_new.eval: 1", message)
    assert study.estimates.set_index("system").loc["new", "n"] == 39  # of 40, of two tasks


@pytest.mark.parametrize("characters, same", [(900, True), (2000, False)])
def test_texts_that_a_log_may_have_shortened_are_not_the_same_question(logs, characters, same):
    """A text of more than 1,000 characters may have been shortened; the rest of it may differ."""

    def begin_alike(files):
        for row in files["summaries.json"][:2]:
            row["input"] = "x" * characters

    rewrite_log(logs, begin_alike)
    assert (
        "questions with the text of another one" in findings_by_code(read(logs)).get("EK119", "")
    ) is same


def test_samples_to_run_are_those_of_all_epochs(tmp_path):
    made_logs.inspect(tmp_path, made_logs.answers(epochs=2))  # 20 questions a log, each twice

    def plan_25_questions(files):
        names = [f"q{question}" for question in range(25)]
        files["header.json"]["eval"]["dataset"] = {"sample_ids": names}
        files["header.json"]["results"] = None

    rewrite_log(tmp_path, plan_25_questions)
    # 25 questions in 2 epochs are 50 samples, of which 40 were run
    assert re.search(
        "samples not run in .*one_new.eval: 10", findings_by_code(read(tmp_path))["EK118"]
    )


def test_the_test_split_is_read_wherever_it_stands(tmp_path):
    made_logs.helm(tmp_path, TABLE)
    first = read(tmp_path).estimates
    for path in tmp_path.rglob("per_instance_stats.json"):
        path.write_text(json.dumps(json.loads(path.read_text())[::-1]))
    pd.testing.assert_frame_equal(read(tmp_path).estimates, first)


def test_a_statistic_of_no_answer_is_no_score(tmp_path):
    """A statistic with a count of 0 has measured nothing, and its mean of 0 is no wrong answer."""
    made_logs.helm(tmp_path, TABLE[TABLE["task"] == "one"])
    for path in tmp_path.rglob("per_instance_stats.json"):
        first, *others = json.loads(path.read_text())
        for statistic in first["stats"]:
            statistic |= {"count": 0, "mean": 0.0}
        path.write_text(json.dumps([first, *others]))
    # 20 questions of either model, without the first one
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


def test_a_run_of_a_part_of_the_questions_of_a_task_is_complete(tmp_path):
    """A run with a limit states both the questions of the task ("original", here 100) and those
    that were asked ("effective", 20). All 20 have an answer, so that none is missing.
    """
    made_logs.lm_eval(tmp_path, TABLE)
    for path, results in results_of(tmp_path).items():
        for number_of_questions in results["n-samples"].values():
            number_of_questions["original"] = 100
        path.write_text(json.dumps(results))
    study = read(tmp_path)
    assert significance.logged(study)["why"].eq("").all()
    assert "EK128" not in findings_by_code(study)  # fewer questions than the results state


def test_other_splits_and_perturbed_instances_are_left_out(tmp_path):
    made_logs.helm(tmp_path, TABLE)
    left = findings_by_code(read(tmp_path))["EK118"]
    assert re.search("perturbed instances in .*per_instance_stats.json: 1", left)
    assert re.search("instances not of the split test in .*per_instance_stats.json: 1", left)


@pytest.mark.parametrize(
    ("written", "score"),
    [("C", 1), ("I", 0), ("P", 0.5), ("N", 0), (0.25, 0.25), (True, 1), ("0.5", 0.5)],
    ids=["correct", "incorrect", "partial", "no answer", "number", "boolean", "number as text"],
)
def test_letters_numbers_and_booleans_are_scores(logs, written, score):
    def set_the_first_score(files):
        files["summaries.json"][0]["scores"]["match"]["value"] = written

    rewrite_log(logs, set_the_first_score)
    data = read(logs).data
    first_question = data.ids.to_pylist().index("one q0")
    assert data.values["match", "new"].numerator[first_question] == score


# Bad logs -----------------------------------------------------------------------------------------


def cut_the_end(path):
    path.write_bytes(path.read_bytes()[:-300])


def remove_all_scores(path):
    rewrite_log(
        path.parent, lambda files: [row.pop("scores") for row in files["summaries.json"]], path.name
    )


def remove_the_header(path):
    rewrite_log(path.parent, lambda files: files.pop("header.json"), path.name)


def remove_the_part_eval(path):
    rewrite_log(path.parent, lambda files: files["header.json"].pop("eval"), path.name)


def score_a_sample_in_words(path):
    rewrite_log(
        path.parent,
        lambda files: files["summaries.json"][4]["scores"]["match"].update(value="fine"),
        path.name,
    )


@pytest.mark.parametrize(
    "spoil, says",
    [
        (
            cut_the_end,
            "this log of Inspect cannot be read, it may have been cut or have an unknown form: "
            "BadZipFile",
        ),
        (remove_the_header, r"a log must hold samples, got none \(status 'started'\)"),
        (
            remove_the_part_eval,
            "this log of Inspect cannot be read, it may have been cut or have an unknown form: "
            "KeyError: 'eval'",
        ),
        (
            score_a_sample_in_words,
            r"a score must be a number, C, I, P or N, got 'fine' \(sample q4\)",
        ),
    ],
)
def test_a_bad_log_is_refused_in_one_line_that_names_it(logs, spoil, says):
    spoil(logs / "2026_one_new.eval")
    with pytest.raises(InputError, match=f"2026_one_new.eval: {says}") as error:
        read(logs)
    assert "\n" not in str(error.value)


def test_a_log_without_scores_is_left_out_beside_others_and_refused_alone(logs):
    remove_all_scores(logs / "2026_one_new.eval")
    study = read(logs)
    assert re.search(
        "all of .*2026_one_new.eval, which has no score", findings_by_code(study)["EK118"]
    )
    # the model "new" keeps the 20 questions of task two
    assert study.estimates.set_index("system").loc["new", "n"] == 20
    with pytest.raises(
        InputError, match=r"2026_one_new.eval: a log must hold scores, got 20 questions without one"
    ):
        read(logs / "2026_one_new.eval")


def test_samples_that_a_stopped_run_of_inspect_has_not_reached_are_reported(logs):
    """The results state 25 samples, the log holds 20."""

    def stop(files):
        files["header.json"] |= {"status": "error", "results": {"scores": [], "total_samples": 25}}

    rewrite_log(logs, stop)
    message = findings_by_code(read(logs))["EK118"]
    assert re.search(r"samples not run \(status error\) in .*one_new.eval: 5", message)


def test_samples_of_the_dataset_that_were_not_run_are_reported(logs):
    """There are no results; the dataset has 24 samples, the log holds 20."""

    def stop(files):
        files["header.json"]["eval"]["dataset"] = {"sample_ids": [f"q{i}" for i in range(24)]}
        files["header.json"] |= {"status": "error", "results": None}

    rewrite_log(logs, stop)
    message = findings_by_code(read(logs))["EK118"]
    assert re.search(r"samples not run \(status error\) in .*one_new.eval: 4", message)


def test_a_sample_of_inspect_with_an_empty_score_is_reported(logs):
    def empty_a_score(files):
        files["summaries.json"][3]["scores"]["match"]["value"] = None

    rewrite_log(logs, empty_a_score)
    message = findings_by_code(read(logs))["EK118"]
    assert re.search("samples without a score in .*one_new.eval: 1", message)


def test_a_sample_of_lm_eval_with_two_values_as_its_score_is_reported(tmp_path):
    made_logs.lm_eval(tmp_path, TABLE)
    path = samples_path(tmp_path, "one")
    first, *others = path.read_text().splitlines()
    with_two_values = json.dumps(json.loads(first) | {"acc": [1, 0]})
    path.write_text("\n".join([with_two_values, *others]))
    message = findings_by_code(read(tmp_path))["EK118"]
    assert re.search("samples without a score in .*samples_one.*: 1", message)


def test_samples_take_the_name_of_the_model_from_results_of_their_date_only(tmp_path):
    """Without results of the date in its name, a file of samples is of the model "new", after its
    folder.
    """
    made_logs.lm_eval(tmp_path, TABLE[TABLE["model"] == "new"])
    path = tmp_path / "new" / f"results_{made_logs.DATE}.json"
    path.write_text(path.read_text().replace('"model_name": "new"', '"model_name": "other"'))
    assert read(tmp_path).systems == ("other",)
    path.rename(path.with_name("results_2024-01-01T00-00-00.000000.json"))
    assert read(tmp_path).systems == ("new",)


def test_samples_of_lm_eval_that_end_within_a_line_are_refused(tmp_path):
    made_logs.lm_eval(tmp_path, TABLE)
    path = samples_path(tmp_path, "one")
    path.write_text(path.read_text()[:-40])  # a part of the last line, the 20th
    with pytest.raises(
        InputError,
        match=r"samples_one_.*: line 20 is no whole JSON object; the file may have been cut",
    ):
        read(tmp_path)


def test_a_json_log_of_inspect_that_was_cut_is_refused(tmp_path):
    made_logs.inspect_json(tmp_path, TABLE)
    path = tmp_path / "2026_one_new.json"
    path.write_text(path.read_text()[:-40])
    with pytest.raises(
        InputError,
        match=r"2026_one_new.json: this log of Inspect cannot be read, it may have been cut",
    ):
        read(tmp_path)


def test_logs_of_other_questions_are_not_compared(tmp_path):
    table = TABLE[(TABLE["model"] == "new") == (TABLE["task"] == "one")]
    made_logs.inspect(tmp_path, table)
    assert read(tmp_path).uncompared == [("new", "old")]


def test_ids_of_any_script_stay_what_they_are(tmp_path):
    names = {f"q{i}": f"Ä{i} 问题 🙂" for i in range(20)}
    made_logs.inspect(tmp_path, TABLE.assign(question=TABLE["question"].map(names)))
    assert "one Ä3 问题 🙂" in read(tmp_path).data.ids.to_pylist()


# What a claim covers ------------------------------------------------------------------------------


SEVEN_TASKS = (3, 9, 4, 12, 2, 6, 5)  # the number of questions of each


def tasks_and_values(sizes=SEVEN_TASKS):
    """The task of each question, 0 to len(sizes) - 1, and the values of the questions, which vary
    between tasks and within. sizes: the number of questions of each task.
    """
    rng = np.random.default_rng(5)
    task = np.repeat(np.arange(len(sizes)), sizes)
    return task, rng.normal(0, 1, len(task)) + rng.normal(0, 1, len(sizes))[task]


def variances_of_task_means(task, values):
    """s² / n of the values of each task."""
    return np.array(
        [np.var(values[task == t], ddof=1) / (task == t).sum() for t in np.unique(task)]
    )


@pytest.mark.parametrize("covers", ["such questions", "such tasks"])
def test_standard_errors_of_pooled_means_are_cluster_robust(covers):
    """With G clusters and N questions, √(G / (G − 1) · Σ (sum of a cluster's deviations)²) / N.
    The clusters are the tasks, or each question is one.
    """
    task, values = tasks_and_values()
    cluster = task if covers == "such tasks" else None
    mean = significance.mean_by(values, cluster=cluster)
    cluster_of_question = np.arange(len(task)) if cluster is None else task
    sums = pd.Series(values - values.mean()).groupby(cluster_of_question).sum()
    clusters = len(sums)
    expected = ((sums**2).sum() * clusters / (clusters - 1)) ** 0.5 / len(task)
    assert mean.error == pytest.approx(expected, rel=1e-12)
    assert (mean.value, mean.freedom) == (pytest.approx(values.mean()), clusters - 1)


def test_the_macro_mean_of_such_tasks_is_the_mean_of_their_means():
    task, values = tasks_and_values()
    means = np.array([values[task == t].mean() for t in range(7)])
    mean = significance.mean_by(values, cluster=task, tasks=task)
    assert mean.error == pytest.approx(means.std(ddof=1) / 7**0.5, rel=1e-12)
    assert (mean.value, mean.freedom) == (pytest.approx(means.mean()), 6)


@pytest.mark.parametrize("sizes", [SEVEN_TASKS, (2, 2, 2, 2), (5, 5), (2,), (40, 2)])
def test_the_macro_mean_of_the_same_tasks_is_stratified_by_task(sizes):
    """The error of the mean of the K tasks' means is √(Σ s² / n) / K over tasks of n questions. The
    uncorrected error takes the variance by n where s² divides by n − 1.
    """
    task, values = tasks_and_values(sizes)
    mean = significance.mean_by(values, tasks=task)
    error = variances_of_task_means(task, values).sum() ** 0.5 / len(sizes)
    assert mean.error == pytest.approx(error, rel=1e-12)
    by_n = [np.var(values[task == t], ddof=0) / n for t, n in enumerate(sizes)]
    assert mean.uncorrected == pytest.approx(sum(by_n) ** 0.5 / len(sizes))


def test_degrees_of_freedom_of_a_stratified_mean_are_those_of_welch_and_satterthwaite():
    """In the form with n + 1 in place of n − 1 for each task, and 2 taken off."""
    task, values = tasks_and_values()
    variances = variances_of_task_means(task, values)
    questions = np.array(SEVEN_TASKS)
    freedom = variances.sum() ** 2 / sum(variances**2 / (questions + 1)) - 2
    assert significance.mean_by(values, tasks=task).freedom == pytest.approx(freedom)


def test_a_task_with_one_question_takes_the_mean_variance_of_the_others():
    task, values = tasks_and_values((4, 3, 1, 1))
    of_two_tasks = slice(0, 7)  # 4 + 3 questions
    variances = variances_of_task_means(task[of_two_tasks], values[of_two_tasks]) * [4, 3]  # s²
    # Σ s² / n: the other two tasks have n = 1 and the mean s² of the first two
    error = (variances @ [1 / 4, 1 / 3] + 2 * variances.mean()) ** 0.5 / 4
    assert significance.mean_by(values, tasks=task).error == pytest.approx(error, rel=1e-12)


def test_tasks_with_one_question_each_have_no_error():
    task, values = tasks_and_values((1, 1, 1))
    mean = significance.mean_by(values, tasks=task)
    assert np.isnan([mean.error, mean.uncorrected, mean.p_value, mean.interval(0.95).low]).all()


def test_documents_within_tasks_are_the_clusters_of_each_task():
    """Each document has two questions of one task. So its mean is one independent value, and the
    error is the stratified one, √(Σ s² / n) / 3, of the means of the 3, 3 and 4 documents.
    """
    task, values = tasks_and_values((6, 6, 8))
    document = np.arange(20) // 2
    mean = significance.mean_by(values, cluster=document, tasks=task)
    document_means = values.reshape(-1, 2).mean(axis=1)
    task_of_document = task[::2]
    error = variances_of_task_means(task_of_document, document_means).sum() ** 0.5 / 3
    assert mean.error == pytest.approx(error, rel=1e-12)


def test_users_who_answer_every_task_are_one_sample():
    task = np.repeat(np.arange(3), 8)
    user = np.tile(np.arange(8), 3)
    values = np.random.default_rng(2).normal(0, 1, 24) + task
    mean = significance.mean_by(values, cluster=user, tasks=task)
    by_user = values.reshape(3, 8).mean(axis=0)
    assert mean.error == pytest.approx(by_user.std(ddof=1) / 8**0.5, rel=1e-12)
    assert mean.freedom == 7


def test_subjects_of_several_tasks_are_clusters_of_tasks():
    """Of seven tasks, 0 and 1 are of the first subject, 2 and 3 of the second, and so on: the error
    of the mean of the tasks' means is the cluster-robust one with G = 4 clusters,
    √(G / (G − 1) · Σ (sum of a cluster's deviations)²) / 7.
    """
    task, values = tasks_and_values()
    mean = significance.mean_by(values, cluster=task // 2, tasks=task)
    task_means = np.array([values[task == t].mean() for t in range(7)])
    subject_of_task = np.array([0, 0, 1, 1, 2, 2, 3])
    sums = np.bincount(subject_of_task, task_means - task_means.mean())
    assert mean.error == pytest.approx((4 / 3 * (sums @ sums)) ** 0.5 / 7, rel=1e-12)


def four_tasks(questions=2):
    """A table of answers of two models, with this number of questions of each of four tasks."""
    rng = np.random.default_rng(4)
    task = np.repeat(list("wxyz"), questions)
    names = {"question": np.arange(len(task)).astype(str), "task": task}
    return pd.DataFrame(names | {name: rng.normal(0, 1, len(task)) for name in ("new", "old")})


def test_the_page_says_what_stands_for_tasks_with_one_question():
    table = four_tasks(questions=2).iloc[1:]  # the first task has one question left
    html = significance_page.claims(significance.read(table)).html
    assert "1 task with a single question" in html


def test_the_page_says_that_tasks_with_one_question_each_have_no_error():
    html = significance_page.claims(significance.read(four_tasks(1))).html
    assert "macro means of these same tasks have no standard error" in html


@pytest.mark.parametrize(("systems", "what"), [("new", "value"), ("new,old", "verdict")])
def test_a_claim_is_about_a_verdict_only_where_systems_are_compared(systems, what):
    study = significance.read(four_tasks(9), systems=systems)
    assert f"The {what} is about such questions" in significance_page.verdict(study).text


def test_the_claim_of_the_page_says_whose_limits_stand_beside_it():
    text = significance_page.claims(significance.read(four_tasks(9), systems="new")).text
    assert "such questions (the claim of this page; limits here by t)" in text


def test_a_claim_about_these_questions_takes_its_error_from_the_draws_alone(tmp_path):
    """The 40 questions are fixed, so that only the 4 draws of each vary: a model's mean of all 160
    draws has the variance s² / 160, where s² is the mean of the variances within its questions.
    """
    table = made_logs.answers(epochs=4)
    made_logs.inspect(tmp_path, table)
    study = read(tmp_path, claim="these questions", metrics="pass@1,pass^2")
    within_questions = table.groupby(["model", "task", "question"])["value"].var()
    variance_of_means = within_questions.groupby("model").mean() / (40 * 4)
    error = variance_of_means.sum() ** 0.5  # of the difference of the two models
    freedom = 2 * 40 * (4 - 1)
    pass_1 = study.comparisons.iloc[0]
    half_width = stats.t.ppf(0.975, freedom) * error
    assert pass_1["high"] - pass_1["low"] == pytest.approx(2 * half_width)


def test_the_page_of_a_claim_about_these_questions_marks_it_as_made(tmp_path):
    made_logs.inspect(tmp_path, made_logs.answers(epochs=4))
    study = read(tmp_path, claim="these questions", metrics="pass@1,pass^2")
    claims = significance.claims(study).set_index(["mean", "claim"])
    assert claims.loc[("pooled", "these questions"), "made"]
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


def test_claims_need_a_column_tasks_and_values():
    with pytest.raises(ParameterError, match="needs a column task; unit=NAME takes another one"):
        significance.read(TABLE.drop(columns=["task", "subject"]), claim="such tasks")


def promptfoo_result(prompt, test, *, passed, **fields):
    """The result of a test of a prompt as promptfoo writes it, with these further fields."""
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
        **fields,
    }


# 8 tests of prompts 0 and 1. Prompt 0 fails tests 0, 3 and 6, prompt 1 tests 2 and 5.
PROMPTFOO = [
    promptfoo_result(prompt, test, passed=(test + prompt) % 3 != 0)
    for prompt in range(2)
    for test in range(8)
]
# a ninth test of either prompt: prompt 0 passes, prompt 1 ends with an error
NINTH_TEST = [
    promptfoo_result(prompt=0, test=8, passed=True),
    promptfoo_result(
        prompt=1, test=8, passed=False, error="timeout", gradingResult=None, failureReason=2
    ),
]


def write_promptfoo(folder, results, name="results.json"):
    """Write a file of results of promptfoo and return its path."""
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(result)}\n" for result in results))
    else:
        path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}))
    return path


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_prompts_of_promptfoo_are_systems(tmp_path, name):
    study = read(write_promptfoo(tmp_path, PROMPTFOO, name))
    values = study.estimates.set_index("system")["value"]
    assert dict(values) == {"prompt 0": 5 / 8, "prompt 1": 6 / 8}


def test_repetitions_of_promptfoo_are_draws(tmp_path):
    # promptfoo numbers the tests on, and repeats their variables: 8 questions with 2 draws each
    again = [{**result, "testIdx": result["testIdx"] + 8} for result in PROMPTFOO]
    assert set(read(write_promptfoo(tmp_path, PROMPTFOO + again)).estimates["n"]) == {8}


def test_results_of_promptfoo_with_an_error_are_left_out(tmp_path):
    study = read(write_promptfoo(tmp_path, PROMPTFOO + NINTH_TEST))
    assert dict(study.estimates.set_index("system")["n"]) == {"prompt 0": 9, "prompt 1": 8}
    assert any("results with an error" in text for text in study.findings["message"])


def test_results_of_promptfoo_with_an_error_count_as_wrong_where_the_user_says_so(tmp_path):
    study = read(write_promptfoo(tmp_path, PROMPTFOO + NINTH_TEST), errored="wrong")
    estimates = study.estimates.set_index("system")
    assert dict(estimates["n"]) == {"prompt 0": 9, "prompt 1": 9}
    # prompt 1 passes 6 of the first 8 tests and has an error in the ninth
    assert estimates.loc["prompt 1", "value"] == pytest.approx(6 / 9)
    assert "EK118" not in findings_by_code(study)  # no answer is left out
    assert re.search("count as wrong: 1 in .*results.json", findings_by_code(study)["EK136"])


@pytest.mark.parametrize("write", [made_logs.inspect, made_logs.inspect_json])
def test_samples_of_inspect_with_an_error_count_as_wrong_where_the_user_says_so(
    tmp_path, write, monkeypatch
):
    """The first question of each task, q0, ends with an error."""
    sample = made_logs.sample

    def with_error_in_q0(row, name):
        content = sample(row, name)
        if row["question"] == "q0":
            content |= {"scores": None, "error": {"message": "timeout"}}
        return content

    monkeypatch.setattr(made_logs, "sample", with_error_in_q0)
    write(tmp_path / "logs", TABLE)
    study = read(tmp_path / "logs", errored="wrong")
    wrong_in_q0 = TABLE.assign(value=TABLE["value"].where(TABLE["question"] != "q0", 0.0))
    expected = read_as_table(wrong_in_q0)
    pd.testing.assert_frame_equal(study.estimates[ESTIMATED], expected.estimates[ESTIMATED])
    # by default, q0 is left out of the 20 questions of either task
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
    """The value of a wrong answer is 0, which would be the best perplexity: this is refused."""
    sample = made_logs.sample
    header = made_logs.header

    def with_error_in_second_epoch(row, name):
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

    monkeypatch.setattr(made_logs, "sample", with_error_in_second_epoch)
    monkeypatch.setattr(made_logs, "header", without_accuracy)
    made_logs.inspect(tmp_path / "logs", made_logs.answers(epochs=2), name="perplexity")
    with pytest.raises(ParameterError, match="errored: lower values of perplexity are better"):
        read(tmp_path / "logs", errored="wrong")


def test_the_recipe_of_the_docs_reads_results_of_deepeval():
    page = Path(__file__).parent.parent / "docs" / "inputs.md"
    recipe = {}
    # the recipe, the first block of Python of the page, defines rows(system, results)
    exec(re.search(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)[1], recipe)
    results = [  # test results with the attributes of those of deepeval
        SimpleNamespace(name=f"t{i}", metrics_data=[SimpleNamespace(name="Bias", score=i / 8)])
        for i in range(8)
    ]
    table = pd.DataFrame(recipe["rows"]("a", results) + recipe["rows"]("b", results))
    assert set(read(table).estimates["system"]) == {"a", "b"}
