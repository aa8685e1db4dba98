"""Our types in Arrow: how they map, values fitted to them, rows made plain."""
