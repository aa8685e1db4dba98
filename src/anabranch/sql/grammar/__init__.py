"""The grammar of Spark SQL: its words, its rules, and what a text that breaks them is told."""
