"""The tables of the significance page for evaluations: repeated draws, tasks, and what logs say of themselves."""

from collections.abc import Iterator

import pandas as pd

from evalkit.drawing.tables import Cell, Html, each, named, of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import listed, p_value, plural
from evalkit.pages import first_screen, page
from evalkit.pages.page import also
from evalkit.parameters.reports import SUCH, THESE
from evalkit.studies import evaluation
from evalkit.studies.diagnostics import alpha
from evalkit.studies.paired import Significance
from evalkit.studies.significance import Shares

page.offered(__name__)


@also(Shares, first_screen.verdict)
def verdict(study: Significance) -> Html:
    """The first screen; where several claims are possible, which one is made, and how sure it is."""
    made = [row["claim"] for row in evaluation.claims(study).to_dict("records") if row["made"]]
    p = f" (adjusted p {p_value(study.headline.iloc[0]['adjusted'])})" if len(study.headline) == 1 else ""
    return first_screen.verdict(study, *(page.said("evaluation.made", claim=_noun(study, name), p=p) for name in made))


def _noun(study: Significance, claim: str) -> str:
    """A claim, or a sentence of several, about what the input calls its questions."""
    return claim.replace("questions", plural(evaluation.question(study), 2))


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


@also(Shares, page.nothing)
def claims(study: Significance) -> Html:
    """What the claim covers, and what the other ones would give."""
    if not len(frame := evaluation.claims(study)):
        return Html("")
    questions, several = plural(evaluation.question(study), 2), study.data.tasks is not None
    mark = {True: " (this page)", False: ""}
    columns = {"claim": each(lambda row: Cell(_noun(study, row["claim"]) + mark[row["made"]]))}
    columns |= named("mean w") if several else {}
    columns |= named("value [_] | its standard error=value_error #")
    meant = {THESE: "only their draws vary", SUCH: "a new sample of them"}
    whole = "a new sample of these, each with its questions"
    every = [f"{covers.capitalize()}: {meant.get(covers, whole)}." for covers in evaluation.coverage(study)]
    every += ["Pooled: the mean over all; macro: the mean of the means of tasks."] if several else []
    note = page.said("evaluation.claims_note", every=_noun(study, " ".join(every)))
    if len(study.headline):
        columns |= named("difference [_] | standard error=difference_error # | p p")
    if len(study.pairs) > 1:
        columns["pairs that differ"] = each(lambda row: Cell(f"{row['apart']:,} of {row['pairs']:,}"))
        columns |= named("unpaired n")
        note += page.said("evaluation.pairs_note", questions=questions, alpha=alpha(study))
    of = f"{study.leader}, and {' − '.join(study.opponents)}" if len(study.headline) else study.leader
    return of_rows(page.said("evaluation.claims", study, of=of), frame, columns, note)


@also(Shares, page.nothing)
def logged(study: Significance) -> Html:
    """What the logs state, beside what their rows give, where the two differ."""
    if not len(frame := _differing(study)):
        return Html("")
    columns = (
        "system w | task w | metric w | the log's mean=stated # | mean of its rows=mean # | "
        "the log's standard error=stated_error # | of its rows=error # | why w"
    )
    return of_rows(page.said("evaluation.logged"), frame, columns, page.said("evaluation.logged_note"))


def _differing(study: Significance) -> pd.DataFrame:
    frame = evaluation.logged(study)
    return frame[frame["why"] != ""] if len(frame) else frame


def findings(study: Significance) -> Iterator[Finding]:
    """Whether the logs' own numbers are those of their rows, and which logs hold fewer rows than they count."""
    frame, differing = evaluation.logged(study), _differing(study)
    if not len(frame):
        return
    if n := len(differing):
        verb = "differs" if n == 1 else "differ"
        yield kinds.NUMBERS_OF_LOGS.warning(n, "differ", n=n, verb=verb, of=len(frame))
    else:
        yield kinds.NUMBERS_OF_LOGS.note(len(frame), "same", of=len(frame))
    short = frame[frame["stated_questions"] > frame["questions"]].drop_duplicates(["system", "task"])
    rows = [
        f"{r['system']} on {r['task']}: {r['questions']:,} of {r['stated_questions']:,}"
        for r in short.to_dict("records")
    ]
    if rows:
        yield kinds.SHORT_LOGS.warning(len(rows), what=listed(rows))
