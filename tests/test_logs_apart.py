"""Evaluation logs of models that share no question: two tables, and no refusal of the folder."""

import made_logs
import numpy as np
import pytest
from whole_pages import published, told

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.pages import first_screen


def apart(folder, write):
    """A log of one model on one task, and one of another model on another task."""
    write(folder, made_logs.answers(models=("new",), tasks=("one",)))
    write(folder, made_logs.answers(models=("old",), tasks=("two",)))
    return str(folder)


@pytest.mark.parametrize("write", [made_logs.inspect, made_logs.lm_eval, made_logs.helm])
def test_logs_that_share_no_question_are_two_tables(tmp_path, write):
    study = ek.significance(apart(tmp_path, write))
    assert dict(zip(study.estimates["system"], study.estimates["n"], strict=True)) == {
        "new": 20,
        "old": 20,
    }
    assert not len(study.comparisons)


def test_the_page_says_that_nothing_is_compared(tmp_path):
    study = ek.significance(apart(tmp_path, made_logs.inspect))
    assert "The systems share no questions" in first_screen.verdict(study).text
    assert "share no question are not compared: new and old. [EK130]" in told(study)


def test_the_results_can_be_made(tmp_path):
    assert published(ek.significance(apart(tmp_path, made_logs.inspect)))["comparisons"] is not None


def test_logs_that_share_questions_are_compared_beside_one_that_does_not(tmp_path):
    apart(tmp_path, made_logs.inspect)
    made_logs.inspect(tmp_path, made_logs.answers(models=("third",), tasks=("one",)))
    study = ek.significance(str(tmp_path))
    assert {*study.comparisons["first"], *study.comparisons["second"]} == {"new", "third"}
    assert {frozenset(pair) for pair in study.uncompared} == {
        frozenset(("new", "old")),
        frozenset(("old", "third")),
    }


def test_a_table_without_a_common_unit_is_still_refused():
    values = np.random.default_rng(1).random(40)
    units = [f"u{number}" for number in range(40)]
    rows = {"unit": units, "system": ["x", "y"] * 20, "value": values}
    study = ek.significance(rows)
    with pytest.raises(InputError, match="has a value for both"):
        len(study.comparisons)
