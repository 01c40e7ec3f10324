"""The words, tables and figures of the page of a diff."""

import re
from collections.abc import Iterator

import pandas as pd

from evalkit.arrays import Record
from evalkit.catalogue import lookup
from evalkit.drawing import figures, paragraphs, plots, tables
from evalkit.drawing.cells import Cell, interval_cell, number_cell
from evalkit.drawing.columns import (
    Column,
    column_by_row,
    p_column,
    prefixed_interval_column,
    text,
    value,
    words as left_aligned,
)
from evalkit.drawing.paragraphs import heading, muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.numbers import (
    count_with_noun,
    decimals,
    estimate,
    listed,
    p_value,
    percent,
    plural,
    signed_number,
)
from evalkit.pages import as_json, explorer, first_screen, page, pieces, texts
from evalkit.pages.shared_findings import missing
from evalkit.parameters.kinds import written
from evalkit.report import Results
from evalkit.studies.diff import UNNAMED, Diff, data_collection_date, short_file_path

pieces.offer_pieces(__name__)

SIZES = "common / left / came"  # the head of a column
DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")  # SHA-256; the JSON has all of it


def title(study: Diff) -> Html:
    """The title and what was asked."""
    units = count_with_noun(study.account["common"].iloc[0], f"common {study.unit_name}")
    report = study.new.file_metadata["report"]
    metric = study.primary_metric.label
    question = f"What changed between two {report} reports, by {metric}, on {units}?"
    notices = []
    if study.p.reads_sample:
        notices.append(first_screen.SAMPLE)
    if study.p.note:
        notices.append(study.p.note)
    for file in (study.old, study.new):
        date = data_collection_date(file)
        if date:
            notices.append(f"{short_file_path(file)}: data of {date}")
    default_title = f"Diff: {short_file_path(study.new)} against {short_file_path(study.old)}"
    return heading(study.p.title or default_title, question, *notices)


def verdict(study: Diff) -> Html:
    """That nothing differs; or the answer, and the comparisons behind it."""
    if study.are_equal:
        parts = first_screen.gate(study)
        parts.append(paragraphs.answer(*_answer(study)))
        return stack(parts)
    return first_screen.verdict(study, _further(study), _opening(study))


def _answer(study: Diff) -> list[str]:
    """The sentences of the first screen."""
    if study.are_equal:
        units = plural(study.unit_name, 2)
        return [f"No difference: both reports have the same {units} with the same values."]
    return first_screen.answer(study, _further(study), _opening(study))


def _further(study: Diff) -> list[str]:
    """The sentences behind the answer: the slice that changed most, and that the reports asked a
    one-sided question, if they did.
    """
    further = most_changed(study.primary_metric.label, study.most_changed)
    if question := study.question_of_reports:
        change = first_screen.ONE_SIDED[question].change
        further.append(texts.sentence("diff.two_sided", change=change, question=question))
    return further


def _opening(study: Diff) -> first_screen.Opening:
    """The sentences before the answer: a warning if no unit is in both reports; and which system of
    the new report has the largest significant loss against the old one, unless the answer, which is
    about the primary metric, says it.
    """
    sentences = []
    if study.has_no_common_unit:
        units = plural(study.unit_name, 2)
        sentences.append(
            f"The reports have no {units} in common, so that other {units} may be the cause."
        )
    loss = study.largest_loss  # a row of `study.comparisons`; None if nothing is worse
    if loss is None:
        return first_screen.Opening(sentences)
    is_primary = loss["metric"] == study.primary_metric.label
    if is_primary and len(study.headline) == 1:  # the answer is about this one comparison
        return first_screen.Opening(sentences)
    new_side = study.spoken(loss["first"])  # as a sentence names it
    old_side = study.spoken(loss["second"])
    metric = first_screen.spoken(study, loss["metric"])
    sentences.append(f"{new_side} is worse than {old_side} by {metric}.")
    # of several comparisons by the primary metric, the answer need not repeat this one
    system = loss["first"] if is_primary else ""
    return first_screen.Opening(sentences, system)


def most_changed(label: str, row: Record | None) -> list[str]:
    """A sentence on the slice in which a metric changed most; none without a significant change.

    label: of the metric. row: the slice's row of `Diff.segments`, None without such a slice.
    """
    if row is None:
        return []
    whose = "" if row["system"] == UNNAMED else f" of {row['system']}"
    slice_name = f"{row['segment']} {row['slice']}"
    change = estimate(
        row["difference"], row["difference_low"], row["difference_high"], signed_number
    )
    claim = f"{lookup.title_of(label)}{whose} changed most in {slice_name}"
    return [f"{claim}: {change}, adjusted p {p_value(row['adjusted'])}."]


