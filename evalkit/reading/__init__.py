"""Reading: turns files, data frames and tables into checked columns and structures."""
