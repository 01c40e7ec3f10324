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
from made_logs import (
    answers as table_of_answers,
    helm as write_helm_logs,
    inspect as write_inspect_logs,
    inspect_json as write_inspect_json_logs,
    lm_eval as write_lm_eval_logs,
)
from scipy import stats

from evalkit.arrays import InputError, ParameterError
from evalkit.pages import significance_page
from evalkit.studies import significance

# models new and old, tasks one and two, with 20 questions per task, q0 to q19
ANSWERS = table_of_answers()

# codes of findings
LEFT_OUT_OF_LOGS = "EK118"
MORE_THAN_ONCE = "EK119"
SYSTEMS_NAMED_AFTER_LOGS = "EK120"
FEWER_QUESTIONS_THAN_STATED = "EK128"
NUMBERS_THAT_LOGS_STATE = "EK129"
ERRORS_AS_WRONG_ANSWERS = "EK136"
UNDEFINED_VALUES = "EK231"


def study_of(logs, **parameters):
    """The significance study of a folder, a file or a list of files of evaluation logs."""
    return significance.read(logs, **parameters)


def findings_by_code(study):
    """The message of each finding of a study, by the code of its kind, such as EK118."""
    return {
        finding.kind.code: finding.message for finding in significance_page.every_finding(study)
    }


@pytest.fixture
def inspect_logs(tmp_path):
    """A folder with four logs of Inspect: 2026_TASK_MODEL.eval, each of 20 questions."""
    write_inspect_logs(tmp_path / "logs", ANSWERS)
    return tmp_path / "logs"


# One set of answers -------------------------------------------------------------------------------


def study_of_table(table, **parameters):
    """The study of a plain table in place of logs. Questions are named with their task, as logs
    name them: both tasks have a question q0.
    """
    named = table.assign(question=table["task"] + " " + table["question"])
    return significance.read(named.drop(columns="subject"), **parameters)


def assert_same_estimates(study, expected):
    columns = ["system", "value", "low", "high", "n"]
    pd.testing.assert_frame_equal(study.estimates[columns], expected.estimates[columns])


def assert_same_comparisons(study, expected):
    columns = ["first", "second", "difference", "low", "high", "p", "adjusted", "n", "verdict"]
    pd.testing.assert_frame_equal(study.comparisons[columns], expected.comparisons[columns])


@pytest.fixture(params=made_logs.WRITERS)
def study_of_each_format(tmp_path, request):
    """The study of the same answers, written as logs of each format in turn."""
    write = made_logs.WRITERS[request.param]
    write(tmp_path / "logs", ANSWERS)
    return study_of(tmp_path / "logs")


def test_every_format_gives_the_numbers_of_the_plain_table(study_of_each_format):
    """The same answers were written as logs of one of several tools. The study of the logs has the
    numbers of the study of a plain table of these answers; only the names of systems in the claims
    may differ.
    """
    plain = study_of_table(ANSWERS)
    assert_same_estimates(study_of_each_format, plain)
    assert_same_comparisons(study_of_each_format, plain)
    claims = significance.claims(study_of_each_format).drop(columns=["system"])
    pd.testing.assert_frame_equal(claims, significance.claims(plain).drop(columns=["system"]))


def test_every_format_names_the_task_of_each_question(study_of_each_format):
    """The questions of the logs are of two tasks, which are the segments of the study. The
    difference of the systems is given for each of them, the largest first, and the verdict says
    that it is about further questions of these tasks.
    """
    assert len({*study_of_each_format.data.tasks}) == 2
    assert study_of_each_format.by_segment["difference"].is_monotonic_decreasing
    verdict = significance_page.verdict(study_of_each_format).text
    assert "about such questions (adjusted p" in verdict


def test_the_means_that_logs_of_every_format_state_are_those_of_their_rows(study_of_each_format):
    """The same answers were written as logs of one of several tools. `logged` has the means and
    standard errors that the logs state; `why` is the reason why such a number differs from the one
    that is computed from the rows, and is empty here.
    """
    assert (significance.logged(study_of_each_format)["why"] == "").all()
    message = findings_by_code(study_of_each_format)[NUMBERS_THAT_LOGS_STATE]
    assert "equal those computed from their rows" in message


@pytest.mark.parametrize(
    "written",
    [{"method": 93}, {"method": zipfile.ZIP_STORED}, {"samples": True}],
    ids=["zstd", "stored", "a file of each sample in place of summaries"],
)
def test_archives_of_every_method_are_read(tmp_path, inspect_logs, written):
    """A log of Inspect is a zip archive. With another method of compression, or with a file for
    each sample in place of a file of summaries, the comparisons are the same.
    """
    write_inspect_logs(tmp_path / "other", ANSWERS, **written)
    pd.testing.assert_frame_equal(
        study_of(tmp_path / "other").comparisons, study_of(inspect_logs).comparisons
    )


