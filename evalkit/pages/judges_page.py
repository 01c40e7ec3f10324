"""What the significance page says of a judge: what its labels correct, how far it agrees with the
oracle, its bias, and how many labels would be needed.
"""

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pandas as pd

from evalkit.arrays import Record
from evalkit.drawing import paragraphs
from evalkit.drawing.cells import Cell
from evalkit.drawing.columns import count, each, named, prefixed_limits
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

NAMES = {
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
    """The first screen, that its numbers are the oracle's, not the judge's, and how many labels
    would say more.
    """
    sentences = [texts.sentence("judges.corrected", oracle=study.oracle, labels=_labels(study))]
    pair = " − ".join(study.opponents) if len(study.headline) else ""
    for row in study.labels_needed.to_dict("records"):
        if row["what"] == pair and not row["needed"] <= row["labels"]:
            more = texts.sentence(
                "judges.more",
                what=pair,
                width=row["width"],
                width_now=row["width_now"],
                labels=_enough(row, plural(study.unit_name, 2)),
            )
            sentences.append(more)
    return first_screen.verdict(study, *sentences)


def _enough(row: Record, units: str) -> str:
    """The labels for a wished width, in words."""
    if math.isnan(row["needed"]):
        return f"more than labels of all {row['units']:,} {units}"
    return f"{row['needed']:,.0f} labels of randomly chosen {units}, the same for both systems"


def _labels(study: JudgedOutputs) -> str:
    """How many units of each system are labelled, of how many."""
    frame = study.corrections
    labels = [f"{frame['labels'].min():,}", f"{frame['labels'].max():,}"]
    units = counted(int(frame["units"].max()), study.unit_name)
    return f"{' to '.join(dict.fromkeys(labels))} of {units} per system"


def judge(study: JudgedOutputs) -> Html:
    """The tables of the judge."""
    return stack([_corrections(study), _needed(study), _bias(study), _agreement(study)])


def _corrections(study: JudgedOutputs) -> Html:
    caption = texts.sentence("judges.corrections", study, oracle=study.oracle)
    columns = named(
        "system w | labels n | of=units n | judge's mean=judge # | labels alone=alone [_] | "
        "corrected=value [] | weight λ=weight # | worth labels=worth n",
        n=partial(count, show="{:,.0f}".format),
    )
    note = texts.sentence("judges.corrections_note", units=plural(study.unit_name, 2))
    return of_rows(caption, study.corrections, columns, note)


def _needed(study: JudgedOutputs) -> Html:
    """The labels for a wished width."""
    most = f"more than all {int(study.corrections['units'].max()):,}"

    def labels(row: Record, name: str) -> Cell:
        if math.isnan(row[name]):
            return Cell(most)
        return Cell(f"{row[name]:,.0f}", numbers=(row[name],))

    columns = named("what w | labels n | width now=width_now # | wished width=width #")
    columns["labels needed"] = each(partial(labels, name="needed"))
    columns["without the judge"] = each(partial(labels, name="alone"))
    caption = texts.sentence("judges.needed", study)
    return of_rows(caption, study.labels_needed, columns, texts.sentence("judges.needed_note"))


def _bias(study: JudgedOutputs) -> Html:
    """The bias by system and by score."""

    def place(row: Record) -> Cell:
        if math.isnan(row["score_low"]):
            return Cell(row["system"])
        ends = dict.fromkeys((number(row["score_low"]), number(row["score_high"])))
        return Cell(f"score {' to '.join(ends)}")

    columns = {"labelled": each(place)} | named("labels n | judge # | oracle #")
    columns["judge − oracle"] = prefixed_limits("bias", signed)
    caption = texts.sentence("judges.bias", study, oracle=study.oracle)
    note = texts.sentence("judges.bias_note")
    return of_rows(caption, study.judge_bias, columns, note)


def _agreement(study: JudgedOutputs) -> Html:
    """A row per system, a column per coefficient."""
    frame = study.agreement
    columns = named("system w | n n")
    for name in dict.fromkeys(frame["coefficient"]):
        columns[NAMES[name]] = prefixed_limits(name)
    wide = frame.pivot(index="system", columns="coefficient", values=["value", "low", "high"])
    wide.columns = [name if end == "value" else f"{name}_{end}" for end, name in wide.columns]
    wide = wide.loc[study.order].reset_index()
    wide["n"] = frame.groupby("system")["n"].first().loc[study.order].to_numpy()
    cut = ""
    if not math.isnan(study.cut):
        cut = texts.sentence("judges.cut", study)
    elif "kappa" not in {*frame["coefficient"]}:
        cut = texts.sentence("judges.no_cut")
    caption = texts.sentence("judges.agreement", oracle=study.oracle)
    return of_rows(caption, wide, columns, texts.sentence("judges.agreement_note", cut=cut))


def title(study: JudgedOutputs) -> Html:
    """The title and what was asked."""
    asked = texts.sentence(
        "judges.asked",
        systems=listed(study.systems),
        oracle=study.oracle,
        units=counted(int(study.corrections["units"].max()), study.unit_name),
    )
    return first_screen.heading("Significance report", asked, study)


def findings(study: object) -> Iterator[Finding]:
    """What a judge's values assume, and where they mislead; none for values of another kind."""
    if not isinstance(study, JudgedOutputs):
        return
    units = plural(study.unit_name, 2)
    yield kinds.JUDGED_VALUES.note(
        study.label_count, "labels", labels=_labels(study), oracle=study.oracle, units=units
    )
    yield from _rare(study)
    yield from _favoured(study)
    unlike = study.corrections[study.corrections["unlike"] < alpha(study)]
    if len(unlike):
        systems = _with_p(unlike[["system", "unlike"]].itertuples(index=False))
        yield kinds.UNLIKE_LABELS.warning(len(unlike), "systems", units=units, systems=systems)


def _rare(study: JudgedOutputs) -> Iterator[Finding]:
    """The systems of which few labels are of the rarer kind."""
    of = {name: study.measure(study.primary, name) for name in study.order}
    rare = [
        name
        for name, judged in of.items()
        if judged.has_binary_labels and judged.rarer_labels < FEWEST
    ]
    if rare:
        yield kinds.JUDGED_VALUES.warning(len(rare), "rare", fewest=FEWEST, systems=listed(rare))


def _with_p(rows: Iterable[Any]) -> str:
    return listed((f"{row.system} (adjusted p {p_value(row.unlike)})" for row in rows), NAMED)


def _favoured(study: JudgedOutputs) -> Iterator[Finding]:
    """The pairs of which the judge rates one too high compared with the other."""
    favoured = study.favoured
    if favoured.empty:
        return
    pairs = [_favour(row) for row in favoured.head(NAMED).to_dict("records")]
    yield kinds.FAVOURED_SYSTEM.warning(
        len(favoured), "systems", pairs="; ".join(pairs), oracle=study.oracle
    )


def _favour(row: Record) -> str:
    """A pair of `favoured` in words."""
    limits = interval(row["bias_difference_low"], row["bias_difference_high"])
    judge = signed(row["judge_difference"])
    corrected = signed(row["difference"])
    return (
        f"{row['first']} by {number(row['bias_difference'])} {limits} compared with "
        f"{row['second']} (difference by the judge {judge}, corrected {corrected})"
    )


def definitions(study: JudgedOutputs) -> Html:
    """The methods behind the numbers shown."""
    return paragraphs.definitions([*page.metric_definitions(study), *texts.meanings("judges")])


def frames(study: JudgedOutputs) -> dict[str, pd.DataFrame]:
    """The frames of the judge, by the names that they have in the JSON."""
    return {
        "corrections": study.corrections,
        "agreement": study.agreement,
        "bias": study.judge_bias,
        "favours": study.favours,
        "labels_needed": study.labels_needed,
    }
