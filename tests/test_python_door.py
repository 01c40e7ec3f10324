"""What a person types in Python or a notebook: `dir`, `repr`, one line for an error, arrays."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell, new_notebook

import evalkit as ek
from evalkit.pages import classification_page, pieces, ranking_page

ROOT = Path(__file__).resolve().parents[1]
MODULES = [name for name, place in ek.PUBLIC.items() if ":" not in place]
IMPORTED = {"np", "dataclass", "NamedTuple", "Any", "Floats", "ArrayLike", "Callable"}


@pytest.fixture(scope="module")
def shell():
    return InteractiveShell.instance()


@pytest.fixture
def shown(shell, capsys):
    """A function from a cell to what IPython shows of its error."""

    def run(source):
        capsys.readouterr()
        shell.run_cell(source)
        streams = capsys.readouterr()
        return streams.out + streams.err

    return run


@pytest.mark.parametrize(
    "cell, kind",
    [
        ("import evalkit as ek\nek.rating(metrics='rsme')", "ParameterError"),
        ("import evalkit as ek\nek.rating('nowhere.csv')", "InputError"),
        ("import evalkit as ek\nek.rating(metric='mae')", "ArgumentError"),
    ],
)
def test_an_error_of_input_is_one_line(shown, cell, kind):
    lines = shown(cell).strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{kind}: ")


def test_its_traceback_is_one_call_away(shown):
    shown("import evalkit as ek\nek.rating(metrics='rsme')")
    assert "Traceback (most recent call last)" in shown("%tb")


def test_other_errors_keep_their_traceback(shown):
    assert "Traceback" in shown("1 / 0")


@pytest.mark.parametrize("module", [ranking_page, classification_page], ids=lambda m: m.__name__)
def test_dir_of_a_page_is_its_pieces(module):
    assert dir(module) == sorted(pieces.names(module))
    assert "estimates" in dir(module)
    assert not IMPORTED.intersection(dir(module))


@pytest.mark.parametrize("name", MODULES)
def test_dir_of_a_public_module_has_nothing_imported(name):
    listed = dir(getattr(ek, name))
    assert listed
    assert not IMPORTED.intersection(listed)


@pytest.mark.parametrize("name", ["ranking", "significance"])
def test_dir_of_a_study_has_what_the_docs_name(name):
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    named = {*re.findall(r"\b(?:study|ek\.\w+\([^)\n]*\))\.(\w+)", text)}
    study = getattr(ek, name)()
    assert {n for n in named if hasattr(type(study), n)} <= {*dir(study)}
    assert "differences" in dir(study)


@pytest.mark.parametrize("name", sorted({"ranking", "rating", "interleaving", "diff"}))
def test_a_study_as_a_frame_has_a_row_for_each_estimate(name):
    frame = getattr(ek, name)().to_frame()
    assert {"metric", "system", "value", "low", "high"} <= {*frame.columns}
    assert len(frame)


def returned():
    """Objects that people get to see."""
    study = ek.rating(baseline="mean", gate="not worse")
    return [
        study,
        study.p,
        study.gate,
        study.plot,
        study.plot.bias,
        study.primary_metric,
        ek.interleaving(),
        ek.rankings.from_grades([[1, 0]]),
        ek.count([0.1, 0.2], [0, 1]),
        ek.splits.group_k_fold(["u", "u", "v", "w"], seed=0, k=2),
    ]


def test_what_is_returned_prints_as_a_sentence():
    for thing in returned():
        text = repr(thing)
        assert len(text) < 300
        assert text.startswith("<")
        assert not re.search(r"0x[0-9a-f]+|array\(", text)


# Another working directory, as by %cd -------------------------------------------------------------


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Two folders: that of the data, which is the working directory, and another one."""
    (tmp_path / "data").mkdir()
    (tmp_path / "other").mkdir()
    frame = pd.read_csv(ROOT / "data" / "visit_forecasts" / "predictions.csv")
    frame.head(300).to_csv(tmp_path / "data" / "p.csv", index=False)
    monkeypatch.chdir(tmp_path / "data")
    return tmp_path / "other"


def test_a_study_of_a_relative_path_is_read_again_from_another_folder(elsewhere, monkeypatch):
    study = ek.rating("p.csv", segments="plan")
    monkeypatch.chdir(elsewhere)
    assert study.reread(level=0.9).p.level == 0.9
    assert study.segment("plan=free").p.segment == "plan=free"
    assert Path.cwd() == elsewhere


