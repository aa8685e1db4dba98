"""Branches, tags, refs, the log and listings, all from the catalogue alone."""
