"""Words about the precision that scores are stored in, where they are compared with a threshold."""

from collections.abc import Mapping

from evalkit.reading import precision
from evalkit.reading.precision import DOUBLE, Precision

Note = tuple[str, bool]


def compared(by_name: Mapping[str, Precision]) -> str:
    """In which precision scores and threshold are compared: that of the scores, by system where it differs."""
    if len(set(by_name.values())) == 1:
        return f"compared in {precision.WORDS[next(iter(by_name.values()))]}, as the scores are stored"
    each = "; ".join(f"{', '.join(names)} in {precision.WORDS[to]}" for to, names in _names(by_name).items())
    return f"compared as the scores are stored: {each}"


def rounded(threshold: float, by_name: Mapping[str, Precision]) -> list[Note]:
    """A note for each precision in which the threshold is another number than in double precision."""
    notes = []
    for to, names in _names(by_name).items():
        value = precision.rounded(threshold, to)
        if to != DOUBLE and value != threshold:
            whose = "Scores are" if len(names) == len(by_name) else f"Scores of {', '.join(names)} are"
            text = (
                f"{whose} stored in {precision.WORDS[to]}, and so is the threshold: {threshold:.12g} is {value!r} there"
            )
            notes.append((f"{text}, as numpy and pandas compare them.", False))
    return notes


def beyond(thresholds: Mapping[str, float], ends: Mapping[str, tuple[float, float]]) -> list[Note]:
    """Warnings where a threshold decides all rows alike; ends: the lowest and the highest score of each system."""
    notes = []
    for name, (low, high) in ends.items():
        place = f"The threshold {thresholds[name]:.12g} is"
        if thresholds[name] > high:
            text = f"{place} above every score of {name}, whose highest is {high:.6g}: nothing is predicted positive."
            notes.append((text, True))
        if thresholds[name] <= low:
            text = f"{place} not above any score of {name}, whose lowest is {low:.6g}: every row is predicted positive."
            notes.append((text, True))
    return notes


def _names(by_name: Mapping[str, Precision]) -> dict[Precision, list[str]]:
    names: dict[Precision, list[str]] = {}
    for name, to in by_name.items():
        names.setdefault(to, []).append(name)
    return names
