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
from evalkit.drawing.columns import (
    Column,
    column_by_row,
    count,
    limits,
    named,
    prefixed_interval_column,
    value,
    words,
)
from evalkit.drawing.pieces import Html, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import (
    count_with_noun,
    interval,
    listed,
    number,
    p_value,
    plural,
    signed_number,
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
PAIRS_NAMED = 3  # pairs, or systems, that a finding names
FEWEST = 5  # labels of the rarer kind with which intervals keep their level


def verdict(study: JudgedOutputs) -> Html:
    """The first screen. Behind its answer it says that the numbers estimate the oracle's judgement,
    not the judge's; and how many labels the interval of the headline's difference takes to be as
    narrow as wished, if it is not.
    """
    corrected = texts.sentence(
        "judges.corrected", oracle=study.oracle, labels=_labelled_units(study)
    )
    sentences = [corrected]
    headline_pair = " − ".join(study.headline_systems) if len(study.headline) else ""
    for row in study.labels_needed.to_dict("records"):  # one per system, and per difference
        # False also if `needed` is NaN, as the labels of all units are too few
        has_enough = row["needed"] <= row["labels"]
        if row["what"] == headline_pair and not has_enough:
            sentences.append(_labels_for_width(study, row))
    return first_screen.verdict(study, sentences)


def _labels_for_width(study: JudgedOutputs, row: Record) -> str:
    """A sentence on how many labels would give the interval of a difference the wished width.

    row: of `study.labels_needed`; `needed` is NaN if the labels of all units are too few.
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
    units = count_with_noun(int(frame["units"].max()), study.unit_name)
    return f"{labels} of {units} per system"


def judge(study: JudgedOutputs) -> Html:
    """The tables of the judge: the corrected means, the labels needed, its bias, and its agreement
    with the oracle.
    """
    return stack([_corrections(study), _needed(study), _bias(study), _agreement(study)])


def _corrections(study: JudgedOutputs) -> Html:
    """The table of means, a row per system: of the judge's scores of all units, of the oracle's
    labels alone, and the corrected mean, in which the labels correct the bias of the judge.
    """
    caption = texts.sentence("judges.corrections", study, oracle=study.oracle)
    whole_number = partial(count, show="{:,.0f}".format)
    # the heads, and the columns of `study.corrections` below them
    columns: dict[str, Column] = {
        "system": words("system"),
        "labels": whole_number("labels"),
        "of": whole_number("units"),
        "judge's mean": value("judge"),
        "labels alone": prefixed_interval_column("alone"),
        "corrected": limits("value"),
        "weight λ": value("weight"),
        "worth labels": whole_number("worth"),
    }
    note = texts.sentence("judges.corrections_note", units=plural(study.unit_name, 2))
    return of_rows(caption, study.corrections, columns, note)


def _needed(study: JudgedOutputs) -> Html:
    """The table of the labels needed, a row per estimate: the number of labels that would make its
    interval as narrow as wished, together with the judge's scores and without them.
    """
    all_units = int(study.corrections["units"].max())

    def label_count(row: Record, column: str) -> Cell:
        """The number of labels in a column, which is NaN if the labels of all units are too few."""
        if math.isnan(row[column]):
            return Cell(f"more than all {all_units:,}")
        return Cell(f"{row[column]:,.0f}", numbers=(row[column],))

    # the heads, and the columns of `study.labels_needed` below them
    columns: dict[str, Column] = {
        "what": words("what"),
        "labels": count("labels"),
        "width now": value("width_now"),
        "wished width": value("width"),
        "labels needed": column_by_row(partial(label_count, column="needed")),
        "without the judge": column_by_row(partial(label_count, column="alone")),
    }
    caption = texts.sentence("judges.needed", study)
    return of_rows(caption, study.labels_needed, columns, texts.sentence("judges.needed_note"))


def _bias(study: JudgedOutputs) -> Html:
    """How far the judge lies above the oracle: a row per system, then one per band of scores."""
    columns = {"labelled": column_by_row(_labelled_outputs)} | named(
        "labels n | judge # | oracle #"
    )
    columns["judge − oracle"] = prefixed_interval_column("bias", signed_number)
    caption = texts.sentence("judges.bias", study, oracle=study.oracle)
    note = texts.sentence("judges.bias_note")
    return of_rows(caption, study.judge_bias, columns, note)


def _labelled_outputs(row: Record) -> Cell:
    """The head of a row of `study.judge_bias`: the system that the row is about, or else, with all
    systems together, the band of the judge's scores from `score_low` to `score_high`.
    """
    is_of_system = math.isnan(row["score_low"])
    if is_of_system:
        return Cell(row["system"])
    low = number(row["score_low"])
    high = number(row["score_high"])
    if low == high:
        return Cell(f"score {low}")
    return Cell(f"score {low} to {high}")


def _agreement(study: JudgedOutputs) -> Html:
    """The table of the judge's agreement with the oracle: a row per system, a column per
    coefficient, such as Cohen's κ, with its interval.
    """
    coefficients = list(dict.fromkeys(study.agreement["coefficient"]))
    columns: dict[str, Column] = {"system": words("system"), "n": count("n")}
    for name in coefficients:
        columns[COEFFICIENTS[name]] = prefixed_interval_column(name)
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
    units = count_with_noun(int(study.corrections["units"].max()), study.unit_name)
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
    """A warning that names the systems whose labels are 0 or 1 and fewer than `FEWEST` of one of
    the two, with which intervals are too narrow. Nothing if there are none.
    """
    systems = []
    for name in study.order:
        judged = study.measure(study.primary_metric, name)
        if judged.has_binary_labels and judged.rarer_labels < FEWEST:
            systems.append(name)
    if systems:
        yield kinds.JUDGED_VALUES.warning(
            len(systems), "rare", fewest=FEWEST, systems=listed(systems)
        )


def _unlike_labels(study: JudgedOutputs) -> Iterator[Finding]:
    """A warning that names the systems whose labelled units have significantly other scores from
    the judge than the unlabelled ones. Those units were hardly drawn at random, which the
    correction assumes. Nothing if there are none.
    """
    # unlike: the adjusted p of the hypothesis that both have the same scores
    rows = study.corrections[study.corrections["unlike"] < alpha(study)]
    systems = []
    for row in rows.to_dict("records"):
        systems.append(f"{row['system']} (adjusted p {p_value(row['unlike'])})")
    if systems:
        yield kinds.UNLIKE_LABELS.warning(
            len(systems),
            "systems",
            units=plural(study.unit_name, 2),
            systems=listed(systems, PAIRS_NAMED),
        )


def _favoured_systems(study: JudgedOutputs) -> Iterator[Finding]:
    """A warning that names the first pairs of systems in which the judge favours one: its bias, how
    far it lies above the oracle, is significantly larger for this system. Nothing if there is none.
    """
    favoured = study.favoured  # a row per such pair, with the favoured system first
    if favoured.empty:
        return
    pairs = [_favour_in_words(row) for row in favoured.head(PAIRS_NAMED).to_dict("records")]
    yield kinds.FAVOURED_SYSTEM.warning(
        len(favoured), "systems", pairs="; ".join(pairs), oracle=study.oracle
    )


def _favour_in_words(row: Record) -> str:
    """By how much the judge favours the first system of a pair, in words: the difference of its
    biases, and the difference of the systems by the judge and after the correction.

    row: of `study.favoured`.
    """
    limits_of_favour = interval(row["bias_difference_low"], row["bias_difference_high"])
    judge = signed_number(row["judge_difference"])
    corrected = signed_number(row["difference"])
    return (
        f"{row['first']} by {number(row['bias_difference'])} {limits_of_favour} compared with "
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
