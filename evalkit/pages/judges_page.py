"""What the significance page says of outputs that a judge scored and an oracle, such as people,
labelled in part: what the labels correct, how far the judge agrees with the oracle, its bias, and
how many labels would be needed.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd

from evalkit.arrays import Record
from evalkit.drawing import paragraphs
from evalkit.drawing.cells import Cell
from evalkit.drawing.columns import by_row, count, named, prefixed_limits
from evalkit.drawing.pieces import Html, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import (
    counted,
    interval,
    listed,
    number,
    p_value,
    plural,
    signed,
)
from evalkit.pages import first_screen, page, texts
from evalkit.studies.diagnostics import alpha
from evalkit.studies.judges import JudgedOutputs

COEFFICIENTS = {  # of agreement, by their names in `study.agreement`: the heads of their columns
    "agreement": "agreement",
    "kappa": "Cohen's κ",
    "ac1": "Gwet's AC1",
    "alpha": "Krippendorff's α",
    "weighted_kappa": "weighted κ",
    "alpha_interval": "α of numbers",
}
NAMED = 3  # pairs that a finding names
FEWEST = 5  # labels of the rarer kind with which intervals keep their level


def verdict(study: JudgedOutputs) -> Html:
    """The first screen; below its answer that the numbers are the oracle's, not the judge's, and
    how many labels would make the interval of the headline's difference narrower.
    """
    corrected = texts.sentence(
        "judges.corrected", oracle=study.oracle, labels=_labelled_units(study)
    )
    sentences = [corrected]
    pair = " − ".join(study.opponents) if len(study.headline) else ""
    for row in study.labels_needed.to_dict("records"):
        # NaN, if the labels of all units are too few, is not enough either
        has_enough = row["needed"] <= row["labels"]
        if row["what"] == pair and not has_enough:
            sentences.append(_further_labels(study, row))
    return first_screen.verdict(study, sentences)


def _further_labels(study: JudgedOutputs, row: Record) -> str:
    """How many labels would give an interval of the wished width, in a sentence. row: of
    `study.labels_needed`, whose `needed` is NaN if the labels of all units are too few.
    """
    units = plural(study.unit_name, 2)
    labels = f"{row['needed']:,.0f} labels of randomly chosen {units}, the same for both systems"
    if math.isnan(row["needed"]):
        labels = f"more than labels of all {row['units']:,} {units}"
    return texts.sentence(
        "judges.more",
        what=row["what"],
        width=row["width"],
        width_now=row["width_now"],
        labels=labels,
    )


def _labelled_units(study: JudgedOutputs) -> str:
    """How many units of each system have labels, of how many: "80 to 100 of 400 items per
    system".
    """
    frame = study.corrections
    fewest = f"{frame['labels'].min():,}"
    most_labels = f"{frame['labels'].max():,}"
    labels = fewest if fewest == most_labels else f"{fewest} to {most_labels}"
    units = counted(int(frame["units"].max()), study.unit_name)
    return f"{labels} of {units} per system"


def judge(study: JudgedOutputs) -> Html:
    """The tables of the judge: the corrected means, the labels needed, its bias, and its agreement
    with the oracle.
    """
    return stack([_corrections(study), _needed(study), _bias(study), _agreement(study)])


def _corrections(study: JudgedOutputs) -> Html:
    """A row per system: the mean by the judge, by the labels alone, and by both."""
    caption = texts.sentence("judges.corrections", study, oracle=study.oracle)
    columns = named(
        "system w | labels n | of=units n | judge's mean=judge # | labels alone=alone [_] | "
        "corrected=value [] | weight λ=weight # | worth labels=worth n",
        n=partial(count, show="{:,.0f}".format),
    )
    note = texts.sentence("judges.corrections_note", units=plural(study.unit_name, 2))
    return of_rows(caption, study.corrections, columns, note)


def _needed(study: JudgedOutputs) -> Html:
    """A row per estimate: the labels that would give its interval the wished width, with the judge
    and without it.
    """
    all_units = int(study.corrections["units"].max())

    def labels(row: Record, column: str) -> Cell:
        """The number of labels in a column, which is NaN if the labels of all units are too few."""
        if math.isnan(row[column]):
            return Cell(f"more than all {all_units:,}")
        return Cell(f"{row[column]:,.0f}", numbers=(row[column],))

    columns = named("what w | labels n | width now=width_now # | wished width=width #")
    columns["labels needed"] = by_row(partial(labels, column="needed"))
    columns["without the judge"] = by_row(partial(labels, column="alone"))
    caption = texts.sentence("judges.needed", study)
    return of_rows(caption, study.labels_needed, columns, texts.sentence("judges.needed_note"))


def _bias(study: JudgedOutputs) -> Html:
    """How far the judge lies above the oracle: a row per system, then one per band of scores."""
    columns = {"labelled": by_row(_labelled_outputs)} | named("labels n | judge # | oracle #")
    columns["judge − oracle"] = prefixed_limits("bias", signed)
    caption = texts.sentence("judges.bias", study, oracle=study.oracle)
    note = texts.sentence("judges.bias_note")
    return of_rows(caption, study.judge_bias, columns, note)


def _labelled_outputs(row: Record) -> Cell:
    """The head of a row of `study.judge_bias`: the system, or the band of the judge's scores."""
    if math.isnan(row["score_low"]):
        return Cell(row["system"])
    low = number(row["score_low"])
    high = number(row["score_high"])
    if low == high:
        return Cell(f"score {low}")
    return Cell(f"score {low} to {high}")