@pytest.mark.parametrize("kind", ["inspect_json", "lm_eval", "helm"])
def test_packed_logs_are_read_as_plain_ones(tmp_path, kind):
    """Logs of this kind are read as they were written, then again with every file compressed by
    gzip. Both studies have the same comparisons, and the same means and standard errors stated by
    the logs (`logged`).
    """
    write_logs = made_logs.WRITERS[kind]
    write_logs(tmp_path, ANSWERS)
    plain = study_of(tmp_path)
    for path in list(tmp_path.rglob("*.json*")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    packed = study_of(tmp_path)
    pd.testing.assert_frame_equal(packed.comparisons, plain.comparisons)
    pd.testing.assert_frame_equal(significance.logged(packed), significance.logged(plain))


def test_epochs_of_a_log_are_draws_of_a_question(tmp_path):
    """Each question is answered in three epochs. The study of the logs has the numbers of the study
    of a plain table with three rows per question, which are three draws of its answer: the
    differences of the models in pass@1 and pass^3 (the probability that all three draws are right),
    and the variation of each model between questions and within them. `logged` gives the reason why
    a mean that the logs state differs from that of their rows: none here.
    """
    table = table_of_answers(epochs=3)
    write_inspect_logs(tmp_path / "logs", table)
    of_logs = study_of(tmp_path / "logs", metrics="pass@1,pass^3")
    of_table = study_of_table(table, metrics="pass@1,pass^3")
    assert_same_comparisons(of_logs, of_table)
    columns = ["units", "draws", "between", "within", "error"]
    pd.testing.assert_frame_equal(
        significance.variation(of_logs)[columns], significance.variation(of_table)[columns]
    )
    assert significance.logged(of_logs)["why"].eq("").all()


def test_metadata_can_name_the_clusters(inspect_logs):
    """The metadata of each sample name its subject: law, maths or art. With this unit the three
    subjects are the clusters; a claim about such tasks has the tasks as clusters.
    """
    study = study_of(inspect_logs, unit="subject")
    assert (study.unit_name, study.unit_count) == ("subject", 3)  # law, maths and art
    assert study_of(inspect_logs, claim="such tasks").unit_name == "task"


def test_a_field_with_a_value_for_each_question_names_no_clusters(inspect_logs):
    """The metadata of a sample names its subject and, here, an author who wrote only this question.
    Questions are clustered by subject with unit="subject". With unit="author" each cluster would be
    a single question, which is refused.
    """

    def give_each_sample_an_author(files):
        for number, sample in enumerate(files["summaries.json"]):
            sample["metadata"]["author"] = f"author {number}"

    for path in inspect_logs.iterdir():
        rewrite_inspect_log(path, give_each_sample_an_author)
    assert study_of(inspect_logs, unit="subject").unit_name == "subject"
    with pytest.raises(InputError, match="author"):
        study_of(inspect_logs, unit="author")


def test_a_model_with_two_logs_of_a_task_is_two_systems(tmp_path):
    """The model new has logs of the same tasks in two folders. Each folder is one system, named
    after the model and the folder, of which a finding tells.
    """
    for folder in ("plain", "thinking"):
        write_inspect_logs(tmp_path / folder, ANSWERS[ANSWERS["model"] == "new"])
    study = study_of([tmp_path / "plain", tmp_path / "thinking"])
    assert study.systems == ("new (plain)", "new (thinking)")
    assert "new (plain), new (thinking)" in findings_by_code(study)[SYSTEMS_NAMED_AFTER_LOGS]


def test_a_model_with_two_logs_of_only_one_of_its_tasks_is_compared_with_others_alone(inspect_logs):
    shutil.copy(inspect_logs / "2026_one_new.eval", inspect_logs / "2027_one_new.eval")
    study = study_of(inspect_logs)
    # the systems are "new" of task two, "new" of either log of task one, and "old"; of their six
    # pairs "new" of task two has no question in common with either of task one
    assert len(study.uncompared) == 2
    assert len(study.comparisons) == 4
    assert len(study_of(inspect_logs, baseline="old").comparisons) == 3


@pytest.mark.parametrize(
    ("write_logs", "files_of_means", "files_of_samples"),
    [
        (write_lm_eval_logs, "results_*.json", "samples_"),
        (write_helm_logs, "stats.json", "per_instance_"),
    ],
    ids=["lm_eval", "helm"],
)
def test_means_without_samples_are_refused_with_what_to_read_instead(
    tmp_path, write_logs, files_of_means, files_of_samples
):
    """Some tools write the means of a run into one file and its samples, with a score for each
    question, into another. A file of means alone is refused, with the name of the files of samples
    beside it. The whole folder is read: it has two systems, the models new and old.
    """
    write_logs(tmp_path / "run", ANSWERS)
    for path in (tmp_path / "run").rglob(files_of_means):
        message = rf"{path.name}: this file holds only .*; read its samples .*: {files_of_samples}"
        with pytest.raises(InputError, match=message):
            study_of(path)
    assert len(study_of(tmp_path / "run").systems) == 2


def test_two_files_with_one_stem_are_two_systems(inspect_logs):
    """The same log of the model new is written as an archive and as a JSON document. A model with
    two logs of a task is two systems, which are named after their files. As these have the same
    stem, the names keep their suffixes.
    """
    path_of_archive = inspect_logs / "2026_one_new.eval"
    path_of_json = inspect_logs / "2026_one_new.json"
    with zipfile.ZipFile(path_of_archive) as archive:
        header = json.loads(archive.read("header.json"))
        samples = json.loads(archive.read("summaries.json"))
    path_of_json.write_text(json.dumps(header | {"samples": samples}))
    study = study_of([path_of_archive, path_of_json])
    assert study.systems == ("new (2026_one_new.eval)", "new (2026_one_new.json)")


def test_documents_of_inspect_are_found_in_folders_below(tmp_path):
    """Logs of the model new lie in two folders below the one that is read, later with logs of the
    model old beside these folders. The systems of the folders are named after them.
    """
    for folder in ("first", "second"):
        write_inspect_json_logs(tmp_path / folder, ANSWERS[ANSWERS["model"] == "new"])
    assert study_of(tmp_path).systems == ("new (first)", "new (second)")
    write_inspect_json_logs(tmp_path, ANSWERS[ANSWERS["model"] == "old"])
    assert study_of(tmp_path).systems == ("new (first)", "new (second)", "old")


# What logs state ----------------------------------------------------------------------------------


def rewrite_inspect_log(path, change):
    """Write a log again after `change` of its files: {"header.json", "summaries.json"}."""
    with zipfile.ZipFile(path) as archive:
        files = {part: json.loads(archive.read(part)) for part in archive.namelist()}
    change(files)
    path.write_bytes(made_logs.archive(files, zipfile.ZIP_DEFLATED))


def path_of_lm_eval_samples(folder, *, task, model):
    """The path of a file of samples that `write_lm_eval_logs` has written into a folder."""
    return folder / model / f"samples_{task}_{made_logs.DATE}.jsonl"


def test_a_file_with_fewer_samples_than_the_results_state_is_reported(tmp_path):
    """The results state 20 questions of task one. Of the model new, the file of samples of this
    task is cut to its first 5 lines.
    """
    write_lm_eval_logs(tmp_path, ANSWERS)
    path = path_of_lm_eval_samples(tmp_path, task="one", model="new")
    first_5_of_20_lines = path.read_text().splitlines()[:5]
    path.write_text("\n".join(first_5_of_20_lines) + "\n")
    study = study_of(tmp_path)
    findings = findings_by_code(study)
    assert "new on one: 5 of 20" in findings[FEWER_QUESTIONS_THAN_STATED]
    new_on_task_one = significance.logged(study).set_index(["system", "task"]).loc[("new", "one")]
    assert new_on_task_one["why"] == "the rows are of 5 of 20 questions"
    # the other 15 questions have no value of the model new
    assert "15" in findings[UNDEFINED_VALUES]


def test_a_task_of_the_results_without_a_file_of_samples_is_reported(tmp_path):
    """The results of the model new are of the tasks one and two. The samples of task two are
    missing, so that 1 task is reported, with the name of the file of samples that is there.
    """
    write_lm_eval_logs(tmp_path, ANSWERS)
    path_of_lm_eval_samples(tmp_path, task="two", model="new").unlink()
    message = findings_by_code(study_of(tmp_path / "new"))[LEFT_OUT_OF_LOGS]
    assert re.search("tasks of the results without samples in .*samples_one.*: 1", message)


TWO_EPOCHS = table_of_answers(tasks=("one",), epochs=2)  # 2 draws of each of 20 questions
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
    """The models new and old answer 20 questions in two epochs each (TWO_EPOCHS); the log of a
    model states its accuracy and the standard error. In the log of new, one of these two (`metric`)
    is changed to the number `stated`, and the name of the function that reduces the epochs of a
    question to one value, to `reducer`. `logged` has a row per model, with both numbers as stated
    and as computed from the answers: only that of new has a reason `why` they differ, so that the
    finding counts 1 of 2.
    """
    write_inspect_logs(tmp_path, TWO_EPOCHS)

    def state_another_number(files):
        (score,) = files["header.json"]["results"]["scores"]
        score["metrics"][metric]["value"] = stated
        score["reducer"] = reducer

    rewrite_inspect_log(tmp_path / "2026_one_new.eval", state_another_number)
    study = study_of(tmp_path)
    (row_with_a_reason,) = significance.logged(study).query("why != ''").to_dict("records")
    assert (row_with_a_reason["system"], row_with_a_reason["why"]) == ("new", why)
    message = findings_by_code(study)[NUMBERS_THAT_LOGS_STATE]
    assert "1 of 2 means and standard errors that the logs state differs from" in message


def test_a_question_with_the_text_of_another_one_is_reported(inspect_logs):
    """One of the four logs, of the model new on task one, has the text of its first question again
    in its second.
    """

    def repeat_a_text(files):
        samples = files["summaries.json"]
        samples[1]["input"] = samples[0]["input"]

    rewrite_inspect_log(inspect_logs / "2026_one_new.eval", repeat_a_text)
    message = findings_by_code(study_of(inspect_logs))[MORE_THAN_ONCE]
    assert re.search("questions with the text of another one in .*2026_one_new.eval: 1", message)


def test_a_sample_that_comes_again_is_reported(inspect_logs):
    """The log of the model new on task one has its third sample twice. The model still has 40
    questions, 20 of either task.
    """

    def repeat_a_sample(files):
        samples = files["summaries.json"]
        samples.append(samples[2])

    rewrite_inspect_log(inspect_logs / "2026_one_new.eval", repeat_a_sample)
    study = study_of(inspect_logs)
    text = "answers of a question, epoch and metric that come again in .*2026_one_new.eval: 1"
    assert re.search(text, findings_by_code(study)[MORE_THAN_ONCE])
    assert study.estimates.set_index("system").loc["new", "n"] == 40


def test_a_sample_without_a_score_is_reported_and_left_out(inspect_logs):
    """The log of the model new on task one has no score of its fourth sample. The model has 40
    questions, 20 of either task, of which 39 are left.
    """

    def remove_a_score(files):
        files["summaries.json"][3].pop("scores")

    rewrite_inspect_log(inspect_logs / "2026_one_new.eval", remove_a_score)
    study = study_of(inspect_logs)
    message = findings_by_code(study)[LEFT_OUT_OF_LOGS]
    assert re.search("samples without a score in .*2026_one_new.eval: 1", message)
    assert study.estimates.set_index("system").loc["new", "n"] == 39


@pytest.mark.parametrize(("characters", "is_reported"), [(900, True), (2000, False)])
def test_texts_that_a_log_may_have_shortened_are_not_the_same_question(
    inspect_logs, characters, is_reported
):
    """Two questions of a log have the same text of so many characters. Logs may shorten texts of
    more than 1,000 characters: the questions may differ in what was cut off. So they are reported
    as the same question only if their text is shorter.
    """

    def give_two_questions_the_same_text(files):
        for sample in files["summaries.json"][:2]:
            sample["input"] = "x" * characters

    rewrite_inspect_log(inspect_logs / "2026_one_new.eval", give_two_questions_the_same_text)
    message = findings_by_code(study_of(inspect_logs)).get(MORE_THAN_ONCE, "")
    assert ("questions with the text of another one" in message) is is_reported


def test_samples_to_run_are_those_of_all_epochs(tmp_path):
    """Each log has 20 questions in two epochs, 40 samples. The log of the model new on task one
    names 25 questions to be run, and so 50 samples, of which 10 are missing. It has no results,
    as if the run had been stopped.
    """
    write_inspect_logs(tmp_path, table_of_answers(epochs=2))

    def plan_25_questions(files):
        names = [f"q{question}" for question in range(25)]
        files["header.json"]["eval"]["dataset"] = {"sample_ids": names}
        files["header.json"]["results"] = None

    rewrite_inspect_log(tmp_path / "2026_one_new.eval", plan_25_questions)
    message = findings_by_code(study_of(tmp_path))[LEFT_OUT_OF_LOGS]
    assert re.search("samples not run in .*one_new.eval: 10", message)


def test_the_test_split_is_read_wherever_it_stands(tmp_path):
    """The files of HELM have instances of several splits. If their order is reversed, the estimates
    are the same: those of the split test.
    """
    write_helm_logs(tmp_path, ANSWERS)
    first = study_of(tmp_path).estimates
    for path in tmp_path.rglob("per_instance_stats.json"):
        path.write_text(json.dumps(json.loads(path.read_text())[::-1]))
    pd.testing.assert_frame_equal(study_of(tmp_path).estimates, first)


def test_a_statistic_of_no_answer_is_no_score(tmp_path):
    """In logs of HELM each question has statistics, with a count and a mean. A statistic with a
    count of 0 has measured nothing, so that its mean of 0 is no wrong answer: the question is left
    out. Here this is the first of 20 questions of either model.
    """
    write_helm_logs(tmp_path, ANSWERS[ANSWERS["task"] == "one"])
    for path in tmp_path.rglob("per_instance_stats.json"):
        first, *others = json.loads(path.read_text())
        for statistic in first["stats"]:
            statistic |= {"count": 0, "mean": 0.0}
        path.write_text(json.dumps([first, *others]))
    assert study_of(tmp_path).estimates["n"].tolist() == [19, 19]


def lm_eval_results_by_path(folder):
    """The files of results of lm-evaluation-harness, with their content."""
    return {path: json.loads(path.read_text()) for path in folder.rglob("results_*")}


def test_a_metric_of_which_less_is_better_is_said_by_the_log(tmp_path):
    """The results of lm-evaluation-harness say for each task whether higher values of a metric are
    better. Here they are not for the metric steps.
    """
    write_lm_eval_logs(tmp_path, ANSWERS, metric="steps")
    for path, results in lm_eval_results_by_path(tmp_path).items():
        results["higher_is_better"] = {task: {"steps": False} for task in ("one", "two")}
        path.write_text(json.dumps(results))
    assert study_of(tmp_path).primary_metric.metric.best == "low"


def test_answers_of_two_filters_are_two_metrics(tmp_path):
    """A filter of lm-evaluation-harness extracts the answer from the output of a model. To the
    lines of each file of samples, which have no filter, the same are added with the filter
    "strict", with which all answers are wrong: this gives a second metric, with the value 0.
    """
    write_lm_eval_logs(tmp_path, ANSWERS)
    for path in tmp_path.rglob("samples_*"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        strict = [line | {"filter": "strict", "acc": 0.0} for line in lines]
        path.write_text("\n".join(map(json.dumps, lines + strict)))
    values = study_of(tmp_path).estimates.set_index(["metric", "system"])["value"]
    mean = ANSWERS.loc[ANSWERS["model"] == "new", "value"].mean()
    assert values["acc", "new"] == pytest.approx(mean)
    assert values["acc strict", "new"] == 0


def test_a_run_of_a_part_of_the_questions_of_a_task_is_complete(tmp_path):
    """A run of lm-evaluation-harness with a limit states both the number of questions of the task
    ("original", here 100) and of those that were asked ("effective", 20). All 20 have an answer, so
    that none is reported as missing, and `logged` has no reason for a difference between the means
    that the results state and those of the samples.
    """
    write_lm_eval_logs(tmp_path, ANSWERS)
    for path, results in lm_eval_results_by_path(tmp_path).items():
        for number_of_questions in results["n-samples"].values():
            number_of_questions["original"] = 100
        path.write_text(json.dumps(results))
    study = study_of(tmp_path)
    assert significance.logged(study)["why"].eq("").all()
    assert FEWER_QUESTIONS_THAN_STATED not in findings_by_code(study)


def test_other_splits_and_perturbed_instances_are_left_out(tmp_path):
    """Beside the instances of the split test, each file of HELM has a perturbed one and one of
    another split. A finding says that 1 of either kind is left out.
    """
    write_helm_logs(tmp_path, ANSWERS)
    left = findings_by_code(study_of(tmp_path))[LEFT_OUT_OF_LOGS]
    assert re.search("perturbed instances in .*per_instance_stats.json: 1", left)
    assert re.search("instances not of the split test in .*per_instance_stats.json: 1", left)


@pytest.mark.parametrize(
    ("written", "score"),
    [("C", 1), ("I", 0), ("P", 0.5), ("N", 0), (0.25, 0.25), (True, 1), ("0.5", 0.5)],
    ids=["correct", "incorrect", "partial", "no answer", "number", "boolean", "number as text"],
)
def test_letters_numbers_and_booleans_are_scores(inspect_logs, written, score):
    """The log of the model new on task one has the value `written` by the scorer "match" for its
    first question, q0, which the study calls "one q0", by its task. It is read as the number
    `score`: C is correct and counts 1, I incorrect, P partial, N no answer.
    """

    def write_score_of_first_question(files):
        files["summaries.json"][0]["scores"]["match"]["value"] = written

    rewrite_inspect_log(inspect_logs / "2026_one_new.eval", write_score_of_first_question)
    data = study_of(inspect_logs).data
    place_of_question = data.ids.to_pylist().index("one q0")
    scores_of_new = data.values["match", "new"].numerator
    assert scores_of_new[place_of_question] == score


# Bad logs -----------------------------------------------------------------------------------------


def cut_the_end(path):
    path.write_bytes(path.read_bytes()[:-300])


def remove_all_scores(path):
    rewrite_inspect_log(path, lambda files: [row.pop("scores") for row in files["summaries.json"]])


def remove_the_header(path):
    rewrite_inspect_log(path, lambda files: files.pop("header.json"))


def remove_the_part_eval(path):
    rewrite_inspect_log(path, lambda files: files["header.json"].pop("eval"))


def score_a_sample_in_words(path):
    rewrite_inspect_log(
        path, lambda files: files["summaries.json"][4]["scores"]["match"].update(value="fine")
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
def test_a_bad_log_is_refused_in_one_line_that_names_it(inspect_logs, spoil, says):
    """`spoil` damages one of four logs of Inspect, that of the model new on task one."""
    spoil(inspect_logs / "2026_one_new.eval")
    with pytest.raises(InputError, match=f"2026_one_new.eval: {says}") as error:
        study_of(inspect_logs)
    assert "\n" not in str(error.value)


def test_a_log_without_scores_is_left_out_beside_others_and_refused_alone(inspect_logs):
    """The models new and old have a log of each of the tasks one and two, with 20 questions. The
    one of new on task one has no scores: new keeps the 20 questions of task two.
    """
    path = inspect_logs / "2026_one_new.eval"
    remove_all_scores(path)
    study = study_of(inspect_logs)
    message = findings_by_code(study)[LEFT_OUT_OF_LOGS]
    assert re.search("all of .*2026_one_new.eval, which has no score", message)
    assert study.estimates.set_index("system").loc["new", "n"] == 20
    refusal = r"2026_one_new.eval: a log must hold scores, got 20 questions without one"
    with pytest.raises(InputError, match=refusal):
        study_of(path)


def test_samples_that_a_stopped_run_of_inspect_has_not_reached_are_reported(inspect_logs):
    """The log of a run that ended with an error holds 20 samples; its results state that there
    should be 25.
    """

    def stop(files):
        files["header.json"] |= {"status": "error", "results": {"scores": [], "total_samples": 25}}

    rewrite_inspect_log(inspect_logs / "2026_one_new.eval", stop)
    message = findings_by_code(study_of(inspect_logs))[LEFT_OUT_OF_LOGS]
    assert re.search(r"samples not run \(status error\) in .*one_new.eval: 5", message)


def test_samples_of_the_dataset_that_were_not_run_are_reported(inspect_logs):
    """The log of a run that ended with an error holds 20 samples and no results, which would state
    how many there should be. But the header names the 24 samples of the dataset: 4 were not run.
    """

    def stop(files):
        files["header.json"]["eval"]["dataset"] = {"sample_ids": [f"q{i}" for i in range(24)]}
        files["header.json"] |= {"status": "error", "results": None}

    rewrite_inspect_log(inspect_logs / "2026_one_new.eval", stop)
    message = findings_by_code(study_of(inspect_logs))[LEFT_OUT_OF_LOGS]
    assert re.search(r"samples not run \(status error\) in .*one_new.eval: 4", message)


def test_a_sample_of_inspect_with_an_empty_score_is_reported(inspect_logs):
    """The fourth sample of the log of the model new on task one has a scorer, but no value."""

    def empty_a_score(files):
        files["summaries.json"][3]["scores"]["match"]["value"] = None

    rewrite_inspect_log(inspect_logs / "2026_one_new.eval", empty_a_score)
    message = findings_by_code(study_of(inspect_logs))[LEFT_OUT_OF_LOGS]
    assert re.search("samples without a score in .*one_new.eval: 1", message)


def test_a_sample_of_lm_eval_with_two_values_as_its_score_is_reported(tmp_path):
    """The first of 20 samples of a file, one per line, has the accuracy [1, 0], which is no score:
    this sample is reported as one without a score.
    """
    write_lm_eval_logs(tmp_path, ANSWERS)
    path = path_of_lm_eval_samples(tmp_path, task="one", model="new")
    first, *others = path.read_text().splitlines()
    with_two_values = json.dumps(json.loads(first) | {"acc": [1, 0]})
    path.write_text("\n".join([with_two_values, *others]))
    message = findings_by_code(study_of(tmp_path))[LEFT_OUT_OF_LOGS]
    assert re.search("samples without a score in .*samples_one.*: 1", message)


def test_samples_take_the_name_of_the_model_from_results_of_their_date_only(tmp_path):
    """lm-evaluation-harness writes a file of samples and one of results with the same date in their
    names, here into the folder new. The model of the samples is the one that these results name,
    "other". When the results have another date, the model is named after the folder.
    """
    write_lm_eval_logs(tmp_path, ANSWERS[ANSWERS["model"] == "new"])
    path = tmp_path / "new" / f"results_{made_logs.DATE}.json"
    path.write_text(path.read_text().replace('"model_name": "new"', '"model_name": "other"'))
    assert study_of(tmp_path).systems == ("other",)
    path.rename(path.with_name("results_2024-01-01T00-00-00.000000.json"))
    assert study_of(tmp_path).systems == ("new",)


def test_samples_of_lm_eval_that_end_within_a_line_are_refused(tmp_path):
    """A file of samples of lm-evaluation-harness has a JSON object per line. Here the file ends
    within the last of its 20 lines.
    """
    write_lm_eval_logs(tmp_path, ANSWERS)
    path = path_of_lm_eval_samples(tmp_path, task="one", model="new")
    path.write_text(path.read_text()[:-40])
    message = r"samples_one_.*: line 20 is no whole JSON object; the file may have been cut"
    with pytest.raises(InputError, match=message):
        study_of(tmp_path)


def test_a_json_log_of_inspect_that_was_cut_is_refused(tmp_path):
    """A log of Inspect as one JSON document, of the model new on task one, lacks its last 40
    characters.
    """
    write_inspect_json_logs(tmp_path, ANSWERS)
    path = tmp_path / "2026_one_new.json"
    path.write_text(path.read_text()[:-40])
    message = r"2026_one_new.json: this log of Inspect cannot be read, it may have been cut"
    with pytest.raises(InputError, match=message):
        study_of(tmp_path)


def test_logs_of_other_questions_are_not_compared(tmp_path):
    """The model new has answers to task one alone, the model old to task two alone. They have no
    question in common.
    """
    table = ANSWERS[(ANSWERS["model"] == "new") == (ANSWERS["task"] == "one")]
    write_inspect_logs(tmp_path, table)
    assert study_of(tmp_path).uncompared == [("new", "old")]


def test_ids_of_any_script_stay_what_they_are(tmp_path):
    """The questions have ids with an umlaut, Chinese characters and an emoji. The id of a question
    in the study is its task and its id in the log.
    """
    names = {f"q{i}": f"Ä{i} 问题 🙂" for i in range(20)}
    write_inspect_logs(tmp_path, ANSWERS.assign(question=ANSWERS["question"].map(names)))
    assert "one Ä3 问题 🙂" in study_of(tmp_path).data.ids.to_pylist()


# What a claim covers ------------------------------------------------------------------------------


SEVEN_TASKS = (3, 9, 4, 12, 2, 6, 5)  # the number of questions of each


def task_and_value_of_each_question(sizes=SEVEN_TASKS):
    """The task of each question, 0 to len(sizes) - 1, and the values of the questions, which vary
    between tasks and within. sizes: the number of questions of each task.
    """
    rng = np.random.default_rng(5)
    task = np.repeat(np.arange(len(sizes)), sizes)
    return task, rng.normal(0, 1, len(task)) + rng.normal(0, 1, len(sizes))[task]


def variance_of_each_task_mean(task, values):
    """s² / n of the values of each task: the squared standard error of the task's mean."""
    return np.array(
        [np.var(values[task == t], ddof=1) / (task == t).sum() for t in np.unique(task)]
    )


@pytest.mark.parametrize("clusters", ["questions", "tasks"])
def test_standard_errors_of_pooled_means_are_cluster_robust(clusters):
    """The pooled mean is that of the N = 41 questions of seven tasks. Its cluster-robust standard
    error is √(G / (G − 1) · Σ (sum of a cluster's deviations)²) / N with G clusters, and it has
    G − 1 degrees of freedom. They are the tasks, where the mean is to hold for further tasks; or
    each question is a cluster, as for independent questions (cluster=None).
    """
    task, values = task_and_value_of_each_question(SEVEN_TASKS)
    cluster = {"questions": None, "tasks": task}[clusters]
    mean = significance.mean_by(values, cluster=cluster)
    cluster_of_question = {"questions": np.arange(41), "tasks": task}[clusters]
    sums = pd.Series(values - values.mean()).groupby(cluster_of_question).sum()
    g = {"questions": 41, "tasks": 7}[clusters]
    expected = (g / (g - 1) * (sums**2).sum()) ** 0.5 / 41
    assert mean.error == pytest.approx(expected, rel=1e-12)
    assert mean.value == pytest.approx(values.mean())
    assert mean.freedom == g - 1


def test_the_macro_mean_of_such_tasks_is_the_mean_of_their_means():
    """The macro mean of seven tasks is the mean of their means. If tasks are a sample, its standard
    error is that of the mean of 7 values, with 6 degrees of freedom.
    """
    task, values = task_and_value_of_each_question()
    means = np.array([values[task == t].mean() for t in range(7)])
    mean = significance.mean_by(values, cluster=task, tasks=task)
    assert mean.error == pytest.approx(means.std(ddof=1) / 7**0.5, rel=1e-12)
    assert (mean.value, mean.freedom) == (pytest.approx(means.mean()), 6)


@pytest.mark.parametrize(
    "questions_of_each_task", [SEVEN_TASKS, (2, 2, 2, 2), (5, 5), (2,), (40, 2)]
)
def test_the_macro_mean_of_the_same_tasks_is_stratified_by_task(questions_of_each_task):
    """The macro mean of K tasks is the mean of their means. If the tasks stay the same and only
    questions are sampled, the error of a task's mean is s / √n, with its n questions, and that of
    the macro mean √(Σ s² / n) / K. The uncorrected error has the variance that divides by n in
    place of s², which divides by n − 1.
    """
    k = len(questions_of_each_task)
    task, values = task_and_value_of_each_question(questions_of_each_task)
    mean = significance.mean_by(values, tasks=task)
    error = variance_of_each_task_mean(task, values).sum() ** 0.5 / k
    assert mean.error == pytest.approx(error, rel=1e-12)
    uncorrected_variance_of_task_means = [
        np.var(values[task == t], ddof=0) / n for t, n in enumerate(questions_of_each_task)
    ]
    assert mean.uncorrected == pytest.approx(sum(uncorrected_variance_of_task_means) ** 0.5 / k)


def test_degrees_of_freedom_of_a_stratified_mean_are_those_of_welch_and_satterthwaite():
    """The macro mean of the same seven tasks has the variance Σ s² / n / 7². Its degrees of freedom
    are by the form of Welch and Satterthwaite with n + 1 in place of n − 1 for the n questions of a
    task, less 2.
    """
    task, values = task_and_value_of_each_question()
    variances = variance_of_each_task_mean(task, values)
    questions = np.array(SEVEN_TASKS)
    freedom = variances.sum() ** 2 / sum(variances**2 / (questions + 1)) - 2
    assert significance.mean_by(values, tasks=task).freedom == pytest.approx(freedom)


def test_a_task_with_one_question_takes_the_mean_variance_of_the_others():
    """Four tasks have 4, 3, 1 and 1 questions with random values. The macro mean is the mean of the
    four task means; if the tasks stay the same and only questions are sampled, its error is √(Σ s²
    / n) / 4. A task with a single question has no variance s² of its own, and takes the mean s² of
    the first two tasks.
    """
    task, values = task_and_value_of_each_question((4, 3, 1, 1))
    variance_of_first = values[task == 0].var(ddof=1)
    variance_of_second = values[task == 1].var(ddof=1)
    variance_of_others = (variance_of_first + variance_of_second) / 2
    variance_of_sum = variance_of_first / 4 + variance_of_second / 3 + 2 * variance_of_others
    error = variance_of_sum**0.5 / 4
    assert significance.mean_by(values, tasks=task).error == pytest.approx(error, rel=1e-12)


def test_tasks_with_one_question_each_have_no_error():
    """No task has a variance s² of its questions, so that the mean of three tasks has no standard
    error, no p-value and no interval.
    """
    task, values = task_and_value_of_each_question((1, 1, 1))
    mean = significance.mean_by(values, tasks=task)
    assert np.isnan([mean.error, mean.uncorrected, mean.p_value, mean.interval(0.95).low]).all()


def test_documents_within_tasks_are_the_clusters_of_each_task():
    """Three tasks have 6, 6 and 8 questions, two on each document: they have 3, 3 and 4 documents.
    The questions on a document may be correlated, so that the mean of a document is one independent
    value. The error of the mean of the three task means is therefore √(Σ s² / n) / 3, with the
    variance s² of the means of the n documents of a task.
    """
    task, values = task_and_value_of_each_question((6, 6, 8))
    document = np.arange(20) // 2
    mean = significance.mean_by(values, cluster=document, tasks=task)
    mean_of_each_document = values.reshape(10, 2).mean(axis=1)
    task_of_document = task[::2]
    error = variance_of_each_task_mean(task_of_document, mean_of_each_document).sum() ** 0.5 / 3
    assert mean.error == pytest.approx(error, rel=1e-12)


def test_users_who_answer_every_task_are_one_sample():
    """Each of 8 users answers each of 3 tasks, and users are the clusters. The mean of the tasks'
    means is then the mean of the 8 users' means, with their standard error s / √8 and 8 − 1 = 7
    degrees of freedom.
    """
    task = np.repeat(np.arange(3), 8)
    user = np.tile(np.arange(8), 3)
    values = np.random.default_rng(2).normal(0, 1, 24) + task
    mean = significance.mean_by(values, cluster=user, tasks=task)
    mean_of_each_user = values.reshape(3, 8).mean(axis=0)
    assert mean.error == pytest.approx(mean_of_each_user.std(ddof=1) / 8**0.5, rel=1e-12)
    assert mean.freedom == 7


def test_subjects_of_several_tasks_are_clusters_of_tasks():
    """Seven tasks, 0 to 6, are of four subjects: 0 and 1 of the first, 2 and 3 of the second, and
    so on. If subjects are the clusters, the error of the mean of the seven task means is the
    cluster-robust one with G = 4 clusters, √(G / (G − 1) · Σ (sum of a cluster's deviations)²) / 7.
    """
    task, values = task_and_value_of_each_question(SEVEN_TASKS)
    subject_of_task = np.array([0, 0, 1, 1, 2, 2, 3])
    mean = significance.mean_by(values, cluster=subject_of_task[task], tasks=task)
    mean_of_each_task = np.array([values[task == t].mean() for t in range(7)])
    deviations = mean_of_each_task - mean_of_each_task.mean()
    sum_of_each_subject = np.bincount(subject_of_task, deviations)
    expected = (4 / 3 * (sum_of_each_subject**2).sum()) ** 0.5 / 7
    assert mean.error == pytest.approx(expected, rel=1e-12)


def four_tasks(questions=2):
    """A table of answers of two models, with this number of questions of each of four tasks."""
    rng = np.random.default_rng(4)
    task = np.repeat(list("wxyz"), questions)
    names = {"question": np.arange(len(task)).astype(str), "task": task}
    return pd.DataFrame(names | {name: rng.normal(0, 1, len(task)) for name in ("new", "old")})


def test_the_page_says_what_stands_for_tasks_with_one_question():
    """Three tasks have two questions and one has one: its variance is taken from the others."""
    table = four_tasks(questions=2).iloc[1:]  # the first task has one question left
    html = significance_page.claims(significance.read(table)).html
    assert "1 task with a single question" in html


def test_the_page_says_that_tasks_with_one_question_each_have_no_error():
    """Each of four tasks has one question, so that no task has a variance."""
    html = significance_page.claims(significance.read(four_tasks(1))).html
    assert "macro means of these same tasks have no standard error" in html


@pytest.mark.parametrize(("systems", "what"), [("new", "value"), ("new,old", "verdict")])
def test_a_claim_is_about_a_verdict_only_where_systems_are_compared(systems, what):
    """For two systems the page says what its verdict is about; for one, what its value is about."""
    study = significance.read(four_tasks(9), systems=systems)
    assert f"The {what} is about such questions" in significance_page.verdict(study).text


def test_the_claim_of_the_page_says_whose_limits_stand_beside_it():
    """A table has the limits of a value for each claim, by t. The row of the claim that the page
    makes by default, about such questions, says so.
    """
    text = significance_page.claims(significance.read(four_tasks(9), systems="new")).text
    assert "such questions (the claim of this page; limits here by t)" in text


def test_a_claim_about_these_questions_takes_its_error_from_the_draws_alone(tmp_path):
    """Two models answer 40 questions, each in 4 epochs. A claim about these questions takes them as
    fixed, so that only the draws vary: a model's mean of all 160 draws has the variance s² / 160,
    where s² is the mean of the variances within its questions. The difference of the two means has
    the sum of their variances, and t has the 4 − 1 degrees of freedom of each of 2 · 40 questions.
    """
    table = table_of_answers(epochs=4)
    write_inspect_logs(tmp_path, table)
    study = study_of(tmp_path, claim="these questions", metrics="pass@1,pass^2")
    within_questions = table.groupby(["model", "task", "question"])["value"].var()
    variance_of_means = within_questions.groupby("model").mean() / (40 * 4)
    error_of_difference = variance_of_means.sum() ** 0.5
    half_width = stats.t.ppf(0.975, 2 * 40 * (4 - 1)) * error_of_difference
    pass_1 = study.comparisons.set_index("metric").loc["pass@1"]
    assert pass_1["high"] - pass_1["low"] == pytest.approx(2 * half_width)


def test_the_page_of_a_claim_about_these_questions_marks_it_as_made(tmp_path):
    """A claim says what a result is to hold for: such questions in general, these same questions,
    or further tasks. The table of claims has a row for each claim that the data allow; `made` marks
    the one that the user asks for with the parameter claim. Every table, figure and text of the
    page (`PIECES`) can be made of such a study too, and its unit stays the question.
    """
    write_inspect_logs(tmp_path, table_of_answers(epochs=4))
    study = study_of(tmp_path, claim="these questions", metrics="pass@1,pass^2")
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
def test_claims_that_cannot_be_made(inspect_logs, given, says):
    """A claim is refused if the logs, or the other parameters, do not allow for it."""
    with pytest.raises(ParameterError, match=says):
        study_of(inspect_logs, **given)


def test_claims_need_a_column_tasks_and_values():
    """The table of answers has no column of tasks, which a claim about such tasks needs."""
    with pytest.raises(ParameterError, match="needs a column task; unit=NAME takes another one"):
        significance.read(ANSWERS.drop(columns=["task", "subject"]), claim="such tasks")


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
RESULTS_OF_8_TESTS = [
    promptfoo_result(prompt, test, passed=(test + prompt) % 3 != 0)
    for prompt in range(2)
    for test in range(8)
]
# a ninth test of either prompt: prompt 0 passes, prompt 1 ends with an error
RESULTS_OF_NINTH_TEST = [
    promptfoo_result(prompt=0, test=8, passed=True),
    promptfoo_result(
        prompt=1, test=8, passed=False, error="timeout", gradingResult=None, failureReason=2
    ),
]


def write_promptfoo_results(folder, results, name="results.json"):
    """Write a file of results of promptfoo and return its path."""
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(result)}\n" for result in results))
    else:
        path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}))
    return path


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_prompts_of_promptfoo_are_systems(tmp_path, name):
    """A file of results of promptfoo has 8 tests of prompt 0, which passes 5, and of prompt 1,
    which passes 6. Each prompt is a system, and its value the share of tests that it passes.
    """
    study = study_of(write_promptfoo_results(tmp_path, RESULTS_OF_8_TESTS, name))
    values = study.estimates.set_index("system")["value"]
    assert dict(values) == {"prompt 0": 5 / 8, "prompt 1": 6 / 8}


