"""The stacks and their features, as declared in subject.toml."""

from dataclasses import dataclass, replace
from typing import Any

from subject.contract import (
    CallSettings,
    ClientSettings,
    CodecSettings,
    Refused,
    ServerSettings,
    Settings,
)
from subject.workloads import BUILTIN, OWN

EVERY_LEVEL = ("none", "gzip", *(f"gzip:{level}" for level in range(1, 10)))
EVERY_WORKLOAD = (*(workload.name for workload in BUILTIN), OWN)
# Workloads whose calls can be streams.
STREAMED = ("items", OWN)
SERVED = tuple(name for name in EVERY_WORKLOAD if name != "records")


@dataclass(frozen=True, kw_only=True)
class Stack:
    roles: tuple[str, ...]
    encodings: tuple[str, ...]
    compressions: tuple[str, ...] = EVERY_LEVEL
    workloads: tuple[str, ...] = EVERY_WORKLOAD
    bounds_inflation: bool = True
    protocol: str = ""
    http: str = ""
    transports: tuple[str, ...] = ("tcp", "unix")
    threads: int = 1
    styles: tuple[str, ...] = ()
    connections: tuple[str, ...] = ("reuse", "per-call")
    channels: int = 1
    in_flight: int = 64
    streams: tuple[str, ...] = ()


REST = Stack(
    roles=("client",),
    encodings=("json", "protojson"),
    workloads=SERVED,
    protocol="rest",
    http="1.1",
    styles=("blocking",),
    # httpx and requests do not apply max_inflation.
    bounds_inflation=False,
)
GRPC = Stack(
    roles=("server", "client"),
    encodings=("protobuf",),
    # The library has a single level, zlib's default, and its own limit.
    compressions=("none", "gzip", "gzip:6"),
    bounds_inflation=False,
    workloads=SERVED,
    protocol="grpc",
    http="2",
    styles=("coroutine",),
    channels=64,
    streams=("client", "server", "bidirectional"),
)
PROTOBUF = Stack(roles=("codec",), encodings=("protobuf", "protojson", "hybrid"))
JSON = Stack(roles=("codec",), encodings=("json",))

STACKS = {
    "http": replace(REST, roles=("server", "client"), bounds_inflation=True),
    "fastapi": replace(REST, roles=("server",), styles=(), bounds_inflation=True, threads=8),
    "httpx": replace(REST, styles=("blocking", "coroutine")),
    "requests": replace(REST, transports=("tcp",)),
    "grpcio": replace(GRPC, encodings=("protobuf", "hybrid"), styles=("blocking", "future")),
    "grpcio-python": replace(
        GRPC, roles=("client",), encodings=("protobuf", "hybrid"), styles=("blocking",)
    ),
    "grpcio-aio": GRPC,
    "json": JSON,
    "orjson": JSON,
    "pydantic": JSON,
    "protobuf": PROTOBUF,
    "protobuf-python": PROTOBUF,
    "msgpack": replace(JSON, encodings=("msgpack",)),
}


def choose(role: str, settings: Settings) -> str:
    """Return the name of the stack for the settings, or refuse if it does not support all of them."""
    able = [name for name, stack in STACKS.items() if role in stack.roles]
    name = settings.stack or able[0]
    if name not in able:
        raise Refused(f"no stack {name!r} is a {role} here: use {' or '.join(able)}", "user")
    stack = STACKS[name]
    for what, asked, can in wants(stack, settings):
        if asked not in can:
            named = [str(value) for value in can if value]
            had = f"{can[0]} to {can[-1]}" if isinstance(can, range) else ", ".join(named)
            raise Refused(
                f"the stack {name} has no {what} {asked!r}, only {had or 'its own'}", "user"
            )
    return name


def wants(stack: Stack, settings: Settings) -> list[tuple[str, Any, Any]]:
    """Return each requested feature by name, with the values that the stack supports."""
    limits = settings.limits
    asked: list[tuple[str, Any, Any]] = [
        ("workload", settings.workload.get("name"), stack.workloads),
        ("encoding", settings.encoding, stack.encodings),
        ("limit max_depth", limits.max_depth, (None,)),
    ]
    if not stack.bounds_inflation:
        asked.append(("limit max_inflation", limits.max_inflation, (None,)))
    if isinstance(settings, CodecSettings):
        asked.append(("compression", settings.compression, stack.compressions))
        return asked
    assert isinstance(settings, CallSettings)
    asked += [
        ("protocol", settings.protocol, (stack.protocol,)),
        ("HTTP version", settings.http, (stack.http,)),
        ("compression", settings.response_compression, stack.compressions),
    ]
    if isinstance(settings, ServerSettings):
        asked += [
            ("transport", settings.listen.transport, stack.transports),
            ("threads", settings.threads, range(1, stack.threads + 1)),
        ]
    if isinstance(settings, ClientSettings):
        channels = stack.channels if settings.connection == "reuse" else 1
        transport = "unix" if settings.address.startswith("unix:") else "tcp"
        asked += [
            ("transport", transport, stack.transports),
            ("compression", settings.request_compression, stack.compressions),
            ("style", settings.style, ("", *stack.styles)),
            ("connection", settings.connection, stack.connections),
            ("channels", settings.channels, range(1, channels + 1)),
            ("calls in flight", settings.in_flight, range(1, stack.in_flight + 1)),
        ]
    return asked + wants_of_stream(stack, settings)


def wants_of_stream(stack: Stack, settings: CallSettings) -> list[tuple[str, Any, Any]]:
    if settings.stream is None:
        return []
    form = settings.stream.form
    asked: list[tuple[str, Any, Any]] = [
        ("form of calls", form, ("unary", *stack.streams)),
        ("streams of the workload", settings.workload.get("name"), STREAMED),
    ]
    if isinstance(settings, ClientSettings) and settings.style == "future":
        # The library has futures only for calls with one response.
        asked.append(("future for calls of the form", form, ("unary", "client")))
    return asked
