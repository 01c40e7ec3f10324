"""The kinds of input of the reports, each read into a checked structure."""
