"""Runs rpcgauge and other load generators in turn against one and the same server."""
