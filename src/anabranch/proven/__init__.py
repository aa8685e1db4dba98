"""Translates Spark SQL that DuckDB is proven to compute alike; names anything else as unproven."""
