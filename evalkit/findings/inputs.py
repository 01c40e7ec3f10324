"""EK1: the input, its rows, columns, labels and judgements. EK2: the units, weights and slices of the sample."""

from evalkit.findings.finding import kind

# Rows and columns

ROWS_READ = kind("EK101")
UNMATCHED_ROWS = kind("EK102")
UNUSED_COLUMNS = kind("EK103")
DRAWS = kind("EK104")
GUESSED_VALUES = kind("EK105")
SUMMARY_LINES = kind("EK106")
EARLIER_REPORT = kind("EK107")
OTHER_MEANS = kind("EK108")
SAMPLED_ROWS = kind("EK109")
SET_ASIDE = kind("EK110")
UNTESTED_ROWS = kind("EK111")
FEATURES = kind("EK112")
CONSTANT_FEATURES = kind("EK113")
MODELS = kind("EK114")
FOLDS_UNREAD = kind("EK115")

ASSUMED_DIRECTION = kind("EK116")
OTHER_SCALES = kind("EK117")

# Labels, targets and judgements

CLASS_SHARES = kind("EK121")
ONE_CLASS = kind("EK122")
SMALL_CLASS = kind("EK123")
ABSENT_CLASSES = kind("EK124")
CONSTANT_LABELS = kind("EK125")
TARGET_VALUES = kind("EK126")
CONSTANT_TARGET = kind("EK127")
MISSING_QUERIES = kind("EK141")
QUERIES_WITHOUT_JUDGEMENTS = kind("EK142")
NO_JUDGEMENT_FILE = kind("EK143")
NEGATIVE_GRADES = kind("EK144")
UNJUDGED_ITEMS = kind("EK145")
SHORT_LISTS = kind("EK146")

# Units, weights, slices

FEW_UNITS = kind("EK201")
CLUSTERED = kind("EK202")
POSSIBLE_CLUSTERS = kind("EK203")
SESSIONS_AS_UNITS = kind("EK204")
WEIGHTS = kind("EK205")
REPEATED_ROWS = kind("EK206")
REPEATED_FOLDS = kind("EK207")
INDEPENDENT_TRIALS = kind("EK208")
NO_SEGMENT_VALUE = kind("EK221")
SMALL_SLICES = kind("EK222")
ONE_CLASS_SLICES = kind("EK223")
INCOMPLETE_SLICES = kind("EK224")
UNTESTABLE_SLICES = kind("EK225")
FLAT_SLICES = kind("EK226")
UNDEFINED_VALUES = kind("EK231")
