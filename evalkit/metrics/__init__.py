"""Structures and the metrics on them: arithmetic only, one value per unit."""
