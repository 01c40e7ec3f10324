"""evalkit: metrics, intervals, paired tests and one-page reports on files of predictions.

import evalkit as ek

study = ek.classification("scores.csv", metrics="roc_auc,f1")  # also ranking, rating, significance,
… study.estimates, study.comparisons  # frames study.plot.roc.save("roc.pdf")
study.tables.estimates.to_latex() study.save("report.html")
"""

import os
from importlib import import_module

__version__ = "0.1.0"

# subpackages of the distribution `evalkit` of a package index, which installs into the same folder
FOREIGN = ("geal", "sial")

# name -> module, or module:attribute; the types are in __init__.pyi, which make outputs writes
PUBLIC = {
    "Comparison": "statistics.significance:Comparison",
    "Counts": "metrics.counts:Counts",
    "Estimate": "statistics.intervals:Estimate",
    "InputError": "arrays:InputError",
    "Lists": "metrics.rankings:Lists",
    "ParameterError": "arrays:ParameterError",
    "Rankings": "metrics.rankings:Rankings",
    "ab": "studies.interleaving:read",
    "bootstrap": "catalogue.own:bootstrap",
    "check": "studies.policy:check",
    "classification": "studies.classification:read",
    "comparisons": "statistics.significance",
    "count": "metrics.counts:count",
    "counts": "metrics.counts",
    "curves": "metrics.curves",
    "diff": "studies.diff:read",
    "diversity": "metrics.diversity",
    "drafts": "online.interleaving",
    "evals": "studies.significance:read",
    "experiments": "online.experiments",
    "interleaving": "studies.interleaving:read",
    "intervals": "statistics.intervals",
    "labels": "metrics.labels",
    "lookup": "catalogue.lookup",
    "losses": "metrics.losses",
    "mean": "catalogue.own:mean",
    "multiplicity": "statistics.multiplicity",
    "ndcg": "metrics.rankings:ndcg",
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

__all__ = sorted([*PUBLIC, "__version__"])


def _refuse_shared_folder() -> None:
    """Raise ImportError if another distribution has its modules in this folder too: uninstalling it
    would delete this file.
    """
    folder = os.path.dirname(__file__)
    foreign = [name for name in FOREIGN if os.path.isdir(f"{folder}/{name}")]
    if foreign:
        raise ImportError(
            f"{folder} also holds {' and '.join(foreign)} of the unrelated distribution 'evalkit': "
            f"uninstall both with pip uninstall -y evalkit evalkit-reports, then install "
            f"evalkit-reports again"
        )


_refuse_shared_folder()


def __getattr__(name: str) -> object:
    """A public name is imported when it is first used, so that `import evalkit` costs nothing."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}")
    module, _, attribute = PUBLIC[name].partition(":")  # "" where the module is what is public
    loaded = import_module(f"evalkit.{module}")
    if attribute:
        return getattr(loaded, attribute)
    # completion in a notebook then lists the module's functions, not what it imports
    vars(loaded)["__dir__"] = lambda: _own_names(vars(loaded))
    return loaded


def _own_names(variables: dict[str, object]) -> list[str]:
    """The public functions and classes of a module, without what it imports."""
    return [
        name
        for name, value in variables.items()
        if getattr(value, "__module__", None) == variables["__name__"] and name[0] != "_"
    ]


def __dir__() -> list[str]:
    return __all__
