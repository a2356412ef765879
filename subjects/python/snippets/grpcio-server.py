from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc


def serve(register: Callable[[grpc.Server], None], address: str, threads: int) -> tuple[grpc.Server, int]:
    """Serve with the library's defaults, and return the port.

    register adds the service: lambda server: add_OrdersServicer_to_server(orders, server).
    """
    server = grpc.server(ThreadPoolExecutor(threads))
    register(server)
    port = server.add_insecure_port(address)
    server.start()
    return server, port
