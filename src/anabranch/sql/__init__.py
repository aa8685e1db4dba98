"""SQL statements as values: what a text says, and where it refers to tables. Nothing runs here."""
