"""What each page says and draws of its study: words, tables and figures, section by section."""
