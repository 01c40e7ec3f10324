"""What is computed, as figures and tables."""
