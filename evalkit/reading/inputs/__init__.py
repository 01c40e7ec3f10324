"""Each kind of input as a checked structure."""
