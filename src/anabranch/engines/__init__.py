"""Engines run queries: Spark through PySpark, and DuckDB in the process. Both give the same answer."""
