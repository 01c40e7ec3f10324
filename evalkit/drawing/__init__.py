"""Figures and tables, and their export."""
