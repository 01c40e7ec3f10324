"""Users of an A/B test that are read twice and never kept: the numbers of memory, and the same refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from large_same import same, same_refusals
from large_users import FRAMES, GIVEN, SHARDS, frame, held, summed

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.drawing.tables import Html
from evalkit.limits import Limits, Reading
from evalkit.pages import experiment_page, first_screen, interleaving_page
from evalkit.parameters import Interleaving
from evalkit.statistics import permutation
from evalkit.studies import interleaving, online_diagnostics
from evalkit.studies.experiment_rows import RowsStudy
from evalkit.studies.experiment_sums import SumsStudy

REL = 1e-12  # of sums; of what they cancel in, a little more
PLAIN = ("crossed", "sizes", "systems", "opponents", "order")


@pytest.fixture
def welch(monkeypatch):
    """In memory, too, no arms are so skewed and unequal that they have the studentised permutation test."""
    monkeypatch.setattr(permutation, "fits", lambda *arms: False)


def same_studies(kept, reduced, rel=1e-10):
    assert isinstance(kept, RowsStudy)
    assert isinstance(reduced, SumsStudy)
    for name in FRAMES:
        same(getattr(kept, name), getattr(reduced, name), rel)
    for name in PLAIN:
        assert getattr(kept, name) == getattr(reduced, name), name
    assert reduced.concentration == pytest.approx(kept.concentration, rel=REL)
    assert reduced.sample_ratio == kept.sample_ratio
    assert online_diagnostics.few_others(reduced) == online_diagnostics.few_others(kept)
    assert kept.plain is None or reduced.others == kept.others
    np.testing.assert_allclose(reduced.estimates["value"], kept.estimates["value"], rtol=REL)


CASES = {
    "all": {},
    "baseline and low": {"baseline": "b", "best": "low"},
    "two arms": {"metrics": "spent", "strata": "age_group", "shares": "unknown"},
    "a share first": {"metrics": "bought,orders"},
    "a ratio alone": {"metrics": "spent/visits"},
    "shares alone": {"metrics": "bought", "before": None},
    "another cap": {"cap": 0.8},
}


def data_of(case):
    table = frame().assign(age_group=lambda rows: (rows["age"] // 40).astype(str))
    if case != "two arms":
        return table
    users = table.groupby("user")["arm"].nunique()
    alone = table[table["user"].isin(users[users == 1].index)]
    return alone[alone["arm"] != "c"].drop(columns="user")


@pytest.mark.usefixtures("welch")
@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_memory(case):
    given = {name: value for name, value in CASES[case].items() if value is not None}
    same_studies(held(data_of(case), **given), summed(data_of(case), **given))


@pytest.mark.usefixtures("welch")
def test_a_hundred_thousand_users_at_any_memory(tmp_path):
    table = frame(100_000, crossed=3_000)
    kept = held(table)
    files = [tmp_path / name for name in ("one.parquet", "two.csv")]
    table[:40_000].to_parquet(files[0], index=False)
    table[40_000:].to_csv(files[1], index=False)
    reading = Reading(rows=1_000, shard=12_000, row=20_000)
    for memory, data in (("1GB", table), ("250MB", [str(path) for path in files])):
        reduced = summed(data, Limits(reading=reading), memory=memory, threads=2)
        same_studies(kept, reduced)
        known, arm = reduced.arms.known, kept.assigned.arm
        values, rows = np.unique(kept.numbers["orders"], return_counts=True)
        assert np.array_equal(known.counted.values, values)
        assert np.array_equal(known.counted.rows, rows)
        for i in range(3):
            sums = [*known.g.sums[f"0 {i} spent/visits"][3:5]]
            exact = [kept.numbers[name][arm == i].sum() for name in ("spent", "visits")]
            np.testing.assert_allclose(sums, exact, rtol=REL)


def test_where_the_permutation_test_would_be_the_page_says_that_it_is_not():
    rng = np.random.default_rng(2)
    spent = np.where(rng.random(600) < 0.1, rng.lognormal(3, 1.5, 600), 0)
    table = pd.DataFrame({"arm": ["a"] * 500 + ["b"] * 100, "spent": spent})
    given = {"metrics": "spent", "world": "none"}
    kept = interleaving.read(users=table, **given).users
    reduced = interleaving.study_of(Interleaving.of({"users": table, **given}), Limits(reading=SHARDS)).users
    assert kept.comparisons["method"].tolist() == ["studentised permutation"]
    assert reduced.comparisons["method"].tolist() == ["Welch t"]
    assert "permutation" in kept.tests_are
    assert "permutation" not in reduced.tests_are
    assert "Above 100 rows, single rows are not kept: arms are compared by Welch's t" in text(reduced)
    assert "are not kept" not in text(kept)


def text(study):
    return experiment_page.findings(study).text


def test_bins_are_bounded_and_said():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"arm": rng.choice(["a", "b"], 5000), "spent": rng.gamma(2, 20, 5000)})
    given = {"metrics": "spent", "world": "none", "cap": 0.97}
    kept = interleaving.read(users=table, **given).users
    limits = Limits(bins=400, reading=SHARDS)
    reduced = interleaving.study_of(Interleaving.of({"users": table, **given}), limits).users
    caps, shares = reduced.bounds
    assert 0 < caps < 2
    assert 0 < shares < 0.01
    for share in (0.97, 0.999, 0.9):
        assert abs(kept.cap(share) - reduced.cap(share)) <= caps
    for top, share in kept.concentration.items():
        assert abs(share - reduced.concentration[top]) <= shares
    same(kept.estimates, reduced.estimates, 1e-10)
    assert "spent has more than 400 distinct values, which are counted in bins" in text(reduced)
    assert "counted in bins" not in text(kept)


def words(study, online):
    names = ("estimates", "comparisons", "adjustments", "users_for", "segments", "heavy_users")
    pieces = [getattr(experiment_page, name)(study) for name in names]
    pieces += [first_screen.verdict(study), interleaving_page.title(online)]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


@pytest.mark.usefixtures("welch")
def test_the_page_says_the_same():
    both = []
    for limits in (Limits(), Limits(reading=SHARDS)):
        online = interleaving.study_of(Interleaving.of({"users": frame(), **GIVEN}), limits)
        both.append((words(online.users, online), text(online.users), experiment_page.answers(online.users)))
    (page, findings, answers), (reduced, more, numbers) = both
    assert reduced.replace("(Welch)", "") == page.replace("(Welch)", "")
    assert len(more) > len(findings)
    for name in ("columns", "population", "looks"):
        assert json.dumps(numbers[name]) == json.dumps(answers[name])


def with_row(row, **values):
    table = frame().reset_index(drop=True).astype({"orders": object})
    for name, value in values.items():
        table.loc[row, name] = value
    return table.infer_objects()


def again(rows):
    """The table with users who have several rows in one arm."""
    table = frame()
    first = table[~table["user"].duplicated(keep=False)][:rows]
    return pd.concat([table[:700], first, table[700:], first[:1]], ignore_index=True)


REFUSED = {
    "no number": (lambda: with_row(7, orders=np.inf), {}),
    "empty arm": (lambda: with_row(7, arm=None), {}),
    "empty user": (lambda: with_row(7, user=None), {}),
    "unknown arm": (frame, {"arms": "a,b", "shares": "a=1,b=1"}),
    "an arm without users": (frame, {"arms": "a,b,c,d", "shares": "unknown"}),
    "one arm": (lambda: frame()[lambda rows: rows["arm"] == "a"], {"shares": "unknown"}),
    "user again": (lambda: again(1), {}),
    "users again": (lambda: again(5), {}),
    "a stratum in one arm": (lambda: frame().assign(alone=frame()["user"]), {"strata": "alone"}),
    "shares of others": (frame, {"shares": "a=1,z=1"}),
    "no such column": (frame, {"metrics": "sales"}),
    "baseline": (frame, {"baseline": "z"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_those_of_memory(case, tmp_path):
    make, given = REFUSED[case]

    def read(limits):
        return lambda files: interleaving.study_of(Interleaving.of({"users": files, **GIVEN, **given}), limits)

    same_refusals(make(), 300, tmp_path, read(Limits()), read(Limits(reading=SHARDS)))


def test_own_metrics_are_those_of_memory_and_refused_where_they_leave_users_out():
    @ek.mean(undefined="no order")
    def each(spent, orders):
        """Spent per order of a user."""
        return np.where(orders > 0, spent / np.maximum(orders, 1), np.nan)

    @ek.ratio(best="high")
    def per_visit(orders, visits):
        """Orders per visit."""
        return 2 * orders, visits

    same_studies(held(frame(), metrics=[per_visit]), summed(frame(), metrics=[per_visit]))
    with pytest.raises(ParameterError, match="each leaves users out, which needs all rows in memory, got 980 rows"):
        summed(frame(), metrics=[each])
