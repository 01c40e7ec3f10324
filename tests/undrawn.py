"""Pages with empty pictures: to draw the figures takes three quarters of the time of a report."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evalkit.drawing import rasters
from evalkit.drawing.figures import Figure, Page

WHITE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="
)


@contextmanager
def without_pictures() -> Iterator[None]:
    """The figures of pages are made as ever, with their captions, but not drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "_page", Page("<svg></svg>", None, []))
        patch.setattr(Figure, "png", rasters.Png(WHITE, 1, 1))
        yield
