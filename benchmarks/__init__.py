"""Benchmarks: ratios to what a user would do without Anabranch, measured side by side in one run."""
