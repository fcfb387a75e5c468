"""Benchmarks: `python -m tests.bench` prints a table of ratios, taken side by side in one run."""
