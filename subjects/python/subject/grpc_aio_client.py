"""Stack `grpcio-aio`, client: the coroutine API, and its unary calls."""

import asyncio
from itertools import cycle
from time import monotonic_ns
from typing import Any

import grpc
import grpc.aio

from subject import tasks
from subject.contract import ClientSettings, Json
from subject.grpc_calls import Call, Calls, Response, failure
from subject.slices import Record


class Client:
    in_batches = False
    calls_of: type[Calls] = Calls

    def __init__(self, settings: ClientSettings) -> None:
        self.loop = tasks.loop()
        self.calls = self.calls_of(settings, grpc.aio.insecure_channel)
        self.versions = self.calls.versions
        self.code = self.calls.messages.code
        self.run = tasks.Tasks(self.call, settings.in_flight).run
        self.channels = [self.calls.channel() for _ in self.calls.kept]
        self.methods = cycle([self.calls.stub(channel) for channel in self.channels])
        self.reopen()

    def reopen(self) -> int:
        lost = [channel for channel in self.channels if not self.is_connected(channel)]
        self.loop.run_until_complete(self.connect(lost))
        return len(lost)

    def is_connected(self, channel: Any) -> bool:
        """Return whether the channel is connected; if not, start connecting."""
        state = channel.get_state(try_to_connect=True)
        return bool(state == grpc.ChannelConnectivity.READY)

    async def connect(self, lost: list[Any]) -> None:
        ready = asyncio.gather(*(channel.channel_ready() for channel in lost))
        try:
            await asyncio.wait_for(ready, self.calls.deadline)
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
            return await self.send(next(self.methods), call)
        async with self.calls.channel() as channel:
            return await self.send(self.calls.stub(channel), call)

    async def send(self, method: Any, call: Call) -> tuple[Response, Any]:
        rpc = method(call, **self.calls.how)
        try:
            return await rpc, rpc
        except grpc.RpcError as error:
            raise failure(error) from error
