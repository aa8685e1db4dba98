"""Decide what a merge makes of names, schemas and rows."""
