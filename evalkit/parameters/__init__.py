"""The parameters of the reports: each is written once, in `reports.py`; `cells.py` reads those of a notebook."""

from evalkit.parameters.cells import check, values
from evalkit.parameters.kinds import Columns, ColumnsOfEach, Metrics, Named, Names, Tables, Wholes
from evalkit.parameters.reports import (
    NOTEBOOKS,
    REPORTS,
    Classification,
    Compared,
    Diff,
    Interleaving,
    Parameters,
    Ranking,
    Rating,
    Resources,
    Significance,
    Validation,
    attributes,
    reader,
)
