"""Files, frames and parameters in; checked columns and structures out."""
