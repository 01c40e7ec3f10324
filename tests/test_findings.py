"""Findings: each code is one documented kind, of pages that give its facts; directions that are
assumed.
"""

import ast
import re
import sys
from dataclasses import replace
from pathlib import Path
from string import Formatter

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from engine_samples import compared
from online_samples import SMALL, users

import evalkit as ek
from evalkit.catalogue import lookup
from evalkit.drawing.shown import findings
from evalkit.findings import kinds
from evalkit.findings.kinds import (
    NO_DIRECTION,
    NOTE,
    SEVERE,
    WARNING,
    Finding,
    FindingKind,
    measured,
    ordered,
)
from evalkit.pages import experiment_page, significance_page, texts
from evalkit.parameters.reports import NOTEBOOKS
from evalkit.studies import interleaving, significance

TRUST = Path(__file__).resolve().parents[1] / "benchmarks" / "trust"
PACKAGE = Path(__file__).resolve().parents[1] / "evalkit"
KINDS = kinds.all_kinds()
KIND = FindingKind(
    "EK999", "name", "What it means.", "What to do.", {"": "{fact}", "other": "Fine."}
)


def test_a_code_and_a_name_are_of_one_kind():
    assert (
        len({kind.code for kind in KINDS}) == len({kind.name for kind in KINDS}) == len(KINDS) > 90
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_every_kind_has_a_theme_a_name_a_meaning_and_advice(kind):
    assert re.fullmatch(r"EK[1-9]\d\d", kind.code)
    assert kind.code[:3] in kinds.THEMES
    assert re.fullmatch(r"[a-z][\w -]{3,35}", kind.name)
    for sentence in (kind.meaning, kind.advice):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "|" not in sentence


def test_every_kind_is_used_and_every_name_that_is_used_is_a_kind():
    used = set()
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        named = (
            re.findall(r"\bkinds\.([A-Z_]+)\b", source)
            if "from evalkit.findings import kinds" in source
            else []
        )
        of_kinds = set(named) - set(kinds.Severity.__members__)
        assert of_kinds <= set(kinds.KINDS), path
        assert set(re.findall(r"\bmeasured\.([A-Z_]+)\b", source)) <= set(vars(kinds.measured)), (
            path
        )
        used |= of_kinds
    assert used == set(kinds.KINDS)


def given(function):
    """Each sentence that a function of a page says: its text, or those that it may be, and the
    facts that it gives.
    """
    nodes = list(ast.walk(function))
    named = {}
    assigned = (
        node for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
    )
    for node in (node for node in assigned if node.value is not None):
        dicts = [part for part in ast.walk(node.value) if isinstance(part, ast.Dict)]
        keys = {key.value for part in dicts for key in part.keys if isinstance(key, ast.Constant)}
        for name in ast.walk(node.targets[0] if isinstance(node, ast.Assign) else node.target):
            named[ast.unparse(name)] = named.get(ast.unparse(name), set()) | keys
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        of = ast.unparse(call.func)
        if (
            made := re.fullmatch(r"kinds\.([A-Z_]+)\.(note|warning|rated)|texts\.said", of)
        ) is not None:
            words = {
                part.value
                for arg in call.args
                for part in ast.walk(arg)
                if isinstance(part, ast.Constant)
            }
            says = kinds.KINDS[made[1]].says if made[1] else texts.CAPTIONS
            facts = {
                fact
                for k in call.keywords
                for fact in ([k.arg] if k.arg else named[ast.unparse(k.value)])
            }
            facts |= {"study"} if not made[1] and len(call.args) > 1 else set()
            yield [says[form] for form in says if form in words] or [*says.values()], facts


def test_a_page_gives_the_facts_that_a_sentence_needs():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.glob("pages/*.py")]
    functions = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    sentences = [sentence for function in functions for sentence in given(function)]
    assert len(sentences) > 130
    for several, facts in sentences:
        for text in several:
            fields = {
                re.split(r"[.\[]", field)[0] for _, field, _, _ in Formatter().parse(text) if field
            }
            assert fields - set(vars(kinds.measured)) == facts, text


def test_severe_findings_come_first_and_others_keep_their_order():
    several = [
        Finding(KIND, *of) for of in ((NOTE, "a"), (WARNING, "b"), (SEVERE, "c"), (WARNING, "d"))
    ]
    assert [one.message for one in ordered(several)] == ["c", "b", "d", "a"]


def test_the_record_is_what_the_json_has():
    record = Finding(KIND, WARNING, "3 of 9 rows.", 3, 9, (0, 4)).record()
    told = {
        "code": "EK999",
        "name": "name",
        "severity": "warning",
        "message": "3 of 9 rows.",
        "advice": "What to do.",
    }
    assert record == told | {"count": 3, "of": 9, "rows": [0, 4]}


