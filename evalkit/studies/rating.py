"""The rating study: actual values and forecasts, errors with intervals, bias along the forecast, paired comparisons."""

from evalkit import parameters
from evalkit.catalogue import lookup
from evalkit.limits import USUAL, Limits
from evalkit.parameters import Columns, ColumnsOfEach, Metrics, Named, Names, Tables, documented
from evalkit.reading.engines import base
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.ratings import Forecast
from evalkit.reading.reductions import forecasts, tabled
from evalkit.reading.tables import sources
from evalkit.studies import rating_sums, study
from evalkit.studies.rating_rows import RowsStudy
from evalkit.studies.rating_study import METRICS, Rating

SAMPLE = {"preds": "data/visit_forecasts/predictions.csv", "unit": "person", "segments": ["plan", "health"]}


@documented(parameters.Rating)
def read(
    preds: Tables | None = None,
    *,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    unit: str | None = None,
    segments: Names | None = None,
    baseline: str | None = None,
    gate: str | None = None,
    title: str | None = None,
    note: str | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
    y_true: Columns | None = None,
    y_pred: ColumnsOfEach | None = None,
    sample_weight: Columns | None = None,
) -> Rating:
    """Read actual values and forecasts, and measure and compare how far they are apart.

    Without `preds` and arrays it is the bundled sample. Raises ParameterError for a parameter, InputError for
    the input.

    >>> import evalkit as ek
    >>> ek.rating(y_true=[3, 5, 4, 8], y_pred=[2, 5, 6, 7], metrics="mae").estimates["value"].tolist()
    [1.0]
    """
    return study_of(parameters.Rating.of(locals()))


@sources.naming_files
def study_of(p: parameters.Rating, limits: Limits = USUAL) -> Rating:
    """The study that the parameters of `read` ask for, within these limits."""
    p = p.filled(SAMPLE) if p.preds is None else p
    metrics = lookup.chosen(p.metrics, "forecasts", METRICS)
    settings = study.settings(p, metrics, unit=p.unit, segments=p.segments, limits=limits)
    budget = base.budget(p.memory, p.threads, p.spill, limits.reading)
    asked = Forecast.of(
        sources.parts(p.preds, p.header, limits.reading),
        columns=p.columns,
        systems=p.systems,
        attributes=settings.attributes,
        beside=settings.columns,
    )
    study.check_columns(p.metrics, asked.parts)
    with tabled.engine_for(asked.parts, budget) as engine:
        if engine:
            return rating_sums.study_of(forecasts.read(engine, asked, settings.segments, p.unit), settings, p.given)
    data = asked.read()
    study.check_systems(settings, data.rows.systems)
    attributes = attributes_of(data.rows, settings.attributes, settings.unit)
    return RowsStudy(settings, data.rows.systems, attributes, p.given, data)
