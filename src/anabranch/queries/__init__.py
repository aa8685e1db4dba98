"""Relational plans, written once as Spark SQL expressions. They name sources; engines bind them."""
