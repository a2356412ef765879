"""Builds the subject as defined in subject.toml, starts it, and plays the lab's side of the contract."""

import contextlib
import json
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import tomllib
import unittest
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

SOURCES = Path(__file__).parents[1]
CONTRACT = SOURCES.parents[1] / "contract"
BUILT = SOURCES.parents[1] / "target" / "test-subjects" / "python"
SETS = BUILT.with_suffix(".messages")
BUILTIN, ODD = SETS / "builtin", SETS / "odd"

TOML = tomllib.loads((SOURCES / "subject.toml").read_text())

# The form of a method, by whether the client and the server stream.
FORMS = {(True, False): "client", (False, True): "server", (True, True): "bidirectional"}

# The limits of the contract.
END_SECONDS = 5
NOT_KNOWN = 2**32 - 1


class Record(NamedTuple):
    begin: int
    encoded: int
    sent: int
    first: int
    received: int
    end: int
    start: int
    finish: int
    request_bytes: int
    response_bytes: int
    status: int
    operations: int


RECORD = struct.Struct("<8Q4I")

# The settings of calls, as in a settings line.
HTTP = {"stack": "http", "protocol": "rest", "http": "1.1", "encoding": "json"}
FASTAPI, HTTPX, REQUESTS = ({**HTTP, "stack": name} for name in ("fastapi", "httpx", "requests"))
GRPC = {"stack": "grpcio", "protocol": "grpc", "http": "2", "encoding": "protobuf"}
AIO = {**GRPC, "stack": "grpcio-aio"}
PURE = {**GRPC, "stack": "grpcio-python"}
HYBRID = {**GRPC, "encoding": "hybrid"}
SERVERS = (HTTP, FASTAPI, GRPC, AIO)


def build() -> None:
    """Copy the subject next to the contract, and build it if anything that the build uses has changed."""
    shutil.rmtree(BUILT / "subject", ignore_errors=True)
    shutil.copytree(SOURCES, BUILT, dirs_exist_ok=True)
    shutil.copytree(CONTRACT, BUILT / "contract", dirs_exist_ok=True)
    parts = [SOURCES / "subject.toml", SOURCES / "requirements.txt", *CONTRACT.glob("proto/*")]
    parts += [
        *SOURCES.glob("subject/*.py"),
        *SOURCES.glob("tests/protos/**/*.proto"),
        Path(__file__),
    ]
    digest = sha256(b"\0".join(part.read_bytes() for part in sorted(parts))).hexdigest()
    mark = BUILT / "built"
    if mark.exists() and mark.read_text() == digest:
        return
    for command in TOML["build"]:
        subprocess.run(command, cwd=BUILT, check=True, stdout=subprocess.DEVNULL)
    methods = [case["method"].removeprefix("/") for case in golden()]
    methods += [f"ItemService/{name}" for name in ("ListItems", "PutItems", "ExchangeItems")]
    generate(BUILTIN, CONTRACT / "proto", methods)
    generate(ODD, SOURCES / "tests" / "protos", ["Odd/Do", "Odd/Text", "Odd/Talk"])
    mark.write_text(digest)


def generate(folder: Path, protos: Path, methods: list[str]) -> None:
    """Generate code for the methods, as the lab does for a set of messages."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = [str(path.relative_to(protos)) for path in protos.rglob("*.proto")]
    descriptors = folder / "descriptors.binpb"
    options = [f"--proto_path={protos}", "--include_imports", f"--descriptor_set_out={descriptors}"]
    protoc = ["venv/bin/python", "-m", "grpc_tools.protoc"]
    subprocess.run([*protoc, *options, *files], cwd=BUILT, check=True)
    text = "".join((protos / file).read_text() for file in files)
    listed = []
    for method in methods:
        service, _, name = method.rpartition("/")
        found = re.search(rf"rpc {name}\((stream )?(\S+)\) returns \((stream )?(\S+)\)", text)
        assert found, method
        client, request, server, response = found.groups()
        package = service.rpartition(".")[0]
        full = [
            name if "." in name or not package else f"{package}.{name}"
            for name in (request, response)
        ]
        form = {"stream": FORMS[bool(client), bool(server)]} if client or server else {}
        listed.append({"path": f"/{method}", "request": full[0], "response": full[1], **form})
    (folder / "files.json").write_text(json.dumps({"generate": files, "methods": listed}))
    for command in TOML["messages"]["generate"]:
        subprocess.run(with_messages(command, folder), cwd=BUILT, check=True)


def with_messages(command: list[str], folder: Path) -> list[str]:
    return [word.replace("{messages}", str(folder)) for word in command]


class Subject:
    """A running subject that has read a settings line and replied with a line."""

    def __init__(self, settings: dict[str, Any], messages: Path = BUILTIN) -> None:
        self.process = subprocess.Popen(
            with_messages(TOML["run"], messages),
            cwd=BUILT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reply = self.ask({"contract": 1, **settings})

    def ask(self, line: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline()
        if not reply:
            raise AssertionError(f"the subject wrote no line; the log: {self.process.communicate()[1]}")
        answer: dict[str, Any] = json.loads(reply)
        return answer

    def end(self) -> tuple[int, str, str]:
        """Close the subject's input, and return its exit code, its remaining output and its log."""
        out, log = self.process.communicate(timeout=END_SECONDS)
        return self.process.returncode, out, log


