"""Transactions, open commits and publishing."""
