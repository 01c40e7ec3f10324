"""The table of rank intervals and tiers of a page that compares systems on shared units."""

import math

from evalkit.drawing.tables import Html, count, of_rows, text, value
from evalkit.numbers import percent, plural
from evalkit.pages import pieces
from evalkit.studies.diagnostics import rank_tiers
from evalkit.studies.study import Study

pieces.listed(__name__)


def tiers(study: Study) -> Html:
    """The rank interval and the tier of each of three systems or more."""
    frame = rank_tiers(study)
    if not len(frame):
        return Html("")
    level, several = percent(study.settings.level), frame["tier"].max()
    ranks = frame["rank_low"].astype(str) + "–" + frame["rank_high"].astype(str)
    frame = frame.assign(rank=ranks.where(frame["rank_low"] != frame["rank_high"], frame["rank_low"].astype(str)))
    columns = {"system": text("system"), study.primary.label: value("value"), "rank": text("rank")}
    columns |= {
        "tier": count("tier", str),
        f"{plural(study.unit_name, 2)} to tell it from the next": count("needed", _count),
    }
    note = (
        f"Rank intervals contain all true ranks at once with probability {level} or more (step-down max-T, all pairs), "
        "a joint test that may separate other systems than the verdicts, which are by Holm correction. "
        "Systems of one tier do not differ significantly; those of neighbouring tiers need not either. The last column "
        "is for 80% power after Holm's first step over these pairs, as if the observed difference were the true one."
    )
    if study.settings.baseline:
        note += " All pairs are more tests than the comparisons with the baseline, so ranks separate fewer systems."
    caption = f"Ranks by {study.primary.label}: {len(frame)} systems in {several} tier{'s' if several > 1 else ''}"
    return of_rows(caption, frame, columns, note)


def _count(units: float) -> str:
    """A number of units to two digits; a dash for none.

    >>> _count(337_153.0), _count(22.0)
    ('340,000', '22')
    """
    return "–" if math.isnan(units) else f"{float(f'{units:.2g}'):,.0f}"
