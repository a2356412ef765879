"""Calls with several messages: each form, in each style, with the subject's own servers."""

import socket
import struct
import threading
from pathlib import Path
from typing import Any

from tests.harness import (
    AIO,
    GRPC,
    HYBRID,
    ODD,
    PURE,
    Record,
    Relay,
    Subject,
    SubjectTest,
    build,
)
from tests.test_client import receive_http2

setUpModule = build

IN_2 = {"contract": 2}
ITEMS = {"workload": {"name": "items"}}
TCP = {"transport": "tcp"}
MESSAGES = 5
CLIENT, LIST, EXCHANGE = (
    {"form": form, "messages": MESSAGES} for form in ("client", "server", "bidirectional")
)
IN_TURN = {**EXCHANGE, "in_turn": True}
STREAMS = (CLIENT, LIST, EXCHANGE, IN_TURN)
# Each client with a server, and the streams that the style has.
STYLES = [
    (GRPC, GRPC, "blocking", STREAMS),
    (GRPC, AIO, "future", (CLIENT,)),
    (HYBRID, HYBRID, "blocking", STREAMS),
    (PURE, AIO, "blocking", STREAMS),
    (AIO, AIO, "coroutine", STREAMS),
]
CASES = [(client, server, style, stream) for client, server, style, of in STYLES for stream in of]
# Without those that differ only in their messages.
CORE = [case for case in CASES if case[0] in (GRPC, AIO)]

# When the request was sent, and when the response was decoded.
Message = tuple[int, int]


def requests_of(stream: dict[str, Any]) -> int:
    return 1 if stream["form"] == "server" else MESSAGES


def responses_of(stream: dict[str, Any]) -> int:
    return 1 if stream["form"] == "client" else MESSAGES


class StreamTest(SubjectTest):
    def setUp(self) -> None:
        super().setUp()
        self.messages = self.folder / "messages"

    def serve(self, stack: dict[str, str], stream: dict[str, Any], **settings: Any) -> str:
        settings = {**IN_2, **ITEMS, **stack, "listen": TCP, "stream": stream, **settings}
        address: str = self.start(role="server", **settings).reply["address"]
        return address

    def settings(self, stack: dict[str, str], style: str, stream: Any, address: str) -> Any:
        files = {"records": str(self.records), "message_records": str(self.messages)}
        same = {**ITEMS, **stack, "style": style, "stream": stream, "address": address, **files}
        return {**same, "requests": [{"id": id} for id in (7, 8, 9)], "deadline_ms": 10_000}

    def client(self, *call: Any, **settings: Any) -> Subject:
        return self.start(**{**IN_2, "role": "client", **self.settings(*call), **settings})

    def streams(
        self, client: Subject, calls: int
    ) -> tuple[dict[str, Any], list[tuple[Record, list[Message]]]]:
        """Make calls, and return the reply with each record and its messages."""
        before = self.messages.stat().st_size
        reply, records = self.slice(client, skip=1, calls=calls)
        self.assertEqual(len(records), calls)
        added = self.messages.read_bytes()[before:]
        all_messages = list(struct.iter_unpack("<2Q", added))
        self.assertEqual(len(all_messages), sum(record.operations for record in records))
        found = []
        for record in records:
            messages = all_messages[: record.operations]
            del all_messages[: record.operations]
            for times in zip(*messages, strict=True):
                happened = [time for time in times if time]
                # Only the last messages can lack a time.
                self.assertEqual(list(times[: len(happened)]), happened)
                inside = [record.begin, *happened, record.end]
                self.assertEqual(inside, sorted(inside))
            found.append((record, messages))
        return reply, found


