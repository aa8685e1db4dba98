"""Objects as bytes: where they lie, their hashes, and their Parquet. What links them is the catalogue's business."""
