"""The grammar of Spark SQL: its words, its rules, and the message for a text that breaks them."""
