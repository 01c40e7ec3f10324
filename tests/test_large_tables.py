"""Tables that are read by blocks: bins and their bounds, rows drawn, words of the page, units,
little memory.
"""

import pickle
import re
from dataclasses import replace
from importlib import import_module

import engine_samples as of
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from engine_samples import LESS, SHARDS, SMALL, binary, classified, long
from significance_tables import told
from test_engines_agree import CASES, by_day, in_memory, published, read
from units_again import written

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.catalogue import lookup, tables
from evalkit.drawing import shown
from evalkit.drawing.pieces import Html
from evalkit.limits import USUAL, Limits, Reading
from evalkit.measured.readings import BinaryFirstReading
from evalkit.measured.rows import TermAdder
from evalkit.metrics import influence
from evalkit.pages import classification_page, significance_page
from evalkit.pages.shared_findings import power
from evalkit.reading.engines.backends import budget, opened
from evalkit.reading.inputs.outcomes import OutcomeTable
from evalkit.reading.reductions import scores
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables.table import groups, slices
from evalkit.statistics.class_cells import CellCounter
from evalkit.studies import binary_diagnostics, reliability, units


def numbers(study):
    return study.estimates.set_index(["metric", "system"])["value"]


# Few rows -----------------------------------------------------------------------------------------


def test_few_rows_of_classes_have_the_limits_that_they_have_in_memory():
    """Twelve rows, so that a degree of freedom matters."""
    label = "aabbccaabbcc"
    predicted = {"m": "aabbcbabbbca", "z": "aabccbabbbcc"}
    table = pd.concat(
        pd.DataFrame({"id": range(12), "label": [*label], "predicted": [*said]}).assign(system=name)
        for name, said in predicted.items()
    )
    blocks, memory = (
        of.study_of("classification", table, limits, metrics="macro_f1,mcc")
        for limits in (Limits(reading=Reading(rows=5, shard=5, largest=5)), USUAL)
    )
    ends = ["low", "high"]
    assert np.allclose(blocks.estimates[ends], memory.estimates[ends], rtol=0, atol=1e-9)
    assert np.allclose(blocks.comparisons[ends], memory.comparisons[ends], rtol=0, atol=1e-9)


# Bins ---------------------------------------------------------------------------------------------


def finely(table, names):
    """Scores of which nearly none is there twice."""
    noise = np.random.default_rng(4).random((len(table), len(names))) / 1e3
    return table.assign(
        **dict(zip(names, np.clip(table[names] + noise, 0, 1).to_numpy().T, strict=True))
    )


BINNED = {  # a table, the metrics that bins change, and those that they do not
    "classification, two classes": (
        lambda: binary(5_000, ties=12),
        "roc_auc,average_precision",
        "log_loss,brier,calibration_in_the_large,accuracy,recall,f1",
    ),
    "classification, several classes": (
        lambda: finely(of.classes(5_000, systems=("near",)), [f"p_{name}" for name in of.CLASSES]),
        "roc_auc_ovr,map_classes",
        "accuracy,log_loss",
    ),
    "classification, several labels": (
        lambda: finely(of.labels(5_000, systems=("near",)), [f"p_{name}" for name in of.LABELS]),
        "roc_auc_macro,map_classes",
        "macro_f1,exact_match,ranking_loss",
    ),
    "rating": (
        lambda: of.forecasts(5_000).assign(
            forecast_far=lambda t: t["actual"] + np.random.default_rng(4).normal(size=5_000)
        ),
        "median_absolute_error",
        "mae,rmse,mse,bias,r2,r2_correlation,wape,smape,mape,pinball@90",
    ),
}


