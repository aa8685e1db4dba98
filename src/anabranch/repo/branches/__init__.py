"""Branches, tags, refs, the log and listings: the catalogue alone is asked."""
