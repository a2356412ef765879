"""Runs rpcgauge and other load generators against the same server, in turn."""
