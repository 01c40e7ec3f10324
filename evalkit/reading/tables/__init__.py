"""Files, frames and tables as checked columns: formats, parts, roles, ids."""
