"""Role server, called by the standard library and by the subject's own clients."""

import gzip
import http.client
import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

from tests.harness import (
    AIO,
    END_SECONDS,
    FASTAPI,
    GRPC,
    HTTP,
    HTTPX,
    SERVERS,
    Subject,
    SubjectTest,
    as_text,
    build,
    golden,
)

setUpModule = build

TCP = {"transport": "tcp"}
# Each server with a client that can call it.
CALLS = [(HTTP, HTTP), (FASTAPI, HTTPX), (GRPC, AIO), (AIO, GRPC)]
PATHS = {
    "echo": "/several/data",
    "hello": "/hello",
    "list": "/example/list",
    "items": "/items",
    "profile": "/members/profile",
    "followers": "/members/followers",
}


# Decompresses to far more than a limit of 1,000 bytes.
BOMB = gzip.compress(b" " * 100_000 + b"{}")


class RestTest(SubjectTest):
    stack = HTTP

    def serve(self, workload: dict[str, Any], **settings: Any) -> http.client.HTTPConnection:
        settings = {**self.stack, "workload": workload, "listen": TCP} | settings
        subject = self.start(role="server", **settings)
        connection = http.client.HTTPConnection(subject.reply["address"], timeout=10)
        self.addCleanup(connection.close)
        return connection

    def call(
        self, connection: http.client.HTTPConnection, path: str, body: Any, **headers: str
    ) -> tuple[int, Any, http.client.HTTPMessage]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, data, {"content-type": "application/json"} | named)
        response = connection.getresponse()
        answer = response.read()
        if response.getheader("content-encoding") == "gzip":
            answer = gzip.decompress(answer)
        return response.status, json.loads(answer), response.headers


class Http(RestTest):
    wrong_requests: Any = [
        (400, b"{", {}),
        (400, b"\xff", {}),
        (400, b"[]", {}),
        (400, b"[" * 900, {}),
        (400, {"id": -1}, {}),
        (400, {"id": 100_001}, {}),
        (400, {"id": 1.5}, {}),
        (400, {"id": "one"}, {}),
        (400, {"id": True}, {}),
        (400, b"no gzip", {"content_encoding": "gzip"}),
        (400, gzip.compress(b"{}")[:-1], {"content_encoding": "gzip"}),
        (400, BOMB, {"content_encoding": "gzip"}),
        (406, {"id": 1}, {"accept": "application/cbor"}),
        (406, {"id": 1}, {"accept": "application/json;q=0"}),
        (413, b" " * 1_001, {}),
        (415, {"id": 1}, {"content_type": "application/cbor"}),
        (415, {"id": 1}, {"content_encoding": "zstd"}),
    ]
    accepted: Any = [
        ("gzip", "gzip"),
        ("br, GZIP;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.0, *", None),
        ("zstd", None),
    ]
    wrong_echoes: Any = [
        (400, {"list": [1]}),
        (400, {"list": "text"}),
        (400, {"boolData": 1}),
        (400, {"intData": 2**31}),
    ]

    def test_golden_vectors_are_answered(self) -> None:
        for case in golden():
            workload = case["workload"]
            if workload["name"] == "records":
                continue
            with self.subTest(workload):
                connection = self.serve(workload)
                path = PATHS[workload["name"]]
                request = json.loads(case["request"]["json"])
                # 64-bit integers as numbers and as strings, on the same connection.
                for form in (request, as_text(request)):
                    status, answer, headers = self.call(connection, path, form)
                    self.assertEqual(status, 200)
                    self.assertEqual(as_text(answer), as_text(json.loads(case["response"]["json"])))
                    self.assertNotIn("rpcgauge-handler-start", headers)
                    self.assertIsNotNone(connection.sock)

    def test_64_bit_integers_are_numbers(self) -> None:
        connection = self.serve({"name": "followers", "n": 2})
        _, answer, _ = self.call(connection, "/members/followers", {"userId": "7"})
        self.assertEqual(answer, {"userId": [10007, 10008]})

    def test_other_counts_are_answered(self) -> None:
        connection = self.serve({"name": "list", "n": 2})
        _, answer, _ = self.call(connection, "/example/list", {"id": 5})
        self.assertEqual([item["id"] for item in answer["response"]], [1, 2, 3, 4, 5])

    def test_only_known_items_are_answered(self) -> None:
        connection = self.serve({"name": "items"})
        for item in (2, 100_000):
            self.assertEqual(self.call(connection, "/items", {"id": item})[1]["id"], item)
        for wrong in ({}, {"id": 0}, {"id": -1}, {"id": 100_001}):
            with self.subTest(wrong):
                self.assertEqual(self.call(connection, "/items", wrong)[0], 400)

    def test_wrong_requests_get_their_status(self) -> None:
        connection = self.serve({"name": "list", "n": 2}, limits={"max_message_bytes": 1_000})
        path = "/example/list"
        for want, body, headers in self.wrong_requests:
            with self.subTest(body=body, headers=headers):
                status, problem, _ = self.call(connection, path, body, **headers)
                self.assertEqual(status, want, problem)
                self.assertTrue(problem["detail"])
        self.assertEqual(self.call(connection, "/other", {})[0], 404)
        self.assertEqual(self.call(connection, path, {"id": 1})[0], 200)

    def test_echo_checks_its_request(self) -> None:
        connection = self.serve({"name": "echo", "n": 1})
        for want, wrong in self.wrong_echoes:
            with self.subTest(wrong):
                self.assertEqual(self.call(connection, "/several/data", wrong)[0], want)

    def test_protojson_has_64_bit_integers_as_text(self) -> None:
        connection = self.serve({"name": "followers", "n": 2}, encoding="protojson")
        for request in ({"userId": "7"}, {"userId": 7}):
            _, answer, _ = self.call(connection, "/members/followers", request)
            self.assertEqual(answer, {"userId": ["10007", "10008"]})
        for wrong in (b"{", {"userId": "seven"}, {"user": 7}, {"userId": 2**63 - 1}):
            self.assertEqual(self.call(connection, "/members/followers", wrong)[0], 400)

    def test_protojson_has_marks(self) -> None:
        self.check_marks(self.serve({"name": "hello"}, marks=True, encoding="protojson"))

    def test_answers_are_compressed_for_those_who_ask(self) -> None:
        connection = self.serve({"name": "list", "n": 2}, response_compression="gzip:9")
        for accepted, want in self.accepted:
            with self.subTest(accepted):
                request = gzip.compress(b'{"id":2}')
                headers = {"accept_encoding": accepted, "content_encoding": "gzip"}
                _, answer, had = self.call(connection, "/example/list", request, **headers)
                self.assertEqual(had.get("content-encoding"), want)
                self.assertEqual(len(answer["response"]), 2)

    def test_marks_are_of_the_hosts_clock(self) -> None:
        self.check_marks(self.serve({"name": "hello"}, marks=True))

    def check_marks(self, connection: http.client.HTTPConnection) -> None:
        before = time.monotonic_ns()
        _, _, headers = self.call(connection, "/hello", {"name": "x"})
        marks = [int(headers[f"rpcgauge-handler-{which}"]) for which in ("start", "end")]
        times = [before, *marks, time.monotonic_ns()]
        self.assertEqual(times, sorted(times))

    def test_connections_are_served_beside_each_other(self) -> None:
        first = self.serve({"name": "hello"})
        second = http.client.HTTPConnection(first.host, first.port, timeout=10)
        for connection in (first, second, first):
            self.assertEqual(self.call(connection, "/hello", {})[1], {"message": "Hello, ."})
        second.close()


