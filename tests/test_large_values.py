"""Values per unit of tables that an engine reads block by block: all numbers of memory, and the same refusals."""

import numpy as np
import pandas as pd
import pytest
from large_values import drawn, held, long, of_users, summed, wide

from evalkit.arrays import InputError, ParameterError
from evalkit.drawing.tables import Html
from evalkit.limits import Limits, Reading
from evalkit.pages import significance_page
from evalkit.studies import paired, units

PLAIN = ("systems", "order", "pairs", "units", "unit_name", "opponents", "family", "alone", "tests_are")
FRAMES = ("effects", "other_tests", "needed", "power_curve")
LABELS = ["new", "old", "base"]


def same_studies(kept, read, rtol=1e-12):
    """All that a page shows; rtol: where the engine gives the rows in another order."""
    for name in PLAIN:
        assert getattr(kept, name) == getattr(read, name), name
    assert kept.data.columns == read.data.columns
    assert told(kept) == told(read)
    for one, other in zip(frames(kept), frames(read), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=rtol, atol=1e-14)
    assert kept.each_difference() == read.each_difference()
    assert paired.mean_ranks(kept) == paired.mean_ranks(read)


def frames(study):
    return [study.estimates, study.comparisons, *(getattr(paired, name)(study) for name in FRAMES)]


def told(study):
    """The findings, without what only tables at hand are looked at for."""
    found = [finding.message for finding in significance_page.every_finding(study)]
    return [text for text in found if "clusters, not looked at" not in text and "repeats (" not in text]


def rows_alone():
    """Each row is a unit, in a cluster."""
    return of_users(wide()).drop(columns="question")


def in_several():
    """Draws of one question by several users: of each another unit."""
    table = drawn()
    return table.assign(user="u" + (table.groupby("question").cumcount() * 150 + table.index % 131).astype(str))


def few_values():
    """Users without any value of a system."""
    table = of_users(wide())
    return table.assign(new=table["new"].where(table["user"].str[-1] != "7"))


