"""The metrics of all systems on the rows of one table: from rows in memory, or from readings in
blocks.
"""
