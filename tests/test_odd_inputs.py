"""Inputs that are no table of measured values: each is refused by an InputError of one line, which
exits with 2.
"""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from evalkit.arrays import InputError
from evalkit.reading.tables import sources
from evalkit.studies import classification, interleaving, rating, significance, validation

ROOT = Path(__file__).resolve().parents[1]
SCORED = "id,label,score\n1,1,0.5\n2,0,0.4\n"


def message_of_refusal(read, *data, **given):
    """The message of the InputError; it is one line that a reader can take in."""
    with pytest.raises(InputError) as raised:
        read(*data, **given)
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


# Files that are none ------------------------------------------------------------------------------


def test_pipes_devices_and_sockets_are_refused_by_what_they_are(tmp_path, monkeypatch):
    """A path may name a pipe, a device or a socket. Reading a pipe or /dev/zero would never end;
    each is refused by a message that says what it is.
    """
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.csv")
        kinds = {
            "pipe.csv": "a pipe",
            "/dev/null": "a device",
            "/dev/zero": "a device",
            "socket.csv": "a socket",
        }
        for name, kind in kinds.items():
            message = f"{name}: must be a file, got {kind}; write its content into a file first"
            assert message_of_refusal(classification.read, preds=name) == message


def test_an_empty_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").touch()
    assert (
        message_of_refusal(classification.read, preds="empty.csv") == "empty.csv: the file is empty"
    )


LONG_NAME = "n" * 300  # a file system allows 255 characters


@pytest.mark.parametrize(
    "path",
    [
        f"{LONG_NAME}.csv",
        f"{LONG_NAME}/a.csv",
        f"{LONG_NAME}/*.csv",
        Path(f"{LONG_NAME}.parquet"),
    ],
    ids=["file", "file in a folder", "pattern", "Path"],
)
def test_a_path_that_is_too_long_is_refused(path, tmp_path, monkeypatch):
    """The message has the beginning of the path."""
    monkeypatch.chdir(tmp_path)
    message = message_of_refusal(classification.read, preds=path)
    assert message.startswith("n" * 60)
    assert "File name too long" in message or "no file matches" in message


def test_the_home_of_nobody_is_refused():
    assert "cannot be read: Could not determine home" in message_of_refusal(
        classification.read, preds="~no-such-user/a.csv"
    )