def repeated_folds():
    return wide().drop(columns="question").assign(fold=np.arange(1500) % 100, repeat=np.arange(1500) // 100)


TWO = {"metrics": "quality,minutes", "lower_is_better": "minutes"}
USERS = {"unit": "user"}
FOLDS = {"test_to_train": 0.1, "margin": 0.01}
CASES = {
    "wide": (wide, {}),
    "rows are units": (lambda: wide().drop(columns="question"), {}),
    "draws": (drawn, {}),
    "two systems": (wide, {"systems": "base,new"}),
    "baseline": (wide, {"baseline": "old", "margin": 0.01}),
    "low": (wide, {"metrics": "minutes", "lower_is_better": "minutes"}),
    "looks": (wide, {"looks": 3, "level": 0.9}),
    "long": (long, {"metrics": "quality"}),
    "two metrics": (long, TWO),
    "some systems": (long, {"systems": "old,new"}),
    "fold and repeat": (repeated_folds, {}),
    "whole": (lambda: wide().dropna(ignore_index=True), {}),
    "clusters": (lambda: of_users(wide()), USERS),
    "clusters of rows": (rows_alone, USERS),
    "clusters of draws": (lambda: of_users(drawn()), USERS),
    "a unit in several clusters": (in_several, USERS),
    "clusters without a value": (few_values, USERS),
    "clusters and a baseline": (lambda: of_users(wide()), {"baseline": "old", "margin": 0.01, **USERS}),
    "clusters and looks": (lambda: of_users(wide()), {"looks": 3, "level": 0.9, **USERS}),
    "clusters by two metrics": (lambda: of_users(long()), {**TWO, **USERS}),
    "clusters of one unit": (lambda: wide().assign(user=lambda t: "of " + t["question"]), USERS),
    "a cluster that only draws share": (
        lambda: of_users(long()).drop(columns="question").assign(run=lambda t: np.arange(len(t))),
        {"metrics": "quality", **USERS},
    ),
    "folds": (wide, FOLDS),
    "folds by two metrics": (long, TWO | FOLDS),
    "folds of draws": (drawn, {"looks": 3, **FOLDS}),
    "equal folds": (lambda: pd.DataFrame({"fold": range(200), "a": 0.2, "b": 0.1, "c": 0.1}), FOLDS),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_memory(case):
    make, given = CASES[case]
    same_studies(held(make(), **given), summed(make(), **given))


@pytest.mark.parametrize("given", [{}, USERS], ids=["units", "clusters"])
@pytest.mark.parametrize("make", [wide, drawn, long], ids=["wide", "draws", "long"])
def test_many_units_at_any_memory(make, given, tmp_path):
    table = of_users(make(20_000), 7_919) if given else make(20_000)
    kept = held(table, **given)
    files = [tmp_path / name for name in ("one.parquet", "two.csv")]
    table[:8_000].to_parquet(files[0], index=False)
    table[8_000:].to_csv(files[1], index=False)
    for memory, data in (("1GB", table), ("250MB", [str(path) for path in files])):
        limits = Limits(reading=Reading(rows=1_000, shard=2_400, row=20_000))
        read = summed(data, limits, memory=memory, threads=2, **given)
        for frame in ("estimates", "comparisons"):
            one, other = getattr(kept, frame), getattr(read, frame)
            pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=1e-12, atol=1e-14)


MANY = Limits(reading=Reading(rows=100, shard=500, row=10**9, listed=150))


@pytest.mark.parametrize("given", [{}, USERS], ids=["units", "clusters"])
def test_very_many_units_are_drawn_from_the_limit_of_sign_flips(given):
    whole = of_users(wide().dropna(ignore_index=True))
    whole = whole if given else whole.drop(columns="user")
    kept, many = held(whole, **given), summed(whole, MANY, **given)
    np.testing.assert_allclose(many.comparisons["max_t"], kept.comparisons["max_t"], atol=0.01)
    assert many.comparisons["method"].tolist() == ["jackknife t" if given else "paired t"] * 3
    np.testing.assert_allclose(many.comparisons["p"], kept.comparisons["p"], atol=0.02)
    assert many.null_draws().std() == pytest.approx(kept.null_draws().std(), rel=0.03)
    reach = np.linspace(-0.01, 0.01, 5) + kept.headline.iloc[0]["difference"]
    np.testing.assert_allclose(many.p_of(reach), kept.p_of(reach), atol=0.02)
    unit = "users" if given else "questions"
    assert any(text.startswith(f"With more than 150 {unit}, differences are tested by t") for text in told(many))
    in_memory, of_many = words(kept), words(many)
    for says in ("bootstrap p", "random sign vectors"):
        assert says in in_memory
        assert says not in of_many
    assert "draws from the normal distribution of such means" in of_many
    answers = significance_page.results(many)._repr_mimebundle_()["application/vnd.evalkit+json"]
    assert answers["differences"] == {"units": [], "values": []}
    assert sum(answers["null_distribution"]["share"]) == pytest.approx(1)


def words(study):
    names = ("title", "estimates", "effects", "equivalence", "needed", "definitions", "other_tests")
    pieces = [getattr(significance_page, name)(study) for name in names]
    pictures = ("differences", "distribution", "null_distribution", "ranks", "power", "duality")
    pieces += [getattr(significance_page, name)(study) for name in pictures]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


def test_columns_that_may_name_clusters_are_named():
    found = [finding.message for finding in significance_page.every_finding(summed(of_users(wide())))]
    assert "Columns that may name clusters, not looked at in so long a table: user." in found


@pytest.mark.parametrize(
    ("make", "rows"), [(lambda: wide().drop(columns="question"), 1500), (drawn, 1500), (long, 1500)]
)
def test_more_values_than_are_kept_are_refused_with_their_number(make, rows):
    def limits(kept):
        return Limits(reading=Reading(rows=100, shard=500, row=10**9, kept=kept))

    given = {"metrics": "quality"} if make is long else {}
    assert len(summed(make(), limits(3 * rows), **given).data) == rows
    with pytest.raises(InputError, match="1,500 units with 3 values each are more than the 4,499 values that are kept"):
        summed(make(), limits(3 * rows - 1), **given)


def test_the_file_of_units_counts_units_not_clusters(monkeypatch):
    study = summed(of_users(wide()), unit="user")
    assert study.units < len(study.data) == study.units_held().size
    monkeypatch.setattr(units, "MOST", study.units * len(study.systems))
    assert study.units_wanted() is None


def test_folds_of_several_rows_are_refused_as_in_memory():
    for read in (held, summed):
        with pytest.raises(ParameterError, match="test_to_train: needs one row per fold, the input has several"):
            read(of_users(wide()), unit="user", test_to_train=0.1)
