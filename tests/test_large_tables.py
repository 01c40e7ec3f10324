"""Tables that are read by blocks: bins and their bounds, rows drawn, words of the page, units,
little memory.
"""

import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

import engine_samples
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from engine_samples import (
    LESS as FEW_RESAMPLES,
    SHARDS as BLOCKS_OF_500_ROWS,
    SMALL as IN_BLOCKS,
    binary,
    classified,
    long,
    study_of,
)
from significance_tables import told as text_of_findings
from test_engines_agree import CASES, by_day, in_memory, published, read
from units_again import write_and_read_units, write_units

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.catalogue import lookup, tables
from evalkit.drawing import shown
from evalkit.drawing.pieces import Html
from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.measured.readings import BinaryFirstReading
from evalkit.measured.rows import TermAdder
from evalkit.metrics import influence
from evalkit.pages import classification_page, rating_page, significance_page
from evalkit.pages.shared_findings import power as rounded_up_to_one_digit
from evalkit.reading.engines.backends import budget, opened
from evalkit.reading.inputs.outcomes import OutcomeTable
from evalkit.reading.reductions import scores
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables.table import groups, slices
from evalkit.statistics.class_cells import CellCounter
from evalkit.studies import binary_diagnostics, rating, reliability, significance, units

# rows in memory, with t tests in place of sign flips, as tables in blocks have them
IN_MEMORY_TESTED_BY_T = Limits(flipped=1)


def value_by_metric_and_system(study):
    return study.estimates.set_index(["metric", "system"])["value"]


# Few rows -----------------------------------------------------------------------------------------


def test_few_rows_of_classes_have_the_limits_that_they_have_in_memory():
    """Twelve rows of two systems are read in memory, and in blocks of five. The intervals are the
    same: with so few rows, a degree of freedom more or less would move each limit by far more than
    the tolerance.
    """
    in_blocks_of_5_rows = Limits(reading=ReadingLimits(rows=5, shard=5, largest=5))
    label = [*"aabbccaabbcc"]
    first = {"system": "m", "id": range(12), "label": label, "predicted": [*"aabbcbabbbca"]}
    second = {"system": "z", "id": range(12), "label": label, "predicted": [*"aabccbabbbcc"]}
    table = pd.concat([pd.DataFrame(first), pd.DataFrame(second)])
    blocks = classified(table, in_blocks_of_5_rows, metrics="macro_f1,mcc")
    memory = classified(table, USUAL_LIMITS, metrics="macro_f1,mcc")
    limits = ["low", "high"]
    assert np.allclose(blocks.estimates[limits], memory.estimates[limits], rtol=0, atol=1e-9)
    assert np.allclose(blocks.comparisons[limits], memory.comparisons[limits], rtol=0, atol=1e-9)


# Bins ---------------------------------------------------------------------------------------------


def with_distinct_scores(table, names):
    """The table with noise in the named columns, so that nearly all scores are distinct."""
    noise = np.random.default_rng(4).random((len(table), len(names))) / 1e3
    return table.assign(
        **dict(zip(names, np.clip(table[names] + noise, 0, 1).to_numpy().T, strict=True))
    )


@dataclass(frozen=True)
class CaseOfBins:
    """A table, fewer bins than it has distinct numbers, the metrics that bins change, which depend
    on the order of scores or errors, and those that they do not.
    """

    report: str
    table: Callable[[], pd.DataFrame]
    bins: int
    changed: Sequence[str]
    unchanged: Sequence[str]


