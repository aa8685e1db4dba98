"""Engines run queries: Spark through PySpark, and DuckDB in the process. Both return the same answer."""
