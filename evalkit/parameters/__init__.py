"""The parameters of the reports: each is written once, in `reports.py`; `cells.py` reads those of a
notebook.
"""

from evalkit.parameters.cells import check, values
