"""The catalogue: every decision in one SQL transaction, on SQLite or PostgreSQL. Knows SQLAlchemy."""
