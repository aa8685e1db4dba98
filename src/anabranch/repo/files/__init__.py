"""Versioned files: writes, reads and compares them; the tree that they are in is a table."""
