"""SVG paths in few bytes: coordinates in tenths, each step relative to the point before it."""

import re
from collections.abc import Iterator

TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+(?:e-?\d+)?")
PLACES = 10  # parts of a unit that are told apart
COORDINATES = {"M": 2, "L": 2, "Q": 4, "C": 6, "z": 0}


def compact(path: str) -> str:
    """Return the same path, every point within half a tenth of where it was.

    Coordinates are rounded before they are subtracted, so errors do not add up. Steps of no length are left out, but
    for the first of a line, which may be a point. A path with a command other than M, L, Q, C and z stays as it is.

    >>> compact("M 10 20 L 15.04 20 L 15.04 12.5 L 15.04 12.52 z")
    'M10 20h5v-7.5z'
    >>> compact("M 0 0 L 1 1 L 2 3 Q 2 3 4.5 5")
    'M0 0l1 1l1 2q0 0 2.5 2'
    """
    commands = list(_commands(path))
    if any(name not in COORDINATES for name, _ in commands):
        return path
    text, at, start, drawn = [], (0, 0), (0, 0), True
    for name, points in commands:
        if name == "z":
            text.append("z")
            at = start
            continue
        last = points[-1]
        if name == "L" and drawn and last == at:
            continue
        text.append(f"M{_listed(last)}" if name == "M" else _step(name, [(x - at[0], y - at[1]) for x, y in points]))
        at, start, drawn = last, last if name == "M" else start, name != "M"
    return "".join(text)


def _commands(path: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Each command with its points in tenths; the coordinates of several points after one letter are several steps."""
    name, numbers = "", list[int]()
    for token in TOKEN.findall(path):
        if token.isalpha():
            name, numbers = token, []
        else:
            numbers.append(round(float(token) * PLACES))
        size = COORDINATES.get(name, 0)
        if len(numbers) == size or name not in COORDINATES:
            yield name, list(zip(numbers[::2], numbers[1::2], strict=False))
            numbers = []


def _step(name: str, points: list[tuple[int, int]]) -> str:
    x, y = points[-1]
    if name == "L" and not y:
        return f"h{_number(x)}"
    if name == "L" and not x:
        return f"v{_number(y)}"
    return name.lower() + " ".join(_listed(point) for point in points).replace(" -", "-")


def _listed(point: tuple[int, int]) -> str:
    return f"{_number(point[0])} {_number(point[1])}".replace(" -", "-")


def _number(tenths: int) -> str:
    """A number of tenths without what a reader of SVG can do without.

    >>> [_number(n) for n in (0, 20, 5, -15, 123)]
    ['0', '2', '.5', '-1.5', '12.3']
    """
    return f"{tenths / PLACES:g}".replace("0.", ".") if abs(tenths) < PLACES else f"{tenths / PLACES:.10g}"
