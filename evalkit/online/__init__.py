"""Interleaving and A/B tests: drafts, logs, credit, simulated users."""
