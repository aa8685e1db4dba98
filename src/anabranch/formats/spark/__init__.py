"""Files read on Spark, by the same rules."""
