"""How results look: text, tables, graphs, JSON lines."""
