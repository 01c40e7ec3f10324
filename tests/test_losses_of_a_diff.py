"""The first sentence of a diff: the largest significant loss, and systems by their names."""

import numpy as np
import pandas as pd

import evalkit as ek
from evalkit.pages import diff_page


def forecasts(rows=60, **errors):
    """Rows with an actual value and a forecast of each system, with such a spread of errors."""
    rng = np.random.default_rng(7)
    actual = rng.normal(0, 1, rows)
    table = pd.DataFrame({"id": range(rows), "actual": actual})
    for name, size in errors.items():
        table[f"forecast_{name}"] = actual + rng.normal(0, size, rows)
    return table


def diff(folder, old, new, metrics="mae", **parameters):
    for day, errors in (("old", old), ("new", new)):
        study = ek.rating(forecasts(**errors), metrics=metrics)
        study.save(folder / day / "rating.units.parquet")
    return ek.diff(folder / "old", folder / "new", **parameters)


def first_sentence(study):
    return diff_page.verdict(study).text.split("\n")[0]


def test_the_largest_loss_of_several_systems_comes_first(tmp_path):
    old = {"a": 1.0, "b": 1.0, "c": 1.0}
    study = diff(tmp_path, old, {"a": 0.1, "b": 1.9, "c": 3.0})
    assert first_sentence(study).startswith("The new c is worse than the old c by mae.")
    assert study.headline["first"].iloc[0] == "new c"


def test_a_model_is_called_by_its_name(tmp_path):
    study = diff(tmp_path, {"v1": 1.0}, {"v2": 3.0})
    assert first_sentence(study).startswith("v2 is worse than v1: mae is ")


def test_a_model_of_one_name_is_called_new_and_old(tmp_path):
    study = diff(tmp_path, {"spam": 1.0}, {"spam": 3.0})
    assert first_sentence(study).startswith("The new spam is worse than the old spam: mae is ")


def test_a_model_without_a_name_is_no_system(tmp_path):
    study = diff(tmp_path, {"system": 1.0}, {"system": 3.0})
    assert first_sentence(study).startswith("The new model is worse than the old model: mae is ")


def test_the_bundled_loss_by_f1_comes_first():
    assert first_sentence(ek.diff()) == ("The new model is worse than the old model by f1.")


def test_without_a_loss_the_answer_comes_first(tmp_path):
    study = diff(tmp_path, {"m": 3.0}, {"m": 1.0})
    assert first_sentence(study).startswith("The new m is better than the old m: mae is ")
