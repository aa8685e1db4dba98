"""The table of what is proven, row by row."""
