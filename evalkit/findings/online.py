"""EK7: interleaved sessions, A/B tests and simulated experiments."""

from evalkit.findings.finding import Kind

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
    "How much of the total the most active users account for; a warning if it turns the direction of the answer.",
    "Decide whether each user counts alike or each outcome does, before looking at the result.",
)
SESSION_TEST = Kind(
    "EK705",
    "test over sessions",
    "What a test that takes sessions as independent would have given: sessions of one user are not independent.",
    "Do not decide by this p; it is here to warn.",
)
COIN = Kind(
    "EK706",
    "fair coin",
    "Whether each arm has its share of the items at every position; a warning if chance does not explain it.",
    "Repair the draft before trusting any preference.",
)
UNEVEN_TEAMS = Kind(
    "EK707",
    "uneven teams",
    "Sessions in which one team leads by more items than a draft by rounds allows; a warning above 1 % of them.",
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
    "Users seen in several arms are left out of all; a warning above 1 % of them.",
    "Check the assignment; every user must stay in one arm.",
)
SAMPLE_RATIO = Kind(
    "EK711",
    "sample ratio",
    "Whether users fell into the arms as planned; a warning if they clearly did not.",
    "Find the cause of a mismatch before reading any result.",
)
