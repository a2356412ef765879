"""Stack `grpcio`, client: the synchronous API, and its unary calls."""

from itertools import cycle
from queue import SimpleQueue
from time import monotonic, monotonic_ns, sleep
from typing import Any

import grpc

from subject.contract import ClientSettings, Json
from subject.grpc_calls import Call, Calls, Response, failure
from subject.slices import Record, Tally, Threads

# How often to check a channel that is connecting.
CONNECTING_LOOK_SECONDS = 0.001


class Client:
    in_batches = False
    calls_of: type[Calls] = Calls

    def __init__(self, settings: ClientSettings) -> None:
        self.calls = self.calls_of(settings, grpc.insecure_channel)
        self.versions = self.calls.versions
        self.code = self.calls.messages.code
        self.in_flight = settings.in_flight
        self.how = self.calls.how
        self.run = Threads([self.call] * settings.in_flight).run
        if settings.style == "future":
            self.run = self.run_futures
        self.channels = [self.calls.channel() for _ in self.calls.kept]
        self.methods = cycle([self.calls.stub(channel) for channel in self.channels])
        self.reopen()

    def reopen(self) -> int:
        lost = [channel for channel in self.channels if not self.is_connected(channel)]
        deadline = monotonic() + self.calls.deadline
        for channel in lost:
            while not self.is_connected(channel):
                if monotonic() > deadline:
                    raise self.calls.unreachable()
                sleep(CONNECTING_LOOK_SECONDS)
        return len(lost)

    def is_connected(self, channel: Any) -> bool:
        """Return whether the channel is connected; if not, start connecting.

        The public API would require a thread that keeps polling while calls are measured.
        """
        state = channel._channel.check_connectivity_state(True)
        return bool(state == grpc.ChannelConnectivity.READY.value[0])

    def verify(self) -> Json:
        response, _ = self.exchange(self.calls.first())
        return self.calls.verified(response)

    def call(self, begin: int) -> Record:
        """Style `blocking`."""
        call = self.calls.next(begin)
        response, rpc = self.exchange(call)
        return self.calls.record(call, response, monotonic_ns(), rpc and rpc.initial_metadata())

    def exchange(self, call: Call) -> tuple[Response, Any]:
        if self.calls.keeps:
            return self.send(next(self.methods), call)
        with self.calls.channel() as channel:
            return self.send(self.calls.stub(channel), call)

    def send(self, method: Any, call: Call) -> tuple[Response, Any]:
        try:
            if self.calls.marks:
                response, rpc = method.with_call(call, **self.how)
                return response, rpc
            return method(call, **self.how), None
        except grpc.RpcError as error:
            raise failure(error) from error

    def run_futures(self, tally: Tally) -> None:
        """Style `future`: one thread makes all calls, and the library calls back when each is done."""
        done: SimpleQueue[tuple[Call, Any, Any]] = SimpleQueue()
        flying = 0
        while True:
            if flying < self.in_flight and (recorded := next(tally, None)) is not None:
                call = self.calls.next(monotonic_ns(), recorded)
                channel = None if self.calls.keeps else self.calls.channel()
                method = self.calls.stub(channel) if channel else next(self.methods)
                rpc = method.future(call, **self.how)
                rpc.add_done_callback(
                    lambda rpc, call=call, channel=channel: done.put((call, rpc, channel))
                )
                flying += 1
            elif flying:
                self.finish(tally, *done.get())
                flying -= 1
            else:
                return

    def finish(self, tally: Tally, call: Call, rpc: Any, channel: Any) -> None:
        try:
            response = rpc.result()
        except grpc.RpcError as error:
            if call.recorded:
                tally.add_failed(call.begin, failure(error))
            return
        finally:
            end = monotonic_ns()
            if channel:
                channel.close()
        if call.recorded:
            metadata = rpc.initial_metadata() if self.calls.marks else None
            tally.add(self.calls.record(call, response, end, metadata))