class HttpAlone(RestTest):
    def test_a_body_without_its_length_ends_the_connection(self) -> None:
        connection = self.serve({"name": "hello"})
        connection.putrequest("POST", "/hello")
        connection.endheaders()
        response = connection.getresponse()
        self.assertEqual((response.status, response.getheader("connection")), (411, "close"))

    def test_a_body_that_inflates_too_far_is_refused_for_that(self) -> None:
        connection = self.serve({"name": "hello"}, limits={"max_message_bytes": 1_000})
        _, problem, _ = self.call(connection, "/hello", BOMB, content_encoding="gzip")
        self.assertIn("inflates to more than 1000 bytes", problem["detail"])


class Fastapi(Http):
    """Has its own status for an invalid message, accepts what pydantic accepts, and ignores weights."""

    stack = FASTAPI
    wrong_requests: Any = [
        (422, b"{", {}),
        (400, b"\xff", {}),
        (422, b"[]", {}),
        (422, b"[" * 900, {}),
        (400, {"id": -1}, {}),
        (400, {"id": 100_001}, {}),
        (422, {"id": 1.5}, {}),
        (422, {"id": "one"}, {}),
        (400, b"no gzip", {"content_encoding": "gzip"}),
        (400, gzip.compress(b"{}")[:-1], {"content_encoding": "gzip"}),
        (400, BOMB, {"content_encoding": "gzip"}),
        (422, {"id": 1}, {"content_type": "application/cbor"}),
        (415, {"id": 1}, {"content_encoding": "zstd"}),
    ]
    accepted: Any = [("gzip", "gzip"), ("br, gzip;q=0.5", "gzip"), ("zstd", None)]
    wrong_echoes: Any = [(422, {"list": [1]}), (422, {"list": "text"}), (422, {"boolData": 7})]

    def test_a_body_above_the_limit_is_refused(self) -> None:
        connection = self.serve({"name": "hello"}, limits={"max_message_bytes": 1_000})
        headers = {"content-type": "application/json"}
        connection.request("POST", "/hello", b" " * 1_001, headers)
        # Starlette's response is plain text.
        self.assertEqual(connection.getresponse().status, 413)