def test_repetitions_of_promptfoo_are_draws(tmp_path):
    """Eight tests are run twice. promptfoo numbers the repeated tests on and repeats their
    variables: these are 8 questions with 2 draws each, not 16 questions.
    """
    again = [{**result, "testIdx": result["testIdx"] + 8} for result in RESULTS_OF_8_TESTS]
    study = study_of(write_promptfoo_results(tmp_path, RESULTS_OF_8_TESTS + again))
    assert set(study.estimates["n"]) == {8}


def test_results_of_promptfoo_with_an_error_are_left_out(tmp_path):
    """Prompts 0 and 1 have nine tests each, of which prompt 1 ends with an error in the ninth."""
    study = study_of(write_promptfoo_results(tmp_path, RESULTS_OF_8_TESTS + RESULTS_OF_NINTH_TEST))
    assert dict(study.estimates.set_index("system")["n"]) == {"prompt 0": 9, "prompt 1": 8}
    assert any("results with an error" in text for text in study.findings["message"])


def test_results_of_promptfoo_with_an_error_count_as_wrong_where_the_user_says_so(tmp_path):
    """Prompts 0 and 1 have nine tests each. Prompt 1 passes 6 of the first 8 and ends with an error
    in the ninth, which counts as wrong because of errored="wrong": it passes 6 of 9.
    """
    results = RESULTS_OF_8_TESTS + RESULTS_OF_NINTH_TEST
    study = study_of(write_promptfoo_results(tmp_path, results), errored="wrong")
    estimates = study.estimates.set_index("system")
    assert dict(estimates["n"]) == {"prompt 0": 9, "prompt 1": 9}
    assert estimates.loc["prompt 1", "value"] == pytest.approx(6 / 9)
    assert LEFT_OUT_OF_LOGS not in findings_by_code(study)  # no answer is left out
    assert re.search(
        "count as wrong: 1 in .*results.json", findings_by_code(study)[ERRORS_AS_WRONG_ANSWERS]
    )


