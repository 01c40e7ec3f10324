"""What simulations measured where intervals do not hold what they say: sentences of the pages and of docs/trust.md."""

SMALL_CLASS = (
    "In simulations of a class of about four rows, seldom predicted, the 95% interval of its precision contained the "
    "true value in 80% of cases; with about twenty rows, that of macro precision in 91%, and that of the mean average "
    "precision of labels in 88%."
)
RARE = (
    "If fewer than two of all rows are expected to be hits, or misses, a 95% interval contains the true share in 84 to "
    "99% of cases, depending on the share."
)
HEAVY = (
    "In simulations with lognormal errors, or Student's t on 3 to 3.5 degrees of freedom, 95% intervals of RMSE "
    "contained the true value in 83 to 92% of cases, those of R² in 90 to 93%, those of the mean error of 50 rows in "
    "92 to 93%. With errors of Pareto's tail of index 2.5, whose squares have no variance, those of RMSE and R² "
    "contained it in 74 to 80%, with 2,000 rows as with 200: there no interval of RMSE or R² can be trusted."
)
FAR_SCORES = (
    "In simulations of scores that see the truth through noise with Cauchy's tails, the 95% interval of log loss "
    "contained the true value in 86% of cases."
)
CHOICE_INCLUDED = (
    "Intervals and tests allow for the choice, which is made again on each bootstrap sample: they are about the "
    "threshold that the rule would choose with unlimited rows. Those of slices and of the slider take the threshold as "
    "given. In simulations of 200 to 1,000 rows, 95% intervals of accuracy, MCC and F1 contained the true value in "
    "90 to 94% of cases, with weights those of accuracy and MCC in 85 to 86%."
)
CHOICE_LEFT_OUT = (
    "Intervals and tests take the threshold as given. In simulations with a threshold of best F1, 95% intervals of "
    "precision and recall contained the true value in 56 to 79% of cases, and 5% tests found two equally good systems "
    "different in 32 to 55%."
)
CERTAIN_INCLUDED = "Intervals and tests of log loss allow for more of them being wrong than in these rows."
CERTAIN_LEFT_OUT = (
    "Intervals of log loss by unit, with weights or of tables that are added up do not allow for more of them being "
    "wrong than in these rows: in simulations of a model beside its own rounded scores, 95% intervals of the "
    "difference contained the true value in 69 to 79% of cases."
)
TWINS = (
    "In simulations of two nearly equal systems with 15 positives, 5% tests of F1 and precision found them different "
    "in fewer than 1% of cases: where fewer than six rows are decided differently, no test of a fair coin reaches 5%."
)
MEDIAN = (
    "In simulations of 10 rows, 5% tests of the median absolute error found two equally good systems different in 8% "
    "of cases."
)
SHOWN = (
    "It assumes that the differences spread as they do here, and that ties take their share of it: in simulations with "
    "values of 0 and 1 or reciprocal ranks it was shown in 78 to 89% of cases. Where a larger difference also has a "
    "larger spread, it is shown less often: differences in MAE in 47 to 65%."
)
WHOLE = (
    "In simulations of 120 whole-number errors, 95% intervals of the difference in median absolute error contained the "
    "true value in 91% of cases, and 5% tests found two equally good systems different in 10%."
)
ZIPF = (
    "In simulations of 300 users whose sessions follow Zipf's law, where the top 1% have 20 to 50% of the total, the "
    "95% interval of an arm's mean contained the true value in 90% of cases."
)
UNEQUAL = (
    "In simulations of 300 users whose numbers of rows follow Zipf's law, which tell as much as 17 to 63 equal ones, "
    "95% intervals of AUC, F1 and recall contained the true value in 89 to 91% of cases."
)
SPARSE = (
    "In simulations of the revenue of 22 customers, of whom one in ten buys, the 95% interval of an arm's mean "
    "contained the true value in 92% of cases, and there was none in the tenth of cases without a purchase."
)
LEADER = (
    "In simulations of 5 equally good systems, the 95% interval of the leader contained its true value in only 91% of "
    "cases, and the 95% interval of its difference from the last system contained the true difference, 0, in only 74%."
)
BEST = (
    "In simulations of 8 candidates as good as the baseline, the 95% interval of the best one's difference contained "
    "0 in 86% of cases; of more candidates it does so less often."
)
POOLED = (
    "In simulations of 60 to 200 rows in five or ten folds, 95% intervals of the pooled AUC contained its mean over "
    "samples in 84 to 93% of cases, and 5% pooled tests of AUC, log loss, Brier score and accuracy found two "
    "equally good learners different in 6 to 17%, with 1,000 rows in 4 to 8% (8% with ten columns); the corrected test "
    "by fold, which decides below 1,000 rows, in 1 to 4%."
)
SKEWED = (
    "a 5% test rejected 6 to 13% of true null hypotheses, and one of equivalence 4 to 10% of differences at the margin"
)
FAR_SKEWED = "a 5% test rejected 9 to 36% of true null hypotheses"
