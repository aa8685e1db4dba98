"""Versioned files: putting, reading and comparing them; the tree that they are in is a table."""
