"""Sentences about the precision of stored scores and about thresholds beyond them."""

from collections.abc import Mapping

from evalkit.reading.tables import precision
from evalkit.reading.tables.precision import DOUBLE, Precision

Note = tuple[str, bool]


def compared(by_name: Mapping[str, Precision]) -> str:
    """The precision in which scores and threshold are compared: that of the scores, by system where it differs."""
    if len(set(by_name.values())) == 1:
        return f"compared in {precision.WORDS[next(iter(by_name.values()))]}, as the scores are stored"
    each = "; ".join(f"{', '.join(names)} in {precision.WORDS[to]}" for to, names in _names(by_name).items())
    return f"compared as the scores are stored: {each}"


def rounded(threshold: float, by_name: Mapping[str, Precision]) -> list[Note]:
    """A note for each precision that changes the value of the threshold."""
    notes = []
    for to, names in _names(by_name).items():
        value = precision.rounded(threshold, to)
        if to != DOUBLE and value != threshold:
            whose = "The scores" if len(names) == len(by_name) else f"The scores of {', '.join(names)}"
            text = f"{whose} are stored in {precision.WORDS[to]}, and the threshold is rounded to it"
            notes.append((f"{text}, as numpy and pandas do: {threshold:.12g} becomes {value!r}.", False))
    return notes


def beyond(thresholds: Mapping[str, float], ends: Mapping[str, tuple[float, float]]) -> list[Note]:
    """A warning for each system whose rows are all decided alike; ends: its lowest and its highest score."""
    notes = []
    for name, (low, high) in ends.items():
        place = f"The threshold {thresholds[name]:.12g} is"
        if thresholds[name] > high:
            text = f"{place} above every score of {name}, whose highest is {high:.6g}: nothing is predicted positive."
            notes.append((text, True))
        if thresholds[name] <= low:
            text = f"{place} at or below every score of {name}, whose lowest is {low:.6g}"
            notes.append((f"{text}: every row is predicted positive.", True))
    return notes


def _names(by_name: Mapping[str, Precision]) -> dict[Precision, list[str]]:
    names: dict[Precision, list[str]] = {}
    for name, to in by_name.items():
        names.setdefault(to, []).append(name)
    return names
