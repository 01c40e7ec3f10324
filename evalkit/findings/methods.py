"""EK4: what tests and intervals assume, measured on the data. EK7: interleaving, A/B tests and simulations."""

from evalkit.findings.finding import Kind

EQUAL_UNITS = Kind(
    "EK401",
    "tied units",
    "Two systems have the same value on more than half of the units: the test rests on the other units.",
    "Look at the units that differ; a metric with more distinct values has fewer ties.",
)
SKEWED = Kind(
    "EK402",
    "skewed differences",
    "Differences are so skewed that the sign-flip test, which assumes symmetry, rejects too often with so few units.",
    "Read p-values near the level as borderline, and collect more units.",
)
SMALL_P = Kind(
    "EK403",
    "small p-values",
    "Some p-values are too small for plain Monte Carlo draws; importance sampling gives them to within a few percent.",
    "Nothing: this changes no decision.",
)
TESTS_DISAGREE = Kind(
    "EK404",
    "tests disagree",
    "The sign-flip test and the t-test disagree on significance.",
    "Read the comparison as borderline.",
)
TESTS_AGREE = Kind(
    "EK405",
    "tests agree",
    "The sign-flip test and the t-test agree on significance.",
    "Nothing: the conclusion does not depend on the choice between them.",
)
OTHER_TESTS = Kind(
    "EK406",
    "tests of other hypotheses",
    "Tests of a hypothesis that is not about the mean (Wilcoxon, the sign test) reach another conclusion.",
    "Use the test of the mean if totals matter, and do not choose the test after seeing the results.",
)
METRICS_DISAGREE = Kind(
    "EK407",
    "metrics disagree",
    "A system that is not worse by the metric that decides is significantly worse by another one.",
    "Choose the deciding metric (the first of `metrics`) before the results are seen, and report the others beside it.",
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
    "Set `test_to_train` (test rows per training row, 1/9 for ten folds), or use single rows as units.",
)
SCORE_TEST = Kind(
    "EK411",
    "score test for many trials",
    "With very many trials the score test replaces the exact test, from which it differs by less than 0.1%.",
    "Nothing: this changes no decision.",
)
TEST_AND_INTERVAL = Kind(
    "EK412",
    "test and interval disagree",
    "The test and the interval use different methods, and only one of them excludes a difference of 0.",
    "Read the comparison as borderline.",
)
BANDS = Kind(
    "EK413",
    "no bands",
    "Curves have no confidence bands if the rows are weighted, clustered or too many to resample.",
    "Use a sample of the rows to see bands.",
)

PICKED = Kind(
    "EK414",
    "leader picked on these data",
    "The leader was picked as the best of several systems on the same data, so its value and its interval are somewhat "
    "too favourable.",
    "Decide by the adjusted p-values, and evaluate the system that was picked on new data.",
)

DRAWN = Kind(
    "EK415",
    "rows drawn",
    "Of a table too large to be held, some pictures and half-widths come from rows that a hash draws, the same ones in "
    "every order, each counted for the rows that it stands for; a warning if a half-width may be off by more than 5%.",
    "Do not read more digits into these limits; take units that are smaller and more, or fewer rows, for exact ones.",
)
FALLS_SHORT = Kind(
    "EK416",
    "limits that fall short",
    "In simulations of such data, intervals contained the true value less often than they say, or tests rejected more "
    "often.",
    "Read values near the limits, and p-values near the level, as borderline.",
)
SIMULATED = Kind(
    "EK701",
    "simulated data",
    "Users and clicks are simulated, not observed.",
    "Use your own log to decide; the simulation shows how a design behaves under its assumptions.",
)
BUNDLED = Kind(
    "EK702",
    "bundled table",
    "The bundled table stands in for an A/B test of your own.",
    "Set `users` to your own table.",
)
NO_CREDIT = Kind(
    "EK703",
    "users without credit",
    "Users who credited no arm have an undefined share and are left out; a warning above half of the users.",
    "Check the column of outcomes, or use an outcome that more users produce.",
)
HEAVY_USERS = Kind(
    "EK704",
    "heavy users",
    "How much of the total the most active users account for; a warning if they reverse the result.",
    "Decide before looking at the results whether every user or every outcome has the same weight.",
)
SESSION_TEST = Kind(
    "EK705",
    "test over sessions",
    "The p-value of a test that treats sessions as independent, which sessions of one user are not.",
    "Do not base a decision on this p-value; it is shown as a caution.",
)
COIN = Kind(
    "EK706",
    "fair coin",
    "Whether each arm has its share of the items at every position; a warning if a fair draft cannot explain it.",
    "Repair the draft before trusting any preference.",
)
UNEVEN_TEAMS = Kind(
    "EK707",
    "uneven teams",
    "Sessions in which one team leads by more items than a draft by rounds allows; a warning above 1% of them.",
    "Check the draft, and whether sessions were logged completely.",
)
REPEATED_ITEMS = Kind(
    "EK708",
    "repeated items",
    "Items were shown twice in one session, which no draft does.",
    "Check the log for rows written twice.",
)
ARMS = Kind("EK709", "arms", "How many users each arm has.", "Check that the sizes are as planned.")
CROSSED = Kind(
    "EK710",
    "users in several arms",
    "Users seen in several arms are left out of all; a warning above 1% of them.",
    "Check the assignment; every user must stay in one arm.",
)
SAMPLE_RATIO = Kind(
    "EK711",
    "sample ratio",
    "Whether the arms have the planned shares of users; a warning at a clear mismatch.",
    "Find the cause of a mismatch before reading any result.",
)
HELD = Kind(
    "EK712",
    "units held",
    "The table is large; one row of each user or session is held, and the message says up to how many.",
    "Nothing: intervals and tests are those of smaller tables.",
)
VERY_MANY_UNITS = Kind(
    "EK721",
    "very many units",
    "There are so many units that normal draws replace sign flips, and units are neither resampled nor listed.",
    "Nothing: of so many units the tests are the same.",
)
