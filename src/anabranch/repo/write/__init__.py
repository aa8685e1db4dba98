"""Statements on one table inside a commit: each makes objects that no commit links yet."""
