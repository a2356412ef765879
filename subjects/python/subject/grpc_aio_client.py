"""Stack `grpcio-aio`, client: the API of coroutines, unary, protobuf."""

import asyncio
from time import monotonic_ns
from typing import Any

import grpc
import grpc.aio

from subject.contract import ClientSettings, Json
from subject.grpc_calls import Call, Calls, Response, failure
from subject.slices import Record
from subject.tasks import Tasks


class Client:
    in_batches = False

    def __init__(self, settings: ClientSettings) -> None:
        self.loop = asyncio.new_event_loop()
        # The library takes the loop of the thread.
        asyncio.set_event_loop(self.loop)
        self.calls = Calls(settings, grpc.aio.insecure_channel)
        self.versions = self.calls.versions
        self.code = self.calls.messages.code
        self.run = Tasks(self.loop, self.call, settings.in_flight).run
        if self.calls.keeps:
            self.channel = self.calls.channel()
            self.method = self.calls.stub(self.channel)
            self.loop.run_until_complete(self.connect())

    def reopen(self) -> int:
        if not self.calls.keeps or self.is_connected():
            return 0
        self.loop.run_until_complete(self.connect())
        return 1

    def is_connected(self) -> bool:
        """Whether it is; if not, it will be tried."""
        state = self.channel.get_state(try_to_connect=True)
        return bool(state == grpc.ChannelConnectivity.READY)

    async def connect(self) -> None:
        try:
            await asyncio.wait_for(self.channel.channel_ready(), self.calls.deadline)
        except asyncio.TimeoutError as error:
            raise self.calls.unreachable() from error

    def verify(self) -> Json:
        response, _ = self.loop.run_until_complete(self.exchange(self.calls.first()))
        return self.calls.verified(response)

    async def call(self, begin: int) -> Record:
        call = self.calls.next(begin)
        response, rpc = await self.exchange(call)
        end = monotonic_ns()
        metadata = await rpc.initial_metadata() if self.calls.marks else None
        return self.calls.record(call, response, end, metadata)

    async def exchange(self, call: Call) -> tuple[Response, Any]:
        if self.calls.keeps:
            return await self.send(self.method, call)
        async with self.calls.channel() as channel:
            return await self.send(self.calls.stub(channel), call)

    async def send(self, method: Any, call: Call) -> tuple[Response, Any]:
        rpc = method(call, **self.calls.how)
        try:
            return await rpc, rpc
        except grpc.RpcError as error:
            raise failure(error) from error
