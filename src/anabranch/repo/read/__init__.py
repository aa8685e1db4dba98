"""Read a table at a commit."""
