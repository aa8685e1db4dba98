"""Relational plans, written once as Spark SQL expressions. Pure: they name sources, engines bind them."""
