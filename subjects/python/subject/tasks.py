"""Slices of calls in coroutines."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic_ns

from subject.slices import Record, Tally


class Tasks:
    """As many coroutines as there are calls in flight. The loop is stopped between slices."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        operate: Callable[[int], Awaitable[Record]],
        in_flight: int,
    ) -> None:
        self.loop = loop
        self.operate = operate
        self.in_flight = in_flight

    def run(self, tally: Tally) -> None:
        self.loop.run_until_complete(self.share(tally))

    async def share(self, tally: Tally) -> None:
        await asyncio.gather(*(self.in_turn(tally) for _ in range(self.in_flight)))

    async def in_turn(self, tally: Tally) -> None:
        for recorded in tally:
            begin = monotonic_ns()
            try:
                record = await self.operate(begin)
            except Exception as error:
                if recorded:
                    tally.add_failed(begin, error)
            else:
                if recorded:
                    tally.add(record)
