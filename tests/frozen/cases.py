"""The frozen cases: every report on every set of data, in the ways that a restructuring could break.

`needs` names what a case cannot do without: small limits, Spark, or a folder beside the checkout whose data may not be
committed. Paths are relative to the project's root; `{made}` is the folder of the tables that `needs.tables` writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frozen.needs import LIMITS, SPARK

ORACLES, SHARED = "tests/oracles", "../shared/data"
RANKED, CREDIT = "data/digits_retrieval", "data/german_credit/predictions.csv"
PENGUINS = "data/penguins/predictions.csv"
TRAITS, CHOICES = "data/digit_traits/predictions.csv", "data/modechoice/scores_wide.csv"
VISITS, CANCER = "data/visit_forecasts/predictions.csv", "data/breast_cancer/features.csv"
SESSIONS, PLANS = "data/interleaving/sessions.parquet", "data/interleaving/health_plans.parquet"
RUNS = {"preds": f"{RANKED}/runs", "qrels": f"{RANKED}/qrels.txt", "queries": f"{RANKED}/queries.csv"}
MADE_RANKED = {"preds": "{made}/ranked", "metrics": "ndcg@10,map,mrr,gauc"}
WIDE, LONG = {"preds": "{made}/wide"}, {"preds": "{made}/long", "columns": "{id: id}"}
LARGE = {"memory": "250MB", "threads": 1}
PLAIN_BAYES, ONLY_FOLDS = "sklearn.naive_bayes.GaussianNB", 1e-9
RANKING_METRICS = (
    "precision@5,recall@20,r_precision,hit_rate@3,hit_ratio@10,hit_ratio_k@10,map,average_precision_min@10,"
    "average_precision_hits,average_precision_interpolated,mrr,ndcg,ndcg_exp@10,ndcg_binary@10,dcg,dcg_exp@5,cg@5,rbp,"
    "err,bpref,judged@10,auc,gauc,gauc_positives"
)
BINARY_METRICS = (
    "roc_auc,gini,average_precision,average_precision_interpolated,pr_auc_davis_goadrich,pr_auc_trapezoid,"
    "partial_auc_mcclish_10,break_even,ks,log_loss,brier,brier_skill,calibration_in_the_large,ece_10,miscalibration"
)
DECISION_METRICS = (
    "accuracy,error_rate,balanced_accuracy,precision,recall,specificity,false_positive_rate,false_negative_rate,"
    "negative_predictive_value,f1,f2,f05,jaccard,mcc,kappa,youden,lift,predicted_rate"
)
CLASS_METRICS = (
    "accuracy,macro_f1,macro_precision,macro_recall,macro_f1_of_means,weighted_f1,balanced_accuracy,mcc,kappa,"
    "kappa_quadratic,top@2,roc_auc_ovr,roc_auc_hand_till,map_classes,log_loss,brier"
)
LABEL_METRICS = (
    "micro_f1,micro_precision,micro_recall,macro_f1,exact_match,hamming_loss,map_classes,roc_auc_macro,ranking_loss,"
    "label_ranking_average_precision,coverage_error"
)
FORECAST_METRICS = (
    "mae,rmse,mse,bias,median_absolute_error,mape,wape,smape,pinball@90,poisson_deviance,r2,r2_correlation"
)
PREFERENCES = "user_share,user_preference,session_wins,credit_share"


@dataclass(frozen=True)
class Case:
    """One report with its parameters. needs: what it takes beyond the checkout and its environment."""

    name: str
    report: str
    parameters: Mapping[str, Any]
    needs: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        """True if it needs data that must not be committed, nor its results."""
        return any(need.startswith(SHARED) for need in self.needs)


def ranking(name: str, *needs: str, **parameters: Any) -> Case:
    return Case(f"ranking: {name}", "ranking", parameters, needs)


def classification(name: str, *needs: str, **parameters: Any) -> Case:
    return Case(f"classification: {name}", "classification", parameters, needs)


def rating(name: str, *needs: str, **parameters: Any) -> Case:
    return Case(f"rating: {name}", "rating", parameters, needs)


def significance(name: str, *needs: str, **parameters: Any) -> Case:
    return Case(f"significance: {name}", "significance", parameters, needs)


def validation(name: str, *needs: str, **parameters: Any) -> Case:
    return Case(f"validation: {name}", "validation", parameters, needs)


def interleaving(name: str, *needs: str, **parameters: Any) -> Case:
    return Case(f"interleaving: {name}", "interleaving", {"world": "none"} | parameters, needs)


RANKING = (
    ranking("digits by segment", **RUNS, segments="digit"),
    ranking("digits by unit", **RUNS, unit="digit", metrics="ndcg@10,map", ks="5,10"),
    ranking("digits, every metric", **RUNS, metrics=RANKING_METRICS, systems="pca8_euclid,lda_cosine"),
    ranking("digits, 90%", **RUNS, metrics="ndcg@10,mrr", ks="10", level=0.9),
    ranking("digits, another seed", **RUNS, metrics="ndcg@10,mrr", ks="10", seed=3),
    ranking("digits, baseline and margin", **RUNS, baseline="pixel_cosine", margin=0.02, gate="not worse"),
    ranking("modechoice", preds=CHOICES, systems="cond_logit,logistic,gbm,cheapest", segments="party_size"),
    ranking("modechoice, gauc", preds=CHOICES, systems="cond_logit,logistic", metrics="gauc,auc,precision@1"),
    ranking("made", **MADE_RANKED),
    ranking("made by unit", **MADE_RANKED, unit="user_id", segments="country", relevance_level=2, baseline="c"),
    ranking("made out of core", LIMITS, **MADE_RANKED, **LARGE, segments="country"),
    ranking("made out of core by unit", LIMITS, **MADE_RANKED, **LARGE, unit="user_id", ks="1,10"),
    ranking("digits out of core", LIMITS, **RUNS, **LARGE, segments="digit", metrics="ndcg@10,map", ks="10"),
    ranking("made on Spark", SPARK, **MADE_RANKED | {"preds": "spark:parquet.`{made}/ranked`"}, segments="country"),
    ranking(
        "TREC-COVID",
        f"{SHARED}/trec_covid_demo",
        preds=f"{SHARED}/trec_covid_demo/runs",
        qrels=f"{SHARED}/trec_covid_demo/qrels.txt",
    ),
    ranking(
        "TREC-COVID, every metric",
        f"{SHARED}/trec_covid_demo",
        preds=f"{SHARED}/trec_covid_demo/runs",
        qrels=f"{SHARED}/trec_covid_demo/qrels.txt",
        metrics=RANKING_METRICS,
        relevance_level=2,
    ),
    ranking(
        "LambdaRank runs",
        f"{SHARED}/lgb_lambdarank",
        preds=f"{SHARED}/lgb_lambdarank/runs",
        qrels=f"{SHARED}/lgb_lambdarank/qrels.txt",
    ),
    ranking(
        "LambdaRank wide",
        f"{SHARED}/lgb_lambdarank",
        preds=f"{SHARED}/lgb_lambdarank/scores_wide.parquet",
        baseline="ridge",
        margin=0.01,
    ),
    ranking(
        "web clicks",
        f"{SHARED}/msweb_clicks",
        preds=f"{SHARED}/msweb_clicks/impressions.parquet",
        systems="popularity,item_knn,svd20",
        metrics="gauc,ndcg@10",
        segments="activity",
    ),
    ranking(
        "web clicks out of core",
        LIMITS,
        f"{SHARED}/msweb_clicks",
        preds=f"{SHARED}/msweb_clicks/impressions.csv",
        systems="popularity,item_knn,svd20",
        metrics="gauc,ndcg@10",
        **LARGE,
    ),
    ranking(
        "ir_measures",
        f"{SHARED}/ir_measures_compat",
        preds=f"{SHARED}/ir_measures_compat/compat.run",
        qrels=f"{SHARED}/ir_measures_compat/compat.qrels",
    ),
    ranking(
        "trec_eval",
        f"{SHARED}/trec_eval_test",
        preds=f"{SHARED}/trec_eval_test/results.test",
        qrels=f"{SHARED}/trec_eval_test/qrels.test",
    ),
)

CLASSIFICATION = (
    classification("credit by segment", preds=CREDIT, segments="housing,age_band"),
    classification("credit, every score metric", preds=CREDIT, metrics=BINARY_METRICS, systems="logistic,forest"),
    classification("credit, every decision metric", preds=CREDIT, metrics=DECISION_METRICS, threshold=0.3),
    classification("credit weighted", preds=CREDIT, columns="{weight: credit_amount}", segments="housing"),
    classification(
        "credit, costs and base rate",
        preds=CREDIT,
        threshold="cost:fp=1,fn=5",
        costs="{fp: 1, fn: 5}",
        prevalence=0.1,
        metrics="f1,roc_auc",
    ),
    classification(
        "credit, baseline and margin", preds=CREDIT, baseline="logistic", margin=0.02, gate="not worse", level=0.9
    ),
    classification(
        "breast cancer", preds=f"{ORACLES}/breast_cancer.parquet", segments="radius_tercile", threshold="best_f1"
    ),
    classification("made wide by unit", **WIDE, unit="user_id", segments="country,age"),
    classification(
        "made long, weighted by unit",
        **LONG | {"columns": "{id: id, weight: exact}"},
        unit="user_id",
        metrics="roc_auc,brier,f1",
    ),
    classification("made wide out of core", LIMITS, **WIDE, **LARGE, segments="country,age"),
    classification(
        "made long out of core", LIMITS, **LONG, **LARGE, metrics="roc_auc,average_precision,ks,log_loss,f1"
    ),
    classification(
        "made out of core, weighted by unit",
        LIMITS,
        **WIDE,
        **LARGE,
        columns="{weight: exact}",
        unit="user_id",
        metrics="roc_auc,brier,f1",
    ),
    classification("credit out of core", LIMITS, preds=CREDIT, **LARGE, systems="logistic,forest", margin=0.02),
    classification("made on Spark", SPARK, preds="spark:parquet.`{made}/wide`", segments="country"),
    classification(
        "made on Spark, weighted by unit",
        SPARK,
        preds="spark:parquet.`{made}/wide`",
        columns="{weight: exact}",
        unit="user_id",
        metrics="roc_auc,brier,f1",
    ),
    classification("penguins by segment", preds=PENGUINS, segments="island,sex"),
    classification("penguins, every metric", preds=PENGUINS, metrics=CLASS_METRICS, precision_target=0.95),
    classification("penguins by unit", preds=PENGUINS, unit="year", metrics="macro_f1,accuracy"),
    classification("penguins weighted", preds=PENGUINS, columns="{weight: year}", metrics="accuracy,log_loss,macro_f1"),
    classification("wine", preds=f"{ORACLES}/wine.parquet"),
    classification("digits", preds=f"{ORACLES}/digits.parquet", metrics="accuracy,macro_f1,log_loss", margin=0.01),
    classification("digit traits by segment", preds=TRAITS, segments="digit"),
    classification("digit traits, every metric", preds=TRAITS, metrics=LABEL_METRICS, threshold=0.4),
    classification("digit traits by unit", preds=TRAITS, unit="digit", metrics="micro_f1,hamming_loss"),
    classification(
        "games",
        f"{SHARED}/fivethirtyeight_games",
        preds=f"{SHARED}/fivethirtyeight_games/predictions.parquet",
        segments="sport,season",
    ),
    classification(
        "games by unit, out of core",
        LIMITS,
        f"{SHARED}/fivethirtyeight_games",
        preds=f"{SHARED}/fivethirtyeight_games/predictions.csv.gz",
        unit="team1",
        metrics="roc_auc,brier",
        **LARGE,
    ),
    classification(
        "web clicks by user",
        f"{SHARED}/msweb_clicks",
        preds=f"{SHARED}/msweb_clicks/impressions.parquet",
        systems="popularity,item_knn,svd20",
        unit="user_id",
        metrics="roc_auc,average_precision",
    ),
)

RATING = (
    rating("visits by unit", preds=VISITS, unit="person", segments="plan,health"),
    rating("visits by row", preds=VISITS, baseline="mean", margin=0.05),
    rating("visits, every metric", preds=VISITS, metrics=FORECAST_METRICS, systems="poisson,mean"),
    rating(
        "visits weighted", preds=VISITS, columns="{weight: forecast_mean}", systems="poisson,boosting", segments="plan"
    ),
    rating(
        "visits weighted by unit",
        preds=VISITS,
        columns="{weight: forecast_mean}",
        systems="poisson,boosting",
        unit="person",
        level=0.9,
    ),
)

SIGNIFICANCE = (
    significance("sample"),
    significance("wide", preds="{made}/values", unit="query", margin=0.02),
    significance("wide by cluster", preds="{made}/values", unit="user", baseline="c", looks=3),
    significance("long", preds="{made}/long_values", unit="query", lower_is_better="minutes"),
    significance("folds", preds="{made}/folds", test_to_train=0.1111),
    significance("folds without their sizes", preds="{made}/folds", level=0.9),
    significance("shares", preds="{made}/trials"),
    significance("shares against a null", preds="{made}/trials", null=0.5, alternative="greater"),
    significance(
        "ranked lists",
        preds=f"{RANKED}/runs",
        qrels=f"{RANKED}/qrels.txt",
        metrics="ndcg@10,map",
        systems="pca8_euclid,lda_cosine,pixel_cosine",
    ),
    significance("probabilities", preds=CREDIT, metrics="log_loss,brier", seed=2),
    significance("probabilities by cluster", preds="{made}/long", unit="user_id", metrics="brier"),
    significance("a report", preds="{made}/report.json", margin=0.05),
    significance(
        "TREC-COVID",
        f"{SHARED}/trec_covid_demo",
        preds=f"{SHARED}/trec_covid_demo/runs",
        qrels=f"{SHARED}/trec_covid_demo/qrels.txt",
        metrics="ndcg@10",
    ),
    significance(
        "LambdaRank",
        f"{SHARED}/lgb_lambdarank",
        preds=f"{SHARED}/lgb_lambdarank/runs",
        qrels=f"{SHARED}/lgb_lambdarank/qrels.txt",
        metrics="ndcg@10",
    ),
)

VALIDATION = (
    validation("credit predictions", preds=CREDIT),
    validation("credit predictions, one metric", preds=CREDIT, metrics="brier", threshold=0.3, level=0.9),
    validation("breast cancer predictions", preds=f"{ORACLES}/breast_cancer.parquet", margin=0.01),
    validation(
        "breast cancer features",
        features=CANCER,
        target="diagnosis",
        estimator=PLAIN_BAYES,
        k=4,
        seconds=ONLY_FOLDS,
        metrics="accuracy,roc_auc",
    ),
    validation(
        "two estimators",
        features=CANCER,
        target="diagnosis",
        estimator=PLAIN_BAYES,
        against="sklearn.dummy.DummyClassifier",
        k=4,
        seconds=ONLY_FOLDS,
        metrics="accuracy,roc_auc",
    ),
    validation(
        "made features, every fit",
        features="{made}/features",
        ignore="group",
        estimator=PLAIN_BAYES,
        k=3,
        seconds=600,
        metrics="accuracy,roc_auc",
    ),
    validation(
        "made features by group",
        features="{made}/features",
        ignore="time",
        estimator=PLAIN_BAYES,
        k=4,
        seconds=ONLY_FOLDS,
    ),
    validation(
        "made features, selected",
        features="{made}/features",
        ignore="time",
        estimator=PLAIN_BAYES,
        k=3,
        seconds=ONLY_FOLDS,
        selected="x0",
    ),
    validation(
        "visits, a number",
        features="data/rand_hie/visits.parquet",
        target="mdvis",
        estimator="sklearn.linear_model.LinearRegression",
        task="number",
        most_rows=2000,
        k=3,
        seconds=ONLY_FOLDS,
    ),
)

INTERLEAVING = (
    interleaving("log", log=SESSIONS, neutral="both", segments="device"),
    interleaving("log, every preference", log=SESSIONS, preference=PREFERENCES, neutral="both", baseline="current"),
    interleaving("log, hours", log=SESSIONS, columns="{outcome: hours}", neutral="both", margin=0.02, level=0.9),
    interleaving("three rankers", log="{made}/multileaved", arms="a,b,c", segments="device"),
    interleaving(
        "users",
        users=PLANS,
        columns="{user: block, arm: plan}",
        metrics="visits/years,any_visit",
        shares="unknown",
        baseline="free",
    ),
    interleaving(
        "users adjusted",
        users=PLANS,
        columns="{user: block, arm: plan}",
        metrics="visits",
        before="chronic",
        strata="health",
        shares="unknown",
        segments="health",
        looks=3,
    ),
    interleaving(
        "log and users",
        log=SESSIONS,
        neutral="both",
        users="{made}/plans",
        metrics="visits_per_year",
        cap=0.95,
        shares="unknown",
        best="low",
    ),
    interleaving("small simulation", log=SESSIONS, neutral="both", world="cascade", simulated_users=1000, rankers=3),
    interleaving("semi-real sessions", f"{SHARED}/interleaving_semi", log="{made}/semi"),
)

CASES = (*RANKING, *CLASSIFICATION, *RATING, *SIGNIFICANCE, *VALIDATION, *INTERLEAVING)
