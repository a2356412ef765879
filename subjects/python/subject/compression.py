"""gzip using the standard library."""

import gzip
import zlib

from subject.contract import Limits

GZIP_LEVEL = 6
GZIP_WINDOW = 31
MAX_INFLATION = 10_000
# The size that is always allowed, however small the compressed input.
FREE_BYTES = 64 << 10


def level(compression: str) -> int:
    """Return the level of `gzip:LEVEL`; 0 for `none`."""
    name, _, digits = compression.partition(":")
    return 0 if name == "none" else int(digits or GZIP_LEVEL)


def compress(plain: bytes, level: int) -> bytes:
    return gzip.compress(plain, level, mtime=0)


def decompress(compressed: bytes, limits: Limits) -> bytes:
    """Return the plain bytes, never more than the limits allow."""
    inflated = max(FREE_BYTES, len(compressed) * (limits.max_inflation or MAX_INFLATION))
    most = min(limits.max_message_bytes, inflated)
    inflating = zlib.decompressobj(GZIP_WINDOW)
    try:
        plain = inflating.decompress(compressed, most)
    except zlib.error as error:
        raise ValueError(f"the body is not gzip: {error}") from error
    if inflating.unconsumed_tail:
        raise ValueError(f"the body inflates to more than {most} bytes")
    if not inflating.eof or inflating.unused_data:
        raise ValueError("the body is not a complete gzip member")
    return plain
