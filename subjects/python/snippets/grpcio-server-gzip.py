from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc


def serve(register: Callable[[grpc.Server], None], address: str, threads: int) -> tuple[grpc.Server, int]:
    """Serve, and compress the responses to clients that accept gzip. Returns the port.

    register adds the service: lambda server: add_OrdersServicer_to_server(orders, server).
    """
    # Unlike an algorithm, a level compresses only for clients that accept it. 1 is low: it chooses gzip.
    options = [("grpc.default_compression_level", 1)]
    server = grpc.server(ThreadPoolExecutor(threads), options=options)
    register(server)
    port = server.add_insecure_port(address)
    server.start()
    return server, port
