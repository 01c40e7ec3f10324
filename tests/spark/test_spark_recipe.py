"""The recipe of the docs for a Spark table gives the numbers of the same rows in memory."""

import pandas as pd
from executed_pages import ROOT, fences

import evalkit as ek


def test_the_recipe_gives_the_numbers_of_memory(session, tmp_path, monkeypatch):
    """docs/recipes.md has one recipe in Python: a study, named `study`, of the rows of the German
    credit data with an amount below 5,000, read by Spark, and its page. It is run here.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    [recipe] = [f for f in fences(ROOT / "docs" / "recipes.md") if f.language == "py"]
    variables = {"ek": ek}
    exec(recipe.source, variables)
    all_rows = pd.read_csv("data/german_credit/predictions.csv")
    rows = all_rows[all_rows["credit_amount"] < 5000]
    expected = ek.classification(rows, metrics="roc_auc").estimates
    pd.testing.assert_frame_equal(variables["study"].estimates, expected)
    assert (tmp_path / "spark.html").is_file()
