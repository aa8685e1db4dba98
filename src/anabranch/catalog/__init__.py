"""The catalogue: every decision in one SQL transaction, on SQLite or PostgreSQL. The only room that knows SQLAlchemy."""
