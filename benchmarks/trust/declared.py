"""The cells that leave their bounds, each with its reason and the sentence by which the page tells
it.

And what makes others err less often than they say.
"""

from dataclasses import dataclass

from evalkit.findings.kinds import measured


@dataclass(frozen=True)
class Named:
    """Cells: world, number are text that their names hold, empty for any."""

    world: str
    number: str
    reason: str

    def names(self, where: str, number: str) -> bool:
        """Whether a cell is one of these."""
        return self.world in where and self.number in number


@dataclass(frozen=True)
class Declared(Named):
    """An exception. least: coverage, most: rejections that are expected. told: by what sentence of
    the page.
    """

    told: str
    least: float = 0.93
    most: float = 0.06


FEW_ROWS = (
    "a few rows make up most of the squared error; a sample of this size does not show how many "
    "there are"
)
FEW_EQUAL = (
    "a few heavy rows or large units make up most of the squared error; bootstrap-t, Hall's t and "
    "chi-square limits on the log scale cover no more"
)
RARE_MISSES = "few rows lie outside of the interval, and their distances make up most of the score"
CARRIED_ON = (
    "errors depend on all earlier ones, and forecasts one step ahead are taken to depend on none"
)
SEVERAL_STEPS = "sums of few autocovariances vary, and are too small on average"
OUTLIER = "the largest errors dominate, and most samples of 50 rows do not contain them"
FOUR = (
    "a class of about four rows: shares of so few rows take few values, and their variance is "
    "poorly estimated"
)
TWENTY = (
    "a class of about twenty rows that is rarely predicted: the variance of its precision is "
    "poorly estimated"
)
LABELS = (
    "labels with about twenty positives: the standard error of their average precision is a tenth "
    "too small"
)
DENSITY = "the standard error of a median depends on the density there, which ten rows do not show"
CHOSEN = "the system is picked by the same value that the interval is for (selection bias)"
ONE_ERROR = (
    "about one false positive is expected: the count is discrete, so the coverage oscillates with "
    "the share"
)
FAR = (
    "a few unexpected rows make up a third of the log loss; a sample of 160 does not show how many "
    "there are"
)
FEW_BUYERS = (
    "an arm of 22 users, one in ten of whom buys: about two buyers do not show how much amounts "
    "vary"
)
REFITTED = "each fold has its own model, fitted on few rows; the interval takes the models as fixed"
TAIL = "20 differences rarely include the tail, so their sample skewness is far too small"
SYMMETRIC = (
    "sign flips assume symmetric differences, and no closed-form test keeps its level on skewed "
    "ones"
)
OPTIMISTIC = (
    "the value at a threshold chosen on the rows is too high, and with unlike weights samples do "
    "not show all of it"
)
NO_VARIANCE = (
    "squared errors have no finite variance, so no interval of their mean is valid at any sample "
    "size"
)
LATTICE = (
    "the error of a median depends on the density there; for whole numbers two or three values "
    "determine it"
)
ZIPF = (
    "a few users have a third of all orders; a sample of this size does not show how many others "
    "may have"
)
HEAVY_UNITS = "the largest users dominate, and there are too few of them to estimate their variance"
SPREAD = (
    "the difference comes from larger errors of one system, which vary more than the observed ones"
)
DECLARED: tuple[Declared, ...] = (
    *(
        Declared(world, f"value: {number}", FEW_ROWS, measured.HEAVY, least)
        for world in ("lognormal errors", "errors of Student's t")
        for number, least in (("rmse", 0.79), ("r2", 0.88))
    ),
    *(
        Declared(world, f"value: {number}", OUTLIER, measured.HEAVY, least=0.9)
        for world in ("lognormal errors, n = 50", "errors of Student's t, n = 50")
        for number in ("mae", "wape", "bias", "pinball")
    ),
    Declared("skewed differences", "difference", SYMMETRIC, measured.SKEWED, least=0.9, most=0.1),
    Declared(
        "lognormal differences at the margin, n = 20",
        "equivalence",
        TAIL,
        measured.SKEWED,
        most=0.1,
    ),
    Declared(
        "two classes, 2% positive, n = 1,000", "specificity", ONE_ERROR, measured.RARE, least=0.84
    ),
    Declared(
        "five classes, one rare, n = 200", "precision of c4", FOUR, measured.SMALL_CLASS, least=0.75
    ),
    Declared(
        "five classes, one rare, n = 1,000",
        "macro_precision",
        TWENTY,
        measured.SMALL_CLASS,
        least=0.89,
    ),
    Declared(
        "normal errors, n = 10",
        "difference: median_absolute_error",
        DENSITY,
        measured.MEDIAN,
        0.9,
        0.1,
    ),
    *(
        Declared(f"validation, {folds}, n = {n}", number, REFITTED, measured.POOLED, least, most)
        for folds, n, least, most in (
            ("five folds", 60, 0.83, 0.18),
            ("five folds", 200, 0.9, 0.1),
            ("five folds, AUC", 60, 0.82, 0.18),
            ("five folds, AUC", 150, 0.86, 0.14),
            ("five folds, roc_auc", 200, 0.87, 0.13),
            ("ten folds, brier", 200, 0.9, 0.1),
            ("groups in five folds", 200, 0.9, 0.1),
            ("five folds, three times", 100, 0.87, 0.13),
        )
        for number in ("roc_auc", "log_loss", "brier")
    ),
    *(
        Declared(
            f"Pareto's errors, n = {n}", f"value: {number}", NO_VARIANCE, measured.HEAVY, least=0.72
        )
        for n in ("200", "2,000")
        for number in ("rmse", "r2")
    ),
    Declared(
        "whole errors", "difference: median_absolute_error", LATTICE, measured.WHOLE, 0.88, 0.12
    ),
    Declared("Zipf sessions", "value: orders", ZIPF, measured.ZIPF, least=0.88),
    Declared("ten columns", "test that decides", REFITTED, measured.POOLED, most=0.1),
    Declared("power, errors", "planned", SPREAD, measured.SHOWN, least=0.45, most=0.85),
    Declared(
        "users, arms 1 to 9, n = 220", "value: revenue", FEW_BUYERS, measured.SPARSE, least=0.9
    ),
    *(
        Declared(f"fresh: {world}", f"value: {number}", HEAVY_UNITS, measured.UNEQUAL, least=0.87)
        for world in ("heavier Zipf visitors", "500 heavy Zipf visitors")
        for number in ("roc_auc", "f1", "recall")
    ),
    Declared(
        "threshold of best F1, weights, n = 400",
        "value: accuracy",
        OPTIMISTIC,
        measured.CHOICE_INCLUDED,
        least=0.9,
    ),
    Declared(
        "fresh: labels by topic", "value: map_classes", LABELS, measured.SMALL_CLASS, least=0.84
    ),
    Declared(
        "fresh: four tags",
        "difference: map_classes",
        LABELS,
        measured.SMALL_CLASS,
        least=0.92,
        most=0.09,
    ),
    *(
        Declared(world, "value: rmse", FEW_EQUAL, measured.UNEQUAL_ERRORS, least)
        for world, least in (("weighted prices", 0.8), ("few unequal units", 0.88))
    ),
    *(
        Declared("distributions", f"value: {score}", RARE_MISSES, measured.RARE_MISSES, least=0.88)
        for score in ("interval_score@", "pinball@95", "overprediction", "underprediction")
    ),
    Declared("AR(1) of 0.3, one step", "bias", CARRIED_ON, measured.AUTOCORRELATED, least=0.8),
    Declared("AR(1) of 0.3, one step", "", CARRIED_ON, measured.AUTOCORRELATED, 0.88, most=0.12),
    Declared("AR(1) of 0.5, one step", "bias", CARRIED_ON, measured.AUTOCORRELATED, least=0.68),
    Declared("AR(1) of 0.5, one step", "", CARRIED_ON, measured.AUTOCORRELATED, 0.84, most=0.16),
    Declared("four steps ahead", "", SEVERAL_STEPS, measured.SEVERAL_STEPS, 0.88, most=0.1),
    Declared("fresh: errors of t(3.5)", "value: rmse", FEW_ROWS, measured.HEAVY, least=0.88),
    Declared("fresh: prices, some far off", "value: rmse", FEW_ROWS, measured.HEAVY, least=0.87),
    Declared("fresh: prices, some far off", "value: r2", FEW_ROWS, measured.HEAVY, least=0.85),
    Declared("fresh: far scores", "value: log_loss", FAR, measured.FAR_SCORES, least=0.84),
    Declared("five systems", "picked: the leader", CHOSEN, measured.LEADER, least=0.68),
    Declared("nine systems", "picked: the", CHOSEN, measured.BEST, least=0.82),
)
EXACT = "the test is exact, and so few units have few values of p"
STEPS = (
    "the test is exact, and values of few steps have few sums; docs/trust.md says what other tests "
    "would do"
)
CAUSES: tuple[Named, ...] = (
    Named(
        "largest distance",
        "ks",
        "the largest of many distances is biased upward: the limits are never short",
    ),
    Named(
        "",
        "nadeau",
        "ten folds: the correction for shared training rows is larger "
        "than what learners here share",
    ),
    Named(
        "",
        "mean of folds",
        "the correction for shared training rows is larger than what these learners share",
    ),
    Named(
        "",
        "by fold",
        "the correction for shared training rows is larger than what these learners share",
    ),
    Named(
        "",
        "any of the family",
        "Holm's adjustment knows nothing of how the comparisons go together",
    ),
    Named("", "any position, adjusted", "positions 1 and 2 are one coin and count as two"),
    Named("questions by task", "difference", STEPS),
    Named("n = 10", "difference", EXACT),
    Named("shares", "", "a discrete share: few values"),
    Named("", "other test: sign", EXACT),
    Named("", "other test: wilcoxon", EXACT),
    Named("", "other test: tukey", "Tukey's adjustment for all pairs beside one pair"),
    Named(
        "by user",
        "",
        "t on Kish's degrees of freedom, which are few where users are of unlike size",
    ),
    Named("weights", "", "t on Kish's degrees of freedom, which are few where weights are unlike"),
    Named(
        "heavy users",
        "",
        "t on Kish's degrees of freedom, which are few where users are of unlike size",
    ),
)
