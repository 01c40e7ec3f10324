"""Values per unit that are read twice and never kept: the numbers of memory, and the same refusals."""

import numpy as np
import pandas as pd
import pytest
from large_values import SHARDS, drawn, held, long, summed, wide

from evalkit.arrays import InputError, ParameterError
from evalkit.drawing.tables import Html
from evalkit.limits import Limits, Reading
from evalkit.pages import significance_findings, significance_page, significance_plots
from evalkit.studies import significance_diagnostics, significance_extras
from evalkit.studies.significance_rows import RowsStudy
from evalkit.studies.significance_sums import SumsStudy

REL = 1e-12  # of sums; of what they cancel in, a little more
PLAIN = ("systems", "order", "pairs", "units", "rows", "unit_name", "opponents", "family")
COUNTED = ("wins", "ties", "losses", "superiority")


def close(a, b, rel=REL):
    np.testing.assert_allclose(b, a, rtol=rel, atol=1e-14)


def same_studies(kept, reduced):
    assert isinstance(kept, RowsStudy)
    assert isinstance(reduced, SumsStudy)
    for name in PLAIN:
        assert getattr(kept, name) == getattr(reduced, name), name
    assert kept.data.columns == reduced.data.columns
    assert [finding.message for finding in kept.data.findings] == [finding.message for finding in reduced.data.findings]
    assert significance_diagnostics.undefined(kept) == significance_diagnostics.undefined(reduced)
    for name in ("metric", "system", "n", "method"):
        assert kept.estimates[name].tolist() == reduced.estimates[name].tolist(), name
    for name in ("value", "low", "high"):
        close(kept.estimates[name], reduced.estimates[name])
    same_comparisons(kept, reduced)
    same_extras(kept, reduced)


def same_comparisons(kept, reduced):
    assert kept.comparisons[["metric", "first", "second", "n"]].equals(
        reduced.comparisons[["metric", "first", "second", "n"]]
    )
    test = "jackknife t" if kept.settings.unit else "paired t"
    assert reduced.comparisons["method"].str.startswith(test).all()
    close(kept.comparisons["difference"], reduced.comparisons["difference"], 1e-10)
    close(kept.comparisons["detectable"], reduced.comparisons["detectable"], 1e-9)
    assert ("max_t" in kept.comparisons) == ("max_t" in reduced.comparisons)
    for chosen in kept.directed:
        for pair in kept.pairs:
            one, other = kept.paired(chosen, pair), reduced.paired(chosen, pair)
            assert one.n == other.n
            close([one.value, one.error, one.scale], [other.value, other.error, other.scale], 1e-10)


def same_extras(kept, reduced):
    first, second = significance_extras.effects(kept), significance_extras.effects(reduced)
    for name in COUNTED:
        assert first[name].tolist() == second[name].tolist(), name
    for name in ("difference", "relative", "standardised"):
        close(first[name], second[name], 1e-10)
    first, second = significance_extras.other_tests(kept), significance_extras.other_tests(reduced)
    assert first["sign"].tolist() == second["sign"].tolist()
    for name in ("t", "bh", "tukey", "wilcoxon"):
        close(first[name], second[name], 1e-8)
    one, other = significance_extras.mean_ranks(kept), significance_extras.mean_ranks(reduced)
    assert (one is None) == (other is None)
    if one:
        assert one["mean_ranks"] == pytest.approx(other["mean_ranks"], rel=1e-15)
        for name in ("units", "friedman", "iman_davenport", "critical_difference"):
            assert one[name] == pytest.approx(other[name], rel=1e-8)
    same_differences(kept, reduced)


def same_differences(kept, reduced):
    """Every difference of a unit to the last bit, in no order."""
    values, rows = np.unique(kept.differences().to_numpy() + 0.0, return_counts=True)
    counted = reduced.distribution()
    assert np.array_equal(counted.values, values)
    assert np.array_equal(counted.rows, rows)
    assert counted.median == pytest.approx(kept.distribution().median, rel=1e-15)
    assert reduced.each_difference() == {"units": [], "values": []}