class Streams(StreamTest):
    def test_each_message_has_its_times_and_is_verified(self) -> None:
        for stack, server, style, stream in CASES:
            call = stack, style, stream, self.serve(server, stream)
            for in_flight in (1, 3):
                with self.subTest(stack=stack["stack"], style=style, stream=stream, n=in_flight):
                    client = self.client(*call, in_flight=in_flight)
                    self.check_verified(client, stream)
                    for calls in (1, 6):
                        reply, found = self.streams(client, calls)
                        self.assertNotIn("error", reply)
                        for record, messages in found:
                            self.check(record, messages, stream)
                    self.check_verified(client, stream)

    def check_verified(self, client: Subject, stream: dict[str, Any]) -> None:
        want = {"client": [8], "server": [7, 8, 9, 10, 11]}.get(stream["form"], [7, 8, 9, 7, 8])
        verified = client.ask({"verify": True})["verified"]["stream"]
        self.assertEqual([one["message"]["id"] for one in verified], want)

    def check(self, record: Record, messages: list[Message], stream: dict[str, Any]) -> None:
        self.assertEqual((record.status, record.operations), (0, MESSAGES))
        sent, decoded = ([time for time in times if time] for times in zip(*messages, strict=True))
        self.assertEqual(len(sent), requests_of(stream))
        self.assertEqual(len(decoded), responses_of(stream))
        if stream is not CLIENT:
            self.assertEqual((record.first, record.received), (decoded[0], decoded[-1]))
        else:
            self.assertEqual((record.first, record.received), (0, 0))
        # The times of a record do not decrease, but the client may send after the first response.
        in_order = sent[-1] <= decoded[0]
        self.assertEqual(record.sent, sent[-1] if in_order or stream is CLIENT else 0)
        if stream is IN_TURN:
            in_turn = [time for message in messages for time in message]
            self.assertEqual(in_turn, sorted(in_turn))

    def test_requests_are_used_in_turn_across_calls(self) -> None:
        for stack, server, style, stream in CORE:
            with self.subTest(stack=stack["stack"], style=style, stream=stream):
                # The last request of the third call is wrong.
                right = requests_of(stream) * 3 - 1
                requests = [{"id": 1}] * right + [{"id": 0}]
                call = stack, style, stream, self.serve(server, stream)
                client = self.client(*call, requests=requests)
                # The first is not recorded.
                reply, found = self.streams(client, 2)
                self.assertEqual([record.status for record, _ in found], [0, 1])
                self.assertIn("INVALID_ARGUMENT: id is", reply["error"])

    def test_another_number_of_messages_fails(self) -> None:
        for stack, server, style, stream in CORE:
            if stream is not LIST:
                continue
            for messages, want in ((3, "the server sent 3 of 5"), (9, "sent more than 5")):
                with self.subTest(stack=stack["stack"], style=style, messages=messages):
                    address = self.serve(server, {**stream, "messages": messages})
                    reply, found = self.streams(self.client(stack, style, stream, address), 2)
                    self.assertIn(want, reply["error"])
                    for record, times in found:
                        self.assertEqual((record.status, len(times)), (1, min(messages, MESSAGES)))

    def test_a_stream_fails_at_its_deadline(self) -> None:
        for stack, _, style, stream in CORE:
            with self.subTest(stack=stack["stack"], style=style, stream=stream):
                with socket.create_server(("127.0.0.1", 0)) as listener:
                    silent = threading.Thread(target=receive_http2, args=(listener, bytearray()))
                    silent.start()
                    address = f"127.0.0.1:{listener.getsockname()[1]}"
                    client = self.client(stack, style, stream, address, deadline_ms=300)
                    reply, [(record, messages)] = self.streams(client, 1)
                    self.assertIn("DEADLINE_EXCEEDED", reply["error"])
                    self.assertEqual(record.status, 1)
                    # The library accepts requests without a server's response.
                    self.assertGreaterEqual(len(messages), 1)
                    self.assertTrue(messages[0][0])

    def test_a_connection_for_each_stream(self) -> None:
        for stack, server, style, stream in CORE:
            with self.subTest(stack=stack["stack"], style=style, stream=stream):
                relay = Relay(self.serve(server, stream))
                self.addCleanup(relay.close)
                call = stack, style, stream, relay.address
                reply, _ = self.streams(self.client(*call, connection="per-call"), 3)
                self.assertNotIn("error", reply)
                self.assertEqual(relay.accepted, 4)

    def test_messages_are_compressed_both_ways(self) -> None:
        gzip = {"request_compression": "gzip", "response_compression": "gzip"}
        text = "x" * 50_000
        for stack, server in ((GRPC, AIO), (AIO, GRPC)):
            with self.subTest(stack=stack["stack"]):
                large = {"workload": talk({"name": text}, {"name": text}), "messages": ODD}
                address = self.serve(server, EXCHANGE, **large, response_compression="gzip")
                relay = Relay(address)
                self.addCleanup(relay.close)
                call = stack, "", EXCHANGE, relay.address
                client = self.client(*call, **large, **gzip, requests=[{"name": text}])
                reply, _ = self.streams(client, 2)
                self.assertNotIn("error", reply)
                self.assertLess(max(relay.sent, relay.received), 20_000)

    def test_own_messages_are_exchanged(self) -> None:
        for stack, server, style, stream in CORE:
            if stream["form"] != "bidirectional":
                continue
            with self.subTest(stack=stack["stack"], style=style, stream=stream):
                own = {"workload": talk({"name": "a"}, {"name": "b"}), "messages": ODD}
                call = stack, style, stream, self.serve(server, stream, **own)
                client = self.client(*call, **own, requests=[{"name": "a"}])
                verified = client.ask({"verify": True})["verified"]["stream"]
                self.assertEqual(verified, [{"message": {"name": "b"}}] * MESSAGES)

    def test_calls_have_the_form_of_the_method(self) -> None:
        for stack in (GRPC, HYBRID, AIO):
            for contract, stream in ((IN_2, {"stream": LIST}), ({}, {})):
                settings = {"workload": talk({}, {}), "listen": TCP, **contract, **stream}
                server = Subject({"role": "server", **stack, **settings}, ODD)
                self.assertIn("Odd/Talk has the form bidirectional", server.reply["error"])
                self.assertEqual(server.end()[0], 2)

    def test_streams_and_unary_calls_are_parts_of_a_process(self) -> None:
        servers = [
            {**ITEMS, **stack, "listen": TCP, **stream}
            for stack in (GRPC, AIO)
            for stream in ({"stream": EXCHANGE}, {})
        ]
        said = self.start(**IN_2, role="servers", parts=servers).reply["parts"]
        clients = []
        for at, (server, ready) in enumerate(zip(servers, said, strict=True)):
            part = self.settings(server, "", EXCHANGE, ready["address"])
            del part["listen"]
            part["records"] = str(self.folder / f"records-{at}")
            part["message_records"] = str(self.folder / f"messages-{at}")
            if "stream" not in server:
                del part["stream"], part["message_records"]
            clients.append(part)
        client = self.start(**IN_2, role="clients", parts=clients)
        for part, settings in enumerate(clients):
            reply = client.ask({"part": part, "slice": {"skip": 1, "calls": 4}})["slice"]
            self.assertNotIn("error", reply)
            self.assertEqual(Path(settings["records"]).stat().st_size, 4 * 80)
            if "stream" in settings:
                size = Path(settings["message_records"]).stat().st_size
                self.assertEqual(size, 4 * MESSAGES * 16)


def talk(request: Any, response: Any) -> dict[str, Any]:
    samples = {"request": request, "response": response}
    return {"name": "own", "descriptor_set": "", "method": "Odd/Talk", **samples}
