"""Files that write decimals with a comma, as spreadsheets of much of Europe do."""

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.arrays import InputError

# 60 actual values and forecasts of two systems, with two decimals
RNG = np.random.default_rng(7)
ACTUAL = np.round(RNG.normal(50, 20, 60), 2)
FORECASTS = pd.DataFrame(
    {
        "id": np.arange(60),
        "actual": ACTUAL,
        "forecast_a": np.round(ACTUAL + RNG.normal(0, 3, 60), 2),
        "forecast_b": np.round(ACTUAL + RNG.normal(0, 5, 60), 2),
    }
)


def write_with_commas(path, frame=FORECASTS, separator=";"):
    """Write a file with decimal commas and return its path."""
    frame.to_csv(path, sep=separator, decimal=",", index=False)
    return path


def append_line(path, line):
    """Write one more line at the end of a file and return its path."""
    path.write_text(f"{path.read_text()}{line}\n")
    return path


def forecasts_of_2400_rows():
    """FORECASTS forty times: more rows than those by which the types of columns are first told."""
    frame = pd.concat([FORECASTS] * 40, ignore_index=True)
    frame["id"] = np.arange(len(frame))
    return frame


@pytest.mark.parametrize(("name", "separator"), [("t.csv", ";"), ("t.tsv", "\t"), ("t.csv", "|")])
def test_values_are_those_of_the_same_table_with_points(tmp_path, name, separator):
    """A file with decimal commas, and with semicolons, tabs or bars between columns, has the
    estimates of the same table as a data frame.
    """
    study = ek.rating(write_with_commas(tmp_path / name, separator=separator))
    pd.testing.assert_frame_equal(study.estimates, ek.rating(FORECASTS).estimates)


def test_values_by_unit_are_read(tmp_path):
    """A file with decimal commas has a value of the systems a and b for each of 60 units."""
    frame = FORECASTS.drop(columns="actual").set_axis(["unit", "a", "b"], axis=1)
    study = ek.significance(write_with_commas(tmp_path / "t.csv", frame))
    pd.testing.assert_frame_equal(study.estimates, ek.significance(frame).estimates)


def test_probabilities_are_read(tmp_path):
    """A file with decimal commas has 60 labels and probabilities of one system."""
    frame = pd.DataFrame(
        {"y_true": FORECASTS["id"] % 2, "model_a": (FORECASTS["id"] * 37 % 60) / 64}
    )
    study = ek.classification(write_with_commas(tmp_path / "t.csv", frame))
    pd.testing.assert_frame_equal(study.estimates, ek.classification(frame).estimates)


def test_a_column_of_whole_numbers_may_have_commas_after_the_first_rows(tmp_path):
    """Columns are recognised by the cells of the first 2,000 rows. Of 2,400 actual values the first
    2,300 are whole numbers, which are written without a comma ("50", not "50,0"). The column is
    nevertheless read as one with decimal commas: the estimates are those of the same table as a
    data frame.
    """
    frame = forecasts_of_2400_rows()
    is_among_first = np.arange(2_400) < 2_300
    frame["actual"] = np.where(is_among_first, frame["actual"].round(), frame["actual"])
    text = frame.to_csv(sep=";", decimal=",", index=False)
    path = tmp_path / "t.csv"
    path.write_text(text.replace(",0;", ";"))
    of_file = ek.rating(path)
    of_frame = ek.rating(frame)
    pd.testing.assert_frame_equal(of_file.estimates, of_frame.estimates)


@pytest.mark.parametrize("cell", ["1.234", "1.5"])
def test_a_point_beside_commas_is_refused(tmp_path, cell):
    """The last line has 1.5 or 1.234 where all other numbers have a decimal comma; the point might
    also separate thousands.
    """
    path = append_line(write_with_commas(tmp_path / "t.csv"), f"60;{cell};1,2;1,3")
    with pytest.raises(InputError, match=rf"must be written alike .* got '{cell}' beside"):
        ek.rating(path)


def test_a_point_after_the_first_rows_is_refused(tmp_path):
    """Columns are recognised by the first 2,000 rows, and row 2,401 has a number with a point where
    all others have a comma.
    """
    path = write_with_commas(tmp_path / "t.csv", forecasts_of_2400_rows())
    append_line(path, "9999;1.234;1,2;1,3")
    with pytest.raises(InputError, match=r"must be written alike .* got '1.234' beside"):
        ek.rating(path)


def test_a_text_is_named_with_its_row(tmp_path):
    """A file with decimal commas has 60 good rows, and a text in place of a number in the row
    after.
    """
    path = append_line(write_with_commas(tmp_path / "t.csv"), "60;abc;1,2;1,3")
    with pytest.raises(InputError, match=r"actual must be a number, got 'abc' \(row 61\)"):
        ek.rating(path)


def test_another_column_with_points_keeps_the_refusal(tmp_path):
    """The forecasts of system b have decimal points, the other columns decimal commas."""
    frame = FORECASTS.assign(forecast_b=FORECASTS["forecast_b"].map("{:.2f}".format))
    with pytest.raises(InputError, match=r"forecast|actual"):
        ek.rating(write_with_commas(tmp_path / "t.csv", frame))


def test_commas_between_commas_stay_refused(tmp_path):
    """The commas between columns are the same as those within the quoted numbers, so that they are
    not taken for decimal commas.
    """
    path = tmp_path / "t.csv"
    path.write_text('actual,forecast\n"1,5","1,2"\n"2,5","2,2"\n"3,5","3,2"\n')
    with pytest.raises(InputError, match=r"must be a number, got '1,5'"):
        ek.rating(path)


def test_commas_that_may_group_thousands_are_refused(tmp_path):
    """Each comma is followed by three digits: 1,500 may be 1.5 or 1500."""
    path = tmp_path / "t.tsv"
    path.write_text("actual\tforecast\n1,500\t1,250\n2,500\t12,250\n3,500\t3,250\n")
    with pytest.raises(InputError, match=r"must be a number, got '1,500'"):
        ek.rating(path)


def test_a_single_comma_is_no_convention(tmp_path):
    """One number of the file has a comma and no other number has decimals, so that the comma may be
    a typing error.
    """
    path = tmp_path / "t.csv"
    path.write_text("actual;forecast\n1;1\n2;2,5\n3;3\n")
    with pytest.raises(InputError, match=r"forecast must be a number, got '2,5'"):
        ek.rating(path)
