"""Hundreds of classes: the picture of the confusion table stays small, and loses no row."""

import numpy as np
import pandas as pd

from evalkit.pages import classes_page
from evalkit.studies import classification


def guesses(classes, n=4000):
    rng = np.random.default_rng(classes)
    actual = np.minimum(rng.geometric(6 / classes, size=n), classes) - 1
    actual[:classes] = np.arange(classes)
    predicted = np.where(rng.random(n) < 0.7, actual, rng.integers(0, classes, n))
    return pd.DataFrame(
        {"label": np.char.add("c", actual.astype(str)), "predicted": np.char.add("c", predicted.astype(str))}
    )


def test_the_confusion_picture_of_four_hundred_classes_is_bounded_and_says_so():
    picture = classes_page.confusion_plot(classification.read(guesses(400)))
    assert len(picture.svg) < 1e6
    assert (
        "Drawn: the 39 most frequent of 400 classes, and the others together; the JSON holds all classes."
        in picture.caption
    )
    assert "(361 others)" in picture.svg


def test_forty_classes_are_all_drawn():
    picture = classes_page.confusion_plot(classification.read(guesses(40)))
    assert "most frequent of" not in picture.caption
    assert "others)" not in picture.svg


def test_classes_drawn_together_keep_every_row():
    table = np.arange(50 * 50).reshape(50, 50)
    together, names = classification.drawn_together(table, tuple(f"c{i}" for i in range(50)))
    assert together.shape == (40, 40)
    assert together.sum() == table.sum()
    assert names == (*(f"c{i}" for i in range(11, 50)), "(11 others)")
    assert together[-1, -1] == table[:11, :11].sum()
    assert (together[:-1, :-1] == table[11:, 11:]).all()