# Root may read every file, so that a run as root goes on as the user nobody, who may not import
# the package: what is needed is imported before.
SCRIPT_THAT_READS_AS_NOBODY = """
import os, sys
from evalkit.arrays import InputError
from evalkit.machine.bundled_files import bundled_root
from evalkit.reading.tables import sources
bundled_root()
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    sources.parts(sys.argv[1])
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("path", ["closed", "closed/a.csv", "closed.csv"])
def test_files_and_folders_that_may_not_be_read_are_refused(path, tmp_path):
    """The folder `closed` and the file `closed.csv` have no rights at all (mode 0). Root could read
    them all the same, so that a script reads them in another process, which becomes the user
    "nobody" if it runs as root. It prints the message of the refusal.
    """
    for folder in (tmp_path, *tmp_path.parents[:2]):  # the way to the files is open to all
        folder.chmod(0o755)
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "a.csv").write_text(SCORED)
    (tmp_path / "closed.csv").write_text(SCORED)
    (tmp_path / "closed").chmod(0)
    (tmp_path / "closed.csv").chmod(0)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT_THAT_READS_AS_NOBODY, tmp_path / path],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.stdout.count("\n") == 1, run.stderr
    assert "cannot be read: Permission denied" in run.stdout


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path, monkeypatch):
    """The operating system denies the list of the files in a folder, here as `Path.iterdir` raises
    an error. The path is refused with the reason. The message repeats only so many characters of a
    long path (`sources.NAME`).
    """

    def raise_permission_error(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", raise_permission_error)
    name = str(tmp_path)[: sources.NAME]
    assert (
        message_of_refusal(sources.parts, tmp_path) == f"{name}: cannot be read: Permission denied"
    )


# Columns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["id,label,sc\0ore,weight", "id,label,score,\0"])
def test_a_nul_in_the_header_of_a_file_is_refused(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n1,1,0.5,2\n2,0,0.4,3\n")
    message = message_of_refusal(classification.read, preds=str(path))
    assert "column names must hold no NUL character" in message


def test_a_nul_in_a_column_name_of_a_frame_is_refused():
    frame = pd.DataFrame({"id": [1, 2], "label": [1, 0], "sc\0ore": [0.5, 0.4]})
    message = message_of_refusal(classification.read, preds=frame)
    assert "column names must hold no NUL character" in message


# Values -------------------------------------------------------------------------------------------


# For a report and the column that is too large: how it is read, and the rest of the table.
TOO_LARGE = {
    "metric of users": (
        "orders",
        {"arm": ["a", "b"] * 30},
        lambda table: interleaving.read(users=table, metrics="orders", world="none"),
    ),
    "value of a system": ("a", {"query": range(60), "b": 0.0}, significance.read),
    "actual value": ("actual", {"forecast": 0.0}, rating.read),
    "forecast": ("forecast", {"id": range(60), "actual": 0.5}, rating.read),
    "label of folds": (
        "label",
        {"score": 0.0, "fold": np.arange(60) % 5},
        lambda table: validation.read(preds=table, task="number"),
    ),
}


@pytest.mark.parametrize("size", [1e308, -1e308, 1e200])
@pytest.mark.parametrize(("column", "further_columns", "read"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_values_that_are_too_large_for_sums_of_squares_are_refused(
    column, further_columns, read, size
):
    """The seventh value of this column is too large."""
    values = np.random.default_rng(3).normal(size=60)
    values[6] = size
    message = message_of_refusal(read, pd.DataFrame({column: values} | further_columns))
    assert message == f"data frame: {column} must lie within ±1e+75, got {size:g} (row 7)"


@pytest.mark.parametrize("size", [1e308, -1e308, 1e200])
def test_targets_beside_features_that_are_too_large_are_refused(size):
    """The seventh label is larger than 1e75, whose square could not be summed. Models would be
    trained on the feature x.
    """
    values = np.random.default_rng(3).normal(size=60)
    values[6] = size
    table = pd.DataFrame({"label": values, "x": range(60)})
    message = message_of_refusal(validation.read, features=table, task="number")
    assert f"must lie within ±1e+75, got {size:g}" in message


def test_the_largest_value_makes_a_page():
    """Values up to 1e75 are accepted, as their squares can still be summed: an A/B test with one
    such value has finite results.
    """
    values = np.random.default_rng(3).normal(size=60)
    values[6] = 1e75
    users = pd.DataFrame({"arm": ["a", "b"] * 30, "orders": values})
    row = interleaving.read(users=users, metrics="orders", world="none").users.comparisons.iloc[0]
    assert np.isfinite([row["difference"], row["low"], row["high"], row["p"]]).all()


HALF = np.arange(60) % 2
SHARES = np.random.default_rng(3).random(60)


@pytest.mark.parametrize(
    "read, given",
    [
        (
            classification,
            {"y_true": HALF, "y_score": {"a": SHARES * 1e-309, "b": SHARES[::-1] * 1e-309}},
        ),
        (classification, {"y_true": HALF, "y_score": np.full(60, 1.2e19)}),
        (
            rating,
            {
                "y_true": np.full(60, 1.2e19),
                "y_pred": {"a": np.full(60, 1.2e19), "b": np.full(60, 1.21e19)},
            },
        ),
        (rating, {"y_true": SHARES, "y_pred": np.full(60, 1.2e19)}),
    ],
)
def test_numbers_at_the_ends_of_the_doubles_make_a_page(tmp_path, read, given):
    read.read(**given).save(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


# Arrays as other libraries have them --------------------------------------------------------------


class Tensor:
    """An array with a gradient, which numpy may not read: what torch has."""

    def __init__(self, values, error=None):
        self.values, self.error, self.ndim, self.shape = values, error, values.ndim, values.shape

    def __len__(self):
        return len(self.values)

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def detach(self):
        return self

    def cpu(self):
        if self.error:
            raise RuntimeError(self.error)
        return self.values


SPARSE = {
    "sparse": (csr_array(HALF.reshape(-1, 1)), csr_array(SHARES.reshape(-1, 1))),
    "tensor": (Tensor(HALF), Tensor(SHARES)),
    "list": (HALF.tolist(), SHARES.tolist()),
}


@pytest.mark.parametrize("form", SPARSE)
def test_sparse_arrays_and_tensors_in_scikit_learns_order_are_read_as_arrays(form):
    label, score = SPARSE[form]
    plain = classification.read(y_true=HALF, y_score=SHARES).estimates
    pd.testing.assert_frame_equal(classification.read(label, score).estimates, plain)


@pytest.mark.parametrize("form", SPARSE)
def test_sparse_arrays_and_tensors_are_read_as_forecasts(form):
    _, actual = SPARSE[form]
    plain = rating.read(y_true=SHARES, y_pred=SHARES).estimates
    pd.testing.assert_frame_equal(rating.read(actual, actual).estimates, plain)


def test_the_unit_may_be_an_array_beside_arrays():
    frame = pd.DataFrame({"y_true": HALF, "y_score": SHARES, "user": np.arange(60) // 3})
    by_column = classification.read(frame, unit="user").estimates
    for unit in (frame["user"], frame["user"].to_numpy(), frame["user"].tolist()):
        estimates = classification.read(y_true=HALF, y_score=SHARES, unit=unit).estimates
        pd.testing.assert_frame_equal(estimates, by_column.assign(system="score"))


@pytest.mark.parametrize(
    "given, message",
    [
        ({"unit": HALF, "preds": "x.csv"}, r"unit must be one text, got array\(\[0, 1, "),
        ({"level": np.array([0.9, 0.8])}, r"level must be a number .*, got array\(\[0.9, 0.8\]\)"),
        (
            {"y_true": HALF, "y_score": Tensor(SHARES, "no kernel\nat all")},
            "score cannot be read as .*: no kernel$",
        ),
        ({"preds": SHARES}, "got ndarray; give arrays as a dict of columns"),
    ],
)
def test_arrays_that_cannot_be_meant_are_refused_in_one_line(given, message):
    assert re.search(message, message_of_refusal(classification.read, **given))
