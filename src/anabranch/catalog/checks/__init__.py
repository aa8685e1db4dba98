"""Checks of the catalogue: what verify asks of its rows. Each yields damages; none changes anything."""