def every_finding(study: Diff) -> Iterator[kinds.Finding]:
    """Every finding of a diff: what differs between the files, then what is compared."""
    yield from _causes(study)
    yield from _units(study)
    yield from missing(study.unlisted, study.unlisted_count)
    yield from _alone(study)


def _causes(study: Diff) -> Iterator[kinds.Finding]:
    """What may have caused the change, by what the two reports were made from: which inputs,
    parameters, definitions, units or versions differ; and a warning if rows have other actual
    values in the new report.
    """
    differing = study.changes[~study.changes["same"]]  # a row for each fact
    causes = {}  # by the kind of fact, such as "input", the names of those that differ
    for kind, facts in differing.groupby("kind", sort=False):
        causes[kind] = listed(map(_cause, facts.to_dict("records")))
    if not (study.old.file_metadata.get("inputs") and study.new.file_metadata.get("inputs")):
        yield kinds.CAUSE_UNKNOWN.note()  # the reports do not name their input files
    elif not causes:
        yield kinds.ONLY_VERSIONS.note(0, "nothing")
    elif list(causes) == ["version"]:
        yield kinds.ONLY_VERSIONS.note(len(differing), "versions", names=causes["version"])
    else:
        words = "; ".join(f"{kind}s: {names}" for kind, names in causes.items())
        equal_kinds = []
        for kind in study.changes["kind"].unique():
            if kind not in causes and kind != "unit":  # an equal unit goes without saying
                equal_kinds.append(f"{kind}s")
        # the old and the new values are then not of the same quantity
        changes_meaning = "definition" in causes or "unit" in causes
        severity = kinds.WARNING if changes_meaning else kinds.NOTE
        yield kinds.CAUSES.finding_with_severity(
            severity, len(differing), causes=words, same=listed(equal_kinds) or "nothing"
        )
    if study.relabelled:
        yield kinds.RELABELLED.warning(
            study.relabelled, rows=count_with_noun(study.relabelled, "row")
        )


def _cause(row: Record) -> str:
    """The name of what differs; of an input also both files. row: of `study.changes`."""
    name = str(row["what"])
    if row["kind"] != "input":
        return name
    # an input is "NAME, N rows, SHA-256 DIGEST"
    old_file = row["old"].partition(", SHA-256")[0]
    new_file = row["new"].partition(", SHA-256")[0]
    return f"{name} ({old_file} → {new_file})"


def _units(study: Diff) -> Iterator[kinds.Finding]:
    """How many units are in both reports, in the old one alone (left) and in the new one alone
    (came); a warning if none is in both, or if units have no names by which they could be matched.
    """
    row = study.account.iloc[0]  # the units of the first metric and system stand for all
    units = plural(study.unit_name, 2)
    if row["common"]:
        yield kinds.COMMON_UNITS.note(
            int(row["common"]),
            units=units,
            common=int(row["common"]),
            left=int(row["only_old"]),
            came=int(row["only_new"]),
        )
    elif all(values.named for values in study.deciding.values()):
        yield kinds.NO_COMMON_UNITS.warning(0, "apart", units=units)
    else:
        yield kinds.NO_COMMON_UNITS.warning(0, "unnamed", units=units)


def _alone(study: Diff) -> Iterator[kinds.Finding]:
    """A warning for the metrics and systems that only one of the reports has, which are therefore
    not compared. If each has such a system, the two may be one that was renamed: the warning then
    says which parameter would compare them.
    """
    if not study.not_compared:
        return
    new_systems = study.unpaired_new
    old_systems = study.unpaired_old
    remarks = dict.fromkeys(new_systems, " (new report)")  # behind the names of systems
    remarks |= dict.fromkeys(old_systems, " (old report)")
    names = [f"{name}{remarks.get(name, '')}" for name in study.not_compared]
    advice = ""
    if new_systems and old_systems:
        new = new_systems[0]
        old = old_systems[0]
        pairs = {**study.p.pairs, new: old}  # the parameter as it is, and this pair
        advice = f" If {new} was {old}, set pairs='{written(pairs)}'."
    yield kinds.NOT_COMPARED.warning(len(study.not_compared), names=listed(names), pair=advice)


