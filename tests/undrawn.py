"""Pages with empty pictures: to draw the figures takes three quarters of the time of a report.

python tests/undrawn.py report rating   # the command, but for the pictures
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from evalkit.drawing import rasters
from evalkit.drawing.figures import DrawnFigure, Figure

WHITE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="
)


@contextmanager
def without_pictures() -> Iterator[None]:
    """The figures of pages are made as ever, with their captions, but not drawn."""
    page = patch.object(Figure, "_page", DrawnFigure("<svg></svg>", None, []))
    with page, patch.object(Figure, "png", rasters.Png(WHITE, 1, 1)):
        yield


if __name__ == "__main__":
    from evalkit.__main__ import main

    with without_pictures():
        sys.exit(main(sys.argv[1:]))
