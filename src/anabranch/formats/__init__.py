"""Files that users bring and take: CSV, JSON, Parquet."""