class Workers(RestTest):
    stack = FASTAPI

    def test_each_of_several_processes_answers_and_ends_with_the_first(self) -> None:
        path = self.folder / "socket"
        listen = {"transport": "unix", "path": str(path)}
        for where in (TCP, listen):
            server = self.start(
                role="server", **FASTAPI, workload={"name": "hello"}, listen=where, threads=3
            )
            workers = children(server.process.pid)
            self.assertEqual(len(workers), 2)
            self.check_end(server)
            self.assertEqual([pid for pid in workers if Path(f"/proc/{pid}").exists()], [])

    def test_calls_reach_the_workers(self) -> None:
        server = self.start(
            role="server", **FASTAPI, workload={"name": "hello"}, listen=TCP, threads=2
        )
        # While it is stopped, the first process accepts no connections, so the other one responds.
        server.process.send_signal(signal.SIGSTOP)
        try:
            connection = http.client.HTTPConnection(server.reply["address"], timeout=10)
            _, answer, _ = self.call(connection, "/hello", {"name": "x"})
            connection.close()
        finally:
            server.process.send_signal(signal.SIGCONT)
        self.assertEqual(answer, {"message": "Hello, x."})

    def test_workers_end_with_a_first_that_is_killed(self) -> None:
        settings = {"workload": {"name": "hello"}, "listen": TCP, "threads": 2}
        server = Subject({"role": "server", **FASTAPI, **settings})
        [worker] = children(server.process.pid)
        server.process.kill()
        server.end()
        deadline = time.monotonic() + END_SECONDS
        while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(Path(f"/proc/{worker}").exists())


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Everywhere(SubjectTest):
    """Behaviour that all stacks share, called by the subject's own client."""

    def client(self, server: Subject, **settings: Any) -> Subject:
        settings = {"deadline_ms": 10_000, "records": str(self.records), **settings}
        return self.start(address=server.reply["address"], **settings)

    def test_golden_vectors_are_answered_over_tcp_and_unix_sockets(self) -> None:
        for case in golden():
            workload = case["workload"]
            if workload["name"] == "records":
                continue
            request = json.loads(case["request"]["protojson"])
            for stack, client_stack in CALLS:
                path = self.folder / f"{stack['stack']}-{workload['name']}"
                for listen in (TCP, {"transport": "unix", "path": str(path)}):
                    with self.subTest(stack=stack["stack"], workload=workload, listen=listen):
                        settings = {"workload": workload, "listen": listen}
                        server = self.start(role="server", **stack, **settings)
                        same = {**client_stack, "role": "client", "workload": workload}
                        client = self.client(server, **same, requests=[request])
                        message = client.ask({"verify": True})["verified"]["message"]
                        want = json.loads(case["response"]["protojson"])
                        self.assertEqual(as_text(message), as_text(want))

    def test_a_socket_file_is_removed_at_the_end(self) -> None:
        for stack in SERVERS:
            path = self.folder / stack["stack"]
            listen = {"transport": "unix", "path": str(path)}
            settings = {"role": "server", "workload": {"name": "hello"}, "listen": listen}
            server = Subject({**stack, **settings})
            self.assertEqual(server.reply["address"], f"unix:{path}")
            self.assertTrue(path.is_socket())
            with socket.socket(socket.AF_UNIX) as kept:
                kept.connect(str(path))
                self.assertEqual(server.end(), (0, "", ""))
            self.assertFalse(path.exists())

    def test_grpc_refuses_what_has_no_answer(self) -> None:
        workload = {"name": "list", "n": 2}
        for stack in (GRPC, AIO):
            with self.subTest(stack["stack"]):
                server = self.start(role="server", **stack, workload=workload, listen=TCP)
                same = {**stack, "role": "client", "workload": workload}
                client = self.client(server, **same, requests=[{"id": -1}, {"id": 100_001}])
                reply, records = self.slice(client, skip=0, calls=2)
                self.assertEqual([record.status for record in records], [1, 1])
                self.assertIn("INVALID_ARGUMENT: id is -1", reply["error"])
                items = {"workload": {"name": "items"}}
                server = self.start(role="server", **stack, **items, listen=TCP)
                client = self.client(server, **same | items, requests=[{}])
                reply, _ = self.slice(client, skip=0, calls=1)
                self.assertIn("INVALID_ARGUMENT: id is 0", reply["error"])
