"""The significance study and its page: the claims, the family, the notes, every kind of input, the lessons."""

import ast
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from evalkit import __main__ as cli
from evalkit.arrays import InputError, ParameterError
from evalkit.sections import lessons, page, significance_notes, significance_page, significance_plots
from evalkit.statistics import folds, multiplicity, proportions, sequential, signflip
from evalkit.statistics import significance as sig
from evalkit.studies import ranking, significance, significance_extras

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
PIECES = (
    significance_page.title,
    page.verdict,
    significance_page.notes,
    significance_plots.differences,
    page.comparisons,
    significance_page.other_tests,
    significance_page.estimates,
    significance_page.effects,
    significance_page.equivalence,
    significance_plots.distribution,
    significance_plots.null_distribution,
    significance_plots.ranks,
    significance_plots.power,
    significance_page.needed,
    significance_page.teaching,
    significance_page.definitions,
    significance_page.origin,
    significance_page.results,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def wide(n=60, gain=0.5, **columns) -> pd.DataFrame:
    base = rng(1).normal(size=n)
    noise = rng(2).normal(size=n)
    return pd.DataFrame({"query": [f"q{i}" for i in range(n)], "a": base + gain + 0.5 * noise, "b": base} | columns)


def long(values: pd.DataFrame, metric: str) -> pd.DataFrame:
    return values.melt(id_vars="query", var_name="system", value_name="value").assign(metric=metric)


@pytest.fixture(scope="module")
def sample():
    return significance.read()


def told(study) -> str:
    return "\n".join(text for text, _ in significance_notes.notes(study))


# The claims


def test_the_family_is_counted_and_adjusted_as_one(sample):
    assert sample.family == "30 comparisons: 3 metrics × 10 pairs; Holm"
    assert "Family: 30 comparisons: 3 metrics × 10 pairs; Holm." in page.verdict(sample).text
    rows = sample.comparisons
    assert len(rows) == 30
    assert rows["adjusted"].to_numpy() == pytest.approx(multiplicity.holm(rows["p"]))
    assert (rows["max_t"] >= rows["p"]).all()
    assert significance.read(baseline="lda_cosine").family == "12 comparisons: 3 metrics × 4 candidates; Holm"


def test_the_sample_has_the_answers_of_the_ranking_report(sample):
    """The same runs, the same test: only the family is larger."""
    alone = ranking.read(metrics="ndcg@10,map,mrr").comparisons
    both = sample.comparisons.merge(alone, on=["metric", "first", "second"], suffixes=("", "_ranking"))
    assert len(both) == 30
    for column in ("difference", "p", "low", "high", "n"):
        assert both[column].to_numpy() == pytest.approx(both[f"{column}_ranking"].to_numpy())
    assert (both["adjusted"] >= both["adjusted_ranking"]).all()


def test_the_verdicts_of_the_sample(sample):
    words = sample.headline.set_index("second")["verdict"].to_dict()
    better = dict.fromkeys(("pca8_euclid", "row_column_sums", "binary_overlap_ties"), "better")
    assert words == {"lda_cosine": "equivalent"} | better
    notes = told(sample)
    assert "pixel_cosine leads by ndcg@10, but lda_cosine by average_precision" in notes
    assert "Skewed differences of pixel_cosine − lda_cosine" in notes
    assert "Equal on ndcg@10: pixel_cosine and lda_cosine on 72" in notes


def test_trec_covid_against_the_reference():
    folder = SHARED / "trec_covid_demo"
    if not folder.exists():
        pytest.skip("the public runs are not beside the project")
    study = significance.read(str(folder / "runs"), str(folder / "qrels.txt"), metrics="ndcg@10,map,p@10,mrr")
    expected = json.loads((folder / "expected" / "compare.json").read_text())
    measures = {"ndcg@10": "ndcg_cut_10", "average_precision": "map", "precision@10": "P_10"}
    tests = significance_extras.other_tests(study).set_index(["metric", "first", "second"])
    for metric, name in measures.items():
        for row in expected["pairs"][name]:
            key = (metric, row["a"], row["b"])
            found = tests.loc[key if key in tests.index else (metric, row["b"], row["a"])]
            assert found["t"] == pytest.approx(row["p_t"], rel=1e-6)
            assert found["wilcoxon"] == pytest.approx(row["p_wilcoxon"], rel=1e-6)
            assert found["tukey"] == pytest.approx(row["p_tukey_hsd_twoway"], abs=1e-6)
            assert found["bh"] == pytest.approx(row["p_bh"], rel=1e-6)
            assert found["sign"] == pytest.approx(row["p_sign"], rel=1e-6)
    ranks = significance_extras.mean_ranks(study)
    assert ranks["friedman"] == pytest.approx(expected["omnibus"]["ndcg_cut_10"]["friedman_p"], rel=1e-6)


# Every kind of input


def test_wide_and_long_tables_give_the_same(tmp_path):
    table = wide()
    table.sample(frac=1, random_state=1).to_csv(tmp_path / "wide.csv", index=False)
    long(table, "gain").to_parquet(tmp_path / "long.parquet")
    first = significance.read(str(tmp_path / "wide.csv"), metrics="gain").comparisons.iloc[0]
    second = significance.read(str(tmp_path / "long.parquet")).comparisons.iloc[0]
    assert first[["first", "second", "n", "unit"]].tolist() == ["a", "b", 60, "query"]
    assert second[["first", "second", "n", "unit", "metric"]].tolist() == ["a", "b", 60, "query", "gain"]
    assert first["difference"] == pytest.approx(second["difference"])
    assert first["p"] == pytest.approx(second["p"], abs=0.002)


def test_rows_of_one_unit_are_flipped_together():
    table = wide()
    thrice = pd.concat([table] * 3)
    once, many = (significance.read(one).comparisons.iloc[0] for one in (table, thrice))
    assert many["n"] == 60
    assert many["difference"] == pytest.approx(once["difference"])
    assert (many["low"], many["high"]) == pytest.approx((once["low"], once["high"]), abs=0.005)
    assert once["high"] - once["low"] > 0.2


def test_clusters_that_were_not_named_are_measured():
    users = np.repeat([f"u{i}" for i in range(30)], 8)
    own = np.repeat(rng(3).normal(size=30), 8)
    table = pd.DataFrame(
        {"row": [f"r{i}" for i in range(240)], "person": users, "a": own, "b": rng(4).normal(size=240)}
    )
    assert re.search(r"person repeats \(30 values\): .* set unit='person'", told(significance.read(table)))
    named = significance.read(table, unit="person")
    assert named.comparisons.iloc[0]["n"] == 30
    assert "person repeats" not in told(named)


def test_missing_values_are_left_out_and_counted():
    table = wide()
    table.loc[:4, "b"] = np.nan
    study = significance.read(table)
    assert study.comparisons.iloc[0]["n"] == 55
    assert "Without a value, left out of the mean and of every pair with them: b value 5" in told(study)


def test_less_is_better_where_it_is_said_or_known():
    table = wide()
    assert significance.read(table).comparisons.iloc[0]["first"] == "a"
    less = significance.read(table, metrics="cost", lower_is_better="cost").comparisons.iloc[0]
    assert less[["first", "second", "verdict"]].tolist() == ["b", "a", "better"]
    assert significance.read(table, metrics="log_loss").leader == "b"


def test_folds_take_the_corrected_t_or_a_warning():
    table = pd.DataFrame({"fold": range(10), "a": rng(5).normal(0.82, 0.02, 10), "b": rng(6).normal(0.8, 0.02, 10)})
    naive = significance.read(table)
    assert "set test_to_train" in told(naive)
    right = significance.read(table, test_to_train=1 / 9)
    row, d = right.comparisons.iloc[0], (table["a"] - table["b"]).to_numpy()
    assert row["p"] == pytest.approx(folds.nadeau_bengio(d, train=9, test=1).p_value)
    assert row["p"] > sig.paired_t(d).p_value
    assert "set test_to_train" not in told(right)


def test_predicted_chances_are_compared_by_their_losses():
    study = significance.read("data/german_credit/predictions.csv", metrics="log_loss,brier")
    assert study.family == "6 comparisons: 2 metrics × 3 pairs; Holm"
    rows = pd.read_csv(ROOT / "data" / "german_credit" / "predictions.csv").pivot(index="id", columns="model")
    y = rows["y_true"]["gbm"]
    brier = study.estimates[study.estimates["metric"] == "brier"].set_index("system")["value"]
    for name in ("forest", "gbm", "logistic"):
        assert brier[name] == pytest.approx(((rows["y_score"][name] - y) ** 2).mean())
    assert (study.comparisons["n"] == 1000).all()


def test_an_earlier_report_is_tested_anew(reports):
    earlier = json.loads((reports[0] / "significance.json").read_text(encoding="utf-8"))
    study = significance.read(str(reports[0] / "significance.json"), margin=0.05)
    row, before = study.headline.iloc[0], earlier["headline"][0]
    assert [row["first"], row["second"], row["verdict"]] == [before["first"], before["second"], "equivalent"]
    assert row["p"] == pytest.approx(before["p"], abs=0.01)
    assert (row["difference"], row["n"]) == pytest.approx((before["difference"], before["n"]))
    values = {one["system"]: one["value"] for one in earlier["estimates"] if one["metric"] == earlier["primary"]}
    assert study.estimates.set_index("system")["value"].to_dict() == {k: values[k] for k in study.systems}


@pytest.mark.parametrize(
    "heads, alternative, p, word",
    [
        (8, "greater", 0.0546875, "cannot tell"),
        (9, "greater", 0.0107421875, "better"),
        (8, "two-sided", 0.109375, "cannot tell"),
        (9, "two-sided", 0.021484375, "better"),
        (1, "less", 0.0107421875, "worse"),
    ],
)
def test_the_coin(heads, alternative, p, word):
    table = pd.DataFrame({"successes": [heads], "trials": [10]})
    row = significance.read(table, null=0.5, alternative=alternative).headline.iloc[0]
    assert row["p"] == pytest.approx(p, abs=1e-12)
    assert (row["verdict"], row["unit"], row["n"]) == (word, "trial", 10)
    assert (row["p"] < 0.05) == (not row["low"] <= 0 <= row["high"])


def test_independent_shares():
    table = pd.DataFrame({"arm": ["A", "B"], "successes": [56, 48], "trials": [70, 80]})
    row = significance.read(table).comparisons.iloc[0]
    assert row["p"] == pytest.approx(0.0080451, abs=5e-8)
    assert (row["low"], row["high"]) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert row["p_fisher"] == pytest.approx(proportions.fisher(56, 70, 48, 80).p_value)
    assert page.differences(significance.read(table)).caption.startswith("Differences")


# Looks, margins, gates


def test_looks_cost_what_they_cost_and_stay_dual():
    for seed in range(40):
        d = rng(seed).normal(0.25, 1, 60)
        table = pd.DataFrame({"query": [f"q{i}" for i in range(60)], "a": d, "b": 0.0})
        once, often = (significance.read(table, looks=k, baseline="b").comparisons.iloc[0] for k in (1, 5))
        assert often["p"] >= once["p"]
        assert often["p"] <= 5 * once["p"] + 1e-12
        assert often["low"] <= once["low"]
        assert (often["p"] < 0.05) == (not often["low"] <= 0 <= often["high"])
    study = significance.read(table, looks=5)
    assert study.look_level == pytest.approx(1 - 0.0158, abs=1e-4)
    assert "You looked 5 times: at 0.05 each, chance alone finds something in 14.2%" in told(study)


def test_equivalence_and_non_inferiority_by_the_margin(sample):
    text = significance_page.equivalence(sample).text
    first = next(line for line in text.splitlines() if line.startswith("pixel_cosine − lda_cosine"))
    assert first.split()[-2:] == ["yes", "yes"]
    without = significance_page.equivalence(significance.read(wide())).text
    assert "No margin was set" in without


def test_the_gate_and_one_system():
    study = significance.read(wide(), baseline="b", gate="better")
    assert study.gate["passed"]
    one = significance.read(wide()[["query", "a"]])
    assert "nothing to compare" in page.verdict(one).html
    for piece in PIECES:
        assert piece(one)._repr_mimebundle_()


# Errors


@pytest.mark.parametrize(
    "table, asked, message",
    [
        (wide()[["query"]], {}, "no column holds numbers"),
        (wide(), {"systems": "a,c"}, "systems or unit: data frame has no column 'c'"),
        (wide(), {"baseline": "c"}, "there is no system 'c'"),
        (wide(), {"null": 0.5}, "null and alternative: need columns successes and trials"),
        (wide(), {"metrics": "x,y"}, "a wide table holds one.*got 2"),
        (wide(), {"lower_is_better": "loss"}, "there is no metric 'loss', the input has value"),
        (wide(), {"looks": 0}, "looks must be a whole number of at least 1"),
        (wide(), {"looks": 1000}, "looks must be at most 100"),
        (wide(a=np.inf), {}, r"a must be finite or empty, got inf \(row 1\)"),
        (wide()[:0], {}, "columns and no rows"),
        (wide(query=["q0", None] * 30), {}, r"query must not be empty, got nothing \(row 2\)"),
        (pd.concat([long(wide(), "m")] * 2), {}, "'q0' of 'a' of 'm' must come once, got it again"),
        (long(wide(), "m"), {"metrics": "n"}, "metrics: the input has no column 'n'"),
        (pd.DataFrame({"successes": [3], "trials": [0]}), {"null": 0.5}, r"got 3 of 0 \(row 1\)"),
        (pd.DataFrame({"successes": [3], "trials": [2]}), {"null": 0.5}, r"got 3 of 2 \(row 1\)"),
        (pd.DataFrame({"successes": [1.5], "trials": [2]}), {"null": 0.5}, "must be whole"),
        (pd.DataFrame({"successes": [1], "trials": [2]}), {"alternative": "less"}, "is about a null share"),
        (pd.DataFrame({"successes": [1], "trials": [2]}), {"null": 1.5}, "null must be a number between 0 and 1"),
        (pd.DataFrame({"id": ["x"], "y_true": [1], "y_score": [1.2]}), {}, "must be a chance between 0 and 1, got 1.2"),
        (pd.DataFrame({"id": ["x"], "y_true": [2], "y_score": [0.2]}), {}, "label must be 0 or 1, got 2"),
    ],
)
def test_refusals(table, asked, message):
    with pytest.raises((InputError, ParameterError), match=message):
        significance.read(table, **asked)


def test_an_arm_without_data_is_refused_and_not_certified():
    table = wide()
    table["b"] = np.nan
    with pytest.raises(InputError, match="no query has a value for both"):
        _ = significance.read(table, systems="a,b").comparisons
    table = pd.DataFrame({"arm": ["A", "B"], "successes": [5, 0], "trials": [9, 0]})
    with pytest.raises(InputError, match=r"got 0 of 0 \(row 2\)"):
        significance.read(table)


# The pictures draw what was computed


def axes(draw, monkeypatch, *data, **options):
    """The axes on which a drawing function draws."""
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    draw(*data, ax, **options)
    return ax


def test_the_pictures_hold_their_data(sample, monkeypatch):
    from evalkit.drawing import claim_plots

    frame = significance_extras.power_curve(sample)
    ax = axes(claim_plots.power, monkeypatch, frame, observed=0.0086, margin=0.05, xlabel="true difference")
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert {"n = 25", "n = 100", "n = 400"} <= set(lines)
    assert lines["n = 100"].tolist() == frame[frame["units"] == 100]["power"].tolist()
    draws = sample.null_draws()
    ax = axes(claim_plots.null_distribution, monkeypatch, draws, observed=0.0086, xlabel="x", ylabel="y")
    heights = np.array([[bar.get_height() for bar in part] for part in ax.containers])
    assert heights.sum() == pytest.approx(1)
    red = heights[1].sum()
    assert red == pytest.approx(sample.headline.iloc[0]["p"], abs=0.03)
    d = sample.differences().to_numpy()
    ax = axes(claim_plots.histogram, monkeypatch, d, xlabel="x", ylabel="y")
    assert sum(bar.get_height() for bar in ax.patches) == 100


def test_the_curve_of_p_is_the_test_and_the_interval(sample):
    row, curve = sample.headline.iloc[0], sample.p_curve()
    assert np.interp(0.0, curve["mean"], curve["p"]) == pytest.approx(row["p"], abs=0.02)
    inside = curve[curve["p"] >= 0.05]["mean"]
    step = curve["mean"].diff().max()
    assert (inside.min(), inside.max()) == pytest.approx((row["low"], row["high"]), abs=2 * step)


def test_names_from_the_input_stay_text():
    bad = '<img src=x onerror="alert(1)">$\\frac$'
    study = significance.read(wide().rename(columns={"a": bad}).assign(c=lambda t: t["b"] * 0.5), margin=0.1)
    for piece in PIECES:
        if piece is not significance_page.results:
            assert "<img" not in piece(study)._repr_mimebundle_()["text/html"], piece.__name__


# The lessons


def test_the_lesson_of_the_coin():
    frame = lessons.coin().set_index("heads")
    assert frame["chance"].sum() == pytest.approx(1)
    assert frame["one_sided"][[7, 8, 9, 10]].tolist() == pytest.approx(
        [0.171875, 0.0546875, 0.0107421875, 0.0009765625]
    )
    assert frame["two_sided"][[7, 8, 9, 10]].tolist() == pytest.approx([0.34375, 0.109375, 0.021484375, 0.001953125])


def test_a_hundred_intervals_miss_about_as_often_as_they_should():
    missed = lessons.hundred().groupby("method")["covers"].apply(lambda covers: int((~covers).sum()))
    assert 2 <= missed["t"] <= 9
    assert missed["z with s"] > missed["t"]
    assert lessons.coverage()["z_with_s"].tolist() == pytest.approx([0.878, 0.918, 0.940], abs=5e-4)
    assert lessons.replicate() == pytest.approx(0.8342, abs=5e-5)


def test_wrong_methods_err_and_right_ones_do_not():
    frame = lessons.wrong().set_index("wrong")
    assert frame.loc["rows as units (Wilson)", "wrong_rate"] > 0.25
    assert frame.loc["t over the 100 folds", "wrong_rate"] > 0.4
    assert frame.loc["Wilcoxon", "wrong_rate"] > 0.8
    assert frame.loc["sessions as units (sign test)", "wrong_rate"] > 0.3
    assert (frame["right_rate"] < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / lessons.RUNS)).all()


