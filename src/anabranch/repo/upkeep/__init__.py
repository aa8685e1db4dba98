"""Keep tables quick to read, and check what is stored; no content changes."""
