"""The output of `trec_eval -q`: lines of measure, query and value, of one system a file."""

import re

from evalkit.arrays import InputError
from evalkit.reading.tables import trec
from evalkit.reading.tables.delimited import Csv
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.trec_files import Trec

COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
NAMES = ("runid", "relstring")  # measures whose value is text
ALL = "all"
_MEASURE = re.compile(
    r"runid|relstring|num_(q|ret|rel|rel_ret|nonrel_judged_ret)|(gm_)?(map|bpref)|map_cut_\d+|Rprec(_mult)?(_[\d.]+)?|"
    r"recip_rank|iprec_at_recall_[\d.]+|(P|recall|success|relative_P|ndcg_cut|Rndcg)_?[\d.]*|ndcg(_rel|_cut)?|11pt_avg|"
    r"infAP|set_\w+|utility|binG|G"
)


def is_output(part: Part) -> bool:
    """Whether the first line of a file is a measure of trec_eval, a query and a value."""
    if type(part) not in (Csv, Trec):
        return False
    first = trec.first_line(part.path)
    return len(first) == 3 and bool(_MEASURE.fullmatch(first[0]))


def lines(part: Part) -> tuple[str, list[tuple[str, str, float]], int]:
    """The run's name, (measure, query, value) of each line of a query, and how many lines of `all` were left out.

    Raises InputError with the line where one has not three fields or its value is no number.
    """
    import pyarrow as pa

    with pa.input_stream(str(part.path), compression="detect") as stream:
        text = stream.read().decode("utf-8", errors="replace")
    name, rows, left = part.path.name.removesuffix(".gz").rsplit(".", 1)[0], [], 0
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split(None, 2)
        if not fields:
            continue
        if len(fields) != 3:
            raise InputError(f"{part.name}: line {number} must be 'measure query value', got {line.strip()[:80]!r}")
        if fields[0] == "runid":
            name = fields[2].strip()
        elif fields[1] == ALL:
            left += 1
        elif fields[0] not in NAMES:
            rows.append((fields[0], fields[1], _value(part, fields[2].strip(), number)))
    if not rows:
        raise InputError(
            f"{part.name}: trec_eval's output must hold the values of each query, got only the summary 'all'; "
            "run trec_eval with -q"
        )
    return name, rows, left


def _value(part: Part, text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{part.name}: the value must be a number, got {text!r} (line {line})") from None
