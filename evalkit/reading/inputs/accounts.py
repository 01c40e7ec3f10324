"""What became of the rows of ranked lists."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Account:
    """What became of one system's rows, and of the queries: everything that the page must own up to.

    rows = used + unjudged_query. missing: judged queries without a row. extra: queries of the run without judgements.
    tied: used rows with the score of the row before. unjudged: used rows without a judgement. late: lists whose first
    rank is above 1. gaps: lists with a rank that no row has, behind the first.
    """

    rows: int
    used: int
    unjudged_query: int
    missing: int
    extra: int
    tied: int
    unjudged: int
    late: int = 0
    gaps: int = 0