def test_the_page_says_what_to_do_where_it_matters():
    shown = findings([KIND.warning(fact="Look <here>."), KIND.rated(NOTE, None, "other")])
    code = '<span class="muted" title="name: What to do.">EK999</span>'
    assert f'<li id="EK999" class="warn">Look &lt;here&gt;. What to do. {code}</li>' in shown.html
    assert f"<li>Fine. {code}</li>" in shown.html
    assert shown.text == "Look <here>. [EK999]\nFine. [EK999]"


def test_two_warnings_that_touch_the_answer_stand_on_top_and_others_where_they_belong():
    touching = replace(KIND, at=("verdict", "metrics"))
    of_slices = replace(KIND, code="EK998", at=("slices",))
    several = [
        kind.warning(fact=fact)
        for kind, fact in ((of_slices, "a"), (touching, "b"), (touching, "c"), (touching, "d"))
    ]
    several.append(touching.note(fact="e"))
    marked = re.findall(r"<!--at (\w+)-->(.*?)<!--/at-->", findings(several).html)
    (_, folded), *lists = marked
    assert [(place, re.findall(r"<li[^>]*>(\w) ?", markup)) for place, markup in lists] == [
        ("verdict", ["b", "c"]),
        ("metrics", ["d", "e"]),
        ("slices", ["a"]),
    ]
    assert "5 findings, 4 warnings among them" in folded
    assert re.findall('href="#(.*?)"', folded) == ["EK999", "EK998"]


def test_notes_on_what_was_read_stand_folded_at_the_end():
    read = replace(KIND, code="EK121", at=("metrics",))
    tested = replace(KIND, code="EK414", at=("metrics",))
    notes = [read.note(fact="rows"), tested.note(fact="tests")]
    shown = findings([*notes, read.warning(fact="labels")]).html
    (section,) = re.findall("<!--at metrics-->(.*?)<!--/at-->", shown)
    assert re.findall(r"<li[^>]*>(\w+)", section) == ["labels", "tests"]
    end = shown.rsplit("<!--/at-->", 1)[1]
    assert end.startswith('<details class="noted"><summary>1 note on what was read</summary>')
    assert re.findall(r"<li[^>]*>(\w+)", end) == ["rows"]


def test_of_many_notes_of_a_section_all_are_folded():
    kind = replace(KIND, code="EK414", at=("metrics",))
    several = [kind.note(fact=fact) for fact in "abc"]
    (section,) = re.findall("<!--at metrics-->(.*?)<!--/at-->", findings(several).html)
    assert section.startswith('<details class="noted"><summary>3 notes</summary>')
    assert "<details" not in findings(several[:2]).html.split("<!--at metrics-->")[1]


def test_advice_names_parameters_that_exist():
    known = {name for report in NOTEBOOKS.values() for name in report.options()} | {"id", "all"}
    named = {
        name
        for kind in KINDS
        for name in re.findall(r"`(\w+)(?:=\w+)?`", kind.meaning + kind.advice)
    }
    assert len(named) > 10
    assert named - known == set()


def test_what_is_declared_is_a_sentence_of_the_pages(monkeypatch):
    monkeypatch.syspath_prepend(str(TRUST))
    import declared

    sentences = {text for text in vars(measured).values() if isinstance(text, str)}
    assert {exception.told for exception in declared.DECLARED} <= sentences
    assert sys.modules["declared"].__file__ == str(TRUST / "declared.py")


@pytest.mark.parametrize(
    "name",
    [
        "SMALL_CLASS",
        "RARE_POSITIVES",
        "RARE",
        "HEAVY",
        "SPARSE",
        "WHOLE",
        "ZIPF",
        "SHOWN",
        "UNEQUAL",
        "UNEQUAL_ERRORS",
        "RARE_MISSES",
        "LEADER",
        "BEST",
        "POOLED",
    ],
)
def test_a_sentence_ends_and_has_a_figure(name):
    text = getattr(measured, name)
    assert text.endswith(".")
    assert re.search(r"\d% ", text)


RNG = np.random.default_rng(5)
LESS = RNG.normal(1, 0.2, 40)  # `good` has lower values than `bad`


def table(value="value", **more):
    """One row a unit and system, values in the column of that name."""
    both = np.concatenate([LESS, LESS + RNG.normal(0.5, 0.1, 40)])
    return pd.DataFrame(
        {"query": [*range(40)] * 2, "system": ["good"] * 40 + ["bad"] * 40, value: both} | more
    )


def better(study):
    """The better system of the only pair."""
    row = study.headline.iloc[0]
    return row["first"] if row["verdict"] == "better" else row["second"]


def warned(study):
    """The findings on directions that are assumed."""
    return [f.message for f in significance_page.every_finding(study) if f.kind is NO_DIRECTION]


LOWER = "loss wer WER perplexity ppl error cost time regret eer fid cer ter log_loss logLoss"
UNITS = "latency_ms time_s Latency_(sec) error_%"