def causes(study: Diff) -> Html:
    """A fold with a table of the inputs of both reports, equal or not, and of the other facts that
    differ: parameters, definitions, the unit, versions.
    """
    frame = study.changes[~study.changes["same"] | (study.changes["kind"] == "input")]
    columns = {
        "kind": text("kind"),
        "what": left_aligned("what"),
        "old": _facts("old"),
        "new": _facts("new"),
        "": column_by_row(_comparison),  # "the same" or "differs"
    }
    n_equal = study.n_equal_facts
    note = f"The other {n_equal} facts (parameters, definitions, unit, versions) are the same."
    return folded(
        "What made the two reports", of_rows("Inputs, and what differs", frame, columns, note)
    )


def _facts(report: str) -> Column:
    """The column of the facts about one of the reports, such as a file or the value of a parameter;
    of each SHA-256 it has the beginning. report: "old" or "new".
    """

    def fact(row: Record) -> Cell:
        return Cell(DIGEST.sub(r"\1…", row[report]), kind="text")

    return column_by_row(fact)


def _comparison(row: Record) -> Cell:
    """Whether both reports were made of the same."""
    comparison = "the same" if row["same"] else "differs"
    return Cell(comparison, kind="text")


def account(study: Diff) -> Html:
    """The change of each metric, as the exact sum of three terms."""
    return account_table(
        study.account, texts.sentence("diff.account_note", level=percent(study.settings.level))
    )


def account_table(frame: pd.DataFrame, note: str = "") -> Html:
    """The account of a diff, a row per metric and system: the change as the sum of what changed on
    the common units, what the units that left took away, and what those that came added.

    frame: `Diff.account`. Each metric has the decimals that its difference has elsewhere.
    """
    rows = []
    for _, metric_rows in frame.groupby("metric", sort=False):
        places = _places(metric_rows)
        for row in metric_rows.to_dict("records"):
            cells = {
                "metric": Cell(row["metric"], kind="text"),
                "system": Cell(row["system"], kind="text"),
                "old": number_cell(row["old"], places),
                "new": number_cell(row["new"], places),
                "change": _with_limits(row, "change", "change_low", "change_high", places),
                "= common units changed": _with_limits(row, "changed", "low", "high", places),
                "+ units left": number_cell(row["left"], places, signed_number),
                "+ units came": number_cell(row["came"], places, signed_number),
                SIZES: _sizes(row),
                "verdict": Cell(row["verdict"], kind="text one"),
            }
            rows.append(cells)
    caption = "Change = common units changed + units left + units came"
    return tables.table(caption, list(rows[0]), [list(cells.values()) for cells in rows], note)


def _places(rows: pd.DataFrame) -> int:
    """The decimals that the numbers of a metric deserve by the width of its intervals.

    rows: of the metric in `Diff.account`: the change and its terms (changed on common units, left,
    came) for each system; low and high are the limits of changed.
    """
    # without common units only the change as a whole has an interval
    value = rows["changed"].fillna(rows["change"])
    low = rows["low"].fillna(rows["change_low"])
    high = rows["high"].fillna(rows["change_high"])
    places = decimals(value, low, high)
    # if no common unit changed, intervals have no width: the other two terms need decimals too
    if (rows["low"] == rows["high"]).all():
        places = max(places, decimals(pd.concat([rows["left"], rows["came"]])))
    return places


def _with_limits(row: Record, name: str, low: str, high: str, places: int) -> Cell:
    """A number of the account, with its limits if they are known. name, low, high: the names of its
    columns and of those of the limits.
    """
    if pd.isna(row[low]):
        return number_cell(row[name], places, signed_number)
    return interval_cell(row[name], row[low], row[high], signed_number, places)


def _sizes(row: Record) -> Cell:
    """How many units are in both reports, in the old one alone, and in the new one alone."""
    sizes = [f"{int(row[name]):,}" for name in ("common", "only_old", "only_new")]
    return Cell(" / ".join(sizes))


