"""Logs of interleaved sessions that are read twice and never kept: the numbers of memory, and the same refusals."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from large_logs import BY_T, FRAMES, GIVEN, SHARDS, by_rows, frame, held, summed, values_by_engine, values_of
from large_same import same, same_refusals

from evalkit.catalogue.kinds import PerUnit
from evalkit.drawing.tables import Html
from evalkit.limits import Limits, Reading
from evalkit.pages import first_screen, interleaving_page
from evalkit.parameters import Interleaving
from evalkit.statistics import inference, methods
from evalkit.statistics.statistic import Layout
from evalkit.studies import interleaving, online_diagnostics
from evalkit.studies.interleaving_rows import RowsStudy
from evalkit.studies.interleaving_sums import SumsStudy

REL = 1e-12  # of sums; of what they cancel in, a little more
PLAIN = ("users", "silent", "items", "sessions", "repeated", "session_p", "order", "opponents", "systems", "unit_name")


@pytest.fixture
def by_t(monkeypatch):
    """In memory, too, values of users who share several arms are compared by t."""
    monkeypatch.setitem(inference.TABLE[Layout.PLAIN], PerUnit, replace(inference.MEAN, test=methods.t_test))


def same_studies(kept, reduced, rel=1e-10):
    assert isinstance(kept, RowsStudy)
    assert isinstance(reduced, SumsStudy)
    for name in FRAMES:
        same(getattr(kept, name), getattr(reduced, name), rel)
    for name in PLAIN:
        assert getattr(kept, name) == getattr(reduced, name), name
    assert np.array_equal(kept.shown, reduced.shown)
    assert reduced.heavy == pytest.approx(kept.heavy, rel=REL)
    assert online_diagnostics.estimands(reduced) == pytest.approx(online_diagnostics.estimands(kept), rel=REL)
    deltas = [online_diagnostics.delta_ab(study) for study in (kept, reduced)]
    assert deltas[0] == pytest.approx(deltas[1], rel=1e-10) if len(kept.systems) == 2 else deltas == [None, None]
    np.testing.assert_allclose(reduced.estimates["value"], kept.estimates["value"], rtol=REL)


CASES = {
    "all": {},
    "one metric and a baseline": {"preference": "session_wins", "baseline": "b", "margin": 0.05},
    "another level": {"preference": "user_preference,credit_share", "level": 0.9},
    "no segments": {"segments": None},
    "three arms": {"arms": "a,b,c"},
    "three arms, pooled": {"arms": "c,a,b", "preference": "credit_share"},
    "sessions": {"columns": "{outcome: click}"},
    "clicks": {"columns": "{outcome: click}"},
}


def data_of(case):
    table = frame(arms=3 if case.startswith("three") else 2)
    if case == "sessions":
        return table.drop(columns=["user", "item"])
    return table.assign(click=(table["click"] > 0).astype(int)) if case == "clicks" else table


@pytest.mark.usefixtures("by_t")
@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_memory(case):
    given = CASES[case]
    same_studies(held(data_of(case), **given), summed(data_of(case), **given))


def test_a_hundred_thousand_rows_at_any_memory(tmp_path):
    table = frame(12_000)
    assert len(table) > 100_000
    kept = held(table)
    values = by_rows(values_of(kept.sides()))
    files = [str(tmp_path / name) for name in ("one.parquet", "two.csv")]
    table[:60_000].to_parquet(files[0], index=False)
    table[60_000:].to_csv(files[1], index=False)
    reading = Reading(rows=1_000, shard=12_000, row=20_000)
    for memory, data in (("1GB", table), ("250MB", files)):
        reduced = summed(data, Limits(reading=reading), memory=memory, threads=2)
        same_studies(kept, reduced)
        assert np.array_equal(values_by_engine(data, reading, memory), values)
        distinct, users = np.unique(kept.sides()[0].whole, return_counts=True)
        assert np.array_equal(reduced.summed.known.whole.values, distinct)
        assert np.array_equal(reduced.summed.known.whole.rows, users)


def text(study):
    return interleaving_page.findings(study).text


def test_where_signs_would_be_flipped_the_page_says_that_they_are_not():
    kept, reduced = held(frame(), Limits()), summed(frame())
    assert kept.comparisons["method"].str.startswith("sign flip").all()
    assert reduced.comparisons["method"].tolist() == ["paired t", "paired t", "jackknife t", "jackknife t"]
    assert "sign flips" in kept.tests_are
    assert "sign flips" not in reduced.tests_are
    assert "Above 100 rows, single users are not kept: where a shorter log would have sign flips" in text(reduced)
    assert "are not kept" not in text(kept)
    np.testing.assert_allclose(reduced.estimates["value"], kept.estimates["value"], rtol=REL)


def test_bins_of_credit_are_bounded_and_said():
    rng = np.random.default_rng(4)
    table = frame(2_000).assign(click=lambda rows: rows["click"] * rng.gamma(2, 20, len(rows)))
    kept, reduced = held(table), summed(table, Limits(bins=200, reading=SHARDS))
    assert 0 < reduced.heavy_bound < 0.05
    assert abs(kept.heavy - reduced.heavy) <= reduced.heavy_bound
    same(kept.estimates, reduced.estimates, 1e-10)
    assert "more than 200 distinct amounts of credit, which are counted in bins" in text(reduced)
    assert "counted in bins" not in text(kept)


def words(study, online):
    names = ("estimates", "comparisons", "segments", "checks", "balance", "by_position")
    pieces = [getattr(interleaving_page, name)(study) for name in names]
    pieces += [first_screen.verdict(study), interleaving_page.title(online)]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


def test_the_page_says_the_same():
    both = []
    for limits in (BY_T, Limits(reading=SHARDS)):
        online = interleaving.study_of(Interleaving.of({"log": frame(), **GIVEN}), limits)
        findings = [str(finding) for finding in interleaving_page.of_log(online.log)]
        both.append((words(online.log, online), findings, interleaving_page.results(online).results["log"]))
    (page, findings, answers), (reduced, more, numbers) = both
    assert reduced == page
    assert [finding for finding in more if not finding.endswith("[EK714]")] == findings
    assert len(more) == len(findings) + 1
    for name in ("columns", "simulated", "balance"):
        assert json.dumps(numbers[name]) == json.dumps(answers[name])


def with_row(row, **values):
    table = frame().astype({"click": object, "position": object})
    for name, value in values.items():
        table.loc[row, name] = value
    return table.infer_objects()


REFUSED = {
    "no number": (lambda: with_row(7, click=np.inf), {}),
    "below zero": (lambda: with_row(7, click=-1.5), {}),
    "no team": (lambda: with_row(7, team=None), {}),
    "no session": (lambda: with_row(7, session=None), {}),
    "no user": (lambda: with_row(7, user=None), {}),
    "unknown team": (lambda: with_row(7, team="z"), {}),
    "unknown teams": (frame, {"arms": "a,c"}),
    "an arm without a row": (frame, {"arms": "a,b,c"}),
    "several teams": (frame, {"arms": None, "neutral": None}),
    "a neutral team": (frame, {"neutral": None}),
    "a position that is none": (lambda: with_row(7, position=1.5), {}),
    "a position far away": (lambda: with_row(7, position=90_000), {}),
    "a position below 1": (lambda: with_row(7, position=0), {}),
    "positions that begin at 2": (lambda: frame().assign(position=frame()["position"] + 1), {}),
    "one position twice": (lambda: frame().assign(position=lambda rows: rows["position"].clip(upper=2)), {}),
    "two users": (lambda: with_row(7, user="another"), {}),
    "many users": (lambda: frame().assign(user=np.arange(len(frame())).astype(str)), {}),
    "two devices": (lambda: with_row(7, device="phone"), {}),
    "a device that no session begins with": (
        lambda: frame().assign(device=lambda rows: rows["device"].where(rows["position"] != 2, "phone")),
        {},
    ),
    "no credit": (lambda: frame().assign(click=0), {}),
    "credit of neutral items alone": (lambda: frame().assign(click=(frame()["team"] == "both") * 1), {}),
    "no such column": (frame, {"segments": "country"}),
    "baseline": (frame, {"baseline": "z"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_those_of_memory(case, tmp_path):
    make, given = REFUSED[case]

    def read(limits):
        return lambda files: interleaving.study_of(Interleaving.of({"log": files, **GIVEN, **given}), limits)

    same_refusals(make(), 900, tmp_path, read(Limits()), read(Limits(reading=SHARDS)))


def test_a_log_without_neutral_items_and_with_items_shown_once():
    table = frame()
    table = table.assign(team=table["team"].where(table["team"] != "both", "a"), item=np.arange(len(table)).astype(str))
    given = {"neutral": None, "arms": None}
    kept, reduced = held(table, **given), summed(table, **given)
    same_studies(kept, reduced)
    assert (kept.repeated, reduced.repeated) == (0, 0)
    assert "shown twice" not in text(reduced)
    assert pd.isna(reduced.checks["share"]).sum() == pd.isna(kept.checks["share"]).sum()
