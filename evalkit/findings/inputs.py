"""EK1: the input, its rows, columns, labels and judgements. EK2: the units, weights and slices of the sample."""

from evalkit.findings.finding import Kind

# Rows and columns

ROWS_READ = Kind(
    "EK101",
    "rows read",
    "How many rows were read and used, and which columns they came from.",
    "Check that these are the rows and columns you meant; `columns` names others.",
)
UNMATCHED_ROWS = Kind(
    "EK102",
    "unmatched rows",
    "Rows whose id another system lacks are left out, so that all systems are compared on the same rows.",
    "Give every system a prediction for every row, or check that the missing rows are not the difficult ones.",
)
UNUSED_COLUMNS = Kind(
    "EK103",
    "unused columns",
    "Columns or measures of the input that take no part in the report.",
    "Name them in `systems`, `metrics` or `columns` to use them.",
)
DRAWS = Kind(
    "EK104",
    "repeated draws",
    "Several rows hold draws of one unit and system; the unit's value is their mean, and the unit counts once.",
    "If such rows are different units, give each its own id.",
)
GUESSED_VALUES = Kind(
    "EK105",
    "guessed column",
    "The column of values was chosen among several candidates by its name.",
    "Set `columns` to name the column of values.",
)
SUMMARY_LINES = Kind(
    "EK106",
    "summary lines",
    "Lines that summarise all units, such as `all` in the output of trec_eval, are left out.",
    "Nothing: summary lines are not units.",
)
EARLIER_REPORT = Kind(
    "EK107",
    "earlier report",
    "The input is an earlier report: its differences are tested again, and its systems' values are used unchanged.",
    "Use the values per unit as input to recompute everything.",
)
OTHER_MEANS = Kind(
    "EK108",
    "means of different units",
    "The mean of the differences is not the difference of the two values, because they cover different units.",
    "Read the tested difference, not the difference of the two values.",
)
SAMPLED_ROWS = Kind(
    "EK109",
    "rows drawn at random",
    "Only a random sample of the rows was used.",
    "Raise `most_rows` to use more rows.",
)
SET_ASIDE = Kind(
    "EK110",
    "rows set aside",
    "Rows of a validation set beside a test set are neither training nor test rows.",
    "Rename the fold if its rows should be tested.",
)
UNTESTED_ROWS = Kind(
    "EK111",
    "rows never tested",
    "Rows used for training only: no fold tests them, so the estimates say nothing about them.",
    "Check that these rows do not differ systematically from the tested rows.",
)
FEATURES = Kind(
    "EK112", "features", "How many features there are, and which of them are text.", "Check that text is meant as text."
)
CONSTANT_FEATURES = Kind(
    "EK113",
    "constant features",
    "Features that are constant or have no value at all: no model can learn from them.",
    "Remove them, or check how they were read.",
)
MODELS = Kind(
    "EK114",
    "fitted models",
    "The steps of each fitted estimator.",
    "Check that every step that learns from the data is one of these, so that it is fitted inside each fold.",
)
FOLDS_UNREAD = Kind(
    "EK115",
    "folds not read",
    "The input has a column of folds, which this report does not read: it takes all rows as predictions of one system.",
    "Run the validation report on the same file: it checks the split and compares the folds.",
)

ASSUMED_DIRECTION = Kind(
    "EK116",
    "assumed direction",
    "Nothing says whether higher or lower values of a metric are better: higher values were taken to be better.",
    "Set `lower_is_better` to the metrics for which lower is better, in an A/B test `best`.",
)

# Labels, targets and judgements

