"""The metrics of a report computed again from the file of its units alone, with the functions of the catalogue."""

import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from evalkit.catalogue import lookup
from evalkit.metrics.rows import Rows
from evalkit.online import sessions
from evalkit.studies import units


@dataclass(frozen=True)
class Again:
    """What a file holds. about: what it says of itself."""

    rows: pd.DataFrame
    about: dict

    @classmethod
    def of(cls, path):
        table = pq.read_table(path)
        rows = table.to_pandas()
        texts = [name for name in rows if rows[name].dtype == "category"]
        return cls(rows.astype(dict.fromkeys(texts, object)), json.loads(table.schema.metadata[b"evalkit"]))

    @cached_property
    def structure(self):
        return {(row["table"], row["metric"]): row["structure"] for row in self.about["metrics"]}

    def part(self, table="", segment=None, label=None):
        """The rows of one of the report's tables, or of a slice of it."""
        rows = self.rows[self.rows["table"] == table] if table else self.rows
        return rows if segment is None else rows[rows[f"segment_{segment}"] == label]

    def value(self, metric, system, table="", segment=None, label=None):
        """A metric of a system: the ratio of the sums of its terms, or the catalogue's function on the rows."""
        structure = self.structure[table, metric]
        if structure == "interleaving" and segment:
            return self.of_sessions(metric, system, self.part(table, segment, label))
        rows = self.part(table, segment, label)
        rows = rows[rows["system"] == system]
        terms = rows[rows["metric"] == metric]
        if len(terms):
            top, bottom = terms["numerator"].sum(), terms["denominator"].sum()
            return top / bottom if bottom else np.nan
        return lookup.find(metric, structure).value(self.observed(rows[rows["metric"].isna()], structure))

    def of_sessions(self, metric, system, rows):
        """A preference in a slice of the sessions, from the credit of every arm."""
        credit = rows[rows["metric"].isna()]
        arms = list(dict.fromkeys(credit["system"]))
        wide = [credit[credit["system"] == arm] for arm in arms]
        sides = sessions.sides(wide[0]["cluster"].to_numpy(), np.column_stack([of["score"] for of in wide]))
        return lookup.find(metric, "interleaving").sums(sides[arms.index(system)]).value

    def observed(self, rows, structure):
        """The rows of a system as the catalogue takes them."""
        if rows["class"].isna().all():
            decision = whole(column(rows, "predicted"))
            actual = rows["actual"].to_numpy() if structure == "forecasts" else whole(rows["actual"].to_numpy())
            return Rows(actual, column(rows, "score"), decision=decision, **shared(rows))
        names = [name for name in self.about["classes"] if name in set(rows["class"])]
        names = self.about["classes"] if structure == "classes" else names
        if rows["score"].isna().all():
            of = {name: i for i, name in enumerate(names)}
            sides = [rows[rows[side] == 1] for side in ("actual", "predicted")]
            actual, decision = (side["class"].map(of).to_numpy().astype(int) for side in sides)
            return Rows(actual, decision=decision, classes=len(names), **shared(sides[0]))
        actual, score, predicted = (square(rows, side, len(names)) for side in ("actual", "score", "predicted"))
        if structure == "labels":
            return Rows(actual == 1, score, decision=predicted == 1, **shared(rows.iloc[:: len(names)]))
        decision = predicted.argmax(axis=1)
        more = shared(rows.iloc[:: len(names)])
        return Rows(actual.argmax(axis=1), score, decision=decision, classes=len(names), **more)


def column(rows, name):
    return None if rows[name].isna().all() else rows[name].to_numpy()


def whole(values):
    return None if values is None else values.astype(np.int64)


def square(rows, name, count):
    return rows[name].to_numpy().reshape(-1, count)


def shared(rows):
    cluster = column(rows, "cluster")
    return {"weight": column(rows, "weight"), "unit": None if cluster is None else cluster.astype(str)}


def written(path, **studies):
    """The file of one study, or of those of several tables, and what it holds."""
    units.write(path, "made", studies)
    return Again.of(path)


def equal(again, value):
    if value is None or np.isnan(value):
        assert np.isnan(again)
        return
    assert abs(again - value) <= 1e-12 * max(1.0, abs(value)), (again, value)


def check(study, again, table=""):
    """Every metric of every system, and the metric that decides in every slice."""
    for chosen in study.settings.metrics:
        for system in study.systems:
            equal(again.value(chosen.label, system, table), study.estimate(chosen, system).value)
    for part in study.slices:
        for system in study.systems:
            value = study.measure(study.primary, system, part.member).value
            equal(again.value(study.primary.label, system, table, part.column, part.label), value)


def follows(path, results, table=""):
    """Every value of the JSON of a report, or of one of its tables, again from the file beside it."""
    again, slices = Again.of(path), [row | {"metric": results["primary"]} for row in results["segments"]]
    assert results["estimates"]
    for row in results["estimates"] + slices:
        if again.structure[table, row["metric"]] != "own":  # which the catalogue cannot compute again
            equal(again.value(row["metric"], row["system"], table, row.get("segment"), row.get("slice")), row["value"])
