"""Stack `httpx`, client: coroutines."""

import asyncio
from time import monotonic_ns

import httpx

from subject import tasks
from subject.contract import ClientSettings
from subject.httpx_client import Client, transport_options
from subject.messages import Messages
from subject.slices import Record


class Coroutines(Client):
    def __init__(self, settings: ClientSettings, messages: Messages) -> None:
        super().__init__(settings, messages)
        self.transport = httpx.AsyncHTTPTransport(**transport_options(settings))
        self.client = httpx.AsyncClient(transport=self.transport, **self.options)
        self.loop = tasks.loop()
        self.run = tasks.Tasks(self.call, settings.in_flight).run

    def exchange(self, body: bytes) -> httpx.Response:
        return self.loop.run_until_complete(self.post(body))

    def open(self, connections: int) -> None:
        body = self.calls.body(self.calls.requests[0])

        async def calls() -> None:
            await asyncio.gather(*(self.post(body) for _ in range(connections)))

        self.loop.run_until_complete(calls())

    async def post(self, body: bytes) -> httpx.Response:
        return await self.client.post(self.url, content=body)

    async def call(self, begin: int) -> Record:
        body = self.calls.body(next(self.calls.turns))
        encoded = monotonic_ns()
        return self.record(begin, encoded, len(body), await self.post(body))