@pieces.where(lambda study: len(study.segments))
def segments(study: Diff) -> Html:
    """A table of the primary metric of each system in each slice, in both reports. If the metric is
    a mean or ratio, slices add up: then it has what each slice adds to the change of the metric
    over all units, by its share of the units (mix) and by its own value (within).
    """
    frame = study.segments  # a row for each slice and system
    columns: dict[str, Column] = {
        "slice": column_by_row(lambda row: f"{row['segment']} {row['slice']}"),
        "system": left_aligned("system"),
        "old": value("old"),
        "new": value("new"),
        "difference on common units": prefixed_interval_column("difference", signed_number),
        "p": p_column("p"),
        "adjusted p": p_column("adjusted"),
    }
    note = texts.sentence("diff.segments_not_additive", study)
    is_additive = frame["mix"].notna().any()  # NaN for other metrics
    if is_additive:
        columns |= {"mix": value("mix", signed_number), "within": value("within", signed_number)}
        note = texts.sentence("diff.segments_note")
    columns[SIZES] = column_by_row(_sizes)  # the numbers of units
    return of_rows(f"{study.primary_metric.label} by segment", frame, columns, note)


def moved(study: Diff) -> Html:
    """A list of the common units that changed the primary metric most, with their values in both
    reports; of ranked lists also the items that entered and left their first ranks.
    """
    frame = study.moved  # a row for each unit and system
    if frame.empty and study.has_no_common_unit:
        return muted_paragraph(f"No {study.unit_name} is in both reports.")
    if frame.empty:
        metric = study.primary_metric.label
        return muted_paragraph(
            f"No common {study.unit_name} has another {metric} in the new report."
        )
    columns: dict[str, Column] = {"system": left_aligned("system")}
    if study.averaged:  # the metric is a mean of values of units
        columns |= {
            "old": value("old"),
            "new": value("new"),
            "difference": value("difference", signed_number),
        }
        note = texts.sentence("diff.moved_mean", study)
    else:  # the difference is the effect of the unit on the metric
        any_system = next(iter(study.deciding.values()))  # units of all have the same kind of value
        noun = "value" if any_system.has_terms else "score"
        columns |= {
            f"old {noun}": value("old"),
            f"new {noun}": value("new"),
            f"effect on {study.primary_metric.label}": value("difference", signed_number),
        }
        note = texts.sentence("diff.moved_other", study)
    for name in ("entered", "left"):
        if name in frame:  # of ranked lists
            columns[f"items that {name}"] = left_aligned(name)
    records = frame.to_dict("records")
    listing = explorer.UnitListing(
        f"The {count_with_noun(len(frame), study.unit_name)} that moved most",
        systems=study.primary_metric.label,
        unit=study.unit_name,
        names=frame["unit"].tolist(),
        attributes={name: frame[name].tolist() for name in study.new.segments},
        columns={head: cells(records) for head, cells in columns.items()},
        note=note,
    )
    return explorer.listing(listing)


@pieces.where(lambda study: len(study.series))
def series(study: Diff) -> figures.Figure | Html:
    """The primary metric of each system in each of three or more reports, with its interval."""
    frame = study.series
    # a report without the date of its data is named by its file
    dates = frame["date"].where(frame["date"] != "", frame["report"])
    frame = frame.assign(name=dates + " " + frame["system"])
    caption = texts.sentence("diff.series", study, level=percent(study.settings.level))
    return figures.figure_drawn_by(
        plots.intervals,
        frame,
        caption=caption,
        says=page.differences_in_words(frame),
        label=study.primary_metric.label,
        zero=False,
        height=figures.figure_height(len(frame)),
    )


def definitions(study: Diff) -> Html:
    """The metrics, the terms of the account and the tests."""
    return paragraphs.definitions(page.metric_definitions(study) + texts.meanings("diff"))


findings, origin = page.findings, page.origin


def results(study: Diff) -> Results:
    """Every number of the page, unrounded, for the JSON: frames are lists of their rows."""
    fields: dict[str, object] = {
        "answer": _answer(study),
        "most_changed": study.most_changed,  # the slice with the largest significant change
        # the kind of both reports, such as "ranking"
        "compared": study.new.file_metadata["report"],
        "same": study.are_equal,
        "not_compared": study.not_compared,  # metrics and systems that one report lacks
        # when the data were collected
        "dates": [data_collection_date(study.old), data_collection_date(study.new)],
    }
    fields |= as_json.frames_as_records(
        account=study.account,  # each change as the sum of its terms
        by_segment=study.segments,
        moved=study.moved,  # the units that changed most
        series=study.series,  # the primary metric in each of several reports
        changes=study.changes,  # what the reports were made from
    )
    return as_json.results(study, every_finding(study), fields)


SUMMARY = (verdict, account, page.comparisons)
PIECES = (
    title,
    verdict,
    findings,
    causes,
    account,
    page.differences,
    page.comparisons,
    segments,
    moved,
    series,
    definitions,
    origin,
)
