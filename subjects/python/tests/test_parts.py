"""A process that plays several parts."""

from pathlib import Path
from typing import Any

from tests.harness import (
    AIO,
    FASTAPI,
    GRPC,
    HTTP,
    HTTPX,
    HYBRID,
    PURE,
    RECORD,
    REQUESTS,
    Relay,
    Subject,
    SubjectTest,
    build,
)

setUpModule = build

HELLO = {"workload": {"name": "hello"}}
TCP = {"transport": "tcp"}
# Each server with a client that can call it, and the client's style.
PAIRS = [
    (HTTP, HTTP, "blocking"),
    (FASTAPI, REQUESTS, "blocking"),
    (HTTP, HTTPX, "blocking"),
    (FASTAPI, HTTPX, "coroutine"),
    (GRPC, GRPC, "blocking"),
    (HYBRID, HYBRID, "future"),
    (AIO, AIO, "coroutine"),
    (AIO, AIO, "coroutine"),
    (GRPC, AIO, "coroutine"),
]


class Parts(SubjectTest):
    def client(self, stack: dict[str, str], style: str, address: str, file: Path) -> dict[str, Any]:
        requests = [{"name": "a"}, {"name": "bbb"}]
        own = {"style": style, "address": address, "records": str(file), "in_flight": 2}
        return {**HELLO, **stack, **own, "requests": requests, "deadline_ms": 10_000}

    def test_one_process_serves_in_all_ways_and_one_calls_them_all(self) -> None:
        serving = [{**HELLO, **stack, "listen": TCP} for stack, _, _ in PAIRS]
        said = self.start(role="servers", parts=serving).reply
        self.assertEqual(len(said["parts"]), len(PAIRS))
        codes = [part.get("code") for part in said["parts"][:2]]
        self.assertEqual(codes, [None, "generated"])
        self.assertLessEqual({"python", "fastapi", "grpcio"}, said["versions"].keys())
        relays = [Relay(part["address"]) for part in said["parts"]]
        for relay in relays:
            self.addCleanup(relay.close)
        # The last part appears twice with the same address; the two must not share a connection.
        calls = [*zip(PAIRS, relays, strict=True), (PAIRS[-1], relays[-1])]
        files = [self.folder / f"records-{at}" for at in range(len(calls))]
        calling = [
            self.client(stack, style, relay.address, file)
            for ((_, stack, style), relay), file in zip(calls, files, strict=True)
        ]
        client = self.start(role="clients", parts=calling)
        self.assertEqual(len(client.reply["parts"]), len(calls))
        had = []
        for turn in (1, 2, 3):
            for part, file in enumerate(files):
                proof = client.ask({"part": part, "verify": True})
                self.assertEqual(proof, {"verified": {"message": {"message": "Hello, a."}}})
                reply = client.ask({"part": part, "slice": {"skip": 1, "calls": 4}})["slice"]
                self.assertEqual(reply["records"], 4)
                self.assertEqual(reply.keys(), {"records", "cpu_ns"})
                self.assertEqual(file.stat().st_size, turn * 4 * RECORD.size)
            had.append([relay.accepted for relay in relays])
        self.assertEqual(had[0][4:], [1, 1, 1, 1, 2])
        self.assertEqual(had[2], had[1])

    def test_an_ask_to_no_part_is_the_instruments_fault(self) -> None:
        address = self.start(role="server", **HELLO, **HTTP, listen=TCP).reply["address"]
        parts = [self.client(HTTP, "blocking", address, self.records)] * 2
        for role, settings in (("client", parts[0]), ("clients", {"parts": parts})):
            for part in (-1, 2, "1", True, None):
                with self.subTest(role=role, part=part):
                    client = Subject({"role": role, **settings})
                    reply = client.ask({"part": part, "verify": True})
                    self.assertEqual(reply["fault"], "instrument")
                    self.assertIn(f"there is no part {part!r}", reply["error"])
                    self.assertEqual(client.end()[0], 2)

    def test_what_one_process_cannot_have_together_is_refused_and_leaves_no_socket(self) -> None:
        path = self.folder / "socket"
        for first, changed, why, whose in [
            (FASTAPI, {"threads": 2}, "parts share a process only with 1 thread", "user"),
            (HTTP, {"stack": "httpx"}, "no stack 'httpx' is a server here", "user"),
            (HTTP, {}, "something is there already", "machine"),
            (FASTAPI, {}, "something is there already", "machine"),
            (GRPC, {}, "something is there already", "machine"),
            (AIO, {}, "something is there already", "machine"),
        ]:
            with self.subTest(first["stack"], why=why):
                part = {**HELLO, **first, "listen": {"transport": "unix", "path": str(path)}}
                error, fault = self.refused(role="servers", parts=[part, part | changed])
                self.assertIn(why, error)
                self.assertEqual(fault, whose)
                self.assertFalse(path.exists())

    def test_protobuf_on_upb_and_in_python_alone_is_refused(self) -> None:
        address = self.start(role="server", **HELLO, **GRPC, listen=TCP).reply["address"]
        parts = [self.client(stack, "blocking", address, self.records) for stack in (GRPC, PURE)]
        for several in (parts, parts[::-1]):
            error, fault = self.refused(role="clients", parts=several)
            self.assertIn("parts share protobuf", error)
            self.assertEqual(fault, "user")

    def test_many_parts_end_in_time(self) -> None:
        for stack in (HTTP, FASTAPI, GRPC, AIO):
            with self.subTest(stack["stack"]):
                self.start(role="servers", parts=[{**HELLO, **stack, "listen": TCP}] * 20)
