"""Stack `grpcio-aio`, client: streams of the coroutine API."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from subject.contract import ClientSettings, Refused
from subject.grpc_aio_client import Client
from subject.grpc_stream_calls import StreamCall, StreamCalls, reason, wrong


class StreamClient(Client):
    calls_of = StreamCalls

    def __init__(self, settings: ClientSettings) -> None:
        super().__init__(settings)
        assert settings.stream
        self.talk: Callable[[Any, StreamCall], Awaitable[None]] = {
            "client": self.put,
            "server": self.list_all,
            "bidirectional": self.exchange_in_turn if settings.stream.in_turn else self.exchange_all,
        }[settings.stream.form]

    async def call(self, begin: int) -> Any:
        call = self.calls.next(begin)
        try:
            await self.exchange(call)
        except Exception as error:
            return call.failed(error)
        return call.succeeded()

    async def send(self, method: Any, call: Any) -> tuple[Any, Any]:
        try:
            await self.talk(method, call)
        except grpc.RpcError as error:
            raise reason(error) from error
        except asyncio.CancelledError as error:
            # The library cancels a call that fails while its requests are sent.
            raise wrong("the library cancelled the call") from error
        call.check()
        return call, None

    async def put(self, method: Any, call: StreamCall) -> None:
        call.receive(await method(call, **self.calls.how))

    async def list_all(self, method: Any, call: StreamCall) -> None:
        await receive_all(method(next(call), **self.calls.how), call)

    async def exchange_all(self, method: Any, call: StreamCall) -> None:
        await receive_all(method(call, **self.calls.how), call)

    async def exchange_in_turn(self, method: Any, call: StreamCall) -> None:
        rpc = method(**self.calls.how)
        try:
            for request in call:
                await rpc.write(request)
                response = await rpc.read()
                if response is grpc.aio.EOF:
                    return
                call.receive(response)
            await rpc.done_writing()
        except asyncio.InvalidStateError:
            # The server has ended the call, so that reading returns the reason.
            pass
        if await rpc.read() is not grpc.aio.EOF:
            rpc.cancel()
            call.receive(None)


async def receive_all(rpc: Any, call: StreamCall) -> None:
    try:
        async for response in rpc:
            call.receive(response)
    except Refused:
        rpc.cancel()
        raise
