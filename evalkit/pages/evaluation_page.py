"""The tables of the significance page for evaluations: repeated draws, tasks, and what logs say of themselves."""

from evalkit.drawing.tables import Html, of_rows
from evalkit.numbers import plural
from evalkit.pages import page
from evalkit.pages.page import also
from evalkit.studies import evaluation
from evalkit.studies.paired import Significance
from evalkit.studies.significance import Shares

page.offered(__name__)


@also(Shares, page.nothing)
def draws(study: Significance) -> Html:
    """What varies between units and within them, and what more of both would buy."""
    if not len(frame := evaluation.variation(study)):
        return Html("")
    units = plural(evaluation.question(study), 2)
    many = "" if study.unit is None else f" Errors are clustered by {study.unit_name}."
    caption = page.said("evaluation.draws", metric=evaluation.drawn(study), units=units)
    columns = (
        f"system=what w | {units}=units n | draws # | between # | within # | standard error=error # | "
        f"twice the {units}=twice_units # | twice the draws=twice_draws # | endless draws=endless_draws #"
    )
    return of_rows(caption, frame, columns, page.said("evaluation.draws_note", units=units, many=many))
