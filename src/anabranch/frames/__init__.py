"""Rows that users hand in and get back: pandas, Polars, Arrow, dicts, JSON, notebooks."""