CLASS_SHARES = Kind(
    "EK121",
    "class shares",
    "How frequent each class or label is, and what a constant prediction achieves; a warning if one class dominates.",
    "Compare every accuracy with that of the constant prediction.",
)
ONE_CLASS = Kind(
    "EK122",
    "one class only",
    "All rows have one class, so metrics that compare classes (AUC, average precision) are undefined.",
    "Check `positive` and the label column, or add rows of the other class.",
)
SMALL_CLASS = Kind(
    "EK123",
    "small class",
    "The smaller class has few rows: intervals are wide and depend on approximations.",
    "Collect more rows of the smaller class before deciding.",
)
ABSENT_CLASSES = Kind(
    "EK124",
    "classes without rows",
    "Classes that no row has; their recall and AUC are undefined.",
    "Add rows of these classes, or remove their columns.",
)
CONSTANT_LABELS = Kind(
    "EK125",
    "constant labels",
    "Labels that are true on every row or on none; their AUC is undefined.",
    "Leave such labels out, or add rows that differ in them.",
)
TARGET_VALUES = Kind(
    "EK126",
    "target values",
    "How the numbers to predict are distributed.",
    "Check unit and range of the numbers.",
)
CONSTANT_TARGET = Kind(
    "EK127",
    "constant target",
    "All actual values are equal, so R² and correlations are undefined.",
    "Check the column of actual values.",
)
MISSING_QUERIES = Kind(
    "EK141",
    "missing queries",
    "Judged queries for which a run returns nothing; they count as 0 for that run.",
    "Check that the run is complete; a missing query is scored as if nothing relevant had been returned.",
)
QUERIES_WITHOUT_JUDGEMENTS = Kind(
    "EK142",
    "queries without judgements",
    "Queries that nobody judged; they are left out.",
    "Nothing, unless they should have been judged: check that both files write query ids in the same way.",
)
NO_JUDGEMENT_FILE = Kind(
    "EK143",
    "no judgement file",
    "Without a judgement file the relevant items that no system returned are unknown, so recall and NDCG are relative "
    "to the items returned by any system.",
    "Set `qrels` to a file of judgements.",
)
NEGATIVE_GRADES = Kind(
    "EK144",
    "negative judgements",
    "Judgements below 0 count as not judged, as in trec_eval.",
    "Use 0 for items that were judged and are not relevant.",
)
UNJUDGED_ITEMS = Kind(
    "EK145",
    "unjudged items",
    "Returned items without a judgement count as not relevant; a warning if their share differs between systems or is "
    "above 80 %.",
    "Judge the items at the top of every system's lists; a new system is at a disadvantage otherwise.",
)
SHORT_LISTS = Kind(
    "EK146",
    "lists shorter than a cut-off",
    "All lists end before the cut-off of a metric, which then looks at whole lists.",
    "Give longer lists, or set `metrics` to cut-offs that the lists reach.",
)

# Units, weights, slices

FEW_UNITS = Kind(
    "EK201",
    "few units",
    "With so few units, intervals and tests depend strongly on distributional assumptions.",
    "Collect more units before deciding on a small effect.",
)
CLUSTERED = Kind(
    "EK202",
    "clustered rows",
    "Rows of one unit are not independent; intervals and tests treat whole units as the observations.",
    "Nothing: this is what `unit` asks for.",
)
POSSIBLE_CLUSTERS = Kind(
    "EK203",
    "possible clusters",
    "The values of a column repeat, and the standard error is larger if rows are clustered by it.",
    "Set `unit` to the column if its rows are not independent.",
)
SESSIONS_AS_UNITS = Kind(
    "EK204",
    "sessions as units",
    "Without a column of users each session counts as a unit; p is too small if users return.",
    "Add a column of users to the log, or name it in `columns`.",
)
WEIGHTS = Kind(
    "EK205",
    "weighted rows",
    "Rows are weighted; each row, or unit, is one observation with its weight.",
    "Check that the weights are importance weights and not counts of repeated rows.",
)
REPEATED_ROWS = Kind(
    "EK206",
    "repeated rows",
    "Rows with the same label and the same scores as another row; a warning above 20% of the rows, unless scores have "
    "so few distinct values that ties are likely.",
    "Remove duplicates if the scores have so many distinct values that ties are unlikely.",
)
REPEATED_FOLDS = Kind(
    "EK207",
    "repeated folds",
    "The folds were drawn several times, so ids have several rows.",
    "Nothing: each id counts once if `id` is the unit.",
)
INDEPENDENT_TRIALS = Kind(
    "EK208",
    "independent trials",
    "Trials are taken as independent, and their number as fixed in advance.",
    "If one user makes several trials, give values per user instead.",
)
NO_SEGMENT_VALUE = Kind(
    "EK221",
    "missing segment values",
    "Units without a value in a segment column are a slice of their own.",
    "Fill the segment column, or read that slice as unknown.",
)
SMALL_SLICES = Kind(
    "EK222",
    "small slices",
    "Slices with few units: their intervals depend strongly on distributional assumptions.",
    "Do not conclude from these slices alone.",
)
ONE_CLASS_SLICES = Kind(
    "EK223",
    "slices with one class",
    "Slices whose rows all have one class; AUC is undefined there.",
    "Merge such slices with others.",
)
INCOMPLETE_SLICES = Kind(
    "EK224",
    "slices that lack a class",
    "In these slices, averages over classes cover fewer classes or are undefined.",
    "Do not compare such averages between slices.",
)
UNTESTABLE_SLICES = Kind(
    "EK225",
    "untestable slices",
    "Slices of so few units that no difference could be significant at this level.",
    "Collect more units of these slices.",
)
FLAT_SLICES = Kind(
    "EK226",
    "intervals without width",
    "All units of a slice are equal, so its interval has no width: it says nothing about other units.",
    "Collect more units of these slices; do not read the interval as certainty.",
)
UNDEFINED_VALUES = Kind(
    "EK231",
    "undefined values",
    "Units on which a metric is undefined are left out of its mean; a warning if these units differ between systems.",
    "Compare systems by the paired differences, which cover only shared units.",
)
