"""Inputs of any size, reduced shard by shard by an engine (DuckDB or Spark)."""
