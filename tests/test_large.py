"""Binary tables that are read twice and never kept: the numbers of memory, at any limit, with the same errors."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.arrays import InputError, ParameterError
from evalkit.metrics import counts, influence
from evalkit.reading import large
from evalkit.reading.engine import FEWEST, limits, opened
from evalkit.reading.slices import groups, slices
from evalkit.sections import classification_page, page
from evalkit.statistics import passes
from evalkit.studies import classification
from evalkit.studies.binary_rows import RowsStudy
from evalkit.studies.binary_sums import SumsStudy

SCHEMA = Path(__file__).parents[1] / "evalkit" / "schema.json"
METRICS = "roc_auc,average_precision,ks,log_loss,brier,calibration_in_the_large,f1,accuracy,precision,recall,mcc"
CLOSED = ("logit DeLong", "t", "Wilson", "Newcombe 5")


def frame(rows=3000, seed=1, ties=3, units=300):
    """Two systems on the same rows, wide, with ties, whole weights, groups and users."""
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < 0.3).astype(int)
    user = rng.integers(0, units, rows)
    shift = rng.normal(0, 0.7, units)[user]
    score = {
        f"score_{name}": np.round(1 / (1 + np.exp(-(label * 1.5 - 1 + shift + rng.normal(0, s, rows)))), ties)
        for name, s in (("good", 0.8), ("weak", 1.5))
    }
    return pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(rows)],
            "label": label,
            "user_id": [f"u{one}" for one in user],
            "country": rng.choice(["de", "fr", "it"], rows),
            "age": rng.integers(18, 80, rows),
            "heavy": rng.integers(0, 4, rows),
            "exact": rng.random(rows) + 0.1,
        }
        | score
    )


def long(wide):
    """The same as one row a system and id, shuffled."""
    parts = [
        wide.drop(columns=["score_good", "score_weak"]).assign(system=name, score=wide[f"score_{name}"])
        for name in ("good", "weak")
    ]
    return pd.concat(parts).sample(frac=1, random_state=3)


@pytest.fixture
def small(monkeypatch):
    """Every table is large, and a shard has few rows."""
    monkeypatch.setattr(large, "ROWS", 100)
    monkeypatch.setattr("evalkit.reading.engine.FEWEST", 500)
    monkeypatch.setattr("evalkit.reading.engine.ROW", 10**9)


def both(monkeypatch, data, **given):
    """The study in memory and the one from sums."""
    kept = classification.read(data, **given)
    monkeypatch.setattr(large, "ROWS", 100)
    monkeypatch.setattr("evalkit.reading.engine.FEWEST", 500)
    monkeypatch.setattr("evalkit.reading.engine.ROW", 10**9)
    reduced = classification.read(data, **given)
    assert isinstance(kept, RowsStudy)
    assert isinstance(reduced, SumsStudy)
    return kept, reduced


def same_estimates(kept, reduced):
    """Values to rounding, intervals of one method too, others nearly."""
    a, b = kept.estimates, reduced.estimates
    assert a[["metric", "system", "n"]].equals(b[["metric", "system", "n"]])
    np.testing.assert_allclose(b["value"], a["value"], rtol=1e-10, atol=1e-12)
    for one, other in zip(a.to_dict("records"), b.to_dict("records"), strict=True):
        assert [other["low"], other["high"]] == pytest.approx(
            [one["low"], one["high"]], rel=1e-8, abs=1e-9, nan_ok=True
        ), one


# ---- the same numbers as in memory -----------------------------------------------------------------------------------

CASES = {
    "plain": {"columns": "{id: id}"},
    "one system": {"systems": "good", "columns": "{id: id}"},
    "weights": {"columns": "{weight: heavy}"},
    "real weights": {"columns": "{weight: exact}"},
    "units": {"unit": "user_id"},
    "units and weights": {"unit": "user_id", "columns": "{weight: heavy}"},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_estimates_are_those_of_memory(monkeypatch, case, layout):
    data = frame() if layout == "wide" else long(frame())
    kept, reduced = both(monkeypatch, data, metrics=METRICS, threshold=0.4, **CASES[case])
    same_estimates(kept, reduced)
    for name in kept.order:
        a, b = kept.table(name), reduced.table(name)
        assert np.array_equal(a.threshold, b.threshold)
        if "exact" not in str(CASES[case]):
            assert np.array_equal(a.tp, b.tp)
            assert np.array_equal(a.fp, b.fp)


@pytest.mark.parametrize("case", [name for name in CASES if name != "one system"])
@pytest.mark.parametrize("layout", ["wide", "long"])
@pytest.mark.parametrize("known", [0, 2**14], ids=["units sorted", "units known"])
def test_comparisons_are_those_of_memory(monkeypatch, case, layout, known):
    monkeypatch.setattr("evalkit.statistics.inference.FLIPPED", 1)  # t instead of sign flips, as for many rows
    monkeypatch.setattr(large, "KNOWN", known)
    data = frame() if layout == "wide" else long(frame())
    kept, reduced = both(monkeypatch, data, metrics=METRICS, threshold=0.4, **CASES[case])
    plain = case == "plain"
    for one, other in zip(kept.comparisons.to_dict("records"), reduced.comparisons.to_dict("records"), strict=True):
        assert other["difference"] == pytest.approx(one["difference"], rel=1e-8, abs=1e-12)
        resampled = plain and "bootstrap" in one["method"]
        assert [other["low"], other["high"]] == pytest.approx(
            [one["low"], one["high"]], abs=0.1 * (one["high"] - one["low"]) if resampled else 1e-9
        ), one
        assert other["n"] == one["n"]


@pytest.mark.parametrize("case", CASES)
def test_segments_are_those_of_memory(monkeypatch, case):
    monkeypatch.setattr("evalkit.statistics.inference.FLIPPED", 1)
    for metric in ("roc_auc", "brier", "accuracy"):
        given = CASES[case] | {"segments": "country,age", "metrics": metric}
        monkeypatch.undo()
        monkeypatch.setattr("evalkit.statistics.inference.FLIPPED", 1)
        kept, reduced = both(monkeypatch, frame(), **given)
        a, b = kept.by_segment, reduced.by_segment
        assert a[["segment", "slice", "system", "n"]].equals(b[["segment", "slice", "system", "n"]])
        numbers = [name for name in a.columns if a[name].dtype == float]
        np.testing.assert_allclose(b[numbers], a[numbers], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("threshold", ["best_f1", "cost:fp=1,fn=5", "recall>=0.9", "0.3333"])
def test_thresholds_and_decisions_are_those_of_memory(monkeypatch, threshold):
    kept, reduced = both(monkeypatch, frame(), threshold=threshold)
    pd.testing.assert_frame_equal(kept.decisions, reduced.decisions)
    pd.testing.assert_frame_equal(kept.choices, reduced.choices)
    pd.testing.assert_frame_equal(kept.calibration, reduced.calibration)
    pd.testing.assert_frame_equal(kept.gains, reduced.gains)
    assert kept.facts.wrong == reduced.facts.wrong


EDGES = {
    "one class": (lambda d: d.assign(label=1), {}),
    "one class by unit": (lambda d: d.assign(label=0), {"unit": "user_id"}),
    "constant score": (lambda d: d.assign(score_good=0.5), {"unit": "user_id"}),
    "equal systems": (lambda d: d.assign(score_weak=d["score_good"]), {}),
    "no threshold": (lambda d: d, {"threshold": "precision>=0.99999"}),
    "one unit": (lambda d: d.assign(user_id="u"), {"unit": "user_id"}),
    "booleans": (lambda d: d.assign(label=d["label"].astype(bool)), {}),
    "texts": (lambda d: d.assign(label=d["label"].map({0: "it's", 1: "not"})), {"positive": "it's"}),
    "logits": (lambda d: d.assign(score_good=np.log(d["score_good"] + 0.01)), {}),
}


@pytest.mark.parametrize("case", EDGES)
def test_edges_are_those_of_memory(monkeypatch, case):
    monkeypatch.setattr("evalkit.statistics.inference.FLIPPED", 1)
    change, given = EDGES[case]
    kept, reduced = both(
        monkeypatch, change(frame(1500)), metrics="roc_auc,average_precision,f1,recall,accuracy", **given
    )
    same_estimates(kept, reduced)
    a, b = kept.comparisons, reduced.comparisons
    np.testing.assert_allclose(b["difference"], a["difference"], atol=1e-12)
    assert a["verdict"].tolist() == b["verdict"].tolist()
    assert text(kept).splitlines()[:4] == text(reduced).splitlines()[:4]


def test_rows_that_another_system_lacks(monkeypatch):
    data = long(frame()).iloc[:-40]
    kept, reduced = both(monkeypatch, data, metrics="roc_auc,f1")
    same_estimates(kept, reduced)
    assert vars(kept.facts.account) == vars(reduced.facts.account)
    assert kept.facts.positives == reduced.facts.positives


# ---- at any limit, in any order --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """120,000 rows with ties, text ids, whole weights, groups, in three Parquet files."""
    folder = tmp_path_factory.mktemp("table")
    data = frame(120_000, seed=5, ties=4, units=30_000)
    for i, part in enumerate(np.array_split(np.arange(len(data)), 3)):
        data.iloc[part].to_parquet(folder / f"part{i}.parquet")
    return folder, data


def grids(folder, memory, size, monkeypatch, **more):
    monkeypatch.setattr("evalkit.reading.engine.FEWEST", size)
    monkeypatch.setattr("evalkit.reading.engine.ROW", 10**9)
    with opened(limits(memory, threads=2)) as engine:
        from evalkit.reading import sources

        made = large.read(engine, sources.parts(str(folder)), segments=["country"], **more)
        first = passes.First(made.plan, 0.5)
        found = made.reduce(pickle.loads(pickle.dumps(first)), first.merge, by_unit=False)
    return first.bins(found), passes.facts(found)


@pytest.mark.parametrize("most", [2**20, 1000], ids=["exact", "binned"])
@pytest.mark.parametrize("weight", ["heavy", "exact"])
def test_counts_are_the_same_at_every_limit(table, monkeypatch, most, weight):
    folder, data = table
    monkeypatch.setattr(passes, "MOST", most)
    monkeypatch.setattr(passes, "FEWER", most // 4)
    given = {"columns": {"weight": weight}}
    whole, counted = grids(folder, "1GB", 10**6, monkeypatch, **given)
    small, again = grids(folder, "250MB", 7_000, monkeypatch, **given)
    assert counted.tolist() == again.tolist() == [len(data), int(data["label"].sum()), 0, 0]
    assert sorted(whole) == sorted(small) == list(range(8))
    for key, one in whole.items():
        assert one.shift == small[key].shift
        assert (one.shift > 0) == (most == 1000)
        for name in ("low", "high", "positive", "negative"):
            assert np.array_equal(getattr(one, name), getattr(small[key], name)), (key, name)


def test_the_page_is_the_same_at_every_limit(table, monkeypatch):
    folder, _ = table
    monkeypatch.setattr(large, "ROWS", 100_000)
    monkeypatch.setattr(passes, "MOST", 2**12)
    found = []
    for memory, size in (("1GB", FEWEST), ("250MB", 9_000)):
        monkeypatch.setattr("evalkit.reading.engine.FEWEST", size)
        monkeypatch.setattr("evalkit.reading.engine.ROW", 10**9)
        given = {"segments": "country", "unit": "user_id", "metrics": "roc_auc,average_precision,brier,f1"}
        study = classification.read(str(folder), memory=memory, **given)
        found.append(text(study))
    assert found[0] == found[1]
    assert "binning changes it by less than 1e-" in found[0]


def text(study):
    names = ("title", "notes", "estimates", "curves", "base_rate", "thresholds", "calibration", "top", "confusion")
    pieces = [getattr(classification_page, name)(study) for name in (*names, "definitions")]
    return "\n".join(one.text for one in [*pieces, page.verdict(study), page.comparisons(study), page.segments(study)])


@pytest.mark.parametrize("case", ["plain", "units and weights", "one system"])
def test_every_piece_of_the_page_is_there(small, case, monkeypatch):
    monkeypatch.setattr(passes, "MOST", 200 if case == "one system" else 2**20)
    study = classification.read(frame(), segments="country", **CASES[case])
    assert isinstance(study, SumsStudy)
    pieces = ("curve_plot", "base_rate_plot", "threshold_plot", "cost_plot", "calibration_plot", "top_plot")
    for name in (*pieces, "confusion_plot", "origin"):
        assert getattr(classification_page, name)(study) is not None
    published = classification_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]
    jsonschema.validate(published, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert "NaN" not in json.dumps(published)
    assert ("binning" in published) == (case == "one system")
    shown = text(study)
    assert ("none, nor limits of calibration" in shown) == (case == "units and weights")


def test_binned_scores_stay_within_their_bound_and_near_the_intervals_of_memory(monkeypatch):
    data = frame(20_000, ties=12)
    kept = classification.read(data, metrics=METRICS, threshold=0.4)
    monkeypatch.setattr(large, "ROWS", 100)
    monkeypatch.setattr(passes, "MOST", 2_000)
    reduced = classification.read(data, metrics=METRICS, threshold=0.4)
    for name, (width, low, high) in reduced.facts.binned.items():
        a, b = kept.table(name), reduced.table(name)
        assert abs(counts.auc(a) - counts.auc(b)) <= width < 1e-3
        assert low <= counts.average_precision(a) <= high
        assert influence.auc_variance(b) == pytest.approx(influence.auc_variance(a), rel=1e-3)
    a, b = (one.estimates.set_index(["metric", "system"]) for one in (kept, reduced))
    for metric in ("log_loss", "brier", "calibration_in_the_large", "accuracy", "recall", "f1"):
        np.testing.assert_allclose(b.loc[metric, "value"], a.loc[metric, "value"], rtol=1e-12)
    pd.testing.assert_frame_equal(kept.decisions, reduced.decisions)
    parts = (kept.calibration["value"] - reduced.calibration["value"]).abs()
    assert parts.max() < 1e-3


@pytest.mark.parametrize("metric", ["average_precision", "ks", "f1", "mcc", "partial_auc_mcclish_10", "brier_skill"])
def test_with_many_rows_of_both_classes_the_delta_method_gives_the_limits_of_the_bootstrap(small, monkeypatch, metric):
    data = frame(40_000, seed=21, ties=5).drop(columns="score_weak")
    monkeypatch.setattr("evalkit.statistics.summed.ENOUGH", 10**9)
    drawn = classification.read(data, metrics=metric).estimates.iloc[0]
    monkeypatch.setattr("evalkit.statistics.summed.ENOUGH", 10_000)
    found = classification.read(data, metrics=metric).estimates.iloc[0]
    assert (drawn["method"], found["method"]) == ("bootstrap of counts, BCa", "delta method from counts")
    width = drawn["high"] - drawn["low"]
    assert [found["low"], found["high"]] == pytest.approx([drawn["low"], drawn["high"]], abs=0.12 * width)


# ---- what cannot be meant --------------------------------------------------------------------------------------------


def spoilt(change):
    data = frame(400)
    return change(data)


def put(data, column, row, value):
    data = data.copy()
    data[column] = data[column].astype(object)
    data.loc[row, column] = value
    return data


BAD = {
    "label missing": (lambda d: put(d, "label", 7, None), {}),
    "score missing": (lambda d: put(d, "score_good", 9, None), {}),
    "score infinite": (lambda d: d.assign(score_weak=np.where(d.index == 250, np.inf, d["score_weak"])), {}),
    "score not a number": (lambda d: put(d, "score_good", 3, "high").astype({"score_good": str}), {}),
    "weight below 0": (lambda d: put(d, "heavy", 300, -1).astype({"heavy": int}), {"columns": "{weight: heavy}"}),
    "weights all 0": (lambda d: d.assign(heavy=0), {"columns": "{weight: heavy}"}),
    "three labels": (lambda d: d.assign(label=np.where(d.index == 42, 2, d["label"])), {}),
    "which is positive": (lambda d: d.assign(label=d["label"].map({0: "good", 1: "bad"})), {}),
    "no such positive": (lambda d: d.assign(label=d["label"].map({0: "a", 1: "b"})), {"positive": "c"}),
    "id twice": (lambda d: d.assign(id=d["id"].replace("row 200", "row 20")), {}),
    "id missing": (lambda d: put(d, "id", 11, None), {}),
    "no probabilities": (lambda d: put(d, "score_weak", 77, 1.5).astype({"score_weak": float}), {"metrics": "brier"}),
    "no such system": (lambda d: d, {"systems": "good,bad"}),
    "long: id twice": (lambda d: pd.concat([long(d), long(d).iloc[5:6]]), {}),
    "long: labels differ": (
        lambda d: long(d).reset_index(drop=True).pipe(lambda x: put(x, "label", 5, 1 - x["label"][5])),
        {},
    ),
    "long: groups differ": (
        lambda d: long(d).reset_index(drop=True).pipe(lambda x: put(x, "country", 5, "xx")),
        {"segments": "country"},
    ),
    "long: no ids": (lambda d: long(d).drop(columns="id"), {}),
    "long: nothing shared": (lambda d: long(d).pipe(lambda x: x.assign(id=x["id"] + x["system"])), {}),
    "long: no such system": (lambda d: long(d), {"systems": "good,bad"}),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_as_in_memory(small, monkeypatch, case):
    change, given = BAD[case]
    data = spoilt(change)
    with pytest.raises((InputError, ParameterError)) as found:
        classification.read(data, **given)
    monkeypatch.undo()
    with pytest.raises((InputError, ParameterError)) as expected:
        classification.read(data, **given)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_files_of_every_kind_are_refused_by_name_and_row(small, tmp_path, kind):
    data, path = put(frame(300), "score_good", 9, None), tmp_path / f"bad.{kind}"
    data["score_good"] = data["score_good"].astype(float)
    write = {"csv": data.to_csv, "parquet": data.to_parquet}.get(kind)
    write(path, index=False) if write else data.to_json(path, orient="records", lines=True)
    with pytest.raises(InputError, match=re.escape(r"score_good must be a finite number, got nothing (row 10)")):
        classification.read(str(path))


def test_a_truncated_file_and_an_unwritable_spill(small, tmp_path):
    path = tmp_path / "cut.parquet"
    frame(2000).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(InputError, match="must be a whole Parquet file"):
        classification.read(str(path))
    with pytest.raises(ParameterError, match="spill: must be a folder"):
        classification.read(frame(), spill=str(tmp_path / "nowhere"))


def test_a_file_that_changes_while_it_is_read_is_refused(small, tmp_path, monkeypatch):
    path, reduce = tmp_path / "live.csv", passes.grid.reduce
    frame(2000).to_csv(path, index=False)

    def slow(*columns, **given):
        with path.open("a", encoding="utf-8") as file:
            file.write("")
        path.touch()
        return reduce(*columns, **given)

    monkeypatch.setattr(passes.grid, "reduce", slow)
    with pytest.raises(InputError, match=r"live\.csv: the file changed while it was read"):
        classification.read(str(path))


def test_an_input_whose_readings_differ_is_refused(small, monkeypatch):
    read = large.read
    monkeypatch.setattr(large, "read", lambda *a, **k: replace(read(*a, **k), rows=2999))
    with pytest.raises(InputError, match="data frame: the input changed while it was read"):
        classification.read(frame(3000))


def test_no_file_is_left_when_reading_ends_badly(small, tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "facts", lambda table: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        classification.read(frame(), spill=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_segments_with_too_many_values_are_refused(small, monkeypatch):
    monkeypatch.setattr(large, "VALUES", 50)
    with pytest.raises(ParameterError, match="'age' has more than 50 distinct values"):
        classification.read(frame(), segments="age")


# ---- small things ----------------------------------------------------------------------------------------------------


def test_few_rows_are_known_without_counting(tmp_path):
    from evalkit.reading import sources

    path = tmp_path / "a.csv"
    path.write_text("label,score\n" + "1,0.5\n" * 100)
    assert large.few(sources.parts(str(path)), 200)
    assert not large.few(sources.parts(str(path)), 50)


@pytest.mark.parametrize("rows", [4, 100, 1001])
def test_groups_of_counted_values_are_those_of_the_rows(rows):
    rng = np.random.default_rng(rows)
    for values in (rng.integers(0, 200, rows), rng.choice([f"t{i}" for i in range(40)], rows), rng.random(rows)):
        texts = values.astype(str)
        names, code = np.unique(texts, return_inverse=True)
        found = groups(names, np.bincount(code))
        expected = slices("x", texts)
        assert found.labels == [one.label for one in expected]
        assert all(np.array_equal(found.of[code] == i, one.member) for i, one in enumerate(expected))


# ---- coverage --------------------------------------------------------------------------------------------------------


def covered(times, metric, monkeypatch, units=("user_id",), users=150):
    """How often the intervals by these units hold the value of the population; no unit: rows."""
    monkeypatch.setattr(large, "ROWS", 100)
    rng = np.random.default_rng(12)

    def draw(users):
        size = rng.integers(1, 15, users)
        user = np.repeat(np.arange(users), size)
        taste = rng.normal(0, 1.2, users)[user]
        label = rng.random(len(user)) < 1 / (1 + np.exp(-taste))
        score = taste + label * 0.8 + rng.normal(0, 1, len(user))
        return pd.DataFrame({"label": label.astype(int), "score": score, "user_id": user.astype(str)})

    truth = classification.read(draw(40_000), metrics=metric).estimates["value"].iloc[0]
    hits = np.zeros(len(units))
    for _ in range(times):
        data = draw(users)
        for i, unit in enumerate(units):
            e = classification.read(data, metrics=metric, unit=unit).estimates.iloc[0]
            hits[i] += e["low"] <= truth <= e["high"]
    return hits / times


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_intervals_by_user_cover(metric, monkeypatch):
    (by_user,) = covered(60, metric, monkeypatch)
    assert by_user >= 0.85  # 0.95 less three and a half standard errors


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_intervals_by_user_cover_at_length(metric, monkeypatch):
    by_user, by_row = covered(1000, metric, monkeypatch, ("user_id", None))
    assert 0.92 <= by_user <= 0.97
    assert by_row < 0.92


@pytest.mark.slow
def test_a_big_file(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "big.parquet"
    label = rng.random(6_000_000) < 0.2
    score = rng.normal(size=len(label)) + label
    pq.write_table(pa.table({"label": label.astype(np.int8), "score": score}), path)
    study = classification.read(str(path), memory="300MB", metrics="roc_auc,average_precision,ks,f1")
    exact = counts.count(score, label)
    (width, low, high) = study.facts.binned["system"]
    assert abs(study.estimate(study.primary, "system").value - counts.auc(exact)) <= width < 1e-5
    assert low <= counts.average_precision(exact) <= high
    assert study.facts.rows == len(label)
