"""A subject of rpcgauge in Python: servers, clients and codecs behind its contract."""

VERSION = "1.0"
