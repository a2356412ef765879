"""Addresses on which a server listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from subject.contract import Listen, Refused


def address_of(listen: Listen, port: int) -> str:
    """Return the address in the contract's format."""
    if listen.transport == "unix":
        return f"unix:{listen.path}"
    return f"{bracketed(listen.host)}:{port}"


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def refused(listen: Listen, why: object) -> Refused:
    where = address_of(listen, 0)
    return Refused(f"cannot listen on {where}: {why}; choose another", "machine")


@contextmanager
def socket_file(listen: Listen) -> Iterator[None]:
    """Remove the socket file that the server created, but never another file."""
    if listen.transport == "unix" and Path(listen.path).exists():
        raise refused(listen, "something is there already")
    try:
        yield
    finally:
        if listen.transport == "unix":
            Path(listen.path).unlink(missing_ok=True)
