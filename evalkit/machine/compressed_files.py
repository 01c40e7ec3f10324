"""Compressed files: their suffixes, and their contents."""

from pathlib import Path
from typing import Any

COMPRESSED_SUFFIXES = {".gz", ".zst", ".bz2", ".lz4"}


def unpacked(path: Path) -> Any:
    """Open a file as a stream of bytes, decompressed if its suffix names a compression."""
    import pyarrow as pa

    return pa.input_stream(str(path), compression="detect")


def plain(path: Path) -> Path:
    """The path without suffixes of compression.

    >>> plain(Path("runs/samples_gsm8k.jsonl.gz")).name, plain(Path("bm25.run")).name
    ('samples_gsm8k.jsonl', 'bm25.run')
    """
    while path.suffix.lower() in COMPRESSED_SUFFIXES:
        path = path.with_suffix("")
    return path
