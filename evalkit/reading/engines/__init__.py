"""What asks SQL of tables that do not fit into memory: DuckDB and Spark."""