def test_own_sections_are_found_from_another_folder(elsewhere, monkeypatch):
    nbformat.write(new_notebook(cells=[new_code_cell("'mine'")]), "mine.ipynb")
    study = ek.rating("p.csv", sections="mine.ipynb")
    monkeypatch.chdir(elsewhere)
    assert "'mine'" in [o.data.get("text/plain") for o in study.own_sections().displays()]


@pytest.fixture
def saved_diff(elsewhere):
    """A diff of two reports whose relative paths it was given."""
    study = ek.rating("p.csv")
    for name in ("old", "new"):
        study.save(f"{name}.units.parquet")
    return ek.diff("old.units.parquet", "new.units.parquet")


def test_a_diff_of_saved_reports_is_saved_from_another_folder(saved_diff, elsewhere, monkeypatch):
    monkeypatch.chdir(elsewhere)
    saved_diff.save("diff.html")
    assert str(elsewhere.parent) not in (elsewhere / "diff.html").read_text(encoding="utf-8")
    assert saved_diff.reread(level=0.9).p.level == 0.9


def test_a_report_that_was_removed_is_named_without_its_folder(saved_diff):
    Path("old.units.parquet").unlink()
    with pytest.raises(ek.InputError, match=r"^old: can no longer be read: No such file or dir"):
        saved_diff.save("diff.html")


def test_a_study_in_memory_needs_no_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "cwd", _raise_not_found)
    study = ek.rating(y_true=[1, 2, 3, 4], y_pred=[1, 2, 3, 5])
    assert study.reread(level=0.9).p.level == 0.9


def _raise_not_found():
    raise FileNotFoundError


@pytest.mark.parametrize(
    "asked", [{"baseline": "mena"}, {"systems": "mena"}, {"gate": "mae not worse than mena"}]
)
def test_an_unknown_system_is_refused_with_the_nearest(asked):
    with pytest.raises(ek.ParameterError, match=r"no system 'mena' .did you mean 'mean'"):
        ek.rating(**asked)


RNG = np.random.default_rng(0)
CONTROL = RNG.normal(10, 2, 150)
TREATMENT = RNG.normal(11, 2, 170)
USERS = pd.DataFrame(
    {
        "user": np.arange(320),
        "arm": ["control"] * 150 + ["treatment"] * 170,
        "value": np.concatenate([CONTROL, TREATMENT]),
    }
)


def difference(study):
    row = study.comparisons.iloc[0]
    return [row["first"], row["second"], row["difference"], row["low"], row["high"], row["p"]]


@pytest.mark.parametrize(
    "study",
    [
        lambda: ek.ab(USERS),
        lambda: ek.ab(CONTROL, TREATMENT),
        lambda: ek.ab({"control": CONTROL, "treatment": TREATMENT}),
        lambda: ek.ab(pd.Series(CONTROL), pd.Series(TREATMENT)),
        lambda: ek.ab([*CONTROL], [*TREATMENT]),
        lambda: ek.ab({"control": [*CONTROL], "treatment": [*TREATMENT]}),
    ],
)
def test_an_ab_test_is_read_from_a_frame_or_from_arrays(study):
    assert difference(study()) == difference(ek.interleaving(users=USERS))


@pytest.mark.parametrize("column", [np.asarray, list])
def test_columns_of_a_table_are_no_arms(column):
    columns = {name: column(USERS[name]) for name in USERS}
    assert difference(ek.ab(columns)) == difference(ek.ab(USERS))


def test_dir_of_a_part_of_the_online_report_has_no_internals():
    for part in (ek.interleaving().log, ek.ab(USERS).users):
        assert {"estimates", "comparisons", "by_segment"} <= {*dir(part)}
        assert not [name for name in dir(part) if name.startswith("_")]
        assert all(hasattr(part, name) for name in dir(part))


@pytest.mark.parametrize("unit", [USERS["user"] // 4, list(USERS["user"] // 4)])
def test_arrays_are_clustered_by_a_series_or_a_list(unit):
    actual = USERS["value"].to_numpy()
    study = ek.rating(y_true=actual, y_pred=actual * 1.1, unit=unit)
    assert set(study.estimates["n"]) == {80}


def test_a_series_names_the_unit():
    actual = USERS["value"].to_numpy()
    assert ek.rating(y_true=actual, y_pred=actual, unit=USERS["user"] // 4).unit_name == "user"
