"""What differs, what changed when, and who changed it."""