@pytest.mark.parametrize("name", BINNED)
def test_bins_are_bounded_and_said(name):
    table, binned, exact = BINNED[name]
    report = name.split(",")[0]
    given = {"metrics": f"{binned},{exact}"}
    limits = Limits(bins=400 if report == "rating" else 2_000, flipped=1, reading=SHARDS)
    kept, reduced = (
        of.study_of(report, table(), some, **given) for some in (Limits(flipped=1), limits)
    )
    a = numbers(kept)
    b = numbers(reduced)
    assert 0 < (a[binned.split(",")] - b[binned.split(",")]).abs().max() < 0.02
    np.testing.assert_allclose(b[exact.split(",")], a[exact.split(",")], rtol=1e-10)
    findings = import_module(f"evalkit.pages.{report}_page").findings
    assert "counted in bins" in findings(reduced).text
    assert "counted in bins" not in findings(kept).text


@pytest.mark.parametrize(
    "name", ["classification, several classes", "classification, several labels"]
)
def test_areas_of_each_class_are_within_the_bound_that_the_page_says(name):
    table, binned, _ = BINNED[name]
    limits = Limits(bins=2_000, reading=SHARDS)
    kept, reduced = (classified(table(), some, metrics=binned) for some in (USUAL, limits))
    text = classification_page.findings(reduced).text
    for area, bound in zip(binned.split(","), reduced.measured.bin_errors, strict=True):
        assert (numbers(kept)[area] - numbers(reduced)[area]).abs().max() <= bound
        assert power(bound) in text


UNBOUNDED = {"pr_auc_trapezoid", "ece_10", "miscalibration"}


def test_every_metric_of_order_of_two_classes_is_within_its_bound():
    data = binary(20_000, ties=12)
    names = [name for name in tables.COUNTS if not name.startswith(("gauc", "fbeta"))]
    numbered = {name: f"{name}500" for name in names if name.endswith("@")}
    numbered["recall@fpr"] = "recall@fpr0.1"
    metrics = ",".join(numbered.get(name, name) for name in names)
    kept = classified(data, LESS, metrics=metrics, threshold=0.4)
    reduced = classified(
        data, replace(LESS, bins=2_000, reading=Reading(rows=100)), metrics=metrics, threshold=0.4
    )
    a, b = (numbers(study).unstack() for study in (kept, reduced))
    for name, changes in binary_diagnostics.binned(reduced).items():
        variances = (influence.auc_variance(study.table(name)) for study in (kept, reduced))
        assert next(variances) == pytest.approx(next(variances), rel=1e-3)
        moved = (a[name] - b[name]).abs()
        assert moved.drop(list(changes)).max() < 1e-12
        assert {metric for metric, change in changes.items() if np.isnan(change)} == UNBOUNDED
        bound = {metric: change for metric, change in changes.items() if metric not in UNBOUNDED}
        assert all(0 < moved[metric] <= change for metric, change in bound.items())
        assert all(
            change <= (0.1 if metric.startswith("lift") else 0.01)
            for metric, change in bound.items()
        )
    pd.testing.assert_frame_equal(kept.decisions, reduced.decisions)
    assert (kept.calibration["value"] - reduced.calibration["value"]).abs().max() < 1e-3


def test_quantiles_of_errors_are_within_their_bound():
    table, metrics, _ = BINNED["rating"]
    limits = Limits(bins=400, flipped=1, reading=SHARDS)
    kept, reduced = (
        of.study_of("rating", table(), some, metrics=metrics) for some in (USUAL, limits)
    )
    assert 0 < reduced.quantile_bound < 0.1
    assert (numbers(kept) - numbers(reduced)).abs().max() <= reduced.quantile_bound
    quantiles = (study.spread.drop(columns="system").to_numpy() for study in (kept, reduced))
    assert np.abs(np.subtract(*quantiles)).max() <= reduced.quantile_bound