def _agreement(study: JudgedOutputs) -> Html:
    """A row per system, a column per coefficient of agreement."""
    frame = study.agreement
    coefficients = list(dict.fromkeys(frame["coefficient"]))
    columns = named("system w | n n")
    for name in coefficients:
        columns[COEFFICIENTS[name]] = prefixed_limits(name)
    note = texts.sentence("judges.agreement_note", cut=_cut_note(study, coefficients))
    caption = texts.sentence("judges.agreement", oracle=study.oracle)
    return of_rows(caption, _coefficients_by_system(study), columns, note)


def _coefficients_by_system(study: JudgedOutputs) -> pd.DataFrame:
    """The agreement in a row per system, in the order of the study: system, n, and of each
    coefficient NAME, NAME_low, NAME_high.
    """
    by_system = study.agreement.groupby("system")
    wide = pd.DataFrame({"n": by_system["n"].first()}).loc[study.order]
    for name, rows in study.agreement.groupby("coefficient", sort=False):
        estimates = rows.set_index("system")
        wide[name] = estimates["value"]
        wide[f"{name}_low"] = estimates["low"]
        wide[f"{name}_high"] = estimates["high"]
    return wide.rename_axis("system").reset_index()


def _cut_note(study: JudgedOutputs, coefficients: Sequence[str]) -> str:
    """From where on scores and labels count as 1, or that a cut would allow further coefficients;
    "" if neither needs to be said.
    """
    if not math.isnan(study.cut):
        return texts.sentence("judges.cut", study)
    if "kappa" not in coefficients:
        return texts.sentence("judges.no_cut")
    return ""


def title(study: JudgedOutputs) -> Html:
    """The title and what was asked."""
    units = counted(int(study.corrections["units"].max()), study.unit_name)
    question = texts.sentence(
        "judges.asked", systems=listed(study.systems), oracle=study.oracle, units=units
    )
    return first_screen.heading("Significance report", question, study)


def findings(study: JudgedOutputs) -> Iterator[Finding]:
    """What a judge's values assume, and where they mislead."""
    yield kinds.JUDGED_VALUES.note(
        study.label_count,
        "labels",
        labels=_labelled_units(study),
        oracle=study.oracle,
        units=plural(study.unit_name, 2),
    )
    yield from _rare_labels(study)
    yield from _favoured_systems(study)
    yield from _unlike_labels(study)


def _rare_labels(study: JudgedOutputs) -> Iterator[Finding]:
    """The systems that have fewer than `FEWEST` labels of one of two kinds, if there are any."""
    systems = []
    for name in study.order:
        judged = study.measure(study.primary, name)
        if judged.has_binary_labels and judged.rarer_labels < FEWEST:
            systems.append(name)
    if systems:
        yield kinds.JUDGED_VALUES.warning(
            len(systems), "rare", fewest=FEWEST, systems=listed(systems)
        )


def _unlike_labels(study: JudgedOutputs) -> Iterator[Finding]:
    """The systems whose labelled units the judge scores unlike the others, if there are any: such
    units were hardly chosen at random.
    """
    unlike = study.corrections[study.corrections["unlike"] < alpha(study)]
    systems = []
    for row in unlike.to_dict("records"):
        systems.append(f"{row['system']} (adjusted p {p_value(row['unlike'])})")
    if systems:
        yield kinds.UNLIKE_LABELS.warning(
            len(systems),
            "systems",
            units=plural(study.unit_name, 2),
            systems=listed(systems, NAMED),
        )


def _favoured_systems(study: JudgedOutputs) -> Iterator[Finding]:
    """The pairs of which the judge rates one too high compared with the other, if there are any."""
    favoured = study.favoured
    if favoured.empty:
        return
    pairs = [_favour(row) for row in favoured.head(NAMED).to_dict("records")]
    yield kinds.FAVOURED_SYSTEM.warning(
        len(favoured), "systems", pairs="; ".join(pairs), oracle=study.oracle
    )


def _favour(row: Record) -> str:
    """By how much the judge favours the first system of a pair, in words. row: of
    `study.favoured`.
    """
    limits = interval(row["bias_difference_low"], row["bias_difference_high"])
    judge = signed(row["judge_difference"])
    corrected = signed(row["difference"])
    return (
        f"{row['first']} by {number(row['bias_difference'])} {limits} compared with "
        f"{row['second']} (difference by the judge {judge}, corrected {corrected})"
    )


def definitions(study: JudgedOutputs) -> Html:
    """The methods behind the numbers shown."""
    return paragraphs.definitions(page.metric_definitions(study) + texts.meanings("judges"))


def frames(study: JudgedOutputs) -> dict[str, pd.DataFrame]:
    """The frames of the judge, by the names that they have in the JSON."""
    return {
        "corrections": study.corrections,
        "agreement": study.agreement,
        "bias": study.judge_bias,
        "favours": study.favours,
        "labels_needed": study.labels_needed,
    }
