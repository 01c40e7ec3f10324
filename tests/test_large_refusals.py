"""Binary tables that are read twice and never kept: what cannot be meant is refused as in memory."""

import re
from dataclasses import replace

import pytest
from large_tables import BAD, SMALL, classified, frame, put

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits
from evalkit.metrics import grid
from evalkit.reading.reductions import blocks
from evalkit.studies import classification


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_as_in_memory(case):
    change, given = BAD[case]
    data = change(frame(400))
    with pytest.raises((InputError, ParameterError)) as found:
        classified(data, SMALL, **given)
    with pytest.raises((InputError, ParameterError)) as expected:
        classification.read(data, **given)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_files_of_every_kind_are_refused_by_name_and_row(tmp_path, kind):
    data, path = put(frame(300), "score_good", 9, None), tmp_path / f"bad.{kind}"
    data["score_good"] = data["score_good"].astype(float)
    write = {"csv": data.to_csv, "parquet": data.to_parquet}.get(kind)
    write(path, index=False) if write else data.to_json(path, orient="records", lines=True)
    with pytest.raises(InputError, match=re.escape(r"score_good must be a finite number, got nothing (row 10)")):
        classified(str(path), SMALL)


def test_a_truncated_file_and_an_unwritable_spill(tmp_path):
    path = tmp_path / "cut.parquet"
    frame(2000).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(InputError, match="must be a complete Parquet file"):
        classified(str(path), SMALL)
    with pytest.raises(ParameterError, match="spill must be a folder"):
        classified(frame(), SMALL, spill=str(tmp_path / "nowhere"))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path, reduce = tmp_path / "live.csv", grid.reduce
    frame(2000).to_csv(path, index=False)

    def slow(*columns, **given):
        with path.open("a", encoding="utf-8") as file:
            file.write("")
        path.touch()
        return reduce(*columns, **given)

    monkeypatch.setattr(grid, "reduce", slow)
    with pytest.raises(InputError, match=r"live\.csv: the file changed while it was read"):
        classified(str(path), SMALL)


def test_an_input_whose_readings_differ_is_refused(monkeypatch):
    laid = blocks.laid
    monkeypatch.setattr(blocks, "laid", lambda *a, **k: replace(laid(*a, **k), rows=2999))
    with pytest.raises(InputError, match="data frame: the input changed while it was read"):
        classified(frame(3000), SMALL)


def test_no_file_is_left_when_reading_ends_badly(tmp_path, monkeypatch):
    monkeypatch.setattr(grid, "reduce", lambda *columns, **given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        classified(frame(), SMALL, spill=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_segments_with_too_many_values_are_refused():
    few = Limits(reading=replace(SMALL.reading, values=50))
    with pytest.raises(ParameterError, match="'age' has more than 50 distinct values"):
        classified(frame(), few, segments="age")
