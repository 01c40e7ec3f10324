"""The one list of worlds in which every interval and every test is tried: `WORLDS`, by which
methods were chosen, and `FRESH`, by which none was.
"""

from dataclasses import replace

from found_cells import FOUND
from fresh_binary import FRESH_BINARY
from fresh_classes import FRESH_CLASSES
from fresh_experiments import FRESH_EXPERIMENTS
from fresh_folds import FRESH_FOLDS
from fresh_forecasts import FRESH_FORECASTS
from fresh_lists import FRESH_LISTS
from fresh_values import FRESH_VALUES
from large_worlds import LARGE
from of_days import DAYS
from of_distributions import DISTRIBUTIONS
from of_experiments import EXPERIMENTS
from of_folds import accuracies, folds, grouped, holdout, holdouts, repeated
from of_rows import (
    BINARY,
    CLASSES,
    LABELS,
    RATING,
    SHARES,
    binary,
    binary_by_user,
    by_user,
    calibrated,
    classes,
    in_groups,
    in_regions,
    labels,
    lognormal,
    normal,
    own_rounded,
    rating,
    rating_by_user,
    right_means,
    series,
    sharper,
    student,
    twins,
    weighted,
)
from of_series import SERIES
from of_units import (
    RANKING,
    answers,
    arms,
    at_margin,
    better,
    clustered,
    drawn_again,
    exponential,
    listed,
    paired,
    ranking,
    right_or_wrong,
    same_tasks,
    sessions,
    several,
    skewed,
    tasks,
    trials,
)
from scarce_worlds import SCARCE
from world import World

USERS = (10, 25, 50)
FEW = 2_500  # users of a large sample, whose rows are several times as many
USUAL = ("values", "differences")
OF_THESE = {"metrics": "pass@1,pass@4,pass^4", "claim": "these questions"}
RATE = {"prevalence": 0.05}
UNIT = {"unit": "user"}
TWO = {"metrics": BINARY}
NUMBERS = {"metrics": RATING}
LISTS = {"metrics": RANKING}
SEVERAL = {"metrics": CLASSES}
MANY = {"metrics": LABELS}
WITHIN = {"metrics": "gauc,gauc_positives,gauc_uniform"}
KS = {"metrics": "roc_auc,ks"}
TOP = {"metrics": "precision@0.1,recall@0.1,lift@0.1,recall@fpr0.1"}
ERRORS = {"metrics": "brier,ece_10,miscalibration"}
REGIONS = {"segments": "region"}
PAID = {
    "metrics": "revenue,bought,clicks/visits",
    "world": "none",
    "before": "before",
    "strata": "country",
}
OF_ARMS = (*USUAL, "lifts")
ADJUSTED = (*OF_ARMS, "adjustments", "caps")
OF_CLAIMS = ("claim_means", "claim_tests")
OF_BOTH = (*USUAL, "elsewhere", "gains")
OF_CLASSES = (*USUAL, "by_class", "tops")
OF_LABELS = (*USUAL, "by_label", "tops")


def _two_classes() -> list[World]:
    report = "classification"
    plain = ((0.5, 50), (0.1, 50), (0.02, 200), (0.1, 200), (0.3, 200), (0.02, 1000), (0.1, 1000))
    highest = ((0.3, 200), (0.1, 300), (0.05, 1000))
    largest = ((0.5, 50), (0.1, 200), (0.02, 1000))
    return [
        *(
            World(f"two classes, {b:.0%} positive", report, n, binary(b), TWO | RATE, OF_BOTH)
            for b, n in plain
        ),
        *(
            World(f"largest distance, {b:.0%} positive", report, n, binary(b), KS)
            for b, n in largest
        ),
        World("largest distance by user", report, 25, binary_by_user(0.3), KS | UNIT, many=FEW),
        World("largest distance, weights", report, 200, weighted(binary(0.3)), KS),
        *(
            World(f"highest scores, {b:.0%} positive", report, n, binary(b), TOP)
            for b, n in highest
        ),
        World("highest scores by user", report, 50, binary_by_user(0.3), TOP | UNIT, many=FEW),
        World("highest scores, weights", report, 400, weighted(binary(0.3)), TOP),
        World("scores of one digit", report, 200, binary(0.2, digits=1), TWO | RATE, OF_BOTH),
        *(
            World(
                "two classes by user",
                report,
                n,
                binary_by_user(0.3),
                TWO | UNIT | RATE,
                OF_BOTH,
                FEW,
            )
            for n in USERS
        ),
        *(
            World("two classes, weights", report, n, weighted(binary(0.3)), TWO | RATE, OF_BOTH)
            for n in (200, 1000)
        ),
        *(
            World("AUC within users", report, n, binary_by_user(0.3), WITHIN | UNIT, many=FEW)
            for n in USERS
        ),
        World(
            "AUC within users, weights",
            report,
            50,
            weighted(binary_by_user(0.3)),
            WITHIN | UNIT,
            many=FEW,
        ),
        World(
            "users without meaning",
            report,
            50,
            by_user(binary(0.3)),
            WITHIN | UNIT,
            ("within_units",),
        ),
        World(
            "calibrated, 10% positive",
            report,
            200,
            calibrated(0.1),
            ERRORS,
            ("calibration", "reliability"),
        ),
        *(
            World("calibrated, bands", report, n, calibrated(0.1), ERRORS, ("band",))
            for n in (200, 1000)
        ),
        *(World("net benefit", report, n, binary(0.3), TWO, ("benefits",)) for n in (50, 200)),
        World(
            "net benefit by user", report, 25, binary_by_user(0.3), TWO | UNIT, ("benefits",), FEW
        ),
        World("net benefit, weights", report, 200, weighted(binary(0.3)), TWO, ("benefits",)),
        *(
            World(
                f"regions, {metric}",
                report,
                n,
                in_regions(binary(0.3)),
                REGIONS | {"metrics": metric},
                OF_SLICES,
            )
            for metric in ("roc_auc", "accuracy", "f1")
            for n in (100,)
        ),
    ]