def test_the_lesson_of_looks():
    frame = lessons.looks().set_index("looks")
    assert frame["rate"].tolist() == pytest.approx([0.05, 0.0831, 0.1417, 0.1934, 0.2479], abs=5e-5)
    for k, row in frame.iterrows():
        assert sequential.false_positive_rate(int(k), level=1 - row["pocock"]) == pytest.approx(0.05, abs=1e-6)


# One implementation


def calls(tree, name):
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return [node for node in nodes if node.func.id == name]


def test_comparisons_are_made_in_one_place():
    """Only `significance` builds a Comparison that says something, and no study calls a test of scipy itself."""
    for path in sorted((ROOT / "evalkit").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path != ROOT / "evalkit" / "statistics" / "significance.py":
            assert {ast.unparse(call.args[1]) for call in calls(tree, "Comparison")} <= {"np.nan"}, path
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        imported = {f"{node.module}.{alias.name}" for node in found for alias in node.names}
        if path.parent.name in ("studies", "sections"):
            assert not [name for name in imported if name.startswith("scipy.stats")], path


# The report


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    assert [cli.main(["report", "significance", "-o", str(folder)]) for folder in folders] == [0, 0]
    return folders


@pytest.mark.parametrize("ending", ["html", "ipynb", "json"])
def test_two_runs_write_the_same_bytes(reports, ending):
    first, second = (folder / f"significance.{ending}" for folder in reports)
    assert first.read_bytes() == second.read_bytes()


def test_the_page_is_small_and_loads_nothing(reports):
    text = (reports[0] / "significance.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?\s*(https?:)?//""", text)
    assert str(ROOT) not in text
    assert text.count("<details>") >= 5


@pytest.mark.parametrize("asked", [None, "folds", "coin", "one"])
def test_the_json_is_what_the_schema_says(reports, asked):
    results = json.loads((reports[0] / "significance.json").read_text(encoding="utf-8"))
    if asked:
        fold = pd.DataFrame({"fold": range(6), "a": rng(5).normal(size=6), "b": rng(6).normal(size=6)})
        tables = {
            "folds": fold,
            "coin": pd.DataFrame({"successes": [8], "trials": [10]}),
            "one": wide()[["query", "a"]],
        }
        more = {"folds": {"test_to_train": 0.2}, "coin": {"null": 0.5}, "one": {}}
        study = significance.read(tables[asked], **more[asked])
        results = significance_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]
    schema = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(results)
    assert "NaN" not in json.dumps(results)
    broken = {key: value for key, value in results.items() if key != "family"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(broken)


# Duality, symmetry and level over all tests


def random_differences(g):
    n = int(g.integers(5, 60))
    kind = g.integers(4)
    shift = g.normal(0, 0.4)
    if kind == 0:
        return g.normal(shift, 1, n)
    if kind == 1:
        return g.integers(-3, 4, n) / 4
    if kind == 2:
        return g.choice([0.0, -0.1, 1.0], n, p=[0.7, 0.25, 0.05])
    return g.exponential(1, n) - 1 + shift


def test_p_is_below_alpha_exactly_when_0_is_outside_in_1000_random_cases():
    g, rejected = rng(7), 0
    for i in range(1000):
        d = random_differences(g)
        for c in (sig.sign_flip(d, rng=rng(i), draws=1000), sig.paired_t(d)):
            if np.isnan(c.p_value):
                continue
            assert (c.p_value < 0.05) == (not c.difference.low <= 0 <= c.difference.high), (i, c)
        back = sig.sign_flip(-d, rng=rng(i), draws=1000)
        first = sig.sign_flip(d, rng=rng(i), draws=1000)
        assert back.p_value == first.p_value
        assert back.difference.value == -first.difference.value
        assert (back.difference.low, back.difference.high) == (-first.difference.high, -first.difference.low)
        rejected += first.p_value < 0.05
    assert 100 < rejected < 900


def test_exact_p_values_of_the_sample_need_no_draws(sample):
    row = sample.comparisons[(sample.comparisons["metric"] == "reciprocal_rank") & (sample.comparisons["p"] == 0.25)]
    assert len(row) == 2
    d = sample.differences(("pixel_cosine", "lda_cosine"), sample.settings.metrics[2]).to_numpy()
    assert signflip.exact_p(d) == (0.25, "exact enumeration")
