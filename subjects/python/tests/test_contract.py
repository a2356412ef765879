"""Tests what the subject declares and what it refuses."""

import socket
import subprocess
import unittest

from subject.stacks import STACKS
from tests.harness import BUILT, GRPC, SERVERS, SOURCES, TOML, SubjectTest, build

setUpModule = build

SERVER = {
    "role": "server",
    "workload": {"name": "hello"},
    "protocol": "rest",
    "http": "1.1",
    "encoding": "json",
    "listen": {"transport": "tcp"},
}
IN_2 = {"contract": 2}
STREAM = {"form": "server", "messages": 5}
STREAMING = {**SERVER, **GRPC, **IN_2, "workload": {"name": "items"}, "stream": STREAM}

# Prints the entries in site-packages of the given packages and of those that they require.
PACKAGES = """
import re, sys
from importlib import metadata

todo, names, found = sys.argv[1:], set(), set()
while todo:
    name = re.sub("[-_.]+", "-", todo.pop()).lower()
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        continue  # It is required on other systems, or by older interpreters.
    if name not in names:
        names.add(name)
        needed = [one for one in package.requires or () if "extra ==" not in one]
        todo += [re.match("[A-Za-z0-9._-]+", one).group() for one in needed]
        parts = {file.parts[0] for file in package.files}
        found |= {part for part in parts if not re.search("dist-info$|^[.][.]$|^__pycache__$", part)}
print(*sorted(found))
"""


class Declared(unittest.TestCase):
    def test_stacks_are_what_subject_toml_declares(self) -> None:
        declared = {stack["name"]: stack for stack in TOML["stacks"]}
        self.assertEqual(declared.keys(), STACKS.keys())
        for name, stack in STACKS.items():
            with self.subTest(name):
                toml = declared[name]
                protocols = {stack.protocol: [stack.http]} if stack.protocol else {}
                self.assertEqual(toml.get("protocols", {}), protocols)
                self.assertLessEqual(set(toml["compressions"]), set(stack.compressions))
                self.assertEqual(toml.get("styles", []), list(stack.styles))
                self.assertEqual(toml.get("streams", []), list(stack.streams))
                transports = list(stack.transports) if stack.protocol else []
                self.assertEqual(toml.get("transports", []), transports)
                self.assertEqual(toml.get("threads", 1), stack.threads)
                for key in ("roles", "encodings", "workloads"):
                    self.assertEqual(toml[key], list(getattr(stack, key)))
                if "client" in stack.roles:
                    self.assertEqual(toml["connections"], list(stack.connections))
                    self.assertEqual(toml["in-flight"], stack.in_flight)
                    self.assertEqual(toml.get("channels", 1), stack.channels)

    def test_disk_names_the_packages_of_all_dependencies(self) -> None:
        roots = {
            "http": [],
            "fastapi": ["fastapi", "uvicorn", "httptools", "uvloop"],
            "httpx": ["httpx"],
            "requests": ["requests"],
            "grpcio": ["grpcio", "protobuf"],
            "grpcio-aio": ["grpcio", "protobuf"],
        }
        declared = {stack["name"]: stack for stack in TOML["stacks"]}
        for name, packages in roots.items():
            with self.subTest(name):
                python = [BUILT / "venv/bin/python", "-c", PACKAGES, *packages]
                found = subprocess.run(python, capture_output=True, text=True, check=True).stdout
                site = "venv/lib/python*/site-packages/"
                own = ["subject", "{messages}/generated"]
                expected = own + [site + package for package in found.split()]
                self.assertEqual(declared[name]["disk"], expected)

    def test_versions_are_those_that_are_installed(self) -> None:
        lines = (SOURCES / "requirements.txt").read_text().split()
        pinned = dict(line.split("==") for line in lines)
        self.assertEqual(pinned.pop("grpcio-tools"), pinned["grpcio"])
        self.assertEqual(TOML["versions"], pinned)


