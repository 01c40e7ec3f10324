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


def refusal(read, *data, **given):
    """The message of the InputError; it is one line that a reader can take in."""
    with pytest.raises(InputError) as raised:
        read(*data, **given)
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def table(n=60, **columns):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"id": [f"r{i}" for i in range(n)], "label": rng.permutation(np.arange(n) % 2), **columns}
    )


# Inputs that are wrong as a whole -----------------------------------------------------------------


# Files that are none ------------------------------------------------------------------------------


def test_pipes_devices_sockets_and_empty_files_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    Path("empty.csv").touch()
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
            assert refusal(classification.read, preds=name) == message
    assert refusal(classification.read, preds="empty.csv") == "empty.csv: the file is empty"


def test_a_path_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long = "n" * 300
    for path in (f"{long}.csv", f"{long}/a.csv", f"{long}/*.csv", Path(f"{long}.parquet")):
        message = refusal(classification.read, preds=path)
        assert message.startswith("n" * 60)
        assert "File name too long" in message or "no file matches" in message


def test_the_home_of_nobody_is_refused():
    assert "cannot be read: Could not determine home" in refusal(
        classification.read, preds="~no-such-user/a.csv"
    )


NOBODY = "import os, sys\nif os.getuid() == 0:\n    os.setgid(65534)\n    os.setuid(65534)\n"
READS = "from evalkit.arrays import InputError\nfrom evalkit.reading.tables import sources\n"
TRIES = "try:\n    sources.parts(sys.argv[1])\nexcept InputError as error:\n    print(error)\n"


def test_files_and_folders_that_may_not_be_read_are_refused(tmp_path):
    for part in (tmp_path, *tmp_path.parents[:2]):
        part.chmod(0o755)
    closed = tmp_path / "closed"
    inside = tmp_path / "closed" / "a.csv"
    file = tmp_path / "b.csv"
    closed.mkdir()
    for path in (inside, file):
        path.write_text(SCORED)
    file.chmod(0)
    closed.chmod(0)
    for path in (closed, inside, file):
        # what nobody cannot import
        finds = "from evalkit.machine.bundled_files import bundled_root\nbundled_root()\n"
        code = READS + finds + NOBODY + TRIES
        run = subprocess.run(
            [sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, text=True
        )
        assert run.stdout.count("\n") == 1, run.stderr
        assert "cannot be read: Permission denied" in run.stdout


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path, monkeypatch):
    def closed(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", closed)
    assert (
        refusal(sources.parts, tmp_path)
        == f"{str(tmp_path)[: sources.NAME]}: cannot be read: Permission denied"
    )


# Columns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["id,label,sc\0ore", "id,label,score,\0"])
def test_a_nul_in_a_header_is_refused(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n1,1,0.5,2\n2,0,0.4,3\n")
    assert "column names must hold no NUL character" in refusal(
        classification.read, preds=str(path)
    )
    frame = table(score=0.5).rename(columns={"score": "sc\0ore"})
    assert "column names must hold no NUL character" in refusal(classification.read, preds=frame)


# Values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e308, -1e308, 1e200])
def test_values_whose_squares_are_not_finite_are_refused(size):
    values = np.random.default_rng(3).normal(size=60)
    values[6] = size
    rule = f"must lie within ±1e+75, got {size:g}"
    users = pd.DataFrame({"arm": ["a", "b"] * 30, "orders": values})
    assert (
        refusal(interleaving.read, users=users, metrics="orders", world="none")
        == f"data frame: orders {rule} (row 7)"
    )
    wide = pd.DataFrame({"query": range(60), "a": values, "b": 0.0})
    assert refusal(significance.read, wide) == f"data frame: a {rule} (row 7)"
    rated = pd.DataFrame({"actual": values, "forecast": 0.0})
    assert refusal(rating.read, rated) == f"data frame: actual {rule} (row 7)"
    forecast = pd.DataFrame({"id": range(60), "actual": 0.5, "forecast": values})
    assert refusal(rating.read, forecast) == f"data frame: forecast {rule} (row 7)"
    folds = pd.DataFrame({"label": values, "score": 0.0, "fold": np.arange(60) % 5})
    assert (
        refusal(validation.read, preds=folds, task="number") == f"data frame: label {rule} (row 7)"
    )
    target = pd.DataFrame({"label": values, "x": range(60)})
    assert rule in refusal(validation.read, features=target, task="number")


def test_the_largest_value_makes_a_page():
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
    assert re.search(message, refusal(classification.read, **given))