class SubjectTest(unittest.TestCase):
    """Has its own folder, and checks that subjects exit cleanly."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.records = self.folder / "records"

    def start(self, messages: Path = BUILTIN, **settings: Any) -> Subject:
        subject = Subject(settings, messages)
        self.addCleanup(self.check_end, subject)
        self.assertTrue(subject.reply.get("ready"), subject.reply)
        return subject

    def check_end(self, subject: Subject) -> None:
        self.assertEqual(subject.end(), (0, "", ""))

    def refused(self, **settings: Any) -> tuple[str, str]:
        """Return the text and the fault of the error line."""
        subject = Subject(settings)
        self.assertIn("error", subject.reply)
        code, out, _ = subject.end()
        fault = subject.reply["fault"]
        expected = {"subject": 1, "user": 2, "instrument": 2, "machine": 3}[fault]
        self.assertEqual((code, out), (expected, ""))
        return subject.reply["error"], fault

    def slice(self, subject: Subject, **asked: int) -> tuple[dict[str, Any], list[Record]]:
        """Send a slice line, and return the reply and the records that the subject appended."""
        before = self.records.stat().st_size
        reply = subject.ask({"slice": asked})["slice"]
        added = self.records.read_bytes()[before:]
        records = [Record(*fields) for fields in RECORD.iter_unpack(added)]
        self.assertEqual(reply["records"], len(records))
        self.assertGreaterEqual(reply["cpu_ns"], 0)
        for record in records:
            self.check_times(record)
        return reply, records

    def check_times(self, record: Record) -> None:
        observed = [time for time in record[:6] if time]
        self.assertEqual(observed, sorted(observed))
        self.assertTrue(record.begin and record.end, record)
        if record.start:
            marks = [record.begin, record.start, record.finish, record.end]
            self.assertEqual(marks, sorted(marks))


def golden() -> Iterator[dict[str, Any]]:
    for path in sorted((CONTRACT / "golden").glob("*.json")):
        # The folder also contains the vectors for records.
        if "workload" in (case := json.loads(path.read_text())):
            yield case


def vector(name: str) -> dict[str, Any]:
    return next(vector for vector in golden() if vector["workload"]["name"] == name)


def as_text(value: Any) -> Any:
    """Return a message in proto3 JSON with all integers as strings, because 64-bit ones may have either form."""
    match value:
        case dict():
            return {key: as_text(field) for key, field in value.items()}
        case list():
            return [as_text(element) for element in value]
        case bool():
            return value
        case int():
            return str(value)
    return value


class Relay:
    """A proxy between a client and a server that counts the bytes each way and can close connections."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.target = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.sent = self.received = self.accepted = 0
        self.open: list[tuple[socket.socket, threading.Thread]] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError), self.listener:
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
                self.accepted += 1
                ways = ((client, server, "sent"), (server, client, "received"))
                threads = [threading.Thread(target=self.carry, args=way) for way in ways]
                self.open.append((client, threads[0]))
                for thread in threads:
                    thread.start()

    def carry(self, source: socket.socket, sink: socket.socket, count: str) -> None:
        with contextlib.suppress(OSError), source:
            while data := source.recv(1 << 16):
                setattr(self, count, getattr(self, count) + len(data))
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """Close all connections to clients, and give the clients time to notice."""
        for client, thread in self.open:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_WR)
            # A client that checks its connection then closes its side.
            thread.join(0.2)
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self.open.clear()
        # A library closes its side before all of its threads have noticed.
        time.sleep(0.2)

    def close(self) -> None:
        # Wakes up the thread that accepts.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.cut()
