"""Runs rpcgauge and other load generators in turn against the same server."""
