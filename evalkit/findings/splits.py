"""EK5: what the audit of a split looks for. EK6: what could not be fitted or checked."""

from evalkit.findings.finding import Kind

TESTED_AGAIN = Kind(
    "EK501",
    "tested more than once",
    "Rows are test rows of several folds.",
    "Fine for repeated splits; name the column of repeats or ids so that each row counts once.",
)
FOLD_SIZES = Kind(
    "EK502",
    "fold sizes",
    "Test sides differ in size by more than half, so a mean over folds misleads.",
    "Pool the rows, or draw folds of equal size.",
)
FEW_TESTED = Kind(
    "EK503",
    "few rows",
    "So few rows were tested that no interval is worth much.",
    "Use more rows, or repeat the splits to see how far estimates scatter.",
)
UNLIKE_FOLDS = Kind(
    "EK504",
    "unlike folds",
    "The metric differs between folds by more than chance.",
    "Find out what the folds differ in: time, source or group.",
)
BASE_RATE = Kind(
    "EK505",
    "base rate",
    "Test sides hold one class only, or an unlike share of a class.",
    "Stratify the folds by class, or check their order in time.",
)
SCORE_SCALE = Kind(
    "EK506",
    "score scale",
    "Scores are on different scales in different folds, so a pooled AUC is wrong.",
    "Compare within folds, or calibrate each fold's scores before pooling.",
)
SCORE_IS_LABEL = Kind(
    "EK507",
    "score is the label",
    "A score separates the classes without a single error.",
    "Check that the score is no copy of the label.",
)
ID_BOTH = Kind(
    "EK508",
    "id on both sides",
    "Test rows share their id with training rows of the same fold.",
    "Split by id, so that all rows of one id are on one side.",
)
GROUP_BOTH = Kind(
    "EK509",
    "group on both sides",
    "Test rows share their group (person, session) with training rows of the same fold.",
    "Split by group, so that whole groups are on one side.",
)
TIME_TRAVEL = Kind(
    "EK510",
    "time travel",
    "Test rows are no newer than the newest training row of their fold: the model has seen the future.",
    "Split by time, with every test row after the training rows.",
)
DUPLICATES = Kind(
    "EK511",
    "duplicate rows",
    "Test rows repeat the features of a training row more often than coincidence explains.",
    "Remove copies before splitting, or keep copies on one side.",
)
COARSE = Kind(
    "EK512",
    "coarse rows",
    "Equal rows are so common by coincidence that copies would not show.",
    "Give ids, so that copies can be told from coincidence.",
)
NEAR_DUPLICATES = Kind(
    "EK513",
    "near duplicates",
    "Test rows all but equal a training row.",
    "Group rows that stem from one source, and split by group.",
)
DRIFT = Kind(
    "EK514",
    "train against test",
    "A classifier tells the test rows of the last fold from its training rows: a drift, not a leak.",
    "Check which features moved; expect less on later data.",
)
UNSEEN_CATEGORY = Kind(
    "EK515",
    "unseen category",
    "Test rows hold a text value that does not occur in training.",
    "Check that the model can handle unknown values.",
)
ID_LIKE = Kind(
    "EK516",
    "id-like column",
    "A feature is different on almost every row, so a model can memorise the rows.",
    "Remove the feature, or name it as `id` in `columns`.",
)
SINGLE_FEATURE = Kind(
    "EK517",
    "single feature",
    "One feature alone predicts the label almost perfectly.",
    "Check that the feature is known before the label is.",
)
CONFLICTING_LABELS = Kind(
    "EK518",
    "conflicting labels",
    "Rows with equal features differ in their label, which bounds what any model can achieve.",
    "Check the labels of such rows, or add features that tell them apart.",
)
SELECTED_OUTSIDE = Kind(
    "EK519",
    "selection outside",
    "Features were selected on all rows, before the split.",
    "Select features inside each fold, as part of the model.",
)
UNCHECKED = Kind(
    "EK601",
    "not checked",
    "Checks that could not be run, and what they need.",
    "Give the columns that they need to have them checked.",
)
NOT_FITTED = Kind(
    "EK602",
    "not fitted",
    "Other splits that the time, the number of rows or the classes did not allow.",
    "Raise `seconds` to have more of them fitted.",
)
ESTIMATOR_WARNED = Kind(
    "EK603",
    "warnings of the estimator",
    "The estimator warned while it was fitted.",
    "Solve the cause, for instance with more iterations or scaled features.",
)
