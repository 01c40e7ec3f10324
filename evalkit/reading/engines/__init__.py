"""Engines: DuckDB and Spark, which run SQL on tables that do not fit into memory."""
