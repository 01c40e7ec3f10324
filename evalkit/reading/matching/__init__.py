"""What the names of columns and their first cells suggest for the roles of a report."""
