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
    "The largest test set is more than 1.5 times the smallest, so a mean over folds is misleading.",
    "Pool the rows, or draw folds of equal size.",
)
FEW_TESTED = Kind(
    "EK503",
    "few rows",
    "So few rows were tested that every interval is wide and approximate.",
    "Use more rows, or repeat the splits to see how much the estimates vary.",
)
UNLIKE_FOLDS = Kind(
    "EK504",
    "heterogeneous folds",
    "The metric varies between folds by more than sampling variation explains.",
    "Find out how the folds differ: in time, source or group.",
)
BASE_RATE = Kind(
    "EK505",
    "base rate",
    "Test sets hold only one class, or the share of a class differs between them.",
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
    "Check that the score is not a copy of the label.",
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
    "Features are so coarse that rows are often equal by coincidence, and copies cannot be recognised.",
    "Provide ids, so that copies can be distinguished from coincidence.",
)
NEAR_DUPLICATES = Kind(
    "EK513",
    "near duplicates",
    "Test rows are almost equal to a training row.",
    "Group rows that come from one source, and split by group.",
)
DRIFT = Kind(
    "EK514",
    "train against test",
    "A classifier can distinguish the test rows of the last fold from its training rows: drift, not leakage.",
    "Check which features have shifted; expect worse results on later data.",
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
    "Check the labels of such rows, or add features that distinguish them.",
)
SELECTED_OUTSIDE = Kind(
    "EK519",
    "selection outside",
    "Features were selected on all rows, before the split.",
    "Select features inside each fold, as part of the model.",
)
FEW_POOLED = Kind(
    "EK520",
    "few rows out of fold",
    "Each fold has a model of its own, which depends on few rows; pooled intervals and tests take the models as fixed.",
    "Below 1,000 rows the corrected interval and test of the mean of folds decide; above, read both.",
)
UNCHECKED = Kind(
    "EK601",
    "not checked",
    "Checks that could not be run, and what they need.",
    "Provide the columns that they need.",
)
NOT_FITTED = Kind(
    "EK602",
    "not fitted",
    "Other ways of splitting that lack of time, rows or classes did not allow.",
    "Raise `seconds` to fit more of them.",
)
ESTIMATOR_WARNED = Kind(
    "EK603",
    "warnings of the estimator",
    "The estimator issued warnings while it was fitted.",
    "Solve the cause, for instance with more iterations or scaled features.",
)