ODD = {
    "one weight of 1e9": lambda t: t.assign(heavy=np.where(t.index == 17, 1e9, 1.0)),
    "all weight on one row": lambda t: t.assign(heavy=3.0 * (t.index == 17)),
    "nothing but zeros": lambda t: t.assign(actual=0.0),
    "tiny numbers": lambda t: t.assign(
        **{name: t[name] * 1e-60 for name in ("actual", "forecast_near", "forecast_far")}
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_few_odd_forecasts_have_by_blocks_the_limits_of_memory(odd):
    more = {"columns": "{weight: heavy}"} if "weight" in odd else {}
    metrics = "mae,rmse,bias,r2,r2_correlation,wape,mape"
    both = [
        of.study_of("rating", ODD[odd](of.forecasts(300)), some, metrics=metrics, **more)
        for some in (USUAL, SMALL)
    ]
    for name in ("estimates", "comparisons"):
        frames = [getattr(study, name).select_dtypes("number") for study in both]
        pd.testing.assert_frame_equal(*frames, check_dtype=False, rtol=1e-5)


def test_p_does_not_depend_on_the_unit_of_the_numbers():
    data = of.forecasts(300)
    small = data.assign(
        **{name: data[name] * 1e-9 for name in ("actual", "forecast_near", "forecast_far")}
    )
    limits = Limits(flipped=1, reading=SHARDS)
    p = [
        of.study_of("rating", one, limits, metrics="mae,mse,rmse").comparisons["p"]
        for one in (data, small)
    ]
    np.testing.assert_allclose(*p, rtol=1e-5)


# Any memory ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """20,000 rows with ties, text ids, whole weights, groups, in three Parquet files."""
    folder = tmp_path_factory.mktemp("table")
    data = binary(20_000, seed=5, ties=4, units=5_000)
    for i, part in enumerate(np.array_split(np.arange(len(data)), 3)):
        data.iloc[part].to_parquet(folder / f"part{i}.parquet")
    return folder, data


def counted(table, most=2**20):
    """The bins by group and system, and the counts of rows, of a table in an engine."""
    limits = replace(USUAL, bins=most, slice_bins=most // 4)
    counting = CellCounter(classes=2, scale=table.scale)
    cuts = [0.5] * len(table.table.systems)
    terms = TermAdder.uncentred((), 0, 0)
    reading = BinaryFirstReading(
        counting=counting, loss_adder=terms, limits=limits, exact_thresholds=cuts
    )
    found = table.table.total(pickle.loads(pickle.dumps(reading)))
    odd = [*found.specific.outside.sums, *found.specific.certain_errors.sums]
    bins = {(key.group, key.system): tally.merged for key, tally in found.scores.items()}
    return bins, [found.rows, found.specific.positives, *odd]


def grids(folder, memory, size, most=2**20, **more):
    with opened(budget(memory, threads=2, reading=replace(SHARDS, shard=size))) as engine:
        made = scores.read(
            engine, OutcomeTable.from_data(str(folder), attributes=["country"], **more), ["country"]
        )
        return counted(made, most)


@pytest.mark.parametrize("most", [2**20, 1000], ids=["exact", "binned"])
@pytest.mark.parametrize("weight", ["heavy", "exact"])
def test_counts_are_the_same_at_every_limit(table, most, weight):
    folder, data = table
    weighed = {"columns": {"weight": weight}}
    whole, rows = grids(folder, 10**9, 10**6, most, **weighed)
    small, again = grids(folder, 250 * 10**6, 7_000, most, **weighed)
    assert rows == again == [len(data), int(data["label"].sum()), 0, 0, 0, 0]
    assert (
        sorted(whole)
        == sorted(small)
        == [(group, system) for group in range(4) for system in range(2)]
    )
    for key, one in whole.items():
        assert one.shift == small[key].shift
        assert (one.shift > 0) == (most == 1000)
        for name in ("low", "high", "positive", "negative"):
            assert np.array_equal(getattr(one, name), getattr(small[key], name)), (key, name)


def test_the_page_is_the_same_at_every_limit(table):
    folder, _ = table
    pages = []
    for memory, size in (("1GB", USUAL.reading.shard), ("250MB", 4_500)):
        limits = replace(
            LESS, bins=2**12, reading=Reading(rows=15_000, shard=size, row=10**9, units=2**12)
        )
        asked = {
            "segments": "country",
            "unit": "user_id",
            "metrics": "roc_auc,average_precision,brier,f1",
        }
        pages.append(
            words("classification", classified(str(folder), limits, memory=memory, **asked))
        )
    assert pages[0] == pages[1]
    assert re.search(r"Binning changes \w+'s roc_auc by less than 1e-", pages[0])


@pytest.mark.parametrize("rows", [4, 100, 1001])
def test_groups_of_counted_values_are_those_of_the_rows(rows):
    rng = np.random.default_rng(rows)
    for values in (
        rng.integers(0, 200, rows),
        rng.choice([f"t{i}" for i in range(40)], rows),
        rng.random(rows),
    ):
        texts = values.astype(str)
        names, code = np.unique(texts, return_inverse=True)
        found = groups(names, np.bincount(code))
        expected = slices("x", texts)
        assert found.labels == [one.label for one in expected]
        assert all(
            np.array_equal(found.number_of_value[code] == i, one.member)
            for i, one in enumerate(expected)
        )


# Words --------------------------------------------------------------------------------------------

# What is of single rows, or says where numbers come from and which methods many rows have.
SINGLE = ("explorer", "origin", "definitions", "decision_difference", "top")


def words(report, study):
    """What every other piece of a page says."""
    pieces = [piece(study) for piece in shown.page(report).PIECES if piece.__name__ not in SINGLE]
    text = "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)
    text = text.replace("influence sums, two passes", "delta method").replace(
        "influence sums", "delta method"
    )
    return "\n".join(line for line in text.splitlines() if "single rows are not kept" not in line)


WORDS = ["several classes, defaults", "several labels, means", "forecasts, defaults"]


@pytest.mark.parametrize("name", by_day(WORDS, {"several labels, means"}))
def test_the_page_says_the_same(name):
    case = CASES[name]
    assert words(case.report, read(case, case.table(), SHARDS)) == words(
        case.report, in_memory(name)[0]
    )


def test_single_rows_are_not_listed():
    study = read(CASES["several labels, means"], of.labels(650), SHARDS)
    assert "Single rows are not listed" in classification_page.explorer(study).text
    assert "Above 100 rows, single rows are not kept" in classification_page.findings(study).text


def test_labels_that_come_together_in_too_many_ways_have_no_reference():
    rng = np.random.default_rng(6)
    score = rng.random((300, 60))
    actual = rng.random((300, 60)) < score
    data = pd.DataFrame(
        {f"p_{j}": score[:, j] for j in range(60)} | {f"y_{j}": actual[:, j] + 0 for j in range(60)}
    )
    study = classified(data, SMALL)
    assert not study.measured.label_sets_known
    text = classification_page.estimates(study).html
    assert "is left out: it needs fewer labels, or all rows in memory" in text
    assert "(labels' shares)" not in text


@pytest.mark.parametrize("given", [{}, {"columns": "{weight: heavy}"}])
def test_a_ratio_over_labels_varies_by_row_as_in_memory(given):
    kept, reduced = (
        classified(of.labels(600), limits, **given) for limits in (Limits(flipped=1), SMALL)
    )
    for number in (0, 10, 40):
        for name in ("micro_precision", "micro_recall", "micro_f1"):
            first, second = (
                study.at_step(lookup.find_metric(name, "labels"), number)
                for study in (kept, reduced)
            )
            assert second.value == pytest.approx(first.value, rel=1e-12)
            assert second.spread.error == pytest.approx(first.spread.error, rel=1e-10)


def test_a_segment_that_an_own_metric_computes_with_keeps_its_texts(tmp_path):
    path = tmp_path / "rows.csv"
    of.forecasts().assign(country=lambda rows: rows["age"] % 3 + 1).to_csv(path, index=False)
    scaled = ek.mean(name="scaled")(
        lambda actual, forecast, country: np.abs(actual - forecast) / country
    )
    given = {"metrics": [scaled], "segments": "country"}
    held, blocks = (
        of.study_of("rating", path, limits, **given) for limits in (Limits(flipped=1), SMALL)
    )
    pd.testing.assert_series_equal(held.by_segment["value"], blocks.by_segment["value"], rtol=1e-10)
    assert [part.label for part in blocks.slices] == ["1", "2", "3"]
    path.write_text(path.read_text().replace(",2,", ",two,"), encoding="utf-8")
    for limits in (USUAL, SMALL):
        with pytest.raises(InputError, match=r"country must be a number, got 'two' \(row \d+\)"):
            of.study_of("rating", path, limits, **given)


# Rows and units that are drawn --------------------------------------------------------------------


@pytest.mark.parametrize("unit", [{}, {"unit": "user_id"}], ids=["rows", "users"])
def test_rows_drawn_say_how_sure_they_are(unit):
    given = {"metrics": "median_absolute_error,mae", **unit}
    reading = Reading(rows=100, shard=2_000, row=10**9, units=100)
    data = of.forecasts(20_000, units=3_000)
    few = Limits(flipped=1, reading=reading, drawn=4_000)
    kept, reduced = (
        of.study_of("rating", data, limits, **given) for limits in (Limits(flipped=1), few)
    )
    assert 0.001 < reduced.uncertainty_of_widths < 0.08
    for name in ("estimates", "comparisons", "tenths"):
        a, b = (getattr(study, name) for study in (kept, reduced))
        columns = [
            column
            for column in a
            if column in ("value", "difference", "bias", "forecast", "actual")
        ]
        np.testing.assert_allclose(b[columns], a[columns], rtol=1e-10)
        np.testing.assert_allclose(
            b["high"] - b["low"], a["high"] - a["low"], rtol=3.5 * reduced.uncertainty_of_widths
        )
    shuffled = of.study_of("rating", data.sample(frac=1, random_state=2), few, threads=2, **given)
    assert np.array_equal(
        np.sort(shuffled.table_summary.sample.rows.key),
        np.sort(reduced.table_summary.sample.rows.key),
    )
    pd.testing.assert_frame_equal(reduced.estimates, shuffled.estimates, rtol=1e-10)
    findings = import_module("evalkit.pages.rating_page").findings
    assert "drawn by a hash" in findings(reduced).text
    assert "drawn by a hash" not in findings(kept).text
    cells = reduced.cells(["near"])
    assert 0.95 * 20_000 < cells["rows"].sum() < 1.001 * 20_000
    drawn = published(reduced)["forecasts"]["drawn"]
    assert drawn["rows"] == len(reduced.table_summary.sample.rows) <= 4_000
    assert drawn["rows"] * drawn["stands_for"] == pytest.approx(20_000)


def test_drawn_users_have_no_bands():
    study = of.study_of("rating", of.forecasts(), Limits(reading=SHARDS, drawn=300), unit="user_id")
    page = import_module("evalkit.pages.rating_page")
    assert "Bands of the reliability diagrams: none" in page.findings(study).text
    assert "Grey" not in page.reliability_plot(study).alt


def test_equal_rows_without_ids_are_drawn_as_one():
    rng = np.random.default_rng(8)
    actual, forecast = rng.integers(1, 6, (2, 3_000)).astype(float)
    data = pd.DataFrame({"actual": actual, "forecast": forecast})
    study = of.study_of("rating", data, Limits(reading=SHARDS, drawn=30))
    assert len(study.table_summary.sample.rows) == 25
    assert study.table_summary.sample.times.sum() == 3_000
    assert study.uncertainty_of_widths == 0


def test_bands_of_means_are_those_of_memory():
    """Before they are thinned for the page, where the last bit of a number decides which points are
    left out.
    """
    studies = (of.study_of("rating", of.forecasts(), limits) for limits in (USUAL, SMALL))
    a, b = (reliability.drawn_means(study.means) for study in studies)
    for name in ("curve", "bands", "spread"):
        pd.testing.assert_frame_equal(getattr(a, name), getattr(b, name), rtol=1e-10)


MANY = Limits(reading=replace(SHARDS, max_listed=150))


@pytest.mark.parametrize("given", [{}, {"unit": "user"}], ids=["units", "clusters"])
def test_very_many_units_are_drawn_from_the_limit_of_sign_flips(given):
    whole = of.of_users(of.values().dropna(ignore_index=True))
    whole = whole if given else whole.drop(columns="user")
    kept, many = (of.study_of("significance", whole, limits, **given) for limits in (USUAL, MANY))
    np.testing.assert_allclose(many.comparisons["max_t"], kept.comparisons["max_t"], atol=0.01)
    assert many.comparisons["method"].tolist() == ["jackknife t" if given else "paired t"] * 3
    np.testing.assert_allclose(many.comparisons["p"], kept.comparisons["p"], atol=0.02)
    assert many.null_draws().std() == pytest.approx(kept.null_draws().std(), rel=0.03)
    reach = np.linspace(-0.01, 0.01, 5) + kept.headline.iloc[0]["difference"]
    np.testing.assert_allclose(many.p_of(reach), kept.p_of(reach), atol=0.02)
    assert (
        f"With more than 150 {'users' if given else 'questions'}, differences are tested by t"
        in told(many)
    )
    in_memory = words("significance", kept)
    of_many = words("significance", many)
    for says in ("bootstrap p", "random sign vectors"):
        assert says in in_memory
        assert says not in of_many
    assert "draws from the normal distribution of such means" in of_many
    answers = significance_page.results(many)._repr_mimebundle_()["application/vnd.evalkit+json"]
    assert answers["differences"] == {"units": [], "values": []}
    assert sum(answers["null_distribution"]["share"]) == pytest.approx(1)


def test_columns_that_may_name_clusters_are_named():
    study = of.study_of("significance", of.of_users(of.values()), SMALL)
    assert "Columns that may name clusters, not looked at in so long a table: user." in told(study)


# The file of the units ----------------------------------------------------------------------------


def small(data, **given):
    return classified(data, SMALL, metrics="brier", **given)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_without_ids_have_their_numbers_in_the_files(suffix, tmp_path):
    data = long(binary(900)).drop(columns="id").reset_index(drop=True)
    paths = [str(tmp_path / f"{i}.{suffix}") for i in range(2)]
    for path, rows in zip(paths, (data[:1000], data[1000:]), strict=True):
        rows.to_csv(path, index=False) if suffix == "csv" else rows.to_parquet(path, index=False)
    table = written(tmp_path / "file", **{"": small(paths, systems="weak")}).rows
    own = data.loc[table["unit"].astype(int) - 1]
    assert len(own) == 900
    assert set(own["system"]) == {"weak"}
    assert table["numerator"].tolist() == ((own["score"] - own["label"]) ** 2).tolist()


def test_a_file_of_many_shards_is_written_a_shard_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(units.gathered, "__defaults__", (100,))
    seen = []
    again = Blocks.again

    def seen_again(self, rows):
        for block in again(self, rows):
            seen.append(len(block))
            yield block

    monkeypatch.setattr(Blocks, "again", seen_again)
    written(tmp_path / "file", **{"": small(binary(3000))})
    assert seen == [500] * 6
    assert pq.ParquetFile(tmp_path / "file").metadata.num_row_groups >= 6


def test_an_input_that_has_changed_is_refused_and_leaves_no_file(tmp_path):
    binary(900).to_csv(tmp_path / "live.csv", index=False)
    study = small(str(tmp_path / "live.csv"))
    binary(900, seed=2).to_csv(tmp_path / "live.csv", index=False)
    with pytest.raises(InputError, match=r"live\.csv: the file changed"):
        units.write(tmp_path / "file", "made", {"": study})
    assert not (tmp_path / "file").exists()


def test_of_very_many_rows_only_where_asked_for(monkeypatch):
    monkeypatch.setattr(units, "MOST", 1799)
    monkeypatch.setattr(Blocks, "again", lambda self, rows: pytest.fail("the table was read"))
    assert small(binary(900)).units_wanted() is None
    assert small(binary(900), units="yes").units_wanted().size == 900
    assert small(binary(900), systems="good").units_wanted().size == 900
    assert small(binary(900), systems="good", units="no").units_wanted() is None


def test_units_are_counted_not_clusters(monkeypatch):
    study = of.study_of("significance", of.of_users(of.values()), SMALL, unit="user")
    assert study.unit_count < len(study.data) == study.units_held().size
    monkeypatch.setattr(units, "MOST", study.unit_count * len(study.systems))
    assert study.units_wanted() is None