CASES = {
    "wide": (wide, {}),
    "rows are units": (lambda: wide().drop(columns="question"), {}),
    "draws": (drawn, {}),
    "two systems": (wide, {"systems": "base,new"}),
    "baseline": (wide, {"baseline": "old", "margin": 0.01}),
    "low": (wide, {"metrics": "minutes", "lower_is_better": "minutes"}),
    "looks": (wide, {"looks": 3, "level": 0.9}),
    "long": (long, {"metrics": "quality"}),
    "two metrics": (long, {"metrics": "quality,minutes", "lower_is_better": "minutes"}),
    "some systems": (long, {"systems": "old,new"}),
    "fold and repeat": (
        lambda: wide().drop(columns="question").assign(fold=np.arange(1500) % 100, repeat=np.arange(1500) // 100),
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_memory(case):
    make, given = CASES[case]
    same_studies(held(make(), **given), summed(make(), **given))


@pytest.mark.parametrize("make", [wide, drawn, long], ids=["wide", "draws", "long"])
def test_a_hundred_thousand_units_at_any_memory(make, tmp_path):
    table = make(100_000)
    kept = held(table)
    files = [tmp_path / name for name in ("one.parquet", "two.csv")]
    table[:40_000].to_parquet(files[0], index=False)
    table[40_000:].to_csv(files[1], index=False)
    for memory, data in (("1GB", table), ("250MB", [str(path) for path in files])):
        limits = Limits(reading=Reading(rows=1_000, shard=12_000, row=20_000))
        same_studies(kept, summed(data, limits, memory=memory, threads=2))


def test_max_t_draws_as_joint_sign_flips_do():
    whole = wide().dropna(ignore_index=True)
    kept, reduced = held(whole), summed(whole)
    np.testing.assert_allclose(reduced.comparisons["max_t"], kept.comparisons["max_t"], atol=0.01)
    assert reduced.null_draws().std() == pytest.approx(kept.null_draws().std(), rel=0.03)
    reach = np.linspace(-0.01, 0.01, 5) + kept.headline.iloc[0]["difference"]
    np.testing.assert_allclose(reduced.p_of(reach), kept.p_of(reach), atol=0.02)


def words(study):
    names = ("title", "estimates", "effects", "equivalence", "needed", "definitions", "other_tests")
    pieces = [getattr(significance_page, name)(study) for name in names]
    pictures = ("differences", "distribution", "null_distribution", "ranks", "power", "duality")
    pieces += [getattr(significance_plots, name)(study) for name in pictures]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


def told(study):
    return "\n".join(finding.message for finding in significance_findings.of(study))


def test_the_page_names_what_changes_and_says_the_rest_alike():
    kept, reduced = held(wide(), margin=0.01), summed(wide(), margin=0.01)
    in_memory, in_shards = words(kept), words(reduced)
    assert "Above 100 rows, single values are not kept: differences are tested by the paired t-test" in told(reduced)
    assert "are not kept" not in told(kept)
    assert "sign flips" in in_memory
    assert "by sign flips" not in in_shards
    assert "two-sided paired t-test of the differences of units" in in_shards
    for says in ("bootstrap p", "random sign vectors", "Fisher randomisation"):
        assert says in in_memory
        assert says not in in_shards
    assert "draws from the normal distribution of such means" in in_shards
    answers = significance_page.results(reduced)._repr_mimebundle_()["application/vnd.evalkit+json"]
    assert answers["differences"] == {"units": [], "values": []}
    assert sum(answers["null_distribution"]["share"]) == pytest.approx(1)


def test_bins_are_bounded_and_said():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"a": rng.gamma(2, 1, 60_000), "b": rng.gamma(2, 1.01, 60_000)})
    kept, reduced = held(table), summed(table, Limits(bins=400, reading=SHARDS))
    of_median, of_z = reduced.bounds
    assert 0 < of_median < 0.01
    assert 0 < of_z < 1
    assert abs(kept.distribution().median - reduced.distribution().median) <= of_median
    first, second = (significance_extras.other_tests(study)["wilcoxon"][0] for study in (kept, reduced))
    assert first == pytest.approx(second, rel=0.05)
    assert significance_extras.effects(kept)["wins"].tolist() == significance_extras.effects(reduced)["wins"].tolist()
    assert "very many distinct differences, which are counted in bins" in told(reduced)
    assert "counted in bins" not in told(summed(wide()))


FOLDS = {
    "wide": (wide, {}),
    "long": (long, {"metrics": "quality,minutes", "lower_is_better": "minutes"}),
    "draws": (drawn, {"looks": 3}),
    "equal folds": (lambda: pd.DataFrame({"fold": range(200), "a": 0.2, "b": 0.1, "c": 0.1}), {}),
}


def same_folds(kept, reduced):
    assert isinstance(reduced, SumsStudy)
    assert [getattr(kept, name) for name in PLAIN] == [getattr(reduced, name) for name in PLAIN]
    assert kept.tests_are == reduced.tests_are
    for frames in ((kept.estimates, reduced.estimates), (kept.comparisons, reduced.comparisons)):
        pd.testing.assert_frame_equal(*frames, check_exact=False, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("case", FOLDS)
def test_folds_are_tested_as_in_memory(case):
    make, given = FOLDS[case]
    kept, reduced = (read(make(), test_to_train=0.1, margin=0.01, **given) for read in (held, summed))
    same_folds(kept, reduced)
    frames = [significance_extras.effects(study) for study in (kept, reduced)]
    if case != "equal folds":
        pd.testing.assert_frame_equal(*frames, check_exact=False, rtol=1e-9)
    for extra in ("other_tests", "needed", "null_histogram", "p_curve"):
        assert [len(getattr(significance_extras, extra)(study)) for study in (kept, reduced)] == [0, 0]
    assert significance_extras.mean_ranks(reduced) is None
    assert "differences of single folds are not listed" in told(reduced)
    assert "corrected t-test of Nadeau and Bengio over folds" in words(reduced)


def test_folds_of_several_rows_are_refused_as_in_memory():
    table = wide().assign(user=lambda t: t["question"].str[:3])
    for read in (held, summed):
        with pytest.raises(ParameterError, match="test_to_train: needs one row per fold, the input has several"):
            read(table, unit="user", test_to_train=0.1)


def with_cell(column, value, table=wide):
    def change():
        other = table().astype({column: object})
        return other.assign(**{column: other[column].where(other.index != 7, value)})

    return change


def in_parts():
    return drawn().assign(subset=lambda table: table.groupby("question").cumcount().map("part {}".format))


def all_of(column):
    means = wide()[["new", "old", "base"]].mean()
    return lambda: pd.concat([wide(), pd.DataFrame([{column: "All", **means}])], ignore_index=True)


REFUSED = {
    "text": (with_cell("new", "0,5"), {}),
    "infinite": (with_cell("new", np.inf), {}),
    "huge": (with_cell("new", 1e200), {}),
    "empty id": (with_cell("question", None), {}),
    "long id": (with_cell("question", "x" * 20_000), {}),
    "a summary": (all_of("question"), {}),
    "long: text": (with_cell("value", "good", long), {}),
    "long: no system": (with_cell("system", None, long), {}),
    "long: no such system": (long, {"systems": "new,newer"}),
    "long: no such metric": (long, {"metrics": "speed"}),
    "long: two values": (lambda: long().rename(columns={"value": "speed"}).assign(size=1.5), {}),
    "other units": (in_parts, {}),
    "no numbers": (lambda: wide()[["question"]].assign(text="x"), {}),
    "pairs": (lambda: wide().assign(model_a="x", model_b="y"), {}),
    "no such column": (wide, {"systems": "newer"}),
    "baseline": (wide, {"baseline": "z"}),
    "not this metric": (wide, {"lower_is_better": "speed"}),
    "several metrics": (wide, {"metrics": "a,b"}),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_those_of_memory(case, tmp_path):
    make, given = REFUSED[case]
    table, files = make(), [str(tmp_path / name) for name in ("first.csv", "second.csv")]
    for path, rows in zip(files, (table[:300], table[300:]), strict=True):
        rows.to_csv(path, index=False)
    said = []
    for read in (held, summed):
        with pytest.raises((InputError, ParameterError)) as refusal:
            read(files, **given)
        said.append((type(refusal.value).__name__, str(refusal.value)))
    assert said[0] == said[1]
