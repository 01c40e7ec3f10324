"""Evaluation logs of models that share no question: two tables, and no refusal of the folder."""

import made_logs
import numpy as np
import pytest
from whole_pages import published, told

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.pages import first_screen


def logs_of_two_models_on_two_tasks(folder, write):
    """The folder, with a log of the model "new" on task "one" and of "old" on task "two"."""
    write(folder, made_logs.answers(models=("new",), tasks=("one",)))
    write(folder, made_logs.answers(models=("old",), tasks=("two",)))
    return str(folder)


@pytest.mark.parametrize("write_log", [made_logs.inspect, made_logs.lm_eval, made_logs.helm])
def test_logs_that_share_no_question_are_estimated_and_not_compared(tmp_path, write_log):
    """The models new and old have answered 20 questions each, of different tasks. The three
    functions write logs as the evaluation tools Inspect, lm-eval and HELM do.
    """
    study = ek.significance(logs_of_two_models_on_two_tasks(tmp_path, write_log))
    questions = dict(zip(study.estimates["system"], study.estimates["n"], strict=True))
    assert questions == {"new": 20, "old": 20}
    assert not len(study.comparisons)


def test_the_page_says_that_nothing_is_compared(tmp_path):
    study = ek.significance(logs_of_two_models_on_two_tasks(tmp_path, made_logs.inspect))
    assert "The systems share no questions" in first_screen.verdict(study).text
    assert "share no question are not compared: new and old. [EK130]" in told(study)


def test_the_results_of_models_without_a_common_question_follow_the_schema(tmp_path):
    """The model new has answered one task, old another: there is nothing to compare. The JSON of
    the results is valid nevertheless, and has its field of comparisons.
    """
    study = ek.significance(logs_of_two_models_on_two_tasks(tmp_path, made_logs.inspect))
    results = published(study)  # as JSON, checked against its schema
    assert results["comparisons"] is not None


def test_models_that_share_questions_are_compared_beside_one_that_does_not(tmp_path):
    """The models new and third have answered the questions of task "one", the model old those of
    task "two". Only new and third have questions in common and are compared; the pairs with old are
    listed as not compared.
    """
    write_log = made_logs.inspect  # as the evaluation tool Inspect does
    logs_of_two_models_on_two_tasks(tmp_path, write_log)
    write_log(tmp_path, made_logs.answers(models=("third",), tasks=("one",)))
    study = ek.significance(str(tmp_path))
    compared_models = {*study.comparisons["first"], *study.comparisons["second"]}
    assert compared_models == {"new", "third"}
    pairs_not_compared = {frozenset(pair) for pair in study.uncompared}
    assert pairs_not_compared == {frozenset(("new", "old")), frozenset(("old", "third"))}


def test_a_table_in_which_no_unit_has_values_of_two_systems_is_refused():
    """Each of 40 units has a value of one system alone, x or y by turns. In a table, unlike in logs
    of several tasks, this is taken for an error: there is no unit on which to compare x and y.
    """
    table = {
        "unit": [f"u{number}" for number in range(40)],
        "system": ["x", "y"] * 20,
        "value": np.random.default_rng(1).random(40),
    }
    study = ek.significance(table)
    with pytest.raises(InputError, match="no unit has a value for both 'y' and 'x'"):
        _ = study.comparisons
