"""The parameters of the reports: each is written once, in `reports.py`; `cells.py` reads those of a notebook."""

from evalkit.parameters.cells import check as check
from evalkit.parameters.cells import values as values
from evalkit.parameters.kinds import Columns as Columns
from evalkit.parameters.kinds import ColumnsOfEach as ColumnsOfEach
from evalkit.parameters.kinds import Metrics as Metrics
from evalkit.parameters.kinds import Named as Named
from evalkit.parameters.kinds import Names as Names
from evalkit.parameters.kinds import Tables as Tables
from evalkit.parameters.kinds import Wholes as Wholes
from evalkit.parameters.reports import REPORTS as REPORTS
from evalkit.parameters.reports import Classification as Classification
from evalkit.parameters.reports import Compared as Compared
from evalkit.parameters.reports import Interleaving as Interleaving
from evalkit.parameters.reports import Parameters as Parameters
from evalkit.parameters.reports import Ranking as Ranking
from evalkit.parameters.reports import Rating as Rating
from evalkit.parameters.reports import Resources as Resources
from evalkit.parameters.reports import Significance as Significance
from evalkit.parameters.reports import Validation as Validation
from evalkit.parameters.reports import reader as reader
