"""The ranking metrics against the public tools: the bundled runs, and the data sets that stand beside the project."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def test_every_value_of_the_bundled_runs_equals_the_tools_or_is_a_known_defect(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "oracles"))
    import ranking

    tallies = dict(ranking.against_bundled())
    total = sum(tallies.values(), ranking.Tally())
    assert total.wrong == []
    assert len(tallies) == 35  # 5 systems, 7 tools
    assert total.equal > 40_000


def test_every_value_equals_the_tools_or_is_a_known_defect(monkeypatch, capsys):
    if not (DATA / "trec_covid_demo").is_dir():
        pytest.skip("the data sets must not be committed, and are not beside the checkout")
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "oracles"))
    import ranking

    assert ranking.main() == 0, capsys.readouterr().out
    total = capsys.readouterr().out.splitlines()[-1]
    assert int(total.split()[2]) > 500_000
    assert total.endswith(" 0 MISMATCHES")


def test_a_wrong_value_is_a_mismatch(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "oracles"))
    import ranking
    from ranking_peers import Subject

    from evalkit.metrics.rankings import from_grades

    r = from_grades([[1, 0], [0, 1]])
    s = Subject("a run", r, r, r, r)
    assert ranking.per_query("pytrec_eval", {"0": {"recip_rank": 1.0}, "1": {"recip_rank": 0.5}}, s, 1).equal == 2
    wrong = ranking.per_query("pytrec_eval", {"0": {"recip_rank": 1.0}, "1": {"recip_rank": 0.5001}}, s, 1)
    assert wrong.wrong == ["a run pytrec_eval recip_rank query 1: evalkit np.float64(0.5), expected np.float64(0.5001)"]
    assert ranking.per_query("ranx", {"0": {"mrr": 1.0}}, s, 1).wrong == ["a run ranx: query 1 is not in its output"]
