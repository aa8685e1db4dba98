"""Keeping tables quick to read, and checking what is stored; contents never change."""
