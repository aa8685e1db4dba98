"""Files read in this process."""
