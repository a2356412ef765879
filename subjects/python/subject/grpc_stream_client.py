"""Stack `grpcio`, client: streams of the synchronous API.

A thread of the library takes the requests from an iterator. It takes the next request after it has sent the previous
one.
"""

from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import grpc

from subject.contract import ClientSettings, Refused
from subject.grpc_client import Client
from subject.grpc_stream_calls import StreamCall, StreamCalls, reason
from subject.slices import Tally
from subject.stream_records import Streamed

END = object()


class StreamClient(Client):
    calls_of = StreamCalls

    def __init__(self, settings: ClientSettings) -> None:
        super().__init__(settings)
        assert settings.stream
        self.talk: Callable[[Any, StreamCall], None] = {
            "client": self.put,
            "server": self.list_all,
            "bidirectional": self.exchange_in_turn if settings.stream.in_turn else self.exchange_all,
        }[settings.stream.form]

    def call(self, begin: int) -> Any:
        call = self.calls.next(begin)
        try:
            self.exchange(call)
        except Exception as error:
            return call.failed(error)
        return call.succeeded()

    def send(self, method: Any, call: Any) -> tuple[Any, Any]:
        try:
            self.talk(method, call)
        except grpc.RpcError as error:
            raise reason(error) from error
        call.check()
        return call, None

    def put(self, method: Any, call: StreamCall) -> None:
        call.receive(method(call, **self.how))

    def list_all(self, method: Any, call: StreamCall) -> None:
        receive_all(method(next(call), **self.how), call)

    def exchange_all(self, method: Any, call: StreamCall) -> None:
        receive_all(method(call, **self.how), call)

    def exchange_in_turn(self, method: Any, call: StreamCall) -> None:
        # The library's thread waits at the queue, so putting a request there is what passes it to the library.
        requests: SimpleQueue[Any] = SimpleQueue()
        responses = method(iter(requests.get, END), **self.how)
        try:
            for request in call:
                requests.put(request)
                if (response := next(responses, END)) is END:
                    return
                call.receive(response)
        finally:
            # Otherwise the library's thread would wait for a request forever.
            requests.put(END)
        receive_all(responses, call)

    def finish(self, tally: Tally, call: Any, rpc: Any, channel: Any) -> None:
        """Style `future`: end a stream with one response."""
        ended = self.ended(call, rpc)
        if channel:
            channel.close()
        if call.recorded:
            tally.add(ended)

    def ended(self, call: StreamCall, rpc: Any) -> Streamed:
        try:
            call.receive(rpc.result())
            call.check()
        except (grpc.RpcError, Refused) as error:
            return call.failed(reason(error))
        return call.succeeded()


def receive_all(responses: Any, call: StreamCall) -> None:
    try:
        for response in responses:
            call.receive(response)
    except Refused:
        responses.cancel()
        raise
