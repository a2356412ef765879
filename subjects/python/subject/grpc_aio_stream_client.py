"""Stack `grpcio-aio`, client: streams of the coroutine API."""

import asyncio
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
        self.stream = settings.stream
        self.talk = put if self.stream.form == "client" else receive_all
        if self.stream.in_turn:
            self.talk = exchange_in_turn

    async def call(self, begin: int) -> Any:
        call = self.calls.next(begin)
        try:
            await self.exchange(call)
        except Exception as error:
            return call.failed(error)
        return call.succeeded()

    async def send(self, method: Any, call: Any) -> tuple[Any, Any]:
        rpc = self.open(method, call)
        try:
            await self.talk(rpc, call)
        except grpc.RpcError as error:
            raise reason(error) from error
        except asyncio.CancelledError as error:
            # The library cancels a call if it cannot send the requests.
            raise wrong("the library cancelled the call") from error
        except Refused:
            rpc.cancel()
            raise
        call.check()
        return call, None

    def open(self, method: Any, call: StreamCall) -> Any:
        if self.stream.in_turn:
            return method(**self.calls.how)
        requests = next(call) if self.stream.form == "server" else call
        return method(requests, **self.calls.how)


async def put(rpc: Any, call: StreamCall) -> None:
    call.receive(await rpc)


async def receive_all(rpc: Any, call: StreamCall) -> None:
    async for response in rpc:
        call.receive(response)


async def exchange_in_turn(rpc: Any, call: StreamCall) -> None:
    try:
        for request in call:
            await rpc.write(request)
            if (response := await rpc.read()) is grpc.aio.EOF:
                return
            call.receive(response)
        await rpc.done_writing()
    except asyncio.InvalidStateError:
        # The server has ended the call; reading shows its status.
        pass
    while (response := await rpc.read()) is not grpc.aio.EOF:
        call.receive(response)
