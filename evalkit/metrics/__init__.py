"""Metrics, and the structures that they are computed from, such as `Counts` and `Rankings`; no
statistics.
"""
