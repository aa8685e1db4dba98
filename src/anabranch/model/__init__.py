"""Frozen values: ids, clock, refs, types, schema, objects, tables, commits. No I/O, no foreign library."""
