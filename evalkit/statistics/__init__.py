"""Inference: intervals, tests and verdicts. Values per unit go in, `Estimate` and `Comparison` come
out.
"""
