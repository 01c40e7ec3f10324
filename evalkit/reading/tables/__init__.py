"""Reads files, data frames and tables into checked columns: formats, parts, roles, ids."""
