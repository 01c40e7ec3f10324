"""Tables of successes and trials of any size: every piece of the page in bounded time, memory and size."""

import tracemalloc

import pandas as pd
import pytest

from evalkit.arrays import InputError
from evalkit.pages import significance_page
from evalkit.studies import significance

OF_DATA = [piece for piece in significance_page.PIECES if piece is not significance_page.teaching]


def counts(n, *more):
    return pd.DataFrame({"arm": list("AB"), "successes": [n // 2 + more[0], n // 2], "trials": [n, n]})


def pieces(study):
    """The most bytes that making the page's pieces held, and the pieces."""
    tracemalloc.start()
    try:
        shown = [str(piece(study)._repr_mimebundle_()) for piece in OF_DATA]
        return tracemalloc.get_traced_memory()[1], shown
    finally:
        tracemalloc.stop()


GREATER = {"null": 0.5, "alternative": "greater"}


@pytest.mark.parametrize("n, more", [(10**8, {}), (10**15, {}), (10**15, {"null": 0.5}), (10**15, GREATER)])
def test_a_page_of_very_many_trials_is_bounded(n, more):
    held, shown = pieces(significance.read(counts(n, 3 * int(n**0.5)), **more))
    assert held < 200e6
    assert sum(map(len, shown)) < 3e6


def test_the_page_says_where_the_score_test_stands_in():
    note = "Above 1,000,000,000 trials the score test replaces Fisher's test"
    assert note in significance_page.findings(significance.read(counts(10**9, 40_000))).text
    assert note not in significance_page.findings(significance.read(counts(10**8, 40_000))).text
    exact = "replaces the exact binomial test, from which it differs by less than 0.1%: A − null 0.5, B − null"
    assert exact in significance_page.findings(significance.read(counts(10**10, 40_000), null=0.5)).text


def test_the_picture_of_a_null_says_how_many_numbers_it_draws():
    caption = significance_page.null_distribution(significance.read(counts(10**8, 12_000), null=0.5)).caption
    assert "One outcome in " in caption
    assert (
        "One outcome in "
        not in significance_page.null_distribution(significance.read(counts(1000, 20), null=0.5)).caption
    )


def test_counts_that_doubles_cannot_hold_are_refused():
    table = pd.DataFrame({"successes": [1e20], "trials": [1e20]})
    with pytest.raises(InputError, match=r"must be whole .*1 ≤ trials < 2⁵³, got 1e.20 of 1e.20"):
        significance.read(table, null=0.5)
