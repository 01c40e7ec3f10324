"""Metrics against the public tools: on the sets that are committed, and on those that stand beside
the project.
"""

import re
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _beside(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "oracles"))


def test_every_value_of_classifications_equals_the_tools_or_is_explained(capsys):
    """Its last line counts: "all: 5678 equal, …, 0 MISMATCHES". That few are compared would be a
    fault of this test.
    """
    import classification

    status = classification.main()
    printed = capsys.readouterr().out
    assert status == 0, printed
    total = printed.splitlines()[-1]
    equal_values = int(re.search(r"^all: (\d+) equal", total)[1])
    assert equal_values > 5_000
    assert total.endswith(" 0 MISMATCHES")


def test_every_value_of_the_bundled_runs_equals_the_tools_or_is_a_known_defect():
    import ranking

    tallies = dict(ranking.against_bundled())
    total = sum(tallies.values(), ranking.Tally())
    assert total.wrong == []
    assert len(tallies) == 5 * 7  # systems and tools
    assert total.equal > 40_000


def test_every_value_of_rankings_equals_the_tools_or_is_a_known_defect(capsys):
    if not (DATA / "trec_covid_demo").is_dir():
        pytest.skip("the data sets must not be committed, and are not beside the checkout")
    """Its last line counts: "total of 567890 comparisons: …, 0 MISMATCHES". That few are compared
    would be a fault of this test.
    """
    import ranking

    status = ranking.main()
    printed = capsys.readouterr().out
    assert status == 0, printed
    total = printed.splitlines()[-1]
    comparisons = int(re.search(r"^total of (\d+) comparisons", total)[1])
    assert comparisons > 500_000
    assert total.endswith(" 0 MISMATCHES")


def test_a_wrong_value_is_a_mismatch_and_a_nan_for_0_a_known_difference():
    from tally import Tally

    tally = Tally()
    tally.check("wrong", 0.5, 0.5 + 1e-8)
    tally.check("equal", 0.5, 0.5)
    tally.check("undefined, where the tool has 0", float("nan"), 0.0)
    assert tally.wrong == ["wrong: evalkit 0.5, expected 0.50000001"]
    assert tally.equal == 1
    assert tally.explained.total() == 1


def test_a_wrong_or_missing_value_of_a_query_is_a_mismatch():
    """The relevant item is first for query 0 and second for query 1."""
    import ranking
    from ranking_peers import Subject

    from evalkit.metrics.rankings import from_grades

    r = from_grades([[1, 0], [0, 1]])
    subject = Subject("a run", r, r, r, r)
    level = 1  # the lowest grade that is relevant
    right = {"0": {"recip_rank": 1.0}, "1": {"recip_rank": 0.5}}
    assert ranking.per_query("pytrec_eval", right, subject, level).equal == 2
    wrong = {"0": {"recip_rank": 1.0}, "1": {"recip_rank": 0.5001}}
    assert ranking.per_query("pytrec_eval", wrong, subject, level).wrong == [
        "a run pytrec_eval recip_rank query 1: evalkit np.float64(0.5), expected np.float64(0.5001)"
    ]
    without_query_1 = {"0": {"mrr": 1.0}}
    assert ranking.per_query("ranx", without_query_1, subject, level).wrong == [
        "a run ranx: query 1 is not in its output"
    ]
