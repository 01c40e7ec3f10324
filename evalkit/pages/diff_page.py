"""The words, tables and figures of the page of a diff."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from evalkit.catalogue import lookup
from evalkit.drawing import figures, plots, tables
from evalkit.drawing.tables import (
    Cell,
    Column,
    Html,
    each,
    named,
    number_cell,
    of_rows,
    with_interval,
)
from evalkit.findings import kinds
from evalkit.numbers import (
    counted,
    decimals,
    estimate,
    listed,
    p_value,
    percent,
    plural,
    signed,
)
from evalkit.pages import as_json, explorer, first_screen, page, pieces, texts
from evalkit.pages.shared_findings import missing
from evalkit.parameters.kinds import written
from evalkit.report import Results
from evalkit.studies.diff import UNNAMED, Diff, date_of, shown

pieces.offered(__name__)

DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")  # SHA-256; the JSON has all of it


def title(study: Diff) -> Html:
    """The title and what was asked."""
    old, new = (shown(file) for file in (study.old, study.new))
    dates = [
        f"{shown(file)}: data of {date}"
        for file in (study.old, study.new)
        if (date := date_of(file))
    ]
    units = counted(study.account["common"].iloc[0], f"common {study.unit_name}")
    asked = (
        f"What changed between two {study.new.about['report']} reports, by {study.primary.label}, "
        f"on {units}?"
    )
    sample = [first_screen.SAMPLE] if study.p.sampled else []
    below = [*sample, *filter(None, [study.p.note]), *dates]
    return tables.heading(study.p.title or f"Diff: {new} against {old}", asked, *below)


def verdict(study: Diff) -> Html:
    """That nothing differs; or the answer, and the comparisons behind it."""
    if study.same:
        return tables.stack([*first_screen.gate(study), tables.answer(*_answer(study))])
    return first_screen.verdict(study, *_further(study), opening=_opening(study))


def _answer(study: Diff) -> list[str]:
    """The sentences of the first screen."""
    if study.same:
        units = plural(study.unit_name, 2)
        return [f"No difference: both reports have the same {units} with the same values."]
    return first_screen.answer(study, *_further(study), opening=_opening(study))


def _further(study: Diff) -> list[str]:
    """What stands behind the answer: the slice that changed most, and that the reports asked a
    one-sided question.
    """
    further = most_changed(study.primary.label, study.most_changed)
    if question := study.question_of_reports:
        change = first_screen.ONE_SIDED[question].change
        further.append(texts.sentence("diff.two_sided", change=change, question=question))
    return further


def _opening(study: Diff) -> first_screen.Opening:
    """That no unit is in both reports, and the largest significant loss unless the answer is that
    sentence.
    """
    units = plural(study.unit_name, 2)
    other = f"The reports have no {units} in common, so that other {units} may be the cause."
    sentences = [other] if study.apart else []
    row = study.largest_loss
    if row is None:
        return first_screen.Opening(sentences)
    decides = row["metric"] == study.primary.label
    if decides and len(study.headline) == 1:
        return first_screen.Opening(sentences)
    first = study.spoken(row["first"])
    second = study.spoken(row["second"])
    metric = first_screen.spoken(study, row["metric"])
    sentences.append(f"{first} is worse than {second} by {metric}.")
    return first_screen.Opening(sentences, row["first"] if decides else "")


def most_changed(label: str, row: Mapping[str, Any] | None) -> list[str]:
    """In which slice a metric changed most, of those that show a change; nothing where none
    does. label: of the metric.
    """
    if row is None:
        return []
    whose = "" if row["system"] == UNNAMED else f" of {row['system']}"
    by = estimate(row["difference"], row["difference_low"], row["difference_high"], signed)
    where = f"{lookup.title_of(label)}{whose} changed most in {row['segment']} {row['slice']}"
    return [f"{where}: {by}, adjusted p {p_value(row['adjusted'])}."]


def every_finding(study: Diff) -> list[kinds.Finding]:
    """Every finding of a diff."""
    return [
        *_causes(study),
        *_units(study),
        *missing(study.unlisted, study.unlisted_count),
        *_alone(study),
    ]


def _causes(study: Diff) -> Iterator[kinds.Finding]:
    """What the files prove of the cause: what differs in what made both reports."""
    differs = study.changes[~study.changes["same"]]
    rows = {kind: part.to_dict("records") for kind, part in differs.groupby("kind", sort=False)}
    causes = {kind: listed(map(_cause, some)) for kind, some in rows.items()}
    if not (study.old.about.get("inputs") and study.new.about.get("inputs")):
        yield kinds.CAUSE_UNKNOWN.note()
    elif not causes:
        yield kinds.ONLY_VERSIONS.note(0, "nothing")
    elif {*causes} == {"version"}:
        yield kinds.ONLY_VERSIONS.note(len(differs), "versions", names=causes["version"])
    else:
        words = "; ".join(f"{kind}s: {names}" for kind, names in causes.items())
        same = listed(
            f"{kind}s" for kind in study.changes["kind"].unique() if kind not in {*causes, "unit"}
        )
        severity = kinds.WARNING if {"definition", "unit"} & {*causes} else kinds.NOTE
        yield kinds.CAUSES.rated(severity, len(differs), causes=words, same=same or "nothing")
    if study.relabelled:
        yield kinds.RELABELLED.warning(study.relabelled, rows=counted(study.relabelled, "row"))


def _cause(row: Mapping[str, Any]) -> str:
    """What differs; of an input also both files."""
    old, new = (row[side].partition(", SHA-256")[0] for side in ("old", "new"))
    return f"{row['what']} ({old} → {new})" if row["kind"] == "input" else str(row["what"])


def _units(study: Diff) -> Iterator[kinds.Finding]:
    """How many units are common, left and came; that there are none, or that they have no names."""
    row = study.account.iloc[0]
    units = plural(study.unit_name, 2)
    if row["common"]:
        common, left, came = (int(row[name]) for name in ("common", "only_old", "only_new"))
        yield kinds.COMMON_UNITS.note(common, units=units, common=common, left=left, came=came)
    else:
        has_names = all(of.named for of in study.deciding.values())
        yield kinds.NO_COMMON_UNITS.warning(0, "apart" if has_names else "unnamed", units=units)


def _alone(study: Diff) -> Iterator[kinds.Finding]:
    """The systems and metrics that are not compared, and how systems are paired."""
    if not study.alone:
        return
    new, old = study.unpaired_new, study.unpaired_old
    places = dict.fromkeys(new, " (new report)") | dict.fromkeys(old, " (old report)")
    names = listed(f"{name}{places.get(name, '')}" for name in study.alone)
    pair = ""
    if new and old:
        pairs = {**study.p.pairs, new[0]: old[0]}
        pair = f" If {new[0]} was {old[0]}, set pairs='{written(pairs)}'."
    yield kinds.NOT_COMPARED.warning(len(study.alone), names=names, pair=pair)


def causes(study: Diff) -> Html:
    """The inputs of both reports, and what else differs in what made them."""
    frame = study.changes[~study.changes["same"] | (study.changes["kind"] == "input")]
    columns = named("kind | what w")
    columns |= {side: _facts(side) for side in ("old", "new")}
    columns[""] = each(lambda row: Cell("the same" if row["same"] else "differs", kind="text"))
    note = f"The other {study.others} facts (parameters, definitions, unit, versions) are the same."
    return tables.folded(
        "What made the two reports", of_rows("Inputs, and what differs", frame, columns, note)
    )


def _facts(side: str) -> Column:
    """What made one side, with the beginning of each SHA-256."""
    return each(lambda row: Cell(DIGEST.sub(r"\1…", row[side]), kind="text"))


def account(study: Diff) -> Html:
    """The change of each metric, as the exact sum of three terms."""
    return account_table(
        study.account, texts.sentence("diff.account_note", level=percent(study.settings.level))
    )


def account_table(frame: pd.DataFrame, note: str = "") -> Html:
    """The same of a frame, each metric with the decimals of its difference elsewhere."""
    rows = []
    for _, part in frame.groupby("metric", sort=False):
        places = _places(part)
        for row in part.to_dict("records"):
            values = [number_cell(row[name], places) for name in ("old", "new")]
            values.append(_with_limits(row, "change", "change_low", "change_high", places))
            values.append(_with_limits(row, "changed", "low", "high", places))
            values += [number_cell(row[name], places, signed) for name in ("left", "came")]
            words = [Cell(row[name], kind="text") for name in ("metric", "system")]
            verdict = Cell(row["verdict"], kind="text one")
            rows.append([*words, *values, _sizes(row), verdict])
    heads = [
        "metric",
        "system",
        "old",
        "new",
        "change",
        "= common units changed",
        "+ units left",
        "+ units came",
    ]
    caption = "Change = common units changed + units left + units came"
    return tables.table(caption, [*heads, "common / left / came", "verdict"], rows, note)


def _places(part: pd.DataFrame) -> int:
    """The decimals that the numbers of one metric ask for."""
    value = part["changed"].fillna(part["change"])
    low = part["low"].fillna(part["change_low"])
    high = part["high"].fillna(part["change_high"])
    width = decimals(value, low, high)
    if (part["low"] == part["high"]).all():
        width = max(width, decimals([*part["left"], *part["came"]]))
    return width


def _with_limits(row: Mapping[str, Any], name: str, low: str, high: str, places: int) -> Cell:
    """A number of the account, with its limits if they are known."""
    if pd.isna(row[low]):
        return number_cell(row[name], places, signed)
    return with_interval(row[name], row[low], row[high], signed, places)


def _sizes(row: Mapping[str, Any]) -> Cell:
    return Cell(" / ".join(f"{int(row[name]):,}" for name in ("common", "only_old", "only_new")))


@pieces.where(lambda study: len(study.segments))
def segments(study: Diff) -> Html:
    """The metric that decides in each slice; mix and within of a mean or ratio."""
    frame = study.segments
    additive = frame["mix"].notna().any()
    columns: dict[str, Column] = {"slice": each(lambda row: f"{row['segment']} {row['slice']}")}
    columns |= named("system w | old # | new #")
    columns["difference on common units"] = tables.limits(
        "difference", "difference_low", "difference_high", signed
    )
    columns |= named("p p | adjusted p=adjusted p" + (" | mix ± | within ±" if additive else ""))
    columns["common / left / came"] = each(_sizes)
    note = (
        texts.sentence("diff.segments_note")
        if additive
        else texts.sentence("diff.segments_not_additive", study)
    )
    return of_rows(f"{study.primary.label} by segment", frame, columns, note)


def moved(study: Diff) -> Html:
    """The common units that moved most."""
    if not len(frame := study.moved):
        if study.apart:
            return tables.paragraph(f"No {study.unit_name} is in both reports.")
        return tables.paragraph(
            f"No common {study.unit_name} has another {study.primary.label} in the new report."
        )
    beside = {name: frame[name].tolist() for name in study.new.segments}
    items = [f"items that {name}={name} w" for name in ("entered", "left") if name in frame]
    heads = named(" | ".join(["system w | old # | new # | difference ±", *items]))
    side = "value" if next(iter(study.deciding.values())).old.termed else "score"
    words = {
        "old": f"old {side}",
        "new": f"new {side}",
        "difference": f"effect on {study.primary.label}",
    }
    words = {} if study.averaged else words
    columns = {
        words.get(head, head): cells(frame.to_dict("records")) for head, cells in heads.items()
    }
    note = texts.sentence("diff.moved_mean" if study.averaged else "diff.moved_other", study)
    which = f"The {counted(len(frame), study.unit_name)} that moved most"
    of = study.primary.label
    units = frame["unit"]
    rows = explorer.Explored(which, of, study.unit_name, units.tolist(), beside, columns, (), note)
    return explorer.listing(rows)


@pieces.where(lambda study: len(study.series))
def series(study: Diff) -> figures.Figure | Html:
    """The metric that decides along the reports, with intervals."""
    frame = study.series
    frame = frame.assign(
        name=frame["date"].where(frame["date"] != "", frame["report"]) + " " + frame["system"]
    )
    caption = texts.sentence("diff.series", study, level=percent(study.settings.level))
    return figures.picture(
        plots.intervals,
        frame,
        caption=caption,
        says=page.listed(frame),
        label=study.primary.label,
        zero=False,
        height=figures.tall(len(frame)),
    )


def definitions(study: Diff) -> Html:
    """The metrics, the terms of the account and the tests."""
    return tables.definitions([*page.metric_definitions(study), *texts.meanings("diff")])


findings, origin = page.findings, page.origin


def results(study: Diff) -> Results:
    """Every number of the page, unrounded."""
    more: dict[str, Any] = {
        "answer": _answer(study),
        "most_changed": study.most_changed,
        "compared": study.new.about["report"],
        "same": study.same,
        "not_compared": study.alone,
    }
    more["dates"] = [date_of(file) for file in (study.old, study.new)]
    frames = as_json.records(
        account=study.account, by_segment=study.segments, moved=study.moved, series=study.series
    )
    return as_json.results(
        study, every_finding(study), more | frames | as_json.records(changes=study.changes)
    )


SUMMARY = (verdict, account, page.comparisons)
PIECES = (
    *(title, verdict, findings, causes, account, page.differences, page.comparisons, segments),
    *(moved, series, definitions, origin),
)
