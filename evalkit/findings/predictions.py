"""EK3: what the systems predict: ranks, scores, probabilities, thresholds and forecasts."""

from evalkit.findings.finding import Kind

TIES = Kind(
    "EK301",
    "tied items",
    "Items of one list have equal scores or ranks, so their order is a convention; a warning if it moves the metric.",
    "Break ties in the system itself, with scores of more digits or a second criterion.",
)
RANK_GAPS = Kind(
    "EK302",
    "gaps in ranks",
    "Lists start above rank 1 or skip ranks; a missing rank counts as an item that is not relevant.",
    "Set `ranks=renumber` to number each list 1, 2, 3, … if the gaps mean nothing.",
)
RENUMBERED = Kind(
    "EK303",
    "renumbered ranks",
    "Ranks were numbered 1, 2, 3, … within each list, which closes gaps.",
    "Nothing: this is what `ranks=renumber` asks for.",
)
REVERSED_SCORE = Kind(
    "EK311",
    "reversed score",
    "An AUC below 0.5: the score ranks negatives above positives.",
    "Check `positive` and the sign of the score; a high score must mean positive.",
)
NO_PROBABILITIES = Kind(
    "EK312",
    "no probabilities",
    "Scores outside 0 to 1 are not probabilities; log loss, Brier score and calibration are left out.",
    "Provide probabilities to get these metrics.",
)
CERTAIN = Kind(
    "EK313",
    "certain predictions",
    "Probabilities of exactly 0 or 1, which log loss clips; a warning if any of them is wrong.",
    "Smooth or clip the probabilities so that none is exactly 0 or 1.",
)
DISTINCT_SCORES = Kind(
    "EK314",
    "distinct scores",
    "How many different scores each system gives.",
    "Few distinct scores mean many ties: check for rounding.",
)
BINNED_SCORES = Kind(
    "EK315",
    "binned scores",
    "There are so many distinct scores that they are counted in bins; the message bounds the effect.",
    "Nothing: metrics at the threshold stay exact.",
)
BINNED_ERRORS = Kind(
    "EK333",
    "binned errors",
    "Forecasts have so many distinct errors that these are counted in bins; the message bounds the effect.",
    "Nothing: all metrics but the median absolute error stay exact.",
)
ROWS_ADDED_UP = Kind(
    "EK336",
    "rows added up",
    "There are so many rows that only their sums are kept; some intervals and tests then come from other methods.",
    "Nothing: for so many rows the methods agree.",
)
UNNORMALISED = Kind(
    "EK316",
    "unnormalised probabilities",
    "The probabilities of a row do not add up to 1; log loss rescales each row.",
    "Normalise the probabilities, for instance by a softmax.",
)
NEVER_PREDICTED = Kind(
    "EK317",
    "classes never predicted",
    "A system never predicts a class that occurs; the class's precision is undefined.",
    "Look at the class in the confusion matrix.",
)
NOT_HIGHEST = Kind(
    "EK318",
    "not the highest score",
    "Rows whose predicted class, from a column, does not have the highest score.",
    "Check that predictions and scores come from the same model.",
)
CONSTANT_FORECAST = Kind(
    "EK319",
    "constant forecast",
    "A system forecasts the same value for every row.",
    "Check the column; a constant is a baseline, not a model.",
)
THRESHOLD = Kind(
    "EK321",
    "threshold",
    "Rows with a score of at least the threshold are predicted positive.",
    "Set `threshold` to the one that is used in production.",
)
CHOSEN_THRESHOLD = Kind(
    "EK322",
    "threshold chosen on these rows",
    "The threshold was chosen on the rows that it is evaluated on, so metrics at it are optimistic.",
    "Choose the threshold on other rows and set it as a number.",
)
ROUNDED_THRESHOLD = Kind(
    "EK323",
    "rounded threshold",
    "Scores are stored in a lower precision, and the threshold is rounded to it, as numpy and pandas do.",
    "Store scores as doubles, or set a threshold between two scores.",
)
IDLE_THRESHOLD = Kind(
    "EK324",
    "threshold beyond all scores",
    "All rows of a system are predicted to be in the same class.",
    "Set `threshold` to a value between the lowest and the highest score.",
)
UNREACHABLE_THRESHOLD = Kind(
    "EK325",
    "unreachable target",
    "No threshold reaches the target; metrics at the threshold are undefined.",
    "Lower the target.",
)
USUAL_THRESHOLD = Kind(
    "EK326",
    "usual threshold of other scores",
    "No threshold was set, and the usual one of probabilities, 0.5, is applied to scores outside 0 to 1.",
    "Set `threshold`: for log-odds and margins 0, for scores in percent 50.",
)
FEW_ROWS_DOMINATE = Kind(
    "EK331",
    "few rows dominate",
    "A small share of the rows accounts for much of the squared error, or of the log loss, which are driven by a few "
    "rows.",
    "Read a metric beside it that a few rows cannot drive, and look at those rows.",
)
CONSTANT_WINS = Kind(
    "EK332",
    "a constant forecast wins",
    "By the metric that decides no system is better than forecasting the same value for every row.",
    "Decide by a metric that fits what is forecast: MAE is least for the median, squared errors and deviances for the "
    "mean.",
)
CONSTANT_BETTER = Kind(
    "EK337",
    "worse than a constant",
    "By some metric a prediction that is the same for every row is better than a system.",
    "Do not rely on the system for what that metric measures; recalibrating its predictions may help.",
)
WITHIN_UNITS = Kind(
    "EK341",
    "order within units",
    "AUC over all rows differs from that within units: the scores tell units apart better, or worse, than rows of one.",
    "Decide by GAUC where rows of one unit compete with each other, and by AUC over all rows where all of them do.",
)
