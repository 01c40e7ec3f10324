"""The study of one slice is that of its rows alone, wherever they are read from; each figure draws
it.
"""

import numpy as np
import online_samples
import pandas as pd
import pytest
from engine_samples import SMALL as IN_BLOCKS, binary, classified

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.limits import USUAL_LIMITS as IN_MEMORY
from evalkit.pages import classification_page

RNG = np.random.default_rng(4)
LABELLED_ROWS = (
    binary(400)
    .sort_values("id")
    .assign(
        age=RNG.integers(20, 80, 400),
        plan=RNG.choice(["a", "b c", "it's"], 400),
        town=RNG.choice([None, "x"], 400),
    )
)
SEGMENTS = "age,plan,town"


def assert_same_numbers(study, other):
    """Both studies have the same numbers."""
    assert study.order == other.order
    pd.testing.assert_frame_equal(study.estimates, other.estimates)
    pd.testing.assert_frame_equal(study.comparisons, other.comparisons)


def slices_and_their_rows(study, rows):
    """Each slice of a study that has a row for each of these, and its rows."""
    return [(part.name, rows[part.member]) for part in study.slices]


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
@pytest.mark.parametrize("limits", [IN_MEMORY, IN_BLOCKS], ids=["in memory", "in blocks"])
def test_rows_of_a_slice_are_read_alone(ending, limits, tmp_path):
    """A study of a file of 400 rows, with slices by age, plan and town, read in memory or in blocks
    (`limits`). `study.segment(name)` reads the file once more, for the rows of the slice alone. It
    must have the numbers of a study of these rows as a data frame. Among the slices are a name with
    a quote, missing values and a range.
    """
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        LABELLED_ROWS.to_csv(path, index=False)
    if ending == "parquet":
        LABELLED_ROWS.to_parquet(path)
    if ending == "json":
        LABELLED_ROWS.to_json(path, orient="records")
    options = {"segments": SEGMENTS, "metrics": "roc_auc,f1", "threshold": "best_f1"}
    rows_of_slices = slices_and_their_rows(classified(LABELLED_ROWS, **options), LABELLED_ROWS)
    study = classified(str(path), limits, **options)
    names = [name for name, _ in rows_of_slices]
    assert [part.name for part in study.slices] == names
    assert {"plan=it's", "town=(none)", "age=(36, 51]"} <= {*names}
    is_fast = limits is IN_MEMORY and ending == "csv"
    compared_slices = rows_of_slices if is_fast else rows_of_slices[::3]  # every third saves time
    for name, rows in compared_slices:
        assert_same_numbers(study.segment(name), classified(rows, limits, **options))


def test_forecasts_of_a_slice():
    """A study of forecasts with slices by plan, where each user (`user_id`) is a unit of several
    rows. The study of a slice must have the numbers of a study of the slice's rows alone.
    """
    rows = LABELLED_ROWS.rename(
        columns={"label": "actual", "score_good": "forecast_a", "score_weak": "forecast_b"}
    )
    # not 0 and 1, which beside forecasts between 0 and 1 would be taken for classes
    rows["actual"] = 2 * rows["actual"]
    study = ek.rating(rows, segments="plan", unit="user_id")
    for name, rows_of_slice in slices_and_their_rows(study, rows):
        expected = ek.rating(rows_of_slice, segments="plan", unit="user_id")
        assert_same_numbers(study.segment(name), expected)


def test_queries_of_a_slice_with_their_items():
    """Systems a and b rank nine items for each of 40 queries, in German or French. Items have a
    category, by which diversity is measured. The study of the slice of one language must have the
    numbers, curves and tables of a study of the lists of its queries alone.
    """
    items = pd.DataFrame({"item": [f"i{i}" for i in range(9)], "category": np.arange(9) % 3})
    judged = pd.DataFrame(
        {
            "query": np.repeat([f"q{i}" for i in range(40)], 9),
            "item": [*items["item"]] * 40,
            "lang": np.repeat(RNG.choice(["de", "fr"], 40), 9),
            "grade": RNG.integers(0, 3, 360),
        }
    )
    lists = pd.concat([judged.assign(system=name, score=RNG.random(360)) for name in "ab"])
    study = ek.ranking(lists, items=items, segments="lang")
    for part in study.slices:
        study_of_slice = study.segment(part.name)
        expected = ek.ranking(lists[lists["lang"] == part.label], items=items)
        assert_same_numbers(study_of_slice, expected)
        # likeness: the similarity of the lists of a and b, by query
        for frame in ("curves", "precision_recall", "likeness"):
            pd.testing.assert_frame_equal(getattr(study_of_slice, frame), getattr(expected, frame))
        assert study_of_slice.tables.diversity.text == expected.tables.diversity.text
        # the five first items of system a for the fourth query of the slice
        assert study_of_slice.top("a", 3, 5) == expected.top("a", 3, 5)


