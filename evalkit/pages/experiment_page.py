"""The words and tables of the interleaving page on the A/B table of users."""

from typing import Any

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, p_value, signed, signed_percent, with_interval
from evalkit.pages import online_findings, page, pieces
from evalkit.studies.experiment import Experiment
from evalkit.studies.online_diagnostics import users
from evalkit.studies.words import plural

pieces.listed(__name__)

NO_TABLE = "No A/B table of users was given: set users=FILE and metrics."
SAMPLE = " (bundled table: RAND health insurance experiment; a block of rows is about a person, better is more visits)"


def findings(s: Experiment | None) -> Html:
    """What to know of the table before the numbers."""
    return tables.paragraph(NO_TABLE) if s is None else tables.findings(online_findings.of_users(s))


def estimates(s: Experiment | None) -> Html:
    """The arms in rows, the metrics in columns."""
    if s is None:
        return Html("")
    n = users(s)
    return page.estimates(s, f"Arms with their {s.settings.level:.0%} intervals, {n:,} {plural(s.unit_name, n)}")


def comparisons(s: Experiment | None) -> Html:
    """The differences of the arms, then the lifts."""
    if s is None:
        return Html("")
    rows = [
        [
            Cell(f"{escape(row['first'])} / {escape(row['second'])} − 1"),
            Cell(escape(row["metric"]), "text"),
            Cell(with_interval(row["lift"], row["lift_low"], row["lift_high"], signed_percent)),
            Cell(signed(row["detectable"])),
        ]
        for row in s.comparisons.to_dict("records")
    ]
    caption = f"Lift with its {s.settings.level:.0%} interval"
    note = "Would show: the true difference that this table shows with 80 % power."
    lifts = tables.table(caption, ["lift", "metric", "value", "would show"], rows, note)
    return tables.stack([page.comparisons(s), lifts])


def adjustments(s: Experiment | None) -> Html:
    """The same difference with and without CUPED, strata and a cap."""
    if s is None:
        return tables.paragraph(NO_TABLE)
    if not len(s.adjustments) or s.plain is None:
        return tables.paragraph("No metric is a mean of one column: nothing to cap or to adjust.")
    rows = [
        [
            Cell(escape(row["way"])),
            Cell(escape(row["estimand"]), "text"),
            Cell(with_interval(row["difference"], row["low"], row["high"], signed)),
            Cell(p_value(row["p"])),
            Cell(f"{row['users']:.0%}"),
        ]
        for row in s.adjustments.to_dict("records")
    ]
    first, second = s.opponents
    caption = f"{first} − {second} in mean {s.plain.label}, {max(s.adjustments['n']):,} {plural(s.unit_name, 2)}"
    note = (
        "Users: the share of them that would do for an interval as wide as the first row's. CUPED and strata must stem "
        "from before the experiment. Only the verdict above decides; choosing the row after the fact is another test."
    )
    return tables.table(caption, ["measured", "estimand", "difference", "p", "users"], rows, note)


def users_for(s: Experiment | None) -> Html:
    """Users an arm for lifts, from this table's own spread."""
    if s is None or not len(s.users_for) or s.plain is None:
        return Html("")
    cuped = f"with CUPED on {s.options.before}" if s.options.before else ""
    heads = ["lift", "difference", "users an arm", *([cuped] if cuped else [])]
    rows = [
        [
            Cell(f"{row['lift']:.0%}"),
            Cell(signed(row["difference"])),
            *(Cell(f"{float(f'{row[name]:.3g}'):,.0f}") for name in (("raw", "cuped") if cuped else ("raw",))),
        ]
        for row in s.users_for.to_dict("records")
    ]
    caption = f"Users to show a lift in {s.plain.label} over {s.opponents[1]} with 80 % power, from this table's spread"
    return tables.table(caption, heads, rows)


def segments(s: Experiment | None) -> Html:
    """The first metric by segment."""
    if s is None or not len(s.by_segment):
        return Html("")
    return tables.stack([page.segments(s), tables.paragraph(f"n: {plural(s.unit_name, 2)} of the larger arm.")])


def definitions(s: Experiment) -> list[tuple[str, str]]:
    """The metrics shown, the tests, CUPED and the cap."""
    lift = (
        "first / second − 1; of means and ratios with Fieller's interval, of shares with that of both Wilson limits "
        "(MOVER): it holds 0 exactly when the interval of the difference does"
    )
    cuped = (
        "the difference less slope · the difference in a column from before the experiment; one slope within arms. "
        "Deng, Xu, Kohavi, Walker 2013, doi:10.1145/2433396.2433413"
    )
    crossed = "users seen in several arms are left out of all arms and counted"
    rest = [("test of the arms", s.tests_are), ("lift", lift), ("CUPED", cuped), ("users in both arms", crossed)]
    return [*page.metric_definitions(s), *rest]


def answers(s: Experiment) -> dict[str, Any]:
    """Every number of this part."""
    shares = {f"{top:g}": share for top, share in s.concentration.items()}
    return page.answers(s) | {
        "columns": dict(s.columns),
        "population": {"sizes": s.sizes, "crossed": s.assigned.crossed, "unit": s.unit_name},
        "sample_ratio": s.sample_ratio,
        "adjustments": s.adjustments.to_dict("records"),
        "caps": s.caps.to_dict("records"),
        "concentration": shares,
        "users_for": s.users_for.to_dict("records"),
        "looks": s.looks,
    }
