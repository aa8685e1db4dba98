"""The grammar of Spark SQL: its tokens, its rules, and the error for a text that breaks them."""
