"""EK4: what tests and intervals take for granted, measured on the data."""

from evalkit.findings.finding import Kind

EQUAL_UNITS = Kind(
    "EK401",
    "equal units",
    "Two systems have the same value on more than half of the units: the others decide.",
    "Look at the units that differ; a metric with more values separates more units.",
)
SKEWED = Kind(
    "EK402",
    "skewed differences",
    "The differences are so skewed that the normal approximation needs more units than there are.",
    "Read p-values near the level as borderline, and collect more units.",
)
SMALL_P = Kind(
    "EK403",
    "small p-values",
    "Some p-values are too small for plain random draws and were estimated by importance sampling, to a few percent.",
    "Nothing: this changes no decision.",
)
TESTS_DISAGREE = Kind(
    "EK404",
    "tests disagree",
    "Sign flips and the t-test fall on different sides of the level.",
    "Read the comparison as borderline.",
)
TESTS_AGREE = Kind(
    "EK405",
    "tests agree",
    "Sign flips and the t-test give the same answers.",
    "Nothing: the answer does not depend on the test.",
)
OTHER_TESTS = Kind(
    "EK406",
    "tests of other questions",
    "Tests that are not about a mean (Wilcoxon, the sign test) would answer differently.",
    "Decide by the mean if totals matter, and do not pick the test afterwards.",
)
METRICS_DISAGREE = Kind(
    "EK407",
    "metrics disagree",
    "Another system leads by another metric.",
    "Choose the metric before looking at the results; the first one decides.",
)
LOOKS = Kind(
    "EK408",
    "interim analyses",
    "The data were tested several times as they grew, which raises the rate of false positives.",
    "Decide by the corrected p-values only, and plan the number of analyses in advance.",
)
CORRECTED_FOLDS = Kind(
    "EK409",
    "folds that share rows",
    "Folds share training rows; Nadeau and Bengio's corrected t-test is used.",
    "Nothing: this is what `test_to_train` asks for.",
)
FOLDS_AS_UNITS = Kind(
    "EK410",
    "folds as units",
    "The units are called folds, and folds that share training rows are not independent.",
    "Set `test_to_train` (test rows per training row, 1/9 for ten folds), or test single rows.",
)
SCORE_TEST = Kind(
    "EK411",
    "score test for many trials",
    "With very many trials the score test replaces the exact test, from which it differs by less than 0.1 %.",
    "Nothing: this changes no decision.",
)
TEST_AND_INTERVAL = Kind(
    "EK412",
    "test and interval disagree",
    "Test and interval use different methods, and one excludes no difference where the other does not.",
    "Read the comparison as borderline.",
)
BANDS = Kind(
    "EK413",
    "no bands",
    "Curves have no confidence bands where rows are too many, weighted or clustered to resample.",
    "Use a sample of the rows to see bands.",
)
