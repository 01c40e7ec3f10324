"""AUC by group and GAUC: the worked example, a loop over groups, and what is left out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME

from evalkit.metrics.counts import auc, auc_by_group, count, twice_u

rows = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([-2.5, -0.0, 0.0, 0.1, 0.1 + 2**-55, 7.0]), st.integers(-2, 3)),
    max_size=60,
)


@ANY_TIME
@given(rows)
def test_equals_one_table_for_each_group(data):
    label, score, group = (np.array(column) for column in zip(*data, strict=True)) if data else (np.zeros(0),) * 3
    g = auc_by_group(label, score, group)
    np.testing.assert_array_equal(g.group, np.unique(group))
    for i, name in enumerate(g.group):
        c = count(score[group == name], label[group == name])
        assert (g.twice_u[i], g.positives[i], g.negatives[i]) == (twice_u(c), c.positives, c.negatives)
        np.testing.assert_equal(g.auc[i], auc(c))
