"""The table of rank intervals and tiers of a page that compares systems on shared units."""

from evalkit.drawing.tables import Html, of_rows, text, value
from evalkit.numbers import percent
from evalkit.pages import pieces
from evalkit.studies.rank_tiers import rank_tiers
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
    note = (
        f"All true ranks lie within these ranges together with probability {level} (step-down max-T, all pairs). No "
        f"two systems of one tier differ significantly; systems of neighbouring tiers need not either."
    )
    caption = f"Ranks by {study.primary.label}: {len(frame)} systems in {several} tier{'s' if several > 1 else ''}"
    return of_rows(caption, frame, columns | {"tier": text("tier")}, note)