def _groups() -> list[World]:
    """Groups with the same distribution: each gap is 0."""
    report = "classification"
    asked = {"metrics": "roc_auc,brier", "groups": "group", "systems": "score_a"}
    frames = ("group_gaps", "largest_gaps")
    two = [
        World(f"two groups, {b:.0%} positive", report, 2 * n, in_groups(binary(b)), asked, frames)
        for b in (0.5, 0.05)
        for n in (30, 100, 1000)
    ]
    of_three = in_groups(binary(0.5), 3)
    by_users = in_groups(binary_by_user(0.3))
    worlds = [
        *two,
        World("three groups, 50% positive", report, 300, of_three, asked, frames),
        World("two groups, rows of users in both", report, 100, by_users, asked | UNIT, frames),
    ]
    return [replace(world, large=0) for world in worlds]  # the true values are known


def _thresholds() -> list[World]:
    """Thresholds that are chosen on the rows."""
    report = "classification"
    large = {"many": 200_000}
    asked = {"metrics": "f1,precision,recall,specificity,accuracy,mcc"}
    best, cost, reach = (
        asked | {"threshold": rule} for rule in ("best_f1", "cost:fp=1,fn=5", "recall>=0.9")
    )
    users = World(
        "threshold of best F1 by user", report, 50, binary_by_user(0.3), best | UNIT, many=FEW * 10
    )
    return [
        *(
            World("threshold of best F1, 30% positive", report, n, binary(0.3), best, **large)
            for n in (200, 1000)
        ),
        World("threshold of least cost", report, 200, binary(0.3), cost, **large),
        World("threshold of recall 0.9", report, 200, binary(0.3), reach, **large),
        users,
        World("threshold of best F1, weights", report, 400, weighted(binary(0.3)), best, **large),
    ]


def _nearly_alike() -> list[World]:
    """Systems that decide, or score, nearly alike: a model beside its own rounded scores, and
    twins.
    """
    report = "classification"
    decided = {"metrics": "f1,precision,balanced_accuracy,mcc,recall,accuracy,log_loss"}
    rounded = {"frames": ("apart",), "many": 200_000, "large": 12}
    both = {"metrics": "average_precision,f1,precision,roc_auc,log_loss"}
    return [
        *(
            World("own scores rounded to .01", report, n, own_rounded(0.3, 2), decided, **rounded)
            for n in (200, 600)
        ),
        World("own scores rounded to .1", report, 500, own_rounded(0.1, 1), decided, **rounded),
        *(
            World("twins, 5% positive", report, n, twins(0.05), both, ("differences",))
            for n in (300, 1000)
        ),
    ]


HALF = {"margin": 0.5}
CUT = {"metrics": "ndcg@10"}
OF_SLICES = ("segments", "slice_tests")


def _classes_and_labels() -> list[World]:
    report = "classification"
    few = classes(SHARES["few"])
    even = classes(SHARES["even"])
    return [
        *(
            World("five classes, one rare", report, n, few, SEVERAL, OF_CLASSES)
            for n in (200, 1000)
        ),
        World("three classes", report, 60, even, SEVERAL, OF_CLASSES),
        World("three classes by user", report, 25, by_user(even), SEVERAL | UNIT, OF_CLASSES, FEW),
        World("three classes, weights", report, 200, weighted(even), SEVERAL, OF_CLASSES),
        *(World("five labels, one rare", report, n, labels, MANY, OF_LABELS) for n in (100, 1000)),
        World("five labels by user", report, 25, by_user(labels), MANY | UNIT, OF_LABELS, FEW),
        World("five labels, weights", report, 200, weighted(labels), MANY, OF_LABELS),
        World(
            "three classes, regions",
            report,
            100,
            in_regions(even),
            REGIONS | {"metrics": "macro_f1"},
            OF_SLICES,
        ),
        World(
            "labels, regions",
            report,
            100,
            in_regions(labels),
            REGIONS | {"metrics": "micro_f1"},
            OF_SLICES,
        ),
    ]