@pytest.mark.parametrize("write_logs", [write_inspect_logs, write_inspect_json_logs])
def test_samples_of_inspect_with_an_error_count_as_wrong_where_the_user_says_so(
    tmp_path, write_logs, monkeypatch
):
    """Each model answers 20 questions of each of two tasks. The first of each task, q0, ends with
    an error and has no score. With errored="wrong" the estimates are those of a table in which q0
    has the value 0. By default q0 is left out, and 2 · 19 = 38 questions remain.
    """
    usual_sample = made_logs.sample

    def sample_with_error_in_q0(row, name):
        sample = usual_sample(row, name)
        if row["question"] == "q0":
            sample |= {"scores": None, "error": {"message": "timeout"}}
        return sample

    monkeypatch.setattr(made_logs, "sample", sample_with_error_in_q0)
    write_logs(tmp_path / "logs", ANSWERS)
    values_with_q0_wrong = ANSWERS["value"].where(ANSWERS["question"] != "q0", 0.0)
    expected = study_of_table(ANSWERS.assign(value=values_with_q0_wrong))
    assert_same_estimates(study_of(tmp_path / "logs", errored="wrong"), expected)
    assert set(study_of(tmp_path / "logs").estimates["n"]) == {38}


@pytest.mark.parametrize(
    ("write_input", "message"),
    [
        (write_lm_eval_logs, "does not tell which answers had an error"),
        (write_helm_logs, "does not tell which answers had an error"),
        (lambda folder, table: table.to_csv(folder), "only for evaluation logs"),
    ],
)
def test_errors_count_as_wrong_only_where_logs_tell_them(tmp_path, write_input, message):
    """The parameter errored is refused for logs of tools that do not record errors, and for a
    table.
    """
    write_input(tmp_path / "logs", ANSWERS)
    with pytest.raises(ParameterError, match=f"errored: .*{message}"):
        study_of(tmp_path / "logs", errored="wrong")


