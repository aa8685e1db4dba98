"""Statements on one table inside a commit: each gives objects that nobody sees yet."""
