import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware

MAX_REQUEST_BYTES = 4 << 20
GZIP = 16 + zlib.MAX_WBITS


class GzipRequest(Request):
    """A request that may be in gzip, which FastAPI does not support by itself."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            body = await super().body()
            if self.headers.get("content-encoding") == "gzip":
                # A short request can decompress to a very long one.
                reader = zlib.decompressobj(GZIP)
                try:
                    body = reader.decompress(body, MAX_REQUEST_BYTES)
                except zlib.error as error:
                    raise HTTPException(400, "the body is not gzip") from error
                if not reader.eof:
                    raise HTTPException(413, "the body is too long or incomplete")
            self._body = body
        return self._body


class GzipRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:
        handle = super().get_route_handler()

        async def read(request: Request) -> Any:
            return await handle(GzipRequest(request.scope, request.receive))

        return read


def application() -> FastAPI:
    """Return an application that accepts requests in gzip, and compresses the responses to clients that accept it."""
    app = FastAPI()
    app.router.route_class = GzipRoute
    # By default, the level is 9, and responses below 500 bytes are not compressed.
    app.add_middleware(GZipMiddleware, minimum_size=0, compresslevel=6)
    return app


def server(app: FastAPI, port: int) -> uvicorn.Server:
    """Return a server with the loop and the parser that uvicorn[standard] installs."""
    config = uvicorn.Config(
        app,
        host="0.0.0.0",
        port=port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        # By default, the server closes a connection after 5 s, while the client may be sending a request.
        timeout_keep_alive=3_600,
    )
    return uvicorn.Server(config)