def test_an_error_is_not_wrong_where_lower_values_are_better(tmp_path, monkeypatch):
    """The answers of the second epoch end with an error. The metric is a perplexity, of which lower
    values are better. A wrong answer would count 0, the best perplexity, so that errored="wrong" is
    refused.
    """
    usual_sample = made_logs.sample
    usual_header = made_logs.header

    def sample_with_error_in_second_epoch(row, name):
        sample = usual_sample(row, name)
        if row["epoch"] == 2:
            sample |= {"scores": {}, "error": "timeout"}
        return sample

    def header_without_accuracy(*arguments):
        """A header with the mean alone: an accuracy would say that higher values are better."""
        header = usual_header(*arguments)
        for score in header["results"]["scores"]:
            score["metrics"] = {"mean": score["metrics"]["accuracy"]}
        return header

    monkeypatch.setattr(made_logs, "sample", sample_with_error_in_second_epoch)
    monkeypatch.setattr(made_logs, "header", header_without_accuracy)
    write_inspect_logs(tmp_path / "logs", table_of_answers(epochs=2), name="perplexity")
    with pytest.raises(ParameterError, match="errored: lower values of perplexity are better"):
        study_of(tmp_path / "logs", errored="wrong")


def test_the_recipe_of_the_docs_reads_results_of_deepeval():
    """The first block of Python in docs/inputs.md defines rows(system, results), which makes the
    rows of a table from test results of deepeval. It is executed here, and called for the systems a
    and b with eight results that have the attributes of those of deepeval: the study of the table
    has both systems.
    """
    page = Path(__file__).parent.parent / "docs" / "inputs.md"
    recipe = re.search(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)[1]
    names_of_recipe = {}
    exec(recipe, names_of_recipe)
    rows = names_of_recipe["rows"]
    results = [
        SimpleNamespace(name=f"t{i}", metrics_data=[SimpleNamespace(name="Bias", score=i / 8)])
        for i in range(8)
    ]
    table = pd.DataFrame(rows("a", results) + rows("b", results))
    assert set(significance.read(table).estimates["system"]) == {"a", "b"}
