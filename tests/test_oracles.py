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
    """`classification.main` compares evalkit's values with stored ones of public tools, and prints
    a last line such as "all: 5678 equal, …, 0 MISMATCHES". If no more than 5,000 values were
    compared, data sets would be missing, which would be a fault of this test.
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
    """`ranking.against_bundled` compares evalkit's values per query, of 5 bundled systems, with
    stored ones of 7 public tools, and has a tally for each system and tool. A value that is wrong,
    and no known defect of the tool, would be listed in `wrong`. More than 40,000 equal values show
    that none of the comparisons is nearly empty.
    """
    import ranking

    tallies = dict(ranking.against_bundled())
    total = sum(tallies.values(), ranking.Tally())
    assert total.wrong == []
    assert len(tallies) == 5 * 7
    assert total.equal > 40_000


def test_every_value_of_rankings_equals_the_tools_or_is_a_known_defect(capsys):
    """`ranking.main` compares evalkit's values with stored ones of public tools, and prints a last
    line such as "total of 567890 comparisons: …, 0 MISMATCHES". If no more than 500,000 values were
    compared, data sets would be missing, which would be a fault of this test.
    """
    if not (DATA / "trec_covid_demo").is_dir():
        pytest.skip("the data sets must not be committed, and are not beside the checkout")
    import ranking

    status = ranking.main()
    printed = capsys.readouterr().out
    assert status == 0, printed
    total = printed.splitlines()[-1]
    comparisons = int(re.search(r"^total of (\d+) comparisons", total)[1])
    assert comparisons > 500_000
    assert total.endswith(" 0 MISMATCHES")


def test_a_wrong_value_is_a_mismatch_and_a_nan_for_0_a_known_difference():
    """A tally compares evalkit's values, here 0.5, 0.5 and undefined, with those of another tool. A
    difference of 1e-8 is wrong; equal values are counted; 0 where evalkit has NaN is counted as
    explained, since tools are known to return 0 for an undefined value.
    """
    from tally import Tally

    tally = Tally()
    tally.check("wrong", 0.5, 0.5 + 1e-8)
    tally.check("equal", 0.5, 0.5)
    tally.check("undefined, where the tool has 0", float("nan"), 0.0)
    assert tally.wrong == ["wrong: evalkit 0.5, expected 0.50000001"]
    assert tally.equal == 1
    assert tally.explained.total() == 1


def test_a_wrong_or_missing_value_of_a_query_is_a_mismatch():
    """The relevant item is first for query 0 and second for query 1, so that the reciprocal ranks
    are 1 and 1/2. `per_query` compares evalkit's values with those that a public tool, such as
    pytrec_eval, would have: right ones, one that is wrong by 0.0001, and none for query 1.
    """
    import ranking
    from ranking_peers import Subject

    from evalkit.metrics.rankings import from_grades

    r = from_grades([[1, 0], [0, 1]])
    # a tool may round scores, keep ties in the order of the file or clip grades: no difference here
    subject = Subject("a run", r, rounded=r, listed=r, clipped=r)
    lowest_relevant_grade = 1
    right = {"0": {"recip_rank": 1.0}, "1": {"recip_rank": 0.5}}
    assert ranking.per_query("pytrec_eval", right, subject, lowest_relevant_grade).equal == 2
    wrong = {"0": {"recip_rank": 1.0}, "1": {"recip_rank": 0.5001}}
    assert ranking.per_query("pytrec_eval", wrong, subject, lowest_relevant_grade).wrong == [
        "a run pytrec_eval recip_rank query 1: evalkit np.float64(0.5), expected np.float64(0.5001)"
    ]
    without_query_1 = {"0": {"mrr": 1.0}}
    assert ranking.per_query("ranx", without_query_1, subject, lowest_relevant_grade).wrong == [
        "a run ranx: query 1 is not in its output"
    ]
