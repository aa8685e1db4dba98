"""Spark SQL that DuckDB is proven to compute alike, translated; anything else is named as unproven."""
