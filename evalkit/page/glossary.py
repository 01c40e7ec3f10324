"""The glossary: terms of statistics that pages use, in plain words, and how a page is linked to those that it uses."""

import html
import re
from dataclasses import dataclass

from evalkit.findings import measured
from evalkit.places import anchor


@dataclass(frozen=True)
class Term:
    """A term, what it means, and the words by which a page may mention it."""

    name: str
    meaning: str
    words: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Where a page has it."""
        return f"term-{anchor(self.name)}"


TERMS = (
    Term(
        "adjusted p",
        "A p-value that was enlarged because several comparisons were made, so that the probability of even one false "
        "claim among them stays below 5% (at a level of 95%).",
        ("adjusted p", "Holm-adjusted", "adjusted by Holm"),
    ),
    Term(
        "base rate",
        "The share of rows that are positive. Precision, average precision and F1 change with it; recall, specificity "
        "and AUC do not.",
        ("base rate", "Base rate"),
    ),
    Term(
        "bootstrap",
        "Drawing rows, or whole units, again and again with replacement and computing the metric each time; the spread "
        "of the results estimates the sampling error.",
    ),
    Term(
        "calibration",
        "Agreement of probabilities with what happens: of all rows with a predicted probability of 0.7, 70% are "
        "positive. A reliability diagram shows it.",
        ("calibration", "calibrated", "reliability diagram"),
    ),
    Term(
        "calibration slope",
        "The slope of a logistic regression of the labels on the logit of the probability: 1 if calibrated, below 1 if "
        "probabilities are too extreme, above 1 if they are too moderate. The calibration intercept, with the slope "
        "fixed at 1, is 0 if calibrated on average and above 0 if probabilities are too low.",
        ("Logistic recalibration", "calibration slope", "calibration intercept"),
    ),
    Term(
        "confidence interval",
        "The range of true values that fit the data: of 100 such intervals at 95%, about 95 contain the "
        "true value. The wider the interval, the less the data say.",
        ("confidence intervals", "confidence interval", "intervals", "interval"),
    ),
    Term(
        "consistency band",
        "Where the curve of a reliability diagram lies at each probability or forecast in 95% of samples of this size "
        "if the probabilities or forecasts are right. A curve that leaves it over a stretch is evidence of "
        "miscalibration; it is pointwise, so a curve may leave it somewhere by chance.",
        ("of such curves",),
    ),
    Term(
        "CORP",
        "A reliability diagram and a decomposition of the loss without bins: isotonic regression fits the share of "
        "positives, or the mean of the actual values, as a step function that never falls along the forecast.",
        ("CORP",),
    ),
    Term(
        "CUPED",
        "An adjustment for what users did before the experiment. It reduces the variance of the difference and does "
        "not change what is estimated.",
    ),
    Term("delta method", "The standard error of a ratio or of another smooth function of means, from its derivatives."),
    Term(
        "DeLong", "The standard method for the interval of an AUC and for the difference of two AUCs on the same rows."
    ),
    Term(
        "detectable difference",
        "The smallest true difference that such data would show as better or worse with 80% probability.",
        ("detectable difference", "Detectable", "be detected with 80% power"),
    ),
    Term(
        "discrimination (DSC)",
        "The part of the loss that a forecast removes by telling rows apart, after perfect recalibration (CORP). "
        "Higher is better.",
        ("discrimination", "DSC"),
    ),
    Term(
        "diversity",
        "How different the items of one list are from each other (intra-list diversity, ILD): the share of its pairs "
        "with different categories, or their mean cosine distance by features. It says nothing about relevance.",
        ("diversity by category", "diversity by features"),
    ),
    Term(
        "equivalent",
        "The difference was shown to lie within the margin that was set, by two one-sided tests (TOST). Not being "
        "significantly different is not evidence of equivalence.",
        ("Equivalent", "equivalence", "Equivalence", "TOST"),
    ),
    Term("estimand", "The quantity that is to be estimated. Capping or weighting the data changes it."),
    Term(
        "family",
        "The comparisons that are corrected together for being several.",
        ("Family",),
    ),
    Term(
        "Gini of exposure",
        "How unevenly the lists show the items of the catalogue, items never shown included: 0 if all are shown "
        "equally often, near 1 if a few are shown always.",
    ),
    Term(
        "Holm",
        "A correction for several comparisons: the smallest p is multiplied by the number of comparisons, the next by "
        "one less, and so on. It controls the probability of any false claim.",
        ("Holm's", "Holm"),
    ),
    Term(
        "importance sampling",
        "A simulation that draws rare outcomes more often and weights them down, so that a very small p is estimated "
        "precisely.",
    ),
    Term(
        "interim analysis",
        "A test while the data are still growing. Each one is a further chance of a false positive, so p must be "
        "smaller at each.",
        ("repeated looks", "interim analyses", "interim analysis"),
    ),
    Term("jackknife", "The standard error from leaving out one unit at a time."),
    Term(
        "leakage",
        "Information that a model has in the evaluation and would not have in production, such as copies of test rows "
        "among the training rows. It makes every number too good.",
        ("Leakage", "leakage"),
    ),
    Term(
        "max-T",
        "A correction that tests all comparisons jointly and so accounts for their correlation.",
        ("max-T p", "max-T"),
    ),
    Term(
        "McNemar",
        "A test of two systems on the same rows, from the rows that only one of them gets right.",
        ("McNemar's", "McNemar"),
    ),
    Term("MOVER", "An interval of a sum or difference that is put together from the intervals of its parts."),
    Term(
        "miscalibration (MCB)",
        "The part of the loss that perfect recalibration would remove (CORP): 0 if calibrated. Loss = MCB − DSC + UNC.",
        ("miscalibration", "MCB"),
    ),
    Term(
        "Nemenyi",
        "A test of all pairs by mean rank: two systems differ if their mean ranks are further apart than the critical "
        "difference.",
        ("Nemenyi's", "Nemenyi"),
    ),
    Term(
        "net benefit",
        "True positives per row less false positives per row times t / (1 − t), where t is the probability from which "
        "a case is acted on. The decision curve draws it over t, beside acting on every case and on none: a model is "
        "useful where it lies above both.",
        ("Net benefit", "net benefit", "Decision curve", "decision curve"),
    ),
    Term("non-inferiority", "The difference was shown not to be worse than the margin that was set."),
    Term(
        "novelty",
        "How unexpected the items of a list are: the mean of −log2 of their popularity, in bits. One bit more means "
        "half as popular.",
        ("novelty by interactions", "novelty by users"),
    ),
    Term(
        "overlap",
        "The share of items that the first k of two lists have in common, whatever their order and relevance.",
        ("Mean overlap",),
    ),
    Term(
        "p",
        "The probability of a difference at least as large as the observed one if there were no true difference. It is "
        "not the probability that there is none, and it does not say how large the difference is.",
        ("p-values", "p-value", "p by", "p:"),
    ),
    Term(
        "paired differences",
        "Both systems are measured on the same units and compared unit by unit, so that hard and easy units cancel "
        "out.",
        ("Paired differences", "paired differences"),
    ),
    Term(
        "power",
        "The probability that data of this size show a true difference of a stated size.",
        ("80% power", "95% power", "power"),
    ),
    Term(
        "rank interval",
        "The ranks that a system may truly have: from 1 plus the number of systems that are significantly better to "
        "the number of systems less those that are significantly worse. The intervals hold for all systems at once. "
        "They come from one joint test of all pairs (step-down max-T), not from the verdicts of the page, and can "
        "therefore separate more or fewer systems than these.",
        ("rank intervals",),
    ),
    Term(
        "RBO",
        "Rank-biased overlap: how alike two lists are, from 0 for no common item to 1 for the same items in the same "
        "order; ranks near the top weigh most.",
    ),
    Term(
        "sample ratio",
        "The numbers of users in the arms against the planned shares. If they differ by more than chance explains, the "
        "assignment is broken and no result can be trusted.",
        ("Sample ratio",),
    ),
    Term(
        "sign flips",
        "A randomisation test of paired differences: if two systems were equally good, each difference could as well "
        "have the opposite sign. p is the share of sign patterns whose mean is at least as far from 0 as the observed "
        "one.",
        ("sign flips", "sign flip", "sign-flip inversion", "sign-flip test", "sign-flip", "Sign flips"),
    ),
    Term(
        "skewness",
        "How lopsided values are: 0 if symmetric, above 0 with a long tail of high values. With skewed values more "
        "units are needed.",
        ("skewness", "Skewed", "skewed"),
    ),
    Term("threshold", "The score from which on a row is predicted positive.", ("threshold", "Thresholds", "Threshold")),
    Term(
        "tier",
        "Systems that follow each other in the ranking without a significant difference between any two of them.",
        ("tiers", "tier"),
    ),
    Term(
        "tied scores",
        "Equal scores of several items of a list, whose order is then arbitrary; the range shows how much that "
        "matters.",
        ("Ties:", "tied items"),
    ),
    Term(
        "uncertainty (UNC)",
        "The loss of always predicting the base rate or the mean, the same for all systems (CORP): how hard the data "
        "are.",
        ("UNC",),
    ),
    Term(
        "unit",
        "What varies independently from sample to sample: a row, a query, a user. Intervals and tests count units.",
        ("as units", "the units"),
    ),
    Term(
        "unjudged item",
        "An item of a list that nobody judged. It counts as not relevant, which is unfair to a system that finds what "
        "earlier systems did not.",
        ("Unjudged items", "unjudged items"),
    ),
    Term(
        "Walsh–Hadamard draws",
        "Random sign patterns of which thousands are evaluated at once by a fast transform.",
        ("Walsh–Hadamard draws", "Walsh–Hadamard"),
    ),
    Term("Welch", "A t-test of two independent groups whose variances may differ.", ("Welch's", "Welch")),
    Term(
        "Wilson",
        f"The standard interval of a share of independent rows; it stays within 0 and 1. {measured.RARE}",
        ("Wilson's", "Wilson"),
    ),
)
OF_WORDS = {word: term for term in TERMS for word in term.words or (term.name,)}
WORDS = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, sorted(OF_WORDS, key=len, reverse=True))) + r")(?![\w-])")
TAGS = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")
NAME = re.compile(r"<(/?)([a-z0-9]+)")
CLOSED = frozenset(
    ["a", "button", "code", "dt", "h1", "h2", "h3", "pre", "script", "strong", "style", "summary", "svg", "td", "title"]
)  # no links inside


def linked(page: str) -> str:
    """The page with the first mention of each term in each section linked, and the glossary of these terms below.

    >>> linked("<p>p by Holm</p>").split("<h2")[0]
    '<p><a class="term" href="#term-p">p by</a> <a class="term" href="#term-holm">Holm</a></p>'
    """
    parts, closed = TAGS.split(page), list[str]()
    mentioned, used = set[Term](), set[Term]()

    def link(match: re.Match[str]) -> str:
        term = OF_WORDS[match[1]]
        if term in mentioned:
            return match[1]
        mentioned.add(term)
        used.add(term)
        return f'<a class="term" href="#{term.id}">{match[1]}</a>'

    for i, part in enumerate(parts):
        if i % 2:
            _enter(part, closed)
        elif not closed:
            parts[i] = WORDS.sub(link, part)
        if part.startswith("<h2"):
            mentioned.clear()
    return "".join(parts) + _glossary([term for term in TERMS if term in used])


def _enter(tag: str, closed: list[str]) -> None:
    """Note what a tag opens or closes in the list of open elements that hold no links."""
    match = NAME.match(tag)
    if match is None:
        return
    if match[1]:
        if closed and closed[-1] == match[2]:
            closed.pop()
    elif match[2] in CLOSED or 'scope="row"' in tag:
        closed.append(match[2])


def _glossary(terms: list[Term]) -> str:
    """The section of these terms, folded; a link to a term opens it."""
    if not terms:
        return ""
    items = "".join(
        f'<dt id="{term.id}">{html.escape(term.name)}</dt><dd>{html.escape(term.meaning)}</dd>' for term in terms
    )
    summary = f"{len(terms)} term{'s' if len(terms) > 1 else ''} used on this page"
    listed = f'<details><summary>{summary}</summary><dl class="definitions">{items}</dl></details>'
    return f'<h2 id="glossary">Glossary</h2>{listed}'


def markdown() -> str:
    """All terms as a list in markdown."""
    return "\n".join(f"**{term.name}**: {term.meaning}\n" for term in TERMS)
