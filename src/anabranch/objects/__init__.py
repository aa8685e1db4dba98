"""Objects as bytes: where they are kept, their hashes, and their Parquet. What links them is up to the catalogue."""
