"""evalkit: metrics, intervals, paired tests and one-page reports on files of predictions."""

from importlib import import_module

__version__ = "0.1.0"

_MODULES = {
    "counts": "metrics",
    "diversity": "metrics",
    "intervals": "statistics",
    "labels": "metrics",
    "lookup": "catalogue",
    "losses": "metrics",
    "rankings": "metrics",
    "significance": "statistics",
    "sources": "reading.tables",
}
_NAMES = {
    "Comparison": "statistics.significance",
    "Counts": "metrics.counts",
    "Estimate": "statistics.intervals",
    "InputError": "arrays",
    "Lists": "metrics.rankings",
    "ParameterError": "arrays",
    "Rankings": "metrics.rankings",
    "count": "metrics.counts",
    "mean": "catalogue.own",
    "ndcg": "metrics.gains",
    "of_counts": "catalogue.own",
    "ratio": "catalogue.own",
    "share": "catalogue.own",
    "sign_flip": "statistics.significance",
}

__all__ = sorted([*_MODULES, *_NAMES, "__version__"])


def __getattr__(name: str) -> object:
    """A public name is imported when it is first used, so that `import evalkit` costs nothing."""
    if name in _MODULES:
        return import_module(f"evalkit.{_MODULES[name]}.{name}")
    if name in _NAMES:
        return getattr(import_module(f"evalkit.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'evalkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
