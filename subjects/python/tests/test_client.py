"""Role client, with the subject's own servers and a server whose behaviour the tests define."""

import json
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.harness import (
    AIO,
    GRPC,
    HTTP,
    HTTPX,
    HYBRID,
    NOT_KNOWN,
    PURE,
    REQUESTS,
    Relay,
    Subject,
    SubjectTest,
    build,
    vector,
)

setUpModule = build

STYLES = [
    (HTTP, "blocking"),
    (REQUESTS, "blocking"),
    (HTTPX, "blocking"),
    (HTTPX, "coroutine"),
    (GRPC, "blocking"),
    (GRPC, "future"),
    (HYBRID, "blocking"),
    (PURE, "blocking"),
    (AIO, "coroutine"),
]
REST = [(stack, style) for stack, style in STYLES if stack["protocol"] == "rest"]
# Clients that connect before their first call.
EAGER = ("http", "grpcio", "grpcio-python", "grpcio-aio")


def is_grpc(stack: dict[str, str]) -> bool:
    return stack["protocol"] == "grpc"


class Client(SubjectTest):
    def server(self, stack: dict[str, str], case: dict[str, Any], **settings: Any) -> str:
        """Start a server with the client's protocol and encoding."""
        settings = {"workload": case["workload"], "listen": {"transport": "tcp"}, **settings}
        name = "grpcio" if is_grpc(stack) else "http"
        return self.start(role="server", **{**stack, "stack": name}, **settings).reply["address"]

    def client(
        self, stack: dict[str, str], case: dict[str, Any], address: str, **settings: Any
    ) -> Subject:
        request = json.loads(case["request"]["json"])
        settings = {"requests": [request], "deadline_ms": 10_000, **settings}
        return self.start(
            role="client",
            workload=case["workload"],
            address=address,
            records=str(self.records),
            **stack,
            **settings,
        )

    def pair(self, stack: dict[str, str], name: str, **settings: Any) -> Subject:
        case = vector(name)
        address = self.server(stack, case, marks=settings.get("marks", False))
        return self.client(stack, case, address, **settings)

    def test_slices_have_as_many_records_as_asked(self) -> None:
        for stack, style in STYLES:
            for in_flight in (1, 4):
                with self.subTest(stack=stack["stack"], style=style, in_flight=in_flight):
                    client = self.pair(stack, "hello", style=style, in_flight=in_flight)
                    self.assertEqual(self.records.stat().st_size, 0)
                    for skip, calls in ((0, 1), (3, 7), (0, 50)):
                        reply, records = self.slice(client, skip=skip, calls=calls)
                        self.assertEqual(len(records), calls)
                        self.assertEqual({record.status for record in records}, {0}, reply)
                        self.assertEqual({record.operations for record in records}, {1})
                        self.assertNotIn("reopened", reply)
                    _, records = self.slice(client, skip=1, time_us=3_000)
                    self.assertGreaterEqual(len(records), 1)

    def test_each_stack_tells_what_its_library_lets_it_see(self) -> None:
        case = vector("hello")
        for stack, style in STYLES:
            with self.subTest(stack=stack["stack"], style=style):
                client = self.pair(stack, "hello", style=style, marks=True)
                _, [record] = self.slice(client, skip=0, calls=1)
                self.assertTrue(record.start and record.finish)
                self.assertTrue(record.encoded and record.received)
                self.assertEqual(bool(record.sent), stack is HTTP)
                self.assertFalse(record.first)
                for sample, size in (
                    ("request", record.request_bytes),
                    ("response", record.response_bytes),
                ):
                    golden = case[sample][stack["encoding"]]
                    self.assertEqual(size, len(golden) // 2 if is_grpc(stack) else len(golden))

    def test_without_marks_there_are_none(self) -> None:
        for stack, style in STYLES:
            _, [record] = self.slice(self.pair(stack, "hello", style=style), skip=0, calls=1)
            self.assertEqual((record.start, record.finish), (0, 0))

    def test_messages_are_compressed_both_ways(self) -> None:
        case = vector("list") | {"workload": {"name": "list", "n": 300}}
        large = {"name": "x" * 50_000}
        for stack, style in STYLES:
            with self.subTest(stack=stack["stack"], style=style):
                gzip = {"request_compression": "gzip", "response_compression": "gzip"}
                address = self.server(stack, case, response_compression="gzip")
                relay = Relay(address)
                self.addCleanup(relay.close)
                gzip["style"] = style
                client = self.client(stack, case, relay.address, **gzip, requests=[{"id": 300}])
                _, [record] = self.slice(client, skip=0, calls=1)
                self.assertLess(relay.received, 10_000)
                # Libraries that decompress by themselves do not expose the time.
                self.assertEqual(bool(record.received), stack is HTTP)
                self.assertEqual(bool(record.encoded), not is_grpc(stack))
                unseen = (record.request_bytes, record.response_bytes)
                if is_grpc(stack):
                    self.assertEqual(unseen, (NOT_KNOWN, NOT_KNOWN))
                hello = vector("hello")
                relay = Relay(self.server(stack, hello))
                self.addCleanup(relay.close)
                client = self.client(stack, hello, relay.address, **gzip, requests=[large])
                self.slice(client, skip=0, calls=1)
                self.assertLess(relay.sent, 10_000)
                self.assertGreater(relay.received, 50_000)

    def test_requests_are_used_in_turn(self) -> None:
        requests = [{"name": name} for name in ("a", "bbb", "ccccc")]
        for stack, style in STYLES:
            with self.subTest(stack=stack["stack"], style=style):
                client = self.pair(stack, "hello", style=style, requests=requests)
                sizes = []
                for _ in range(2):
                    verified = client.ask({"verify": True})["verified"]
                    self.assertEqual(verified, {"message": {"message": "Hello, a."}})
                for calls in (2, 3, 1):
                    _, records = self.slice(client, skip=0, calls=calls)
                    sizes += [record.request_bytes for record in records]
                self.assertEqual([size - sizes[0] for size in sizes], [0, 2, 4] * 2)

    def test_a_lost_connection_is_opened_again_before_the_figures(self) -> None:
        for stack, style in STYLES:
            for in_flight in (1, 3):
                with self.subTest(stack=stack["stack"], style=style, in_flight=in_flight):
                    case = vector("hello")
                    relay = Relay(self.server(stack, case))
                    self.addCleanup(relay.close)
                    settings = {"style": style, "in_flight": in_flight}
                    client = self.client(stack, case, relay.address, **settings)
                    self.slice(client, skip=0, calls=5)
                    had = relay.accepted
                    self.assertLessEqual(had, 1 if is_grpc(stack) else in_flight)
                    relay.cut()
                    reply, records = self.slice(client, skip=0, calls=5)
                    self.assertEqual({record.status for record in records}, {0}, reply)
                    self.assertEqual(reply.get("reopened"), had)
                    self.assertEqual(relay.accepted, 2 * had)

    def test_a_server_that_is_gone_ends_it_with_an_error(self) -> None:
        for stack, style in STYLES:
            with self.subTest(stack=stack["stack"], style=style):
                case = vector("hello")
                relay = Relay(self.server(stack, case))
                settings = {
                    "requests": [{"name": "x"}],
                    "style": style,
                    "deadline_ms": 500,
                    "records": str(self.records),
                }
                same = {**stack, "workload": case["workload"], "address": relay.address}
                client = Subject({"role": "client", **same, **settings})
                self.slice(client, skip=0, calls=1)
                relay.close()
                reply = client.ask({"slice": {"skip": 0, "calls": 1}})
                if "slice" in reply:
                    # The library noticed the end of the connection only during the call, which failed.
                    self.assertIn("error", reply["slice"])
                    reply = client.ask({"slice": {"skip": 0, "calls": 1}})
                self.assertEqual(reply.get("fault"), "machine", reply)
                self.assertEqual(client.end()[0], 3)
                if stack["stack"] in EAGER:
                    fault = self.refused(role="client", **same, **settings)[1]
                else:
                    late = Subject({"role": "client", **same, **settings})
                    fault = late.ask({"verify": True})["fault"]
                    self.assertEqual(late.end()[0], 3)
                self.assertEqual(fault, "machine")

    def test_a_connection_for_each_call(self) -> None:
        case = vector("hello")
        for stack, style in STYLES:
            with self.subTest(stack=stack["stack"], style=style):
                relay = Relay(self.server(stack, case))
                self.addCleanup(relay.close)
                settings = {"style": style, "connection": "per-call"}
                client = self.client(stack, case, relay.address, **settings)
                reply, records = self.slice(client, skip=2, calls=4)
                self.assertEqual({record.status for record in records}, {0}, reply)
                self.assertEqual((len(records), relay.accepted), (4, 6))
                self.assertNotIn("reopened", reply)

    def test_protojson_has_64_bit_integers_as_text(self) -> None:
        case = vector("followers")
        for stack, style in REST:
            with self.subTest(stack=stack["stack"], style=style):
                same = {**stack, "encoding": "protojson"}
                client = self.client(same, case, self.server(same, case), style=style)
                message = client.ask({"verify": True})["verified"]["message"]
                self.assertEqual(message, json.loads(case["response"]["protojson"]))

    def test_as_many_calls_are_in_flight_as_asked(self) -> None:
        for stack, style in REST:
            with self.subTest(stack=stack["stack"], style=style):
                # Responds only once three calls are waiting.
                server = Answering(lambda handler: handler.server.meeting.wait())
                self.addCleanup(server.end)
                settings = {"in_flight": 3, "style": style}
                client = self.client(stack, vector("hello"), server.address, **settings)
                _, records = self.slice(client, skip=0, calls=9)
                self.assertEqual([record.status for record in records], [0] * 9)

    def test_skipped_calls_are_made_and_not_recorded(self) -> None:
        for stack, style in REST:
            with self.subTest(stack=stack["stack"], style=style):
                server = Answering(lambda handler: None)
                self.addCleanup(server.end)
                client = self.client(stack, vector("hello"), server.address, style=style)
                self.slice(client, skip=5, calls=3)
                self.assertEqual(server.calls, 8)

    def test_failed_calls_are_recorded(self) -> None:
        for stack, style in REST:
            with self.subTest(stack=stack["stack"], style=style):
                server = Answering(lambda handler: 503)
                self.addCleanup(server.end)
                client = self.client(stack, vector("hello"), server.address, style=style)
                reply, records = self.slice(client, skip=1, calls=3)
                self.assertEqual([record.status for record in records], [1] * 3)
                self.assertIn("503", reply["error"])
                server.behave = lambda handler: None
                reply, records = self.slice(client, skip=0, calls=1)
                self.assertEqual(records[0].status, 0)
                self.assertNotIn("error", reply)

    def test_a_server_that_refuses_cannot_be_proved_right(self) -> None:
        case = vector("list")
        for stack, style in STYLES:
            client = Subject(
                {
                    **stack,
                    "style": style,
                    "role": "client",
                    "workload": case["workload"],
                    "address": self.server(stack, case),
                    "requests": [{"id": -1}],
                    "deadline_ms": 10_000,
                    "records": str(self.records),
                }
            )
            reply = client.ask({"verify": True})
            self.assertEqual(reply["fault"], "subject")
            self.assertIn("id is -1", reply["error"])
            self.assertEqual(client.end()[0], 1)

    def test_the_authority_over_a_unix_socket_is_a_hosts_name(self) -> None:
        path = str(self.folder / "socket")
        received = bytearray()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            threading.Thread(target=receive_http2, args=(listener, received)).start()
            client = Subject(
                {
                    **GRPC,
                    "role": "client",
                    "workload": {"name": "hello"},
                    "address": f"unix:{path}",
                    "requests": [{}],
                    "deadline_ms": 300,
                    "records": str(self.records),
                }
            )
            self.assertIn("DEADLINE_EXCEEDED", client.ask({"verify": True})["error"])
            client.end()
        localhost_in_huffman = bytes.fromhex("a0e41d139d09")
        self.assertTrue(
            b"localhost" in received or localhost_in_huffman in received, bytes(received)
        )

    def test_a_call_that_is_not_answered_fails_at_its_deadline(self) -> None:
        for stack, style in REST:
            with self.subTest(stack=stack["stack"], style=style):
                server = Answering(lambda handler: handler.server.end_of_test.wait())
                self.addCleanup(server.end)
                settings = {"deadline_ms": 100, "style": style}
                client = self.client(stack, vector("hello"), server.address, **settings)
                reply, records = self.slice(client, skip=0, calls=1)
                self.assertEqual(records[0].status, 1)
                self.assertRegex(reply["error"], "timed out|ReadTimeout")


def receive_http2(listener: socket.socket, received: bytearray) -> None:
    """Accept a connection, and send nothing but HTTP/2's initial SETTINGS frames."""
    connection, _ = listener.accept()
    empty_settings, acknowledged = b"\0\0\0\4\0\0\0\0\0", b"\0\0\0\4\1\0\0\0\0"
    with connection, suppress(OSError):
        connection.sendall(empty_settings + acknowledged)
        while data := connection.recv(1 << 16):
            received += data


class Answering(ThreadingHTTPServer):
    """Responds to each call with the result of `behave`: None is a greeting, and a number is a status."""

    def __init__(self, behave: Any) -> None:
        super().__init__(("127.0.0.1", 0), AnsweringHandler)
        self.behave = behave
        self.address = f"127.0.0.1:{self.server_address[1]}"
        self.calls = 0
        self.meeting = threading.Barrier(3, timeout=10)
        self.end_of_test = threading.Event()
        threading.Thread(target=self.serve_forever).start()

    def end(self) -> None:
        self.end_of_test.set()
        self.shutdown()
        self.server_close()


class AnsweringHandler(BaseHTTPRequestHandler):
    server: Answering
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.calls += 1
        said = self.server.behave(self)
        body = b'{"message":"Hello."}'
        with suppress(OSError):
            self.send_response(said if said and said >= 200 else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
