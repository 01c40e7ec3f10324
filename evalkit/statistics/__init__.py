"""Intervals, tests and what can be claimed: per-unit values in, `Estimate` and `Comparison` out."""
