"""Stack `grpcio`, client: the synchronous API, unary, protobuf."""

from collections.abc import Callable
from itertools import cycle
from queue import SimpleQueue
from time import monotonic, monotonic_ns, sleep
from typing import Any, NamedTuple

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message

from subject import compression, generated, workloads
from subject.contract import HANDLER_END, HANDLER_START, ClientSettings, Json, Refused
from subject.slices import NOT_KNOWN, SUCCEEDED, Record, Tally, Threads

# How often a channel that is connecting is looked at.
CONNECTING_LOOK_SECONDS = 0.001


class Call:
    """A call as it goes through the library: its request, and when that was encoded."""

    def __init__(self, message: Message, begin: int, recorded: bool) -> None:
        self.message = message
        self.begin = begin
        self.recorded = recorded
        self.encoded = 0
        self.size = NOT_KNOWN


class Response(NamedTuple):
    """What came back, and when its bytes were handed over."""

    message: Message
    received: int
    size: int


class StampingChannel:
    """Stands between a generated stub and its channel, to see when messages are made and read."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel

    def unary_unary(
        self,
        path: str,
        request_serializer: Callable[[Message], bytes],
        response_deserializer: Callable[[bytes], Message],
        **options: Any,
    ) -> grpc.UnaryUnaryMultiCallable:
        def encode(call: Call) -> bytes:
            data = request_serializer(call.message)
            call.encoded = monotonic_ns()
            call.size = len(data)
            return data

        def decode(data: bytes) -> Response:
            received = monotonic_ns()
            return Response(response_deserializer(data), received, len(data))

        return self.channel.unary_unary(path, encode, decode, **options)


class Client:
    code = "generated"
    in_batches = False

    def __init__(self, settings: ClientSettings) -> None:
        self.versions = generated.versions("grpcio")
        workload = workloads.find(settings.workload)
        self.requests = [
            generated.from_json(workload, "request", request) for request in settings.requests
        ]
        # Threads may share a cycle: the interpreter takes its next element in one step.
        self.messages = cycle(self.requests)
        self.in_flight = settings.in_flight
        self.marks = settings.marks
        # Both happen below the encoder and the decoder, out of sight.
        self.compresses = compression.level(settings.request_compression) > 0
        self.decompresses = compression.level(settings.response_compression) > 0
        self.address = settings.address
        self.deadline = settings.deadline_ms / 1_000
        self.how = {
            "timeout": self.deadline,
            "compression": grpc.Compression.Gzip if self.compresses else None,
        }
        options: list[tuple[str, Any]] = [
            ("grpc.max_receive_message_length", settings.limits.max_message_bytes),
            # The server is on this host, whatever the environment says of proxies.
            ("grpc.enable_http_proxy", 0),
        ]
        if settings.address.startswith("unix:"):
            # The library would name the path as the authority, which strict servers refuse.
            options.append(("grpc.default_authority", "localhost"))
        self.channel = grpc.insecure_channel(settings.address, options)
        self.method = workload.stub(StampingChannel(self.channel))
        self.connect()
        self.run = Threads([self.call] * settings.in_flight).run
        if settings.style == "future":
            self.run = self.run_futures

    def reopen(self) -> int:
        if self.is_connected():
            return 0
        self.connect()
        return 1

    def is_connected(self) -> bool:
        """Whether it is; if not, it will be tried.

        To know it by the public API takes a thread that goes on asking while calls are measured.
        """
        state = self.channel._channel.check_connectivity_state(True)
        return bool(state == grpc.ChannelConnectivity.READY.value[0])

    def connect(self) -> None:
        deadline = monotonic() + self.deadline
        while not self.is_connected():
            if monotonic() > deadline:
                raise Refused(f"no connection to {self.address} in {self.deadline} s", "machine")
            sleep(CONNECTING_LOOK_SECONDS)

    def verify(self) -> Json:
        response, _ = self.exchange(Call(self.requests[0], monotonic_ns(), False))
        return {"message": json_format.MessageToDict(response.message)}

    def call(self, begin: int) -> Record:
        """Style `blocking`."""
        call = Call(next(self.messages), begin, True)
        response, rpc = self.exchange(call)
        return self.record(call, response, monotonic_ns(), rpc)

    def exchange(self, call: Call) -> tuple[Response, Any]:
        try:
            if self.marks:
                return self.method.with_call(call, **self.how)
            return self.method(call, **self.how), None
        except grpc.RpcError as error:
            raise failure(error) from error

    def run_futures(self, tally: Tally) -> None:
        """Style `future`: one thread makes all calls, and is told of each that is done."""
        done: SimpleQueue[tuple[Call, Any]] = SimpleQueue()
        flying = 0
        while True:
            if flying < self.in_flight and (recorded := next(tally, None)) is not None:
                call = Call(next(self.messages), monotonic_ns(), recorded)
                rpc = self.method.future(call, **self.how)
                rpc.add_done_callback(lambda rpc, call=call: done.put((call, rpc)))
                flying += 1
            elif flying:
                self.finish(tally, *done.get())
                flying -= 1
            else:
                return

    def finish(self, tally: Tally, call: Call, rpc: Any) -> None:
        try:
            response = rpc.result()
        except grpc.RpcError as error:
            if call.recorded:
                tally.add_failed(call.begin, failure(error))
            return
        end = monotonic_ns()
        if call.recorded:
            tally.add(self.record(call, response, end, rpc if self.marks else None))

    def record(self, call: Call, response: Response, end: int, rpc: Any) -> Record:
        marks = dict(rpc.initial_metadata()) if rpc else {}
        return (
            call.begin,
            0 if self.compresses else call.encoded,
            0,
            0,
            0 if self.decompresses else response.received,
            end,
            int(marks.get(HANDLER_START, 0)),
            int(marks.get(HANDLER_END, 0)),
            NOT_KNOWN if self.compresses else call.size,
            NOT_KNOWN if self.decompresses else response.size,
            SUCCEEDED,
            1,
        )


def failure(error: Any) -> Refused:
    """What a failed call says, without the library's many lines around it."""
    return Refused(f"{error.code().name}: {error.details()}", "subject")
