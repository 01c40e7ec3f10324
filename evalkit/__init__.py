"""evalkit: metrics, intervals, paired tests and one-page reports on files of predictions.

import evalkit as ek

study = ek.classification("scores.csv", metrics="roc_auc,f1")  # also ranking, rating, significance, …
study.estimates, study.comparisons  # frames
study.plot.roc.save("roc.pdf")
study.tables.estimates.to_latex()
study.save("report.html")
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for True; the module typing costs more than all the rest
if TYPE_CHECKING:
    from evalkit.arrays import InputError as InputError
    from evalkit.arrays import ParameterError as ParameterError
    from evalkit.catalogue import lookup as lookup
    from evalkit.catalogue.own import mean as mean
    from evalkit.catalogue.own import of_counts as of_counts
    from evalkit.catalogue.own import ratio as ratio
    from evalkit.catalogue.own import share as share
    from evalkit.metrics import counts as counts
    from evalkit.metrics import curves as curves
    from evalkit.metrics import diversity as diversity
    from evalkit.metrics import labels as labels
    from evalkit.metrics import losses as losses
    from evalkit.metrics import rankings as rankings
    from evalkit.metrics.counts import Counts as Counts
    from evalkit.metrics.counts import count as count
    from evalkit.metrics.gains import ndcg as ndcg
    from evalkit.metrics.rankings import Lists as Lists
    from evalkit.metrics.rankings import Rankings as Rankings
    from evalkit.offline import splits as splits
    from evalkit.online import experiments as experiments
    from evalkit.online import interleaving as drafts
    from evalkit.reading.tables import sources as sources
    from evalkit.statistics import intervals as intervals
    from evalkit.statistics import multiplicity as multiplicity
    from evalkit.statistics import power as power
    from evalkit.statistics import proportions as proportions
    from evalkit.statistics import significance as comparisons
    from evalkit.statistics.intervals import Estimate as Estimate
    from evalkit.statistics.significance import Comparison as Comparison
    from evalkit.statistics.significance import sign_flip as sign_flip
    from evalkit.studies.classification import read as classification
    from evalkit.studies.interleaving import read as interleaving
    from evalkit.studies.ranking import read as ranking
    from evalkit.studies.rating import read as rating
    from evalkit.studies.significance import read as significance
    from evalkit.studies.validation import read as validation

__version__ = "0.1.0"

_PUBLIC = {  # name -> module, or module:attribute
    "Comparison": "statistics.significance:Comparison",
    "Counts": "metrics.counts:Counts",
    "Estimate": "statistics.intervals:Estimate",
    "InputError": "arrays:InputError",
    "Lists": "metrics.rankings:Lists",
    "ParameterError": "arrays:ParameterError",
    "Rankings": "metrics.rankings:Rankings",
    "classification": "studies.classification:read",
    "comparisons": "statistics.significance",
    "count": "metrics.counts:count",
    "counts": "metrics.counts",
    "curves": "metrics.curves",
    "diversity": "metrics.diversity",
    "drafts": "online.interleaving",
    "experiments": "online.experiments",
    "interleaving": "studies.interleaving:read",
    "intervals": "statistics.intervals",
    "labels": "metrics.labels",
    "lookup": "catalogue.lookup",
    "losses": "metrics.losses",
    "mean": "catalogue.own:mean",
    "multiplicity": "statistics.multiplicity",
    "ndcg": "metrics.gains:ndcg",
    "of_counts": "catalogue.own:of_counts",
    "power": "statistics.power",
    "proportions": "statistics.proportions",
    "ranking": "studies.ranking:read",
    "rankings": "metrics.rankings",
    "rating": "studies.rating:read",
    "ratio": "catalogue.own:ratio",
    "share": "catalogue.own:share",
    "sign_flip": "statistics.significance:sign_flip",
    "significance": "studies.significance:read",
    "sources": "reading.tables.sources",
    "splits": "offline.splits",
    "validation": "studies.validation:read",
}

__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> object:
    """A public name is imported when it is first used, so that `import evalkit` costs nothing."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    loaded = import_module(f"evalkit.{module}")
    return getattr(loaded, attribute) if attribute else loaded


def __dir__() -> list[str]:
    return __all__
