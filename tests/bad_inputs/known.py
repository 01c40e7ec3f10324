"""The bad inputs whose refusal is not yet what it must be, each with the reason: strict, so a mended one is removed."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

EVERY = ("*",)


@dataclass(frozen=True)
class Known:
    """What is wrong, and patterns of the cases, readers and ways ("csv memory two") for which it is."""

    why: str
    cases: tuple[str, ...]
    readers: tuple[str, ...] = EVERY
    ways: tuple[str, ...] = EVERY

    def holds(self, case: str, reader: str, way: str) -> bool:
        """True if the row is about this case, reader and way."""
        both = ((self.cases, case), (self.readers, reader), (self.ways, way))
        return all(any(fnmatchcase(text, pattern) for pattern in patterns) for patterns, text in both)


def is_known(case: str, reader: str, way: str) -> bool:
    """True if a row says that the refusal is not what it must be."""
    return any(row.holds(case, reader, way) for row in KNOWN)


KNOWN = (
    Known("no probability: the first file is named for the second system", ("probability: *",), ("binary",),
          ("[!f]* two",)),
    Known("no probability: neither file, column, row nor value", ("probability: *",), ("classes",)),
    Known("a third label: only how many there are", ("binary: 2",), ("folds",), ("csv * one",)),
    Known("a third label: another row is named", ("binary: 0.5",), ("binary",), ("csv * one",)),
    Known("labels 0 and 0.0 of two files are two labels, so the first row is named", ("binary: 0.5",), ("binary",),
          ("parquet *", "frame *")),
    Known("no unit: neither file nor row", ("unit: empty",), ("queries",)),
    Known("no unit out of core: the query and not the row", ("unit: empty",), ("ranked lists",), ("* large *",)),
    Known("a long text out of core: the whole text, and no row", ("unit: a very long text",), ("ranked lists",),
          ("* large *",)),
    Known("a long text out of core is taken", ("unit: a very long text",), ("queries",), ("* large *",)),
    Known("a long text: the whole text", ("unit: a very long text",), ("sessions",)),
    Known("of several missing columns one is named", ("two columns missing",),
          ("queries", "users")),
    Known("no column of a segment: not which file lacks it, of a page of HTML", ("a page of HTML",),
          ("sessions", "users")),
)  # fmt: skip
