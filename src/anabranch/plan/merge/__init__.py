"""What a merge makes of names, schemas and rows: pure."""
