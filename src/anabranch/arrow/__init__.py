"""Our types in Arrow: which type stands for which, values fitted to them, rows made plain."""
