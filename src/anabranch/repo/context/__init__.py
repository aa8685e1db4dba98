"""What every verb works with: the open repository's parts, the choice of an engine, tables at a commit."""
