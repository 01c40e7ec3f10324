"""What other splits of the same rows, and other selections of columns, would have said: parts of the page."""

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, number, p_value, signed, with_interval
from evalkit.pages import pieces
from evalkit.studies import validation_diagnostics as diagnostics
from evalkit.studies.validity import INSIDE, OUTSIDE, Validation
from evalkit.studies.words import plural

pieces.listed(__name__)


def selection(s: Validation) -> Html:
    """The columns as selected, beside as many selected anew on all rows and inside each fold; empty without any."""
    if not len(s.selection):
        return Html("")
    assert s.examples.features is not None
    assert s.examples.candidates is not None
    of, kept = (table.shape[1] for table in (s.examples.candidates, s.examples.features))
    words = {OUTSIDE: "by F on all rows, before the split", INSIDE: "by F on the training rows of each fold"}
    wrong = s.selection["verdict"].iloc[:2].eq("better").all()
    rows: list[list[Cell | str]] = []
    for row in s.selection.to_dict("records"):
        crossed = "<s>{}</s>" if wrong and row["columns"] != INSIDE else "{}"
        value = crossed.format(with_interval(row["value"], row["low"], row["high"]))
        more = ["", ""]
        if row["columns"] != INSIDE:
            more = [with_interval(row["difference"], row["difference_low"], row["difference_high"], signed)]
            more += [p_value(row["adjusted"])]
        rows.append([escape(words.get(row["columns"], "as given (selected)")), value, *more])
    first = s.selection.iloc[0]
    note = (
        "F: how far a column alone moves with the target. The two selections by F differ only in the rows that they "
        "saw: what the first is better by is not there on new rows. Of noise the last is at chance or somewhat below. "
        f"{first['n']:,} {plural(s.unit_name, first['n'])}; p by {first['test']}, adjusted by Holm over 2."
    )
    columns = [f"{kept} of {of:,} columns, selected", s.primary.label, "minus the last", "adjusted p"]
    return tables.table(f"{s.primary.label} of {s.subject} by where the columns were selected", columns, rows, note)


def other_splits(s: Validation) -> Html:
    """How far the estimates of each way of splitting lie apart."""
    if s.other is None:
        return Html("")
    rows: list[list[Cell | str]] = [
        [
            escape(row["way"]),
            f"{row['fits']:,}",
            f"{row['estimates']:,}",
            number(row["mean"]),
            number(row["sd"], 4),
            number(row["lowest"]),
            number(row["highest"]),
        ]
        for row in s.other.summary.to_dict("records")
    ]
    columns = ["split", "fits", "estimates", "mean", "standard deviation", "lowest", "highest"]
    caption = f"{s.primary.label} of {s.subject}, the same {len(s.examples):,} rows split otherwise"
    found = [tables.table(caption, columns, rows, _lesson(s)), *_bootstrap(s), *_ignoring(s)]
    return tables.stack(found)


def _lesson(s: Validation) -> str:
    text = "The spread is what the split alone adds; the sampling error of the rows, in the intervals above, remains."
    single, ratios = diagnostics.spread_ratios(s)
    times = " and ".join(f"{ratio:.1f} times as much as {name}" for name, ratio in ratios.items())
    return f"{f'{single} varies {times}. ' if times else ''}{text} {_one_out(s)}".strip()


def _one_out(s: Validation) -> str:
    """Why leaving one out can be wrong on every row."""
    value = diagnostics.reversed_by_one_out(s)
    if value is None:
        return ""
    return (
        f"Leaving one out gives {number(value)}: without a row its own class is the rarer one among the others, so a "
        "model that leans on the class shares predicts the other class every time. That is the split's doing."
    )


def _bootstrap(s: Validation) -> list[Html]:
    assert s.other is not None
    b = s.other.bootstrap
    if b is None:
        return []
    items = {
        "apparent": "on the rows it was fitted to",
        "out_of_bag": "out of bag (trained on 63 % of the rows: pessimistic)",
        "error_632": ".632",
        "error_632_plus": ".632+",
        "no_information": "if features told nothing",
    }
    accuracy = diagnostics.accuracies(b)
    rows: list[list[Cell | str]] = [[escape(text), number(accuracy[name])] for name, text in items.items()]
    return [tables.table("Accuracy by the bootstrap, all rows", ["estimate", "accuracy"], rows)]


def _ignoring(s: Validation) -> list[Html]:
    """The split that fits the columns beside one that ignores them."""
    assert s.other is not None
    if s.other.ignoring is None:
        return []
    what = "time" if s.examples.time is not None else "group"
    split = "the folds given" if s.examples.fold is not None else f"split by {what}"
    honest, blind = s.estimate(s.primary, s.subject), s.interval(s.primary, s.other.ignoring, None)
    rows: list[list[Cell | str]] = [
        [split, with_interval(honest.value, honest.low, honest.high)],
        [f"<s>rows at random, {what} ignored</s>", f"<s>{with_interval(blind.value, blind.low, blind.high)}</s>"],
        ["difference", signed(diagnostics.promised(honest, blind))],
    ]
    note = f"The difference is what a split that ignores the {what} would have promised beyond what holds."
    return [tables.table(f"{s.primary.label} of {s.subject}", ["split", s.primary.label], rows, note)]
