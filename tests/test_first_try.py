"""Tables as people and tools name their columns: the right page at the first try, or by the command
that `evalkit inspect` prints first; never a wrong one.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "examples"))
