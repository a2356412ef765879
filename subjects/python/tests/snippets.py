"""Runs the snippets: each server is called by each client that fits. The subject's own interpreter runs this program."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import grpc
from fastapi import Body

FOLDER = Path(__file__).parents[1] / "snippets"
TEXT = "text" * 1_000


def snippet(name: str) -> Any:
    spec = util.spec_from_file_location(name.replace("-", "_"), FOLDER / f"{name}.py")
    assert spec and spec.loader
    module: ModuleType = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def register(server: grpc.Server) -> None:
    handler = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
    handlers = grpc.method_handlers_generic_handler("test.Echo", {"Echo": handler})
    server.add_generic_rpc_handlers((handlers,))


def received(address: tuple[str, int], relayed: list[bytes]) -> int:
    """Relay one connection to the address, count the bytes of both directions, and return the port to connect to."""
    listener = socket.create_server(("127.0.0.1", 0))

    def relay() -> None:
        client, _ = listener.accept()
        server = socket.create_connection(address)
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=copy, args=(one, other), daemon=True).start()

    def copy(one: socket.socket, other: socket.socket) -> None:
        # Either side may close its connection first.
        with suppress(OSError):
            while data := one.recv(65_536):
                relayed.append(data)
                other.sendall(data)

    threading.Thread(target=relay, daemon=True).start()
    return int(listener.getsockname()[1])


def plain_messages(relayed: list[bytes]) -> int:
    """Return how many uncompressed messages were relayed."""
    return round(sum(map(len, relayed)) / len(TEXT))


def grpcio() -> None:
    for serving, sends in (("grpcio-server", False), ("grpcio-server-gzip", True)):
        server, port = snippet(serving).serve(register, "127.0.0.1:0", 2)
        for calling, compresses in (("grpcio-client", False), ("grpcio-client-gzip", True)):
            relayed: list[bytes] = []
            relay = received(("127.0.0.1", port), relayed)
            channel = snippet(calling).connect(f"127.0.0.1:{relay}")
            call = channel.unary_unary("/test.Echo/Echo")
            assert call(TEXT.encode(), timeout=10) == TEXT.encode()
            channel.close()
            expected = (not compresses) + (not sends)
            plain = plain_messages(relayed)
            assert plain == expected, f"{serving} and {calling}: {plain} plain messages, not {expected}"
        server.stop(None)


@contextmanager
def running(name: str) -> Iterator[int]:
    module = snippet(name)
    app = module.application()

    @app.post("/")
    async def echo(text: Annotated[str, Body()]) -> str:
        return text

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = module.server(app, port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), f"{name} did not start"
        time.sleep(0.01)
    yield port
    server.should_exit = True
    thread.join()


def fastapi() -> None:
    for serving, calling, expected in (
        ("fastapi-server", "httpx-client", 2),
        ("fastapi-server-gzip", "httpx-client", 2),
        ("fastapi-server-gzip", "httpx-client-gzip", 0),
    ):
        with running(serving) as port:
            relayed: list[bytes] = []
            url = f"http://127.0.0.1:{received(('127.0.0.1', port), relayed)}"
            module = snippet(calling)
            with module.client(url, 2) as client:
                assert module.post(client, "/", TEXT) == TEXT
            plain = plain_messages(relayed)
            assert plain == expected, f"{serving} and {calling}: {plain} plain messages, not {expected}"


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    tested = {"grpcio", "fastapi", "httpx"}
    others = {path.stem.rsplit("-gzip", 1)[0].rsplit("-", 1)[0] for path in FOLDER.glob("*.py")} - tested
    assert not others, f"nothing tests the snippets of {others}"
    grpcio()
    fastapi()
