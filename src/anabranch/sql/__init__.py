"""Statements of SQL as values: what a text says, and where it speaks of tables. Nothing runs here."""