CASES_OF_BINS = {
    "two classes": CaseOfBins(
        "classification",
        lambda: binary(5_000, ties=12),
        2_000,
        changed=["roc_auc", "average_precision"],
        unchanged=["log_loss", "brier", "calibration_in_the_large", "accuracy", "recall", "f1"],
    ),
    "several classes": CaseOfBins(
        "classification",
        lambda: with_distinct_scores(
            engine_samples.classes(5_000, systems=("near",)),
            [f"p_{name}" for name in engine_samples.CLASSES],
        ),
        2_000,
        changed=["roc_auc_ovr", "map_classes"],
        unchanged=["accuracy", "log_loss"],
    ),
    "several labels": CaseOfBins(
        "classification",
        lambda: with_distinct_scores(
            engine_samples.labels(5_000, systems=("near",)),
            [f"p_{name}" for name in engine_samples.LABELS],
        ),
        2_000,
        changed=["roc_auc_macro", "map_classes"],
        unchanged=["macro_f1", "exact_match", "ranking_loss"],
    ),
    "rating": CaseOfBins(
        "rating",
        lambda: engine_samples.forecasts(5_000).assign(
            forecast_far=lambda t: t["actual"] + np.random.default_rng(4).normal(size=5_000)
        ),
        400,
        changed=["median_absolute_error"],
        unchanged=[
            "mae",
            "rmse",
            "mse",
            "bias",
            "r2",
            "r2_correlation",
            "wape",
            "smape",
            "mape",
            "pinball@90",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES_OF_BINS)
def test_bins_change_metrics_of_order_a_little_and_other_metrics_not(name):
    """A table in blocks has its scores, or forecast errors, counted in fewer bins than there are
    distinct ones. Metrics that depend on their order (`changed`) differ a little from those of the
    same table in memory; the others (`unchanged`) are the same. The page says so. Both studies test
    by t, as sign flips are used for up to `flipped` = 1 unit only.
    """
    case = CASES_OF_BINS[name]
    metrics = ",".join([*case.changed, *case.unchanged])
    in_few_bins = Limits(bins=case.bins, flipped=1, reading=BLOCKS_OF_500_ROWS)
    exact = study_of(case.report, case.table(), IN_MEMORY_TESTED_BY_T, metrics=metrics)
    binned = study_of(case.report, case.table(), in_few_bins, metrics=metrics)
    expected = value_by_metric_and_system(exact)
    found = value_by_metric_and_system(binned)
    largest_change = (found[case.changed] - expected[case.changed]).abs().max()
    # above 0, as scores or errors share bins; small, as a bin has only a few of them
    assert 0 < largest_change < 0.02
    np.testing.assert_allclose(found[case.unchanged], expected[case.unchanged], rtol=1e-10)
    findings = import_module(f"evalkit.pages.{case.report}_page").findings
    assert "counted in bins" in findings(binned).text
    assert "counted in bins" not in findings(exact).text


@pytest.mark.parametrize("name", ["several classes", "several labels"])
def test_areas_of_each_class_are_within_the_bound_that_the_page_says(name):
    """Scores are counted in fewer bins than there are distinct ones. This changes the mean AUC and
    the mean average precision of the classes (`changed`) by no more than the bound of each, which
    the page states with one digit, rounded up.
    """
    case = CASES_OF_BINS[name]
    areas = ",".join(case.changed)
    in_bins = Limits(bins=case.bins, reading=BLOCKS_OF_500_ROWS)
    exact = classified(case.table(), USUAL_LIMITS, metrics=areas)
    binned = classified(case.table(), in_bins, metrics=areas)
    text = classification_page.findings(binned).text
    change = (value_by_metric_and_system(exact) - value_by_metric_and_system(binned)).abs()
    for area, bound in zip(case.changed, binned.measured.bin_errors, strict=True):
        assert change[area].max() <= bound
        assert rounded_up_to_one_digit(bound) in text


def test_every_metric_of_order_of_two_classes_is_within_its_bound():
    """A table of more than 100 rows is read in blocks here, and its 20,000 distinct scores are
    counted in 2,000 bins. `binary_diagnostics.binned` names the metrics that depend on the order of
    scores, each with a bound of its change, a power of ten; the change is within it. All other
    metrics, which are of decisions or means of losses, are not changed at all. The variance of the
    AUC and the calibration change by less than a thousandth.
    """
    data = binary(20_000, ties=12)  # scores with 12 decimals: nearly all are distinct
    # grouped AUC needs a column of groups, and F-beta takes a number in its name; a metric whose
    # name ends with @ takes a number of rows
    names = [name for name in tables.COUNTS if not name.startswith(("gauc", "fbeta"))]
    arguments = {name: "500" for name in names if name.endswith("@")} | {"recall@fpr": "0.1"}
    metrics = ",".join(name + arguments.get(name, "") for name in names)
    in_2000_bins = replace(FEW_RESAMPLES, bins=2_000, reading=ReadingLimits(rows=100))
    exact = classified(data, FEW_RESAMPLES, metrics=metrics, threshold=0.4)
    binned = classified(data, in_2000_bins, metrics=metrics, threshold=0.4)
    exact_values = value_by_metric_and_system(exact).unstack()
    binned_values = value_by_metric_and_system(binned).unstack()
    for system, bound_by_metric in binary_diagnostics.binned(binned).items():
        change = (exact_values[system] - binned_values[system]).abs()
        change_of_others = change.drop(list(bound_by_metric))
        assert change_of_others.max() < 1e-12
        # a bound is known only of metrics that cannot fall if a positive gets a higher score
        unbounded = {metric for metric, bound in bound_by_metric.items() if np.isnan(bound)}
        assert unbounded == {"pr_auc_trapezoid", "ece_10", "miscalibration"}
        for metric in set(bound_by_metric) - unbounded:
            assert 0 < change[metric] <= bound_by_metric[metric], metric
            # lift is a ratio and may be much larger than 1
            assert bound_by_metric[metric] <= (0.1 if metric.startswith("lift") else 0.01), metric
        variance = influence.auc_variance(binned.table(system))
        assert variance == pytest.approx(influence.auc_variance(exact.table(system)), rel=1e-3)
    pd.testing.assert_frame_equal(exact.decisions, binned.decisions)
    assert (exact.calibration["value"] - binned.calibration["value"]).abs().max() < 1e-3


def test_quantiles_of_errors_are_within_their_bound():
    """The errors of the system far are 5,000 distinct numbers, which a table in blocks counts in
    400 bins. The median error and the other quantiles (`spread`) change by no more than the bound
    that the study states.
    """
    table = CASES_OF_BINS["rating"].table()
    # sign flips for up to one unit only: the tests, which are not looked at, are by t, a fast one
    in_400_bins = Limits(bins=400, flipped=1, reading=BLOCKS_OF_500_ROWS)
    exact = study_of("rating", table, USUAL_LIMITS, metrics="median_absolute_error")
    binned = study_of("rating", table, in_400_bins, metrics="median_absolute_error")
    bound = binned.quantile_bound
    assert 0 < bound < 0.1  # so small that it says something of errors of about 1
    change = value_by_metric_and_system(exact) - value_by_metric_and_system(binned)
    assert change.abs().max() <= bound
    change_of_quantiles = exact.spread.drop(columns="system") - binned.spread.drop(columns="system")
    assert change_of_quantiles.abs().max(axis=None) <= bound


# Odd forecasts ------------------------------------------------------------------------------------


VALUE_COLUMNS = ["actual", "forecast_near", "forecast_far"]


def one_large_weight(rows):
    return rows.assign(heavy=np.where(rows.index == 17, 1e9, 1.0))


def all_weight_on_one_row(rows):
    return rows.assign(heavy=np.where(rows.index == 17, 3.0, 0.0))


def only_zeros(rows):
    return rows.assign(actual=0.0)


def tiny_numbers(rows):
    return rows.assign(**(rows[VALUE_COLUMNS] * 1e-60))


@pytest.mark.parametrize(
    ("odd_rows_of", "columns"),
    [
        (one_large_weight, {"columns": "{weight: heavy}"}),
        (all_weight_on_one_row, {"columns": "{weight: heavy}"}),
        (only_zeros, {}),
        (tiny_numbers, {}),
    ],
)
def test_few_odd_forecasts_have_by_blocks_the_limits_of_memory(odd_rows_of, columns):
    """Some of 300 forecasts are odd: one row has nearly all weight, or all of it (`columns` names
    the weights), all actual values are 0, or all numbers are tiny. Estimates and intervals are the
    same in blocks as in memory, as no sum loses its digits.
    """
    table = odd_rows_of(engine_samples.forecasts(300))
    metrics = "mae,rmse,bias,r2,r2_correlation,wape,mape"
    memory = study_of("rating", table, USUAL_LIMITS, metrics=metrics, **columns)
    blocks = study_of("rating", table, IN_BLOCKS, metrics=metrics, **columns)
    for name in ("estimates", "comparisons"):
        expected = getattr(memory, name).select_dtypes("number")
        found = getattr(blocks, name).select_dtypes("number")
        pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-5)


def test_p_does_not_depend_on_the_unit_of_the_numbers():
    """The same actual values and forecasts are given in ones and in billions. The p values of the
    differences of errors are the same but for rounding, as no step of the computation has an
    absolute tolerance. The tests are by t, as sign flips are used for up to `flipped` = 1 unit.
    """
    data = engine_samples.forecasts(300)
    columns_in_billions = data[["actual", "forecast_near", "forecast_far"]] * 1e-9
    in_billions = data.assign(**columns_in_billions)
    by_t_in_blocks = Limits(flipped=1, reading=BLOCKS_OF_500_ROWS)
    expected = study_of("rating", data, by_t_in_blocks, metrics="mae,mse,rmse").comparisons
    found = study_of("rating", in_billions, by_t_in_blocks, metrics="mae,mse,rmse").comparisons
    np.testing.assert_allclose(found["p"], expected["p"], rtol=1e-5)


# Any memory ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder_of_rows(tmp_path_factory):
    """20,000 rows of two systems with ties, text ids, weights and countries: the folder of their
    three Parquet files, and the same rows as a frame.
    """
    folder = tmp_path_factory.mktemp("table")
    data = binary(20_000, seed=5, ties=4, units=5_000)
    for i, part in enumerate(np.array_split(np.arange(len(data)), 3)):
        data.iloc[part].to_parquet(folder / f"part{i}.parquet")
    return folder, data


@dataclass(frozen=True)
class ScoreBins:
    """The bins of scores by group of rows and system, and numbers of rows."""

    by_group_and_system: dict
    rows: int
    positive_rows: int
    suspicious_scores: float  # outside 0 to 1, or 0 or 1 and wrong


def score_bins(table, max_bins):
    """The bins of a table in an engine, by an adder that was pickled, as a worker receives it."""
    limits = replace(USUAL_LIMITS, bins=max_bins, slice_bins=max_bins // 4)
    reading = BinaryFirstReading(
        cell_counter=CellCounter(classes=2, scale=table.scale),
        loss_adder=TermAdder.uncentred_term_adder((), 0, 0),
        limits=limits,
        exact_thresholds=[0.5] * len(table.table.systems),
    )
    sums = table.table.total(pickle.loads(pickle.dumps(reading)))
    suspicious = sum(sums.kind_sums.outside.sums) + sum(sums.kind_sums.certain_errors.sums)
    bins = {(key.group, key.system): tally.merged for key, tally in sums.scores.items()}
    return ScoreBins(bins, sums.rows, sums.kind_sums.positives, suspicious)


def score_bins_of_folder(folder, *, memory, shard, max_bins, weight):
    """The bins of the files of a folder, read in shards of at least so many rows."""
    outcomes = OutcomeTable.from_data(
        str(folder), attributes=["country"], columns={"weight": weight}
    )
    reading = replace(BLOCKS_OF_500_ROWS, shard=shard)
    with opened(budget(memory, threads=2, reading=reading)) as engine:
        return score_bins(scores.read(engine, outcomes, ["country"]), max_bins)


@pytest.mark.parametrize("max_bins", [2**20, 1000], ids=["a bin per score", "fewer bins"])
@pytest.mark.parametrize("weight", ["heavy", "exact"], ids=["whole weights", "real weights"])
def test_counts_are_the_same_however_the_table_is_divided(folder_of_rows, max_bins, weight):
    """A folder of 20,000 rows is read at once, or in shards of 7,000 rows by little memory. Each
    group of rows and each of two systems then has the same bins of scores, from `low` to `high`,
    with the same sums of the weights (of the column `weight`) of positive and negative rows.
    `shift` is the number of bits by which scores are shortened to fit into `max_bins` bins.
    """
    folder, data = folder_of_rows  # three files, and the same rows as a frame
    asked = {"max_bins": max_bins, "weight": weight}
    few_shards = score_bins_of_folder(folder, memory=10**9, shard=10**6, **asked)
    many_shards = score_bins_of_folder(folder, memory=250 * 10**6, shard=7_000, **asked)
    for found in (few_shards, many_shards):
        assert found.rows == len(data)
        assert found.positive_rows == data["label"].sum()
        assert found.suspicious_scores == 0  # outside 0 to 1, or 0 or 1 and wrong
        # the groups of rows are all rows and three countries
        groups_and_systems = [(group, system) for group in range(4) for system in range(2)]
        assert sorted(found.by_group_and_system) == groups_and_systems
    for key, expected in few_shards.by_group_and_system.items():
        found = many_shards.by_group_and_system[key]
        assert found.shift == expected.shift
        # a shift of 0 gives each score a bin of its own; scores of 4 decimals are at most 10,001
        assert (expected.shift > 0) == (max_bins == 1000)
        for name in ("low", "high", "positive", "negative"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (key, name)


def test_the_page_is_the_same_however_the_table_is_divided(folder_of_rows):
    """A folder of 20,000 rows is read in blocks, because only tables of up to 15,000 rows are read
    into memory here: in one shard, or with little memory in shards of 4,500 rows. The pages have
    the same text. Scores share bins, and the page says how little this changes the AUC.
    """
    folder, _ = folder_of_rows
    # a row is taken to need so many bytes that shards have as few rows as they may
    in_blocks = ReadingLimits(rows=15_000, row=10**9, units=2**12)
    few_shards = replace(FEW_RESAMPLES, bins=2**12, reading=in_blocks)  # fewer bins than scores
    many_shards = replace(few_shards, reading=replace(in_blocks, shard=4_500))
    asked = {
        "segments": "country",
        "unit": "user_id",
        "metrics": "roc_auc,average_precision,brier,f1",
    }
    pages = [
        text_that_must_not_depend_on_reading(
            "classification", classified(str(folder), limits, memory=memory, **asked)
        )
        for limits, memory in ((few_shards, "1GB"), (many_shards, "250MB"))
    ]
    assert pages[0] == pages[1]
    assert re.search(r"Binning changes \w+'s roc_auc by less than 1e-", pages[0])


@pytest.mark.parametrize("rows", [4, 100, 1001])
@pytest.mark.parametrize("kind", ["whole numbers", "texts", "real numbers"])
def test_groups_of_counted_values_are_those_of_the_rows(kind, rows):
    """`groups` groups the distinct values and their counts, as a table in blocks has them; `slices`
    groups the values of all rows. Both give the same groups. Of 4 rows each value is a group; 100
    or 1001 rows have more than 12 values, which is the most groups, so that values share groups.
    """
    rng = np.random.default_rng(rows)
    values_by_kind = {
        "whole numbers": rng.integers(0, 200, rows),
        "texts": rng.choice([f"t{i}" for i in range(40)], rows),
        "real numbers": rng.random(rows),
    }
    texts = values_by_kind[kind].astype(str)
    distinct, number_of_row = np.unique(texts, return_inverse=True)
    found = groups(distinct, np.bincount(number_of_row))
    expected = slices("x", texts)
    assert found.labels == [group.label for group in expected]
    group_of_row = found.number_of_value[number_of_row]
    for i, group in enumerate(expected):
        assert np.array_equal(group_of_row == i, group.member)  # the rows of the group


# Words --------------------------------------------------------------------------------------------

# pieces that list single rows, or say where numbers come from and which methods many rows have
PIECES_THAT_MAY_DIFFER = ("explorer", "origin", "definitions", "decision_difference", "top")


def text_that_must_not_depend_on_reading(report, study):
    """What the pieces of a page say that must not depend on how the table was read."""
    pieces = [
        piece(study)
        for piece in shown.page(report).PIECES
        if piece.__name__ not in PIECES_THAT_MAY_DIFFER
    ]
    text = "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)
    text = text.replace("influence sums, two passes", "delta method").replace(
        "influence sums", "delta method"
    )
    return "\n".join(line for line in text.splitlines() if "single rows are not kept" not in line)


WORDS = ["several classes, defaults", "several labels, means", "forecasts, defaults"]


@pytest.mark.parametrize("name", by_day(WORDS, {"several labels, means"}))
def test_the_page_says_the_same(name):
    """A case is a report on a table. Its page in blocks has the same text as in memory, except for
    pieces that list single rows or name methods of many rows.
    """
    case = CASES[name]
    assert text_that_must_not_depend_on_reading(
        case.report, read(case, case.table(), BLOCKS_OF_500_ROWS)
    ) == text_that_must_not_depend_on_reading(case.report, in_memory(name)[0])


def test_single_rows_are_not_listed():
    study = read(CASES["several labels, means"], engine_samples.labels(650), BLOCKS_OF_500_ROWS)
    assert "Single rows are not listed" in classification_page.explorer(study).text
    assert "Above 100 rows, single rows are not kept" in classification_page.findings(study).text


def test_the_constant_baseline_is_left_out_if_labels_are_too_many_to_count_combinations():
    """With 60 labels there are 2**60 possible combinations, too many to count in blocks. The
    baseline, each label's share as its score, needs the combinations that occur, and is left out.
    """
    rng = np.random.default_rng(6)
    score = rng.random((300, 60))
    actual = (rng.random((300, 60)) < score).astype(int)
    scores_by_label = pd.DataFrame(score).add_prefix("p_")
    actual_labels = pd.DataFrame(actual).add_prefix("y_")
    data = pd.concat([scores_by_label, actual_labels], axis=1)
    study = classified(data, IN_BLOCKS)
    assert not study.measured.label_sets_known
    text = classification_page.estimates(study).html
    assert "is left out: it needs fewer labels, or all rows in memory" in text
    assert "(labels' shares)" not in text


@pytest.mark.parametrize(
    "columns", [{}, {"columns": "{weight: heavy}"}], ids=["unweighted", "weighted"]
)
@pytest.mark.parametrize("metric", ["micro_precision", "micro_recall", "micro_f1"])
def test_a_ratio_over_labels_has_the_standard_error_of_memory(metric, columns):
    """Micro-averaged metrics are ratios of counts over all rows and labels, without or with weights
    (`columns`). At a threshold that all labels have in common, the value and its standard error are
    computed from sums over the rows, which do not depend on whether these are added up in memory or
    block by block. They may differ by rounding alone, which is larger in sums of squares.
    """
    rows = engine_samples.labels(600)
    memory = classified(rows, IN_MEMORY_TESTED_BY_T, **columns)
    blocks = classified(rows, IN_BLOCKS, **columns)
    chosen = lookup.find_metric(metric, "labels")
    for number_of_threshold in (0, 10, 40):  # some of those that all labels have in common
        expected = memory.at_step(chosen, number_of_threshold)
        found = blocks.at_step(chosen, number_of_threshold)
        assert found.value == pytest.approx(expected.value, rel=1e-12)
        assert found.spread.error == pytest.approx(expected.spread.error, rel=1e-10)


@ek.mean(name="scaled")
def error_divided_by_country(actual, forecast, country):
    """A metric of the user's own that computes with a column that is a segment too."""
    return np.abs(actual - forecast) / country


def test_a_segment_that_an_own_metric_computes_with_keeps_its_texts_as_labels(tmp_path):
    """The user's own metric computes with the column country, which is a segment too. As a segment
    its values stay the texts of the file, "1" and not "1.0"; for the metric they are numbers. The
    metric of each segment is the same in blocks as in memory.
    """
    rows = engine_samples.forecasts()
    rows.assign(country=rows["age"] % 3 + 1).to_csv(tmp_path / "rows.csv", index=False)
    asked = {"metrics": [error_divided_by_country], "segments": "country"}
    memory = study_of("rating", tmp_path / "rows.csv", IN_MEMORY_TESTED_BY_T, **asked)
    blocks = study_of("rating", tmp_path / "rows.csv", IN_BLOCKS, **asked)
    expected = memory.by_segment["value"]
    pd.testing.assert_series_equal(blocks.by_segment["value"], expected, rtol=1e-10)
    assert [part.label for part in blocks.slices] == ["1", "2", "3"]  # not 1.0, 2.0, 3.0


@pytest.mark.parametrize("limits", [USUAL_LIMITS, IN_BLOCKS], ids=["in memory", "in blocks"])
def test_a_text_in_a_segment_that_an_own_metric_computes_with_is_refused(limits, tmp_path):
    """The user's own metric computes with the column country, so that the text "two" among its
    values 1 and 3 is refused by its row, in memory and in blocks.
    """
    rows = engine_samples.forecasts()
    country = (rows["age"] % 3 + 1).astype(str).replace("2", "two")
    rows.assign(country=country).to_csv(tmp_path / "rows.csv", index=False)
    asked = {"metrics": [error_divided_by_country], "segments": "country"}
    with pytest.raises(InputError, match=r"country must be a number, got 'two' \(row \d+\)"):
        study_of("rating", tmp_path / "rows.csv", limits, **asked)


# Rows and units that are drawn --------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnStudies:
    """Studies of the same 20,000 rows: of all, of a random sample of at most 4,000 of them, and of
    the sample from shuffled rows.
    """

    of_all: rating.Rating
    of_sample: rating.Rating
    of_shuffled: rating.Rating


@pytest.fixture(scope="module", params=[{}, {"unit": "user_id"}], ids=["rows", "users"])
def drawn_studies(request):
    asked = {"metrics": "median_absolute_error,mae", **request.param}
    data = engine_samples.forecasts(20_000, units=3_000)
    shuffled = data.sample(frac=1, random_state=2)
    in_blocks = ReadingLimits(rows=100, shard=2_000, row=10**9, units=100)
    sampled = Limits(flipped=1, reading=in_blocks, drawn=4_000)
    return DrawnStudies(
        of_all=study_of("rating", data, IN_MEMORY_TESTED_BY_T, **asked),
        of_sample=study_of("rating", data, sampled, **asked),
        of_shuffled=study_of("rating", shuffled, sampled, threads=2, **asked),
    )


@pytest.mark.parametrize("name", ["estimates", "comparisons", "tenths"])
def test_a_sample_of_rows_changes_widths_of_intervals_as_little_as_is_said(name, drawn_studies):
    """The fixture holds studies of the same 20,000 rows: of all of them (`of_all`), and with
    intervals of medians and of tenths from a random sample of 4,000 (`of_sample`). In each table of
    results (`name`) values are those of all rows. The study states the relative standard error of
    the widths of its intervals, 0.7% for independent rows and 5% for rows in clusters by user. The
    widths differ by at most 3.5 times this, which hardly any of so few widths exceeds by chance.
    """
    expected = getattr(drawn_studies.of_all, name)
    found = getattr(drawn_studies.of_sample, name)
    values = expected.columns.intersection(["value", "difference", "bias", "forecast", "actual"])
    np.testing.assert_allclose(found[values], expected[values], rtol=1e-10)
    # neither 0, as if nothing had been drawn, nor so large that any widths would do
    assert 0.001 < drawn_studies.of_sample.uncertainty_of_widths < 0.08
    expected_width = expected["high"] - expected["low"]
    np.testing.assert_allclose(
        found["high"] - found["low"],
        expected_width,
        rtol=3.5 * drawn_studies.of_sample.uncertainty_of_widths,
    )


def test_the_rows_that_are_drawn_do_not_depend_on_their_order(drawn_studies):
    """The fixture holds studies of a random sample of at most 4,000 of 20,000 rows, which are in
    their own order (`of_sample`) or shuffled (`of_shuffled`). Rows are drawn by a hash of the row,
    or of its user if users are the units, not by their place. So both samples have the same hashes
    (`key`), and estimates are the same but for rounding.
    """
    drawn_keys = np.sort(drawn_studies.of_sample.table_summary.sample.rows.key)
    assert np.array_equal(
        np.sort(drawn_studies.of_shuffled.table_summary.sample.rows.key), drawn_keys
    )
    pd.testing.assert_frame_equal(
        drawn_studies.of_sample.estimates,
        drawn_studies.of_shuffled.estimates,
        rtol=1e-10,
    )


def test_the_page_says_that_rows_were_drawn(drawn_studies):
    """The fixture holds studies of 20,000 rows: of all of them (`of_all`), and of a random sample
    (`of_sample`).
    """
    assert "drawn by a hash" in rating_page.findings(drawn_studies.of_sample).text
    assert "drawn by a hash" not in rating_page.findings(drawn_studies.of_all).text


def test_cells_of_drawn_rows_add_up_to_about_all_rows(drawn_studies):
    """Rows beyond the axes, which hold the central 99% of both values, are left out."""
    cells = drawn_studies.of_sample.cells(["near"])
    assert 0.95 * 20_000 < cells["rows"].sum() < 1.001 * 20_000


def test_the_results_say_for_how_many_rows_a_drawn_row_stands(drawn_studies):
    """At most 4,000 of 20,000 rows are drawn, each of which stands for 20,000 / 4,000 = 5 or a
    little more.
    """
    results = published(drawn_studies.of_sample)["forecasts"]["drawn"]
    assert results["rows"] == len(drawn_studies.of_sample.table_summary.sample.rows) <= 4_000
    assert results["rows"] * results["stands_for"] == pytest.approx(20_000)


def test_drawn_users_have_no_bands():
    """Only the rows of a random sample of users are kept, about 300 of 1,000. Bands of the
    reliability diagram, which would be grey, are drawn from the rows of all users; the page says
    that there are none.
    """
    study = study_of(
        "rating",
        engine_samples.forecasts(),
        Limits(reading=BLOCKS_OF_500_ROWS, drawn=300),
        unit="user_id",
    )
    assert "Bands of the reliability diagrams: none" in rating_page.findings(study).text
    assert "Grey" not in rating_page.reliability_plot(study).alt


def test_equal_rows_without_ids_are_drawn_as_one():
    """3,000 rows of 5 actual values and 5 forecasts are 25 different rows, each of which is drawn
    once with the number of `times` that it occurs. A sample of at most 30 holds all 25, so that the
    widths of intervals have no uncertainty from drawing.
    """
    rng = np.random.default_rng(8)
    actual, forecast = rng.integers(1, 6, (2, 3_000)).astype(float)
    data = pd.DataFrame({"actual": actual, "forecast": forecast})
    study = study_of("rating", data, Limits(reading=BLOCKS_OF_500_ROWS, drawn=30))
    assert len(study.table_summary.sample.rows) == 25
    assert study.table_summary.sample.times.sum() == 3_000
    assert study.uncertainty_of_widths == 0


def test_bands_of_means_are_those_of_memory():
    """The curves and bands of the reliability diagrams of means are the same in blocks as in
    memory. They are compared before they are thinned for the page, where the last bit of a number
    decides which points are left out.
    """
    memory = study_of("rating", engine_samples.forecasts(), USUAL_LIMITS)
    blocks = study_of("rating", engine_samples.forecasts(), IN_BLOCKS)
    expected = reliability.drawn_means(memory.means)
    found = reliability.drawn_means(blocks.means)
    for name in ("curve", "bands", "spread"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name), rtol=1e-10)


MORE_UNITS_THAN_ARE_LISTED = Limits(reading=replace(BLOCKS_OF_500_ROWS, max_listed=150))


@dataclass(frozen=True)
class UnitStudies:
    """Studies of three systems on about 1,500 questions, or on these in clusters by user: with all
    units in memory, and as more units than the limit of 150.
    """

    in_memory: significance.Significance
    in_blocks: significance.Significance
    is_clustered: bool


@pytest.fixture(scope="module", params=[False, True], ids=["questions", "users"])
def many_units(request):
    questions = engine_samples.values().dropna(ignore_index=True)
    table = engine_samples.of_users(questions) if request.param else questions
    asked = {"unit": "user"} if request.param else {}
    return UnitStudies(
        in_memory=study_of("significance", table, USUAL_LIMITS, **asked),
        in_blocks=study_of("significance", table, MORE_UNITS_THAN_ARE_LISTED, **asked),
        is_clustered=request.param,
    )


def test_very_many_units_are_compared_by_t_with_about_the_p_of_sign_flips(many_units):
    """The fixture holds two studies of the same three systems on the same 1,460 questions, or on
    these in clusters by user. One study holds all units in memory and tests the three differences
    by flipping the signs of units. The other reads the table in blocks and may do so with at most
    150 units; as there are more, it tests by t. With so many units both tests have nearly the same
    p, and nearly the same p adjusted for three comparisons (max_t). The largest p of each study is
    between 0.0004 and 0.0008, so that the tolerance is about a third of it.
    """
    comparisons = many_units.in_blocks.comparisons
    expected = many_units.in_memory.comparisons
    method = "jackknife t" if many_units.is_clustered else "paired t"
    assert comparisons["method"].tolist() == [method] * 3
    np.testing.assert_allclose(comparisons["max_t"], expected["max_t"], atol=0.0002)
    np.testing.assert_allclose(comparisons["p"], expected["p"], atol=0.0002)


def test_very_many_units_have_about_the_null_distribution_of_sign_flips(many_units):
    """The fixture holds two studies of the same 1,460 questions, or their users. One holds them in
    memory and flips their signs. The other reads them in blocks and may flip the signs of at most
    150 units; as there are more, it draws the null distribution from a normal one. Each has 16,384
    draws, so that the ratio of the standard deviations has a standard error of 0.8%.

    `p_of` has the p values of the null hypotheses that the difference is one of five values, of
    which the third is the observed one. A p is a share of the 16,384 draws, with a standard error
    of at most √(0.25 / 16384) = 0.004, the distance of two with one of 0.006; 0.02 is three of
    these.
    """
    blocks, memory = many_units.in_blocks, many_units.in_memory
    assert blocks.null_draws().std() == pytest.approx(memory.null_draws().std(), rel=0.03)
    around_the_observed = np.linspace(-0.01, 0.01, 5) + memory.headline.iloc[0]["difference"]
    np.testing.assert_allclose(
        blocks.p_of_null_means(around_the_observed),
        memory.p_of_null_means(around_the_observed),
        atol=0.02,
    )


def test_the_page_of_very_many_units_names_its_methods(many_units):
    """The fixture holds two studies of the same questions, or their users. One holds them in memory
    and flips their signs. The other reads them in blocks and may list at most 150 units, of which
    there are more. Only the page of the study in memory names the methods that need each unit.
    """
    units_name = "users" if many_units.is_clustered else "questions"
    limit = f"With more than 150 {units_name}, differences are tested by t"
    assert limit in text_of_findings(many_units.in_blocks)
    text_of_memory = text_that_must_not_depend_on_reading("significance", many_units.in_memory)
    text_of_blocks = text_that_must_not_depend_on_reading("significance", many_units.in_blocks)
    for method in ("bootstrap p", "random sign vectors"):
        assert method in text_of_memory
        assert method not in text_of_blocks
    assert "draws from the normal distribution of such means" in text_of_blocks


def test_the_results_of_very_many_units_list_no_units(many_units):
    """More units than the limit of 150 are not listed, but the null distribution of the difference
    still has a histogram, whose shares add up to 1.
    """
    output = significance_page.results(many_units.in_blocks)._repr_mimebundle_()
    results = output["application/vnd.evalkit+json"]
    assert results["differences"] == {"units": [], "values": []}
    assert sum(results["null_distribution"]["share"]) == pytest.approx(1)


def test_columns_that_may_name_clusters_are_named():
    study = study_of("significance", engine_samples.of_users(engine_samples.values()), IN_BLOCKS)
    assert (
        "Columns that may name clusters, not looked at in so long a table: user."
        in text_of_findings(study)
    )


# The file of the units ----------------------------------------------------------------------------


def brier_study_in_blocks(data, **parameters):
    return classified(data, IN_BLOCKS, metrics="brier", **parameters)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_without_ids_are_numbered_over_all_files(suffix, tmp_path):
    """1,800 rows of two systems, 900 of each, are in two files and have no ids. The file of units
    then names a row by its number over both files, from 1. For the system weak, the rows of these
    numbers in the input are its 900 rows, and their squared errors are those in the file.
    """
    rows = long(binary(900)).drop(columns="id").reset_index(drop=True)
    assert len(rows) == 1800  # of two systems, shuffled
    first, second = tmp_path / f"0.{suffix}", tmp_path / f"1.{suffix}"
    for path, part in ((first, rows[:1000]), (second, rows[1000:])):
        if suffix == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path, index=False)
    study = brier_study_in_blocks([str(first), str(second)], systems="weak")
    units_of_weak = write_and_read_units(study, tmp_path / "file").rows
    input_rows = rows.loc[units_of_weak["unit"].astype(int) - 1]  # numbers begin at 1
    assert len(input_rows) == 900
    assert set(input_rows["system"]) == {"weak"}
    # the Brier score is the mean of these
    squared_errors = (input_rows["score"] - input_rows["label"]) ** 2
    assert units_of_weak["numerator"].tolist() == squared_errors.tolist()


def test_a_file_of_many_shards_is_written_a_shard_at_a_time(tmp_path, monkeypatch):
    """A table of 3,000 rows is read in shards of 500. When its file of units is written, the table
    is read again, a shard at a time. Rows are gathered until there are at least 100, and are then
    written as a group of rows. A shard has more, so that there are at least as many groups as
    shards.
    """
    at_least_100_rows = (100,)
    monkeypatch.setattr(units.gathered, "__defaults__", at_least_100_rows)
    rows_read_at_once = []
    read_again = Blocks.again  # yields the rows of a table a second time, shard by shard

    def recorded(self, rows):
        for block in read_again(self, rows):
            rows_read_at_once.append(len(block))
            yield block

    monkeypatch.setattr(Blocks, "again", recorded)
    write_units(brier_study_in_blocks(binary(3000)), tmp_path / "file")
    assert rows_read_at_once == [500] * 6  # 3000 rows in shards of 500
    assert pq.ParquetFile(tmp_path / "file").metadata.num_row_groups >= 6


def test_an_input_that_has_changed_is_refused_and_leaves_no_file(tmp_path):
    """A table in blocks is read again when its file of units is written. If the table has other
    rows by then, there is an error and no file.
    """
    path = tmp_path / "live.csv"
    binary(900, seed=1).to_csv(path, index=False)
    study = brier_study_in_blocks(str(path))
    binary(900, seed=2).to_csv(path, index=False)  # other rows
    with pytest.raises(InputError, match=r"live\.csv: the file changed"):
        write_units(study, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_units_of_very_many_rows_are_written_only_on_request(monkeypatch):
    """Two systems on 900 rows have 1,800 values, one more than the limit: their units are written
    only with `units="yes"`. One system has 900 values: its units are written unless `units="no"`.
    To decide this, the table is not read again.
    """
    monkeypatch.setattr(units, "MOST", 1799)  # the limit of units times systems
    # the table would be read a second time by this method
    monkeypatch.setattr(Blocks, "again", lambda self, rows: pytest.fail("the table was read"))
    rows = binary(900)  # of the systems good and weak
    assert brier_study_in_blocks(rows).units_wanted() is None
    assert brier_study_in_blocks(rows, units="yes").units_wanted().size == 900
    assert brier_study_in_blocks(rows, systems="good").units_wanted().size == 900
    assert brier_study_in_blocks(rows, systems="good", units="no").units_wanted() is None


def test_units_are_counted_not_clusters(monkeypatch):
    """A study writes a file with the value of each question by each system, unless there are more
    values than a limit (MOST). Here each user asked several questions, and `unit="user"` takes the
    users as clusters. The limit is set to users times systems. What is counted against it
    must be questions times systems, which are more, so that no file is to be written
    (`units_wanted` is None). The table is so large for the limits of this test that it is read in
    blocks.
    """
    questions_of_users = engine_samples.of_users(engine_samples.values())
    study = study_of("significance", questions_of_users, IN_BLOCKS, unit="user")
    users = study.unit_count
    questions = len(study.data)
    questions_in_the_file = study.units_held().size  # of the content that would be written
    assert users < questions == questions_in_the_file
    monkeypatch.setattr(units, "MOST", users * len(study.systems))
    assert study.units_wanted() is None
