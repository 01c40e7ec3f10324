"""Input that cannot be validated on: each refused in one line that names what is wrong."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from validation_tables import (
    CREDIT,
    labelled,
    noise,
    severe,
)

from evalkit import __main__ as cli
from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.pages import validation_page
from evalkit.parameters import Validation
from evalkit.reading.inputs import folds
from evalkit.studies import validation

# Bad input


@pytest.mark.parametrize(
    "change",
    [
        {"same": 1.0},
        {"same": "x", "x0": 2, "x1": 3, "x2": 4},
        {"none": np.nan},
        {"none": None},
        {"größe μ 漢字": range(120), "<b>": ["a", None] * 60},
        {"id_like": [f"v{i}" for i in range(120)]},
        {"label": ["né", "naïve"] * 60},
        {"label": [f"c{i % 24}" for i in range(120)]},
        {"label": [True, False] * 60},
        {"date": pd.date_range("2026-01-01", periods=120)},
    ],
)
def test_odd_columns_are_no_error_and_every_row_is_tested(change):
    study = labelled(noise(120).assign(**change))
    assert study.rows.size == 120
    assert not severe(study)
    assert validation_page.findings(study).text
    json.dumps(validation_page.results(study)._repr_mimebundle_(), allow_nan=False)


def test_columns_that_say_nothing_are_named():
    study = labelled(noise(60).assign(same="x", none=np.nan))
    assert "Constant or without any value: same, none." in validation_page.findings(study).text


def test_parts_whose_columns_have_other_roles_are_refused():
    frame = noise(60)
    with pytest.raises(InputError, match="must have the same columns"):
        labelled([frame.assign(id=range(60)), frame])


def test_a_system_may_be_called_as_the_baseline():
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3})
    frame = frame.assign(id=range(60))
    both = pd.concat([frame.assign(system="majority", score=1 - frame["score"]), frame.assign(system="a")])
    study = validation.read(both)
    assert study.systems == ("a", "majority", "majority (baseline)")
    assert study.pooled["majority"].score.max() == 1.0


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "batches"])
def test_more_rows_than_are_held_are_refused_by_name_and_number(kind, tmp_path):
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3})
    frame.to_csv(tmp_path / "made.csv", index=False)
    frame.to_parquet(tmp_path / "made.parquet", index=False)
    table = pa.Table.from_pandas(frame)
    preds = {"frame": frame, "batches": table.to_batches(7)}.get(kind, str(tmp_path / f"made.{kind}"))
    preds = iter(preds) if kind == "batches" else preds
    where = {"frame": "data frame", "batches": "record batches"}.get(kind, f"made.{kind}")
    with pytest.raises(InputError, match=rf"{where}: 60 rows are more than the 59 that .* holds; .* classification"):
        validation.study_of(Validation.of({"preds": preds}), Limits(reading=Reading(rows=10, held=59)))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_up_to_the_limit_are_held_whatever_the_memory(kind, tmp_path):
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3})
    getattr(frame, f"to_{kind}")(tmp_path / f"made.{kind}", index=False)
    given = Validation.of({"preds": str(tmp_path / f"made.{kind}"), "memory": "250MB"})
    study = validation.study_of(given, Limits(reading=Reading(rows=10, held=60)))
    pd.testing.assert_frame_equal(study.by_fold, validation.read(frame).by_fold)


def test_draws_of_the_folds_that_no_role_names_are_refused():
    frame = pd.DataFrame({"id": range(60), "label": [0, 1] * 30, "score": np.linspace(0, 1, 60)})
    drawn = pd.concat([frame.assign(fold=np.arange(60) % (3 + i), iteration=i) for i in range(2)])
    with pytest.raises(InputError, match="iteration may number repeated draws of the folds; set columns='repeat="):
        validation.read(drawn)


def test_a_fold_with_one_class_has_no_auc_and_is_named():
    rng = np.random.default_rng(8)
    label = np.r_[np.zeros(30), rng.integers(2, size=90)].astype(int)
    frame = pd.DataFrame(
        {"label": label, "score": rng.uniform(size=120), "fold": np.arange(120) // 30, "id": range(120)}
    )
    study = validation.read(frame, metrics="roc_auc")
    assert np.isnan(study.fold_values("system")[0])
    assert "base rate" in [one.name for one in study.findings]
    assert validation_page.by_fold(study).text.count("–") >= 1


def test_bad_input_and_a_failed_gate_end_with_their_status(tmp_path, capsys):
    assert cli.main(["report", "validation", "-p", "target", "x", "-o", str(tmp_path)]) == 2
    assert "target: needs features" in capsys.readouterr().err
    frame = pd.read_csv(CREDIT).query("model == 'forest'").assign(group=np.arange(1000) // 10)
    frame.to_csv(tmp_path / "leaky.csv", index=False)
    asked = ["-p", "preds", str(tmp_path / "leaky.csv"), "-p", "gate", "no severe finding"]
    assert cli.main(["report", "validation", *asked, "-o", str(tmp_path / "out")]) == 3
    assert json.loads((tmp_path / "out" / "validation.json").read_text())["verdict"]["word"] == "fail"


@pytest.mark.parametrize("values, kind", [(20, "classes"), (21, "number")])
def test_a_target_of_20_whole_numbers_is_classes_and_of_21_a_number(values, kind):
    table = pd.DataFrame({"x": range(84), "label": np.arange(84) % values})
    assert folds.table(table, folds.Use({}), kind=None).kind == kind