def _numbers() -> list[World]:
    report = "rating"
    regions = REGIONS | {"metrics": "mae"}
    return [
        *(World("normal errors", report, n, rating(normal), NUMBERS) for n in (10, 50)),
        World("normal errors", report, 200, rating(normal), NUMBERS, (*USUAL, "by_tenths")),
        *(
            World("lognormal errors", report, n, rating(lognormal), NUMBERS)
            for n in (50, 200, 1000)
        ),
        *(World("errors of Student's t", report, n, rating(student), NUMBERS) for n in (50, 200)),
        World("normal errors, weights", report, 200, weighted(rating(normal)), NUMBERS),
        *(
            World("errors by user", report, n, rating_by_user(normal), NUMBERS | UNIT, many=FEW)
            for n in USERS
        ),
        *(
            World("right means", report, n, right_means, {"metrics": "mae"}, ("band_of_means",))
            for n in (50, 200)
        ),
        World("series of unlike scale", report, 50, series(normal), {"metrics": "mase"}),
        World("errors, regions", report, 50, in_regions(rating(normal)), regions, OF_SLICES),
    ]


def _lists() -> list[World]:
    report = "ranking"
    regions = REGIONS | {"metrics": "ndcg@10"}
    easy = ranking(0.3, 2.0)
    hard = ranking(0.05, 0.6)
    return [
        *(World("queries, an easy task", report, n, easy, LISTS, many=5_000) for n in (10, 200)),
        World(
            "queries, an easy task",
            report,
            50,
            easy,
            LISTS,
            (*USUAL, "curves", "precision_recall"),
            5_000,
        ),
        *(World("queries, a hard task", report, n, hard, LISTS, many=5_000) for n in (10, 25, 50)),
        *(
            World("queries by user", report, n, ranking(0.2, 1.0, 1.0), LISTS | UNIT, many=FEW)
            for n in USERS
        ),
        World("queries, regions", report, 50, in_regions(easy), regions, OF_SLICES, many=5_000),
        World("lists of items", report, 50, listed(), CUT, ("lists",), 50, 400, own=True),
        World(
            "lists of items by user",
            report,
            25,
            listed(0.7),
            CUT | UNIT,
            ("lists",),
            25,
            400,
            own=True,
        ),
    ]


def _units() -> list[World]:
    report = "significance"
    alone = ("differences",)
    every = ("differences", "other_tests")
    folded = {"test_to_train": 1 / 9}
    return [
        *(World("paired values", report, n, paired(normal)) for n in (10, 50)),
        *(World("paired values, long tails", report, n, paired(student)) for n in (10, 50)),
        *(
            World("skewed differences", report, n, skewed(exponential), {}, alone)
            for n in (25, 50, 200)
        ),
        *(World("right or wrong", report, n, right_or_wrong(0.7)) for n in (25, 100)),
        *(World("three systems", report, n, several(3, normal), {}, every) for n in (10, 50)),
        World("five systems", report, 50, several(5, normal), {}, ("family",)),
        World("five systems, ranks", report, 50, several(5, normal), {}, ("ranks",)),
        *(
            World(
                "equivalence at the margin",
                report,
                n,
                better(0.5),
                {"margin": 0.5},
                ("equivalence",),
            )
            for n in (25, 100)
        ),
        *(
            World(
                f"{tail} differences at the margin",
                report,
                n,
                at_margin(tail),
                {"margin": 1.0},
                ("equivalence",),
            )
            for tail in ("exponential", "lognormal")
            for n in (20, 80)
        ),
        World(
            "nine systems, one the baseline",
            report,
            50,
            several(9, normal),
            {"baseline": "a"},
            ("family",),
        ),
        *(World("values by user", report, n, clustered, UNIT, many=FEW) for n in USERS),
        World("answers, five draws", report, 30, answers(5), {"metrics": "pass@1,pass@4,pass^4"}),
        World("questions by task", report, 10, tasks, {"unit": "task"}, many=FEW),
        *(
            World("questions of the same tasks", report, n, same_tasks, {}, OF_CLAIMS, many=2_000)
            for n in (2, 5)
        ),
        World("these questions, five draws", report, 30, drawn_again(5), OF_THESE),
        *(World("shares", report, n, trials(0.1, 0.1), {}, USUAL, 10**7) for n in (40, 400)),
        World(
            "shares, against ten percent",
            report,
            100,
            trials(0.1, 0.1),
            {"null": 0.1},
            ("against",),
            10**7,
        ),
        World("shares, 1 to 9", report, 400, trials(0.1, 0.1, 0.1), {}, USUAL, 10**7),
        *(
            World("folds, ten times ten", report, n, accuracies(10, 10), folded, alone)
            for n in (100,)
        ),
        World("folds, ten", report, 200, accuracies(10, 1), folded, alone),
    ]


