"""Metrics against the public tools: on the sets that are committed, and on those that stand beside
the project.
"""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _beside(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "oracles"))


def test_every_value_of_classifications_equals_the_tools_or_is_explained(capsys):
    import classification

    status = classification.main()
    printed = capsys.readouterr().out
    assert status == 0, printed
    total = printed.splitlines()[-1]
    assert int(total.split()[1]) > 5_000
    assert total.endswith(" 0 MISMATCHES")


def test_every_value_of_the_bundled_runs_equals_the_tools_or_is_a_known_defect():
    import ranking

    tallies = dict(ranking.against_bundled())
    total = sum(tallies.values(), ranking.Tally())
    assert total.wrong == []
    assert len(tallies) == 35  # 5 systems, 7 tools
    assert total.equal > 40_000


def test_every_value_of_rankings_equals_the_tools_or_is_a_known_defect(capsys):
    if not (DATA / "trec_covid_demo").is_dir():
        pytest.skip("the data sets must not be committed, and are not beside the checkout")
    import ranking

    assert ranking.main() == 0, capsys.readouterr().out
    total = capsys.readouterr().out.splitlines()[-1]
    assert int(total.split()[2]) > 500_000
    assert total.endswith(" 0 MISMATCHES")


def test_a_wrong_value_is_a_mismatch():
    import ranking
    from ranking_peers import Subject
    from tally import Tally

    from evalkit.metrics.rankings import from_grades

    found = Tally()
    for ours, theirs in ((0.5, 0.5 + 1e-8), (0.5, 0.5), (float("nan"), 0.0)):
        found.check("here", ours, theirs)
    assert found.wrong == ["here: evalkit 0.5, expected 0.50000001"]
    assert (found.equal, found.explained.total()) == (1, 1)
    r = from_grades([[1, 0], [0, 1]])
    s = Subject("a run", r, r, r, r)
    assert (
        ranking.per_query(
            "pytrec_eval", {"0": {"recip_rank": 1.0}, "1": {"recip_rank": 0.5}}, s, 1
        ).equal
        == 2
    )
    wrong = ranking.per_query(
        "pytrec_eval", {"0": {"recip_rank": 1.0}, "1": {"recip_rank": 0.5001}}, s, 1
    )
    assert wrong.wrong == [
        "a run pytrec_eval recip_rank query 1: evalkit np.float64(0.5), expected np.float64(0.5001)"
    ]
    assert ranking.per_query("ranx", {"0": {"mrr": 1.0}}, s, 1).wrong == [
        "a run ranx: query 1 is not in its output"
    ]