class Refusals(SubjectTest):
    def test_lines_that_break_the_contract_are_the_instruments_fault(self) -> None:
        without = {key: value for key, value in SERVER.items() if key != "listen"}
        for changed, want in [
            ({"contract": 7}, "contract version 7; this subject supports 1 and 2"),
            ({"stream": STREAM}, "a stream requires contract version 2"),
            (IN_2 | {"stream": {**STREAM, "messages": 0}}, "has 0 messages, not 1 to 1000000"),
            (IN_2 | {"stream": {**STREAM, "messages": 1_000_001}}, "has 1000001 messages"),
            (IN_2 | {"stream": {**STREAM, "messages": True}}, "messages cannot be True"),
            (IN_2 | {"stream": {**STREAM, "form": "up"}}, "form cannot be 'up'"),
            (IN_2 | {"stream": {**STREAM, "in_turn": True}}, "form server cannot be in turn"),
            (IN_2 | {"stream": {**STREAM, "pace": 1}}, "stream has an unknown key 'pace'"),
            (IN_2 | {"stream": {"form": "server"}}, "stream lacks 'messages'"),
            (IN_2 | {"stream": None}, "stream cannot be None"),
            (IN_2 | {"stream": STREAM, "marks": True}, "there are no marks in streams"),
            (IN_2 | {"message_records": "/x"}, "unknown key 'message_records'"),
            ({"role": "chorus"}, "unknown role 'chorus'"),
            ({"colour": "red"}, "unknown key 'colour'"),
            ({"role": ["server"]}, "unknown role"),
            ({"listen": {"transport": "unix"}}, "must have a path"),
            ({"threads": "many"}, "threads cannot be 'many'"),
            ({"encoding": "xml"}, "encoding cannot be 'xml'"),
            ({"listen": {"transport": "tcp", "port": 80}}, "unknown key 'port'"),
            ({"workload": {"name": "hello", "n": 1}}, "the workload hello has name"),
            ({"workload": {"name": "own", "method": "a/b"}}, "the workload own has descriptor_set"),
        ]:
            with self.subTest(want):
                error, fault = self.refused(**SERVER | changed)
                self.assertIn(want, error)
                self.assertEqual(fault, "instrument")
        error, _ = self.refused(**without)
        self.assertIn("lacks 'listen'", error)

    def test_a_client_has_a_file_for_messages_if_it_streams(self) -> None:
        client = {key: value for key, value in STREAMING.items() if key != "listen"}
        client |= {"role": "client", "address": "127.0.0.1:1", "requests": [{}], "deadline_ms": 1}
        client |= {"records": str(self.records)}
        file = {"message_records": str(self.records)}
        unary = {key: value for key, value in client.items() if key != "stream"}
        for settings in (client, unary | file):
            error, fault = self.refused(**settings)
            self.assertIn("a stream must have message_records, and unary calls none", error)
            self.assertEqual(fault, "instrument")
        error, fault = self.refused(**client | file | {"style": "future"})
        self.assertIn("no future for calls of the form 'server', only unary, client", error)
        self.assertEqual(fault, "user")

    def test_parts_have_the_settings_of_one_without_its_role(self) -> None:
        part = {key: value for key, value in SERVER.items() if key != "role"}
        for line, want in [
            ({"parts": [part]}, "has 1 parts, not 2 to 64"),
            ({"parts": [part] * 65}, "has 65 parts, not 2 to 64"),
            ({"parts": part}, "parts cannot be {"),
            ({"parts": [part, SERVER]}, "part 1 has an unknown key 'role'"),
            ({"parts": [{**part, "contract": 1}, part]}, "part 0 has an unknown key 'contract'"),
            ({"parts": [part, 5]}, "part 1 cannot be 5"),
            ({"parts": [part, part], "pace": 3}, "unknown key 'pace'"),
            ({"parts": [part, part], "role": "clients"}, "part 0 has an unknown key 'listen'"),
            ({"parts": [part, part], "role": "server"}, "unknown key 'parts'"),
            ({"parts": [part, part], "role": "codecs"}, "unknown role 'codecs'"),
            ({"parts": [part, {**part, "stream": STREAM}]}, "a stream requires contract version 2"),
        ]:
            with self.subTest(want):
                error, fault = self.refused(**{"role": "servers", **line})
                self.assertIn(want, error)
                self.assertEqual(fault, "instrument")

    def test_what_no_stack_has_is_the_users_fault(self) -> None:
        for changed, want in [
            ({"stack": "flask"}, "'flask' is a server here: use http or fastapi or grpcio or grp"),
            ({"stack": "json"}, "no stack 'json' is a server here"),
            ({"protocol": "grpc"}, "the stack http has no protocol 'grpc', only rest"),
            ({"http": "2"}, "no HTTP version '2', only 1.1"),
            ({"encoding": "cbor"}, "no encoding 'cbor', only json, protojson"),
            ({"response_compression": "zstd:3"}, "no compression 'zstd:3', only none, gzip"),
            ({"threads": 2}, "no threads 2, only 1 to 1"),
            ({"limits": {"max_depth": 9}}, "no limit max_depth 9, only its own"),
            ({"workload": {"name": "records", "n": 8}}, "no workload 'records', only echo"),
            ({"workload": {"name": "siesta"}}, "no workload 'siesta'"),
            (IN_2 | {"stream": STREAM}, "the stack http has no form of calls 'server', only unary"),
            (STREAMING | {"stream": {**STREAM, "form": "sse"}}, "has no form of calls 'sse', only"),
            (STREAMING | {"workload": {"name": "hello"}}, "no streams of the workload 'hello'"),
        ]:
            with self.subTest(want):
                error, fault = self.refused(**SERVER | changed)
                self.assertIn(want, error)
                self.assertEqual(fault, "user")

    def test_a_path_that_is_taken_is_the_machines_fault(self) -> None:
        taken = self.folder / "taken"
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(taken))
        for stack in SERVERS:
            for path in (taken, self.folder / "no-such" / "socket"):
                with self.subTest(stack=stack["stack"], path=path):
                    listen = {"transport": "unix", "path": str(path)}
                    error, fault = self.refused(**SERVER | stack | {"listen": listen})
                    self.assertIn("cannot listen on ", error)
                    self.assertEqual(fault, "machine")
        self.assertTrue(taken.exists())
