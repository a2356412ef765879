from typing import Any

import httpx


def client(base_url: str, in_flight: int) -> httpx.Client:
    """Return the one client for all calls of the process; in_flight is how many are made at the same time.

    By default, the library keeps 20 connections for 5 s.
    """
    return httpx.Client(
        base_url=base_url,
        headers={"accept-encoding": "identity"},  # by default, it accepts gzip
        limits=httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight, keepalive_expiry=None),
    )


def post(client: httpx.Client, path: str, message: Any) -> Any:
    """Post a message as JSON."""
    return client.post(path, json=message).raise_for_status().json()
