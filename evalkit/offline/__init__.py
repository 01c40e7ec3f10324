"""Splits, their audit, and fitting on them."""
