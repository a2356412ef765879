import uvicorn
from fastapi import FastAPI


def application() -> FastAPI:
    """Return an application without compression, which is the default."""
    return FastAPI()


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
