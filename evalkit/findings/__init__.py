"""What a report tells of its data and its method: kinds with stable codes, and the findings of one report."""
