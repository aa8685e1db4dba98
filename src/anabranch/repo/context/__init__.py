"""What every verb works with: the parts of an open repository, its engines, tables at a commit."""