@pytest.fixture(scope="module")
def log_and_users():
    """A log of interleaved lists, with the column `device`, and a table of an A/B test's users,
    with the column `country`.
    """
    return online_samples.more_logs(3), online_samples.users()


@pytest.fixture(scope="module")
def study_of_log_and_users(log_and_users):
    log, users = log_and_users
    return ek.interleaving(
        log, users, metrics="orders", world="none", segments=("device", "country")
    )


def test_a_slice_by_a_column_of_the_log_has_no_users(log_and_users, study_of_log_and_users):
    """A study of a log of interleaved lists, which has the column device, and of a table of users,
    which has not. A slice by device is one of the log alone.
    """
    log, _ = log_and_users
    found = study_of_log_and_users.segment("device=web")
    expected = ek.interleaving(log[log["device"] == "web"], world="none")
    assert_same_numbers(found.log, expected.log)
    assert found.users is None


def test_a_slice_by_a_column_of_the_users_has_no_log(log_and_users, study_of_log_and_users):
    """A study of a log of interleaved lists, and of a table of users with the column country, which
    the log has not. A slice by country is one of the users alone.
    """
    _, users = log_and_users
    found = study_of_log_and_users.segment("country=x")
    expected = ek.interleaving(users=users[users["country"] == "x"], metrics="orders", world="none")
    assert_same_numbers(found.users, expected.users)
    assert found.log is None


def test_a_slice_of_the_bundled_log_keeps_its_baseline():
    assert ek.interleaving().segment("device=phone").log.settings.baseline == "current"


@pytest.fixture
def study_by_plan():
    return ek.classification(LABELLED_ROWS, segments="plan", metrics="roc_auc")


def test_a_figure_of_a_slice_draws_the_rows_of_the_slice(study_by_plan):
    """The lines of the calibration plot of the slice plan=a are those of a study of its rows, and
    others than those of all rows.
    """
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    study_of_slice = ek.classification(LABELLED_ROWS[LABELLED_ROWS["plan"] == "a"])
    lines_of_slice = lines_in(study_by_plan.plot.calibration(segment="plan=a"))
    lines_of_rows_alone = lines_in(study_of_slice.plot.calibration())
    lines_of_all_rows = lines_in(study_by_plan.plot.calibration())
    pyplot.close("all")
    assert all(map(np.array_equal, lines_of_slice, lines_of_rows_alone))
    assert not all(map(np.array_equal, lines_of_slice, lines_of_all_rows))


def lines_in(axes):
    """The points of each line in the first axes of a figure."""
    figure = first(axes).figure
    return [line.get_xydata() for line in figure.axes[0].lines]


def test_the_page_of_a_slice_names_the_slice(study_by_plan):
    """The study has slices by the column plan. The page of the slice plan=a says so in its title
    and in the code that makes it.
    """
    study_of_slice = study_by_plan.segment("plan=a")
    assert "Only plan=a" in classification_page.title(study_of_slice).text
    # the Python code that makes this study, escaped for HTML
    assert ".segment(&#x27;plan=a&#x27;)" in classification_page.origin(study_of_slice).html


def test_a_slice_that_does_not_exist_is_refused_with_a_near_name(study_by_plan):
    message = r"no slice 'plan=aa' \(did you mean 'plan=a'\?\), there are plan=a, "
    with pytest.raises(ParameterError, match=message):
        study_by_plan.segment("plan=aa")


def test_a_slice_of_a_study_without_segments_is_refused():
    with pytest.raises(ParameterError, match="there are none; set segments to a column"):
        ek.classification(LABELLED_ROWS).segment("plan=a")


def test_a_figure_on_the_page_takes_no_slice(study_by_plan):
    """A figure of `study.plot` can be drawn for one slice; that of the page, made by a function of
    `classification_page`, cannot.
    """
    with pytest.raises(ParameterError, match=r"only a figure of study.plot .* got 'plan=a'"):
        classification_page.calibration_plot(study_by_plan)(segment="plan=a")


def first(axes):
    """The first of some axes."""
    return np.asarray(axes, object).flat[0]


@pytest.mark.parametrize("limits", [IN_MEMORY, IN_BLOCKS], ids=["held", "blocks"])
def test_a_slice_of_a_number_with_an_exponent_has_a_plain_label(limits):
    """The column dose holds the texts 5.000e-01, 1.500e+00 and 2.500e+00. Slices are called by the
    plain numbers, read in memory or in blocks (`limits`).
    """
    rows = LABELLED_ROWS.assign(dose=[f"{number:.3e}" for number in np.arange(400) % 3 + 0.5])
    study = classified(rows, limits, segments="dose", metrics="roc_auc")
    assert [part.name for part in study.slices] == ["dose=0.5", "dose=1.5", "dose=2.5"]
