"""Tables as tools and people write them, each with what an expert colleague would want of it.

A row is a name, the table, and what is wanted. `bm25 dense 40` wants a page of these systems, with 40 units behind its
first number; `!` that a refusal will not do, else it will. `no` wants a refusal, `no: a|b` one with one of these words.
A table is never read as something else. All was written before any of it was run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Content = str | bytes | pd.DataFrame | Mapping[str, "Content"] | Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """content: of one file, or of several by name, of which the first is what the report reads."""

    report: str
    name: str
    content: Content
    wants: str
    file: str = "preds.csv"
    given: Mapping[str, Any] | None = None


def csv(base: Mapping[str, Any] | None = None, sep: str = ",", decimal: str = ".", /, **columns: Any) -> str:
    """A table as text: the columns of `base`, some of them others."""
    return frame(base, **columns).to_csv(index=False, sep=sep, decimal=decimal)


def frame(base: Mapping[str, Any] | None = None, /, **columns: Any) -> pd.DataFrame:
    """A table, which is written as the suffix of its file says."""
    return pd.DataFrame({**(base or {}), **columns})


def summed(name: str, of: Callable[[Any], float]) -> str:
    """A wide table with a last row that sums it up."""
    return csv(WIDE) + f"{name},{of(A):.3f},{of(B):.3f}\n"


def lines(form: str, *columns: Any) -> str:
    """A line for each row."""
    return "".join(f"{form.format(*row)}\n" for row in zip(*columns, strict=True))


N = 40
ROW = np.arange(N)
RNG = np.random.default_rng(5)
A = RNG.uniform(0.2, 0.9, N).round(3)
B = (A + RNG.normal(0.03, 0.05, N)).clip(0, 1).round(3)
LABEL = RNG.permutation(np.arange(N) % 2)
TRUE = LABEL == 1
SCORE = (0.3 + 0.4 * LABEL + RNG.uniform(-0.25, 0.25, N)).round(3)
OTHER = (0.4 + 0.2 * LABEL + RNG.uniform(-0.35, 0.35, N)).round(3)
ACTUAL = RNG.gamma(3, 20, N).round(1)
FORECAST = (ACTUAL + RNG.normal(0, 8, N)).round(1)
WORSE = (ACTUAL + RNG.normal(3, 14, N)).round(1)
RELEVANT = RNG.integers(1, 9, N)
Q, R = [f"q{i:02d}" for i in ROW], [f"r{i:03d}" for i in ROW]
WIDE = {"query": Q, "bm25": A, "dense": B}
DESCRIBED = {"": ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]}
LONG = {"query": Q * 2, "model": ["bm25"] * N + ["dense"] * N, "value": [*A, *B]}
MEASURED = {"query": Q * 4, "model": LONG["model"] * 2, "metric": ["ndcg"] * 2 * N + ["map"] * 2 * N}
CURVES = {f"{r} - acc{e}": V for r, V in (("a", A), ("b", B)) for e in ("", "__MIN", "__MAX")}
BOTH = (("bm25", A), ("dense", B))
ARABIC = {ord("0") + digit: 0x660 + digit for digit in range(10)}
SPLITS = {"split0_test_score": A, "split1_test_score": B}
STARS = [f"{b:.3f}{'**' if i % 3 else ''}" for i, b in enumerate(B)]

SIGNIFICANCE = (
    ("values by query", csv(WIDE), "bm25 dense 40!"),
    ("pandas with its index", csv({"": ROW}, **WIDE), "bm25 dense 40"),
    ("R with row names", csv({"": 1 + ROW}, bm25=A, dense=B), "bm25 dense 40"),
    ("German Excel", csv({}, ";", ",", Anfrage=Q, bm25=A, dense=B), "bm25 dense 40"),
    ("German Excel with an average", summed("Durchschnitt", np.mean), "no: Durchschnitt"),
    ("pivot table with a total", summed("Total", np.sum), "no: Total"),
    ("pivot table with a grand total", summed("Grand Total", np.sum), "no: Total"),
    ("a last row of means", summed("mean", np.mean), "no: mean"),
    ("trec_eval's all as a query", summed("all", np.mean), "no: all"),
    (
        "describe()",
        csv(DESCRIBED, bm25=[40, 0.5, 0.1, 0.2, 0.4, 0.5, 0.6, 0.9], dense=[40, 0.6, 0.1, 0.2, 0.4, 0.5, 0.6, 0.9]),
        "no: count|summary",
    ),
    (
        "stars of significance",
        csv(WIDE, dense=STARS),
        "no: dense",
    ),
    ("plus minus", csv(WIDE, dense=[f"{b}±0.02" for b in B]), "no: dense"),
    ("errors in brackets", csv(WIDE, dense=[f"{b} (0.02)" for b in B]), "no: dense"),
    ("per cent", csv(WIDE, bm25=[f"{a:.1%}" for a in A], dense=[f"{b:.1%}" for b in B]), "bm25 dense 40"),
    ("NULL of SQL", csv(WIDE, dense=["NULL", *B[1:]]), "bm25 dense 39"),
    ("difference and p beside", csv(WIDE, diff=B - A, p=A), "bm25 dense 40"),
    (
        "length and zip code beside",
        csv(query=Q, length=9 + ROW, zip_code=10115 + ROW, bm25=A, dense=B),
        "bm25 dense 40",
    ),
    ("num_rel beside", csv(query=Q, num_rel=RELEVANT, bm25=A, dense=B), "bm25 dense 40"),
    ("dates as numbers", csv(date=20240101 + ROW[:30], bm25=A[:30], dense=B[:30]), "bm25 dense 30"),
    ("subject and question", csv(subject=ROW // 10, question_id=ROW % 10, bm25=A, dense=B), "bm25 dense 40"),
    ("W&B curves", csv(Step=ROW, **CURVES), "no: __MIN|Step|systems"),
    (
        "MLflow runs",
        csv({"metrics.acc": A, "metrics.f1": B, "params.lr": 0.1}, run_id=R, experiment_id=1, status="FINISHED"),
        "no: params.lr|systems",
    ),
    (
        "HF Trainer",
        csv(epoch=ROW, step=10 * ROW, loss=A, learning_rate=1e-5, eval_loss=B),
        "no: learning_rate|step|epoch|systems",
    ),
    (
        "Optuna",
        csv(number=ROW, value=A, duration=B, params_x=A, params_depth=ROW, state="COMPLETE"),
        "no: params_x|params_depth|systems",
    ),
    (
        "cv_results_",
        csv(mean_fit_time=A, param_C=ROW, **SPLITS, mean_test_score=A, std_test_score=B, rank_test_score=1 + ROW),
        "no: mean_fit_time|param_C|rank_test_score|systems",
    ),
    (
        "cross_validate",
        csv({"": ROW[:10]}, fit_time=A[:10], score_time=B[:10], test_accuracy=A[:10], test_f1=B[:10]),
        "no: fit_time|score_time|systems",
    ),
    ("scores by fold", csv(fold=ROW[:10], logistic=A[:10], forest=B[:10]), "logistic forest 10"),
    ("AutoGluon leaderboard", csv(model=R, score_val=A, pred_time_val=B, fit_time=A, stack_level=1), "no"),
    (
        "psql",
        f" query | bm25 | dense \n-------+------+-------\n{lines(' {} | {} | {} ', Q, A, B)}(40 rows)\n",
        "no",
    ),
    ("long with metrics", csv(MEASURED, value=[*A, *B, *B, *A]), "bm25 dense 40!"),
    ("lm-eval table", csv({"n-shot": 0}, task=R, version=1, metric="acc", value=A, stderr=B), "value 40"),
    ("log losses by name", csv(query=Q, log_loss_a=A, log_loss_b=B), "log_loss_a log_loss_b 40"),
    ("results as JSON of one number", '{"NDCG@10": 0.5, "MAP": 0.4}', "no", "preds.json"),
    (
        "trec_eval -q",
        {
            "bm25.txt": lines("map\t{}\t{:.4f}", [*Q, "all"], [*A, A.mean()]),
            "dense.txt": lines("map\t{}\t{:.4f}", [*Q, "all"], [*B, B.mean()]),
        },
        "bm25 dense 40!",
    ),
    ("Kaggle leaderboard", csv(TeamId=ROW, TeamName=R, SubmissionDate="2024-01-01", Score=A), "no"),
    (
        "lm-eval samples",
        frame(doc_id=ROW, target="A", acc=(A > 0.5) * 1, acc_norm=(B > 0.5) * 1),
        "no: acc",
        "preds.jsonl",
    ),
    (
        "samples, a file each",
        {f"{m}.jsonl": frame(doc_id=ROW, exact_match=(V > 0.5) * 1) for m, V in BOTH},
        "bm25 dense 40",
    ),
    ("values, a file each", {f"{m}.csv": csv(query=Q, score=V) for m, V in BOTH}, "bm25 dense 40"),
    ("HELM", csv(instance_id=R, train_trial_index=0, name="exact_match", count=1, sum=A, mean=A), "no"),
    ("promptfoo", csv({"[openai:gpt] {{q}}": "[PASS] Paris", "[llama] {{q}}": "[FAIL] Rome"}, question=Q), "no"),
    (
        "Ragas",
        csv(user_input=Q, response="x", faithfulness=A, answer_relevancy=B, context_recall=A),
        "no: faithfulness",
    ),
    ("MTEB leaderboard", csv(Model=R, ArguAna=A, FiQA=B, SciFact=A), "no"),
    ("MTEB tasks", csv(task=Q, e5=A, bge=B), "bge e5 40!"),
    ("sacrebleu", '{"name": "BLEU", "score": 29.4, "signature": "nrefs:1", "nrefs": "1"}', "no", "preds.json"),
    ("TFMA slices", csv(slice=Q, example_count=ROW + 9, auc=A, auc_precision_recall=B), "no: auc"),
    ("Snowflake", csv(QUERY=Q, BM25=A, DENSE=B, _PARTITIONTIME="2024-01-01 00:00:00 UTC"), "BM25 DENSE 40!"),
    ("Snowflake, long", csv(QUERY_ID=Q * 2, MODEL=LONG["model"], VALUE=LONG["value"]), "bm25 dense 40!"),
    (
        "a dbt snapshot",
        csv(query=[Q[0], *Q[:39]], bm25=A, dense=B, dbt_scd_id=R, dbt_valid_to=["2024-01-02", *[""] * 39]),
        "no",
    ),
    ("Looker with totals", csv(WIDE) + ",20.1,21.2\n", "no: query"),
    ("Tableau crosstab", csv(WIDE, "\t").encode("utf-16"), "bm25 dense 40"),
    ("a merged header", ",ndcg,ndcg,map,map\nquery,bm25,dense,bm25,dense\n" + lines("{},{},{},1,2", Q, A, B), "no"),
    ("points of SAS", csv(WIDE, dense=[".", *B[1:]]), "bm25 dense 39"),
    ("missing codes of Stata", csv(WIDE, dense=[".a", *B[1:]]), "bm25 dense 39"),
    ("Qualtrics", 'ResponseId,Q1\nResponse ID,Rate\n"{""ImportId"":""_id""}",x\n' + lines("{},{}", R, RELEVANT), "no"),
    ("SurveyMonkey", "Respondent ID,Design A,Design B\n,Response,Response\n" + lines("{},{},4", R, RELEVANT), "no"),
    ("pytrec_eval", '{"q1": {"map": 0.5, "ndcg": 0.6}, "q2": {"map": 0.4, "ndcg": 0.5}}', "no", "preds.json"),
    ("ir_measures -q", lines("{}\tnDCG@10\t{}", Q, A), "no"),
    ("system and metric in a name", csv(query=Q, bm25_ndcg=A, bm25_map=B, dense_ndcg=B, dense_map=A), "no: bm25_"),
    ("means and deviations", csv(dataset=Q, a_mean=A, a_std=B, b_mean=B, b_std=A), "no: a_std"),
    ("intervals beside", csv(dataset=Q, a=A, a_ci_low=A - 0.1, a_ci_high=A + 0.1, b=B), "no: a_ci"),
    ("ranks beside", csv(dataset=Q, a=A, a_rank=RELEVANT, b=B, b_rank=RELEVANT), "no: a_rank"),
    ("times in ms beside", csv(query=Q, a=A, b=B, a_ms=900 * A, b_ms=900 * B), "a b a_ms b_ms EK117 40"),
    ("one system in per cent", csv(WIDE, dense=100 * B), "bm25 dense EK117 40"),
    ("one system in per cent, long", csv(LONG, value=[*A, *(100 * B)]), "bm25 dense EK117 40"),
    ("unicode minus", csv(WIDE, bm25=[f"−{a}" for a in A]), "bm25 dense 40"),
    ("Arabic digits", csv(WIDE, bm25=[str(a).translate(ARABIC) for a in A]), "bm25 dense 40"),
    (
        "a Markdown table",
        "| query | bm25 | dense |\n|---|---:|---:|\n" + lines("| {} | {} | {} |", Q, A, B),
        "bm25 dense 40",
    ),
    ("fixed width", "query    bm25  dense\n" + lines("{:5} {:7} {:6}", Q, A, B), "bm25 dense 40"),
    ("write.table of R", '"query" "bm25" "dense"\n' + lines('"{}" "{}" {} {}', ROW, Q, A, B), "bm25 dense 40"),
    ("orient=split", frame(WIDE).to_json(orient="split"), "no", "preds.json"),
    ("orient=columns", frame(WIDE).to_json(), "no", "preds.json"),
    ("orient=index", frame(bm25=A, dense=B).to_json(orient="index"), "no", "preds.json"),
    ("Optimizely results", csv(Variation=["A", "B"], Visitors=[900, 910], Conversions=[50, 40]), "no: Visitors|trials"),
    ("VWO", csv({"Conversions / Visitors": ["50 / 900", "40 / 910"]}, Variation=["A", "B"]), "no"),
    (
        "GrowthBook aggregates",
        csv(variation=["0", "1"], users=[900, 910], main_sum=[50, 40], main_sum_squares=[50, 40]),
        "no",
    ),
    ("Statsig pulse", csv(metric_name=Q, control_mean=A, test_mean=B, delta=B - A, p_value=A), "no: metric_name"),
    ("an average rank below", summed("Avg. rank", np.mean), "no: Avg. rank"),
    ("HumanEval", frame(task_id=np.repeat(Q[:8], 5), passed=TRUE), "passed 8", "preds.jsonl"),
    ("sep= of Excel", "sep=;\n" + csv(WIDE, ";"), "bm25 dense 40"),
    ("Windows letters", csv({"Präzision": A, "Schätzer": B}, query=Q).encode("cp1252"), "no: UTF-8"),
    ("names in two cases", csv(LONG, model=["BM25", *LONG["model"][1:]]), "no: BM25"),
    ("a system called nan", csv(LONG, model=["nan", *LONG["model"][1:]]), "no: nan"),
    ("statistics of each row", csv(WIDE, mean=A, std=B, min=A, max=B), "bm25 dense 40"),
    ("improvement beside", csv(WIDE, improvement=B - A, lift=B / A), "bm25 dense 40"),
    ("Greek difference", csv(WIDE, **{"Δ": B - A, "%Δ": B / A}), "bm25 dense 40"),
    ("groups as numbers", csv(WIDE, group=ROW // 10), "bm25 dense 40"),
    ("settings of a language model", csv(WIDE, temperature=0.7, top_k=50, max_tokens=512), "bm25 dense 40"),
    ("Search Console", csv(query=Q, Clicks=RELEVANT, Impressions=RELEVANT + 99, CTR=A, Position=B), "no"),
)

SCORED = {"id": R, "label": LABEL, "score": SCORE}
SURE = 0.5 + abs(SCORE - 0.5)
SAID = np.where(SCORE > 0.5, "POSITIVE", "NEGATIVE")
TABLE = '{"columns": ["label", "score"], "data": [[1, 0.5], [0, 0.4]]}'
CLASSIFICATION = (
    ("label and score", csv(SCORED), "40!"),
    ("two models, wide", csv(id=R, label=LABEL, score_a=SCORE, score_b=OTHER), "a b 40!"),
    ("a byte order mark", b"\xef\xbb\xbf" + csv(SCORED).encode(), "40!"),
    ("Excel's Unicode text", csv(SCORED, "\t").encode("utf-16"), "40"),
    ("Windows line ends", csv(SCORED).replace("\n", "\r\n"), "40!"),
    ("semicolons and decimal commas", csv(SCORED, ";", ","), "40"),
    ("TRUE and FALSE of R", csv(SCORED, label=np.where(TRUE, "TRUE", "FALSE")), "40!"),
    ("True and False of Python", csv(SCORED, label=TRUE), "40!"),
    ("labels as 1.0", csv(SCORED, label=LABEL.astype(float)), "40!"),
    ("yes and no", csv(SCORED, label=np.where(TRUE, "yes", "no")), "no: positive"),
    ("codes 1 and 2 of SPSS", csv(SCORED, label=LABEL + 1), "no: positive"),
    ("code 9 for missing", csv(SCORED, label=[9, *LABEL[1:]]), "no: label"),
    ("scores in per cent", csv(SCORED, score=100 * SCORE), "40!"),
    ("margins of XGBoost", csv(SCORED, score=(SCORE - 0.5) * 6), "40!"),
    ("Kaggle submission", csv(id=R, target=SCORE), "no"),
    ("sentiment pipeline", csv(text=R, label=SAID, score=SURE), "no: positive"),
    ("scikit-learn classes", csv(y_true=LABEL, y_pred=SCORE > 0.5, y_proba=SCORE), "40"),
    ("LightGBM", csv(label=LABEL, pred=SCORE), "no: score"),
    ("MLflow evaluation", csv(inputs=R, target=LABEL, predictions=(SCORE > 0.5) * 1), "no: score|predictions"),
    (
        "Spark ML",
        csv(label=LABEL, prediction=SCORE > 0.5, probability=[f"[{1 - s:.3f},{s}]" for s in SCORE]),
        "no: score|labels",
    ),
    ("CatBoost", csv({}, "\t", SampleId=ROW, Probability=SCORE, Label=LABEL), "no", "preds.tsv"),
    ("AutoGluon leaderboard", csv(model=R, score_val=A, fit_time=B), "no: label"),
    ("Label Studio", csv(id=ROW, annotator=1, sentiment="pos", lead_time=A), "no: label"),
    (
        "three classes",
        csv(label=["cat", "dog", "eel", "cat"] * 10, p_cat=A / 3, p_dog=B / 3, p_eel=1 - A / 3 - B / 3),
        "40!",
    ),
    ("null of BigQuery", csv(SCORED, score=["null", *SCORE[1:]]), "no: score"),
    ("ids that Excel rounded", csv(SCORED, id="1.23E+12", model="a"), "no: 1.23E+12"),
    ("an id twice", csv(SCORED, id=[R[1], *R[1:]], model="a"), f"no: {R[1]}"),
    ("dictionary columns", frame(SCORED, label=pd.Categorical(LABEL)), "40!", "preds.parquet"),
    ("W&B table", TABLE, "no", "preds.json"),
    ("SQL dump", "INSERT INTO preds VALUES\n(1,0,0.5),\n(2,1,0.6);\n", "no", "preds.sql"),
    ("Excel workbook", b"PK\x03\x04" + bytes(60), "no", "preds.xlsx"),
    ("a workbook called .csv", b"PK\x03\x04" + bytes(60), "no"),
    ("SPSS file", b"$FL2@(#) SPSS DATA FILE", "no", "preds.sav"),
    ("pickle", b"\x80\x04\x95", "no", "preds.pkl"),
    ("a web page called .csv", "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "no"),
    ("Spark's folder of CSV", {"out/_SUCCESS": "", "out/part-00000-a.csv": csv(SCORED)}, "40!"),
    (
        "Delta Lake",
        {"out/_delta_log/00000000000000000000.json": "{}\n", "out/part-00000.parquet": frame(SCORED)},
        "no: _delta_log|Delta",
    ),
    ("Iceberg", {"out/metadata/v1.metadata.json": "{}", "out/data/a.parquet": frame(SCORED)}, "no: Iceberg"),
    ("Hudi", {"out/.hoodie/hoodie.properties": "a=b\n", "out/a.parquet": frame(SCORED)}, "no: Hudi|hoodie"),
    (
        "Vertex AI",
        '{"instance": {"x": 1}, "prediction": {"classes": ["0", "1"], "scores": [0.1, 0.9]}}\n',
        "no",
        "preds.jsonl",
    ),
    ("SageMaker", lines("{}", SCORE), "no"),
    ("SageMaker, joined", lines("{},3.5,{}", LABEL, SCORE), "no"),
    ("raw values of CatBoost", csv({}, "\t", SampleId=ROW, RawFormulaVal=SCORE), "no", "preds.tsv"),
    ("H2O", csv(label=LABEL, predict=(SCORE > 0.5) * 1, p0=1 - SCORE, p1=SCORE), "no"),
    ("PyCaret", csv(target=LABEL, prediction_label=(SCORE > 0.5) * 1, prediction_score=SURE), "no"),
    ("confidence of what was said", csv(label=LABEL, predicted=(SCORE > 0.5) * 1, score=SURE), "no: score"),
    ("predict_proba", csv({"y_true": LABEL, "0": 1 - SCORE, "1": SCORE}), "no"),
    ("Snowflake", csv(LABEL=LABEL, SCORE=SCORE), "40"),
    ("lists of Hugging Face", frame(label=LABEL, scores=[[1 - s, s] for s in SCORE]), "no", "preds.jsonl"),
    ("booleans in all cases", csv(SCORED, label=[str(t).upper() if i % 2 else t for i, t in enumerate(TRUE)]), "40"),
    ("t and f of PostgreSQL", csv(SCORED, label=np.where(TRUE, "t", "f")), "no: positive"),
    ("footer of psql", csv(SCORED) + "(40 rows)\n", "no"),
    ("signs of an SVM", csv(SCORED, label=2 * LABEL - 1), "40!"),
    ("an empty score", csv(SCORED, score=[None, *SCORE[1:]]), "no: score"),
    ("Prodigy", frame(text=R, label="SPAM", answer=SAID, score=SCORE), "no", "preds.jsonl"),
    ("Doccano", frame(id=ROW, text="x", label=[["pos"]] * N), "no", "preds.jsonl"),
    ("Label Studio JSON", '[{"id": 1, "annotations": [{"result": []}], "data": {"text": "x"}}]', "no", "preds.json"),
    ("CVAT", '<?xml version="1.0"?>\n<annotations><image id="0"/></annotations>\n', "no", "preds.xml"),
    ("COCO", '[{"image_id": 1, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.9}]', "no", "preds.json"),
    ("scores with per cent signs", csv(SCORED, score=[f"{s:.1%}" for s in SCORE]), "40"),
    ("every cell quoted", frame(SCORED).to_csv(index=False, quoting=1), "40!"),
    ("a comma at the end of each line", csv(SCORED).replace("\n", ",\n"), "40"),
    ("two files in one", csv(SCORED) * 2, "no"),
    ("1 and 1.0", csv(SCORED, label=["1.0" if t else i % 2 * "0." + "0" for i, t in enumerate(TRUE)]), "40"),
    ("apostrophes of Excel", csv(SCORED, score=[f"'{s}" for s in SCORE]), "no: score"),
    ("a blank line at the end", csv(SCORED) + "\n\n", "40"),
    ("a total below", csv(SCORED) + "Total,20,0.5\n", "no"),
    (
        "models in two cases",
        csv(id=R * 2, label=[*LABEL] * 2, score=[*SCORE] * 2, model=["a"] * N + ["A "] * N),
        "no: A",
    ),
)

DOCS = [(q, f"d{i}", 10 - i, int((at + i) % 4 == 0)) for at, q in enumerate(Q[:12]) for i in range(8)]
QUERY, ITEM, HITS, GRADE = zip(*DOCS, strict=True)
BY = [i % 8 for i in range(96)]
RUN = lines("{} Q0 {} {} {} tag", QUERY, ITEM, [10 - h for h in HITS], HITS)
QRELS = lines("{} 0 {} {}", QUERY, ITEM, GRADE)
LISTS = {"query": QUERY, "item": ITEM, "score": HITS}
NUMBERED = [i // 8 for i in range(96)]


def judged(run: Content, qrels: Content = QRELS, name: str = "run.txt") -> Content:
    """A run with judgements."""
    return {name: run, "qrels.txt": qrels}


RANKING = (
    ("TREC", judged(RUN), "12!"),
    (
        "MS MARCO",
        judged(
            lines("{}\t{}\t{}", NUMBERED, [d[1:] for d in ITEM], [i + 1 for i in BY]),
            lines("{}\t0\t{}\t{}", NUMBERED, [d[1:] for d in ITEM], GRADE),
        ),
        "12",
    ),
    ("BEIR judgements", judged(RUN, "query-id\tcorpus-id\tscore\n" + lines("{}\t{}\t{}", QUERY, ITEM, GRADE)), "12"),
    ("ids in another case", judged(RUN.replace(" d", " D")), "no: judge|item"),
    ("ids with an ending", judged(RUN.replace(" Q0 d", " Q0 img/d")), "no: judge|item"),
    ("queries of another set", judged(RUN.replace("q", "t")), "no: quer"),
    ("LETOR", judged("2 qid:1 1:0.3 2:0.5\n0 qid:1 1:0.1 2:0.2\n"), "no"),
    ("ranked rows with grades", csv(LISTS, grade=GRADE), "12!"),
    ("recommender log", csv(user_id=QUERY, item_id=ITEM, score=HITS, label=GRADE), "12"),
    ("MovieLens", csv(userId=QUERY, movieId=ITEM, rating=GRADE, prediction=HITS), "no"),
    ("ESCI letters", csv(LISTS, grade=["E", "S", "C", "I"] * 24), "no: grade"),
    ("lists in cells", csv(user_id=Q, items="d1 d2 d3"), "no"),
    ("ranks from 0", csv(query=QUERY, item=ITEM, rank=BY, grade=GRADE), "no: rank"),
    (
        "two systems with plain names",
        csv(query=QUERY, item=ITEM, grade=GRADE, bm25=HITS, dense=RNG.uniform(size=96)),
        "no: systems",
    ),
    ("commas in queries", csv(LISTS, query=[f"shoes, {q}" for q in QUERY], grade=GRADE), "12!"),
    ("rank_eval of Elasticsearch", '{"metric_score": 0.5, "details": {}}', "no", "preds.json"),
    ("Elasticsearch _search", '{"took": 5, "hits": {"hits": [{"_id": "d1", "_score": 1.5}]}}', "no", "preds.json"),
    ("Pyserini", judged(RUN.replace("tag", "Anserini")), "12!"),
    (
        "RecBole",
        "user_id:token\titem_id:token\trating:float\n" + lines("{}\t{}\t{}", QUERY, ITEM, HITS),
        "no",
        "preds.inter",
    ),
    ("Cornac", lines("{},{},{}", QUERY, ITEM, HITS), "no"),
    ("implicit", csv(user_id=QUERY, item_id=ITEM, score=HITS), "no"),
    ("judgements of Quepid", judged(RUN, csv(query=QUERY, docid=ITEM, rating=GRADE)), "12"),
    ("RankLib", lines("{}\t{}\t{}", QUERY, BY, HITS), "no"),
    ("unjudged as -1", judged(RUN, lines("{} 0 {} {}", QUERY, ITEM, [g or -1 for g in GRADE])), "12!"),
    ("a document twice", judged(RUN + RUN[:20]), "no"),
    ("a score that is no number", judged(RUN.replace(" 10 tag", " nan tag")), "no: nan"),
    ("BEIR results", judged('{"q00": {"d1": 0.9}}', QRELS, "run.json"), "no"),
    ("Search Console", csv(query=Q, Clicks=RELEVANT, Impressions=99, CTR=A, Position=B), "no"),
    ("grades in per cent", csv(LISTS, grade=[f"{g}%" for g in GRADE]), "no: grade"),
)

DURATIONS = {"actual": pd.to_timedelta(ACTUAL, "s"), "forecast": pd.to_timedelta(FORECAST, "s")}
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(range(N), "D")
AROUND = {"yhat_lower": FORECAST - 9, "yhat_upper": FORECAST + 9}
RATING = (
    ("actual and forecast", csv(actual=ACTUAL, forecast=FORECAST), "40!"),
    ("two models, wide", csv(actual=ACTUAL, forecast_a=FORECAST, forecast_b=WORSE), "a b 40!"),
    ("forecast_id beside", csv(forecast_id=ROW, actual=ACTUAL, forecast_a=FORECAST, forecast_b=WORSE), "a b 40"),
    ("scikit-learn", csv(y_true=ACTUAL, y_pred=FORECAST), "40"),
    ("Prophet", csv({"ds": "2024-01-01", "y": ACTUAL, "yhat": FORECAST}, **AROUND), "no: actual|forecast"),
    (
        "Prophet, named",
        csv(y=ACTUAL, yhat=FORECAST),
        "40!",
        "preds.csv",
        {"columns": "actual=y,forecast=yhat"},
    ),
    ("Nixtla", csv(unique_id="a", ds=ROW, y=ACTUAL, AutoARIMA=FORECAST, Naive=WORSE), "no"),
    ("GluonTS", csv({"item_id": R, "actual": ACTUAL, "0.1": FORECAST - 9, "0.5": FORECAST, "0.9": FORECAST + 9}), "no"),
    (
        "thousands with dots",
        csv({}, ";", actual=["1.234", "986", *["17,5"] * 38], forecast=["1.200", "990", *["16,5"] * 38]),
        "no",
    ),
    (
        "thousands with dots, decimal commas elsewhere",
        csv({}, ";", actual=["1.234", *range(901, 940)], forecast=["1.200", *range(900, 939)], price="1,5"),
        "no: 1.234",
    ),
    ("three decimals and lists beside", csv({}, ";", actual=ACTUAL + 0.125, forecast=FORECAST, tags="1,5,7"), "40!"),
    (
        "thousands with commas",
        csv(actual=["1,234", *["986"] * 39], forecast=["1,200", *["990"] * 39]),
        "no: 1,234",
    ),
    ("dollars", csv(actual=[f"${a}" for a in ACTUAL], forecast=FORECAST), "no: actual"),
    ("durations", frame(DURATIONS), "no: actual", "preds.parquet"),
    ("dates", frame(actual=DAYS, forecast=FORECAST), "no: actual", "preds.parquet"),
    (
        "Surprise",
        csv(uid=R, iid=R, r_ui=ACTUAL, est=FORECAST),
        "40!",
        "preds.csv",
        {"columns": "actual=r_ui,forecast=est"},
    ),
    ("Prophet's cross_validation", csv(AROUND, ds=DAYS, yhat=FORECAST, y=ACTUAL, cutoff=DAYS), "no"),
    ("Nixtla's cross_validation", csv(unique_id="a", ds=DAYS, cutoff=DAYS, y=ACTUAL, Naive=WORSE), "no"),
    ("sktime", csv(y_test=ACTUAL, y_pred=FORECAST), "no: actual"),
    ("statsmodels", csv(mean=FORECAST, mean_se=A, mean_ci_lower=WORSE, mean_ci_upper=WORSE), "no"),
    ("thousands with spaces", csv(actual=[f"1 {i:03d}" for i in ROW], forecast=FORECAST), "no: actual"),
    ("thousands with narrow spaces", csv(actual=[f"1\u202f{i:03d}" for i in ROW], forecast=FORECAST), "no: actual"),
    ("thousands of Switzerland", csv(actual=[f"1'{i:03d}" for i in ROW], forecast=FORECAST), "no: actual"),
    ("unicode minus", csv(actual=[f"−{a}" for a in ACTUAL], forecast=-FORECAST), "40"),
    ("brackets for minus", csv(actual=[f"({a})" for a in ACTUAL], forecast=-FORECAST), "no: actual"),
    ("Arabic digits", csv(actual=[str(a).translate(ARABIC) for a in ACTUAL], forecast=FORECAST), "40"),
    (
        "decimals of Parquet",
        frame(actual=list(map(Decimal, map(str, ACTUAL))), forecast=FORECAST),
        "40!",
        "preds.parquet",
    ),
    (
        "two models, long",
        csv(unique_id=R * 2, model=["a"] * N + ["b"] * N, y_true=[*ACTUAL] * 2, y_pred=[*FORECAST, *WORSE]),
        "a b 40",
    ),
    ("-999 for missing", csv(actual=[-999, -999, -999, *ACTUAL[3:]], forecast=FORECAST), "no: -999"),
    ("a total below", csv(id=R, actual=ACTUAL, forecast=FORECAST) + "Total,2400,2380\n", "no: Total"),
    ("a footer", csv(actual=ACTUAL, forecast=FORECAST) + "Source: ERP,\n", "no"),
)

VALIDATION = (
    ("out-of-fold predictions", csv(SCORED, fold=ROW % 4), "40!"),
    ("one fold", csv(SCORED, fold=1), "no: fold"),
    ("no fold", csv(SCORED), "no: fold"),
    ("Keras history", csv(epoch=ROW, loss=A, val_loss=B), "no: label|fold"),
    ("a holdout", csv(SCORED, fold=np.where(ROW % 4, "train", "test")), "10"),
    ("cross_val_predict", csv(y_true=LABEL, y_score=SCORE, fold=ROW % 5), "40!"),
    ("AutoGluon", csv(label=LABEL, oof_pred=SCORE), "no"),
    ("H2O", csv(label=LABEL, p0=1 - SCORE, p1=SCORE, fold_assignment=ROW % 4), "no"),
    ("folds that were never set", csv(SCORED, fold=-1), "no: fold"),
    ("a footer", csv(SCORED, fold=ROW % 4) + "(40 rows),,,\n", "no"),
)

ARM = np.where(TRUE, "new", "old")
USERS = {"user": R, "arm": ARM, "orders": RNG.poisson(2, N)}
LOG = {"session": np.repeat(R[:20], 2), "position": [1, 2] * 20, "team": ["new", "old"] * 20}
LOG["click"] = RNG.integers(0, 2, N)
REPORT = "# ----------------\n# Report\n# ----------------\n"
INTERLEAVING = (
    ("sessions", csv(LOG), "new old 15!"),
    ("positions from 0", csv(LOG, position=[0, 1] * 20), "no: position"),
    ("users as a log", csv(USERS), "no: users"),
    ("items from another team", csv(LOG, team=["new", "old", "(none)", "old"] * 10), "no"),
    ("a log in another order", csv(LOG, position=[2, 1] * 20), "new old 15"),
)
AB_TESTS = (  # metrics -> tables of users
    ("users", csv(USERS), "new old 20!", "orders"),
    ("totals by arm", csv(arm=["new", "old"], users=[1000, 1010], conversions=[50, 40]), "no", "conversions"),
    ("Optimizely", csv(variation=["A", "B"], visitors=[1000, 1010], conversions=[50, 40]), "no", "conversions"),
    ("Google Analytics", REPORT + csv(USERS), "no", "orders"),
    ("Amplitude", csv(user_id=R, variant=ARM, converted=LABEL), "new old 20!", "converted"),
    ("a user twice", csv(USERS, user=[R[1], *R[1:]], arm=["new"] * 20 + ["old"] * 20), f"no: {R[1]}", "orders"),
    ("revenue in dollars", csv(USERS, revenue=[f"$1,{i:03d}.50" for i in ROW]), "no: revenue", "revenue"),
    ("no users", csv(user=[], arm=[], orders=[]), "no", "orders"),
    ("Firebase", csv(user_pseudo_id=R, experiment_group=ARM, revenue=ACTUAL), "no: arm", "revenue"),
    ("Statsig", csv(user_id=R, group_name=ARM, first_exposure=DAYS, revenue=ACTUAL), "no: arm", "revenue"),
    ("GrowthBook", csv(user_id=R, variation_id=LABEL, revenue=ACTUAL), "no: arm", "revenue"),
    (
        "events of GA4",
        csv(user=np.repeat(R[:20], 2), arm=np.repeat(ARM[:20], 2), revenue=ACTUAL),
        "no: user",
        "revenue",
    ),
    ("arms that were not set", csv(USERS, arm=["(not set)", *ARM[1:]]), "no: (not set)", "orders"),
    ("an arm called null", csv(USERS, arm=["null", *ARM[1:]]), "no: null", "orders"),
    (
        "arms in two cases",
        csv(USERS, arm=[arm.title() if i % 3 else arm for i, arm in enumerate(ARM)]),
        "no: New",
        "orders",
    ),
    (
        "arms with blanks",
        csv(USERS, arm=[f"{arm} " if i % 3 else arm for i, arm in enumerate(ARM)]),
        "no: new",
        "orders",
    ),
    ("Mixpanel", csv({"Total Users": [900, 910]}, Variant=["a", "b"], Conversion=[0.1, 0.2]), "no", "Conversion"),
    ("a total below", csv(USERS) + "Total,All,80\n", "no: Total|All", "orders"),
    ("users without a name", csv(USERS, user=["", "", *R[2:]]), "no: user", "orders"),
    ("revenue with commas", csv(USERS, revenue=[f"1,{i:03d}.50" for i in ROW]), "no: revenue", "revenue"),
)

REPORTS = {
    "significance": SIGNIFICANCE,
    "classification": CLASSIFICATION,
    "ranking": RANKING,
    "rating": RATING,
    "validation": VALIDATION,
    "interleaving": (*INTERLEAVING, *((*row[:3], "users.csv", {"metrics": row[3]}) for row in AB_TESTS)),
}
CASES = [Case(report, *row) for report, rows in REPORTS.items() for row in rows]
