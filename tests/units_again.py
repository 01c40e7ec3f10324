"""The metrics of a report computed again from the file of its units alone."""

import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from evalkit.catalogue import lookup
from evalkit.online import sessions
from evalkit.studies import unit_files, units


@dataclass(frozen=True)
class UnitsOfFile:
    """The units that a file holds. about: what it says of itself."""

    rows: pd.DataFrame
    about: dict
    file: unit_files.UnitFile

    @classmethod
    def of(cls, path):
        table = pq.read_table(path)
        rows = table.to_pandas()
        texts = [name for name in rows if rows[name].dtype == "category"]
        about = json.loads(table.schema.metadata[b"evalkit"])
        return cls(
            rows.astype(dict.fromkeys(texts, object)), about, unit_files.read([path]).files[0]
        )

    @cached_property
    def structure(self):
        return {(row["table"], row["metric"]): row["structure"] for row in self.about["metrics"]}

    def value(self, metric, system, table="", segment=None, label=None):
        """A metric of a system: the ratio of the sums of its terms, or the catalogue's function on
        the rows.
        """
        if self.structure[table, metric] == "interleaving" and segment:
            rows = self.rows[(self.rows["table"] == table) | (table == "")]
            return self.of_sessions(metric, system, rows[rows[f"segment_{segment}"] == label])
        side = self.file.stored_metric(metric, system)
        if segment is not None:
            side = side.take(self.file.rows_with_text(f"segment_{segment}", label)[side.places])
        return side.value

    def of_sessions(self, metric, system, rows):
        """A preference in a slice of the sessions, from the credit of every arm."""
        credit = rows[rows["metric"].isna()]
        arms = list(dict.fromkeys(credit["system"]))
        wide = [credit[credit["system"] == arm] for arm in arms]
        sides = sessions.arms_by_unit(
            wide[0]["cluster"].to_numpy(), np.column_stack([of["score"] for of in wide])
        )
        return lookup.find_metric(metric, "interleaving").sums(sides[arms.index(system)]).value


def write_units(study, path):
    """Write the file of the units of a study of one table."""
    units.write(path, "made", {"": study})  # a report of several tables names each of them


def write_and_read_units(study, path):
    """Write the file of the units of a study of one table, and return what it holds."""
    write_units(study, path)
    return UnitsOfFile.of(path)


def assert_equal_or_both_undefined(again, value):
    if value is None or np.isnan(value):
        assert np.isnan(again)
        return
    assert abs(again - value) <= 1e-12 * max(1.0, abs(value)), (again, value)


def assert_metrics_follow_from_units(study, units_of_file):
    """Compute from the units in a file every metric of every system, and the metric that decides in
    every slice, and compare with the study.
    """
    for chosen in study.settings.metrics:
        for system in study.systems:
            again = units_of_file.value(chosen.label, system)
            assert_equal_or_both_undefined(again, study.estimate(chosen, system).value)
    for part in study.slices:
        for system in study.systems:
            again = units_of_file.value(
                study.primary_metric.label, system, segment=part.column, label=part.label
            )
            value = study.measure(study.primary_metric, system, part.member).value
            assert_equal_or_both_undefined(again, value)


def assert_results_follow_from_units(path, results, table=""):
    """Compute from the units in a file every value of the JSON of a report, or of one of its
    tables, and compare.
    """
    units_of_file = UnitsOfFile.of(path)
    slices = [row | {"metric": results["primary"]} for row in results["segments"]]
    assert results["estimates"]
    for row in results["estimates"] + slices:
        if (
            units_of_file.structure[table, row["metric"]] != "own"
        ):  # which the catalogue cannot compute again
            assert_equal_or_both_undefined(
                units_of_file.value(
                    row["metric"], row["system"], table, row.get("segment"), row.get("slice")
                ),
                row["value"],
            )