@pytest.mark.parametrize("name", f"{LOWER} {UNITS}".split())
@pytest.mark.parametrize("read", [significance.read, compared])
def test_a_column_of_losses_is_lower_is_better_under_its_own_name(name, read):
    study = read(table(name))
    assert (study.primary.label, better(study), warned(study)) == (name, "good", [])


@pytest.mark.parametrize(
    "name", ["accuracy", "F1", "ndcg@10", "reward", "neg_log_loss", "-loss", "watch_time"]
)
def test_a_column_of_gains_is_higher_is_better_without_a_warning(name):
    study = ek.significance(table(name), columns=f"value={name}")
    assert (study.primary.label, better(study), warned(study)) == (name, "bad", [])


@pytest.mark.parametrize(
    "name", ["value", "closeness", "terrain", "minutes", "cost_reduction", "Wert"]
)
@pytest.mark.parametrize("read", [significance.read, compared])
def test_a_name_that_says_nothing_is_told_with_what_to_set(name, read):
    study = read(table(name))
    assert study.headline.iloc[0][["first", "verdict"]].tolist() == ["bad", "higher"]
    assert f"If lower ones are, set lower_is_better={name!r}" in warned(study)[0]
    assert "whether higher or lower is better is not known" in str(study)
    assert not re.search(r"\b(better|worse) than\b", str(study))
    turned = read(table(name), lower_is_better=name)
    assert (better(turned), warned(turned)) == ("good", [])
    higher = read(table(name), lower_is_better="none")
    assert (better(higher), warned(higher)) == ("bad", [])


def test_whole_words_decide_and_no_part_of_one():
    assert {
        lookup.direction(name)
        for name in ("glossy", "lossless", "water", "costume", "timer", "interrogate")
    } == {None}


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """The units of a rating report by an own metric of which less is better, and its better
    system.
    """
    folder = tmp_path_factory.mktemp("rated")
    (folder / "mine.py").write_text(
        "import evalkit as ek\n\n@ek.mean(best='low')\ndef my_own(actual, forecast): return "
        "abs(actual - forecast)\n"
    )
    actual = RNG.normal(0, 1, 60)
    frame = {
        "actual": actual,
        "forecast_good": actual + 0.1,
        "forecast_bad": actual + RNG.normal(0.6, 0.1, 60),
    }
    study = ek.rating(pd.DataFrame(frame), metrics=f"{folder / 'mine.py'}:my_own")
    study.save(folder / "rated.units.parquet")
    return folder / "rated.units.parquet", better(study)


def test_the_units_of_a_report_keep_the_direction_that_they_state(rated):
    file, good = rated
    for data in (str(file), pq.read_table(file)):
        for read in (significance.read, compared):
            study = read(data, columns="value=numerator")
            assert (study.primary.label, better(study), warned(study)) == ("my_own", good, [])


def test_an_earlier_report_keeps_the_direction_that_it_states(tmp_path):
    ek.significance(table("minutes"), lower_is_better="minutes").save(tmp_path / "earlier.json")
    study = ek.significance(str(tmp_path / "earlier.json"))
    assert (better(study), warned(study)) == ("good", [])


def test_a_share_of_errors_is_lower_is_better():
    counts = pd.DataFrame({"system": ["good", "bad"], "errors": [10, 60], "n": [100, 100]})
    assert better(ek.significance(counts, columns="successes=errors,trials=n")) == "good"


@pytest.mark.parametrize(
    "metric, first, told", [("latency_ms", "a", 0), ("orders", "b", 0), ("amount", "a", 1)]
)
def test_metrics_of_an_ab_test_have_the_direction_of_their_names(metric, first, told):
    data = users(orders=[1, 9, 0, 9, 1, 8, 2, 9]).rename(columns={"orders": metric})
    study = interleaving.read(users=data, metrics=metric, **SMALL).users
    assert (
        better(study),
        len([f for f in experiment_page.findings_of_users(study) if f.kind is NO_DIRECTION]),
    ) == (
        first,
        told,
    )
    less = interleaving.read(users=data, metrics=metric, best="low", **SMALL).users
    assert (
        better(less),
        [f for f in experiment_page.findings_of_users(less) if f.kind is NO_DIRECTION],
    ) == ("a", [])


@pytest.mark.parametrize(
    ("grades", "metrics", "orders"),
    [
        (["bad", "ok", "good"], "accuracy,kappa_quadratic", ["bad, good, ok"]),
        (["2", "10", "none"], "kappa_quadratic", ["2, 10, none"]),
        (["1", "2", "10"], "kappa_quadratic", []),
        (["bad", "ok", "good"], "accuracy,kappa", []),
    ],
)
def test_grades_in_alphabetical_order_are_warned_of_with_the_order(grades, metrics, orders):
    ratings = {"label": grades * 4, "predicted": grades[::-1] * 4}
    found = ek.classification(ratings, metrics=metrics).findings.query("code == 'EK134'")
    assert [re.findall("the order (.*):", message)[0] for message in found["message"]] == orders
