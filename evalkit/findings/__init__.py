"""Findings: statements of a report about its data and methods, by kinds with stable codes."""