def _online() -> list[World]:
    report = "interleaving"
    preferred = {"world": "none"}
    of_log = (*USUAL, "coins", "by_position")
    return [
        *(World("users, equal arms", report, n, arms(0.5), PAID, OF_ARMS) for n in (100, 2000)),
        World("users, equal arms", report, 400, arms(0.5), PAID, ADJUSTED),
        World("users, arms 1 to 9", report, 220, arms(0.1), PAID, (*OF_ARMS, "adjustments")),
        World("users, arms 1 to 9", report, 1110, arms(0.1), PAID, OF_ARMS),
        *(
            World("sessions, heavy users", report, n, sessions(1.2), preferred, of_log, FEW)
            for n in USERS
        ),
    ]


def _validated() -> list[World]:
    report = "validation"
    by_split = ("intervals", "paired_folds")
    of_folds = (*USUAL, *by_split, "unlike")

    def world(name: str, n: int, draw, frames=of_folds, **more) -> World:
        metrics = {"metrics": "accuracy,roc_auc,log_loss,brier"} | more
        return World(name, report, n, draw, metrics, frames, n, 200, own=True)

    return [
        *(world("five folds", n, folds(5)) for n in (60, 200, 1000)),
        *(world("five folds, AUC", n, folds(5), metrics="roc_auc") for n in (60, 150)),
        world("five folds, roc_auc", 200, folds(5, 0.1), metrics="roc_auc"),
        world("five folds, roc_auc", 1000, folds(5, 0.3), metrics="roc_auc"),
        world("ten folds, brier", 200, folds(10), metrics="brier"),
        world("groups in five folds", 200, grouped(5)),
        world("five folds, three times", 100, repeated(5, 3)),
        *(
            world("five folds, ten times", n, repeated(5, 10), by_split, metrics="accuracy")
            for n in (100, 500)
        ),
        *(
            world(f"{times} holdouts", n, holdouts(times), by_split, metrics="accuracy")
            for times in (10, 100)
            for n in (100, 500)
        ),
        world("a random holdout", 100, holdout, (*USUAL, "training_gap")),
    ]


def _power() -> list[World]:
    """Differences about as large as what "would show": then 80% of the tests should reject."""
    frames = ("power",)
    paid = {"world": "none", "baseline": "b"}
    ordered = {"metrics": "roc_auc,average_precision"}
    decided = {"metrics": "accuracy"}
    both = {"metrics": "roc_auc,average_precision,accuracy"}
    return [
        World("power, normal differences", "significance", 25, better(0.84), {}, frames),
        World("power, normal differences", "significance", 100, better(0.4), {}, frames),
        World("power, 30% positive", "classification", 400, sharper(0.3, 1.7), both, frames),
        World("power, 10% positive", "classification", 1000, sharper(0.1, 1.7), ordered, frames),
        World(
            "power of decisions, 10% positive",
            "classification",
            1000,
            sharper(0.1, 1.33),
            decided,
            frames,
        ),
        World(
            "power, revenue",
            "interleaving",
            4000,
            arms(0.5, 0.8),
            paid | {"metrics": "revenue"},
            frames,
        ),
        World(
            "power, buyers",
            "interleaving",
            1000,
            arms(0.5, 0.6),
            paid | {"metrics": "bought"},
            frames,
        ),
    ]


WORLDS = (
    *_two_classes(),
    *_groups(),
    *_thresholds(),
    *_nearly_alike(),
    *_classes_and_labels(),
    *_numbers(),
    *_lists(),
    *_units(),
    *_online(),
    *_validated(),
    *_power(),
    *FOUND,
    *LARGE,
    *DAYS,
    *SCARCE,
    *EXPERIMENTS,
    *DISTRIBUTIONS,
    *SERIES,
)
# worlds that no method was chosen by; `run.py --fresh ROUND` simulates those of a round
FRESH = (
    *FRESH_BINARY,
    *FRESH_CLASSES,
    *FRESH_FORECASTS,
    *FRESH_LISTS,
    *FRESH_VALUES,
    *FRESH_EXPERIMENTS,
    *FRESH_FOLDS,
)
